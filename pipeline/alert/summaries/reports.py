"""Sends lists by mail at set times: which occasion has come, which processes a list has, and how
many of each state. Pure.

A report is an alert like a digest, so it is raised, sent, repeated and written down like one. Its
name is made from the report, the recipient and the day, so each occasion exists once.
"""

import contextlib
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from pipeline import instants, periods
from pipeline.alert import hours
from pipeline.alert.alarms import Alarm
from pipeline.alert.decision import present
from pipeline.alert.entries import REPORT, Due
from pipeline.alert.summaries.digest import MAX_LISTED, Part, Process, is_over, so_far, urgency
from pipeline.alert.watch import name_of
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.recipients import WorkingHours
from pipeline.alert_rules.reports import (
    ALL,
    FIRST_QUEUE,
    NOT_IN_MESSAGES,
    Report,
    names_a_person,
)
from pipeline.errors import CallerError
from pipeline.language.codes import UNFINISHED
from pipeline.log.entries import Draft
from pipeline.log.kinds.report import report_step
from pipeline.texts import names_person

if TYPE_CHECKING:  # as in pipeline/alert/source.py
    from pipeline.trends.one_page import OnePage

CATCH_UP_DAYS: Final = 3
"""For so long an occasion waits for a process that sends, a server that takes it, or a ledger. Of
several that were missed, the last is sent."""


class Occasion(NamedTuple):
    """A report that is to be sent now."""

    report: str
    to: str  # the recipient, or whoever stands in
    of: str  # the recipient, whose list it is


class Said(NamedTuple):
    """What a report says; `query`: of the page that shows the same."""

    name: str
    query: str
    total: int
    parts: list[Part]
    is_lost: bool = False  # its saved view is gone, or names what no message may


class Paged(NamedTuple):
    """A report that is the page for the boss."""

    name: str
    page: "OnePage"


def awaited(rules: AlertRules, alarms: Mapping[str, Alarm], now: int) -> dict[str, Occasion]:
    """Alert -> the report whose time has come and that was not sent yet."""
    found = {}
    for report_name, report in rules.reports.items():
        for name in report.to:
            day = _latest(report, name, rules, now)
            if day is None:
                continue
            alert = name_of(REPORT, f"{report_name}:{name}:{day.isoformat()}")
            to = present(name, rules, now)
            if not is_reachable(rules, to):
                to = name  # better late, once they are back, than nobody
            elif to != name and to in report.to:
                continue  # the stand-in has it already
            alarm = so_far(alarms, alert, now)
            if not (is_over(alarm, to, rules) or _is_with_another(alarm, to)):
                found[alert] = Occasion(report_name, to, name)
    return found


def _is_with_another(alarm: Alarm | None, to: str) -> bool:
    """Whether somebody else has it: an absence began or ended since, at midnight mostly."""
    known = {} if alarm is None else alarm.deliveries
    return any(it.is_sent and address.to != to for address, it in known.items())


def with_subscriptions(rules: AlertRules, subscriptions: Iterable[Mapping[str, Any]]) -> AlertRules:
    """The rules with the reports that people subscribed to on pages: rows of the view
    `report_subscriptions`. Of two under one name, the file's is in force; one that cannot be sent
    any more, such as to somebody who is not named now, waits until it can."""
    found: dict[str, Report] = {}
    for row in subscriptions:
        named = {it: row[it] for it in ("filters", "at", "days", "weekday") if row[it]}
        with contextlib.suppress(ValidationError):
            report = Report.model_validate({"to": [row["recipient"]], **named})
            if is_reachable(rules, row["recipient"]) and not names_person(row["report_name"]):
                found[row["report_name"]] = report
    return rules.model_copy(update={"reports": found | rules.reports}) if found else rules


def subscription(
    rules: AlertRules, name: str, recipient: str, *, actor: str, recorded_by: str, **said: str
) -> Draft:
    """The draft by which a person subscribes a recipient to a report. `rules`: the file's. `said`:
    what the file would say of it.

    Raises `CallerError` for one that would never be sent, or that would name what no message does.
    """

    def refused(why: str, remedy: str) -> CallerError:
        return CallerError("The report was not scheduled", why, remedy)

    if name.strip() in rules.reports:
        raise refused("the settings have one under this name", "choose another name")
    if names_person(name):
        raise refused(f"its name looks like {NOT_IN_MESSAGES}", "choose another name")
    try:
        Report.model_validate({"to": [recipient], **said})
        faults = []
    except ValidationError as error:
        faults = [it["msg"].removeprefix("Value error, ") for it in error.errors()]
    if faults:
        raise refused("; ".join(faults), "choose other filters")
    return report_step(
        "subscribed", name, actor=actor, recorded_by=recorded_by, recipient=recipient, **said
    )


def is_reachable(rules: AlertRules, name: str) -> bool:
    """Whether reports can go to a recipient."""
    return name in rules.recipients and bool(rules.recipients[name].read_by_people)


def _latest(report: Report, name: str, rules: AlertRules, now: int) -> date | None:
    """The day of the last occasion, by the recipient's clock; None where it is too long ago."""
    recipient = rules.recipients[name]
    zone = ZoneInfo(recipient.zone or rules.hours.zone)
    today = hours.local_time(rules.hours, recipient, now).date()
    for back in range(CATCH_UP_DAYS + 1):
        day = today - timedelta(days=back)
        # Where the clocks skip that time of day, it is as much later; where it comes twice, the
        # first time counts.
        began = instants.from_datetime(datetime.combine(day, report.at, zone).astimezone(UTC))
        if began <= now and is_occasion(report, rules.hours, day):
            return day
    return None


def is_occasion(report: Report, working: WorkingHours, day: date) -> bool:
    """Whether a report is due on a day. On a day on which nobody works, none is: one of every week
    then comes on the next working day, one of a month's end on the last before it."""
    if not hours.is_working_day(working, day):
        return False
    if report.days == "weekly":
        wanted = hours.DAYS.index(report.weekday)
        since = (day.weekday() - wanted) % 7
        between = (day - timedelta(days=it) for it in range(1, since + 1))
        return not any(hours.is_working_day(working, it) for it in between)
    if report.days == "month_end":
        after = day + timedelta(days=1)
        while after.month == day.month:
            if hours.is_working_day(working, after):
                return False
            after += timedelta(days=1)
    return True


def said(
    occasion: Occasion,
    rules: AlertRules,
    processes: Iterable[Process],
    saved: Mapping[str, str],
    now: int,
) -> Said:
    """What a report says now: how many processes the list has by state, and the most urgent of
    them. `saved`: see `filters_of`."""
    query = filters_of(rules.reports[occasion.report], saved)
    if query is None:
        return Said(occasion.report, "", 0, [], is_lost=True)
    listed = [it for it in processes if fits(it, query, occasion.of, rules, now)]
    by_state = {state: [it for it in listed if it.state == state] for state in UNFINISHED}
    parts = [
        Part(state, len(some), tuple(sorted(some, key=urgency)[:MAX_LISTED]))
        for state, some in by_state.items()
        if some
    ]
    return Said(occasion.report, query, len(listed), parts)


def filters_of(report: Report, saved: Mapping[str, str]) -> str | None:
    """The filters of a report; None where its saved view is gone, or names what no message may.
    `saved`: saved view of all -> its filters."""
    query = report.filters if report.saved is None else saved.get(report.saved)
    return None if query is None or names_a_person(query) else query


def fits(process: Process, query: str, name: str, rules: AlertRules, now: int) -> bool:
    """Whether the Watchlist shows a process under these filters to a recipient."""
    asked: dict[str, list[str]] = {}
    for key, value in parse_qsl(query):
        asked.setdefault(key, []).append(value)
    queue = asked.get("queue", [FIRST_QUEUE])[0]
    whose = asked.get("whose", [ALL])[0]
    recipient = rules.recipients[name]
    zone = ZoneInfo(recipient.zone or rules.hours.zone)
    moment = instants.naive(now)
    first, beyond = periods.period(asked.get("period", [ALL])[0], moment, zone)
    with contextlib.suppress(ValueError, OverflowError):
        day = date.fromisoformat(asked.get("day", [""])[0])
        first, beyond = periods.common((first, beyond), periods.utc_days(day, day))
    return (
        queue in (process.queue, ALL)
        and process.state in asked.get("state", [process.state])
        and ("due" not in asked or _is_due_soon(process, now))
        and process.review_type in asked.get("type", [process.review_type])
        and process.next_action in asked.get("action", [process.next_action])
        and (whose != "unassigned" or process.assignee is None)
        and (whose != "mine" or name in rules.assigned(process.assignee or ""))
        and all(_is_in(it, process.assignee) for it in asked.get("assignee", []))
        and all(_is_in(it, process.seller_id) for it in asked.get("seller", []))
        and _is_between(process.deadline_at, first, beyond)
    )


def _is_due_soon(process: Process, now: int) -> bool:
    return process.deadline_at is not None and 0 <= process.deadline_at - now < 7 * instants.DAY


def _is_in(part: str, text: str | None) -> bool:
    return part.lower() in (text or "").lower()


def _is_between(at: int | None, first: datetime | None, beyond: datetime | None) -> bool:
    if first is None or beyond is None:
        return True
    begun, over = (instants.from_datetime(it.replace(tzinfo=UTC)) for it in (first, beyond))
    return at is not None and begun <= at < over


def due(alert: str, occasion: Occasion, rules: AlertRules, now: int) -> Due:
    """The report as an alert that is due to one recipient, who stands where the assignee does."""
    return Due(alert, REPORT, "notice", rules.recipients[occasion.to].role, now, occasion.to)
