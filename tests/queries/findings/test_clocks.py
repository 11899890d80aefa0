"""Rules of clocks and reports, each with a history that breaks it and a near miss.

The expected rows are written out by hand: (severity, process, seller, seq, detail, found_at).
"""

import pytest

from tests.queries.findings.builders import NOON, breach, found, risk
from tests.support.lines import (
    OPENED,
    aci,
    acp,
    finished,
    invited,
    started,
)


def test_expired_unfinished_from_the_deadline_on():
    history = [acp()]
    assert found("expired_unfinished", history, "2026-04-30T11:59:59.999999") == []
    assert found("expired_unfinished", history, "2026-04-30T12:00:00") == [
        breach(1, "2026-04-30T12:00:00")
    ]


def test_expired_unfinished_even_before_the_opening_where_the_deadline_is_before_it():
    history = [acp(created_at="2026-03-01T12:00:05Z", occurred_at=OPENED, deadline_at=OPENED)]
    assert found("expired_unfinished", history, "2026-03-01T12:00:00") == [
        breach(1, "2026-03-01T12:00:00")
    ]


def test_expired_unfinished_from_the_first_report_of_it():
    history = [acp(), acp("e2", "2026-04-01T00:00:00Z", status="EXPIRED")]
    assert found("expired_unfinished", history, "2026-05-30T00:00:00") == [
        breach(2, "2026-04-01T00:00:00")
    ]


def test_expired_unfinished_ends_with_the_finish():
    history = [
        acp(),
        started("a1", "2026-05-01T00:00:00Z"),
        finished("a1", 200, "2026-05-01T00:00:01Z"),
    ]
    assert found("expired_unfinished", history, "2026-05-01T00:00:01") == []


@pytest.mark.parametrize(
    ("finished_at", "expected"),
    [
        ("2026-04-30T11:59:59.999999Z", []),
        ("2026-04-30T12:00:00Z", [breach(3, "2026-04-30T12:00:00")]),
    ],
)
def test_finished_late_at_the_deadline_or_after(finished_at, expected):
    history = [acp(), started("a1", "2026-04-30T11:59:00Z"), finished("a1", 200, finished_at)]
    assert found("finished_late", history, "2026-05-10T00:00:00") == expected


REPORTED = acp("e9", "2026-03-05T00:00:00Z", status="FINISHED")


@pytest.mark.parametrize(
    "ours",
    [
        [],
        [started(), finished("a1", 400)],
        [started(), finished("a1", 409)],
        [started(), finished("a1", 429)],
        [started(), finished("a1", None, error="tls_refused")],
        [started(), finished("a1", None, "2026-03-02T00:00:00Z", error="refused")],
        # What started with the finish, or after it, did not cause it.
        [started("a1", "2026-03-05T00:00:00Z"), finished("a1", 500, "2026-03-05T00:00:01Z")],
    ],
)
def test_finished_elsewhere_without_an_attempt_that_may_have_done_it(ours):
    history = [acp(), *ours, REPORTED]
    ended_at = "2026-03-05T00:00:00"
    assert found("finished_elsewhere", history, "2026-03-06T00:00:00") == [
        breach(len(history), ended_at)
    ]
    assert found("answer_lost", history, "2026-03-06T00:00:00") == []


@pytest.mark.parametrize(
    "end",
    [
        finished("a1", None, error="timeout"),
        finished("a1", None, error="network_error"),
        finished("a1", 500),
        finished("a1", 302),
        finished("a1", None),
    ],
)
def test_answer_lost_where_an_attempt_of_ours_may_have_done_it(end):
    history = [acp(), started(), end, REPORTED]
    assert found("answer_lost", history, "2026-03-06T00:00:00") == [risk(4, "2026-03-05T00:00:00")]
    assert found("finished_elsewhere", history, "2026-03-06T00:00:00") == []


def test_neither_while_an_attempt_is_in_flight():
    history = [
        acp(),
        started("a1", "2026-03-04T23:59:30Z"),
        acp("e9", "2026-03-05T00:00:00Z", status="FINISHED"),
    ]
    under_way = "2026-03-05T00:00:29.999999"
    assert found("answer_lost", history, under_way) == []
    assert found("finished_elsewhere", history, under_way) == []
    assert found("answer_lost", history, "2026-03-05T00:00:30") == [risk(3, "2026-03-05T00:00:30")]


def test_answer_lost_is_found_once_the_last_of_several_under_way_has_ended():
    history = [
        acp(),
        started("a1", "2026-03-04T23:00:00Z", timeout_seconds=7200),
        finished("a1", 500, "2026-03-05T00:30:00Z"),
        started("a2", "2026-03-04T23:30:00Z"),
        finished("a2", 500, "2026-03-04T23:30:01Z"),
        acp("e9", "2026-03-05T00:00:00Z", status="FINISHED"),
    ]
    assert found("answer_lost", history, "2026-03-05T00:29:59") == []
    assert found("answer_lost", history, "2026-03-06T00:00:00") == [risk(6, "2026-03-05T00:30:00")]


def test_the_200_that_arrives_clears_a_lost_answer():
    retried = [
        started("a2", "2026-03-05T01:00:00Z"),
        finished("a2", 200, "2026-03-05T01:00:01Z"),
    ]
    history = [acp(), started(), finished("a1", 500), REPORTED, *retried]
    assert found("answer_lost", history, "2026-03-06T00:00:00") == []
    assert found("finished_elsewhere", history, "2026-03-06T00:00:00") == []


def test_not_finished_elsewhere_where_a_200_came_later():
    reported = acp("e2", "2026-03-02T00:00:00.500000Z", status="FINISHED")
    answered_later = [acp(), started(), finished(), reported]
    assert found("finished_elsewhere", answered_later, "2026-03-06T00:00:00") == []


def test_overdue_unstarted_after_a_day_without_a_journey():
    history = [aci(), invited()]
    assert found("overdue_unstarted", history, "2026-03-02T11:59:59.999999") == []
    assert found("overdue_unstarted", history, "2026-03-02T12:00:00") == [
        risk(1, "2026-03-02T12:00:00")
    ]


@pytest.mark.parametrize("step", ["opened", "answered", "confirmed"])
def test_not_overdue_unstarted_once_the_seller_did_something(step):
    history = [aci(), invited(step=step)]
    assert found("overdue_unstarted", history, "2026-03-10T00:00:00") == []


def test_overdue_unstarted_from_an_early_report():
    history = [acp(), acp("e2", "2026-03-10T00:00:00Z", status="OVERDUE")]
    assert found("overdue_unstarted", history, "2026-03-11T00:00:00") == [
        risk(2, "2026-03-11T00:00:00")
    ]


def test_open_after_finish():
    reopened = acp("e2", "2026-03-02T00:00:01.000001Z", status="PENDING")
    history = [acp(), started(), finished(), reopened]
    assert found("open_after_finish", history, "2026-03-03T00:00:00") == [
        risk(4, "2026-03-02T00:00:01.000001")
    ]
    at_once = acp("e2", "2026-03-02T00:00:01Z", status="PENDING")
    history = [acp(), started(), finished(), at_once]
    assert found("open_after_finish", history, "2026-03-03T00:00:00") == []


def test_status_disagrees():
    history = [acp(), acp("e2", "2026-03-31T10:59:59.999999Z", status="OVERDUE")]
    assert found("status_disagrees", history, "2026-04-02T00:00:00") == [
        risk(2, "2026-03-31T10:59:59.999999")
    ]
    history = [acp(), acp("e2", "2026-03-31T11:00:00Z", status="OVERDUE")]
    assert found("status_disagrees", history, "2026-04-02T00:00:00") == []


def test_deadline_mismatch():
    history = [aci(deadline_at="2026-04-01T12:00:00.000001Z")]
    assert found("deadline_mismatch", history, NOON) == [risk(1, NOON)]
    history = [aci(deadline_at="2026-04-01T12:00:00Z")]
    assert found("deadline_mismatch", history, NOON) == []


def test_deadline_changed():
    history = [acp(), acp("e2", "2026-03-05T00:00:00Z", deadline_at="2026-04-30T12:00:00.000001Z")]
    assert found("deadline_changed", history, "2026-03-05T00:00:00") == [
        risk(2, "2026-03-05T00:00:00")
    ]
    history = [acp(), acp("e2", "2026-03-05T00:00:00Z", deadline_at="2026-04-30T13:00:00+01:00")]
    assert found("deadline_changed", history, "2026-03-05T00:00:00") == []


def test_identity_changed():
    history = [acp(), acp("e2", "2026-03-05T00:00:00Z", customer_id="s2")]
    assert found("identity_changed", history, "2026-03-05T00:00:00") == [
        risk(2, "2026-03-05T00:00:00")
    ]
    history = [acp(), acp("e2", "2026-03-05T00:00:00Z")]
    assert found("identity_changed", history, "2026-03-05T00:00:00") == []
