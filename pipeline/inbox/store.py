"""The inbox's promises, the same on every engine: order, gapless `seq`, streams, counting once.

An engine brings a transaction that excludes every other writer; what is decided inside it, and
the leaf that follows from it, is decided here, once.
"""

import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
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


class Tail(NamedTuple):
    """The last entry of a stream: its number there and its seq."""

    n: int
    seq: int


NO_TAIL = Tail(0, 0)


class Transaction(Protocol):
    """One engine's view of the log while no one else can write to it."""

    def last(self) -> tuple[int, int]:
        """(seq, recorded_at) of the newest entry; (0, 0) for an empty log."""

    def process_tails(self, ids: Collection[str]) -> dict[str, Tail]: ...

    def seller_tails(self, ids: Collection[str]) -> dict[str, Tail]: ...

    def seen_events(self, ids: Collection[str]) -> set[str]: ...

    def seen_attempts(self, ids: Collection[str]) -> set[tuple[str, str]]:
        """(kind, attempt id) of the submission entries that carry one of these attempt ids."""

    def seen_ingest_keys(self, keys: Collection[bytes]) -> set[bytes]: ...

    def insert(self, entries: Sequence[Entry]) -> None: ...


T = TypeVar("T")


def _given(values: Iterable[T | None]) -> set[T]:
    return {it for it in values if it is not None}


class Inbox(ABC):
    """An open inbox. `append` is safe from several threads and processes at once."""

    log: str
    """Names this log, in every leaf and checkpoint: an entry fits no other log."""
    log_key: bytes
    """Keys the HMACs of identifiers that would be personal in a leaf."""

    clock: Callable[[], int] = staticmethod(instants.now)

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

    def _place(self, transaction: Transaction, drafts: Sequence[Draft]) -> Iterable[Receipt]:
        seq, last_recorded_at = transaction.last()
        recorded_at = max(self.clock(), last_recorded_at)  # a clock may go back, the log never
        processes = transaction.process_tails(_given(it.process_id for it in drafts))
        sellers = transaction.seller_tails(_given(it.seller_id for it in drafts))
        events = transaction.seen_events(_given(it.event_id for it in drafts))
        attempts = transaction.seen_attempts(_given(it.attempt_id for it in drafts))
        seen = {(WEBHOOK, it) for it in events} | attempts
        keys = transaction.seen_ingest_keys(_given(it.ingest_key for it in drafts))

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
                is_again=name in seen,
            )
            if draft.process_id:
                processes[draft.process_id] = Tail(process.n + 1, seq)
            if draft.seller_id:
                sellers[draft.seller_id] = Tail(seller.n + 1, seq)
            if draft.kind in COUNTED_ONCE:
                seen.add(name)
            if draft.ingest_key:
                keys.add(draft.ingest_key)
            yield Receipt(
                Outcome.RECORDED,
                record_entry(draft, place, log=self.log, log_key=self.log_key, random=os.urandom),
            )

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that excludes other writers; durable when the block ends."""

    def probe(self) -> None:
        """Raises `InboxUnavailable` where no entry could be recorded at present."""
        self.append([])

    @abstractmethod
    def put_head(self, head: Head) -> None:
        """Keeps the ledger's size and root; a smaller size than the kept one is refused."""

    @abstractmethod
    def probe(self) -> None:
        """A durable write beside the log; raises `InboxUnavailable` where none is possible."""

    # --- reading ---

    @abstractmethod
    def last(self) -> tuple[int, int]:
        """(seq, recorded_at) of the newest entry; (0, 0) for an empty log."""

    @abstractmethod
    def read(self, after: int, limit: int, *, max_bytes: int = MAX_BYTES_A_READ) -> list[Entry]:
        """Entries with a seq greater than `after`, in order: at most `limit`, and no more once
        their bodies reach `max_bytes`."""

    @abstractmethod
    def find(
        self,
        *,
        process_id: str | None = None,
        seller_id: str | None = None,
        attempt_id: str | None = None,
        event_id: str | None = None,
        kind: str | None = None,
    ) -> list[Entry]:
        """Entries that match all that is given, in order of seq."""

    @abstractmethod
    def head(self) -> Head | None:
        """The newest head that a ledger's keeper left, if any."""

    @abstractmethod
    def close(self) -> None: ...


def new_log_name() -> str:
    """A name for a new log, unlikely to be any other's; also a checkpoint's origin line."""
    return f"prazo/{secrets.token_hex(8)}"
