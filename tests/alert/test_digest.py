"""A recipient's day, by hand from docs/alerts.md#digest."""

from typing import Any

import pytest

from pipeline.alert import entries
from pipeline.alert.alarms import Alarms
from pipeline.alert.decision import decide
from pipeline.alert.entries import Item, Subject, Try
from pipeline.alert.messages import alert_texts
from pipeline.alert.messages.links import Links
from pipeline.alert.summaries import digest
from pipeline.alert.summaries.digest import Process
from pipeline.alert_rules import AlertRules
from tests.alert.test_decision import ANA, BRUNO, MONDAY, at, due, rules

SEVEN = "2026-03-02T10:00:00Z"  # Monday in São Paulo
EIGHT = "2026-03-02T11:00:00Z"


def with_digest(**more: Any) -> AlertRules:
    ana = ANA | {"digest_at": "08:00", "assigned_as": ["Ana Lima"]}
    return rules(recipients={"ana": ana | more, "bruno": BRUNO})


def process(name: str, deadline: str, **more: Any) -> Process:
    known = {
        "state": "OVERDUE",
        "opened_at": at("2026-02-01T00:00:00Z"),
        "next_action": "submit",
        "assignee": None,
    }
    return Process(name, deadline_at=at(deadline), **{**known, **more})


def parts(
    by: AlertRules, *processes: Process, alarms: Alarms | None = None
) -> dict[str, list[str]]:
    found = digest.parts_for("ana", by, processes, [due()], alarms or Alarms(), at(EIGHT))
    return {part.name: [it.process_id for it in part.listed] for part in found}


@pytest.mark.parametrize(
    ("now", "is_awaited"),
    [
        ("2026-03-02T10:59:59Z", False),
        (EIGHT, True),
        ("2026-03-03T02:59:59Z", True),  # the last second of Monday
        ("2026-03-03T03:00:00Z", False),
        ("2026-03-07T15:00:00Z", False),  # Saturday
        ("2026-04-21T15:00:00Z", False),  # Tiradentes
    ],
)
def test_it_is_awaited_from_its_hour_to_the_end_of_a_working_day(
    now: str, is_awaited: bool
) -> None:
    assert list(digest.awaited(with_digest(), {}, at(now)).values()) == ["ana"] * is_awaited


def test_none_is_awaited_by_whoever_is_away() -> None:
    away = with_digest(away=[{"first": "2026-03-02", "last": "2026-03-02"}])
    assert digest.awaited(away, {}, at(EIGHT)) == {}
    assert len(digest.awaited(away, {}, at("2026-03-03T11:00:00Z"))) == 1


def test_it_is_at_the_hour_of_the_recipients_own_clock() -> None:
    """In Lisbon eight in the morning comes three hours earlier in March."""
    by = with_digest(zone="Europe/Lisbon")
    assert digest.awaited(by, {}, at("2026-03-02T07:59:59Z")) == {}
    assert list(digest.awaited(by, {}, at("2026-03-02T08:00:00Z")).values()) == ["ana"]


def test_it_says_what_is_late_due_this_week_and_new() -> None:
    """On a Monday all since Friday is new: no digest of the weekend said it."""
    assert parts(
        with_digest(),
        process("late", "2026-03-01T00:00:00Z", state="EXPIRED"),
        process("week", "2026-03-09T11:00:00Z"),
        process("far", "2026-03-09T11:00:00.000001Z"),
        process("fresh", "2026-04-01T00:00:00Z", opened_at=at("2026-02-27T11:00:00.000001Z")),
        process("older", "2026-04-01T00:00:00Z", opened_at=at("2026-02-27T11:00:00Z")),
    ) == {"late": ["late"], "this_week": ["week"], "new": ["fresh"]}


def test_it_has_what_is_theirs_and_what_is_nobodys() -> None:
    soon = "2026-03-05T00:00:00Z"
    assert parts(
        with_digest(),
        process("mine", soon, assignee="ana lima"),
        process("his", soon, assignee="bruno"),
        process("strangers", soon, assignee="Carla"),
        process("nobodys", soon),
    ) == {"this_week": ["mine", "nobodys", "strangers"]}


def test_it_has_what_is_of_those_for_whom_the_recipient_stands_in() -> None:
    """No digest had it while its assignee was away."""
    his = process("his", "2026-03-05T00:00:00Z", assignee="bruno")
    away = BRUNO | {"stand_in": "ana", "away": [{"first": "2026-03-02", "last": "2026-03-06"}]}
    assert parts(rules(recipients={"ana": ANA, "bruno": away}), his) == {"this_week": ["his"]}
    assert parts(rules(recipients={"ana": ANA, "bruno": BRUNO}), his) == {}


def test_where_nobody_is_an_officer_all_have_what_is_nobodys() -> None:
    alone = rules(recipients={"ana": ANA | {"role": "admin"}})
    nobodys = process("nobodys", "2026-03-05T00:00:00Z")
    assert parts(alone, nobodys) == {"this_week": ["nobodys"]}
    beside = rules(recipients={"ana": ANA | {"role": "admin"}, "bruno": BRUNO})
    assert parts(beside, nobodys) == {}  # it is Bruno's, who is an officer


def test_yesterdays_alert_that_nobody_has_taken_is_in_it() -> None:
    yesterday = "2026-03-01T10:00:00Z"
    p1 = process("p1", "2026-04-01T00:00:00Z")
    alarms = Alarms()
    alarms.take(entries.raised(due(), Subject("p1"), at(yesterday)).body, at(yesterday))
    assert parts(with_digest(), p1, alarms=alarms) == {"untaken": ["p1"]}
    young, day_ago = Alarms(), "2026-03-01T11:00:00Z"
    young.take(entries.raised(due(), Subject("p1"), at(day_ago)).body, at(day_ago))
    assert parts(with_digest(), p1, alarms=young) == {}
    taken = entries.acknowledged("a1", Subject("p1"), actor="Ana", recorded_by="user:ana")
    alarms.take(taken.body, at(SEVEN))
    assert parts(with_digest(), p1, alarms=alarms) == {}


def test_it_goes_to_its_recipient_alone_and_once() -> None:
    by, alarms = with_digest(), Alarms()
    [(alert, name)] = digest.awaited(by, alarms, at(EIGHT)).items()
    summary = digest.due(alert, name, by, at(EIGHT))
    alarms.take(entries.raised(summary, Subject(), at(EIGHT)).body, at(EIGHT))
    [message] = decide([summary], alarms, by, at(EIGHT)).messages
    assert (message.to, message.via) == ("ana", "email")
    made = Try(Item(summary, 0, 1), "ana", "email", "m")
    for draft in (
        entries.tried(made, Subject(), at(EIGHT)),
        entries.answered(made, Subject(), at(EIGHT), fault=None),
    ):
        alarms.take(draft.body, at(EIGHT))
    assert digest.awaited(by, alarms, at(MONDAY)) == {}
    assert decide([summary], alarms, by, at(MONDAY)).messages == []


def test_one_that_a_clock_that_was_ahead_has_sent_is_awaited_when_its_hour_comes() -> None:
    """Who had Monday's on Friday, by mistake, had none on Monday."""
    by, alarms, ahead = with_digest(), Alarms(), at(MONDAY)
    [(alert, name)] = digest.awaited(by, alarms, ahead).items()
    summary = digest.due(alert, name, by, ahead)
    made, subject = Try(Item(summary, 0, 1), "ana", "email", "m"), Subject()
    for draft in (
        entries.raised(summary, subject, ahead),
        entries.tried(made, subject, ahead),
        entries.answered(made, subject, ahead, fault=None),
    ):
        alarms.take(draft.body, ahead)
    assert digest.awaited(by, alarms, at(EIGHT)) == {alert: name}
    [message] = decide([summary], alarms, by, at(EIGHT)).messages
    assert [it.number for it in message.items] == [2]


def test_its_text_counts_and_lists() -> None:
    by = with_digest()
    many = [process(f"p{number:02}", "2026-03-05T12:00:00Z") for number in range(22)]
    found = digest.parts_for("ana", by, many, [], Alarms(), at(EIGHT))
    summary = digest.due("d1", "ana", by, at(EIGHT))
    text = alert_texts.message(
        (Item(summary, 0, 1),),
        "ana",
        by.recipients["ana"],
        Links("https://prazo.example", b""),
        by.hours.zone,
        at(EIGHT),
        {"d1": found},
    )
    lines = text.plain.splitlines()
    assert text.subject == "[Prazo] Resumo do dia"
    assert lines[:3] == [
        "RESUMO DO DIA",
        "VENCEM EM 7 DIAS: 22",
        "p00: 05/03/2026 09h00 (horário de Brasília) · Enviar as respostas",
    ]
    assert lines[-2:] == ["…: e mais 2", "Abrir no Prazo: https://prazo.example/"]
