"""Lists that are sent at set times, by hand from docs/alerts.md#reports."""

import re
from collections.abc import Iterable
from typing import Any

import pytest
from pydantic import ValidationError

from pipeline import instants
from pipeline.alert.alarms import Alarm, Alarms, Delivery
from pipeline.alert.entries import Address, Item
from pipeline.alert.messages import alert_texts
from pipeline.alert.messages.links import Links
from pipeline.alert.summaries import digest, reports
from pipeline.alert.summaries.kept import Summaries
from pipeline.alert.summaries.reports import Occasion
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.reports import Report
from pipeline.errors import OperatorError
from pipeline.log.kinds.report import report_step
from pipeline.log.kinds.saved_view import view_step
from tests.alert.asked import Bare
from tests.alert.sinks import MailServer, WebhookServer
from tests.alert.test_decision import ANA, BRUNO, at
from tests.alert.test_decision import rules as rules_of
from tests.alert.test_dispatcher import Stores, mail, once_followed, rules, stores, webhook

__all__ = ["mail", "once_followed", "rules", "stores", "webhook"]


def by(ana: dict[str, Any] | None = None, **report: Any) -> AlertRules:
    known = {"to": ["ana"], "at": "08:00"} | report
    recipients = {"ana": ANA | (ana or {}), "bruno": BRUNO}
    return rules_of(recipients=recipients, reports={"late": known})


def days(of: AlertRules, *instants_of: str) -> list[str]:
    """At each instant, the day of the occasion that is awaited then, or nothing."""
    found = []
    for instant in instants_of:
        day = reports._latest(of.reports["late"], "ana", of, at(instant))
        found.append("" if day is None else day.isoformat())
    return found


def test_one_of_business_days_comes_at_its_hour_and_not_at_weekends_or_on_holidays() -> None:
    """São Paulo is three hours behind UTC; 20 and 21 April are a Monday and Tiradentes."""
    found = days(
        by(),
        "2026-03-02T10:59:59Z",  # Monday, a second before eight: Friday's is awaited still
        "2026-03-02T11:00:00Z",
        "2026-03-07T15:00:00Z",  # Saturday
        "2026-04-21T15:00:00Z",
        "2026-04-22T11:00:00Z",
    )
    assert found == ["2026-02-27", "2026-03-02", "2026-03-06", "2026-04-20", "2026-04-22"]


def test_a_weekly_one_waits_for_the_next_working_day() -> None:
    """1 and 7 September 2026 are a Tuesday and the Monday of a holiday."""
    weekly = by(days="weekly", weekday="mon")
    found = days(
        weekly,
        "2026-08-31T11:00:00Z",
        "2026-09-03T11:00:00Z",  # three days later, it still waits
        "2026-09-04T11:00:00Z",
        "2026-09-07T15:00:00Z",
        "2026-09-08T11:00:00Z",
        "2026-09-09T11:00:00Z",
    )
    assert found == ["2026-08-31", "2026-08-31", "", "", "2026-09-08", "2026-09-08"]


def test_one_of_a_months_end_comes_on_its_last_working_day() -> None:
    """31 May 2026 is a Sunday, 31 March a Tuesday."""
    monthly = by(days="month_end")
    found = days(monthly, "2026-05-28T15:00:00Z", "2026-05-29T11:00:00Z", "2026-03-31T11:00:00Z")
    assert found == ["", "2026-05-29", "2026-03-31"]


def test_where_the_clocks_change_it_comes_once_all_the_same() -> None:
    """In Lisbon 01:30 does not exist on 29 March 2026 and comes twice on 25 October, on Sundays."""
    hours = {"days": ["sun", "mon"], "holidays": ""}
    of = by({"zone": "Europe/Lisbon"}, at="01:30").model_copy(
        update={"hours": AlertRules.model_validate({"hours": hours}).hours}
    )
    spring = days(of, "2026-03-29T01:29:59Z", "2026-03-29T01:30:00Z")
    autumn = days(of, "2026-10-25T00:29:59Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z")
    assert spring == ["", "2026-03-29"]
    assert autumn == ["", "2026-10-25", "2026-10-25"]


def test_whoever_is_away_is_stood_in_for() -> None:
    away = {"away": [{"first": "2026-03-02", "last": "2026-03-02"}], "stand_in": "bruno"}
    found = reports.awaited(by(away), Alarms(), at("2026-03-02T11:00:00Z"))
    assert list(found.values()) == [Occasion("late", "bruno", "ana")]


def test_who_stands_in_for_somebody_gets_their_list_and_none_that_they_have_already() -> None:
    monday = at("2026-03-02T11:00:00Z")
    away = {"away": [{"first": "2026-03-02", "last": "2026-03-02"}], "stand_in": "bruno"}
    of = by(away, filters="whose=mine&queue=all&state=EXPIRED")
    processes = [
        digest.Process(f"of {name}", "EXPIRED", None, None, None, name) for name in ("ana", "bruno")
    ]
    found = reports.said(Occasion("late", "bruno", "ana"), of, processes, {}, monday)
    assert [it.process_id for part in found.parts for it in part.listed] == ["of ana"]
    occasions = reports.awaited(by(away, to=["ana", "bruno"]), Alarms(), monday).values()
    assert list(occasions) == [Occasion("late", "bruno", "bruno")]


def test_of_each_state_the_nearest_deadlines_are_listed_and_a_week_ahead_is_due() -> None:
    """A day ends before the first instant of the next one, by UTC as in the calendar. Without a
    queue, what is to be done now is listed."""
    now = at("2026-03-02T11:00:00Z")

    def listed(filters: str, *deadlines: str) -> list[str]:
        pending = digest.Process("", "PENDING", None, 0, None, None, queue="act_now")
        processes = [pending._replace(process_id=it, deadline_at=at(it)) for it in deadlines]
        processes += [it._replace(queue="waiting_for_seller") for it in processes]
        of, saved = by(saved="soon"), {"soon": filters}
        parts = reports.said(Occasion("late", "ana", "ana"), of, processes, saved, now).parts
        return [it.process_id for part in parts for it in part.listed]

    passed, soon, week = "2026-03-02T10:59:59Z", "2026-03-02T11:00:00Z", "2026-03-09T10:59:59Z"
    beyond = "2026-03-09T11:00:00Z"
    assert listed("due=7", week, beyond, soon, passed) == [soon, week]
    begins, ends, next_day = "2026-03-05T00:00:00Z", "2026-03-05T23:59:59Z", "2026-03-06T00:00:00Z"
    assert listed("day=2026-03-05", next_day, ends, begins) == [begins, ends]


@pytest.mark.parametrize(("had", "day"), [("ana", "2026-03-07"), ("bruno", "2026-03-06")])
def test_an_absence_that_begins_or_ends_brings_no_second_one(had: str, day: str) -> None:
    """Friday's came again on Saturday at midnight: to the stand-in, or to anyone who was back."""
    of = by({"away": [{"first": day, "last": day}], "stand_in": "bruno"})
    friday, midnight = at("2026-03-06T11:00:00Z"), at("2026-03-07T03:00:00Z")
    [(alert, occasion)] = reports.awaited(of, Alarms(), friday).items()
    assert occasion.to == had
    alarm = Alarm(friday, "report", friday)
    alarm.deliveries[Address(had, "email", 0)] = Delivery(1, friday, friday)
    waits = reports.awaited(of, Alarms({alert: alarm}), midnight)
    assert len(waits) == 1  # nobody has it yet
    alarm.deliveries[Address(had, "email", 0)] = Delivery(1, friday, friday, is_sent=True)
    assert not reports.awaited(of, Alarms({alert: alarm}), midnight)
    ahead = Delivery(1, midnight, midnight, is_sent=True)  # by a clock that was ahead
    alarm.deliveries[Address(had, "email", 0)] = ahead
    assert list(reports.awaited(of, Alarms({alert: alarm}), friday)) == [alert]


def test_where_a_stand_in_can_be_sent_none_it_goes_to_whoever_is_away() -> None:
    away = {"away": [{"first": "2026-03-02", "last": "2026-03-02"}], "stand_in": "bruno"}
    desk = {"webhook": "https://desk.market.example/prazo", "webhook_secret_file": "keys/desk"}
    of = by(away)
    bruno = of.recipients["bruno"].model_validate(desk)
    of = of.model_copy(update={"recipients": {**of.recipients, "bruno": bruno}})
    found = reports.awaited(of, Alarms(), at("2026-03-02T11:00:00Z"))
    assert list(found.values()) == [Occasion("late", "ana", "ana")]


def test_one_channel_that_took_it_does_not_end_the_tries_of_another() -> None:
    monday = at("2026-03-02T11:00:00Z")
    of = by({"apprise_file": "keys/ana"})
    [alert] = reports.awaited(of, Alarms(), monday)
    failed = Delivery(1, monday, monday)
    alarm = Alarm(monday, "report", monday)
    alarm.deliveries[Address("ana", "email", 0)] = failed._replace(is_sent=True)
    alarm.deliveries[Address("ana", "apprise", 0)] = failed
    alarms = Alarms({alert: alarm})
    assert list(reports.awaited(of, alarms, monday)) == [alert]
    alarm.deliveries[Address("ana", "apprise", 0)] = failed._replace(is_given_up=True)
    assert not reports.awaited(of, alarms, monday)


@pytest.mark.parametrize(
    "wrong",
    [
        {"to": ["carla"]},
        {"filters": "states=EXPIRED"},
        {"filters": "type=XYZ"},
        {"filters": "type=ACI", "saved": "soon"},
        {"days": "monthly"},
        {"at": "8"},
        {"filters": "seller=52998224725"},
        {"filters": "seller=12abc34501de35"},
        {"filters": "seller=ana%40market.example"},
    ],
)
def test_a_report_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        by(**wrong)


SAVED = "soon, for bia@market.example"
"""A name that rows show masked: a report of such a view listed nothing."""
REPORTS = {
    "late": {"to": ["ana"], "at": "00:00", "filters": "type=ACP"},
    "soon": {"to": ["ana"], "at": "00:00", "saved": SAVED},
}
ALWAYS = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "holidays": ""}


@pytest.fixture
def scheduled(rules: AlertRules) -> AlertRules:
    """Two reports of every day, and no other alert."""
    given = rules.model_dump(exclude_unset=True, mode="json")
    given |= {"reports": REPORTS, "hours": ALWAYS, "routes": [{"to": ["ops"]}]}
    return AlertRules.model_validate(given)


def subjects(mail: MailServer) -> list[str]:
    return sorted(it["Subject"] for it in mail.taken)


def test_each_is_sent_once_with_counts_ids_and_a_link_and_is_written_down(
    stores: Stores, scheduled: AlertRules, mail: MailServer
) -> None:
    saved = view_step(
        *("saved", "watchlist", SAVED),
        query="lane=EXPIRED",  # as pages wrote it before there were queues
        for_all=True,
        actor="Bia",
        recorded_by="test",
    )
    stores.inbox.append([saved])
    stores.dispatcher(scheduled).run_once()
    stores.dispatcher(scheduled).run_once()  # another process, or this one after a restart
    [message] = mail.taken  # both at once, since both are due
    text = message.get_body(("plain",)).get_content().replace("\r\n", "\n")
    assert "RELATÓRIO AGENDADO: LATE – 1 PROCESSO\n" in text
    assert "OVERDUE · NO PRAZO: 1\np1: " in text
    assert "https://prazo.market.example/watchlist?type=ACP" in text
    assert "RELATÓRIO AGENDADO: SOON – 0 PROCESSOS\n" in text
    assert "https://prazo.market.example/watchlist?queue=all&state=EXPIRED" in text
    assert text.count("Vendedor s1\n") == 1
    told = [it for it in stores.rows("alerts_sent") if it["kind"] == "report"]
    assert [(it["recipient"], it["via"], it["tries"]) for it in told] == [("ana", "email", 1)] * 2


def test_the_page_for_the_boss_comes_as_tables_without_a_script_or_a_picture(
    stores: Stores, scheduled: AlertRules, mail: MailServer
) -> None:
    boss = Report.model_validate({"to": ["ana"], "at": "00:00", "page": "trends"})
    stores.dispatcher(scheduled.model_copy(update={"reports": {"boss": boss}})).run_once()
    [message] = mail.taken
    assert message["Subject"] == "[Prazo] Relatório agendado: boss"
    html = message.get_body(("html",)).get_content()
    plain = message.get_body(("plain",)).get_content().replace("\r\n", "\n")
    assert "OVERDUE · no prazo: 1 (+1 em 7 dias)\n" in plain
    assert "https://prazo.market.example/trends" in plain
    assert "<table" in html
    assert "1 (+1 em 7 dias)</b>" in html
    assert not re.search(r"<(script|img|svg|style|link)", html)


def test_one_that_was_not_taken_goes_out_after_a_restart(
    stores: Stores, scheduled: AlertRules, mail: MailServer, webhook: WebhookServer
) -> None:
    """The server refuses it, the process ends, and the next day another one sends it."""
    only = {"late": scheduled.reports["late"].model_copy(update={"days": "weekly"})}
    monday = at("2026-03-02T12:00:00Z")
    of = scheduled.model_copy(update={"reports": only})
    mail.refuses = "450 later"
    stores.dispatcher(of, now=lambda: monday).run_once()
    mail.refuses = None
    stores.dispatcher(of, now=lambda: monday + instants.DAY).run_once()
    stores.dispatcher(of, now=lambda: monday + 2 * instants.DAY).run_once()
    assert subjects(mail) == ["[Prazo] Relatório agendado: late (1)"]


def test_what_was_made_is_sent_while_nobody_says_what_the_next_one_is_made_from() -> None:
    """Ana's channel did not take hers, the ledger's holder was gone by the time of Bruno's, and
    hers was tried no more."""
    is_gone = False

    class Ledger(Bare):
        def open_processes(self) -> list[digest.Process]:
            if is_gone:
                raise OperatorError("Nobody holds the ledger")
            return [digest.Process("p1", "EXPIRED", None, at("2026-03-01T12:00:00Z"), None, None)]

        def saved_views(self, names: Iterable[str]) -> dict[str, str]:
            return {}

    recipients = {"ana": ANA | {"digest_at": "08:00"}, "bruno": BRUNO | {"digest_at": "09:00"}}
    lists = {"early": {"to": ["ana"], "at": "08:00"}, "late": {"to": ["bruno"], "at": "09:00"}}
    of = rules_of(recipients=recipients, reports=lists)
    sunday, eight, nine = (at(f"2026-03-0{it}:00:00Z") for it in ("1T12", "2T11", "2T12"))
    last = reports.awaited(of, {}, sunday)
    alarms = {it: Alarm(sunday, "report", sunday, is_over=True) for it in last}
    for alert, occasion in last.items():
        alarms[alert].deliveries[Address(occasion.to, "email", 0)] = Delivery(1, is_sent=True)
    kept = Summaries(Ledger())

    def made(now: int) -> list[str | None]:
        found = [*kept.digests(of, alarms, [], now), *kept.reports(of, alarms, now)]
        return [it.assignee for it in found]

    assert made(eight) == ["ana", "ana"]
    is_gone = True
    assert made(nine) == ["ana", "ana"]
    is_gone = False
    assert sorted(map(str, made(nine))) == ["ana", "ana", "bruno", "bruno"]


def test_a_report_says_that_its_saved_view_is_gone() -> None:
    """It said that there was no process, of 20 that had expired."""
    of = by(saved="gone")
    process = digest.Process("p1", "EXPIRED", None, None, None, None)
    found = reports.said(Occasion("late", "ana", "ana"), of, [process], {}, 0)
    assert found.is_lost
    items = (Item(reports.due("r1", Occasion("late", "ana", "ana"), of, 0), 0, 1),)
    links = Links("https://prazo.example", b"")
    text = alert_texts.message(items, "ana", of.recipients["ana"], links, "UTC", 0, {"r1": found})
    assert text.subject == "[Prazo] Relatório agendado: late (?)"
    assert "A LISTA NÃO PÔDE SER FEITA: A VISÃO SALVA NÃO EXISTE MAIS" in text.plain
    assert "processos" not in text.plain.lower()


def test_a_saved_view_that_names_a_person_is_neither_listed_nor_linked() -> None:
    """Ids that look personal are masked where a report is made: it would say that there is none."""
    shown = {"seller_id": "***25~0a1b2c3d4e", "queue": "act_now"}
    process = digest.Process("p1", "EXPIRED", None, None, None, None, **shown)
    for query in ("seller=52998224725", "seller=529.982.247-25", "seller=ana%40market.example"):
        hers = Occasion("late", "ana", "ana")
        found = reports.said(hers, by(saved="x"), [process], {"x": query}, 0)
        assert found == ("late", "", 0, [], True)
    process = process._replace(assignee="ana@market.example")  # as anyone who logged in is named
    query = "assignee=ana%40market.example"
    found = reports.said(Occasion("late", "ana", "ana"), by(saved="x"), [process], {"x": query}, 0)
    assert (found.query, found.total) == (query, 1)


def test_what_a_person_subscribed_to_is_sent_until_somebody_ends_it(
    stores: Stores, scheduled: AlertRules, mail: MailServer
) -> None:
    of = scheduled.model_copy(update={"reports": {}})
    said = {"recipient": "ana", "filters": "type=ACP", "at": "00:00", "days": "business"}
    by_bia = {"actor": "Bia", "recorded_by": "test"}
    stores.inbox.append([report_step("subscribed", "mine", **by_bia, **said)])
    stores.inbox.append([report_step("subscribed", "lost", **by_bia, **said | {"recipient": "x"})])
    stores.dispatcher(of).run_once()
    stores.dispatcher(of).run_once()
    assert subjects(mail) == ["[Prazo] Relatório agendado: mine (1)"]
    stores.inbox.append([report_step("ended", "mine", **by_bia)])
    stores.dispatcher(of, now=lambda: instants.now() + instants.DAY).run_once()
    assert len(mail.taken) == 1


def test_of_two_under_one_name_the_files_is_in_force() -> None:
    of = by(filters="type=ACI")
    row = {"report_name": "late", "recipient": "bruno", "filters": "", "at": "09:00"}
    found = reports.with_subscriptions(of, [row | {"days": "business", "weekday": None}])
    assert found.reports["late"] == of.reports["late"]


def test_a_name_of_small_letters_is_not_a_tax_id() -> None:
    """As long as a CNPJ, it had the whole file of settings refused, and a report that somebody had
    subscribed to came no more; and so it was with a seller's usual id among the filters."""
    said = {"filters": "seller=sel_8f2k1l9q0z7712", "at": "09:00"}
    of = rules_of(recipients={"ana": ANA}, reports={"fiscalizacao02": {"to": ["ana"], **said}})
    row = {"recipient": "ana", "days": "business", "weekday": None, **said}
    rows = [row | {"report_name": it} for it in ("notificacoes01", "of 529.982.247-25")]
    found = reports.with_subscriptions(of, rows)
    assert [*found.reports] == ["notificacoes01", "fiscalizacao02"]
