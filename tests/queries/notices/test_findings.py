"""Findings about how sellers were notified, each with near misses.

`p1` is an inconsistency of s1, received on 1 March at noon and due on 31 March at noon, so that
half of its time is over on 16 March at noon; or a periodic review, due on 30 April. The first
notice of each log was sent in February, about another process.
"""

import pytest

from tests.queries.findings.builders import breach, found, risk
from tests.queries.notices.builders import FIRST
from tests.support.ledgers import World
from tests.support.lines import (
    OPENED,
    aci,
    acp,
    action,
    answered,
    called,
    finished,
    invited,
    live,
    notice,
    posted,
    result,
    retracted,
    started,
)

WORLD = World()
DEADLINE = "2026-03-31T12:00:00"
HALF = "2026-03-16T12:00:00"
NEVER = "never_notified"
LATE = "notified_late"
RECORDED_LATE = "contact_recorded_late"


def emailed(accepted_at, message_id="n1", **more):
    return [
        notice(message_id, "2026-03-01T12:00:00Z", **more),
        result("accepted", accepted_at, message_id),
    ]


def called_at(instant, message_id="n1", **more):
    return called(message_id, instant, **more)


def in_world(cases):
    """One case for each instant of each history."""
    return [
        pytest.param(history, as_of, expected, id=f"{name}, {as_of}")
        for name, (lines, instants) in cases.items()
        for history in [WORLD.add(FIRST, *lines)]
        for as_of, expected in instants.items()
    ]


# --- nobody notified before the end ---

AFTER = "2026-04-02T00:00:00"
EXPIRED = [breach(2, DEADLINE)]
ENDED = {AFTER: EXPIRED}
NONE = {AFTER: []}
REPORTED = aci("e2", "2026-03-20T00:00:00Z", status="EXPIRED")
EXTENDED = aci("e2", "2026-03-20T00:00:00Z", deadline_at="2026-04-10T12:00:00Z")
ANSWERED_LATE = [
    started("a1", "2026-04-01T00:00:00Z"),
    finished("a1", 200, "2026-04-01T00:00:01Z"),
]

NOBODY_NOTIFIED = {
    "by the deadline": (
        [aci()],
        {"2026-03-31T11:59:59.999999": [], DEADLINE: EXPIRED, AFTER: EXPIRED},
    ),
    "a periodic review": (
        [acp()],
        {
            "2026-04-30T11:59:59.999999": [],
            "2026-04-30T12:00:00": [breach(2, "2026-04-30T12:00:00")],
        },
    ),
    "a contact at the first receipt": ([aci(), called_at(OPENED)], NONE),
    "a contact before the first receipt": (
        [aci(), called_at("2026-03-01T11:59:59.999999Z")],
        ENDED,
    ),
    "a contact at the deadline": ([aci(), called_at("2026-03-31T12:00:00Z")], NONE),
    "a contact after the deadline": ([aci(), called_at("2026-03-31T12:00:00.000001Z")], ENDED),
    "a message accepted at the deadline": ([aci(), *emailed("2026-03-31T12:00:00Z")], NONE),
    "a message accepted after the deadline": (
        [aci(), *emailed("2026-03-31T12:00:00.000001Z")],
        ENDED,
    ),
    "a message of which nothing is known": ([aci(), notice()], ENDED),
    "a call to a wrong number": ([aci(), called(outcome="wrong_number")], ENDED),
    "a call about another process": (
        [aci(), called(process_id="p2"), aci("e9", process_id="p2")],
        {AFTER: [breach(2, DEADLINE)]},
    ),
    "the seller's own step": ([aci(), invited(step="opened")], NONE),
    "a step from elsewhere": ([aci(), answered(source="bureau")], ENDED),
    "an invitation of another system": ([aci(), invited()], NONE),
    "an invitation without an end": ([aci(), invited(expires_at=None)], NONE),
    "the making of a link": ([aci(), invited(expires_at="2026-03-04T13:00:00Z")], ENDED),
    "a reminder as it was recorded before": (
        [aci(), action("reminded", "2026-03-05T00:00:00Z", channel="phone")],
        ENDED,
    ),
    "a bounce before the deadline": (
        [aci(), *emailed("2026-03-02T00:00:00Z"), result("bounced", "2026-03-03T00:00:00Z")],
        ENDED,
    ),
    "a bounce after the deadline": (
        [aci(), *emailed("2026-03-02T00:00:00Z"), result("bounced", "2026-04-01T00:00:00Z")],
        {"2026-03-31T23:59:59.999999": [], AFTER: [breach(2, "2026-04-01T00:00:00")]},
    ),
    "two withdrawals after the deadline": (
        [
            *(aci(), *emailed("2026-03-02T00:00:00Z"), called_at("2026-03-05T00:00:00Z", "n2")),
            result("failed", "2026-04-01T00:00:00Z"),
            retracted("2026-04-01T12:00:00Z", "n2"),
        ],
        {"2026-04-01T11:59:59.999999": [], AFTER: [breach(2, "2026-04-01T12:00:00")]},
    ),
    "a message withdrawn twice": (
        [
            *(aci(), *emailed("2026-03-02T00:00:00Z")),
            *(result("bounced", "2026-04-01T00:00:00Z"), result("failed", "2026-04-01T06:00:00Z")),
        ],
        {AFTER: [breach(2, "2026-04-01T00:00:00")]},
    ),
    "a withdrawal of what came too late": (
        [
            *(aci(), *emailed("2026-04-01T00:00:00Z")),
            result("bounced", "2026-04-01T12:00:00Z"),
        ],
        ENDED,
    ),
    "a letter taken back, and a call that stands": (
        [
            *(aci(), posted("n1", "2026-03-02T00:00:00Z")),
            *(called_at("2026-03-03T00:00:00Z", "n2"), retracted("2026-03-04T00:00:00Z")),
        ],
        NONE,
    ),
    "an e-mail that somebody took back": (
        [aci(), *emailed("2026-03-02T00:00:00Z"), retracted("2026-03-03T00:00:00Z")],
        NONE,
    ),
    "from the first report of its end on": (
        [aci(), REPORTED],
        {
            "2026-03-19T23:59:59.999999": [],
            "2026-03-20T00:00:00": [breach(3, "2026-03-20T00:00:00")],
            AFTER: [breach(3, "2026-03-20T00:00:00")],
        },
    ),
    "a contact at that report": ([aci(), REPORTED, called_at("2026-03-20T00:00:00Z")], NONE),
    "a contact between that report and the deadline": (
        [aci(), REPORTED, called_at("2026-03-20T00:00:00.000001Z")],
        {AFTER: [breach(3, "2026-03-20T00:00:00")]},
    ),
    "by an extended deadline": (
        [aci(), EXTENDED],
        {
            "2026-04-10T11:59:59.999999": [],
            "2026-04-10T12:00:00": [breach(3, "2026-04-10T12:00:00")],
        },
    ),
    "a contact by an extended deadline": (
        [aci(), EXTENDED, called_at("2026-04-05T00:00:00Z")],
        {"2026-04-12T00:00:00": []},
    ),
    "a report of its end for an earlier deadline": (
        [aci(), aci("e3", "2026-03-10T00:00:00Z", status="EXPIRED"), EXTENDED],
        {
            "2026-03-15T00:00:00": [breach(3, "2026-03-10T00:00:00")],
            "2026-03-21T00:00:00": [],
            "2026-04-12T00:00:00": [breach(4, "2026-04-10T12:00:00")],
        },
    ),
    "finished late": (
        [aci(), *ANSWERED_LATE],
        {
            "2026-03-31T18:00:00": [breach(2, DEADLINE)],
            AFTER: [breach(4, DEADLINE)],
        },
    ),
    "finished at the deadline": (
        [aci(), aci("e2", "2026-03-31T12:00:00Z", status="FINISHED")],
        {DEADLINE: [breach(3, DEADLINE)]},
    ),
    "finished late, and notified in time": ([aci(), *ANSWERED_LATE, *emailed(OPENED)], NONE),
    "finished late, and notified after the end": (
        [aci(), *ANSWERED_LATE, called_at("2026-03-31T13:00:00Z")],
        {AFTER: [breach(4, DEADLINE)]},
    ),
    "finished in time": (
        [
            *(aci(), started("a1", "2026-03-31T11:00:00Z")),
            finished("a1", 200, "2026-03-31T11:59:59.999999Z"),
        ],
        NONE,
    ),
    "first received when it was over": ([{**aci(), "occurred_at": "2026-03-31T12:00:00Z"}], NONE),
    "first received just before it was over": (
        [{**aci(), "occurred_at": "2026-03-31T11:59:59.999999Z"}],
        ENDED,
    ),
    "its first report says that it is over": ([aci(status="EXPIRED")], NONE),
    "received twice, by the earlier receipt": (
        [
            *({**aci(), "occurred_at": "2026-03-10T00:00:00Z"}, called_at("2026-03-05T00:00:00Z")),
            {**aci(), "occurred_at": "2026-03-04T00:00:00Z"},
        ],
        NONE,
    ),
}


@pytest.mark.parametrize(("history", "as_of", "expected"), in_world(NOBODY_NOTIFIED))
def test_a_seller_is_notified_between_the_first_receipt_and_the_end(history, as_of, expected):
    rows = found(NEVER, history, as_of)
    assert [row for row in rows if row[1] == "p1"] == expected


# --- notified when half of the time was over ---

SEEN = [risk(2, HALF)]
MISSED = {HALF: SEEN}
IN_TIME = {HALF: []}
ODD = aci(deadline_at="2026-03-01T12:00:00.000003Z")

NOTIFIED_LATE = {
    "by half of the time": (
        [aci()],
        {"2026-03-16T11:59:59.999999": [], HALF: SEEN, AFTER: SEEN},
    ),
    "half of a periodic review": (
        [acp()],
        {"2026-03-31T11:59:59.999999": [], "2026-03-31T12:00:00": [risk(2, "2026-03-31T12:00:00")]},
    ),
    "half of three microseconds is one": (
        [ODD],
        {
            "2026-03-01T12:00:00": [],
            "2026-03-01T12:00:00.000001": [risk(2, "2026-03-01T12:00:00.000001")],
        },
    ),
    "half of one microsecond is none": (
        [aci(deadline_at="2026-03-01T12:00:00.000001Z")],
        {"2026-03-01T12:00:00": [risk(2, "2026-03-01T12:00:00")]},
    ),
    "a contact at the end of that one": (
        [ODD, called_at("2026-03-01T12:00:00.000001Z")],
        {"2026-03-01T12:00:00.000003": []},
    ),
    "a contact after the end of that one": (
        [ODD, called_at("2026-03-01T12:00:00.000002Z")],
        {"2026-03-01T12:00:00.000003": [risk(2, "2026-03-01T12:00:00.000001")]},
    ),
    "a contact at the first receipt": ([aci(), called_at(OPENED)], IN_TIME),
    "a contact before the first receipt": ([aci(), called_at("2026-03-01T11:59:59Z")], MISSED),
    "a contact at half of the time": ([aci(), called_at("2026-03-16T12:00:00Z")], IN_TIME),
    "a contact after half of the time": (
        [aci(), called_at("2026-03-16T12:00:00.000001Z")],
        {**MISSED, AFTER: SEEN},
    ),
    "a message handed over before, accepted after": (
        [aci(), *emailed("2026-03-16T12:00:00.000001Z")],
        {AFTER: SEEN},
    ),
    "a bounce before half of the time": (
        [aci(), *emailed("2026-03-02T00:00:00Z"), result("bounced", "2026-03-03T00:00:00Z")],
        {"2026-03-10T00:00:00": [], **MISSED},
    ),
    "a bounce after half of the time": (
        [aci(), *emailed("2026-03-02T00:00:00Z"), result("bounced", "2026-03-20T00:00:00Z")],
        {
            HALF: [],
            "2026-03-19T23:59:59.999999": [],
            "2026-03-20T00:00:00": [risk(2, "2026-03-20T00:00:00")],
        },
    ),
    "a bounce of what came after half of the time": (
        [aci(), *emailed("2026-03-17T00:00:00Z"), result("bounced", "2026-03-20T00:00:00Z")],
        {AFTER: SEEN},
    ),
    "an extended deadline changes nothing": ([aci(), EXTENDED], {AFTER: SEEN}),
    "an earlier deadline changes nothing": (
        [aci(), aci("e2", "2026-03-05T00:00:00Z", deadline_at="2026-03-09T12:00:00Z")],
        {"2026-03-16T11:59:59.999999": [], **MISSED},
    ),
    "the first event has no deadline": (
        [
            aci(deadline_at=None),
            aci("e2", "2026-03-02T00:00:00Z", deadline_at="2026-03-21T12:00:00Z"),
        ],
        {"2026-03-11T11:59:59.999999": [], AFTER: [risk(2, "2026-03-11T12:00:00")]},
    ),
    "none has a deadline": ([aci(deadline_at=None)], MISSED),
    "none of a periodic review has one": (
        [acp(deadline_at=None)],
        {AFTER: [risk(2, "2026-03-31T12:00:00")]},
    ),
    "finished before half of the time": (
        [
            *(aci(), started("a1", "2026-03-16T00:00:00Z")),
            finished("a1", 200, "2026-03-16T11:59:59.999999Z"),
        ],
        {AFTER: []},
    ),
    "finished at half of the time": (
        [aci(), started("a1", "2026-03-16T00:00:00Z"), finished("a1", 200, "2026-03-16T12:00:00Z")],
        MISSED,
    ),
    "finished after half of the time": (
        [aci(), started("a1", "2026-03-17T00:00:00Z"), finished("a1", 200, "2026-03-17T00:00:01Z")],
        {AFTER: SEEN},
    ),
    "received late": (
        [{**aci(), "occurred_at": "2026-03-21T12:00:00Z"}],
        {"2026-03-26T11:59:59.999999": [], AFTER: [risk(2, "2026-03-26T12:00:00")]},
    ),
    "received at its deadline": ([{**aci(), "occurred_at": "2026-03-31T12:00:00Z"}], {AFTER: []}),
    "received just before its deadline": (
        [{**aci(), "occurred_at": "2026-03-31T11:59:59.999999Z"}],
        {AFTER: [risk(2, "2026-03-31T11:59:59.999999")]},
    ),
    "the entry first received, not the earliest event": (
        [
            {**aci(), "occurred_at": "2026-03-05T12:00:00Z"},
            aci("e2", "2026-03-02T12:00:00Z"),
        ],
        {AFTER: [risk(3, "2026-03-17T00:00:00")]},
    ),
}


@pytest.mark.parametrize(("history", "as_of", "expected"), in_world(NOTIFIED_LATE))
def test_a_seller_is_notified_in_the_first_half_of_the_time(history, as_of, expected):
    assert found(LATE, history, as_of) == expected


# --- recorded long after it happened ---

CALL = called_at("2026-03-02T00:00:00Z")
A_DAY_LATER = "2026-03-03T00:00:00Z"
TOO_LATE = "2026-03-03T00:00:00.000001Z"
ACCEPTED = result("accepted", "2026-03-02T00:00:00Z")
SHOWN = "2026-03-03T00:00:00.000001"
AT_ITS_INSTANT = "2026-03-02T00:00:00"

RECORDED = {
    "a call": (
        [live(aci()), live(CALL, TOO_LATE)],
        {
            "2026-03-01T23:59:59.999999": [],
            AT_ITS_INSTANT: [risk(3, SHOWN, "phone")],
            AFTER: [risk(3, SHOWN, "phone")],
        },
    ),
    "a call within the day": ([live(aci()), live(CALL, A_DAY_LATER)], {AFTER: []}),
    "a call from a file": ([aci(), {**CALL, "recorded_at": TOO_LATE}], {AFTER: []}),
    "a call that reached nobody": (
        [live(aci()), live(called(outcome="no_answer"), TOO_LATE)],
        {AFTER: []},
    ),
    "a call taken back": (
        [live(aci()), live(CALL, TOO_LATE), live(retracted("2026-03-04T00:00:00Z"))],
        {
            "2026-03-03T23:59:59.999999": [risk(3, SHOWN, "phone")],
            "2026-03-04T00:00:00": [],
        },
    ),
    "a letter": (
        [live(aci()), live(posted(), TOO_LATE)],
        {AFTER: [risk(3, SHOWN, "letter")]},
    ),
    "a letter within the day": ([live(aci()), live(posted(), A_DAY_LATER)], {AFTER: []}),
    "a result": (
        [live(aci()), live(notice(channel="sms")), live(ACCEPTED, TOO_LATE)],
        {AFTER: [risk(4, SHOWN, "sms")]},
    ),
    "a result within the day": (
        [live(aci()), live(notice()), live(ACCEPTED, A_DAY_LATER)],
        {AFTER: []},
    ),
    "a result from a file": (
        [live(aci()), live(notice()), {**ACCEPTED, "recorded_at": TOO_LATE}],
        {AFTER: []},
    ),
    "the message, but not its result": (
        [live(aci()), live(ACCEPTED), live(notice(), TOO_LATE)],
        {AFTER: []},
    ),
    "a later result than the one that counts": (
        [
            *(live(aci()), live(notice()), live(ACCEPTED)),
            live(result("delivered", "2026-03-02T00:01:00Z"), "2026-03-04T00:00:00Z"),
        ],
        {AFTER: []},
    ),
    "an earlier result that came later": (
        [
            *(live(aci()), live(notice())),
            live(result("delivered", "2026-03-02T00:01:00Z")),
            live(ACCEPTED, TOO_LATE),
        ],
        {AFTER: [risk(5, SHOWN, "email")]},
    ),
    "a bounce": (
        [
            *(live(aci()), live(notice()), live(ACCEPTED)),
            live(result("bounced", "2026-03-02T01:00:00Z"), "2026-03-04T00:00:00Z"),
        ],
        {AFTER: []},
    ),
    "a step of the seller": (
        [live(aci()), live(invited(step="opened"), "2026-03-04T00:00:00Z")],
        {AFTER: []},
    ),
}


@pytest.mark.parametrize(("history", "as_of", "expected"), in_world(RECORDED))
def test_a_contact_is_recorded_within_a_day(history, as_of, expected):
    assert found(RECORDED_LATE, history, as_of) == expected


@WORLD.given(
    FIRST,
    *(live(aci()), live(aci("e2", process_id="p2")), live(notice()), live(notice(process_id="p2"))),
    live(ACCEPTED, TOO_LATE),
)
def test_a_result_of_two_processes_is_recorded_late_for_each(history):
    assert found(RECORDED_LATE, history, AFTER) == [
        risk(6, SHOWN, "email", process="p1"),
        risk(6, SHOWN, "email", process="p2"),
    ]


# --- what the log does not say: in ledgers of their own ---


@pytest.mark.parametrize("rule", [NEVER, LATE])
@pytest.mark.parametrize(
    ("first_at", "is_judged"),
    [
        ("2026-02-28T00:00:00Z", True),
        ("2026-03-01T12:00:00Z", True),
        ("2026-03-01T12:00:00.000001Z", False),
        ("2026-04-01T00:00:00Z", False),
    ],
)
def test_of_a_process_opened_before_the_first_notice_the_log_does_not_say_how_the_seller_was(
    rule, first_at, is_judged
):
    history = [aci(), notice("n9", first_at, process_id="p9", seller_id="s9")]
    assert bool(found(rule, history, AFTER)) is is_judged


@pytest.mark.parametrize("rule", [NEVER, LATE])
def test_without_a_notice_by_then_the_log_does_not_say_how_sellers_were_notified(rule):
    assert found(rule, [aci()], AFTER) == []
    only_steps = [aci(), invited("2026-04-01T00:00:00Z"), retracted("2026-02-01T00:00:00Z")]
    assert found(rule, only_steps, AFTER) == []
    of_the_process = [aci(), notice("n9", "2026-02-28T00:00:00Z")]
    assert len(found(rule, of_the_process, AFTER)) == 1
