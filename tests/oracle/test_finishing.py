"""When a process is finished, and which reports and deadlines disagree.

Pins the oracle itself: every expected value is written out by hand from docs/rules.md.
"""

import pytest

from tests.oracle.builders import aci, found, process, review
from tests.support.lines import at, finished, started


@pytest.mark.parametrize(
    ("reported", "finished_at", "finished_by"),
    [
        ("2026-03-02T00:00:00.999999Z", "2026-03-02T00:00:00.999999", "platform"),
        ("2026-03-02T00:00:01Z", "2026-03-02T00:00:01", "submission"),
        ("2026-03-02T00:00:01.000001Z", "2026-03-02T00:00:01", "submission"),
    ],
)
def test_the_earlier_of_the_200_and_the_report_finishes_and_a_tie_is_the_submission(
    reported, finished_at, finished_by
):
    history = [review(), started(), finished(), review("e2", reported, status="FINISHED")]
    row = process(history, "2026-03-03T00:00:00")
    assert (row["state"], row["finished_at"], row["finished_by"]) == (
        "FINISHED",
        at(finished_at),
        finished_by,
    )
    assert (row["days_to_deadline"], row["days_to_overdue"]) == (None, None)


@pytest.mark.parametrize(
    ("ended", "late"),
    [("2026-04-30T11:59:59.999999Z", False), ("2026-04-30T12:00:00Z", True)],
)
def test_finished_at_the_deadline_is_late(ended, late):
    history = [
        review(),
        started(occurred_at="2026-04-30T11:00:00Z"),
        finished(occurred_at=ended),
    ]
    assert process(history, "2026-05-02T00:00:00")["finished_late"] is late
    assert len(found(history, "2026-05-02T00:00:00", "finished_late")) == int(late)


@pytest.mark.parametrize(
    ("created_at", "status", "deadline", "late"),
    [
        ("2026-05-05T12:00:00Z", "FINISHED", "2026-04-30T12:00:00", True),
        ("2026-05-05T12:00:00Z", "OVERDUE", "2026-05-30T12:00:00", False),
        ("2026-05-05T11:59:59.999999Z", "OVERDUE", "2026-05-30T12:00:00", False),
        ("2026-05-05T12:00:00.000001Z", "OVERDUE", "2026-04-30T12:00:00", True),
    ],
)
def test_what_comes_with_or_after_the_end_moves_no_deadline(created_at, status, deadline, late):
    history = [
        review(),
        started(occurred_at="2026-05-05T11:59:00Z"),
        finished(occurred_at="2026-05-05T12:00:00Z"),
        review("e2", created_at, status=status, deadline_at="2026-05-30T12:00:00Z"),
    ]
    row = process(history, "2026-06-30T00:00:00")
    assert (row["deadline_at"], row["finished_late"]) == (at(deadline), late)


def test_the_finish_is_the_earliest_200_though_its_attempt_started_later():
    history = [
        review(),
        started("a1", "2026-03-02T00:00:00Z"),
        started("a2", "2026-03-02T00:00:01Z"),
        finished("a2", 200, "2026-03-02T00:00:05Z"),
        finished("a1", 200, "2026-03-02T00:00:09Z"),
    ]
    assert process(history, "2026-03-03T00:00:00")["finished_at"] == at("2026-03-02T00:00:05")


def test_an_open_report_created_after_the_finish_is_open_after_finish_and_reopens_nothing():
    history = [
        review(),
        started(),
        finished(),
        review("e2", "2026-03-02T00:00:01Z", status="OVERDUE"),
        review("e3", "2026-03-02T00:00:01.000001Z", status="OVERDUE"),
    ]
    assert process(history[:4], "2026-03-03T00:00:00")["open_after_finish"] is False
    row = process(history, "2026-03-03T00:00:00")
    assert (row["open_after_finish"], row["state"]) == (True, "FINISHED")
    assert found(history, "2026-03-03T00:00:00", "open_after_finish") == [
        ("open_after_finish", "risk", 5, at("2026-03-02T00:00:01.000001"))
    ]


@pytest.mark.parametrize(
    ("deadline_at", "mismatch"),
    [
        ("2026-04-29T12:00:00Z", False),
        ("2026-04-29T11:59:59.999999Z", True),
        ("2026-05-01T12:00:00Z", False),
        ("2026-05-01T12:00:00.000001Z", True),
    ],
)
def test_a_deadline_more_than_a_day_off_sixty_days_is_a_mismatch(deadline_at, mismatch):
    row = process([review(deadline_at=deadline_at)], "2026-03-02T00:00:00")
    assert row["deadline_mismatch"] is mismatch


def test_an_aci_deadline_is_measured_against_thirty_days():
    assert process([aci()], "2026-03-02T00:00:00")["deadline_mismatch"] is False
    row = process([aci(deadline_at="2026-04-30T12:00:00Z")], "2026-03-02T00:00:00")
    assert row["deadline_mismatch"] is True


@pytest.mark.parametrize(
    ("created_at", "disagrees"),
    [
        ("2026-03-31T10:59:59.999999Z", True),  # an hour later it is still PENDING
        ("2026-03-31T11:00:00Z", False),  # an hour later it is OVERDUE
        ("2026-03-31T14:00:00Z", False),
    ],
)
def test_a_report_disagrees_when_no_clock_within_an_hour_says_so(created_at, disagrees):
    history = [review("e1"), review("e2", created_at, status="OVERDUE")]
    assert process(history, "2026-04-01T00:00:00")["status_disagrees"] is disagrees


@pytest.mark.parametrize(
    ("created_at", "disagrees"),
    [
        ("2026-03-31T12:59:59.999999Z", False),  # an hour before it was PENDING
        ("2026-03-31T13:00:00Z", True),  # an hour before it was OVERDUE already
    ],
)
def test_a_milder_report_is_forgiven_for_an_hour(created_at, disagrees):
    history = [review("e1"), review("e2", created_at, status="PENDING")]
    assert process(history, "2026-04-01T00:00:00")["status_disagrees"] is disagrees


def platforms_finish(*attempts: dict) -> list[dict]:
    """An ACI that the platform reports as finished at 02:00 on 2 March."""
    report = aci("e2", created_at="2026-03-02T02:00:00Z", status="FINISHED")
    return [aci(), report, *attempts]


BOTH = ("finished_elsewhere", "answer_lost")


@pytest.mark.parametrize(
    "answer",
    [
        {"error": "timeout"},
        {"error": "network_error"},
        {"status": 500},
        {"status": 302},
        {},
    ],
)
def test_an_answer_that_was_lost_before_the_finish_probably_did_it(answer):
    history = platforms_finish(started(), finished(**{"status": None, **answer}))
    assert found(history, "2026-03-03T00:00:00", *BOTH) == [
        ("answer_lost", "risk", 2, at("2026-03-02T02:00:00"))
    ]


@pytest.mark.parametrize(
    "answer",
    [
        {"error": "tls_refused"},
        {"error": "refused", "occurred_at": "2026-03-02T00:00:00Z"},
        {"status": 400},
        {"status": 401},
        {"status": 404},
        {"status": 409},
        {"status": 429},
    ],
)
def test_what_cannot_have_finished_a_process_leaves_it_finished_elsewhere(answer):
    history = platforms_finish(started(), finished(**{"status": None, **answer}))
    assert found(history, "2026-03-03T00:00:00", *BOTH) == [
        ("finished_elsewhere", "breach", 2, at("2026-03-02T02:00:00"))
    ]


@pytest.mark.parametrize(
    ("started_at", "rule"),
    [
        ("2026-03-02T01:59:59.999999Z", "answer_lost"),
        ("2026-03-02T02:00:00Z", "finished_elsewhere"),
    ],
)
def test_only_an_attempt_that_started_before_the_finish_can_have_done_it(started_at, rule):
    lost = finished(status=None, error="timeout", occurred_at="2026-03-02T02:01:00Z")
    history = platforms_finish(started(occurred_at=started_at), lost)
    [(found_rule, *_)] = found(history, "2026-03-03T00:00:00", *BOTH)
    assert found_rule == rule


def test_neither_holds_while_an_attempt_is_in_flight():
    history = platforms_finish(started(occurred_at="2026-03-02T01:59:30Z"))
    assert found(history, "2026-03-02T02:00:29.999999", *BOTH) == []
    assert found(history, "2026-03-02T02:00:30", *BOTH) == [
        ("answer_lost", "risk", 2, at("2026-03-02T02:00:30"))
    ]


def test_a_200_that_arrives_clears_the_lost_answer():
    again = [
        started("a2", "2026-03-02T03:00:00Z"),
        finished("a2", 200, "2026-03-02T03:00:01Z"),
    ]
    lost = [started(), finished(status=None, error="timeout")]
    assert found(platforms_finish(*lost, *again), "2026-03-03T00:00:00", *BOTH) == []
