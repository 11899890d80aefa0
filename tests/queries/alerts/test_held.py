"""What was raised stays due for a while, however long ago it became so: by hand from
docs/alerts.md#how-long-it-stays-due.

Each process is of an age at which something ends, or begins, at one common instant."""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest

from pipeline.alert_rules import AlertRules
from pipeline.ledger.views.reader import Reader
from tests.support.histories.moments import DAY, HOUR, TICK, in_zulu
from tests.support.ledgers import asked, rows, standing
from tests.support.lines import aci, action, at, finished, started, webhook

RULES = AlertRules()
NOW = at("2026-05-01T12:00:00")
SECOND = timedelta(seconds=1)


def review(
    name: str,
    deadline: datetime,
    raised: datetime | None = None,
    put_off: datetime | None = None,
    rung: str = "expired",
) -> list[dict[str, Any]]:
    """The review of that name, whose alert of a rung may be raised, and put off an hour later."""
    opened, due = deadline - 30 * DAY, in_zulu(deadline)
    event = aci(f"e-{name}", in_zulu(opened), process_id=name, customer_id=name, deadline_at=due)
    micros = int((deadline - at("1970-01-01T00:00:00")) / TICK)
    alert = sha256(f"{rung}:{micros}:{name}".encode()).hexdigest()[:32]
    of_it = {"process_id": name, "alert": alert, "about": rung}
    if raised is None:
        return [event]
    steps = [event, action("alert", in_zulu(raised), step="raised", **of_it)]
    if put_off is not None:
        until = {"step": "snoozed", "until": in_zulu(put_off)}
        steps.append(action("alert", in_zulu(raised + HOUR), **until, **of_it))
    return steps


FAR = NOW + 365 * DAY
LONG_AGO = {"raised": NOW - 60 * DAY, "put_off": FAR}
LONGER_AGO = {"raised": NOW - 74 * DAY, "put_off": FAR}
MONDAY = at("2026-03-30T11:00:00")
FRIDAY = at("2026-03-27T20:00:00")
SEVEN = "before_7d"
HISTORY = [
    *review("never_raised", NOW - 7 * DAY),
    *review("raised_lately", NOW - 7 * DAY, NOW - 2 * DAY),
    *review("raised", NOW - 19 * DAY, NOW - 14 * DAY),
    *review("put_off_until_now", NOW - 20 * DAY, NOW - 20 * DAY + SECOND, NOW),
    *review("put_off_before", NOW - 34 * DAY, NOW - 34 * DAY + SECOND, NOW - 14 * DAY),
    *review("put_off_for_long", NOW - 60 * DAY - SECOND, **LONG_AGO),
    *review("put_off_for_longer", NOW - 74 * DAY - SECOND, **LONGER_AGO),
    *review("on_the_same_rung", NOW + 4 * DAY, NOW - 3 * DAY + SECOND, NOW + DAY, SEVEN),
    *review("on_the_next_rung", NOW + 2 * DAY, NOW - 5 * DAY + SECOND, NOW - HOUR, SEVEN),
    *review("answered", NOW + 6 * DAY, NOW - DAY + SECOND, NOW + HOUR, SEVEN),
    started("a1", in_zulu(NOW - SECOND), process_id="answered", seller_id="answered"),
    finished("a1", 200, in_zulu(NOW), process_id="answered"),
    *review("friday", FRIDAY + 7 * DAY, FRIDAY + 5 * SECOND, rung=SEVEN),
    *review("never_raised_on_sunday", MONDAY + 6 * DAY),
    *review("escalated", NOW - 18 * DAY, NOW - 17 * DAY - 12 * HOUR),
]


def due(instant: datetime, rules: AlertRules = RULES) -> dict[str, dict[str, Any]]:
    """The rung on which each process stands, where it is due."""
    reader = Reader(standing(HISTORY)._ledger, alert_rules=rules.for_views)
    found = rows(reader, "alerts", instant)
    rungs = [row for row in found if row["kind"] == "expired" or "before" in row["kind"]]
    by_process = {row["process_id"]: row for row in rungs}
    assert len(by_process) == len(rungs), "each stands on one rung"
    return by_process


@pytest.fixture(scope="module")
def before() -> dict[str, dict[str, Any]]:
    return due(NOW - TICK)


@pytest.fixture(scope="module")
def now() -> dict[str, dict[str, Any]]:
    return due(NOW)


Due = dict[str, dict[str, Any]]


def test_what_was_raised_is_due_for_fourteen_days_and_what_was_not_for_seven(
    before: Due, now: Due
) -> None:
    assert before["never_raised"]["kind"] == "expired"
    assert "never_raised" not in now
    assert now["raised_lately"]["kind"] == "expired"
    assert before["raised"]["kind"] == "expired"
    assert "raised" not in now


def test_what_was_put_off_for_longer_than_the_look_back_is_due_after_that(
    before: Due, now: Due
) -> None:
    """Put off for ten days, it was gone for good: the deadline had passed, and nobody heard."""
    row = before["put_off_until_now"]
    assert (row["kind"], row["is_open"], row["snoozed_until"]) == ("expired", False, NOW)
    row = now["put_off_until_now"]
    assert (row["kind"], row["is_open"], row["snoozed_until"]) == ("expired", True, None)
    assert before["put_off_before"]["kind"] == "expired"
    assert "put_off_before" not in now


def test_nothing_is_put_off_for_longer_than_sixty_days_from_its_raising(
    before: Due, now: Due
) -> None:
    row = before["put_off_for_long"]
    assert (row["is_open"], row["snoozed_until"]) == (False, NOW)
    assert now["put_off_for_long"]["is_open"]
    assert before["put_off_for_longer"]["kind"] == "expired"
    assert "put_off_for_longer" not in now


def test_its_cause_ends_it_and_so_does_the_next_rung(now: Due) -> None:
    assert now["on_the_same_rung"]["kind"] == "before_7d"
    assert now["on_the_next_rung"]["kind"] == "before_3d"
    assert "answered" not in now


def test_a_weekend_is_not_an_end_where_the_look_back_is_a_day() -> None:
    """2026-03-27 is a Friday: what waited for Monday was lost on Saturday, without a word."""
    found = due(MONDAY, AlertRules(look_back_days=1))
    assert found["friday"]["kind"] == "before_7d"
    assert "never_raised_on_sunday" not in found


def test_escalation_lengthens_the_time() -> None:
    steps = [{"after": "2d", "to": ["role"]}, {"after": "36h", "to": ["role"]}]
    rules = AlertRules.model_validate({"routes": [{"to": ["role"], "escalate": steps}]})
    assert rules.held_hours == 14 * 24 + 48 + 36
    assert due(NOW - TICK, rules)["escalated"]["kind"] == "expired"
    assert "escalated" not in due(NOW, rules)


def test_bad_deliveries_of_a_day_are_held_too() -> None:
    bad = [webhook("not json", "2026-03-02T12:00:00Z"), webhook("no", "2026-03-02T18:00:00Z")]
    [row] = asked(bad, "alerts", at("2026-03-02T18:00:00"))
    of_it = {"alert": row["alert_id"], "about": "quarantined"}
    raised = action("alert", "2026-03-02T12:00:05Z", step="raised", **of_it)
    # The second of them is recent for six hours longer than the first.
    for history, when, since in (
        (bad, "2026-03-09T12:00:00", ["2026-03-02T18:00:00"]),
        (bad, "2026-03-09T18:00:00", []),
        ([*bad, raised], "2026-03-09T18:00:00", ["2026-03-02T12:00:00"]),
    ):
        found = asked(history, "alerts", at(when))
        assert [row["since"].isoformat() for row in found] == since


def test_bad_deliveries_after_somebody_saw_to_those_of_the_day_are_an_alert_of_their_own() -> None:
    """One was acknowledged at nine, and of a review that nobody could read at two nobody heard."""
    morning = [webhook("not json", "2026-03-02T09:00:00Z"), webhook("no", "2026-03-02T09:20:00Z")]
    [first] = asked(morning, "alerts", at("2026-03-02T09:30:00"))
    since = "2026-03-02T09:00:00Z"
    of_it = {"alert": first["alert_id"], "about": "quarantined"}
    seen_to = [
        *morning,
        action("alert", "2026-03-02T09:00:05Z", step="raised", since=since, **of_it),
        action("alert", "2026-03-02T09:30:00Z", step="acknowledged", actor="Ana", **of_it),
    ]
    assert [it["alert_id"] for it in asked(seen_to, "alerts", at("2026-03-02T13:00:00"))] == [
        first["alert_id"]
    ]
    assert asked(seen_to, "new_alerts", at("2026-03-02T13:00:00")) == []
    bad = [webhook(f"none {it}", f"2026-03-0{it}T14:00:00Z") for it in (2, 3)]
    found = asked([*seen_to, *bad], "alerts", at("2026-03-03T15:00:00"))
    assert {it["since"].isoformat() for it in found} == {
        "2026-03-02T09:00:00",
        "2026-03-02T14:00:00",
        "2026-03-03T14:00:00",
    }
    assert len({it["alert_id"] for it in found}) == 3
    new = asked([*seen_to, *bad], "new_alerts", at("2026-03-03T15:00:00"))
    assert [it["since"].isoformat() for it in new] == ["2026-03-02T14:00:00", "2026-03-03T14:00:00"]
