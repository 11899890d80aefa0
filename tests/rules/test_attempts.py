"""Attempts, their outcomes and how often they are accepted.

Each expected value is written by hand from docs/rules.md, and asked of views and oracle alike.
"""

import pytest

from tests.rules.builders import found, process, review
from tests.support.ledgers import World, asked
from tests.support.lines import at, finished, started

WORLD = World()


OUTCOMES = [
    (200, None, "accepted"),
    (400, None, "invalid_payload"),
    (401, None, "unauthorized"),
    (404, None, "not_found"),
    (409, None, "conflict"),
    (429, None, "rate_limited"),
    (500, None, "platform_error"),
    (599, None, "platform_error"),
    (600, None, "unexpected_status"),
    (201, None, "unexpected_status"),
    (302, None, "unexpected_status"),
    (499, None, "unexpected_status"),
    (None, "timeout", "timeout"),
    (None, "network_error", "network_error"),
    (None, "tls_refused", "tls_refused"),
    (None, "refused", "refused"),
    (None, None, "unknown"),
]


@pytest.mark.parametrize(
    ("history", "status", "error", "outcome"),
    [
        (WORLD.add(started(), finished(status=status, error=error)), status, error, outcome)
        for status, error, outcome in OUTCOMES
    ],
)
def test_every_answer_has_its_outcome(history, status, error, outcome):
    [row] = asked(history, "submission_attempts", at("2026-03-02T00:00:01"))
    assert (row["outcome"], row["status"], row["error"]) == (outcome, status, error)


@pytest.mark.parametrize(
    ("timeout", "as_of", "outcome"),
    [
        ({}, "2026-03-02T00:00:59.999999", "in_flight"),
        ({}, "2026-03-02T00:01:00", "unknown"),
        ({"timeout_seconds": 5}, "2026-03-02T00:00:04.999999", "in_flight"),
        ({"timeout_seconds": 5}, "2026-03-02T00:00:05", "unknown"),
        ({"timeout_seconds": 0.5}, "2026-03-02T00:00:00.500000", "unknown"),
    ],
)
def test_an_unfinished_attempt_is_in_flight_until_its_timeout_is_over(timeout, as_of, outcome):
    history = [review(), started(**timeout)]
    [row] = asked(history, "submission_attempts", at(as_of))
    assert row["outcome"] == process(history, as_of)["last_outcome"] == outcome


def test_an_attempt_came_in_by_what_its_live_start_says_or_by_a_file():
    live = {"origin": "live", "via": "gateway"}
    history = [started("a1"), started("a2", **live), finished("a3"), started("a1", **live)]
    rows = asked(history, "submission_attempts", at("2026-03-02T00:00:01"))
    assert {row["attempt_id"]: row["via"] for row in rows} == {
        "a1": "gateway",
        "a2": "gateway",
        "a3": None,
    }
    [row] = asked(history[:1], "submission_attempts", at("2026-03-02T00:00:01"))
    assert row["via"] == "ingested"


def test_a_finish_without_a_start_is_an_attempt_ordered_by_its_finish():
    history = [
        review(),
        finished("a1", 500, "2026-03-02T00:00:02Z"),
        started("a2", "2026-03-02T00:00:01Z"),
        finished("a2", 400, "2026-03-02T00:00:09Z"),
    ]
    row = process(history, "2026-03-03T00:00:00")
    assert (row["attempts"], row["last_outcome"]) == (2, "platform_error")
    assert row["last_attempt_at"] == at("2026-03-02T00:00:02")


def test_a_refusal_is_shown_but_in_no_count():
    refused_at = "2026-03-02T00:00:00Z"
    history = [review(), started(), finished("a1", None, refused_at, error="refused")]
    assert len(asked(history, "submission_attempts", at("2026-03-03T00:00:00"))) == 1
    row = process(history, "2026-03-03T00:00:00")
    assert (row["attempts"], row["last_outcome"], row["last_attempt_at"]) == (0, None, None)
    assert asked(history, "submission_outcomes", at("2026-03-03T00:00:00")) == []
    assert asked(history, "submission_retries", at("2026-03-03T00:00:00")) == [
        {
            "processes": 0,
            "first_try_accepted": 0,
            "first_try_acceptance": None,
            "with_failure": 0,
            "accepted_after_failure": 0,
            "success_after_retry": None,
        }
    ]
    assert found(history, "2026-03-03T00:00:00", "field_without_evidence") == []


def test_attempts_are_numbered_in_their_process_and_in_their_try():
    other = {"process_id": "p1", "type": "individual", "revenue": "5000_to_9000"}
    history = [
        started("a1", "2026-03-02T00:00:00Z"),
        finished("a1", 500, "2026-03-02T00:00:01Z"),
        started("a2", "2026-03-02T01:00:00Z"),
        finished("a2", None, "2026-03-02T01:00:00Z", error="refused"),
        started("a3", "2026-03-02T02:00:00Z"),
        finished("a3", 400, "2026-03-02T02:00:01Z"),
        started("a4", "2026-03-02T03:00:00Z", body=other),
        finished("a4", 500, "2026-03-02T03:00:01Z"),
    ]

    def numbers(as_of: str) -> list[tuple]:
        names = ("attempt_id", "attempt_number", "try_number", "attempt_of_try", "is_given_up")
        rows = asked(history, "submission_attempts", at(as_of))
        return sorted(tuple(row[name] for name in names) for row in rows)

    assert numbers("2026-03-03T02:59:59.999999") == [
        ("a1", 1, 1, 1, False),
        ("a2", None, None, None, False),
        ("a3", 2, 1, 2, False),
        ("a4", 3, 2, 1, False),
    ]
    assert numbers("2026-03-03T03:00:00")[3] == ("a4", 3, 2, 1, True)
