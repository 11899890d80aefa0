"""When a support ticket is due.

Pins the oracle itself: every expected value is written out by hand from docs/rules.md.
"""

from datetime import timedelta

import pytest

from tests.oracle.builders import process, review
from tests.support.lines import at, finished, started

FIRST = at("2026-03-02T00:00:00")


def failures(count: int, apart: timedelta, status: int = 500, first=FIRST) -> list[dict]:
    """Attempts that start so far apart; each ends a second after its start."""
    lines = [review()]
    for number in range(count):
        begins = first + number * apart
        ends = begins + timedelta(seconds=1)
        lines.append(started(f"a{number}", f"{begins.isoformat()}Z"))
        lines.append(finished(f"a{number}", status, f"{ends.isoformat()}Z"))
    return lines


def ticket(step: str, occurred_at: str) -> dict:
    return {
        "kind": "ticket",
        "occurred_at": occurred_at,
        "process_id": "p1",
        "number": "T-1",
        "step": step,
        "actor": "ana",
    }


def is_due(history: list[dict], as_of: str = "2026-03-02T12:00:00") -> bool:
    return process(history, as_of)["ticket_due"]


QUARTER = timedelta(minutes=15)
JUST_AN_HOUR = timedelta(minutes=59, seconds=59) / 4


@pytest.mark.parametrize(
    ("count", "apart", "due"),
    [
        (5, QUARTER, True),
        (5, JUST_AN_HOUR, True),
        (5, JUST_AN_HOUR - timedelta(microseconds=1), False),
        (4, timedelta(hours=1), False),
        (0, QUARTER, False),
    ],
)
def test_five_platform_errors_over_an_hour_make_a_ticket_due(count, apart, due):
    assert is_due(failures(count, apart)) is due


def test_only_the_trailing_run_of_platform_errors_counts():
    history = failures(6, QUARTER)
    history[6] = finished("a2", 429, "2026-03-02T00:30:01Z")
    assert is_due(history) is False
    assert is_due(failures(6, QUARTER, 503)) is True
    assert is_due(failures(6, QUARTER, 429)) is False


def test_another_payload_begins_another_try():
    history = failures(5, QUARTER)
    history[9]["body"] = {"process_id": "p1", "type": "individual", "revenue": "1_to_2"}
    assert is_due(history) is False


@pytest.mark.parametrize(
    ("as_of", "due"),
    [
        ("2026-04-27T12:00:00", False),
        ("2026-04-27T12:00:00.000001", True),
        ("2026-05-02T12:00:00", True),
    ],
)
def test_three_platform_errors_make_a_ticket_due_with_under_72_hours_left_or_none(as_of, due):
    history = failures(3, timedelta(minutes=1), first=at(as_of) - timedelta(hours=1))
    assert is_due(history, as_of) is due
    assert is_due(history[:5], as_of) is False


def test_a_try_that_was_given_up_makes_a_ticket_due():
    history = [review(), started(), finished(status=None, error="tls_refused")]
    assert is_due(history, "2026-03-02T23:59:59.999999") is False
    assert is_due(history, "2026-03-03T00:00:00") is True


def test_an_answer_after_more_than_a_day_does_not_undo_that_the_try_was_given_up():
    history = [
        *[review(), started(), started("a2", "2026-03-03T02:00:00Z")],
        finished("a2", 400, "2026-03-03T02:00:01Z"),
        finished("a1", 500, "2026-03-03T06:00:00Z"),
    ]
    assert is_due(history, "2026-03-03T05:59:59") is True
    assert is_due(history, "2026-03-03T06:00:00") is True


def test_an_open_ticket_and_a_finish_end_it():
    history = failures(5, QUARTER)
    opened = [*history, ticket("opened", "2026-03-02T02:00:00Z")]
    assert is_due(opened, "2026-03-02T01:59:59") is True
    assert is_due(opened, "2026-03-02T02:00:00") is False
    closed = [*opened, ticket("closed", "2026-03-02T03:00:00Z")]
    assert is_due(closed, "2026-03-02T03:00:00") is True
    done = [*history, review("e2", "2026-03-02T02:00:00Z", status="FINISHED")]
    assert is_due(done) is False
