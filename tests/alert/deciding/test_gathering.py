"""What is only to be known gathers until the digest, by hand from docs/alerts.md#digest."""

from typing import Any

import pytest

from pipeline.alert.decision import MAX_ITEMS, MAX_LISTED, decide
from pipeline.alert.entries import DIGEST, Due
from pipeline.alert.messages import alert_texts
from pipeline.alert.messages.links import Links
from pipeline.alert_rules import AlertRules
from tests.alert.test_decision import ANA, MONDAY, TUESDAY, Log, at, due, rules, told

SENT = [("ana", 0, 1)]
WEBHOOK = {"webhook": "https://desk.example/alerts", "webhook_secret_file": "secret"}


def ana(**more: Any) -> AlertRules:
    return rules(recipients={"ana": ANA | more})


def info(alert: str = "a1", **more: Any) -> Due:
    deadline = at("2026-04-01T12:00:00Z")
    return due(alert, **{"kind": "opened", "severity": "notice", "deadline_at": deadline} | more)


@pytest.mark.parametrize(
    ("when", "is_sent"),
    [
        (MONDAY, False),  # at nine in the morning, as it is raised
        ("2026-03-02T20:59:59Z", False),  # at the end of work
        ("2026-03-03T10:59:59Z", False),
        (TUESDAY, True),  # eight in the morning
    ],
)
def test_without_a_digest_it_comes_as_work_begins_on_the_next_day(when: str, is_sent: bool) -> None:
    assert told(Log().raised(info()), [info()], ana(), when) == SENT * is_sent


@pytest.mark.parametrize(
    ("when", "is_sent"),
    [
        ("2026-03-06T22:59:59Z", False),
        ("2026-03-06T23:00:00Z", True),  # at eight in the evening of Friday, after work
        ("2026-03-07T02:59:59Z", True),  # the last second of that day
        ("2026-03-07T15:00:00Z", False),  # a Saturday
        ("2026-03-09T11:00:00Z", True),  # work begins
    ],
)
def test_with_a_digest_it_comes_at_its_hour_or_where_that_failed_as_soon_as_they_work(
    when: str, is_sent: bool
) -> None:
    raised = Log().raised(info(), "2026-03-06T15:00:00Z")
    assert told(raised, [info()], ana(digest_at="20:00"), when) == SENT * is_sent


@pytest.mark.parametrize("severity", ["breach", "risk"])
def test_neither_a_breach_nor_a_risk_waits_for_a_digest(severity: str) -> None:
    """Also where it was raised as what is only to be known, and has become one."""
    now = info(severity=severity)
    assert told(Log().raised(info()), [now], ana(digest_at="20:00"), MONDAY) == SENT


def test_who_wants_each_at_once_says_so_and_a_program_gathers_by_itself() -> None:
    log = Log().raised(info())
    assert told(log, [info()], ana(info_at_once=True), MONDAY) == SENT
    assert told(log, [info()], ana(info_at_once=True), "2026-03-03T02:00:00Z") == []  # at night
    any_hour = {"to": ["ana"], "at_any_hour": ["breach", "notice"]}
    assert told(log, [info()], rules(routes=[any_hour]), "2026-03-03T02:00:00Z") == SENT
    plan = decide([info()], log.alarms, ana(**WEBHOOK), at(MONDAY))
    assert [message.via for message in plan.messages] == ["webhook"]


def test_it_does_not_wait_where_its_deadline_passes_before_the_digest() -> None:
    """Of who works on Mondays alone: the next digest is after the deadline."""
    by = rules(recipients={"ana": ANA}, hours={"days": ["mon"]})
    for deadline, is_sent in (("2026-03-09T11:00:00Z", True), ("2026-03-09T11:00:01Z", False)):
        now = info(deadline_at=at(deadline))
        assert told(Log().raised(now), [now], by, MONDAY) == SENT * is_sent


def test_what_a_clock_that_was_ahead_has_raised_does_not_wait_for_that_clock() -> None:
    log = Log().raised(info(since=at(MONDAY)), "2027-03-02T12:00:00Z")
    assert told(log, [info()], ana(), TUESDAY) == SENT


def test_what_was_put_off_does_not_gather_again() -> None:
    log = Log().raised(info()).snoozed(info(), until="2026-03-04T15:00:00Z")
    assert told(log, [info()], ana(), TUESDAY) == []
    assert told(log, [info()], ana(), "2026-03-04T15:00:00Z") == SENT


def test_what_gathered_is_one_message_after_the_digest_and_apart_from_what_presses() -> None:
    many = [info(f"i{number:04}") for number in range(MAX_LISTED - 1)]
    digest = due("d", kind=DIGEST, severity="notice", assignee="ana", deadline_at=None)
    every = [*many, digest, due("a1")]
    log = Log()
    for each in every:
        log.raised(each)
    plan = decide(every, log.alarms, ana(digest_at="08:00"), at(TUESDAY))
    pressing, gathered = plan.messages
    assert [it.due.alert for it in pressing.items] == ["a1"]
    assert [it.due.alert for it in gathered.items] == ["d", *(it.alert for it in many)]
    # Whoever gets a link for each seller has a block for each.
    linked = decide(many, log.alarms, ana(seller_links=True), at(TUESDAY))
    assert {len(message.items) for message in linked.messages} <= {MAX_ITEMS, MAX_ITEMS - 1}


def test_each_of_what_gathered_has_a_line() -> None:
    items = [info("i1"), info("i2", process_id="p2"), info("i3", kind="before_15d", seller_id=None)]
    log, by = Log(), ana()
    for each in items:
        log.raised(each)
    [message] = decide(items, log.alarms, by, at(TUESDAY)).messages
    links = Links("https://prazo.example", b"key")
    who, zone = by.recipients["ana"], by.hours.zone
    text = alert_texts.message(message.items, "ana", who, links, zone, at(TUESDAY))
    assert text.subject == "[Prazo] Processo aberto – p1 e 2 outros alertas"
    assert text.plain.splitlines() == [
        "PROCESSO ABERTO (INFORMATIVO): 2",
        "p1: 01/04/2026 09h00 (horário de Brasília) · Enviar as respostas · Vendedor s1",
        "p2: 01/04/2026 09h00 (horário de Brasília) · Enviar as respostas · Vendedor s1",
        "FALTAM MENOS DE 15 DIAS (INFORMATIVO): 1",
        "p1: 01/04/2026 09h00 (horário de Brasília) · Enviar as respostas",
        "Abrir no Prazo: https://prazo.example/alerts",
    ]
    assert text.page == "https://prazo.example/alerts"
    # One alone is told in full.
    alone = alert_texts.message(message.items[:1], "ana", who, links, zone, at(TUESDAY))
    assert "Processo: p1 · ACI" in alone.plain
