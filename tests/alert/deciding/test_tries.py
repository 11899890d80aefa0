"""What leaves next and what a step of an alert changes, by hand from docs/alerts.md."""

import pytest

from pipeline.alert import entries
from pipeline.alert.decision import decide
from pipeline.alert.entries import NOBODY
from tests.alert.test_decision import (
    ANA,
    BRUNO,
    MONDAY,
    TUESDAY,
    Log,
    at,
    due,
    rules,
    told,
)

ALONE = rules(recipients={"ana": ANA})


def messages(log: Log, dues: list, now: str) -> list[list[str]]:
    """The alerts of each message that leaves."""
    plan = decide(dues, log.alarms, ALONE, at(now))
    return [[it.due.alert for it in message.items] for message in plan.messages]


def failed(log: Log, alert, when: str, number: int) -> None:
    log.tried(alert, "ana", when, number=number)
    log.answered(alert, "ana", when, number=number, fault="450 later")


# --- what leaves next ---


def test_what_has_no_deadline_comes_after_what_has_one() -> None:
    none, soon = due("a", deadline_at=None), due("b")
    assert messages(Log().raised(none).raised(soon), [none, soon], MONDAY) == [["b", "a"]]


def test_what_was_put_off_after_many_tries_comes_once_in_one_message() -> None:
    """Its tries before count no longer: it is not among those that are tried in parts."""
    every, log = [due("a"), due("b")], Log()
    for alert in every:
        log.raised(alert)
        for number in range(1, 6):
            failed(log, alert, MONDAY, number)
        log.snoozed(alert, TUESDAY)
    assert messages(log, every, TUESDAY) == [["a", "b"]]


def test_only_what_is_graver_than_all_that_has_just_failed_leaves() -> None:
    breach, risk, notice = (due(it, severity=it) for it in ("breach", "risk", "notice"))
    log = Log().raised(breach).raised(risk).raised(notice)
    failed(log, breach, MONDAY, 1)
    failed(log, notice, MONDAY, 1)
    assert messages(log, [breach, risk, notice], "2026-03-02T12:00:59Z") == []


@pytest.mark.parametrize(("number", "is_held"), [(3, True), (4, False)])
def test_after_the_third_try_what_fails_holds_nothing_back(number: int, is_held: bool) -> None:
    breach, risk = due("breach", severity="breach"), due("risk")
    log = Log().raised(breach).raised(risk)
    for each in range(1, number + 1):
        failed(log, breach, MONDAY, each)
    assert messages(log, [breach, risk], "2026-03-02T12:00:59.999999Z") == (
        [] if is_held else [["risk"]]
    )
    assert messages(log, [breach, risk], "2026-03-02T12:01:00Z") == [["risk"]]


# --- what a step changes ---


def test_a_try_under_way_is_not_repeated_by_what_came_of_the_one_before() -> None:
    """The first failed at noon, the second began a minute later: nobody knows of its end until five
    minutes after that."""
    log = Log().raised(due())
    failed(log, due(), MONDAY, 1)
    log.tried(due(), "ana", "2026-03-02T12:01:00Z", number=2)
    assert told(log, [due()], ALONE, "2026-03-02T12:05:59.999999Z") == []
    assert told(log, [due()], ALONE, "2026-03-02T12:06:00Z") == [("ana", 0, 3)]


def test_a_late_failure_of_an_earlier_try_says_nothing_of_the_one_under_way() -> None:
    log = Log().raised(due()).tried(due(), "ana", MONDAY)
    log.tried(due(), "ana", "2026-03-02T12:05:00Z", number=2)
    log.answered(due(), "ana", "2026-03-02T12:06:00Z", number=1, fault="450 later")
    assert told(log, [due()], ALONE, "2026-03-02T12:10:00Z") == [("ana", 0, 3)]


def test_who_heard_of_it_hears_no_more_where_it_is_raised_once_more() -> None:
    """After an inbox was put back, an entry of both pasts may stand twice."""
    log = Log().raised(due()).sent(due(), "ana").raised(due(), TUESDAY)
    assert told(log, [due()], ALONE, TUESDAY) == []


def test_what_is_over_alarms_nobody_even_where_it_seems_due() -> None:
    """Such as what this process lets go of since it was raised long ago."""
    log = Log().raised(due())
    log.alarms.take(entries.cleared("a1", at(MONDAY)).body, at(MONDAY))
    assert told(log, [due()], ALONE, MONDAY) == []


def test_who_was_named_as_nobody_by_a_clock_that_was_ahead_is_not_named_again() -> None:
    by = rules(routes=[{"to": ["ana"], "kinds": ["expired"]}])
    log = Log().raised(due()).given_up(due(), NOBODY, "2027-04-06T12:00:00Z")
    assert decide([due()], log.alarms, by, at(MONDAY)).given_up == []


FIVE_MINUTES, MORE = "2026-03-02T12:05:00Z", "2026-03-02T12:05:00.000001Z"


@pytest.mark.parametrize(("ahead", "counts"), [(FIVE_MINUTES, True), (MORE, False)])
def test_what_a_clock_says_that_is_a_little_ahead_counts(ahead: str, counts: bool) -> None:
    for log in (
        Log().raised(due()).sent(due(), "ana", ahead),
        Log().raised(due()).acknowledged(due(), ahead),
        Log().raised(due()).snoozed(due(), TUESDAY, ahead),
    ):
        assert bool(told(log, [due()], ALONE, MONDAY)) is not counts


def test_who_saw_to_it_before_a_clock_was_ahead_still_does() -> None:
    log = Log().raised(due()).acknowledged(due()).acknowledged(due(), "2027-04-06T12:00:00Z")
    assert told(log, [due()], ALONE, MONDAY) == []


def test_a_snooze_of_an_older_release_ends_sixty_days_after_the_raising() -> None:
    """2 March and 60 days: 1 May. It is a holiday, so the alert does not wait for hours."""
    breach = due(severity="breach")
    log = Log().raised(breach).snoozed(breach, "2026-12-31T00:00:00Z")
    assert told(log, [breach], ALONE, "2026-05-01T11:59:59.999999Z") == []
    assert told(log, [breach], ALONE, "2026-05-01T12:00:00Z") == [("ana", 0, 1)]


def test_what_goes_to_one_recipient_is_read_by_people() -> None:
    """A digest goes by e-mail and Apprise, and not to a program."""
    desk = {"webhook": "https://desk.market.example", "webhook_secret_file": "secret"}
    by = rules(recipients={"ana": ANA | desk, "bruno": BRUNO})
    for kind in ("digest", "report"):
        summary = due(kind=kind, assignee="ana", severity="notice")
        plan = decide([summary], Log().raised(summary).alarms, by, at(MONDAY))
        assert [(it.to, it.via) for it in plan.messages] == [("ana", "email")]
