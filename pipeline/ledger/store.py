"""The ledger's one DuckDB file: the only writer of the log.

`append` writes a batch of entries, the facts read out of them and the tree over them in one
transaction, so the file always holds a prefix of the log and never half a batch.
"""

import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import duckdb

from pipeline.errors import LedgerClosed, LedgerDamaged, LedgerMadeAgain, OperatorError
from pipeline.ledger import arrow, facts, file, refresh
from pipeline.ledger.batch import Batch, LastEntry
from pipeline.ledger.contents import NO_ROW_OF_THEM, Contents
from pipeline.ledger.earlier_instants import EarlierInstants
from pipeline.ledger.last_named import LastNamed
from pipeline.ledger.last_occurred import LastOccurred
from pipeline.ledger.prepared import Connections, Few, Prepared, Settings
from pipeline.ledger.refresh import ANY_TABLE, Watermark
from pipeline.log import tree
from pipeline.log.entries import Entry
from pipeline.log.kinds.erasure import ERASURE
from pipeline.memory import bytes_of

MOST_UNSETTLED: Final = 256
"""Entries that may wait for their materialized rows until somebody asks, who then waits for them: a
refresh takes a tenth of a second for one and not much longer for so many."""

WATCHED_SECONDS: Final = 5.0
"""For so long after somebody's reading, materialized rows are made with each batch, so that the
next reader need not wait for them."""

SETTLE_AGAIN_SECONDS: Final = 30.0
"""After a failure, readers do without materialized rows for so long: to fail takes seconds, too,
and the file is then opened again under everybody who reads."""

CLOSING_SECONDS: Final = 10.0
"""For whoever writes while the ledger is to be closed."""


class Ledger(Contents):
    """An open ledger. One thread at a time writes: the follower, which appends, or a reader who
    needs materialized rows (`settle`). Any number of threads read through cursors."""

    def __init__(
        self,
        path: Path | None,
        *,
        log: str,
        keys: facts.Keys,
        memory: str = "2GB",
        threads: int = 2,
        without_bodies: bool = False,
        erased_to: int = 0,
    ) -> None:
        """Opens or makes the file at `path`; None holds the ledger in memory. `erased_to`: the
        newest erasure of the inbox. Raises as `file.connected` does."""
        self.path = path
        self.log = log
        self.keys = keys
        """Under which values are compared."""
        self._identity = file.Identity(log, without_bodies, keys.taxpayer_mark, erased_to)
        self._memory, self._threads = memory, threads
        self.watermark: Watermark | None
        """Of the last commit; None while one is under way, or while entries have no materialized
        rows of any kind."""
        self.memory_bytes = bytes_of(memory)
        """That DuckDB may take."""
        # Held by whoever writes, until that shows, or opens the file again.
        self._lock = threading.RLock()
        self._opening = threading.RLock()  # held while the file is closed, to be opened again
        self.times_reopened = 0
        self._cannot_settle_until = -math.inf  # on the monotonic clock; the last try failed
        self.unsettled_since: float | None = None
        """On the monotonic clock, since when materialized rows have waited for `settle`."""
        self.asked_at = -math.inf
        """On the monotonic clock, when a reader last needed materialized rows, or had them made."""
        self._shut: OperatorError | None = None  # why the file is not open
        self._damage: str | None = None  # what of the file cannot be read, though it is open
        self._is_closed = False  # for good
        self._open()

    # --- opening ---

    def _open(self) -> None:
        opened = file.connected(
            self.path, self._identity, memory=self._memory, threads=self._threads
        )
        with file.closed_on_error(opened, self.path):
            self._connection = opened
            self._rows(NO_ROW_OF_THEM)  # else a ledger that lacks one would fail at its next batch
            self._load_position()
            self._hold_erased(self.newest("kind = ?", [ERASURE]) or 0)

    def _load_position(self) -> None:
        heads = self._rows("select size, peaks from tree_heads order by size desc limit 1")
        self.frontier = tree.Frontier(*heads[0]) if heads else tree.Frontier()
        last = "(select max(seq) from log)"  # known of each row group: no row is looked through
        newest = self._rows(f"select seq, leaf from log where seq = {last}")
        self.last_entry = LastEntry(*newest[0]) if newest else LastEntry(0, b"")
        self._peaks_before: list[bytes] | None = None  # those that the newest leaf was appended to
        if self.last_entry.seq != self.size:
            why = f"its log ends at {self.last_entry.seq}, its tree at {self.size}"
            raise self._damaged("contradicts itself", why)
        self.last_named, self.last_occurred = LastNamed(self.size), LastOccurred(self.size)
        self.earlier = EarlierInstants(self._connection)
        self._prepared = Connections(self._connection)
        self.erased_to = file.erased_to(self._connection)  # the newest when the file was begun
        watermarks = self._rows("select entries from kept_watermark")
        if len(watermarks) != 1:
            why = f"how far its materialized rows are is said {len(watermarks)} times"
            raise self._damaged("contradicts itself", why)
        [(self._settled,)] = watermarks
        waits = self._settled < self.size
        self._new = set(ANY_TABLE if waits else ())  # tables with rows of entries that wait
        self.unsettled_since = time.monotonic() if waits else None
        self._mark()

    def _mark(self) -> None:
        mark = Watermark.of(self._connection.cursor())
        self.covered, self._is_behind = mark.entries, mark.is_behind
        self.watermark = None if mark.waits else mark
        if mark.has_all_rows:
            self._cannot_settle_until = -math.inf

    # --- writing ---

    @property
    def size(self) -> int:
        """Entries in the log, which is also the seq of the last."""
        return self.frontier.size

    last_entry: LastEntry
    """Of the last commit."""

    covered: int
    """Entries whose processes and sellers have their materialized rows."""

    def newest_proof(self) -> list[bytes]:
        """That the last entry's leaf is the tree's newest, to be checked against its root."""
        if self._peaks_before is None:
            self._peaks_before = tree.Frontier.at(self.size - 1, self.subtrees()).peaks
        return tree.newest_proof(self._peaks_before)

    @property
    def is_without_bodies(self) -> bool:
        """Whether the file holds commitments and masked facts, but no bodies."""
        return self._identity.is_without_bodies

    def batch(self, entries: Sequence[Entry]) -> Batch:
        """Entries, one at least, as `append` takes them; safe to make on any thread, while it
        writes others."""
        return Batch.of(entries, self.keys, self._columns)

    def append(
        self,
        batch: Batch,
        then: Iterable[Batch] = (),
        *,
        more_follow: bool = False,
        may_wait: bool = False,
    ) -> None:
        """Writes the entries that follow the last one, all or none.

        `then`: batches that follow this one and are written in the same transaction, which spares
        DuckDB most of what a commit takes. `more_follow`: whole batches wait already, and the
        materialized rows of processes may wait for a later one, unless somebody reads. `may_wait`:
        so may all materialized rows of a few entries. Readers of these call `settle` first.

        Raises `LedgerRefused` where they do not follow it, `LedgerStalled` where memory or disk is
        full, `LedgerDamaged` where DuckDB failed otherwise; the ledger has then been reopened at
        what is durable, so the caller reads its `size` again.
        """
        with self._lock:
            are_few = self.size + batch.size - self._settled <= MOST_UNSETTLED
            waits = may_wait and are_few and not self._is_behind
            is_needed = self.is_watched and not self._cannot_settle
            batches = itertools.chain([batch], then)
            self._append(batches, waits=waits, more_follow=more_follow and not is_needed)
            if not waits:
                self._let_go_of_indexes()

    def _append(self, batches: Iterable[Batch], *, waits: bool, more_follow: bool) -> None:
        frontier = tree.Frontier(self.size, self.frontier.peaks)
        nodes = list[tree.Node]()
        named, occurred = list[Mapping[str, int]](), list[tuple[int, int]]()
        few: dict[str, list[Sequence[object]]] = {}  # one statement takes those of all tables
        new = set(self._new)
        first, erasure = self.size + 1, 0
        with self._opened_again_after(lambda: f"did not take entries {first} to {frontier.size}"):
            with self._watermark_put_back(), self._transaction():
                self.watermark = None
                for batch in batches:
                    erasure = max(erasure, batch.erasure)
                    batch.check_follows(frontier.size)
                    nodes += frontier.extend(batch.leaf_hashes[:-1])
                    peaks_before = list(frontier.peaks)
                    nodes += frontier.extend(batch.leaf_hashes[-1:])
                    for table, rows in batch.rows.items():
                        if isinstance(rows, Sequence):
                            few.setdefault(table, []).extend(rows)
                        else:
                            self._insert({table: rows})
                    new |= batch.rows.keys()
                    named.append(batch.named)
                    occurred.append((batch.occurred_at, batch.last_entry.seq))
                head = (frontier.size, frontier.root(), frontier.peaks, batch.recorded_at)
                self._insert({**few, "tree_nodes": nodes, "tree_heads": [head]})
                if not waits:
                    position = {"after": self._settled, "size": frontier.size}
                    refresh.refresh(self._connection, **position, new=new, more_follow=more_follow)
            if waits:
                self._new = new
                self.unsettled_since = self.unsettled_since or time.monotonic()
            else:
                self._has_settled(frontier.size)  # before the size: nobody must see anything wait
            for each in named:
                self.last_named.add(each)  # before the size, too
            for occurred_at, seq in occurred:
                self.last_occurred.add(occurred_at, seq)
            self.frontier, self.last_entry = frontier, batch.last_entry
            self._peaks_before = peaks_before
            self._hold_erased(erasure)
            if not waits:
                self._mark()

    def _hold_erased(self, erasure: int) -> None:
        """Has the file made again, where it was begun before an erasure."""
        if erasure > self.erased_to:
            self._damage = f"it holds what entry {erasure} erased"

    @contextlib.contextmanager
    def _watermark_put_back(self) -> Iterator[None]:
        """Where the block fails: the state is the former one again."""
        watermark = self.watermark
        try:
            yield
        except BaseException:
            self.watermark = watermark
            raise

    def _has_settled(self, size: int) -> None:
        self._settled, self._new, self.unsettled_since = size, set(), None

    def settle(self, *, is_asked: bool = True) -> None:
        """Works out the materialized rows that wait, in a transaction of their own: a crash before
        its end leaves them to wait. Raises as `append` does.

        `is_asked`: by a reader, who goes on without them where they cannot be worked out.
        """
        if is_asked:
            self.asked_at = time.monotonic()
        if not self._has_all_rows and not (is_asked and self._cannot_settle):
            self._settle()
            if is_asked:
                self.asked_at = time.monotonic()  # that may have taken longer than people watch

    def _settle(self) -> None:
        with self._lock:
            if self._has_all_rows:  # another thread was faster
                return
            after, size = self._settled, self.size
            with self._opened_again_after(lambda: "could not work out its rows"):
                with self._transaction():
                    refresh.refresh(self._connection, after=after, size=size, new=self._new)
                self._has_settled(size)
                self._mark()
            self._let_go_of_indexes()

    @property
    def _has_all_rows(self) -> bool:
        return self._settled >= self.size and not self._is_behind

    @property
    def _cannot_settle(self) -> bool:
        return time.monotonic() < self._cannot_settle_until

    @property
    def is_watched(self) -> bool:
        """Whether a reader needed materialized rows a moment ago."""
        return time.monotonic() - self.asked_at < WATCHED_SECONDS

    @contextlib.contextmanager
    def snapshot(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[Watermark]:
        """For the block, the cursor sees one state, of which no materialized row waits that can be
        worked out. Where the file is opened again meanwhile, the cursor's next question fails with
        an error of DuckDB."""
        cursor.execute("begin")
        try:
            while not (watermark := Watermark.of(cursor)).has_all_rows and not self._cannot_settle:
                cursor.execute("rollback")
                with contextlib.suppress(OperatorError):  # the cursor is closed then
                    self._settle()  # under the lock: a commit shows in the file before it does here
                cursor.execute("begin")
            yield watermark
        finally:
            with contextlib.suppress(duckdb.Error):  # what failed in the block says more
                cursor.execute("rollback")

    def _let_go_of_indexes(self) -> None:
        """Writes what was touched of the indexes to the file, and so out of memory. Where DuckDB
        takes somebody's reading for writing it refuses, and the next batch tries again."""
        if not file.holds_much_of_indexes(self._connection, self.memory_bytes):
            return
        with (
            self._opened_again_after(lambda: "could not be checkpointed"),
            contextlib.suppress(duckdb.TransactionException),
        ):
            self._connection.execute("checkpoint")

    def _insert(self, rows: Mapping[str, arrow.Rows]) -> None:
        masks: Mapping[str, Mapping[str, str]] = {}
        if self.is_without_bodies:
            masks, rows = arrow.MASKED_COLUMNS, {**rows, "ingest_keys": ()}
        arrow.insert(self._connection, self._columns, rows, masks)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, file.transaction(self._connection):
            yield

    # --- closing, and opening again ---

    @contextlib.contextmanager
    def _opened_again_after(self, what: Callable[[], str]) -> Iterator[None]:
        """`what`: says what failed. After an error of DuckDB the file is opened again, before
        anybody else writes. Whether a failed commit is durable cannot be known otherwise, and a
        failed checkpoint invalidates the file for every reader. One that is damaged is not opened
        for that: it may be made again at this moment."""
        with self._lock:
            if isinstance(self._shut, LedgerDamaged):
                self._check_not_shut()
            self.open_again()  # on a full disk another thread's try may just have failed
            try:
                yield
            except duckdb.Error as error:
                failed = what()
                try:
                    self.reopen()
                finally:
                    self._cannot_settle_until = time.monotonic() + SETTLE_AGAIN_SECONDS
                raise file.fault(self.path, error, failed) from error

    def reopen(self) -> None:
        """Closes the file, once what is read at this moment is read, and opens it at what is
        durable. Raises as `file.close_once_read` and the constructor do, and `open_again` then
        tries once more; `LedgerClosed` after `close`."""
        with self._lock, self._opening:
            self._check_not_closed()
            self.times_reopened += 1  # first: whoever it is closed under looks here
            self._shut = None
            try:
                file.close_once_read(self.path, self._connection.close)
                self._open()
            except LedgerDamaged as fault:  # `prazo rebuild` would need the file to itself
                remedy = "what holds it makes it again from the inbox, at once or when it starts"
                self._shut = LedgerDamaged(fault.what, fault.why, remedy)
                raise self._shut from fault
            except OperatorError as fault:
                self._shut = fault
                raise

    def open_again(self) -> None:
        """Opens the file where the last try to open it again failed; else does nothing."""
        if self._shut is not None:
            self.reopen()

    @property
    def damage(self) -> str | None:
        """Why the file is to be made again: it could not be opened again because of what is in it,
        or somebody came upon a damaged part of it. None where nothing is known of such."""
        return self._shut.why if isinstance(self._shut, LedgerDamaged) else self._damage

    def saw(self, error: BaseException) -> None:
        """Keeps in mind that the file is damaged, if an error says so."""
        self._damage = file.corruption(error) or self._damage

    def shut(self, why: str) -> None:
        """Closes the file under its readers, until `reopen`: it is made again. Raises as `close`
        does, and lets no one begin to read then either."""
        with self._lock, self._opening:
            self._check_not_closed()
            self.times_reopened += 1  # as in `reopen`
            what = f"The ledger {self.path} is made again from the inbox"
            self._damage, self._shut = None, LedgerMadeAgain(what, why, "try again in a moment")
            self._connection.close()

    def close(self) -> None:
        """Closes the file for good, once its writer is done, or after ten seconds; it is whole
        after that. Raises DuckDB's `ResourceInUseException` while it is read."""
        self._is_closed = True  # first: nobody opens it again
        is_held = self._lock.acquire(timeout=CLOSING_SECONDS)
        try:
            self._connection.close()
        finally:
            if is_held:
                self._lock.release()

    def _check_not_closed(self) -> None:
        if self._is_closed:
            raise LedgerClosed(
                f"The ledger {self.path} is closed",
                "its process ends, or builds it again from the inbox",
                "try again in a moment",
            )

    def _check_not_shut(self) -> None:
        if self._shut is not None:
            raise type(self._shut)(*self._shut.args)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor for one thread and one call: sharing one gives wrong results silently.

        Raises why the file could not be opened again, while it could not; `LedgerClosed` after
        `close`.
        """
        with self._opening:
            self._check_not_closed()
            self._check_not_shut()
            return self._connection.cursor()

    @contextlib.contextmanager
    def prepared(self, few: Few, settings: Settings) -> Iterator[Prepared | None]:
        """For the block, as `cursor` and with its errors: one that is prepared for questions about
        few ids; None where all are in use."""
        with self._opening:
            self._check_not_closed()
            self._check_not_shut()
            connections = self._prepared
        taken = connections.take(few, settings)
        try:
            yield taken
        except BaseException:
            if taken is not None:
                connections.let_go(taken)
            raise
        if taken is not None:
            connections.give_back(taken)
