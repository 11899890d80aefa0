"""Gathers what one process's submission is judged by, from the inbox alone: no ledger, no lag.

The process's own entries, and all others that share an event or attempt id with them (of which one
counts), go into memory, and the same files of `queries/` say what they mean: each rule has one
definition for every caller.

What is decided now is decided by the inbox's clock, or by the process's own entries where one of
them is ahead of it: an entry that was read is never invisible (docs/decisions/retries.md).
"""

import queue
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import duckdb

from pipeline import instants
from pipeline.contract.body import parse_json
from pipeline.contract.fields import flatten
from pipeline.inbox import Inbox
from pipeline.inbox.leases import Spent
from pipeline.ledger.facts import Keys
from pipeline.ledger.scratch import Excerpt
from pipeline.ledger.views.catalogue import catalogue
from pipeline.log.commitments import uncommitted
from pipeline.log.entries import LIVE, OWN_JOURNEY, Entry
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.submit.demand import Process
from pipeline.submit.retries import ATTEMPTS, Attempt
from pipeline.submit.rules import Answer

MAX_SELLER_PROCESSES: Final = 200
"""How many processes of a seller, the newest ones, are read to find the open ones."""

LEASE: Final = "lease"
"""The particular of a start that holds the number of its lease."""

_ASKED: Final = (
    "clocked_processes",
    "clocked_attempts",
    "latest_answers",
    "interventions",
    "seller_records",
)

_ATTEMPTED: Final = frozenset({"fact_attempt_starts", "fact_attempt_finishes"})
_SHARED: Final = {
    "attempts": _ATTEMPTED,
    "attempt_facts": _ATTEMPTED,
    "process_facts": _ATTEMPTED | {"fact_reviews", "fact_collections"},
}
"""Views that more than one of these reads, and the tables of which one has rows where they do."""

_SUBMITTED: Final = frozenset({SUBMISSION_STARTED, SUBMISSION_FINISHED})
_NO_ACTIONS: Final = _SUBMITTED | {WEBHOOK, COLLECTION}

_PROCESSES: Final = """
    select
        process_id, seller_id, review_type, state, epoch_us(opened_at), requested_fields,
        epoch_us(deadline_at), epoch_us(confirmed_at)
    from clocked_processes
    order by opened_at, process_id"""
_ANSWERS: Final = """
    select process_id, path, seq, epoch_us(answered_at), source
    from latest_answers"""
_OVERRIDES: Final = """
    select process_id, attempt_id
    from interventions
    where kind = 'override' and attempt_id is not null"""
_TYPES: Final = """
    select seller_id, seller_type
    from seller_records"""
_QUESTIONS: Final = {
    "processes_now": _PROCESSES,
    "attempts_now": ATTEMPTS,
    "answers_now": _ANSWERS,
    "overrides_now": _OVERRIDES,
    "types_now": _TYPES,
}
"""Prepared once; each asks for all that is in memory, which is little more than one process."""


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A process as of an instant. `process_n` entries were in its stream when it was read."""

    now: int
    """The inbox's clock, read after the entries. What is due is judged by it."""
    as_of: int
    """The instant as of which the process is judged: `now`, or a later one; `deciding_instant`."""
    process_n: int
    process: Process | None  # None: nothing names it
    answers: Mapping[str, Answer]  # by field path
    attempts: tuple[Attempt, ...]
    overridden: frozenset[str]
    """Attempts for which a person overrode a gate."""
    payloads: Mapping[int, bytes]
    """seq of an attempt's start -> its payload, unless that was erased or changed."""
    spent: Spent
    """What the starts of attempts say of the process's leases."""

    seller_type: str | None = None
    """The type in the seller's latest record that has one."""

    @property
    def is_finished(self) -> bool:
        """Whether the process is finished, so that nothing can be sent any more."""
        return self.process is not None and self.process.state == "FINISHED"


class OpenProcesses(NamedTuple):
    """The open processes of a seller; `left_out`: how many more, open or not, were not read."""

    processes: list[Process]
    left_out: int


class CaseFiles:
    """Opens case files, from any thread."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._keys = Keys(values=inbox.log_key, taxpayer=inbox.log_key)

    def open(self, process_id: str, instant: int | None = None) -> CaseFile:
        """The process now, or as of another instant; raises `InboxUnavailable`."""
        own = self._inbox.find(process_id=process_id)
        now, as_of = self._clock(own, instant)
        records = self._seller_records(own)
        with self._views([*own, *records], as_of) as connection:
            rows = _rows(connection, "processes_now", process_id)
            # Asking takes milliseconds even where there is nothing to find.
            has = {it.kind for it in own}
            attempts = _rows(connection, "attempts_now", process_id) if has & _SUBMITTED else []
            answers = _rows(connection, "answers_now", process_id) if COLLECTION in has else []
            actions = _rows(connection, "overrides_now", process_id) if has - _NO_ACTIONS else []
            types = dict(_asked(connection, "types_now")) if records else {}
        by_seq = {entry.seq: entry for entry in own}
        all_made = [Attempt._make(it[1:]) for it in attempts]
        starts = {it.start_seq for it in all_made if it.start_seq in by_seq}
        gone = self._gone(by_seq[seq] for seq in starts | {it[2] for it in answers})
        made = tuple(_as_it_may_go_on(it, gone) for it in all_made)
        process = _process(rows[0]) if rows else None
        return CaseFile(
            now=now,
            as_of=as_of,
            process_n=max((it.process_n or 0 for it in own), default=0),
            process=process,
            answers=_answers([it for it in answers if it[2] not in gone], by_seq),
            attempts=made,
            overridden=frozenset(it for _, it in actions),
            payloads={seq: by_seq[seq].body or b"" for seq in starts - gone},
            spent=_spent(own),
            seller_type=types.get(process.seller_id) if process is not None else None,
        )

    def _gone(self, entries: Iterable[Entry]) -> set[int]:
        """The entries of which the bytes are not those that were recorded: they were erased, or
        somebody who can write to the inbox changed them. Nothing is sent by what these say."""
        identity = self._inbox.identity
        return {it.seq for it in entries if it.is_erased or uncommitted(it, identity)}

    def _clock(self, own: Sequence[Entry], instant: int | None) -> tuple[int, int]:
        """(now, as_of). The clock is read after the entries, so that none of them is later."""
        if instant is not None:
            return instant, instant
        now = self._inbox.now()
        return now, deciding_instant(own, now)

    def _seller_records(self, own: Sequence[Entry]) -> list[Entry]:
        """The seller events of the sellers whom the process's webhooks name."""
        sellers = {it.seller_id for it in own if it.kind == WEBHOOK and it.seller_id is not None}
        found = [
            entry
            for seller_id in sorted(sellers)
            for entry in self._inbox.find(seller_id=seller_id, kind=WEBHOOK)
        ]
        return [it for it in found if it.process_id is None]

    def open_processes_of(self, seller_id: str) -> OpenProcesses:
        """The seller's processes that are not finished now, the oldest first."""
        entries = self._inbox.find(seller_id=seller_id)
        named = list(dict.fromkeys(it.process_id for it in entries if it.process_id))
        newest = named[-MAX_SELLER_PROCESSES:]
        own = [entry for process_id in newest for entry in self._inbox.find(process_id=process_id)]
        _, as_of = self._clock(own, None)
        with self._views(own, as_of) as connection:
            processes = [_process(it) for it in _asked(connection, "processes_now")]
        is_open = [
            process
            for process in processes
            if process.seller_id == seller_id
            and process.has_review_event
            and process.state != "FINISHED"
        ]
        return OpenProcesses(is_open, left_out=len(named) - len(newest))

    def process_of(self, seller_id: str, payload: bytes) -> str | None:
        """The seller's process for which these bytes were sent last; None if they never were."""
        starts = self._inbox.find(seller_id=seller_id, kind=SUBMISSION_STARTED)
        for start in reversed(starts):
            if start.received == payload and start.process_id and not self._was_refused(start):
                return start.process_id
        return None

    def _was_refused(self, start: Entry) -> bool:
        ends = self._inbox.find(attempt_id=start.attempt_id, kind=SUBMISSION_FINISHED)
        return any(it.status is None and it.particulars.get("error") == "refused" for it in ends)

    @contextmanager
    def _views(self, own: Sequence[Entry], as_of: int) -> Iterator[duckdb.DuckDBPyConnection]:
        with _excerpt() as excerpt, excerpt.of(self._closed(own), self._keys, as_of) as connection:
            yield connection

    def _closed(self, own: Sequence[Entry]) -> list[Entry]:
        """The entries, and all others with the same event or attempt id. The views need both, to
        say which of them counts."""
        found = {entry.seq: entry for entry in own}
        for event_id in {it.event_id for it in own if it.event_id}:
            found.update((it.seq, it) for it in self._inbox.find(event_id=event_id))
        for attempt_id in {it.attempt_id for it in own if it.attempt_id}:
            found.update((it.seq, it) for it in self._inbox.find(attempt_id=attempt_id))
        return [found[seq] for seq in sorted(found)]


def deciding_instant(own: Sequence[Entry], now: int) -> int:
    """The instant as of which a process with these entries is judged. Pure.

    The views count what occurred by their instant. An attempt of our own was recorded as it was
    made, so it has occurred, even if it is dated ahead. Any other entry that is dated further ahead
    than `ALLOWED_AHEAD` counts once its time has come: a wrong clock must not expire a review.
    """
    limit = now + instants.ALLOWED_AHEAD
    counted = [
        entry.occurred_at
        for entry in own
        if entry.occurred_at <= limit or (entry.kind in _SUBMITTED and entry.origin == LIVE)
    ]
    return max([now, *counted])


def _spent(own: Sequence[Entry]) -> Spent:
    """The newest lease under which an attempt was started, and whether that attempt has ended."""
    numbers = {
        entry.attempt_id: number
        for entry in own
        if entry.kind == SUBMISSION_STARTED
        and entry.origin == LIVE
        and isinstance(number := entry.particulars.get(LEASE), int)
    }
    if not numbers:
        return Spent()
    newest = max(numbers.values())
    ended = {it.attempt_id for it in own if it.kind == SUBMISSION_FINISHED and it.origin == LIVE}
    return Spent(newest, all(it in ended for it, number in numbers.items() if number == newest))


_IDLE: Final[queue.SimpleQueue[Excerpt]] = queue.SimpleQueue()


@contextmanager
def _excerpt() -> Iterator[Excerpt]:
    """An idle excerpt, or a new one where all are in use."""
    try:
        excerpt = _IDLE.get_nowait()
    except queue.Empty:
        excerpt = Excerpt(*_needed(), _QUESTIONS, _SHARED)
    try:
        yield excerpt
    except BaseException:
        excerpt.close()
        raise
    _IDLE.put(excerpt)


def warm_up() -> None:
    """Does what the first case file needs once, before anybody waits for it."""
    with _excerpt():
        pass


def _rows(
    connection: duckdb.DuckDBPyConnection, question: str, process_id: str
) -> list[tuple[Any, ...]]:
    """The rows of one process, whose id stands first in every row."""
    return [it for it in _asked(connection, question) if it[0] == process_id]


def _asked(connection: duckdb.DuckDBPyConnection, question: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"execute {question}").fetchall()


def _process(row: Sequence[Any]) -> Process:
    (
        process_id,
        seller_id,
        review_type,
        state,
        opened_at,
        requested_fields,
        deadline_at,
        confirmed_at,
    ) = row
    return Process(
        process_id=process_id,
        seller_id=seller_id,
        review_type=review_type,
        state=state,
        opened_at=opened_at,
        requested_fields=tuple(requested_fields or ()),
        deadline_at=deadline_at,
        confirmed_at=confirmed_at,
    )


def _answers(rows: Sequence[Sequence[Any]], by_seq: Mapping[int, Entry]) -> dict[str, Answer]:
    """Path -> the seller's answer. The facts hold digests, so values are read from the bodies."""
    fields: dict[int, dict[str, Any]] = {}
    final: dict[int, bool] = {}
    answers = {}
    for _, path, seq, answered_at, source in rows:
        if seq not in fields:
            content = parse_json(by_seq[seq].received or b"{}")
            fields[seq] = dict(flatten(content.get("fields") or {}))
            final[seq] = content.get("producer") != OWN_JOURNEY or content.get("is_whole") is True
        answers[path] = Answer(fields[seq][path], source, answered_at, seq, final[seq])
    return answers


def _as_it_may_go_on(attempt: Attempt, gone: Collection[int]) -> Attempt:
    """The attempt; not due for a retry where its payload is gone."""
    return attempt._replace(retry_due_at=None) if attempt.start_seq in gone else attempt


@cache
def _needed() -> tuple[list[tuple[str, str]], frozenset[str]]:
    """The views that are asked, those that they read, and the facts that these read."""
    known = catalogue()
    wanted: set[str] = set()
    waiting = list(_ASKED)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting.extend(known[name].reads if name in known else ())
    return (
        [(name, view.sql) for name, view in known.items() if name in wanted],
        frozenset(name for name in wanted if name.startswith("fact_")),
    )
