"""What is next where the seller is to be asked, and where each unfinished process waits."""

import pytest
from hypothesis import given, settings

from tests.queries.notices.builders import FIRST, assert_same_actions, next_actions
from tests.support.histories import histories_and_as_of
from tests.support.ledgers import World, as_recorded, ledger_of, rows
from tests.support.lines import (
    aci,
    acp,
    action,
    answered,
    at,
    called,
    finished,
    invited,
    live,
    notice,
    posted,
    result,
    retracted,
    schedule,
    seller,
    started,
)
from tests.support.oracle.model import Log, entries

WORLD = World()
few = settings(max_examples=settings.default.max_examples // 13)  # the first is empty

ACCEPTED = result("accepted", "2026-03-05T00:00:00Z")
START, AWAIT, REMIND = "start_collection", "await_seller", "remind_seller"
TO_START, TO_REMIND = (START, "act_now"), (REMIND, "act_now")
AWAITED = (AWAIT, "waiting_for_seller")

ASKED = {
    "nobody was asked": ([aci()], {"2026-03-05T00:00:00": TO_START}),
    "a call": (
        [aci(), called("n1", "2026-03-05T00:00:00Z")],
        {
            "2026-03-04T23:59:59.999999": TO_START,
            "2026-03-05T00:00:00": AWAITED,
            "2026-03-07T23:59:59.999999": AWAITED,
            "2026-03-08T00:00:00": TO_REMIND,
        },
    ),
    "a letter": ([aci(), posted("n1", "2026-03-05T00:00:00Z")], {"2026-03-06T00:00:00": AWAITED}),
    "a message, from its result on": (
        [aci(), notice("n1", "2026-03-02T00:00:00Z"), ACCEPTED],
        {
            "2026-03-04T23:59:59.999999": TO_START,
            "2026-03-05T00:00:00": AWAITED,
            "2026-03-08T00:00:00": TO_REMIND,
        },
    ),
    "a message of which nothing is known": (
        [aci(), notice()],
        {"2026-03-02T00:00:00": TO_START, "2026-03-09T00:00:00": TO_START},
    ),
    "a message that bounced": (
        [aci(), notice(), ACCEPTED, result("bounced", "2026-03-06T00:00:00Z")],
        {"2026-03-05T23:59:59.999999": AWAITED, "2026-03-06T00:00:00": TO_START},
    ),
    "a call after a message that bounced": (
        [
            *(aci(), called("n2", "2026-03-02T00:00:00Z"), notice(), ACCEPTED),
            result("bounced", "2026-03-06T00:00:00Z"),
        ],
        {"2026-03-06T00:00:00": TO_REMIND},
    ),
    "a call that was taken back": (
        [aci(), called("n1", "2026-03-05T00:00:00Z"), retracted("2026-03-06T00:00:00Z")],
        {"2026-03-06T00:00:00": TO_START},
    ),
    "an invitation of another system": (
        [aci(), invited("2026-03-05T00:00:00Z")],
        {"2026-03-05T00:00:00": AWAITED, "2026-03-08T00:00:00": TO_REMIND},
    ),
    "the making of a link": (
        [aci(), invited("2026-03-05T00:00:00Z", expires_at="2026-03-08T00:00:00Z")],
        {"2026-03-05T00:00:00": TO_START, "2026-03-09T00:00:00": TO_START},
    ),
    "a seller's step": (
        [aci(), invited("2026-03-05T00:00:00Z", step="opened")],
        {"2026-03-05T00:00:00": AWAITED, "2026-03-08T00:00:00": TO_REMIND},
    ),
    "a step from elsewhere": (
        [aci(), invited("2026-03-05T00:00:00Z", step="opened", source="bureau")],
        {"2026-03-05T00:00:00": TO_START},
    ),
    "a reminder as it was recorded before": (
        [aci(), action("reminded", "2026-03-05T00:00:00Z", channel="phone")],
        {
            "2026-03-04T23:59:59.999999": TO_START,
            "2026-03-05T00:00:00": TO_REMIND,
            "2026-03-09T00:00:00": TO_REMIND,
        },
    ),
    "a contact about another process": (
        [aci(), called("n1", "2026-03-05T00:00:00Z", process_id="p2")],
        {"2026-03-05T00:00:00": TO_START},
    ),
}


def in_world(cases):
    return [
        pytest.param(history, as_of, expected, id=f"{name}, {as_of}")
        for name, (lines, instants) in cases.items()
        for history in [WORLD.add(FIRST, *lines)]
        for as_of, expected in instants.items()
    ]


@pytest.mark.parametrize(("history", "as_of", "expected"), in_world(ASKED))
def test_a_seller_is_given_72_hours_from_a_contact_that_stands(history, as_of, expected):
    assert next_actions(history, as_of)["p1"] == expected


CALLED_LATE = called("n1", "2026-03-28T00:00:00Z")
DUE_CALL = called("n1", "2026-03-31T00:00:00Z")
REPORTED = aci("e2", "2026-03-05T00:00:00Z", status="EXPIRED")

SHORT = {
    "72 hours before the deadline": (
        [aci(), CALLED_LATE],
        {
            "2026-03-28T11:59:59.999999": AWAITED,
            "2026-03-28T12:00:00": AWAITED,
            "2026-03-28T12:00:00.000001": (AWAIT, "act_now"),
        },
    ),
    "a microsecond before it": (
        [aci(), DUE_CALL],
        {
            "2026-03-31T11:59:59.999999": (AWAIT, "act_now"),
            "2026-03-31T12:00:00": (AWAIT, "expired"),
            "2026-04-02T23:59:59.999999": (AWAIT, "expired"),
            "2026-04-03T00:00:00": TO_REMIND,
        },
    ),
    "expired by a report, far from its deadline": (
        [aci(), REPORTED, called("n1", "2026-03-05T00:00:00Z")],
        {"2026-03-06T00:00:00": (AWAIT, "expired")},
    ),
    "expired by a report, close to its deadline": (
        [aci(), REPORTED, DUE_CALL],
        {"2026-03-31T11:00:00": (AWAIT, "act_now"), "2026-03-31T12:00:00": (AWAIT, "expired")},
    ),
    "expired, and nobody was asked": (
        [aci()],
        {"2026-03-31T12:00:00": TO_START, "2026-05-31T12:00:00": TO_START},
    ),
    "a periodic review": (
        [acp(), called("n1", "2026-04-29T00:00:00Z")],
        {
            "2026-04-29T00:00:00": (AWAIT, "act_now"),
            "2026-04-30T12:00:00": (AWAIT, "expired"),
        },
    ),
}


@pytest.mark.parametrize(("history", "as_of", "expected"), in_world(SHORT))
def test_who_waits_has_to_act_once_less_than_72_hours_are_left(history, as_of, expected):
    assert next_actions(history, as_of)["p1"] == expected


# --- what others have to say: the oracle knows where these wait, not when they come ---

FLYING = started("a1", "2026-03-30T12:00:00Z", timeout_seconds=86_400)
ALSO_FLYING = started("a1", "2026-03-05T00:00:00Z", timeout_seconds=3_600)
TICKET = action("ticket", "2026-03-05T00:00:00Z", step="opened", number="T-1")
WHOLE_ANSWER = answered("2026-03-02T00:00:00Z")

OF_OTHERS = {
    "a deleted seller": (
        [aci(), seller("deleted", "v1", "2026-03-04T00:00:00Z")],
        {"2026-03-05T00:00:00": ("ask_platform", "act_now")},
    ),
    "an attempt in flight": (
        [aci(), ALSO_FLYING],
        {"2026-03-05T00:00:00": ("await_answer", "waiting_for_platform")},
    ),
    "an attempt in flight when it is late": (
        [aci(), FLYING],
        {
            "2026-03-30T12:00:00": ("await_answer", "waiting_for_platform"),
            "2026-03-31T11:59:59.999999": ("await_answer", "waiting_for_platform"),
        },
    ),
    "an attempt in flight when it is over": (
        [aci(), {**FLYING, "occurred_at": "2026-03-31T11:00:00Z"}],
        {
            "2026-03-31T11:59:59.999999": ("await_answer", "waiting_for_platform"),
            "2026-03-31T12:00:00": ("await_answer", "expired"),
        },
    ),
    "an open ticket": (
        [aci(), TICKET],
        {
            "2026-03-05T00:00:00": ("await_platform", "waiting_for_platform"),
            "2026-03-28T12:00:00": ("await_platform", "waiting_for_platform"),
            "2026-03-28T12:00:00.000001": ("await_platform", "act_now"),
            "2026-03-31T12:00:00": ("await_platform", "expired"),
        },
    ),
    "an open ticket of a process without an event": (
        [answered(), TICKET],
        {"2026-03-05T00:00:00": ("await_platform", "waiting_for_platform")},
    ),
    "a process without an event": (
        [answered()],
        {"2026-03-05T00:00:00": ("find_event", "act_now")},
    ),
    "all is answered": (
        [aci(), WHOLE_ANSWER],
        {
            "2026-03-05T00:00:00": ("submit", "act_now"),
            "2026-04-05T00:00:00": ("submit", "act_now"),
        },
    ),
    "an invalid payload": (
        [aci(), started(), finished("a1", 400)],
        {"2026-03-05T00:00:00": ("correct_payload", "act_now")},
    ),
    "a failed attempt of another system": (
        [aci(), started(), finished("a1", 500)],
        {"2026-03-02T12:00:00": ("send_again", "act_now")},
    ),
    "ids to be checked": (
        [aci(), started(), finished("a1", 404)],
        {"2026-03-05T00:00:00": ("check_ids", "act_now")},
    ),
    "an answer to be read": (
        [aci(), started(), finished("a1", 302)],
        {"2026-03-05T00:00:00": ("read_answer", "act_now")},
    ),
}


@pytest.mark.parametrize(("history", "as_of", "expected"), in_world(OF_OTHERS))
def test_each_unfinished_process_waits_in_one_queue(history, as_of, expected):
    assert next_actions(history, as_of)["p1"] == expected


@WORLD.given(FIRST, aci(), aci("e2", "2026-03-05T00:00:00Z", status="FINISHED"))
def test_a_finished_process_is_in_no_queue(history):
    assert "p1" in next_actions(history, "2026-03-04T23:59:59.999999")
    assert "p1" not in next_actions(history, "2026-03-05T00:00:00")


# --- what the schedule asks by itself ---

LEFT, LEFT_LATE = (START, "waiting_for_seller"), (START, "expired")
RUNS = schedule("started", "2026-02-28T00:00:00Z")
CAME = live(aci())
CALLS = [{"review_type": "ACI", "rungs": [{"after": 48, "channel": "phone"}, {"before": 48}]}]
EVERY = {"review_type": None, "rungs": [{"late": 0}]}
RESTORED = live(
    {"kind": "restoration", "occurred_at": "2026-03-03T00:00:00Z", "body": {"step": "confirmed"}}
)
TO_CALL = {"process_id": "p1", "rung": "after_0d", "channel": "phone"}
TWO_WAYS = {
    "review_type": "ACI",
    "rungs": [
        *({"after": hours, "channel": "email"} for hours in (0, 480)),
        *({"after": hours, "channel": "whatsapp"} for hours in (72, 240)),
        {"after": 120, "channel": "phone", "if_silent": True},
    ],
}
EARLY = {"review_type": "ACI", "rungs": [{"before": 24 * 31}]}
WITH_CALLS = schedule("started", "2026-02-28T00:00:00Z", schedules=CALLS)

SCHEDULED = {
    "it runs": (
        [RUNS, CAME],
        {
            "2026-03-01T12:00:00": LEFT,
            "2026-03-31T11:59:59.999999": LEFT,
            "2026-03-31T12:00:00": LEFT_LATE,
            "2026-04-03T11:59:59.999999": LEFT_LATE,
            "2026-04-03T12:00:00": TO_START,
        },
    ),
    "it reminds": (
        [RUNS, CAME, ACCEPTED, notice()],
        {"2026-03-05T00:00:00": AWAITED, "2026-03-08T00:00:00": (REMIND, "waiting_for_seller")},
    ),
    "of a file": ([RUNS, aci()], {"2026-03-05T00:00:00": TO_START}),
    "started by a file": (
        [{**RUNS, "origin": "ingested"}, CAME],
        {"2026-03-05T00:00:00": TO_START},
    ),
    "from before": (
        [CAME, schedule("started", "2026-03-03T00:00:00Z")],
        {"2026-03-05T00:00:00": TO_START},
    ),
    "the backlog": (
        [aci(), schedule("started", "2026-03-03T00:00:00Z", backlog=True)],
        {"2026-03-02T23:59:59.999999": TO_START, "2026-03-03T00:00:00": LEFT},
    ),
    "stopped for all": (
        [
            *(RUNS, CAME, schedule("stopped", "2026-03-03T00:00:00Z")),
            schedule("started", "2026-03-06T00:00:00Z"),
        ],
        {
            "2026-03-02T23:59:59.999999": LEFT,
            "2026-03-03T00:00:00": TO_START,
            "2026-03-06T00:00:00": LEFT,
        },
    ),
    "came while it did not run": (
        [
            *(RUNS, schedule("stopped", "2026-03-01T00:00:00Z"), CAME),
            schedule("started", "2026-03-06T00:00:00Z"),
        ],
        {"2026-03-07T00:00:00": TO_START},
    ),
    "held for the seller": (
        [
            *(RUNS, CAME, schedule("held", "2026-03-03T00:00:00Z", seller_id="s1")),
            schedule("released", "2026-03-06T00:00:00Z", seller_id="s1"),
            schedule("stopped", "2026-03-07T00:00:00Z", process_id="p1", reason="not_me"),
        ],
        {
            "2026-03-03T00:00:00": TO_START,
            "2026-03-06T00:00:00": LEFT,
            "2026-03-07T00:00:00": TO_START,
        },
    ),
    "held for others": (
        [
            *(RUNS, CAME, schedule("held", "2026-03-03T00:00:00Z", seller_id="s2")),
            schedule("held", "2026-03-03T00:00:00Z", process_id="p2"),
        ],
        {"2026-03-04T00:00:00": LEFT},
    ),
    "a call": (
        [
            *(WITH_CALLS, CAME, called("n1", "2026-03-03T11:00:00Z", "no_answer")),
            called("n2", "2026-03-04T00:00:00Z", "no_answer"),
            retracted("2026-03-05T00:00:00Z", "n2"),
            called("n3", "2026-03-06T00:00:00Z", "wrong_number"),
        ],
        {
            "2026-03-03T11:59:59.999999": LEFT,
            "2026-03-03T12:00:00": TO_START,
            "2026-03-04T00:00:00": LEFT,
            "2026-03-05T00:00:00": TO_START,
            "2026-03-06T00:00:00": LEFT,
            "2026-03-29T12:00:00": TO_START,
        },
    ),
    "a call in place of a message": (
        [
            *(RUNS, CAME),
            schedule("claimed", "2026-03-03T00:00:00Z", **TO_CALL, reason="no_address"),
            called("n2", "2026-03-04T00:00:00Z", "no_answer"),
            schedule("claimed", "2026-03-08T12:00:00Z", **TO_CALL, reason="no_address"),
            notice("n3", "2026-03-09T00:00:00Z", "whatsapp"),
            result("accepted", "2026-03-09T00:00:00Z", "n3"),
        ],
        {
            "2026-03-02T23:59:59.999999": LEFT,
            "2026-03-03T00:00:00": TO_START,
            "2026-03-04T00:00:00": LEFT,
            "2026-03-08T12:00:00": TO_START,
            "2026-03-13T00:00:00": (REMIND, "waiting_for_seller"),
        },
    ),
    "what came back": (
        [RUNS, CAME, notice(), ACCEPTED, result("bounced", "2026-03-06T00:00:00Z")],
        {"2026-03-06T00:00:00": TO_START},
    ),
    "what came back about another review": (
        [
            *(RUNS, CAME, notice(process_id="p2")),
            result("bounced", "2026-03-06T00:00:00Z"),
            notice("n2", "2026-03-07T00:00:00Z"),
            result("accepted", "2026-03-07T00:00:00Z", "n2"),
            notice("n3", "2026-03-11T00:00:00Z"),
            result("failed", "2026-03-11T00:00:00Z", "n3"),
            notice("n4", "2026-03-12T00:00:00Z"),
            result("failed", "2026-03-12T00:00:00Z", "n4", is_refused=True),
        ],
        {
            "2026-03-05T23:59:59.999999": LEFT,
            "2026-03-06T00:00:00": TO_START,
            "2026-03-10T00:00:00": (REMIND, "waiting_for_seller"),
            "2026-03-11T00:00:00": (REMIND, "waiting_for_seller"),
            "2026-03-12T00:00:00": TO_REMIND,
        },
    ),
    "a wish that a file releases": (
        [
            *(RUNS, CAME),
            schedule("stopped", "2026-03-03T00:00:00Z", seller_id="s1", reason="stop_writing"),
            {
                **schedule("released", "2026-03-04T00:00:00Z", seller_id="s1"),
                "origin": "ingested",
            },
            schedule("released", "2026-03-05T00:00:00Z", seller_id="s1"),
        ],
        {"2026-03-04T00:00:00": TO_START, "2026-03-05T00:00:00": LEFT},
    ),
    "restored": (
        [RUNS, CAME, RESTORED, schedule("started", "2026-03-06T00:00:00Z")],
        {
            "2026-03-02T23:59:59.999999": LEFT,
            "2026-03-03T00:00:00": TO_START,
            "2026-03-06T00:00:00": LEFT,
        },
    ),
    "another channel is left": (
        [
            schedule("started", "2026-02-28T00:00:00Z", schedules=[TWO_WAYS]),
            *(CAME, notice(), result("bounced", "2026-03-02T00:00:00Z")),
            notice("n2", "2026-03-04T12:00:00Z", "whatsapp"),
            result("delivered", "2026-03-05T00:00:00Z", "n2"),
        ],
        {
            "2026-03-04T11:59:59.999999": LEFT,
            "2026-03-09T00:00:00": (REMIND, "waiting_for_seller"),
            "2026-03-13T00:00:00": TO_REMIND,
        },
    ),
    "a type without rungs": (
        [schedule("started", "2026-02-28T00:00:00Z", schedules=[*CALLS, EVERY]), live(acp())],
        {"2026-03-05T00:00:00": LEFT},
    ),
    "a rung from before the opening": (
        [schedule("started", "2026-02-28T00:00:00Z", schedules=[EARLY]), CAME],
        {"2026-03-05T00:00:00": TO_START},
    ),
}


@pytest.mark.parametrize(
    ("history", "as_of", "expected"),
    [
        pytest.param([FIRST, *lines], as_of, expected, id=f"{name}, {as_of}")
        for name, (lines, instants) in SCHEDULED.items()
        for as_of, expected in instants.items()
    ],
)
def test_what_the_schedule_asks_by_itself_waits_for_the_seller(history, as_of, expected):
    assert next_actions(history, as_of)["p1"] == expected


def test_a_file_ends_no_wish_that_was_recorded_here():
    lines, _ = SCHEDULED["a wish that a file releases"]
    with ledger_of([FIRST, *lines]) as reader:
        wishes = {
            day: [
                row["wish"] for row in rows(reader, "held_sellers", at(f"2026-03-0{day}T12:00:00"))
            ]
            for day in (2, 3, 4, 5)
        }
    assert wishes == {2: [], 3: ["stop_writing"], 4: ["stop_writing"], 5: []}


@pytest.mark.parametrize("then", ["stop_writing", None])
def test_neither_a_hold_nor_another_wish_hides_that_they_are_not_the_seller(then):
    """The page let messages go on without a reason, which is refused."""
    not_me = schedule("stopped", "2026-03-03T00:00:00Z", seller_id="s1", reason="not_me")
    other = {} if then is None else {"reason": then}
    step = "held" if then is None else "stopped"
    lines = [RUNS, CAME, not_me, schedule(step, "2026-03-04T00:00:00Z", seller_id="s1", **other)]
    again = [
        schedule("released", "2026-03-05T00:00:00Z", seller_id="s1"),
        schedule("held", "2026-03-06T00:00:00Z", seller_id="s1"),
    ]
    with ledger_of([FIRST, *lines, *again]) as reader:
        found = {
            day: [
                (row["wish"], row["held_at"].day)
                for row in rows(reader, "held_sellers", at(f"2026-03-0{day}T12:00:00"))
            ]
            for day in (4, 5, 6)
        }
    assert found == {4: [("not_me", 3)], 5: [], 6: [(None, 6)]}


@few
@given(histories_and_as_of())
def test_whatever_happens_sellers_are_asked_and_processes_wait_as_the_rules_say(case):
    history, as_of = case
    with ledger_of(history) as reader:
        found = {
            row["process_id"]: (row["next_action"], row["queue"])
            for row in rows(reader, "next_actions", as_of)
        }
        log = Log(entries(as_recorded(history, reader)), as_of)
    assert_same_actions(log, found)
