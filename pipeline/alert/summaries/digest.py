"""Sums up a recipient's day: what is late, due this week, new, and not yet taken.

A digest is an alert like every other, so it is raised, sent, repeated and written down like one. It
is due from the recipient's hour to the end of their day, on days on which they work, and only where
there is something to say.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.alert import hours
from pipeline.alert.alarms import Alarm, Delivery
from pipeline.alert.decision import of_role, present
from pipeline.alert.entries import DIGEST, Due
from pipeline.alert.watch import name_of
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.recipients import Via

MAX_LISTED: Final = 20
"""Processes in one part; how many there are is said in any case."""
UNTAKEN_FOR: Final = instants.DAY
SOON: Final = 7 * instants.DAY


class Process(NamedTuple):
    """An unfinished process; a row of the view `open_processes`. Instants in microseconds."""

    process_id: str
    state: str
    opened_at: int | None
    deadline_at: int | None
    next_action: str | None
    assignee: str | None
    review_type: str | None = None
    seller_id: str | None = None
    queue: str | None = None


class Part(NamedTuple):
    """One part of a digest: how many processes, and the most urgent of them."""

    name: str  # late, this_week, new or untaken; of a report, a state
    total: int
    listed: tuple[Process, ...]


def awaited(rules: AlertRules, alarms: Mapping[str, Alarm], now: int) -> dict[str, str]:
    """Alert -> recipient of the digests whose hour has come, and that were not sent yet."""
    found = {}
    for name, recipient in rules.recipients.items():
        local = hours.local_time(rules.hours, recipient, now)
        if (
            recipient.digest_at is not None
            and local.time() >= recipient.digest_at
            and hours.is_working_day(rules.hours, local.date())
            and not recipient.is_away(local.date())
        ):
            alert = _alert(name, local.date())
            if not is_over(so_far(alarms, alert, now), name, rules):
                found[alert] = name
    return found


def so_far(alarms: Mapping[str, Alarm], alert: str, now: int) -> Alarm | None:
    """What became of a digest or a report by now: a clock that was ahead may have sent it early."""
    alarm = alarms.get(alert)
    return None if alarm is None else alarm.as_of(now)


def is_over(alarm: Alarm | None, name: str, rules: AlertRules) -> bool:
    """Whether a recipient has a digest or a report by each channel by which one goes, or it was
    given up there."""
    ways = rules.recipients[name].read_by_people
    ended = [it.is_sent or it.is_given_up for it in _deliveries(alarm, name, ways)]
    return len(ended) == len(ways) and all(ended)


def _deliveries(alarm: Alarm | None, name: str, ways: Sequence[Via]) -> list[Delivery]:
    known = {} if alarm is None else alarm.deliveries
    return [it for to, it in known.items() if to.to == name and to.via in ways]


def _alert(name: str, day: date) -> str:
    return name_of(DIGEST, f"{name}:{day.isoformat()}")


def parts_for(
    name: str,
    rules: AlertRules,
    processes: Iterable[Process],
    dues: Iterable[Due],
    alarms: Mapping[str, Alarm],
    now: int,
) -> list[Part]:
    """What a recipient's digest says; empty where there is nothing to say."""
    processes = list(processes)
    whose = {it.assignee for it in processes}
    of_theirs = {it for it in whose if _is_for(it, name, rules, now)}
    theirs = [it for it in processes if it.assignee in of_theirs]
    by_name = {it.process_id: it for it in theirs}
    untaken = {
        due.process_id
        for due in dues
        if (alarm := alarms.get(due.alert)) is not None
        and alarm.is_open(now)
        and alarm.raised_at < now - UNTAKEN_FOR
        and due.process_id in by_name
    }
    new_from = _new_from(name, rules, now)
    chosen: dict[str, list[Process]] = {
        "late": [it for it in theirs if it.state == "EXPIRED"],
        "this_week": [it for it in theirs if _is_soon(it, now)],
        "new": [it for it in theirs if (it.opened_at or 0) > new_from],
        "untaken": [it for it in theirs if it.process_id in untaken],
    }
    return [*_parts(chosen)]


def _parts(chosen: Mapping[str, list[Process]]) -> Iterator[Part]:
    for name, processes in chosen.items():
        if processes:
            urgent = sorted(processes, key=urgency)
            yield Part(name, len(processes), tuple(urgent[:MAX_LISTED]))


def urgency(process: Process) -> tuple[int, str]:
    """By which processes are sorted: the nearest deadline first."""
    return process.deadline_at or 0, process.process_id


def _new_from(name: str, rules: AlertRules, now: int) -> int:
    """This hour of the last working day before now: no digest of the days between said what was new
    then."""
    recipient, at = rules.recipients[name], now - instants.DAY
    while not hours.is_working_day(
        rules.hours, hours.local_time(rules.hours, recipient, at).date()
    ):
        at -= instants.DAY
    return at


def _is_soon(process: Process, now: int) -> bool:
    return process.deadline_at is not None and now < process.deadline_at <= now + SOON


def _is_for(assignee: str | None, name: str, rules: AlertRules, now: int) -> bool:
    """Whether what is assigned so is theirs: to them, to somebody for whom they stand in now, or to
    nobody who is named here."""
    assigned = [] if assignee is None else rules.assigned(assignee)
    if not assigned:
        return name in of_role("officer", rules)
    return name in assigned or name in {present(it, rules, now) for it in assigned}


def due(alert: str, name: str, rules: AlertRules, now: int) -> Due:
    """The digest as an alert that is due to one recipient, who stands where the assignee does."""
    return Due(alert, DIGEST, "notice", rules.recipients[name].role, now, name)
