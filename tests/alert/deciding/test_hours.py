"""What waits until a recipient works, and what does not, by hand from docs/alerts.md#hours."""

import pytest

from pipeline.alert.entries import Due
from pipeline.alert.watch import name_of
from tests.alert.test_decision import (
    ANA,
    BRUNO,
    NIGHT,
    TUESDAY,
    Log,
    at,
    due,
    rules,
    told,
)

SATURDAY, SUNDAY = "2026-03-07T15:00:00Z", "2026-03-08T15:00:00Z"
THURSDAY = "2026-03-05T15:00:00Z"  # three days before the deadline on Sunday


def of_sunday() -> tuple[Due, Due]:
    """Two rungs of the deadline on Sunday: the one before, and the one that is reached now."""
    passes = at(SUNDAY)
    before = due(name_of("before_3d", f"{passes}:p1"), deadline_at=passes)
    return before, due(deadline_at=passes)


def test_who_does_not_know_of_a_deadline_hears_of_it_though_somebody_else_does() -> None:
    before, now = of_sunday()
    log = Log().raised(before).raised(now).sent(before, "bruno", THURSDAY)
    assert told(log, [now], rules(), SATURDAY) == [("ana", 0, 1)]


def test_who_could_not_be_reached_does_not_know_of_a_deadline() -> None:
    before, now = of_sunday()
    log = Log().raised(before).raised(now).tried(before, "ana", THURSDAY)
    log.answered(before, "ana", THURSDAY, fault="450 later")
    assert told(log, [now], rules(recipients={"ana": ANA}), SATURDAY) == [("ana", 0, 1)]


def test_what_passes_at_this_very_moment_has_passed() -> None:
    now = due(deadline_at=at(SATURDAY))
    assert told(Log().raised(now), [now], rules(recipients={"ana": ANA}), SATURDAY) == []


@pytest.mark.parametrize(
    ("deadline", "is_sent"),
    [
        ("2026-03-03T11:00:00Z", True),  # eight in the morning, when work begins
        ("2026-03-03T11:00:00.000001Z", False),
    ],
)
def test_at_night_work_begins_on_the_same_day(deadline: str, is_sent: bool) -> None:
    now, at_three = due(deadline_at=at(deadline)), "2026-03-03T06:00:00Z"
    found = told(Log().raised(now), [now], rules(recipients={"ana": ANA}), at_three)
    assert found == [("ana", 0, 1)] * is_sent


@pytest.mark.parametrize(
    ("deadline", "is_sent"),
    [("2026-09-14T11:00:00Z", True), ("2026-09-14T11:00:00.000001Z", False)],
)
def test_the_next_working_day_may_be_far_away(deadline: str, is_sent: bool) -> None:
    """Who works on Mondays alone does not on 7 September 2026, a holiday."""
    by = rules(recipients={"ana": ANA}, hours={"days": ["mon"]})
    now, saturday = due(deadline_at=at(deadline)), "2026-09-05T15:00:00Z"
    assert told(Log().raised(now), [now], by, saturday) == [("ana", 0, 1)] * is_sent


def test_while_they_work_they_hear_of_what_is_finished_too() -> None:
    """Such as a try that was given up."""
    done = due(kind="retries_exhausted", state="FINISHED")
    log, by = Log().raised(done), rules(recipients={"ana": ANA})
    assert told(log, [done], by, NIGHT) == []
    assert told(log, [done], by, TUESDAY) == [("ana", 0, 1)]


def test_a_route_says_which_severities_wait_for_no_hours() -> None:
    later = at("2026-05-01T00:00:00Z")
    every = [due(it, severity=it, deadline_at=later) for it in ("breach", "risk", "notice")]
    log = Log()
    for alert in every:
        log.raised(alert)
    for severities in (["risk"], ["breach", "notice"], []):
        by = rules(routes=[{"to": ["ana"], "at_any_hour": severities}])
        assert len(told(log, every, by, NIGHT)) == len(severities)
        assert len(told(log, every, by, TUESDAY)) == 3


def test_of_two_routes_to_somebody_one_that_does_not_wait_is_enough() -> None:
    risk = due(deadline_at=at("2026-05-01T00:00:00Z"))
    waits = {"to": ["ana"]}
    does_not = {"to": ["ana"], "kinds": ["before_3d"], "at_any_hour": ["risk"]}
    for routes in ([waits, does_not], [does_not, waits]):
        by = rules(recipients={"ana": ANA, "bruno": BRUNO}, routes=routes)
        assert told(Log().raised(risk), [risk], by, NIGHT) == [("ana", 0, 1)]
