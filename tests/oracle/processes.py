"""Review processes and their clocks (rules.md section 2)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from .attempts import is_refused, outcome
from .model import ACI, ACP, REVIEW_TYPES, Attempt, Entry, Log, ReviewEvent
from .reading import DAY, HOUR, day_of, end_of_day, whole_days

RANK = {"PENDING": 1, "OVERDUE": 2, "EXPIRED": 3}
OPEN = tuple(RANK)
OVERDUE_BEFORE_DEADLINE = timedelta(days=30)
TOTAL = {ACP: timedelta(days=60), ACI: timedelta(days=30)}


@dataclass(frozen=True)
class Finish:
    at: datetime
    by: str
    entry_seq: int


@dataclass(frozen=True)
class Process:
    """One process as the log stands at `as_of`; the properties follow the table of section 2."""

    process_id: str
    as_of: datetime
    events: list[ReviewEvent]
    all_attempts: list[Attempt]
    collections: list[Entry]

    @property
    def attempts(self) -> list[Attempt]:
        return [attempt for attempt in self.all_attempts if not is_refused(attempt)]

    @property
    def earliest(self) -> ReviewEvent | None:
        return self.events[0] if self.events else None

    @property
    def latest(self) -> ReviewEvent | None:
        return self.events[-1] if self.events else None

    @property
    def review_type(self) -> str | None:
        return REVIEW_TYPES.get(self.earliest.type_code) if self.earliest else None

    @property
    def seller_id(self) -> str | None:
        if self.earliest:
            return self.earliest.seller_id
        for attempt in self.all_attempts:
            if attempt.seller_id:
                return attempt.seller_id
        named = [
            (entry.occurred_at, entry.line["seller_id"])
            for entry in self.collections
            if entry.line.get("seller_id")
        ]
        return min(named)[1] if named else None

    @property
    def opened_at(self) -> datetime | None:
        return self.earliest.created_at if self.earliest else None

    @property
    def deadline_at(self) -> datetime | None:
        return self.latest.deadline_at if self.latest else None

    @property
    def overdue_at(self) -> datetime | None:
        if self.review_type == ACP:
            return self.deadline_at - OVERDUE_BEFORE_DEADLINE
        return self.opened_at

    @property
    def requested_fields(self) -> list | None:
        return self.latest.requested_fields if self.latest else None

    @property
    def reported_status(self) -> str | None:
        return self.latest.status if self.latest else None

    @property
    def reported_at(self) -> datetime | None:
        return self.latest.created_at if self.latest else None

    @property
    def finish(self) -> Finish | None:
        """The earliest of a 200 and of a report of FINISHED; on a tie, the submission."""
        candidates = [
            (attempt.finished_at, 0, "submission", attempt.finish.seq)
            for attempt in self.attempts
            if attempt.status == 200
        ]
        candidates += [
            (event.created_at, 1, "platform", event.seq)
            for event in self.events
            if event.status == "FINISHED"
        ]
        if not candidates:
            return None
        at, _, by, seq = min(candidates, key=lambda candidate: candidate[:2])
        return Finish(at, by, seq)

    @property
    def finished_at(self) -> datetime | None:
        return self.finish.at if self.finish else None

    def clock(self, at: datetime) -> str:
        """The clock's state at `at`, whatever was reported."""
        if at >= self.deadline_at:
            return "EXPIRED"
        if self.review_type == ACP and at < self.overdue_at:
            return "PENDING"
        return "OVERDUE"

    @property
    def current_events(self) -> list[ReviewEvent]:
        """Events that carry the current deadline: an extended deadline starts afresh."""
        return [event for event in self.events if event.deadline_at == self.deadline_at]

    @cached_property
    def state(self) -> str:
        if self.finish:
            return "FINISHED"
        if not self.events:
            return "UNKNOWN"
        states = [self.clock(self.as_of)]
        states += [event.status for event in self.current_events if event.status in RANK]
        return max(states, key=RANK.__getitem__)

    @property
    def finished_late(self) -> bool | None:
        if self.finish is None:
            return False
        if self.deadline_at is None:
            return None
        return self.finished_at >= self.deadline_at

    @property
    def deadline_mismatch(self) -> bool | None:
        if not self.events:
            return None
        if self.review_type is None:
            return False
        return abs(self.deadline_at - self.opened_at - TOTAL[self.review_type]) > DAY

    @property
    def deadline_changed(self) -> bool | None:
        if not self.events:
            return None
        return len({event.deadline_at for event in self.events}) > 1

    @property
    def status_disagrees(self) -> bool | None:
        if not self.events:
            return None
        return self.reported_status in RANK and self.reported_status not in (
            self.clock(self.reported_at - HOUR),
            self.clock(self.reported_at + HOUR),
        )

    @property
    def reopening_events(self) -> list[ReviewEvent]:
        """Events created after the finish that report an open status."""
        if self.finish is None:
            return []
        return [
            event
            for event in self.events
            if event.created_at > self.finished_at and event.status in OPEN
        ]

    @property
    def open_after_finish(self) -> bool | None:
        return bool(self.reopening_events) if self.events else None

    @property
    def identity_changed(self) -> bool | None:
        if not self.events:
            return None
        return len({(event.type_code, event.seller_id) for event in self.events}) > 1


def processes(log: Log) -> list[Process]:
    """One per process_id seen in a review event, an attempt or a collection."""
    events: dict[str, list[ReviewEvent]] = {}
    attempts: dict[str, list[Attempt]] = {}
    collections: dict[str, list[Entry]] = {}
    for event in log.review_events:
        events.setdefault(event.process_id, []).append(event)
    for attempt in log.attempts:
        attempts.setdefault(attempt.process_id, []).append(attempt)
    for entry in log.collections:
        collections.setdefault(entry.line["process_id"], []).append(entry)
    return [
        Process(
            process_id,
            log.as_of,
            events.get(process_id, []),
            attempts.get(process_id, []),
            collections.get(process_id, []),
        )
        for process_id in sorted({*events, *attempts, *collections})
    ]


def process_state(log: Log) -> list[dict]:
    return [row(process) for process in processes(log)]


def row(process: Process) -> dict:
    state, as_of = process.state, process.as_of
    counts_down = process.deadline_at is not None and state != "FINISHED"
    last = process.attempts[-1] if process.attempts else None
    return {
        "process_id": process.process_id,
        "review_type": process.review_type,
        "seller_id": process.seller_id,
        "opened_at": process.opened_at,
        "deadline_at": process.deadline_at,
        "overdue_at": process.overdue_at,
        "requested_fields": process.requested_fields,
        "reported_status": process.reported_status,
        "reported_at": process.reported_at,
        "finished_at": process.finished_at,
        "finished_by": process.finish.by if process.finish else None,
        "state": state,
        "days_to_deadline": whole_days(process.deadline_at - as_of) if counts_down else None,
        "days_to_overdue": whole_days(process.overdue_at - as_of) if state == "PENDING" else None,
        "finished_late": process.finished_late,
        "attempts": len(process.attempts),
        "last_outcome": outcome(last, as_of) if last else None,
        "last_attempt_at": last.attempted_at if last else None,
        "deadline_mismatch": process.deadline_mismatch,
        "deadline_changed": process.deadline_changed,
        "status_disagrees": process.status_disagrees,
        "open_after_finish": process.open_after_finish,
        "identity_changed": process.identity_changed,
    }


def watchlist(log: Log) -> list[dict]:
    """OVERDUE and EXPIRED, worst first: EXPIRED before OVERDUE, then the earlier deadline."""
    rows = [row for row in process_state(log) if row["state"] in ("OVERDUE", "EXPIRED")]
    return sorted(
        rows, key=lambda row: (-RANK[row["state"]], row["deadline_at"], row["process_id"])
    )


def expired_processes(log: Log) -> list[dict]:
    return [row for row in watchlist(log) if row["state"] == "EXPIRED"]


def deadline_calendar(log: Log) -> list[dict]:
    """Unfinished processes, late ones included, by UTC day of their deadline."""
    days: dict = {}
    for process in process_state(log):
        if process["state"] in OPEN:
            day = day_of(process["deadline_at"])
            count = days.setdefault(day, {"day": day, "due": 0, "due_acp": 0, "due_aci": 0})
            count["due"] += 1
            count["due_acp"] += process["review_type"] == ACP
            count["due_aci"] += process["review_type"] == ACI
    return [days[day] for day in sorted(days)]


def state_daily(log: Log) -> list[dict]:
    """Every day from the first opened_at, as the log stood at that day's end."""
    opened = [process.opened_at for process in processes(log) if process.events]
    if not opened:
        return []
    rows = []
    day, last = day_of(min(opened)), day_of(log.as_of)
    while day <= last:
        stood = process_state(log.at(min(end_of_day(day), log.as_of)))
        states = [process["state"] for process in stood if process["opened_at"] is not None]
        rows.append(
            {
                "day": day,
                "pending": states.count("PENDING"),
                "overdue": states.count("OVERDUE"),
                "expired": states.count("EXPIRED"),
                "finished": states.count("FINISHED"),
            }
        )
        day += DAY
    return rows
