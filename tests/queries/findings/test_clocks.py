"""Rules of clocks and reports, each with a history that breaks it and a near miss.

The expected rows are written out by hand: (severity, process, seller, seq, detail, found_at).
"""

import pytest

from tests.queries.findings.builders import NOON, breach, found, risk
from tests.support.ledgers import World
from tests.support.lines import (
    OPENED,
    aci,
    acp,
    finished,
    invited,
    started,
)

WORLD = World()


@WORLD.given(acp())
def test_expired_unfinished_from_the_deadline_on(history):
    assert found("expired_unfinished", history, "2026-04-30T11:59:59.999999") == []
    assert found("expired_unfinished", history, "2026-04-30T12:00:00") == [
        breach(1, "2026-04-30T12:00:00")
    ]


@WORLD.given(acp(created_at="2026-03-01T12:00:05Z", occurred_at=OPENED, deadline_at=OPENED))
def test_expired_unfinished_even_before_the_opening_where_the_deadline_is_before_it(history):
    assert found("expired_unfinished", history, "2026-03-01T12:00:00") == [
        breach(1, "2026-03-01T12:00:00")
    ]


@WORLD.given(acp(), acp("e2", "2026-04-01T00:00:00Z", status="EXPIRED"))
def test_expired_unfinished_from_the_first_report_of_it(history):
    assert found("expired_unfinished", history, "2026-05-30T00:00:00") == [
        breach(2, "2026-04-01T00:00:00")
    ]


@WORLD.given(
    acp(),
    started("a1", "2026-05-01T00:00:00Z"),
    finished("a1", 200, "2026-05-01T00:00:01Z"),
)
def test_expired_unfinished_ends_with_the_finish(history):
    assert found("expired_unfinished", history, "2026-05-01T00:00:01") == []


SENT = [acp(), started("a1", "2026-04-30T11:59:00Z")]


@WORLD.given(
    in_time=[*SENT, finished("a1", 200, "2026-04-30T11:59:59.999999Z")],
    late=[*SENT, finished("a1", 200, "2026-04-30T12:00:00Z")],
)
def test_finished_late_at_the_deadline_or_after(in_time, late):
    assert found("finished_late", in_time, "2026-05-10T00:00:00") == []
    assert found("finished_late", late, "2026-05-10T00:00:00") == [breach(3, "2026-04-30T12:00:00")]


REPORTED = acp("e9", "2026-03-05T00:00:00Z", status="FINISHED")


@pytest.mark.parametrize(
    "history",
    [
        WORLD.add(acp(), *ours, REPORTED)
        for ours in (
            [],
            [started(), finished("a1", 400)],
            [started(), finished("a1", 409)],
            [started(), finished("a1", 429)],
            [started(), finished("a1", None, error="tls_refused")],
            [started(), finished("a1", None, "2026-03-02T00:00:00Z", error="refused")],
            # What started with the finish, or after it, did not cause it.
            [started("a1", "2026-03-05T00:00:00Z"), finished("a1", 500, "2026-03-05T00:00:01Z")],
        )
    ],
)
def test_finished_elsewhere_without_an_attempt_that_may_have_done_it(history):
    ended_at = "2026-03-05T00:00:00"
    assert found("finished_elsewhere", history, "2026-03-06T00:00:00") == [
        breach(len(history), ended_at)
    ]
    assert found("answer_lost", history, "2026-03-06T00:00:00") == []


@pytest.mark.parametrize(
    "history",
    [
        WORLD.add(acp(), started(), end, REPORTED)
        for end in (
            finished("a1", None, error="timeout"),
            finished("a1", None, error="network_error"),
            finished("a1", 500),
            finished("a1", 302),
            finished("a1", None),
        )
    ],
)
def test_answer_lost_where_an_attempt_of_ours_may_have_done_it(history):
    assert found("answer_lost", history, "2026-03-06T00:00:00") == [risk(4, "2026-03-05T00:00:00")]
    assert found("finished_elsewhere", history, "2026-03-06T00:00:00") == []


@WORLD.given(
    just_before=[
        *[acp(), started("a1", "2026-03-04T23:59:59.999999Z"), REPORTED],
        finished("a1", None, "2026-03-05T00:01:00Z", error="timeout"),
    ],
    with_it=[
        *[acp(), started("a1", "2026-03-05T00:00:00Z"), REPORTED],
        finished("a1", None, "2026-03-05T00:01:00Z", error="timeout"),
    ],
)
def test_only_an_attempt_that_started_before_the_finish_can_have_done_it(just_before, with_it):
    assert len(found("answer_lost", just_before, "2026-03-06T00:00:00")) == 1
    assert found("finished_elsewhere", just_before, "2026-03-06T00:00:00") == []
    assert len(found("finished_elsewhere", with_it, "2026-03-06T00:00:00")) == 1
    assert found("answer_lost", with_it, "2026-03-06T00:00:00") == []


@WORLD.given(
    acp(),
    started("a1", "2026-03-04T23:59:30Z"),
    acp("e9", "2026-03-05T00:00:00Z", status="FINISHED"),
)
def test_neither_while_an_attempt_is_in_flight(history):
    under_way = "2026-03-05T00:00:29.999999"
    assert found("answer_lost", history, under_way) == []
    assert found("finished_elsewhere", history, under_way) == []
    assert found("answer_lost", history, "2026-03-05T00:00:30") == [risk(3, "2026-03-05T00:00:30")]


@WORLD.given(
    acp(),
    started("a1", "2026-03-04T23:00:00Z", timeout_seconds=7200),
    finished("a1", 500, "2026-03-05T00:30:00Z"),
    started("a2", "2026-03-04T23:30:00Z"),
    finished("a2", 500, "2026-03-04T23:30:01Z"),
    acp("e9", "2026-03-05T00:00:00Z", status="FINISHED"),
)
def test_answer_lost_is_found_once_the_last_of_several_under_way_has_ended(history):
    assert found("answer_lost", history, "2026-03-05T00:29:59") == []
    assert found("answer_lost", history, "2026-03-06T00:00:00") == [risk(6, "2026-03-05T00:30:00")]


@WORLD.given(
    *[acp(), started(), finished("a1", 500), REPORTED],
    started("a2", "2026-03-05T01:00:00Z"),
    finished("a2", 200, "2026-03-05T01:00:01Z"),
)
def test_the_200_that_arrives_clears_a_lost_answer(history):
    assert found("answer_lost", history, "2026-03-06T00:00:00") == []
    assert found("finished_elsewhere", history, "2026-03-06T00:00:00") == []


@WORLD.given(
    *[acp(), started(), finished()],
    acp("e2", "2026-03-02T00:00:00.500000Z", status="FINISHED"),
)
def test_not_finished_elsewhere_where_a_200_came_later(history):
    assert found("finished_elsewhere", history, "2026-03-06T00:00:00") == []


@WORLD.given(aci(), invited())
def test_overdue_unstarted_after_a_day_without_a_journey(history):
    assert found("overdue_unstarted", history, "2026-03-02T11:59:59.999999") == []
    assert found("overdue_unstarted", history, "2026-03-02T12:00:00") == [
        risk(1, "2026-03-02T12:00:00")
    ]


@pytest.mark.parametrize(
    "history", [WORLD.add(aci(), invited(step=it)) for it in ("opened", "answered", "confirmed")]
)
def test_not_overdue_unstarted_once_the_seller_did_something(history):
    assert found("overdue_unstarted", history, "2026-03-10T00:00:00") == []


@WORLD.given(acp(), acp("e2", "2026-03-10T00:00:00Z", status="OVERDUE"))
def test_overdue_unstarted_from_an_early_report(history):
    assert found("overdue_unstarted", history, "2026-03-11T00:00:00") == [
        risk(2, "2026-03-11T00:00:00")
    ]


@WORLD.given(
    *[acp(), started(), finished()],
    acp("e2", "2026-03-02T00:00:01.000001Z", status="PENDING"),
    at_once=[acp(), started(), finished(), acp("e2", "2026-03-02T00:00:01Z", status="PENDING")],
)
def test_open_after_finish(history, at_once):
    assert found("open_after_finish", history, "2026-03-03T00:00:00") == [
        risk(4, "2026-03-02T00:00:01.000001")
    ]
    assert found("open_after_finish", at_once, "2026-03-03T00:00:00") == []


@WORLD.given(
    *[acp(), acp("e2", "2026-03-31T10:59:59.999999Z", status="OVERDUE")],
    an_hour_early=[acp(), acp("e2", "2026-03-31T11:00:00Z", status="OVERDUE")],
)
def test_status_disagrees(history, an_hour_early):
    assert found("status_disagrees", history, "2026-04-02T00:00:00") == [
        risk(2, "2026-03-31T10:59:59.999999")
    ]
    assert found("status_disagrees", an_hour_early, "2026-04-02T00:00:00") == []


@WORLD.given(
    aci(deadline_at="2026-04-01T12:00:00.000001Z"),
    a_day_off=[aci(deadline_at="2026-04-01T12:00:00Z")],
)
def test_deadline_mismatch(history, a_day_off):
    assert found("deadline_mismatch", history, NOON) == [risk(1, NOON)]
    assert found("deadline_mismatch", a_day_off, NOON) == []


@WORLD.given(
    *[acp(), acp("e2", "2026-03-05T00:00:00Z", deadline_at="2026-04-30T12:00:00.000001Z")],
    spelled=[acp(), acp("e2", "2026-03-05T00:00:00Z", deadline_at="2026-04-30T13:00:00+01:00")],
)
def test_deadline_changed(history, spelled):
    assert found("deadline_changed", history, "2026-03-05T00:00:00") == [
        risk(2, "2026-03-05T00:00:00")
    ]
    assert found("deadline_changed", spelled, "2026-03-05T00:00:00") == []


@WORLD.given(
    *[acp(), acp("e2", "2026-03-05T00:00:00Z", customer_id="s2")],
    same=[acp(), acp("e2", "2026-03-05T00:00:00Z")],
)
def test_identity_changed(history, same):
    assert found("identity_changed", history, "2026-03-05T00:00:00") == [
        risk(2, "2026-03-05T00:00:00")
    ]
    assert found("identity_changed", same, "2026-03-05T00:00:00") == []
