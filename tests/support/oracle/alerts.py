"""What is alarming (docs/alerts.md), with the default settings.

Readings: where the platform's clock is ahead, a review is opened once we know of it, and a report
counts from its receipt on: what is yet to come by that clock hides no rung before the deadline.
What is left to do is asked of the caller, for the next actions have tests of their own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from .findings import findings
from .model import Entry, Log
from .processes import OPEN, Process, process_state, processes
from .reading import DAY, HOUR, day_of
from .schedules import counted, decisions
from .tries import trailing_run, tries

LOOK_BACK = 7 * DAY
BEFORE = {
    "before_15d": 15 * DAY,
    "before_7d": 7 * DAY,
    "before_3d": 3 * DAY,
    "before_1d": DAY,
    "before_4h": 4 * HOUR,
}
UNSAFE_TO_WAIT = 3 * DAY
LISTENS_FOR = 28 * DAY
FEWEST_DELIVERIES = 10
ON_LADDER = ("expired_unfinished", "never_notified")
"""Breaches of processes that have an alert for being EXPIRED, or for having finished late."""
FOR_ADMINS = {"unauthorized", "tls_refused", "quarantined", "silence"}


@dataclass(frozen=True)
class Rung:
    name: str
    since: datetime


def reported(process: Process, status: str) -> list[datetime]:
    return [
        min(event.created_at, event.delivery.occurred_at)
        for event in process.current_events
        if event.status == status
    ]


def rungs(process: Process) -> list[Rung]:
    """Those that a process has reached, in the order of the table."""
    as_of = process.as_of
    if process.state == "EXPIRED":
        return [Rung("expired", min([process.deadline_at, *reported(process, "EXPIRED")]))]
    received = min(event.delivery.occurred_at for event in process.events)
    found = [Rung("opened", min(process.opened_at, received))]
    if process.state == "OVERDUE" and process.traits.pends:
        found.append(Rung("overdue", min([process.overdue_at, *reported(process, "OVERDUE")])))
    found += [
        Rung(name, process.deadline_at - span)
        for name, span in BEFORE.items()
        if process.deadline_at - span <= as_of
    ]
    return found


def known(process: Process, rung: str) -> list[datetime]:
    """When the clock's strike, or a report that came before it, and this deadline were received."""
    strikes = {"expired": process.deadline_at, "overdue": process.overdue_at}
    told = min(event.delivery.occurred_at for event in since_it_stands(process))
    if rung not in strikes:
        return [] if rung == "opened" else [told]
    heard = [
        event.delivery.occurred_at
        for event in process.current_events
        if event.status == rung.upper()
    ]
    return [min([strikes[rung], *heard]), told]


def since_it_stands(process: Process) -> list:
    """The events from which on the current deadline has not been another one."""
    found: list = []
    for event in process.events:
        if event in process.current_events:
            found.append(event)
        else:
            found = []
    return found


def on_ladder(log: Log, next_actions: Mapping[str, str]) -> list[dict]:
    rows = []
    for process in processes(log):
        if process.state not in OPEN:
            continue
        reached = rungs(process)
        last = max(it.since for it in reached)
        rung = [it for it in reached if it.since == last][-1]
        first_received = min(event.delivery.occurred_at for event in process.events)
        left = process.deadline_at - log.as_of
        action = next_actions[process.process_id]
        is_safe = process.state != "EXPIRED" and left >= UNSAFE_TO_WAIT
        may_wait = action.startswith("await_") and is_safe
        if action == "await_answer" or may_wait:
            continue
        severity = "risk" if left < UNSAFE_TO_WAIT else "notice"
        rows.append(
            alert(
                rung.name,
                "breach" if process.state == "EXPIRED" else severity,
                max(last, first_received, *known(process, rung.name)),
                process.process_id,
                process.deadline_at,
            )
        )
    return rows


def alert(
    kind: str,
    severity: str,
    since: datetime,
    process_id: str | None,
    rung_of: datetime | None = None,
) -> dict:
    """`rung_of`: the deadline to which a rung belongs."""
    return {
        "kind": kind,
        "severity": severity,
        "role": "admin" if kind in FOR_ADMINS else "officer",
        "process_id": process_id,
        "since": since,
        "rung_of": rung_of,
    }


def conditions(log: Log) -> list[dict]:
    rows, quarantined = [], {}
    for found in findings(log):
        rule, since = found["rule"], found["found_at"]
        if not is_recent(since, log.as_of):
            continue
        if rule == "quarantined":
            day = day_of(since)
            quarantined[day] = min(since, quarantined.get(day, since))
        elif (found["severity"] == "breach" and rule not in ON_LADDER) or rule in (
            "unauthorized",
            "tls_refused",
            "retries_exhausted",
        ):
            rows.append(alert(rule, found["severity"], since, found["process_id"]))
    rows += [alert("quarantined", "risk", since, None) for since in quarantined.values()]
    due = {row["process_id"] for row in process_state(log) if row["ticket_due"]}
    for process in processes(log):
        if process.process_id in due:
            since = ended(process)
            rows.append(alert("ticket_due", "risk", since, process.process_id))
    return rows


def ended(process: Process) -> datetime:
    """The end of the last attempt of the run that fails; else the start of the last attempt."""
    run = trailing_run(tries(process.attempts)[-1], process.as_of)
    return run[-1].finished_at if run else process.attempts[-1].attempted_at


def silence(log: Log) -> list[dict]:
    live = [
        each.occurred_at
        for each in [
            *(delivery.entry for delivery in log.deliveries if not is_replay(delivery.entry)),
            *(entry for entry, _ in log.quarantined),
        ]
        if each.origin == "live" and each.occurred_at > log.as_of - LISTENS_FOR
    ]
    minutes = sorted({at.replace(second=0, microsecond=0) for at in live})
    pauses = sorted(later - earlier for earlier, later in pairwise(minutes))
    if len(live) < FEWEST_DELIVERIES or len(pauses) < 3:
        return []
    longest = max(timedelta(hours=1), pauses[-3] * 3 / 2)
    since = max(live) + longest
    return [alert("silence", "risk", since, None)] if since <= log.as_of else []


def not_me(log: Log) -> list[dict]:
    """Of each seller whose messages reach somebody else, about their oldest open review."""
    said: dict[str | None, list[Entry]] = {}
    for entry in decisions(log):
        if entry.line.get("process_id") is None:
            said.setdefault(entry.line.get("seller_id"), []).append(entry)
    rows = []
    for seller_id, steps in said.items():
        heeded = counted(steps)
        ends = [place for place, it in enumerate(heeded) if it.line["step"] == "released"]
        since_then = heeded[ends[-1] + 1 :] if ends else heeded
        said_so = [
            entry
            for entry in since_then
            if (entry.line["step"], entry.line.get("reason")) == ("stopped", "not_me")
        ]
        theirs = [
            process
            for process in processes(log)
            if process.seller_id == seller_id is not None and process.state in OPEN
        ]
        if theirs and said_so:
            oldest = min(theirs, key=lambda process: (process.opened_at, process.process_id))
            since = max(said_so[-1].occurred_at, oldest.opened_at)
            rows.append(alert("not_me", "risk", since, oldest.process_id))
    return rows


def is_replay(entry) -> bool:
    return entry.line.get("replay_of") is not None


def is_recent(since: datetime, as_of: datetime) -> bool:
    return as_of - LOOK_BACK < since <= as_of


def nobody(row: dict) -> bool:
    return False


def alerts(
    log: Log, next_actions: Mapping[str, str], is_held: Callable[[dict], bool] = nobody
) -> list[dict]:
    """`is_held`: whether an alert stays due, however long ago it became so. What is asked of it are
    rungs alone: the same condition stays the same alert while other findings come and go."""
    ladder = [
        row
        for row in on_ladder(log, next_actions)
        if is_recent(row["since"], log.as_of) or (row["since"] <= log.as_of and is_held(row))
    ]
    others = [*conditions(log), *silence(log), *not_me(log)]
    return ladder + [row for row in others if is_recent(row["since"], log.as_of)]
