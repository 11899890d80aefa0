"""For which processes the schedule of notices asks by itself (docs/rules.md#schedules)."""

from datetime import datetime
from typing import Any

from .model import Entry, Log
from .processes import Process
from .reading import HOUR

OURS = [{"after": hours} for hours in (0, 168, 336, 600, 672)] + [{"late": 72}]


def decisions(log: Log) -> list[Entry]:
    return [it for it in log.of_kind("notice_schedule") if it.line.get("step") != "claimed"]


def for_all(log: Log) -> list[Entry]:
    """What was decided for all, in the log's order: a file speaks of another log's schedule, and
    nothing runs any more in a log that was restored, or a copy that is now the one in use."""
    steps = [*decisions(log), *log.of_kind("restoration")]
    return [
        entry
        for entry in sorted(steps, key=lambda entry: entry.seq)
        if entry.origin == "live"
        and entry.line.get("process_id") is None
        and entry.line.get("seller_id") is None
    ]


def is_in_it(log: Log, process: Process) -> bool:
    """Whether a start takes the process: the first of its events came live while it ran, or it was
    known by then and the backlog was wanted."""
    if not process.events:
        return False
    first = min(
        (event.delivery.entry for event in process.events),
        key=lambda entry: (entry.occurred_at, entry.seq),
    )
    runs, backlog = False, False
    for entry in for_all(log):
        is_start = entry.line.get("step") == "started"
        if entry.seq < first.seq:
            runs = is_start
        elif is_start and entry.line.get("backlog") is True:
            backlog = True
    return backlog or (runs and first.origin == "live")


def is_kept_back(log: Log, process: Process) -> bool:
    said = [
        entry
        for entry in decisions(log)
        if entry.line.get("process_id") == process.process_id
        or (
            entry.line.get("process_id") is None
            and entry.line.get("seller_id") == process.seller_id is not None
        )
    ]
    heeded = counted(said)
    return bool(heeded) and heeded[-1].line["step"] in ("held", "stopped")


def counted(said: list[Entry]) -> list[Entry]:
    """Decisions about one seller or process in their order, without what a file says to end a wish
    of the seller's that was recorded here."""
    found, is_wished = list[Entry](), False
    for entry in sorted(said, key=lambda entry: (entry.occurred_at, entry.seq)):
        step, is_here = entry.line["step"], entry.origin == "live"
        if step == "released" and is_wished and not is_here:
            continue
        if is_here and entry.line.get("reason") in ("not_me", "stop_writing"):
            is_wished |= step == "stopped"
        if is_here and step == "released":
            is_wished = False
        found.append(entry)
    return found


def rungs(started: Entry, process: Process) -> list[dict[str, Any]]:
    schedules = started.line.get("schedules")
    if schedules is None:
        return OURS
    by_type = {each["review_type"]: each["rungs"] for each in schedules}
    return by_type.get(process.review_type, by_type.get(None, []))


def time_of(rung: dict[str, Any], process: Process) -> datetime:
    if rung.get("after") is not None:
        return process.opened_at + rung["after"] * HOUR
    if rung.get("before") is not None:
        return process.deadline_at - rung["before"] * HOUR
    return process.deadline_at + rung["late"] * HOUR


def came_back(log: Log, process: Process, channel: str) -> bool:
    """Whether the last message to the seller by a channel, of those of which it is known, came back
    or will never be taken."""
    known = [
        entry
        for entry in log.notices
        if entry.line.get("seller_id") == process.seller_id is not None
        and entry.line["channel"] == channel
        and (is_lost(log, entry) or said_of(log, entry, "accepted", "delivered"))
    ]

    def at(entry: Entry) -> tuple[datetime, str, str]:
        return entry.occurred_at, entry.line["message_id"], entry.line["process_id"]

    last = max(known, key=at, default=None)
    return last is not None and is_lost(log, last)


def is_lost(log: Log, notice: Entry) -> bool:
    if said_of(log, notice, "bounced"):
        return True
    others = ("accepted", "delivered", "opened", "uncertain")
    is_final = said_of(log, notice, *others) or said_of(log, notice, "failed", is_refused=True)
    return said_of(log, notice, "failed") and is_final


def said_of(log: Log, notice: Entry, *results: str, **parts: Any) -> bool:
    return any(
        entry.line["message_id"] == notice.line["message_id"]
        and entry.line.get("process_id") in (None, notice.line["process_id"])
        and entry.line["result"] in results
        and all(entry.line.get(name) == value for name, value in parts.items())
        for entry in log.notice_results
    )


def was_heard_of(log: Log, process: Process) -> bool:
    """Whether anything shows that the seller got a message about the process."""
    own = [entry for entry in log.notices if entry.line["process_id"] == process.process_id]
    steps = [
        entry
        for entry in log.collections
        if entry.line["process_id"] == process.process_id
        and entry.line.get("source") == "seller"
        and entry.line.get("step") in ("opened", "answered", "confirmed")
    ]
    return bool(steps) or any(said_of(log, entry, "delivered", "opened") for entry in own)


def asked_for_at(log: Log, process: Process) -> datetime | None:
    """When a person was last asked to call because a message could not go."""
    return max(
        (
            entry.occurred_at
            for entry in log.of_kind("notice_schedule")
            if entry.line.get("step") == "claimed"
            and entry.line.get("process_id") == process.process_id
            and entry.line.get("channel") == "phone"
            and entry.line.get("reason") is not None
        ),
        default=None,
    )


def asks_by_itself(
    log: Log, process: Process, called_at: datetime | None, contacted_at: datetime | None
) -> bool:
    """`called_at`: of the latest call that stands; `contacted_at`: of the latest contact."""
    steps = for_all(log)
    if not steps or steps[-1].line.get("step") != "started":
        return False
    if not is_in_it(log, process) or is_kept_back(log, process):
        return False
    counted = [
        rung
        for rung in rungs(steps[-1], process)
        if not (rung.get("if_silent") and was_heard_of(log, process))
    ]
    due = [(time_of(rung, process), rung.get("channel") or "email") for rung in counted]
    due = [(at, channel) for at, channel in due if at >= process.opened_at]
    calls = [at for at, channel in due if channel == "phone" and at <= log.as_of]
    if any(called_at is None or called_at < at for at in calls):
        return False
    asked_at = asked_for_at(log, process)
    answers = [at for at in (called_at, contacted_at) if at is not None]
    if asked_at is not None and not any(at >= asked_at for at in answers):
        return False
    return any(at > log.as_of and not came_back(log, process, channel) for at, channel in due)
