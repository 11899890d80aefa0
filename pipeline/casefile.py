"""Gathers what one process's submission is judged by, from the inbox alone: no ledger, no lag.

The process's own entries, and all others that share an event or attempt id with them (of which one
counts), go into memory, and the same files of `queries/` say what they mean: each rule has one
definition, whoever asks.
"""

import queue
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import duckdb

from pipeline import contract, views
from pipeline.facts import Keys
from pipeline.inbox import Inbox
from pipeline.leaves import leaves
from pipeline.ledger import Excerpt
from pipeline.occurrences import (
    COLLECTION,
    SUBMISSION_FINISHED,
    SUBMISSION_STARTED,
    WEBHOOK,
    Entry,
)
from pipeline.rules import Answer, Process
from pipeline.tries import Attempt

MAX_SELLER_PROCESSES: Final = 200
"""Of a seller, the newest, looked at to name the open ones."""

_ASKED: Final = ("process_state", "attempts", "latest_answers", "interventions")

_SUBMITTED: Final = frozenset({SUBMISSION_STARTED, SUBMISSION_FINISHED})
_NO_ACTS: Final = _SUBMITTED | {WEBHOOK, COLLECTION}

_PROCESSES: Final = """
    select process_id, seller_id, review_type, state, epoch_us(opened_at), requested_fields
    from process_state
    order by opened_at"""
_ATTEMPTS: Final = """
    select process_id, attempt_id, seller_id, via, outcome, epoch_us(ordered_at),
        epoch_us(outcome_at), epoch_us(timeout_at), is_retryable, epoch_us(retry_after_at),
        payload_sha256, start_seq
    from attempts
    order by ordered_at, attempt_id"""
_ANSWERS: Final = """
    select process_id, path, seq, epoch_us(answered_at), source
    from latest_answers"""
_INTERVENTIONS: Final = """
    select process_id, kind, epoch_us(occurred_at), attempt_id
    from interventions"""
_QUESTIONS: Final = {
    "processes_now": _PROCESSES,
    "attempts_now": _ATTEMPTS,
    "answers_now": _ANSWERS,
    "interventions_now": _INTERVENTIONS,
}
"""Prepared once; each asks for all that is in memory, which is little more than one process."""


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A process as of an instant. `process_n` entries were in its stream when it was read."""

    process_n: int
    process: Process | None  # None: nothing names it
    answers: Mapping[str, Answer]  # by leaf path
    attempts: tuple[Attempt, ...]
    replaced_at: tuple[int, ...]
    overridden: frozenset[str]
    """Attempts for which a person overrode a gate."""
    payloads: Mapping[int, bytes]
    """The payload by the seq of the attempt's start."""
    collected_at: int | None
    """The latest collection, even one of a clock that is ahead of ours."""

    @property
    def is_finished(self) -> bool:
        return self.process is not None and self.process.state == "FINISHED"


class OpenProcesses(NamedTuple):
    """Of a seller; `left_out`: how many more there are, open or not, that were not looked at."""

    processes: list[Process]
    left_out: int


class CaseFiles:
    """Opens case files, from any thread."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._keys = Keys(values=inbox.log_key, taxpayer=inbox.log_key)

    def open(self, process_id: str, now: int) -> CaseFile:
        """The process as of now; raises `InboxUnavailable`."""
        own = self._inbox.find(process_id=process_id)
        with self._views(own, now) as connection:
            rows = _rows(connection, "processes_now", process_id)
            # Asking takes milliseconds even where there is nothing to find.
            has = {it.kind for it in own}
            attempts = _rows(connection, "attempts_now", process_id) if has & _SUBMITTED else []
            answers = _rows(connection, "answers_now", process_id) if COLLECTION in has else []
            acts = _rows(connection, "interventions_now", process_id) if has - _NO_ACTS else []
        by_seq = {entry.seq: entry for entry in own}
        made = tuple(Attempt._make(it[1:]) for it in attempts)
        starts = [it.start_seq for it in made if it.start_seq is not None]
        collected = [it.occurred_at for it in own if it.kind == COLLECTION]
        return CaseFile(
            process_n=max((it.process_n or 0 for it in own), default=0),
            process=_process(rows[0]) if rows else None,
            answers=_answers(answers, by_seq),
            attempts=made,
            replaced_at=tuple(at for _, kind, at, _ in acts if kind == "replacement"),
            overridden=frozenset(it for _, kind, _, it in acts if kind == "override" and it),
            payloads={seq: by_seq[seq].body or b"" for seq in starts if seq in by_seq},
            collected_at=max(collected, default=None),
        )

    def open_processes_of(self, seller_id: str, now: int) -> OpenProcesses:
        """The seller's processes that are not finished, the oldest first."""
        entries = self._inbox.find(seller_id=seller_id)
        named = list(dict.fromkeys(it.process_id for it in entries if it.process_id))
        newest = named[-MAX_SELLER_PROCESSES:]
        own = [entry for process_id in newest for entry in self._inbox.find(process_id=process_id)]
        with self._views(own, now) as connection:
            processes = [_process(it) for it in _asked(connection, "processes_now")]
        is_open = [
            it
            for it in processes
            if it.seller_id == seller_id and it.has_review_event and it.state != "FINISHED"
        ]
        return OpenProcesses(is_open, left_out=len(named) - len(newest))

    @contextmanager
    def _views(self, own: Sequence[Entry], now: int) -> Iterator[duckdb.DuckDBPyConnection]:
        with _excerpt() as excerpt, excerpt.of(self._closed(own), self._keys, now) as connection:
            yield connection

    def _closed(self, own: Sequence[Entry]) -> list[Entry]:
        """With all that carries the same event or attempt id: of such entries, one counts."""
        found = {entry.seq: entry for entry in own}
        for event_id in {it.event_id for it in own if it.event_id}:
            found.update((it.seq, it) for it in self._inbox.find(event_id=event_id))
        for attempt_id in {it.attempt_id for it in own if it.attempt_id}:
            found.update((it.seq, it) for it in self._inbox.find(attempt_id=attempt_id))
        return [found[seq] for seq in sorted(found)]


_IDLE: Final[queue.SimpleQueue[Excerpt]] = queue.SimpleQueue()


@contextmanager
def _excerpt() -> Iterator[Excerpt]:
    """One that is idle, or another: as many as there are decisions at once in this process."""
    try:
        excerpt = _IDLE.get_nowait()
    except queue.Empty:
        excerpt = Excerpt(*_needed(), _QUESTIONS)
    try:
        yield excerpt
    except BaseException:
        excerpt.close()
        raise
    _IDLE.put(excerpt)


def warm_up() -> None:
    """Pays for the first case file before anybody waits for it."""
    with _excerpt():
        pass


def _rows(
    connection: duckdb.DuckDBPyConnection, question: str, process_id: str
) -> list[tuple[Any, ...]]:
    """Of one process: it stands first in every row."""
    return [it for it in _asked(connection, question) if it[0] == process_id]


def _asked(connection: duckdb.DuckDBPyConnection, question: str) -> list[tuple[Any, ...]]:
    return connection.execute(f"execute {question}").fetchall()


def _process(row: Sequence[Any]) -> Process:
    process_id, seller_id, review_type, state, opened_at, requested_fields = row
    return Process(
        process_id=process_id,
        seller_id=seller_id,
        review_type=review_type,
        state=state,
        opened_at=opened_at,
        requested_fields=tuple(requested_fields or ()),
    )


def _answers(rows: Sequence[Sequence[Any]], by_seq: Mapping[int, Entry]) -> dict[str, Answer]:
    """The facts hold digests; the values stand in the bodies."""
    fields: dict[int, dict[str, Any]] = {}
    answers = {}
    for _, path, seq, answered_at, source in rows:
        if seq not in fields:
            content = contract.parse_json(by_seq[seq].body or b"{}")
            fields[seq] = dict(leaves(content.get("fields") or {}))
        answers[path] = Answer(fields[seq][path], source, answered_at, seq)
    return answers


@cache
def _needed() -> tuple[list[tuple[str, str]], frozenset[str]]:
    """The views that are asked, those that they read, and the facts that these read."""
    catalogue = views.catalogue()
    wanted: set[str] = set()
    waiting = list(_ASKED)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting.extend(catalogue[name].reads if name in catalogue else ())
    return (
        [(name, view.sql) for name, view in catalogue.items() if name in wanted],
        frozenset(name for name in wanted if name.startswith("facts.")),
    )
