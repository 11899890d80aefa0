"""Findings that a process shows by itself: its clock, its reports, its last attempt."""

from collections.abc import Iterator
from datetime import datetime

from .attempts import outcome, outcome_at
from .finding import BREACH, RISK, finding
from .model import ReviewEvent
from .processes import Process
from .reading import DAY


def expired_unfinished(process: Process) -> Iterator[dict]:
    """Found at the earlier of deadline_at and the first report of it."""
    if process.state == "EXPIRED":
        at, seq = reached(process, "EXPIRED", process.deadline_at)
        yield finding("expired_unfinished", BREACH, at, seq, process)


def reached(process: Process, state: str, clock_at: datetime) -> tuple[datetime, int]:
    """When a state began: by the clock or by the first report that carries the deadline."""
    reports = [event for event in process.current_events if event.status == state]
    if reports and reports[0].created_at < clock_at:
        return reports[0].created_at, reports[0].seq
    return clock_at, process.current_events[0].seq


def finished_late(process: Process) -> Iterator[dict]:
    if process.finished_late:
        yield finding(
            "finished_late", BREACH, process.finished_at, process.finish.entry_seq, process
        )


def finished_elsewhere(process: Process) -> Iterator[dict]:
    answered = any(attempt.status == 200 for attempt in process.attempts)
    if process.finish and process.finish.by == "platform" and not answered:
        yield finding(
            "finished_elsewhere", BREACH, process.finished_at, process.finish.entry_seq, process
        )


def flags(process: Process) -> Iterator[dict]:
    """The boolean columns of section 2, each from the event that first shows it."""
    if process.deadline_mismatch:
        event = process.current_events[0]
        yield finding("deadline_mismatch", RISK, event.created_at, event.seq, process)
    if process.deadline_changed:
        event = first_other(process, lambda event: event.deadline_at)
        yield finding("deadline_changed", RISK, event.created_at, event.seq, process)
    if process.identity_changed:
        event = first_other(process, lambda event: (event.type_code, event.seller_id))
        yield finding("identity_changed", RISK, event.created_at, event.seq, process)
    if process.status_disagrees:
        yield finding("status_disagrees", RISK, process.reported_at, process.latest.seq, process)
    if process.open_after_finish:
        event = process.reopening_events[0]
        yield finding("open_after_finish", RISK, event.created_at, event.seq, process)


def first_other(process: Process, said) -> ReviewEvent:
    """The first event that disagrees with the earliest."""
    return next(event for event in process.events if said(event) != said(process.earliest))


def overdue_unstarted(process: Process) -> Iterator[dict]:
    """OVERDUE for 24 h, and no journey was opened, answered or confirmed."""
    started = any(
        collection.line.get("step") in ("opened", "answered", "confirmed")
        for collection in process.collections
    )
    if process.state != "OVERDUE" or started:
        return
    since, seq = reached(process, "OVERDUE", process.overdue_at)
    if process.as_of >= since + DAY:
        yield finding("overdue_unstarted", RISK, since + DAY, seq, process)


def outcome_unknown(process: Process) -> Iterator[dict]:
    """Unfinished, and the last attempt is `unknown` or `conflict`."""
    if process.finish or not process.attempts:
        return
    last = process.attempts[-1]
    if outcome(last, process.as_of) in ("unknown", "conflict"):
        yield finding("outcome_unknown", RISK, outcome_at(last), last.shown_by.seq, process)
