"""Who is told of what at which instant, by hand from docs/alerts.md."""

import json
from datetime import date
from typing import Any

import pytest

from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.alarms import Alarms
from pipeline.alert.decision import (
    BACKOFF,
    LATER,
    MAX_ITEMS,
    Message,
    Untold,
    decide,
    untold,
)
from pipeline.alert.entries import NOBODY, Address, Due, Item, Subject, Try
from pipeline.alert.watch import name_of
from pipeline.alert_rules import AlertRules
from pipeline.contract.body import canonical_json
from pipeline.errors import CallerError

P1 = Subject("p1", "s1")
MONDAY = "2026-03-02T12:00:00Z"  # nine in the morning in São Paulo
NIGHT = "2026-03-03T02:00:00Z"  # Monday, eleven at night
TUESDAY = "2026-03-03T11:00:00Z"  # eight in the morning
ANA = {"email": "ana@market.example"}
BRUNO = {"email": "bruno@market.example"}
EVA = {"email": "eva@market.example", "role": "admin"}
MAIL = {"host": "mail.market.example", "sender": "prazo@market.example"}


def rules(**more: Any) -> AlertRules:
    return AlertRules.model_validate(
        {"mail": MAIL, "recipients": {"ana": ANA, "bruno": BRUNO, "eva": EVA}} | more
    )


def at(text: str) -> int:
    instant = instants.parse(text)
    assert instant is not None
    return instant


def due(alert: str = "a1", **more: Any) -> Due:
    known = {
        "kind": "before_3d",
        "severity": "risk",
        "role": "officer",
        "assignee": None,
        "process_id": "p1",
        "seller_id": "s1",
        "review_type": "ACI",
        "state": "OVERDUE",
        "since": at(MONDAY),
        "deadline_at": at("2026-03-05T12:00:00Z"),
        "next_action": "submit",
        "seq": 1,
    }
    return Due(alert, **{**known, **more})


class Log:
    """What was recorded about alerts."""

    def __init__(self) -> None:
        self.alarms = Alarms()

    def raised(self, alert: Due, when: str = MONDAY) -> "Log":
        return self._take(entries.raised(alert, P1, at(when)), when)

    def tried(self, alert: Due, to: str, when: str, *, number: int = 1, level: int = 0) -> "Log":
        made = Try(Item(alert, level, number), to, "email", "m")
        return self._take(entries.tried(made, P1, at(when)), when)

    def answered(
        self,
        alert: Due,
        to: str,
        when: str,
        *,
        number: int = 1,
        level: int = 0,
        fault: str | None = None,
    ) -> "Log":
        made = Try(Item(alert, level, number), to, "email", "m")
        return self._take(entries.answered(made, P1, at(when), fault=fault), when)

    def sent(self, alert: Due, to: str, when: str = MONDAY, *, level: int = 0) -> "Log":
        return self.tried(alert, to, when, level=level).answered(alert, to, when, level=level)

    def given_up(self, alert: Due, address: Address, when: str) -> "Log":
        return self._take(entries.undelivered(alert.alert, address, "why", P1, at(when)), when)

    def acknowledged(self, alert: Due, when: str = MONDAY) -> "Log":
        draft = entries.acknowledged(alert.alert, P1, actor="Ana", recorded_by="user:ana")
        return self._take(draft, when)

    def snoozed(self, alert: Due, until: str, when: str = MONDAY) -> "Log":
        draft = entries.snoozed(
            alert.alert,
            P1,
            now=0,
            until=instants.HOUR,
            reason="the seller is ill",
            actor="Ana",
            recorded_by="user:ana",
        )
        body = json.loads(draft.body or b"") | {"until": until}
        return self._take(draft._replace(body=canonical_json(body)), when)

    def taken_back(self, alert: Due, of: Any, at_: str) -> "Log":
        by = {"actor": "Ana", "recorded_by": "user:ana", "reason": "undone"}
        return self._take(entries.taken_back(alert.alert, P1, of, at(at_), **by), MONDAY)

    def _take(self, draft: Any, when: str) -> "Log":
        self.alarms.take(draft.body, at(when), draft.process_id)
        return self


def told(log: Log, dues: list[Due], by: AlertRules, now: str) -> list[tuple[str, int, int]]:
    """(recipient, level, try) of each alert that is to be sent."""
    plan = decide(dues, log.alarms, by, at(now))
    return [(m.to, it.level, it.number) for m in plan.messages for it in m.items]


def test_an_alert_is_an_entry_before_anybody_hears_of_it() -> None:
    plan = decide([due()], {}, rules(), at(MONDAY))
    assert (plan.raises, plan.messages) == ([due()], [])


def test_where_nobody_is_assigned_everybody_of_its_role_hears_of_it() -> None:
    log = Log().raised(due())
    assert told(log, [due()], rules(), MONDAY) == [("ana", 0, 1), ("bruno", 0, 1)]
    admin = due(role="admin")
    assert told(log, [admin], rules(), MONDAY) == [("eva", 0, 1)]
    officers = rules(recipients={"ana": ANA, "bruno": BRUNO})  # nobody was told what is an admin's
    assert told(log, [admin], officers, MONDAY) == [("ana", 0, 1), ("bruno", 0, 1)]


def test_whoever_is_assigned_hears_of_it_alone_under_any_of_their_names() -> None:
    named = rules(recipients={"ana": ANA | {"assigned_as": ["Ana Lima"]}, "bruno": BRUNO})
    # Whoever logs in takes a process on under their e-mail address: everybody was told, and a list
    # of what is hers was empty.
    for name in ("Ana Lima", "ana", " ANA LIMA ", "Ana@market.example"):
        mine = due(assignee=name)
        assert told(Log().raised(mine), [mine], named, MONDAY) == [("ana", 0, 1)]
    strange = due(assignee="Carla")
    both = [("ana", 0, 1), ("bruno", 0, 1)]
    assert told(Log().raised(strange), [strange], named, MONDAY) == both


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("2026-03-02", "2026-03-02", "bruno"),
        ("2026-03-01", "2026-03-08", "bruno"),
        ("2026-02-27", "2026-03-01", "ana"),
        ("2026-03-03", "2026-03-04", "ana"),
    ],
)
def test_who_is_away_has_a_stand_in(first: str, last: str, expected: str) -> None:
    away = {"first": date.fromisoformat(first), "last": date.fromisoformat(last)}
    by = rules(recipients={"ana": ANA | {"stand_in": "bruno", "away": [away]}, "bruno": BRUNO})
    mine = due(assignee="ana")
    assert told(Log().raised(mine), [mine], by, MONDAY) == [(expected, 0, 1)]


def test_where_the_stand_in_is_away_too_the_first_hears_of_it() -> None:
    away = {"away": [{"first": date(2026, 3, 1), "last": date(2026, 3, 9)}]}
    by = rules(
        recipients={
            "ana": ANA | away | {"stand_in": "bruno"},
            "bruno": BRUNO | away | {"stand_in": "ana"},
        }
    )
    mine = due(assignee="ana")
    assert told(Log().raised(mine), [mine], by, MONDAY) == [("ana", 0, 1)]


@pytest.mark.parametrize(
    ("now", "is_open"),
    [
        (MONDAY, True),
        (NIGHT, False),
        ("2026-03-03T10:59:59Z", False),
        (TUESDAY, True),
        ("2026-03-03T20:59:59Z", True),
        ("2026-03-03T21:00:00Z", False),  # six in the evening
        ("2026-03-07T15:00:00Z", False),  # a Saturday
        ("2026-04-21T15:00:00Z", False),  # Tiradentes
        ("2026-04-22T15:00:00Z", True),
    ],
)
def test_what_can_wait_waits_for_working_hours_and_a_breach_does_not(
    now: str, is_open: bool
) -> None:
    later = at("2026-05-01T00:00:00Z")
    can_wait, cannot = due(deadline_at=later), due("a2", severity="breach", deadline_at=later)
    log = Log().raised(can_wait).raised(cannot)
    plan = decide([can_wait, cannot], log.alarms, rules(), at(now))
    for message in plan.messages:
        alerts = [it.due.alert for it in message.items]
        assert alerts == (["a2", "a1"] if is_open else ["a2"])


@pytest.mark.parametrize(
    ("deadline", "heard_at", "is_sent"),
    [
        ("2026-03-08T15:00:00Z", None, True),  # Sunday noon
        ("2026-03-09T11:00:00Z", None, True),  # Monday, when work begins
        ("2026-03-09T11:00:00.000001Z", None, False),
        ("2026-03-08T15:00:00Z", "2026-03-05T15:00:00Z", False),  # who knows of it is left alone
        ("2026-03-08T15:00:00Z", "2026-03-05T14:59:59Z", True),
        ("2026-03-07T14:00:00Z", None, False),  # it has passed: `expired` says so
    ],
)
def test_what_could_wait_is_sent_at_once_if_the_deadline_passes_before_they_work_again(
    deadline: str, heard_at: str | None, is_sent: bool
) -> None:
    saturday, passes = "2026-03-07T15:00:00Z", at(deadline)
    before = due(name_of("before_3d", f"{passes}:p1"), deadline_at=passes)
    now, done = due(deadline_at=passes), due("a2", deadline_at=passes, state="FINISHED")
    log = Log().raised(before).raised(now).raised(done)
    if heard_at is not None:
        log.sent(before, "ana", heard_at)
    expected = [("ana", 0, 1)] if is_sent else []
    assert told(log, [now, done], rules(recipients={"ana": ANA}), saturday) == expected


def test_who_knows_of_a_deadline_is_left_alone_where_the_id_of_its_process_is_masked() -> None:
    """The rung that they know of was looked for under the mask: they were woken for the next."""
    sunday = at("2026-03-08T15:00:00Z")
    shown = {"process_id": "***25~0a1b2c3d4e", "deadline_at": sunday}
    before, now = due(name_of("before_3d", f"{sunday}:p1"), **shown), due(**shown)
    log = Log().raised(before).raised(now).sent(before, "ana", "2026-03-05T15:00:00Z")
    by = rules(recipients={"ana": ANA})
    assert told(log, [now], by, "2026-03-07T15:00:00Z") == []


def test_what_waited_for_the_morning_comes_as_one_message_the_most_urgent_first() -> None:
    late = due("b", deadline_at=at("2026-03-09T12:00:00Z"))
    soon = due("a", deadline_at=at("2026-03-04T12:00:00Z"))
    log = Log().raised(late, NIGHT).raised(soon, NIGHT)
    plan = decide([late, soon], log.alarms, rules(), at(TUESDAY))
    found = [(sent.to, [it.due.alert for it in sent.items]) for sent in plan.messages]
    assert found == [
        ("ana", ["a", "b"]),
        ("bruno", ["a", "b"]),
    ]


def test_a_message_has_fifty_alerts_at_most() -> None:
    many, log = [due(f"a{number:03}") for number in range(MAX_ITEMS + 1)], Log()
    for alert in many:
        log.raised(alert)
    by = rules(recipients={"ana": ANA})
    plan = decide(many, log.alarms, by, at(MONDAY))
    assert [len(it.items) for it in plan.messages] == [50, 1]


def test_what_was_sent_is_not_sent_again() -> None:
    log = Log().raised(due()).sent(due(), "ana")
    assert told(log, [due()], rules(), MONDAY) == [("bruno", 0, 1)]


def test_a_failed_try_is_repeated_later_and_later_and_given_up_at_the_end() -> None:
    by, log = rules(routes=[{"to": ["ana"]}]), Log().raised(due())
    alert, now = due(severity="breach"), at(MONDAY)
    for number, pause in enumerate(BACKOFF, 1):
        when = instants.canonical(now)
        assert told(log, [alert], by, when) == [("ana", 0, number)]
        log.tried(alert, "ana", when, number=number)
        log.answered(alert, "ana", when, number=number, fault="550 no")
        early = instants.canonical(now + pause - 1)
        assert told(log, [alert], by, early) == []
        now += pause
    when = instants.canonical(now)
    assert told(log, [alert], by, when) == [("ana", 0, 8)]
    log.tried(alert, "ana", when, number=8).answered(alert, "ana", when, number=8, fault="550 no")
    plan = decide([alert], log.alarms, by, now)
    assert [(it.address, it.why) for it in plan.given_up] == [
        (Address("ana", "email", 0), "given up after 8 tries")
    ]
    log.given_up(alert, Address("ana", "email", 0), when)
    assert decide([alert], log.alarms, by, now).given_up == []
    # Nobody was told at all: the server may work again one day.
    assert told(log, [alert], by, instants.canonical(now + LATER - 1)) == []
    later = instants.canonical(now + LATER)
    assert told(log, [alert], by, later) == [("ana", 0, 9)]
    log.tried(alert, "ana", later, number=9).answered(alert, "ana", later, number=9, fault="no")
    plan = decide([alert], log.alarms, by, at(later) + LATER)
    assert (len(plan.messages), plan.given_up) == (1, [])
    log.sent(alert, "bruno", later)
    assert told(log, [alert], by, instants.canonical(at(later) + LATER)) == []


def test_an_alert_that_a_channel_cannot_take_holds_no_other_back() -> None:
    """Fifty failed while the server was away, and one is refused whatever it comes with."""
    by, log = rules(recipients={"ana": ANA}), Log()
    fifty = [due(f"a{number:02}", severity="breach") for number in range(50)]
    for alert in fifty:
        log.raised(alert)
    now, found = at(MONDAY), []
    for number in range(1, 8):
        when, messages = instants.canonical(now), decide(fifty, log.alarms, by, now).messages
        found.append([len(it.items) for it in messages])
        for message in messages:
            alerts = [it.due for it in message.items]
            for alert in alerts:
                log.tried(alert, "ana", when, number=number)
                fault = "554 spam" if number < 4 or fifty[7] in alerts else None
                log.answered(alert, "ana", when, number=number, fault=fault)
        now += BACKOFF[min(number, len(BACKOFF)) - 1]
    assert found == [[50], [50], [50], [8, 8, 8, 8, 8, 8, 2], [2, 2, 2, 2], [1, 1], [1]]


def test_a_limited_channel_takes_the_gravest_first_once_it_takes_something_again() -> None:
    by, log = rules(recipients={"ana": ANA}), Log()
    grave, graver = due("b", severity="breach"), due("a", severity="breach")
    every = [due("c"), grave]
    for alert in every:
        log.raised(alert)
    log.tried(grave, "ana", MONDAY).answered(grave, "ana", MONDAY, fault="421 too many")
    soon, later = "2026-03-02T12:00:59Z", "2026-03-02T12:01:00Z"
    assert told(log, every, by, soon) == []
    log.raised(graver)
    assert told(log, [*every, graver], by, soon) == [("ana", 0, 1)]
    [message] = decide(every, log.alarms, by, at(later)).messages
    assert [it.due.alert for it in message.items] == ["b", "c"]


def test_a_try_of_which_no_end_is_known_is_repeated_after_five_minutes() -> None:
    by, log = rules(recipients={"ana": ANA}), Log().raised(due()).tried(due(), "ana", MONDAY)
    assert told(log, [due()], by, "2026-03-02T12:04:59.999999Z") == []
    assert told(log, [due()], by, "2026-03-02T12:05:00Z") == [("ana", 0, 2)]


@pytest.mark.parametrize("actor", [None, "", " ", "\u200b"])
def test_nobody_without_a_name_sees_to_an_alert(actor: str | None) -> None:
    with pytest.raises(CallerError, match="a name is needed"):
        entries.acknowledged(due().alert, P1, actor=actor, recorded_by="user:ana")


def test_nobody_hears_of_it_once_somebody_sees_to_it() -> None:
    log = Log().raised(due()).acknowledged(due())
    assert told(log, [due()], rules(), MONDAY) == []


ESCALATING = {"to": ["ana"], "escalate": [{"after": "4h", "to": ["bruno"]}]}


def test_it_is_escalated_when_nobody_acknowledged_in_time() -> None:
    by, log = rules(routes=[ESCALATING]), Log().raised(due()).sent(due(), "ana")
    assert told(log, [due()], by, "2026-03-02T15:59:59.999999Z") == []
    assert told(log, [due()], by, "2026-03-02T16:00:00Z") == [("bruno", 1, 1)]
    log.sent(due(), "bruno", "2026-03-02T16:00:00Z", level=1)
    assert told(log, [due()], by, "2026-03-02T20:00:00Z") == []


def test_it_is_escalated_at_once_where_the_first_cannot_be_reached() -> None:
    address = Address("ana", "email", 0)
    log = Log().raised(due()).given_up(due(), address, MONDAY)
    assert told(log, [due()], rules(routes=[ESCALATING]), MONDAY) == [("bruno", 1, 1)]


def test_it_is_escalated_in_time_where_messages_to_the_first_only_fail() -> None:
    """Who is next heard once eight tries had failed, most of a day after the deadline."""
    by, log = rules(routes=[ESCALATING]), Log().raised(due())
    for number, when in enumerate((MONDAY, "2026-03-02T12:01:00Z"), 1):
        log.tried(due(), "ana", when, number=number)
        log.answered(due(), "ana", when, number=number, fault="450 later")
    assert ("bruno", 1, 1) not in told(log, [due()], by, "2026-03-02T15:59:59.999999Z")
    assert ("bruno", 1, 1) in told(log, [due()], by, "2026-03-02T16:00:00Z")
    assert told(log.snoozed(due(), TUESDAY), [due()], by, TUESDAY) == [("ana", 0, 3)]


def test_who_heard_and_left_keeps_nobody_else_from_hearing() -> None:
    """Of those who stay, messages to all had failed, and nobody was tried any more."""
    log = Log().raised(due()).sent(due(), "ana")
    log.tried(due(), "bruno", MONDAY).given_up(due(), Address("bruno", "email", 0), MONDAY)
    remaining, in_six_hours = rules(recipients={"bruno": BRUNO}), "2026-03-02T18:00:00Z"
    assert told(log, [due()], rules(), in_six_hours) == []
    assert told(log, [due()], remaining, "2026-03-02T17:59:59.999999Z") == []
    assert told(log, [due()], remaining, in_six_hours) == [("bruno", 0, 2)]


def test_escalation_goes_on_where_an_absence_begins_meanwhile() -> None:
    """It was counted from the stand-in's message, and where that failed, not for a day."""
    away = {"away": [{"first": "2026-03-03", "last": "2026-03-09"}], "stand_in": "eva"}
    by = rules(recipients={"ana": ANA | away, "bruno": BRUNO, "eva": EVA}, routes=[ESCALATING])
    breach, evening = due(severity="breach"), NIGHT
    log = Log().raised(breach, evening).sent(breach, "ana", evening)
    assert told(log, [breach], by, "2026-03-03T03:00:00Z") == [("eva", 0, 1)]
    log.tried(breach, "eva", "2026-03-03T03:00:00Z")
    log.answered(breach, "eva", "2026-03-03T03:00:00Z", fault="450 later")
    assert ("bruno", 1, 1) not in told(log, [breach], by, "2026-03-03T05:59:59.999999Z")
    assert ("bruno", 1, 1) in told(log, [breach], by, "2026-03-03T06:00:00Z")


def test_escalation_goes_on_where_whoever_it_came_to_is_assigned() -> None:
    """They were told as the second, stood as the first then, and nobody else was ever told."""
    steps = [{"after": "4h", "to": [it]} for it in ("bruno", "eva")]
    by = rules(routes=[{"to": ["assignee"], "escalate": steps}])
    log = Log().raised(due()).sent(due(assignee="ana"), "ana")
    log.sent(due(), "bruno", "2026-03-02T16:00:00Z", level=1)
    taken = due(assignee="bruno")
    assert told(log, [taken], by, "2026-03-02T19:59:59.999999Z") == []
    assert told(log, [taken], by, "2026-03-02T20:00:00Z") == [("eva", 2, 1)]
    gone = Log().raised(due()).given_up(due(), Address("bruno", "email", 1), MONDAY)
    assert ("eva", 2, 1) in told(gone, [taken], by, MONDAY)


def test_once_an_alert_is_no_longer_put_off_they_hear_of_it_again_as_of_another() -> None:
    by, log = rules(recipients={"ana": ANA}), Log().raised(due()).sent(due(), "ana")
    before = Message("ana", "email", (Item(due(), 0, 1),))
    log.snoozed(due(), TUESDAY)
    assert told(log, [due()], by, "2026-03-03T10:59:59.999999Z") == []
    plan = decide([due()], log.alarms, by, at(TUESDAY))
    assert [it.items for it in plan.messages] == [(Item(due(), 0, 2, 1),)]
    # Anyone who leaves out what has the same name would leave this one out.
    assert plan.messages[0].name != before.name
    log.tried(due(), "ana", TUESDAY, number=2).answered(due(), "ana", TUESDAY, number=2)
    assert told(log, [due()], by, TUESDAY) == []


def test_what_somebody_took_back_counts_for_nothing_and_nobody_hears_twice() -> None:
    by, log = rules(recipients={"ana": ANA, "bia": ANA}), Log().raised(due())
    log.sent(due(), "ana").tried(due(), "bia", MONDAY)
    log.snoozed(due(), TUESDAY).answered(due(), "bia", MONDAY)
    log.taken_back(due(), "snoozed", MONDAY)
    assert told(log, [due()], by, MONDAY) == told(log, [due()], by, TUESDAY) == []
    log = Log().raised(due()).acknowledged(due()).acknowledged(due(), TUESDAY)
    log.taken_back(due(), "acknowledged", TUESDAY)
    assert told(log, [due()], by, TUESDAY) == []  # a colleague's stands
    log.taken_back(due(), "acknowledged", MONDAY)
    assert told(log, [due()], by, TUESDAY) == [("ana", 0, 1), ("bia", 0, 1)]


def test_an_answer_to_what_left_before_an_alert_was_put_off_does_not_count_after_it() -> None:
    by, log = rules(recipients={"ana": ANA}), Log().raised(due()).tried(due(), "ana", MONDAY)
    log.snoozed(due(), TUESDAY).answered(due(), "ana", MONDAY)
    assert told(log, [due()], by, TUESDAY) == [("ana", 0, 2)]


def test_a_try_that_was_under_way_when_somebody_put_an_alert_off_does_not_count_after_it() -> None:
    """It was recorded after the snooze, so who got it heard no more once that was over."""
    by, log = rules(recipients={"ana": ANA}), Log().raised(due()).snoozed(due(), TUESDAY)
    log.sent(due(), "ana")
    assert told(log, [due()], by, "2026-03-03T10:59:59.999999Z") == []
    assert told(log, [due()], by, TUESDAY) == [("ana", 0, 2)]


def test_what_was_given_up_is_tried_as_often_again_once_it_was_put_off() -> None:
    by, log = rules(recipients={"ana": ANA}), Log().raised(due())
    for number in range(1, 9):
        log.tried(due(), "ana", MONDAY, number=number)
        log.answered(due(), "ana", MONDAY, number=number, fault="550 no")
    log.given_up(due(), Address("ana", "email", 0), MONDAY).snoozed(due(), TUESDAY)
    for number in range(9, 17):
        log.tried(due(), "ana", TUESDAY, number=number)
        log.answered(due(), "ana", TUESDAY, number=number, fault="550 no")
        gone = decide([due()], log.alarms, by, at(TUESDAY) + instants.DAY).given_up
        assert bool(gone) == (number == 16)
    [given_up] = gone
    assert (given_up.why, given_up.tries_before) == ("given up after 8 tries", 8)
    first, again = (
        entries.undelivered("a1", given_up.address, "", P1, 0, tries_before=n).ingest_key
        for n in (0, 8)
    )
    assert first != again


def test_escalation_begins_again_once_an_alert_is_no_longer_put_off() -> None:
    by, log = rules(routes=[ESCALATING]), Log().raised(due()).sent(due(), "ana")
    log.sent(due(), "bruno", "2026-03-02T16:00:00Z", level=1).snoozed(due(), TUESDAY)
    assert told(log, [due()], by, TUESDAY) == [("ana", 0, 2)]
    log.tried(due(), "ana", TUESDAY, number=2).answered(due(), "ana", TUESDAY, number=2)
    assert told(log, [due()], by, "2026-03-03T14:59:59.999999Z") == []
    assert told(log, [due()], by, "2026-03-03T15:00:00Z") == [("bruno", 1, 2)]


def test_where_no_route_leads_to_anybody_the_log_says_so_once() -> None:
    by, log = rules(routes=[{"to": ["ana"], "kinds": ["expired"]}]), Log().raised(due())
    plan = decide([due()], log.alarms, by, at(MONDAY))
    assert [(it.address, it.why) for it in plan.given_up] == [(NOBODY, "no route takes it")]
    log.given_up(due(), NOBODY, MONDAY)
    assert decide([due()], log.alarms, by, at(MONDAY)).given_up == []
    log.snoozed(due(), TUESDAY)
    assert decide([due()], log.alarms, by, at(TUESDAY)).given_up == []


# --- a clock that was ahead ----------------------------------------------------------------------


def test_what_was_done_by_a_clock_that_was_ahead_keeps_nobody_uninformed() -> None:
    """A try that failed then was not repeated for as long as the clock had been ahead; and who had
    been told of a deadline before it passed heard nothing when it did."""
    ahead, later = "2027-04-06T12:00:00Z", "2026-03-02T12:02:00Z"
    by, alert = rules(recipients={"ana": ANA}), due()
    fault = Log().raised(alert, ahead).tried(alert, "ana", ahead)
    fault.answered(alert, "ana", ahead, fault="certificate has expired")
    for log in (Log().raised(alert, ahead).sent(alert, "ana", ahead), fault):
        assert told(log, [alert], by, MONDAY) == [("ana", 0, 2)]
        log.tried(alert, "ana", MONDAY, number=2)
        log.answered(alert, "ana", MONDAY, number=2, fault="full")
        assert told(log, [alert], by, MONDAY) == []
        assert told(log, [alert], by, later) == [("ana", 0, 3)]
        log.tried(alert, "ana", later, number=3).answered(alert, "ana", later, number=3)
        assert told(log, [alert], by, TUESDAY) == []


def test_nor_does_who_saw_to_it_or_put_it_off_by_that_clock() -> None:
    ahead, by, alert = "2027-04-06T12:00:00Z", rules(recipients={"ana": ANA}), due()
    for log in (
        Log().raised(alert).acknowledged(alert, ahead),
        Log().raised(alert).snoozed(alert, "2027-04-07T12:00:00Z", ahead),
    ):
        assert told(log, [alert], by, MONDAY) == [("ana", 0, 1)]
        assert told(log.sent(alert, "ana"), [alert], by, MONDAY) == []


def test_who_is_added_to_a_route_hears_of_all_that_is_open_and_nobody_has_taken() -> None:
    """By hand from docs/alerts.md#who-is-told: at nine on Monday, in working hours."""
    all_to_ana = rules(routes=[{"to": ["ana"]}])
    all_to_both = rules(routes=[{"to": ["ana", "eva"]}])
    open_, info = due("open"), due("info", severity="notice", deadline_at=None)
    taken, heard = due("taken"), due("heard")
    log = Log()
    for one in (open_, info, taken, heard):
        log.raised(one).sent(one, "ana")
    log.acknowledged(taken).sent(heard, "eva")
    dues, now = [open_, info, taken, heard], at(MONDAY)
    assert untold(dues, log.alarms, all_to_ana, now) == set()
    gathers = Untold("eva", "info", is_time=False)  # it waits for her digest
    assert untold(dues, log.alarms, all_to_both, now) == {Untold("eva", "open", True), gathers}
    at_night = {Untold("eva", "open", False), gathers}
    assert untold(dues, log.alarms, all_to_both, at(NIGHT)) == at_night
    unraised = due("new")
    assert untold([unraised], log.alarms, all_to_ana, now) == {Untold("ana", "new", True)}
    assert untold(dues, log.alarms, AlertRules(), now) == set()
