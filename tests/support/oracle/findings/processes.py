"""Findings that a process shows by itself: its clock, its reports, its last attempt."""

from collections.abc import Iterator
from datetime import datetime

from tests.support.oracle.attempts import outcome, outcome_at
from tests.support.oracle.model import ReviewEvent
from tests.support.oracle.processes import Process, first_other
from tests.support.oracle.reading import DAY

from .finding import BREACH, RISK, finding

LOST = ("timeout", "network_error", "platform_error", "unexpected_status", "unknown")
"""Outcomes after which the platform may have processed what was sent."""


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
    return clock_at, first_that_carries(process).seq


def finished_late(process: Process) -> Iterator[dict]:
    if process.finished_late:
        yield finding(
            "finished_late", BREACH, process.finished_at, process.finish.entry_seq, process
        )


def finished_by_the_platform(process: Process) -> Iterator[dict]:
    """`answer_lost` where an attempt of ours may have done it, else `finished_elsewhere`.

    Found when the last attempt that started before the finish had ended: until then, neither.
    """
    answered = any(attempt.status == 200 for attempt in process.attempts)
    if process.finish is None or process.finish.by != "platform" or answered:
        return
    before = [attempt for attempt in process.attempts if attempt.attempted_at < process.finished_at]
    outcomes = [outcome(attempt, process.as_of) for attempt in before]
    if "in_flight" in outcomes:
        return
    rule, severity = "finished_elsewhere", BREACH
    if any(result in LOST for result in outcomes):
        rule, severity = "answer_lost", RISK
    at = max([process.finished_at, *(outcome_at(attempt) for attempt in before)])
    yield finding(rule, severity, at, process.finish.entry_seq, process)


def flags(process: Process) -> Iterator[dict]:
    """Of docs/rules.md#events-that-disagree, each from the event that first shows it."""
    if process.deadline_mismatch:
        event = first_that_carries(process)
        yield finding("deadline_mismatch", RISK, event.created_at, event.seq, process)
    if process.deadline_changed:
        event = first_other(process.events, lambda event: event.deadline_at)
        yield finding("deadline_changed", RISK, event.created_at, event.seq, process)
    if process.identity_changed:
        event = process.identity_changed_by
        yield finding("identity_changed", RISK, event.created_at, event.seq, process)
    if process.status_disagrees:
        yield finding("status_disagrees", RISK, process.reported_at, process.latest.seq, process)
    if process.open_after_finish:
        event = process.reopening_events[0]
        yield finding("open_after_finish", RISK, event.created_at, event.seq, process)


def first_that_carries(process: Process) -> ReviewEvent:
    """The first event that carries the current deadline itself; where none does, the earliest."""
    carrying = (event for event in process.events if event.deadline_at == process.deadline_at)
    return next(carrying, process.earliest)


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
