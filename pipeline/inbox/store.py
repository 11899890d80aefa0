"""Defines what an inbox promises on every engine: order, gapless `seq`, streams, counting once.

An engine supplies a transaction that excludes every other writer. The decisions inside it, and the
leaf that follows from them, are made here, the same for all engines.
"""

import json
import logging
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeVar

from pipeline import instants, traces
from pipeline.errors import InboxForked, InboxUnavailable
from pipeline.inbox import schema
from pipeline.inbox.clock import Clock
from pipeline.inbox.schema.rows import Rows
from pipeline.log import tree
from pipeline.log.actors import Actor, in_bytes
from pipeline.log.entries import Draft, Entry, Identity, Place, Salts, record_entry
from pipeline.log.kinds.reconciliation import RECONCILIATION
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.texts import typed

LOG = logging.getLogger(__name__)

MAX_BYTES_PER_READ = 64 * 2**20

COUNTED_ONCE = frozenset({WEBHOOK, SUBMISSION_STARTED, SUBMISSION_FINISHED})
"""Kinds that may come again under the same id and then count once (docs/rules.md#counting-once)."""


class Outcome(StrEnum):
    """What became of a draft."""

    RECORDED = "recorded"
    DUPLICATE = "duplicate"  # its ingest key is in the log already; nothing was added
    CONFLICT = "conflict"  # the log or its claim is not what the draft was decided from


class Receipt(NamedTuple):
    """The outcome of a draft, and its entry if it was recorded."""

    outcome: Outcome
    entry: Entry | None


class Head(NamedTuple):
    """The log's size and root as its keeper last saw them, stored outside the ledger."""

    size: int
    root: bytes


class SignedHead(NamedTuple):
    """A checkpoint as it was handed out: the log's size and the signed note over it."""

    size: int
    note: str


class Tail(NamedTuple):
    """The last entry of a stream: its number there and its seq."""

    n: int
    seq: int


NO_TAIL = Tail(0, 0)


class Written(NamedTuple):
    """What this process remembers of the newest entry that it wrote."""

    seq: int
    recorded_at: int
    leaf: bytes


class Asked(NamedTuple):
    """The identifiers that a batch of drafts carries, each once."""

    processes: list[str]
    sellers: list[str]
    events: list[str]
    attempts: list[str]
    ingest_keys: list[bytes]
    seq: int  # of an entry whose leaf is wanted; 0 for none


class Known(NamedTuple):
    """What the log holds about the identifiers asked for, and where the log ends."""

    tables: schema.Tables
    seq: int  # of the newest entry; 0 in an empty log
    recorded_at: int
    processes: dict[str, Tail]
    sellers: dict[str, Tail]
    events: set[str]
    attempts: set[tuple[str, str]]  # (kind, attempt id)
    ingest_keys: set[bytes]
    leaf: bytes | None  # of the entry asked for, if it is there
    now: int | None = None  # by the clock of the database, if there is one


class Statement(NamedTuple):
    """One statement on the tables beside the log; values stand in it as `$1`, `$2` ..."""

    sql: str
    values: tuple[object, ...]


class Transaction(Protocol):
    """One engine's view of the log while nobody else can write to it."""

    def look_up(self, asked: Asked) -> Known:
        """What the log holds about these identifiers."""

    def insert(self, entries: Sequence[Entry]) -> None:
        """Adds entries at the end of the log, and to the map the people whom it lacks."""

    def execute(self, statement: Statement) -> int:
        """Runs a statement in the same commit; how many rows it changed."""

    def actors_named(self, name: bytes) -> list[Actor]:
        """The rows of the map of people that have a name, whether they are proved or not."""


_RECONCILIATIONS = f"""
    select seq, body from entries
    where kind = '{RECONCILIATION}' and (seq > $1 or recorded_at > $2) order by seq"""
_LAST_BEFORE = """
    select seq from entries where seq < $1 and recorded_at <= $2 order by seq desc limit 1"""
_NEWEST_OF_CLOCKS = """
    select record, recorded_at from entries where kind = 'clock' order by seq desc limit 1"""

T = TypeVar("T")


def people_of(entries: Iterable[Entry]) -> set[Actor]:
    """Who answers for these entries, as far as their names are proved."""
    named = {it.actor for it in entries if it.pseudonym is not None}
    return {it for it in named if it is not None and it.is_proved}


def _distinct(values: Iterable[T | None]) -> list[T]:
    return list(dict.fromkeys(it for it in values if it is not None))


class Inbox(ABC):
    """An open inbox. Every method is safe from several threads and processes at once."""

    log: str
    """The log's name. It stands in every leaf and checkpoint, so an entry fits no other log."""
    log_key: bytes
    """The key of the HMACs that replace identifiers that could be personal in a leaf."""

    rows: Rows
    """How entries stand in its table."""
    version: int
    """The version by which its tables are used: they may have more by now. An inbox of an older
    version can be read and copied, and not appended to."""
    clock: Callable[[], int]
    """The clock by which entries are recorded and deliveries received, in microseconds."""
    random: Callable[[int], bytes] = staticmethod(os.urandom)

    _guard: "Callable[[Inbox], None] | None" = None
    _is_proved = False
    written: Written | None = None
    """The newest entry that this process wrote. An inbox without it is an older copy."""

    def __init__(self) -> None:
        self.machine = Clock()
        """This machine's clock, held against others."""
        self.clock = self.machine.now

    # --- writing ---

    def append(self, drafts: Sequence[Draft], *, claim: Statement | None = None) -> list[Receipt]:
        """Records drafts in one durable commit; returns their receipts in the same order.

        `claim`: a statement in the same commit. Where it changes no row, nothing is recorded, and
        every draft is a conflict.

        Once this returns, every entry is on disk. If it raises `InboxUnavailable`, the outcome is
        unknown: after an error at commit the entries may be there or not, so the sender must send
        again. Deliveries and lines of a file count once, however often they are sent.
        """
        receipts = self._commit(drafts, claim, ())
        return [Receipt(Outcome.CONFLICT, None) for _ in drafts] if receipts is None else receipts

    def change(
        self, claim: Statement, besides: Sequence[Statement] = (), drafts: Sequence[Draft] = ()
    ) -> bool:
        """Runs `claim` on the tables beside the log and, if it changes a row, the statements
        `besides`, and records the drafts, all in one durable commit. False where the claim changed
        no row: then nothing was done. Raises as `append` does."""
        return self._commit(drafts, claim, besides) is not None

    def _commit(
        self, drafts: Sequence[Draft], claim: Statement | None, besides: Sequence[Statement]
    ) -> list[Receipt] | None:
        began = time.monotonic()
        with self._writing() as transaction:
            if claim is not None and not transaction.execute(claim):
                return None
            for statement in besides:
                transaction.execute(statement)
            receipts = list(self._place(transaction, drafts))
            entries = [it.entry for it in receipts if it.entry is not None]
            transaction.insert(entries)
        if entries:
            newest = entries[-1]
            self.written = Written(newest.seq, newest.recorded_at, newest.leaf)
            traces.committed(self.log, entries, began)
        return receipts

    def guard(self, guard: "Callable[[Inbox], None]") -> None:
        """Has `guard` prove the inbox before the next write, and before the first write over each
        new connection, which may lead to another server or file. It raises `InboxForked` where
        nothing may be written."""
        self._guard, self._is_proved = guard, False

    def doubt(self) -> None:
        """Has the inbox proved again before the next write."""
        self._is_proved = False

    def prove(self) -> None:
        """Raises `InboxForked` where the guard refuses the inbox, or where the newest entry that
        this process wrote is no longer in it."""
        self._is_proved = False
        if self._guard is not None:
            self._guard(self)
        written = self.written
        if written is not None and self.leaf(written.seq) != written.leaf:
            if not self._was_reconciled(written):
                raise self._shrunk(written)
            self.written = None
        self._is_proved = True

    def _shrunk(self, written: Written) -> InboxForked:
        """The error for an inbox that lacks an entry from here. Which others it lacks follows from
        times, since other entries have taken their numbers."""
        self._is_proved = False
        before = self.query(_LAST_BEFORE, written.seq, written.recorded_at)
        missing = f"{before[0][0] + 1 if before else 1}-{written.seq}"
        return InboxForked(
            "Nothing is recorded in this inbox",
            f"entry {written.seq}, which was recorded from here (leaf"
            f" {tree.leaf_hash(written.leaf).hex()}), is no longer in it, nor is any of {missing}:"
            " an older copy was put back, or a standby took over that had not received them",
            "if another inbox than the usual one is in its place, put that one back; if its entries"
            f" are lost, run {typed('prazo', 'reconcile', '--lost', missing)}"
            " (docs/operations.md#an-inbox-that-was-put-back)",
        )

    def _was_reconciled(self, lost: Written) -> bool:
        """Whether a later entry of the log says that the past of the lost one was given up. Lost
        entries that not even that entry knew of are named in the text log, and nowhere else."""
        later = self.query(_RECONCILIATIONS, lost.seq, lost.recorded_at)
        ended = [
            (seq, said) for seq, body in later if (said := json.loads(body))["fork"] < lost.seq
        ]
        if not ended:
            return False
        seq, said = ended[-1]
        reached = said.get("reached", said["abandoned_size"])
        if reached < lost.seq:
            LOG.critical(
                "entries %d to %d of the past that entry %d has ended were recorded from here and"
                " are lost; no entry says so",
                reached + 1,
                lost.seq,
                seq,
            )
        return True

    def _place(self, transaction: Transaction, drafts: Sequence[Draft]) -> Iterator[Receipt]:
        asked_at, written = instants.since_boot(), self.written
        known = transaction.look_up(
            Asked(
                processes=_distinct(it.process_id for it in drafts),
                sellers=_distinct(it.seller_id for it in drafts),
                events=_distinct(it.event_id for it in drafts),
                attempts=_distinct(it.attempt_id for it in drafts),
                ingest_keys=_distinct(it.ingest_key for it in drafts),
                seq=0 if written is None else written.seq,
            )
        )
        # It may have been migrated since it was opened.
        schema.check(f"of {self.log}", known.tables)
        if written is not None and known.leaf != written.leaf:
            raise self._shrunk(written)
        if known.now is not None:
            self.machine.hear_database(asked_at, known.now)
        marks = self.machine.marks
        seq, processes, sellers, keys = known.seq, known.processes, known.sellers, known.ingest_keys
        seen = {(WEBHOOK, it) for it in known.events} | known.attempts
        now = self.clock()
        recorded_at = max(now, known.recorded_at)  # a clock may go back; the log never does
        salts = Salts(self.random, len(drafts))
        people: dict[str, Actor] = {}

        for draft in drafts:
            process = processes.get(draft.process_id or "", NO_TAIL)
            seller = sellers.get(draft.seller_id or "", NO_TAIL)
            if draft.ingest_key in keys:
                yield Receipt(Outcome.DUPLICATE, None)
                continue
            has_moved_on = draft.expected_process_n not in (
                None,
                process.n,
            ) or draft.expected_seller_n not in (None, seller.n)
            if has_moved_on:
                yield Receipt(Outcome.CONFLICT, None)
                continue
            if draft.occurred_at is None:
                draft = draft._replace(occurred_at=now)
            if isinstance(draft.actor, str):
                name = draft.actor
                people[name] = people.get(name) or self._person(transaction, name)
                draft = draft.by(people[name])
            if marks:
                draft = draft._replace(particulars={**marks, **draft.particulars})
            seq += 1
            counted = (draft.kind, draft.event_id or draft.attempt_id or "")
            place = Place(  # by name it would take twice as long
                seq,
                recorded_at,
                process.n + 1 if draft.process_id else None,
                process.seq or None,
                seller.n + 1 if draft.seller_id else None,
                seller.seq or None,
                draft.kind in COUNTED_ONCE and counted in seen,
            )
            seen.add(counted)
            if draft.process_id:
                processes[draft.process_id] = Tail(process.n + 1, seq)
            if draft.seller_id:
                sellers[draft.seller_id] = Tail(seller.n + 1, seq)
            if draft.ingest_key:
                keys.add(draft.ingest_key)
            yield Receipt(
                Outcome.RECORDED,
                record_entry(draft, place, log=self.log, log_key=self.log_key, random=salts),
            )

    @property
    def identity(self) -> Identity:
        """What tells this log from every other."""
        return Identity(self.log, self.log_key)

    def copy(self, entries: Sequence[Entry]) -> None:
        """Adds entries that another inbox of this log recorded; for backups only.

        Raises ValueError unless they follow the last entry here.
        """
        after, _ = self.last()
        if [it.seq for it in entries] != list(range(after + 1, after + 1 + len(entries))):
            raise ValueError(f"the entries do not follow entry {after}")
        with self._writing() as transaction:
            transaction.insert(entries)

    def _person(self, transaction: Transaction, name: str) -> Actor:
        """The person of a name, with a new pseudonym if the map has none that is proved: what
        somebody wrote there by hand must not give the entry another name."""
        found = transaction.actors_named(in_bytes(name))
        known = next((it for it in found if it.is_named(name)), None)
        return known or Actor.new(name, self.random)

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that excludes other writers; durable when the block ends."""

    @abstractmethod
    def probe(self) -> None:
        """Writes a mark beside the log just as an entry is written: by the same lock and sync, and
        on disk that was free before. Raises `InboxUnavailable` if it cannot."""

    @abstractmethod
    def put_head(self, head: Head) -> None:
        """Stores the ledger's size and root, unless the stored head is at least as large."""

    @abstractmethod
    def put_checkpoint(self, signed: SignedHead) -> None:
        """Stores a signed checkpoint, unless there is one of the same size."""

    @abstractmethod
    def execute(self, sql: str, *values: object) -> int:
        """Runs one statement on the tables beside the log; how many rows it changed.

        It is durable when this returns. Values stand as `$1`, `$2` ... in the statement, which both
        engines understand. `append` alone writes entries.
        """

    # --- clocks ---

    def take_over_clock(self) -> None:
        """Goes on from the time that the log knows, where this machine's clock contradicts it."""
        _, recorded_at = self.last()
        record, at = next(iter(self.query(_NEWEST_OF_CLOCKS)), ("{}", None))
        last = json.loads(record)
        if at == recorded_at:  # the log's time has not moved since a clock that was ahead moved it
            recorded_at = last["believed_us"]
        self.machine.hear_log(recorded_at, last)

    def compare_clocks(self) -> None:
        """Holds this machine's clock against what others say of it by now: the database, where
        there is one, as appending does; else the log. Raises `InboxUnavailable`."""
        if newest := self.query(_NEWEST_OF_CLOCKS):
            self.machine.hear_news(json.loads(newest[0][0]))

    # --- reading ---

    @abstractmethod
    def now(self) -> int:
        """The one clock of everybody who shares the inbox, in microseconds: the database server's
        where there is one that has not jumped, else this machine's as it is believed."""

    def now_or_believed(self) -> int:
        """The same; where it cannot be asked for, the time that this machine believes."""
        try:
            return self.now()
        except InboxUnavailable:
            return self.clock()

    @abstractmethod
    def stands(self) -> str:
        """Where it stands, in words that are of no copy of it (pipeline/inbox/copies.py)."""

    @abstractmethod
    def steady(self) -> int:
        """The one clock by which leases run, in microseconds: the database server's where there is
        one, else this machine's since it was started, which nobody sets. For spans alone."""

    @abstractmethod
    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of one statement that only reads; values as in `execute`."""

    @abstractmethod
    def tables(self) -> schema.Tables:
        """What it says of its tables now."""

    @abstractmethod
    def last(self) -> tuple[int, int]:
        """(seq, recorded_at) of the newest entry; (0, 0) for an empty log."""

    def leaf(self, seq: int) -> bytes | None:
        """The leaf of an entry; None where there is no such entry."""
        leaf = f"select leaf, {self.rows.is_compressed} from entries where seq = $1"
        return self.rows.leaf(next(iter(self.query(leaf, seq)), None))

    def last_before(self, instant: int) -> int:
        """The seq of the last entry recorded before an instant; 0 where there is none."""
        low, (high, _) = 0, self.last()
        while low < high:
            middle = (low + high + 1) // 2
            [entry] = self.read(middle - 1, 1)
            if entry.recorded_at < instant:
                low = middle
            else:
                high = middle - 1
        return low

    def dated_after(self, instant: int) -> tuple[int, int] | None:
        """The first and the last entry whose `recorded_at` is from an instant on; None for none. A
        clock that was ahead dated them."""
        last, recorded_at = self.last()
        return (self.last_before(instant) + 1, last) if recorded_at >= instant else None

    @abstractmethod
    def read(self, after: int, limit: int, *, max_bytes: int = MAX_BYTES_PER_READ) -> list[Entry]:
        """Entries with a seq greater than `after`, in order.

        At most `limit` entries; the last is the one whose body brings the total to `max_bytes`, as
        bodies stand in the table: a compressed one may be 4 KiB once it is read.
        """

    def entry(self, seq: int) -> Entry | None:
        """The entry of a seq; None where there is no such entry."""
        return next((it for it in self.read(seq - 1, 1) if it.seq == seq), None)

    def find(
        self,
        *,
        process_id: str | None = None,
        seller_id: str | None = None,
        attempt_id: str | None = None,
        event_id: str | None = None,
        kind: str | None = None,
    ) -> list[Entry]:
        """Entries that match every given value, in order of seq; ValueError if none is given."""
        asked = {
            "process_id": process_id,
            "seller_id": seller_id,
            "attempt_id": attempt_id,
            "event_id": event_id,
            "kind": kind,
        }
        given = {column: it for column, it in asked.items() if it is not None}
        if not given:
            raise ValueError("find needs a condition; use `read` for the whole log")
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
    def close(self) -> None:
        """Closes every connection. Later calls raise `InboxUnavailable`."""
