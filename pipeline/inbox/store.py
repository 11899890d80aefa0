"""The inbox's promises, the same on every engine: order, gapless `seq`, streams, counting once.

An engine brings a transaction that excludes every other writer; what is decided inside it, and
the leaf that follows from it, is decided here, once.
"""

import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

from pipeline import instants
from pipeline.occurrences import (
    SUBMISSION_FINISHED,
    SUBMISSION_STARTED,
    WEBHOOK,
    Draft,
    Entry,
    Place,
    record_entry,
)

COLUMNS = Entry._fields

MAX_BYTES_A_READ = 64 * 2**20
LOG_KEY_BYTES = 32

COUNTED_ONCE = frozenset({WEBHOOK, SUBMISSION_STARTED, SUBMISSION_FINISHED})
"""Kinds that may come again under the same id and then count once (rules.md section 1)."""


class Outcome(StrEnum):
    """What became of a draft."""

    RECORDED = "recorded"
    DUPLICATE = "duplicate"  # its ingest key is in the log already; nothing was added
    CONFLICT = "conflict"  # the process has other entries than the draft was decided from


class Receipt(NamedTuple):
    outcome: Outcome
    entry: Entry | None


class Head(NamedTuple):
    """The log's size and root as its keeper last saw them, kept outside the ledger."""

    size: int
    root: bytes


class Identity(NamedTuple):
    """What makes a log this log, and no other: its name, and the key of the HMACs in its leaves."""

    log: str
    log_key: bytes


class SignedHead(NamedTuple):
    """A checkpoint as it was handed out: the log's size and the signed note over it."""

    size: int
    note: str


class Tail(NamedTuple):
    """The last entry of a stream: its number there and its seq."""

    n: int
    seq: int


NO_TAIL = Tail(0, 0)


class Asked(NamedTuple):
    """The identifiers that a batch of drafts carries, each once."""

    processes: list[str]
    sellers: list[str]
    events: list[str]
    attempts: list[str]
    ingest_keys: list[bytes]


class Known(NamedTuple):
    """What the log holds of the asked identifiers, and where it ends."""

    seq: int  # of the newest entry; 0 in an empty log
    recorded_at: int
    processes: dict[str, Tail]
    sellers: dict[str, Tail]
    events: set[str]
    attempts: set[tuple[str, str]]  # (kind, attempt id)
    ingest_keys: set[bytes]


class Transaction(Protocol):
    """One engine's view of the log while no one else can write to it."""

    def look_up(self, asked: Asked) -> Known: ...

    def insert(self, entries: Sequence[Entry]) -> None: ...


T = TypeVar("T")


def _distinct(values: Iterable[T | None]) -> list[T]:
    return list(dict.fromkeys(it for it in values if it is not None))


class Inbox(ABC):
    """An open inbox. Every method is safe from several threads and processes at once."""

    log: str
    """Names this log, in every leaf and checkpoint: an entry fits no other log."""
    log_key: bytes
    """Keys the HMACs of identifiers that would be personal in a leaf."""

    clock: Callable[[], int] = staticmethod(instants.now)
    random: Callable[[int], bytes] = staticmethod(os.urandom)

    # --- writing ---

    def append(self, drafts: Sequence[Draft]) -> list[Receipt]:
        """Records drafts in one durable commit; their receipts, in the same order.

        Once this returns, every entry is on disk. Raises `InboxUnavailable`, and then the
        outcome is unknown: after an error at commit the entries may be there or not, so a sender
        has to send again (deliveries and lines of a file count once, however often they come).
        """
        with self._writing() as transaction:
            receipts = list(self._place(transaction, drafts))
            transaction.insert([it.entry for it in receipts if it.entry is not None])
        return receipts

    def _place(self, transaction: Transaction, drafts: Sequence[Draft]) -> Iterator[Receipt]:
        seq, last_recorded_at, processes, sellers, events, attempts, keys = transaction.look_up(
            Asked(
                processes=_distinct(it.process_id for it in drafts),
                sellers=_distinct(it.seller_id for it in drafts),
                events=_distinct(it.event_id for it in drafts),
                attempts=_distinct(it.attempt_id for it in drafts),
                ingest_keys=_distinct(it.ingest_key for it in drafts),
            )
        )
        seen = {(WEBHOOK, it) for it in events} | attempts
        recorded_at = max(self.clock(), last_recorded_at)  # a clock may go back, the log never

        for draft in drafts:
            process = processes.get(draft.process_id or "", NO_TAIL)
            seller = sellers.get(draft.seller_id or "", NO_TAIL)
            if draft.ingest_key in keys:
                yield Receipt(Outcome.DUPLICATE, None)
                continue
            if draft.expected_process_n not in (None, process.n):
                yield Receipt(Outcome.CONFLICT, None)
                continue
            seq += 1
            name = (draft.kind, draft.event_id or draft.attempt_id or "")
            place = Place(
                seq=seq,
                recorded_at=recorded_at,
                process_n=process.n + 1 if draft.process_id else None,
                process_prev=process.seq or None,
                seller_n=seller.n + 1 if draft.seller_id else None,
                seller_prev=seller.seq or None,
                is_again=draft.kind in COUNTED_ONCE and name in seen,
            )
            seen.add(name)
            if draft.process_id:
                processes[draft.process_id] = Tail(process.n + 1, seq)
            if draft.seller_id:
                sellers[draft.seller_id] = Tail(seller.n + 1, seq)
            if draft.ingest_key:
                keys.add(draft.ingest_key)
            yield Receipt(
                Outcome.RECORDED,
                record_entry(draft, place, log=self.log, log_key=self.log_key, random=self.random),
            )

    @property
    def identity(self) -> Identity:
        return Identity(self.log, self.log_key)

    def copy(self, entries: Sequence[Entry]) -> None:
        """Adds entries as another inbox of this log recorded them; for backups alone. ValueError
        unless they follow the last one here."""
        after, _ = self.last()
        if [it.seq for it in entries] != list(range(after + 1, after + 1 + len(entries))):
            raise ValueError(f"the entries do not follow entry {after}")
        with self._writing() as transaction:
            transaction.insert(entries)

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that excludes other writers; durable when the block ends."""

    @abstractmethod
    def probe(self) -> None:
        """Writes and syncs a mark beside the log; `InboxUnavailable` where that cannot be done."""

    @abstractmethod
    def put_head(self, head: Head) -> None:
        """Keeps the ledger's size and root; one that is not larger than the kept one is ignored."""

    @abstractmethod
    def put_checkpoint(self, signed: SignedHead) -> None:
        """Keeps a signed checkpoint; one of a size that is kept already is ignored."""

    # --- reading ---

    @abstractmethod
    def last(self) -> tuple[int, int]:
        """(seq, recorded_at) of the newest entry; (0, 0) for an empty log."""

    @abstractmethod
    def read(self, after: int, limit: int, *, max_bytes: int = MAX_BYTES_A_READ) -> list[Entry]:
        """Entries with a seq greater than `after`, in order: at most `limit`, and none after the
        one whose body makes it `max_bytes` in all."""

    def find(
        self,
        *,
        process_id: str | None = None,
        seller_id: str | None = None,
        attempt_id: str | None = None,
        event_id: str | None = None,
        kind: str | None = None,
    ) -> list[Entry]:
        """Entries that match all that is given, in order of seq; ValueError where nothing is."""
        asked = {
            "process_id": process_id,
            "seller_id": seller_id,
            "attempt_id": attempt_id,
            "event_id": event_id,
            "kind": kind,
        }
        given = {column: it for column, it in asked.items() if it is not None}
        if not given:
            raise ValueError("find needs a condition: the whole log is what `read` is for")
        return self._find(given)

    @abstractmethod
    def _find(self, given: Mapping[str, str]) -> list[Entry]:
        """Entries whose columns equal all of the given values, in order of seq."""

    @abstractmethod
    def head(self) -> Head | None:
        """The newest head that a ledger's keeper left, if any."""

    @abstractmethod
    def checkpoint(self) -> SignedHead | None:
        """The newest checkpoint that the keeper signed, if any; needs no ledger."""

    @abstractmethod
    def checkpoints(self) -> list[SignedHead]:
        """Every checkpoint that was signed, smallest first."""

    @abstractmethod
    def close(self) -> None: ...


def new_identity() -> Identity:
    """Of a new log: a name unlikely to be any other's, which is also a checkpoint's origin line."""
    return Identity(f"prazo/{secrets.token_hex(8)}", os.urandom(LOG_KEY_BYTES))
