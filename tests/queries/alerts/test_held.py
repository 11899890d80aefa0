"""What was raised stays due for a while, however long ago it became so: by hand from
docs/alerts.md#how-long-it-stays-due."""

from typing import Any

import pytest

from pipeline.alert_rules import AlertRules
from pipeline.ledger.reader import Reader
from tests.support.ledgers import asked, rows, standing
from tests.support.lines import aci, action, at, finished, started, webhook

RULES = AlertRules()


def name_of(history: list[dict[str, Any]], when: str) -> str:
    [row] = asked(history, "alerts", at(when))
    alert_id: str = row["alert_id"]
    return alert_id


def step(alert: str, name: str, when: str, **more: Any) -> dict[str, Any]:
    return action("alert", when, step=name, alert=alert, about="expired", **more)


def kinds(history: list[dict[str, Any]], when: str, rules: AlertRules = RULES) -> list[str]:
    reader = Reader(standing(history)._ledger, alert_rules=rules.for_views)
    return [row["kind"] for row in rows(reader, "alerts", at(when))]


@pytest.fixture(scope="module")
def expired() -> str:
    return name_of([aci()], "2026-03-31T12:00:00")


def test_what_was_raised_is_due_for_fourteen_days_and_what_was_not_for_seven(expired: str) -> None:
    raised = step(expired, "raised", "2026-04-05T12:00:00Z")
    assert kinds([aci()], "2026-04-07T11:59:59.999999") == ["expired"]
    assert kinds([aci()], "2026-04-07T12:00:00") == []
    assert kinds([aci(), raised], "2026-04-07T12:00:00") == ["expired"]
    assert kinds([aci(), raised], "2026-04-19T11:59:59.999999") == ["expired"]
    assert kinds([aci(), raised], "2026-04-19T12:00:00") == []


def test_what_was_put_off_for_longer_than_the_look_back_is_due_after_that(expired: str) -> None:
    """Put off for ten days, it was gone for good: the deadline had passed, and nobody heard."""
    history = [
        aci(),
        step(expired, "raised", "2026-03-31T12:00:01Z"),
        step(expired, "snoozed", "2026-04-01T09:00:00Z", until="2026-04-20T09:00:00Z"),
    ]
    assert kinds(history, "2026-04-20T09:00:00") == ["expired"]
    assert kinds(history, "2026-05-04T08:59:59.999999") == ["expired"]
    assert kinds(history, "2026-05-04T09:00:00") == []
    [row] = asked(history, "alerts", at("2026-04-20T08:59:59"))
    assert (row["is_open"], row["snoozed_until"]) == (False, at("2026-04-20T09:00:00"))
    [row] = asked(history, "alerts", at("2026-04-20T09:00:00"))
    assert (row["is_open"], row["snoozed_until"]) == (True, None)


def test_nothing_is_put_off_for_longer_than_sixty_days_from_its_raising(expired: str) -> None:
    history = [
        aci(),
        step(expired, "raised", "2026-03-31T12:00:01Z"),
        step(expired, "snoozed", "2026-04-01T09:00:00Z", until="2027-01-01T00:00:00Z"),
    ]
    [row] = asked(history, "alerts", at("2026-05-30T12:00:00"))
    assert (row["is_open"], row["snoozed_until"]) == (False, at("2026-05-30T12:00:01"))
    [row] = asked(history, "alerts", at("2026-05-30T12:00:01"))
    assert row["is_open"]
    assert kinds(history, "2026-06-13T12:00:00") == ["expired"]
    assert kinds(history, "2026-06-13T12:00:01") == []


def test_its_cause_ends_it_and_so_does_the_next_rung() -> None:
    before = name_of([aci()], "2026-03-24T12:00:00")
    history = [
        aci(),
        step(before, "raised", "2026-03-24T12:00:01Z"),
        step(before, "snoozed", "2026-03-24T13:00:00Z", until="2026-03-29T09:00:00Z"),
    ]
    assert kinds(history, "2026-03-27T12:00:00") == ["before_7d"]
    assert kinds(history, "2026-03-29T09:00:00") == ["before_3d"]
    done = [started("a1", "2026-03-25T12:00:00Z"), finished("a1", 200, "2026-03-25T12:00:01Z")]
    assert "before_7d" not in kinds([*history, *done], "2026-03-25T12:00:01")


def test_a_weekend_is_no_end_where_the_look_back_is_a_day(expired: str) -> None:
    """2026-03-27 is a Friday: what waited for Monday was lost on Saturday, without a word."""
    rules = AlertRules(look_back_days=1)
    event = aci(deadline_at="2026-04-03T20:00:00Z")
    alert = name_of([event], "2026-03-27T20:00:00")
    raised = step(alert, "raised", "2026-03-27T20:00:05Z")
    assert kinds([event], "2026-03-28T20:00:00", rules) == []
    assert kinds([event, raised], "2026-03-30T11:00:00", rules) == ["before_7d"]


def test_escalation_lengthens_the_time(expired: str) -> None:
    steps = [{"after": "2d", "to": ["role"]}, {"after": "36h", "to": ["role"]}]
    rules = AlertRules.model_validate({"routes": [{"to": ["role"], "escalate": steps}]})
    assert rules.held_hours == 14 * 24 + 48 + 36
    history = [aci(), step(expired, "raised", "2026-03-31T12:00:01Z")]
    assert kinds(history, "2026-04-18T00:00:00", rules) == ["expired"]
    assert kinds(history, "2026-04-18T00:00:01", rules) == []


def test_bad_deliveries_of_a_day_are_held_too() -> None:
    bad = [webhook("not json", "2026-03-02T12:00:00Z"), webhook("no", "2026-03-02T18:00:00Z")]
    alert = name_of(bad, "2026-03-02T18:00:00")
    raised = step(alert, "raised", "2026-03-02T12:00:05Z")
    # The second of them is recent for six hours longer than the first.
    for history, when, since in (
        (bad, "2026-03-09T12:00:00", ["2026-03-02T18:00:00"]),
        (bad, "2026-03-09T18:00:00", []),
        ([*bad, raised], "2026-03-09T18:00:00", ["2026-03-02T12:00:00"]),
    ):
        found = asked(history, "alerts", at(when))
        assert [row["since"].isoformat() for row in found] == since
