"""Review processes and their clocks (docs/rules.md#review-processes)."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from .attempts import by_process, is_refused, outcome
from .contract import REVIEW_TYPES, UNKNOWN_TYPE, ReviewType
from .model import Attempt, Entry, Log, ReviewEvent
from .reading import DAY, HOUR, day_of, end_of_day, whole_days, whole_seconds
from .tries import GivenUp, given_up, keeps_failing, trailing_run, tries

RANK = {"PENDING": 1, "OVERDUE": 2, "EXPIRED": 3}
OPEN = tuple(RANK)


@dataclass(frozen=True)
class Finish:
    at: datetime
    by: str
    entry_seq: int


@dataclass(frozen=True)
class Process:
    """One process as the log stands at `as_of`; see docs/rules.md#review-processes."""

    process_id: str
    as_of: datetime
    events: list[ReviewEvent]
    all_attempts: list[Attempt]
    collections: list[Entry]
    replaced_at: list[datetime]
    tickets: list[Entry]

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
    def traits(self) -> ReviewType:
        """Of the type that the earliest event alone names."""
        code = self.earliest.type_code if self.earliest else None
        return REVIEW_TYPES.get(code, UNKNOWN_TYPE)

    @property
    def review_type(self) -> str | None:
        return self.traits.name or None

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

    @cached_property
    def deadline_at(self) -> datetime | None:
        """Of the latest event that carries a readable one, else the contract's total.

        What comes with the end or after it moves no deadline, unless nothing came before.
        """
        if not self.events:
            return None
        carrying = [event for event in self.events if event.deadline_at is not None]
        if not carrying:
            return self.opened_at + self.traits.total
        in_time = [event for event in carrying if not self.comes_with_the_end(event)]
        return in_time[-1].deadline_at if in_time else carrying[0].deadline_at

    def comes_with_the_end(self, event: ReviewEvent) -> bool:
        """Whether an event came after the process was finished, or is what reports it."""
        if self.finish is None or event.created_at < self.finished_at:
            return False
        return event.created_at > self.finished_at or event.status == "FINISHED"

    @property
    def overdue_at(self) -> datetime | None:
        """After its days of PENDING, or so long before the deadline as the others take."""
        if self.opened_at is None or not self.traits.pends:
            return self.opened_at
        by_deadline = self.deadline_at - (self.traits.total - self.traits.pends)
        return max(min(self.opened_at + self.traits.pends, by_deadline), self.opened_at)

    @property
    def requested_fields(self) -> list[str] | None:
        return requested_by(self.events) if self.events else None

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
        if self.traits.pends and at < self.overdue_at:
            return "PENDING"
        return "OVERDUE"

    @cached_property
    def current_events(self) -> list[ReviewEvent]:
        """Events that carry the current deadline: an extended deadline starts afresh.

        One without a readable deadline counts with that of the latest event before it that
        carries one, else with the current one.
        """
        current, stands = [], self.deadline_at
        for event in self.events:
            if event.deadline_at is not None:
                stands = event.deadline_at
            if stands == self.deadline_at:
                current.append(event)
        return current

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
        return abs(self.deadline_at - self.opened_at - self.traits.total) > DAY

    @property
    def deadline_changed(self) -> bool | None:
        if not self.events:
            return None
        return first_other(self.events, lambda event: event.deadline_at) is not None

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
        return self.identity_changed_by is not None

    @property
    def identity_changed_by(self) -> ReviewEvent | None:
        """The first event that names another type, as a text, or another seller."""
        others = [
            first_other(self.events, lambda event: event.type_code),
            first_other(self.events, lambda event: event.seller_id),
        ]
        return min(
            (event for event in others if event), key=lambda event: event.order, default=None
        )

    @property
    def given_up(self) -> list[list[GivenUp]]:
        """The tries that were given up, in order, each with its attempts whose retry was."""
        found = [
            given_up(tried, self.attempts, self.replaced_at, self.finished_at, self.as_of)
            for tried in tries(self.attempts)
        ]
        return [each for each in found if each]

    @property
    def ticket_due(self) -> bool:
        """Unfinished, no ticket open, and the last try was given up or keeps failing."""
        has_ticket = bool(self.tickets) and self.tickets[-1].line["step"] == "opened"
        if self.finish or has_ticket or not self.attempts:
            return False
        last = tries(self.attempts)[-1]
        if any(each[0].attempt in last for each in self.given_up):
            return True
        return keeps_failing(trailing_run(last, self.as_of), self.deadline_at, self.as_of)


def requested_by(events: list[ReviewEvent]) -> list[str]:
    """Of the latest event that carries a readable list; an empty one where none does."""
    readable = [event.requested_fields for event in events if event.requested_fields is not None]
    return readable[-1] if readable else []


def first_other(events: list[ReviewEvent], said) -> ReviewEvent | None:
    """The first event that says otherwise than the first that says anything readable."""
    saying = [event for event in events if said(event) is not None]
    return next((event for event in saying if said(event) != said(saying[0])), None)


def processes(log: Log) -> list[Process]:
    """One per process_id seen in a review event, an attempt or a collection."""
    events = by_process(log.review_events, lambda event: event.process_id)
    attempts = by_process(log.attempts, lambda attempt: attempt.process_id)
    collections = by_process(log.collections, lambda entry: entry.line["process_id"])
    replacements = by_process(log.replacements, lambda entry: entry.line["process_id"])
    tickets = by_process(log.tickets, lambda entry: entry.line["process_id"])
    return [
        Process(
            process_id,
            log.as_of,
            events.get(process_id, []),
            attempts.get(process_id, []),
            collections.get(process_id, []),
            [entry.occurred_at for entry in replacements.get(process_id, [])],
            tickets.get(process_id, []),
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
        "seconds_to_deadline": whole_seconds(process.deadline_at - as_of) if counts_down else None,
        "days_to_overdue": whole_days(process.overdue_at - as_of) if state == "PENDING" else None,
        "finished_late": process.finished_late,
        "attempts": len(process.attempts),
        "last_outcome": outcome(last, as_of) if last else None,
        "last_attempt_at": last.attempted_at if last else None,
        "ticket_due": process.ticket_due,
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
            count["due_acp"] += process["review_type"] == "ACP"
            count["due_aci"] += process["review_type"] == "ACI"
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
