"""Attempts, tries and what became of them (docs/rules.md#submission-attempts)."""

from datetime import date

import pytest

from tests.queries.findings.builders import found, risk
from tests.support.ledgers import World, asked
from tests.support.lines import (
    ACP_DEADLINE,
    acp,
    action,
    answered,
    at,
    finished,
    invited,
    live,
    refusal,
    started,
)

WORLD = World()
OTHER = {"process_id": "p1", "type": "individual", "revenue": "5000_to_9000"}


def attempts(history, as_of="2026-03-09T00:00:00"):
    return {row["attempt_id"]: row for row in asked(history, "submission_attempts", at(as_of))}


def ticket_due(history, as_of):
    [row] = asked(history, "process_state", at(as_of))
    return row["ticket_due"]


def failed(attempt_id, instant, status=500, **more):
    """An attempt that ends a second later, or at once where its instant has a fraction."""
    ended_at = instant.replace(":00Z", ":01Z")
    return [started(attempt_id, instant, **more), finished(attempt_id, status, ended_at)]


# --- one attempt ---


@WORLD.given(started(seller_id=None), finished("a1", 500, process_id="p2", seller_id="s7"))
def test_an_attempt_is_of_the_process_that_its_start_names_and_of_the_seller_of_either(history):
    row = attempts(history)["a1"]
    assert (row["process_id"], row["seller_id"]) == ("p1", "s7")


def at_half_past(status, **more):
    return finished("a1", status, "2026-03-02T00:00:30Z", **more)


@pytest.mark.parametrize("bodies", [(None, OTHER), (OTHER, None)])
def test_of_starts_and_ends_recorded_twice_the_earliest_counts(bodies):
    first, later = ({"body": body} if body else {} for body in bodies)
    history = [
        started("a1", "2026-03-02T00:00:20Z", **later),
        started("a1", **first),
        finished("a1", 200, "2026-03-02T00:00:50Z"),
        at_half_past(500),
    ]
    for lines in (history, history[::-1]):
        row = attempts(lines)["a1"]
        assert row["started_at"] == at("2026-03-02T00:00:00")
        assert (row["finished_at"], row["status"]) == (at("2026-03-02T00:00:30"), 500)
        assert row["payload_sha256"] == attempts([started("a1", **first)])["a1"]["payload_sha256"]


def test_of_starts_and_ends_at_one_instant_the_same_counts_however_they_were_recorded():
    """Not whichever came first, nor the live one: what they say decides."""
    starts, ends = [started(), started(body=OTHER)], [at_half_past(500), at_half_past(409)]
    said = set()
    for way in (lambda line: line, live):
        for order in (1, -1):
            one, other = ends[::order]
            history = [*starts[::order], way(one), {**other, "origin": "ingested"}]
            row = attempts(history)["a1"]
            said.add((row["payload_sha256"], row["status"]))
    assert len(said) == 1


LATE_ANSWER = [started(), finished("a1", 503, "2026-03-02T00:02:00Z")]


@WORLD.given(*LATE_ANSWER, refused_for_good=[started(), finished("a1", 400)])
def test_a_retry_waits_from_the_answer_on_however_late_it_came(history, refused_for_good):
    row = attempts(history, "2026-03-02T00:03:00")["a1"]
    assert at("2026-03-02T00:02:00.800") <= row["retry_due_at"] <= at("2026-03-02T00:02:01.200")
    assert row["gives_up_at"] == at("2026-03-03T00:00:00")
    row = attempts(refused_for_good)["a1"]
    assert (row["is_retry_pending"], row["gives_up_at"]) == (False, None)


@WORLD.given(*failed("a2", "2026-03-02T00:00:00Z"), *failed("a1", "2026-03-02T00:00:00Z"))
def test_attempts_that_started_at_once_are_numbered_by_their_ids(history):
    numbers = {name: row["attempt_number"] for name, row in attempts(history).items()}
    assert numbers == {"a1": 1, "a2": 2}


# --- tries ---

REPLACED_AT = "2026-03-02T01:00:00Z"
REPLACED = [
    acp(),
    *failed("a1", "2026-03-02T00:00:00Z"),
    action("replacement", REPLACED_AT),
    *failed("a2", REPLACED_AT, body=OTHER),
]


@WORLD.given(*REPLACED)
def test_a_replacement_ends_the_retries_before_it_and_not_those_of_the_start_that_it_allows(
    history,
):
    found_here = attempts(history, "2026-03-02T02:00:00")
    assert {name: row["is_retry_pending"] for name, row in found_here.items()} == {
        "a1": False,
        "a2": True,
    }
    assert [found_here[name]["try_number"] for name in ("a1", "a2")] == [1, 2]
    assert found("payload_changed_on_retry", history, "2026-03-03T00:00:00") == []


FAILED = [acp(), *failed("a1", "2026-03-02T00:00:00Z")]
EXHAUSTED = [risk(3, "2026-03-03T00:00:00", "a1")]


@WORLD.given(
    twice=[
        *FAILED,
        action("replacement", "2026-03-02T01:00:00Z"),
        action("replacement", "2026-03-03T01:00:00Z"),
    ],
    overridden=[*FAILED, action("override", "2026-03-02T01:00:00Z", gates=["evidence"])],
)
def test_the_first_replacement_ends_a_try_and_an_override_does_not(twice, overridden):
    assert found("retries_exhausted", twice, "2026-03-04T00:00:00") == []
    assert found("retries_exhausted", overridden, "2026-03-04T00:00:00") == EXHAUSTED


@WORLD.given(
    same=[*FAILED, *refusal("r1", "2026-03-02T01:00:00Z")],
    other_bytes=[*FAILED, *refusal("r1", "2026-03-02T01:00:00Z", body=OTHER)],
    other_seller=[*FAILED, *refusal("r1", "2026-03-02T01:00:00Z", seller_id="s2")],
    before_it=[*FAILED, *refusal("r1", "2026-03-01T23:59:00Z")],
)
def test_a_retry_is_held_once_our_rules_refuse_its_bytes_for_its_seller(
    same, other_bytes, other_seller, before_it
):
    others = [(it, False) for it in (other_bytes, other_seller, before_it)]
    for history, is_held in ((same, True), *others):
        row = attempts(history, "2026-03-02T02:00:00")["a1"]
        assert (row["is_held"], row["is_retry_pending"]) == (is_held, not is_held)
        assert row["attempt_number"] == row["attempt_of_try"] == 1


@WORLD.given(
    *FAILED,
    started("a2", "2026-03-02T23:59:30Z"),
    finished("a2", 500, "2026-03-03T00:00:10Z"),
)
def test_a_try_is_not_given_up_while_an_attempt_of_it_is_under_way(history):
    assert found("retries_exhausted", history, "2026-03-03T00:00:09.999999") == []
    assert found("retries_exhausted", history, "2026-03-03T00:00:10") == [
        risk(5, "2026-03-03T00:00:10", "a2")
    ]


THIRTY = [
    line
    for number in range(1, 31)
    for line in failed(f"a{number:02}", f"2026-03-02T00:{number:02}:00Z", timeout_seconds=7200)
]


@WORLD.given(acp(), THIRTY[0], finished("a01", 500, "2026-03-02T01:00:00Z"), *THIRTY[2:])
def test_a_try_is_given_up_with_its_thirtieth_end_whichever_attempt_ends_last(history):
    assert found("retries_exhausted", history, "2026-03-02T00:59:59.999999") == []
    assert found("retries_exhausted", history, "2026-03-02T01:00:00") == [
        risk(61, "2026-03-02T01:00:00", "a30")
    ]


@WORLD.given(
    of_two_tries=[
        acp(),
        *failed("a1", "2026-03-02T00:00:00Z"),
        *failed("a2", "2026-03-02T00:20:00Z"),
        *failed("a3", "2026-03-02T00:40:00Z"),
        action("replacement", "2026-03-02T01:00:00Z"),
        *failed("a4", "2026-03-02T01:00:00Z", body=OTHER),
        *failed("a5", "2026-03-02T01:20:00Z", body=OTHER),
    ],
    with_two_others=[
        acp(),
        *failed("a1", "2026-03-02T00:00:00Z", 429),
        *failed("a2", "2026-03-02T00:10:00Z"),
        *failed("a3", "2026-03-02T00:20:00Z"),
        *failed("a4", "2026-03-02T00:30:00Z", 429),
        *failed("a5", "2026-03-02T01:00:00Z"),
        *failed("a6", "2026-03-02T01:20:00Z"),
        *failed("a7", "2026-03-02T01:40:00Z"),
    ],
    not_to_be_sent_again=[
        acp(),
        *failed("a1", "2026-03-02T00:00:00Z", 400),
        *failed("a2", "2026-03-03T01:00:00Z", 409),
    ],
)
def test_a_ticket_is_due_by_the_trailing_run_of_one_try_alone(
    of_two_tries, with_two_others, not_to_be_sent_again
):
    assert ticket_due(of_two_tries, "2026-03-02T02:00:00") is False
    assert ticket_due(with_two_others, "2026-03-02T02:00:00") is False
    assert ticket_due(not_to_be_sent_again, "2026-03-03T02:00:00") is False


# --- findings of attempts ---


@WORLD.given(
    *[acp(), started(), finished("a1", 500, "2026-03-02T01:00:00Z")],
    started("a2", "2026-03-02T01:00:00Z", body=OTHER),
    answered_late=[
        *[acp(), started(timeout_seconds=7200), finished("a1", 500, "2026-03-02T01:00:00Z")],
        started("a2", "2026-03-02T01:00:00Z", body=OTHER),
    ],
)
def test_a_payload_changed_at_the_very_end_of_the_attempt_before(history, answered_late):
    for lines in (history, answered_late):
        assert found("payload_changed_on_retry", lines, "2026-03-03T00:00:00") == [
            risk(4, "2026-03-02T01:00:00", "a2")
        ]


BOTH_ANSWERED = [
    acp(deadline_at="2026-03-02T00:00:00Z"),
    *[started("a1"), started("a2", "2026-03-02T00:00:10Z")],
    finished("a2", 200, "2026-03-02T00:00:20Z"),
    finished("a1", 200, "2026-03-02T00:00:30Z"),
]
REPORTED = [
    acp(deadline_at="2026-03-02T00:00:00Z"),
    acp("e2", "2026-03-04T00:00:00Z", deadline_at="2026-03-02T00:00:00Z", status="FINISHED"),
    acp("e3", "2026-03-05T00:00:00Z", deadline_at="2026-03-02T00:00:00Z", status="FINISHED"),
]


@WORLD.given(answered=BOTH_ANSWERED, reported=REPORTED)
def test_that_it_was_finished_late_is_shown_by_the_first_entry_that_finished_it(answered, reported):
    columns = "severity", "seq", "found_at"
    for history, seq, instant in (
        (answered, 4, "2026-03-02T00:00:20"),
        (reported, 2, "2026-03-04T00:00:00"),
    ):
        [row] = [
            row
            for row in asked(history, "findings", at("2026-03-09T00:00:00"))
            if row["rule"] == "finished_late"
        ]
        assert tuple(row[it] for it in columns) == ("breach", seq, at(instant))


@WORLD.given(
    acp(),
    *[started(), finished("a1", 500)],
    acp("e9", "2026-03-05T00:00:00Z", status="FINISHED"),
    *[started("a2", "2026-03-06T00:00:00Z"), finished("a2", 409, "2026-03-06T00:00:01Z")],
)
def test_an_answer_is_lost_from_the_finish_on_whatever_was_sent_after_it(history):
    assert found("answer_lost", history, "2026-03-07T00:00:00") == [risk(4, "2026-03-05T00:00:00")]


@WORLD.given(*failed("a1", "2026-03-02T00:00:00Z"), *failed("a2", "2026-03-04T00:00:00Z"))
def test_one_that_was_sent_all_the_same_after_its_try_was_given_up_may_be_given_up_as_well(history):
    def given_up(as_of):
        return {name: row["is_given_up"] for name, row in attempts(history, as_of).items()}

    assert given_up("2026-03-04T00:00:00.999999") == {"a1": True, "a2": False}
    assert given_up("2026-03-04T00:00:01") == {"a1": True, "a2": True}
    exhausted = found("retries_exhausted", history, "2026-03-05T00:00:00")
    assert exhausted == [risk(2, "2026-03-03T00:00:00", "a1")]


# --- what occurs at the very instant, though more of the process follows ---


@WORLD.given(
    acp(deadline_at=ACP_DEADLINE),
    invited("2026-03-02T00:00:00Z"),
    *[started("a1", "2026-03-03T00:00:00Z"), finished("a1", 400, "2026-03-03T00:00:01Z")],
    action("override", "2026-03-03T12:00:00Z", gates=["evidence"]),
    *[started("a2", "2026-03-04T00:00:00Z"), finished("a2", 500, "2026-03-05T00:00:00Z")],
    action("ticket", "2026-03-06T00:00:00Z", step="opened", number="T-1"),
    acp("e2", "2026-03-07T00:00:00Z"),
    acp("e3", "2026-03-08T00:00:00Z"),
)
def test_what_occurs_at_the_instant_that_is_asked_for_counts(history):
    def state(as_of):
        [row] = asked(history, "process_state", at(as_of))
        return row

    def next_action(as_of):
        [row] = asked(history, "next_actions", at(as_of))
        return row["next_action"]

    assert state("2026-03-01T12:00:00")["state"] == "PENDING"
    assert next_action("2026-03-02T00:00:00") == "await_seller"
    assert state("2026-03-03T00:00:00")["last_outcome"] == "in_flight"
    assert state("2026-03-03T00:00:01")["last_outcome"] == "invalid_payload"
    assert len(found("override", history, "2026-03-03T12:00:00")) == 1
    assert state("2026-03-04T23:59:59.999999")["last_outcome"] == "unknown"
    assert state("2026-03-05T00:00:00")["last_outcome"] == "platform_error"
    assert state("2026-03-05T23:59:59.999999")["ticket_due"] is True
    assert state("2026-03-06T00:00:00")["ticket_due"] is False
    assert state("2026-03-07T00:00:00")["reported_at"] == at("2026-03-07T00:00:00")


# --- what all processes say together: in a ledger of its own ---


def of(process_id, *lines):
    return [
        {**line, "process_id": process_id, "attempt_id": f"{process_id}{line['attempt_id']}"}
        for line in lines
    ]


ALL = [
    *of("p1", started("a1", "2026-03-02T23:59:59Z"), finished("a1", 200, "2026-03-03T00:00:01Z")),
    *of("p2", *failed("a1", "2026-03-03T00:00:00Z", 400)),
    *of("p2", *failed("a2", "2026-03-03T01:00:00Z", 200, body=OTHER)),
    *of("p3", started("a1", "2026-03-03T00:00:00Z")),  # and nobody knows what became of it
    *of("p3", *failed("a2", "2026-03-03T01:00:00Z", 200)),
    *of("p4", *failed("a1", "2026-03-03T00:00:00Z")),
    *of("p5", started("a1", "2026-03-03T11:59:30Z")),  # under way
    *of("p6", started("a1", "2026-03-03T00:00:00Z"), finished("a1", 200, "2026-03-03T01:00:00Z")),
    *of("p6", *failed("a2", "2026-03-03T01:00:00Z")),  # it did not start before the 200
    *of("p7", *refusal("r1", "2026-03-03T00:00:00Z"), *failed("a1", "2026-03-03T01:00:00Z", 200)),
    *of("p8", *refusal("r1", "2026-03-03T00:00:00Z")),
]


def test_first_tries_and_successes_after_a_failure_are_counted_by_process():
    [row] = asked(ALL, "submission_retries", at("2026-03-03T12:00:00"))
    assert tuple(row.values()) == (7, 3, 3 / 7, 3, 2, 2 / 3)


def test_attempts_count_on_the_day_of_their_start():
    found_here = asked(ALL, "submission_outcomes", at("2026-03-03T12:00:00"))
    assert [tuple(row.values()) for row in found_here] == [
        (date(2026, 3, 2), "accepted", 1),
        (date(2026, 3, 3), "accepted", 4),
        (date(2026, 3, 3), "in_flight", 1),
        (date(2026, 3, 3), "invalid_payload", 1),
        (date(2026, 3, 3), "platform_error", 2),
        (date(2026, 3, 3), "unknown", 1),
    ]


@pytest.mark.parametrize("order", [("a1", "a2"), ("a2", "a1")])
def test_of_credentials_refused_at_once_the_same_attempt_shows_it_in_every_order(order):
    history = [
        acp(),
        *(line for name in order for line in failed(name, "2026-03-02T00:00:00Z", 401)),
    ]
    seq = 3 if order[0] == "a1" else 5
    assert found("unauthorized", history, "2026-03-03T00:00:00") == [
        risk(seq, "2026-03-02T00:00:01", process=None)
    ]


@WORLD.given(
    acp(), answered(), *failed("a1", "2026-03-02T00:00:00Z"), other=[answered(), started()]
)
def test_an_answer_before_the_start_covers_what_is_sent_also_of_a_process_without_an_event(
    history, other
):
    for lines in (history, other):
        [row] = asked(lines, "evidence_coverage", at("2026-03-03T00:00:00"))[-1:]
        assert (row["path"], row["covered"]) == ("revenue", True)
        for rule in ("field_without_evidence", "evidence_before_request", "source_not_seller"):
            assert found(rule, lines, "2026-03-03T00:00:00") == []
