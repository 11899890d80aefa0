"""How it goes over time (docs/rules.md#over-time)."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from .attempts import share
from .model import Log
from .notices import SELLER_STEPS, Contact, contacts, last_standing
from .processes import Process, processes
from .reading import DAY, day_of, json_bytes, text_of
from .sellers import (
    FLAGS,
    TAX_IDS,
    amount,
    carried,
    compared,
    created_at,
    denials,
    denials_of,
    enabled_at,
    flag,
    returned_sellers,
    seller_events,
    tax_id,
    taxpayer_id,
)

Key = tuple


def month_of(moment: datetime) -> date:
    return day_of(moment).replace(day=1)


def week_of(moment: datetime) -> date:
    """Its Monday."""
    day = day_of(moment)
    return day - timedelta(days=day.weekday())


def reviewed(log: Log) -> list[Process]:
    """Those with a review event."""
    return [process for process in processes(log) if process.events]


def fate(process: Process) -> str:
    """One of four."""
    if process.finish:
        return "finished_late" if process.finished_late else "finished_in_time"
    return "expired" if process.state == "EXPIRED" else "open"


def grouped(of_it: Iterable[Process], key: Callable[[Process], Key]) -> dict[Key, list[Process]]:
    found: dict[Key, list[Process]] = {}
    for process in of_it:
        found.setdefault(key(process), []).append(process)
    return found


def counted(of_it: list[Process], as_of: datetime) -> dict:
    """How some processes stand against their deadlines."""
    fates = [fate(process) for process in of_it]
    due_so_far = [process for process in of_it if process.deadline_at <= as_of]
    in_time = [process for process in due_so_far if fate(process) == "finished_in_time"]
    return {
        "due": len(of_it),
        "finished_in_time": fates.count("finished_in_time"),
        "finished_late": fates.count("finished_late"),
        "expired": fates.count("expired"),
        "open": fates.count("open"),
        "due_so_far": len(due_so_far),
        "on_time_share": share(len(in_time), len(due_so_far)),
    }


def on_time(log: Log, period: str, first_day: Callable[[datetime], date]) -> list[dict]:
    of_each = grouped(
        reviewed(log), lambda process: (first_day(process.deadline_at), process.review_type)
    )
    return [
        {period: first, "review_type": review_type, **counted(of_it, log.as_of)}
        for (first, review_type), of_it in of_each.items()
    ]


def on_time_by_month(log: Log) -> list[dict]:
    return on_time(log, "month", month_of)


def on_time_by_week(log: Log) -> list[dict]:
    return on_time(log, "week", week_of)


# --- by whom, by what ---


@dataclass(frozen=True)
class Ends:
    """Who had each process, and what had last reached its seller, when it came to its end."""

    log: Log
    contacts: Mapping[str, list[Contact]]

    @classmethod
    def of(cls, log: Log) -> "Ends":
        return cls(log, contacts(log))

    def at(self, process: Process) -> datetime | None:
        """The earlier of its finish and its deadline; None while that is to come."""
        moments = [process.deadline_at, process.finished_at]
        end = min(moment for moment in moments if moment is not None)
        return end if end <= self.log.as_of else None

    def has_come_to(self, process: Process) -> bool:
        return self.at(process) is not None

    def person(self, process: Process) -> str | None:
        return self.log.at(self.at(process)).assignees.get(process.process_id)

    def channel(self, process: Process) -> str | None:
        """Contacts by then, of which only later entries may say that they do not stand."""
        of_it = self.contacts.get(process.process_id, [])
        last = last_standing(one for one in of_it if one.at <= self.at(process))
        return last.channel if last else None


def on_time_by_person(log: Log) -> list[dict]:
    return on_time_by(log, "assignee", Ends.of(log).person)


def on_time_by_channel(log: Log) -> list[dict]:
    return on_time_by(log, "channel", Ends.of(log).channel)


def on_time_by(log: Log, name: str, whose: Callable[[Process], str | None]) -> list[dict]:
    over = [process for process in reviewed(log) if Ends.of(log).at(process)]
    of_each = grouped(over, lambda process: (month_of(process.deadline_at), whose(process)))
    rows = []
    for (month, who), of_it in of_each.items():
        row = counted(of_it, log.as_of)
        assert row.pop("open") == 0
        rows.append({"month": month, name: who, "ended": row.pop("due"), **row})
    return rows


def on_time_by_seller_type(log: Log) -> list[dict]:
    of_each = grouped(
        reviewed(log), lambda process: (month_of(process.deadline_at), seller_type(log, process))
    )
    return [
        {"month": month, "seller_type": kind, **counted(of_it, log.as_of)}
        for (month, kind), of_it in of_each.items()
    ]


def seller_type(log: Log, process: Process) -> str | None:
    """Person or company, as the latest event that says it has it."""
    return carried(seller_events(log).get(process.seller_id, []), "type", text_of)


# --- after expiry ---


def after_expiry(log: Log) -> list[dict]:
    """What followed a seller's first deadline that came while the review was unfinished."""
    firsts: dict[str, Process] = {}
    for process in sorted(reviewed(log), key=lambda each: (each.deadline_at, each.process_id)):
        has_come = process.deadline_at <= log.as_of
        if process.seller_id and has_come and fate(process) != "finished_in_time":
            firsts.setdefault(process.seller_id, process)
    rows = []
    for days in (30, 60, 90):
        over = [it for it in firsts.values() if it.deadline_at + days * DAY <= log.as_of]
        disabled = [it for it in over if was_disabled(log, it, it.deadline_at + days * DAY)]
        finished = [
            process
            for process in over
            if process.finish and process.finished_at <= process.deadline_at + days * DAY
        ]
        if over:
            rows.append(
                {
                    "days": days,
                    "sellers": len(over),
                    "disabled": len(disabled),
                    "disabled_share": share(len(disabled), len(over)),
                    "finished_late": len(finished),
                    "finished_late_share": share(len(finished), len(over)),
                }
            )
    return rows


def was_disabled(log: Log, process: Process, last: datetime) -> bool:
    return any(
        event.event_type == "seller.disabled"
        and process.deadline_at <= event.created_at <= last
        and not (process.finish and event.created_at >= process.finished_at)
        for event in seller_events(log).get(process.seller_id, [])
    )


# --- phases ---


def steps(log: Log) -> dict[str, dict[str, list[datetime]]]:
    """Per process the instants of each step but the finish."""
    found: dict[str, dict[str, list[datetime]]] = {}

    def add(process_id: str, step: str, at: datetime) -> None:
        found.setdefault(process_id, {}).setdefault(step, []).append(at)

    for process_id, of_it in contacts(log).items():
        for contact in of_it:
            if contact.stands:
                add(process_id, "contact", contact.at)
    for entry in log.collections:
        if entry.line.get("step") in SELLER_STEPS and entry.line.get("source") == "seller":
            add(entry.line["process_id"], entry.line["step"], entry.occurred_at)
    for process in processes(log):
        for attempt in process.attempts:
            if attempt.started_at is not None:
                add(process.process_id, "sent", attempt.started_at)
    return found


def spans(log: Log) -> list[tuple[Process, str, int]]:
    """Of each finished process and step the microseconds from its opening."""
    all_steps = steps(log)
    found = []
    for process in reviewed(log):
        if process.finish is None:
            continue
        of_it = {**all_steps.get(process.process_id, {}), "finished": [process.finished_at]}
        for step, moments in of_it.items():
            inside = [at for at in moments if process.opened_at <= at <= process.finished_at]
            if inside:
                span = (min(inside) - process.opened_at) // timedelta(microseconds=1)
                found.append((process, step, span))
    return found


def durations(
    log: Log, names: tuple[str, ...], key: Callable[[Process], Key], of: Callable[[Process], bool]
) -> list[dict]:
    found: dict[Key, list[int]] = {}
    for process, step, span in spans(log):
        if of(process):
            place = (month_of(process.finished_at), *key(process), step)
            found.setdefault(place, []).append(span)
    return [
        {
            **dict(zip(("month", *names, "step"), place, strict=True)),
            "processes": len(of_it),
            "median_seconds": interpolated(of_it, 0.5) / 1e6,
            "p90_seconds": interpolated(of_it, 0.9) / 1e6,
        }
        for place, of_it in found.items()
    ]


def phase_durations(log: Log) -> list[dict]:
    return durations(log, ("review_type",), lambda process: (process.review_type,), lambda _: True)


def phases_by_person(log: Log) -> list[dict]:
    ends = Ends.of(log)
    return durations(log, ("assignee",), lambda process: (ends.person(process),), ends.has_come_to)


def phases_by_channel(log: Log) -> list[dict]:
    ends = Ends.of(log)
    return durations(log, ("channel",), lambda process: (ends.channel(process),), ends.has_come_to)


def phases_by_seller_type(log: Log) -> list[dict]:
    return durations(
        log, ("seller_type",), lambda process: (seller_type(log, process),), lambda _: True
    )


def interpolated(values: list[int], part: float) -> float:
    """Between the two values around that place, linearly."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * part
    below, above = float(ordered[math.floor(place)]), float(ordered[math.ceil(place)])
    return below + (above - below) * (place - math.floor(place))


# --- denials ---

FOLLOWED_FOR = 60 * DAY


def denials_by_month(log: Log) -> list[dict]:
    of_each: dict[Key, list[dict]] = {}
    for denial in denials(log):
        for pair in denial["reasons"]:
            key = (month_of(denial["denied_at"]), pair["reason"], pair["detail"])
            of_each.setdefault(key, []).append(denial)
    return [
        {"month": month, "reason": reason, "detail": detail, **fared(log, denied)}
        for (month, reason, detail), denied in of_each.items()
    ]


def fared(log: Log, denied: list[dict]) -> dict:
    """What became of the sellers of some denials, each from its first one on."""
    first: dict[str, datetime] = {}
    for denial in denied:
        seller_id, at = denial["seller_id"], denial["denied_at"]
        first[seller_id] = min(first.get(seller_id, at), at)
    followed = [
        (seller_id, at)
        for seller_id, at in first.items()
        if taxpayer_id(seller_events(log)[seller_id]) and at + FOLLOWED_FOR <= log.as_of
    ]
    returns = [(at, successors(log, seller_id, at)) for seller_id, at in followed]
    returned = [(at, others) for at, others in returns if others]
    cures = sorted(
        (min(enablings) - at) / timedelta(seconds=1)
        for at, others in returned
        if (enablings := enabled_within(log, others, at))
    )
    return {
        "denials": len(denied),
        "retryable": [denial["retry"] for denial in denied].count(True),
        "sellers": len(first),
        "followed": len(followed),
        "reonboarded": len(returned),
        "cured": len(cures),
        "median_seconds_to_cure": cures[math.ceil(len(cures) / 2) - 1] if cures else None,
        "reonboarding_rate": share(len(returned), len(followed)),
        "cure_rate": share(len(cures), len(returned)),
    }


def successors(log: Log, seller_id: str, denied_at: datetime) -> list[str]:
    """Other sellers with that one's tax id, created within 60 days of its denial."""
    events_of = seller_events(log)
    tax_id = taxpayer_id(events_of[seller_id])
    return [
        other
        for other, events in events_of.items()
        if other != seller_id
        and taxpayer_id(events) == tax_id
        and denied_at < created_at(log, other) <= denied_at + FOLLOWED_FOR
    ]


def enabled_within(log: Log, sellers: list[str], denied_at: datetime) -> list[datetime]:
    events_of = seller_events(log)
    return [
        at
        for seller_id in sellers
        for at in enabled_at(events_of[seller_id])
        if denied_at < at <= denied_at + FOLLOWED_FOR
    ]


def denial_changes(log: Log) -> list[dict]:
    """The last thirty days beside the thirty before."""
    of_each: dict[Key, list[bool]] = {}
    for denial in denials(log):
        if not log.as_of - 60 * DAY < denial["denied_at"] <= log.as_of:
            continue
        for pair in denial["reasons"]:
            is_now = denial["denied_at"] > log.as_of - 30 * DAY
            of_each.setdefault((pair["reason"], pair["detail"]), []).append(is_now)
    return [
        {"reason": reason, "detail": detail, **changed(came_now.count(True), len(came_now))}
        for (reason, detail), came_now in of_each.items()
    ]


def changed(now: int, both: int) -> dict:
    part, before = now / both, both - now
    spread = 1.959963984540054 * 1.959963984540054 / both
    middle = (part + spread / 2) / (1 + spread)
    half = 1.959963984540054 * math.sqrt((part * (1 - part) + spread / 4) / both) / (1 + spread)
    return {
        "denials_now": now,
        "denials_before": before,
        "times": share(now, before),
        "times_low": (middle - half) / (1 - middle + half) if now else 0,
        "times_high": (middle + half) / (1 - middle - half) if before else None,
        "is_more_than_chance": middle - half > 0.5 or middle + half < 0.5,
    }


# --- forecast ---

YEAR = 365 * DAY
LEAST = 50
DEVIATIONS = 1.2815515655446004
"""Of a normal distribution, between which 80 % lie."""


def forecast(log: Log) -> list[dict]:
    all_steps = steps(log)
    of_type: dict[str | None, list[Process]] = {}
    for process in reviewed(log):
        of_type.setdefault(process.review_type, []).append(process)
    rows = [
        {
            "process_id": process.process_id,
            "seller_id": process.seller_id,
            "review_type": process.review_type,
            "deadline_at": process.deadline_at,
            **foreseen(log, process, of_type[process.review_type], all_steps),
        }
        for process in reviewed(log)
        if fate(process) == "open"
    ]
    return sorted(
        rows,
        key=lambda row: (
            row["chance"] is None,
            row["chance"] or 0,
            row["deadline_at"],
            row["process_id"],
        ),
    )


def foreseen(log: Log, process: Process, others: list[Process], all_steps: Mapping) -> dict:
    def came_in_the_year(moment: datetime) -> bool:
        return log.as_of - YEAR < moment <= log.as_of

    def stood(other: Process, at: datetime) -> bool:
        is_unfinished = other.finish is None or other.finished_at > at
        return other.opened_at <= at and is_unfinished

    left = process.deadline_at - log.as_of
    mine = reached(process, log.as_of, all_steps)
    standing = [
        other
        for other in others
        if came_in_the_year(other.deadline_at) and stood(other, other.deadline_at - left)
    ]
    alike = [
        other for other in standing if reached(other, other.deadline_at - left, all_steps) == mine
    ]
    basis, rests_on = (alike, "same_step") if len(alike) >= LEAST else (standing, "any_step")
    ended = sum(
        came_in_the_year(min(filter(None, (other.deadline_at, other.finished_at))))
        for other in others
    )
    row = {"reached": mine, "comparable": len(basis), "ended": ended}
    if ended < LEAST or not basis:
        why_not = "few_ended" if ended < LEAST else "none_comparable"
        nothing = dict.fromkeys(("chance", "chance_low", "chance_high", "rests_on"))
        return {**row, **nothing, "why_not": why_not}
    in_time = [other for other in basis if fate(other) == "finished_in_time"]
    return {**row, **wilson(len(in_time), len(basis)), "rests_on": rests_on, "why_not": None}


def reached(process: Process, at: datetime, all_steps: Mapping) -> str:
    """The furthest step since the opening and by that instant."""
    of_it = all_steps.get(process.process_id, {})
    for step in ("sent", "answered", "contact"):
        if any(process.opened_at <= moment <= at for moment in of_it.get(step, [])):
            return step
    return "none"


def wilson(part: int, whole: int) -> dict:
    chance = part / whole
    spread = DEVIATIONS * DEVIATIONS / whole
    middle = (chance + spread / 2) / (1 + spread)
    half = DEVIATIONS * math.sqrt((chance * (1 - chance) + spread / 4) / whole) / (1 + spread)
    return {
        "chance": chance,
        "chance_low": max(middle - half, 0),
        "chance_high": min(middle + half, 1),
    }


def forecast_weeks(log: Log) -> list[dict]:
    """Sums of fractions: to be compared to a few digits."""
    rows = []
    for number in range(1, 9):
        first, last = log.as_of + (number - 1) * 7 * DAY, log.as_of + number * 7 * DAY
        until_then = [row for row in forecast(log) if log.as_of < row["deadline_at"] <= last]
        due = [row for row in until_then if row["deadline_at"] > first]
        rows.append(
            {
                "weeks_ahead": number,
                "ends_at": last,
                "due": len(due),
                "without_chance": [row["chance"] for row in due].count(None),
                **expiries("expected", due),
                **expiries("expected_by_then", until_then),
            }
        )
    return rows


def expiries(name: str, due: list[dict]) -> dict:
    """How many of these are expected to expire, between which numbers."""
    known = [row for row in due if row["chance"] is not None]
    if due and not known:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    expected = sum(1 - row["chance"] for row in known)
    luck = DEVIATIONS**2 * sum(row["chance"] * (1 - row["chance"]) for row in known)
    less = sum(row["chance_high"] - row["chance"] for row in known)
    more = sum(row["chance"] - row["chance_low"] for row in known)
    return {
        name: expected,
        f"{name}_low": max(expected - math.sqrt(less**2 + luck), 0),
        f"{name}_high": min(expected + math.sqrt(more**2 + luck), len(known)),
    }


# --- what differs between two records ---


def as_text(value: object) -> str | None:
    """A text, or the JSON of what came in its place."""
    return value if value is None or isinstance(value, str) else json_bytes(value).decode()


COMPARED = {
    **dict.fromkeys(("first_name", "last_name", "email", "phone_number", "birthdate"), as_text),
    **dict.fromkeys(("address", "mcc", "business_name", "business_email"), as_text),
    **dict.fromkeys(("business_phone", "business_address", "owner"), as_text),
    **{name: flag for name in FLAGS if name != "delinquent"},
    "revenue": amount,
    "type": text_of,
    **dict.fromkeys(TAX_IDS, tax_id),
}
"""But for what the platform writes, and for `metadata`, which the marketplace writes for itself."""


def denial_fields(log: Log) -> list[dict]:
    """Per reason and field, in how many cured sellers the accepted record differs."""
    events_of, denied = seller_events(log), denials_of(log)
    told: dict[Key, list[bool | None]] = {}
    for row in returned_sellers(log):
        if not row["is_cured"]:
            continue
        last = [it for it in denied[row["seller_id"]] if it["denied_at"] < row["came_back_at"]][-1]
        before = until(events_of[row["seller_id"]], last["denied_at"])
        after = until(events_of[cured_as(log, row)], row["cured_at"])
        differs = {field: differs_in(field, before, after) for field in COMPARED}
        known = [it for it in differs.values() if it is not None]
        whole = {**differs, None: not any(known) if known else None}
        for pair in last["reasons"]:
            for field, one in whole.items():
                name = "business_owner" if field == "owner" else field
                told.setdefault((pair["reason"], pair["detail"], name), []).append(one)
    return [
        {
            "reason": reason,
            "detail": detail,
            "field": field,
            "cured": len(of_it),
            "compared": len(known),
            "differing": known.count(True),
            "share": share(known.count(True), len(known)),
        }
        for (reason, detail, field), of_it in told.items()
        if (known := [it for it in of_it if it is not None])
    ]


def cured_as(log: Log, row: dict) -> str:
    """The new seller that was enabled first; of several at once the least id."""
    events_of = seller_events(log)
    return min(
        other
        for other, events in events_of.items()
        if other != row["seller_id"]
        and taxpayer_id(events) == taxpayer_id(events_of[row["seller_id"]])
        and created_at(log, other) > row["first_denied_at"]
        and row["cured_at"] in enabled_at(events)
    )


def until(events: list, instant: datetime) -> list:
    return [event for event in events if event.created_at <= instant]


def differs_in(field: str, before: list, after: list) -> bool | None:
    """None where neither of the records says anything there."""
    values = [said(carried(events, field, COMPARED[field]), field) for events in (before, after)]
    return None if values == [None, None] else values[0] != values[1]


def said(value: object, field: str) -> object:
    if field in TAX_IDS:
        value = compared(value) or None
    if isinstance(value, str) and not value.strip(" \t\n\r\xa0"):
        return None
    return value
