"""The inbox over one SQLite file: one writer, and readers that never wait for it."""

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import apsw

from pipeline import instants
from pipeline.errors import InboxUnavailable
from pipeline.files import databases, kinds
from pipeline.files.birth import birth_of
from pipeline.inbox import beginnings, leases, schema
from pipeline.inbox.one_writer import in_turn
from pipeline.inbox.readers import Readers
from pipeline.inbox.schema.rows import BODY, Row, Rows, dictionary
from pipeline.inbox.sqlite.connection import ERRORS, changed, connect, one_row
from pipeline.inbox.sqlite.file import create as create_file
from pipeline.inbox.sqlite.file import tables_at, tables_of, uri_of
from pipeline.inbox.sqlite.place import Place
from pipeline.inbox.sqlite.transaction import ROWS_PER_INSERT, SqliteTransaction, numbered
from pipeline.inbox.store import (
    MAX_BYTES_PER_READ,
    Head,
    Inbox,
    SignedHead,
    Transaction,
)
from pipeline.log.entries import Entry, Identity, new_identity
from pipeline.places import DATABASE_SUFFIXES

BUSY_SECONDS: Final = 10.0
REPAIR_SECONDS: Final = 2.0
"""After a failed write, for readers to leave the WAL, which can then be emptied."""
WRITER_CACHE_KIB: Final = 65_536  # the indexes' pages of a large log
MAX_WAL_BYTES: Final = 64 * 2**20  # a long read makes it larger; it is cut when it is next reused
_LAST = "select seq, recorded_at from entries order by seq desc limit 1"
TENDS: Final = "write-ahead log"
"""The lease of whoever moves the WAL into the file."""
TEND_SECONDS: Final = 10
BYTES_PER_COMMIT: Final = 65_536
"""About so much goes into the WAL beside the entries: pages of indexes."""
MOST_UNMOVED: Final = 8 * 2**20
_STATEMENTS_KEPT: Final = 2 * ROWS_PER_INSERT  # one for each number of rows, and all others
_PUT_HEAD = """
    insert into heads (id, size, root) values (1, ?, ?)
    on conflict (id) do update set size = excluded.size, root = excluded.root
    where excluded.size > heads.size"""
_PUT_CHECKPOINT = "insert into checkpoints (size, note) values (?, ?) on conflict do nothing"
_CHECKPOINTS = "select size, note from checkpoints order by size"
_INSTRUCTIONS: Final = 1000  # between two looks at the time
PUT_BACK: Final = (
    "stop all that use it, look at its disk, and put it back: `prazo restore DIR` from a backup,"
    " or `prazo restore --from-ledger`"
)
"""What to do about a damaged file."""
_PROBE = "insert or replace into probes (id, probed_at) values (1, ?)"


class SqliteInbox(Inbox):
    """The inbox at a path. Readers see a snapshot and never wait for the writer."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        identity: Identity | None = None,
        version: int | None = None,
        is_at_rest: bool = False,
    ) -> None:
        super().__init__()
        self.version = schema.VERSION if version is None else version
        self.rows = Rows(dictionary())
        self._path = path
        self._writing_alone = threading.Lock()
        self._writer: apsw.Connection | None = None
        self._at_once: apsw.Connection | None = None
        self._has_failed = self._is_closed = False
        self._lease: leases.Lease | None = None
        self._unmoved = 0  # about how many bytes went into the WAL from here since it was looked at
        self._bytes = 0  # of the file, when it was last written
        self._readers = Readers(self._connect)
        try:
            self._uri = uri_of(path, is_at_rest=is_at_rest)
            if not path.exists():
                if not create:
                    raise schema.missing(path)
                self._begin(identity)
            self._on_disk = Place(path)
            self.log, self.log_key = self._read_meta()
        except ERRORS as error:
            self.close()
            raise self._unavailable("opened", error) from error
        except InboxUnavailable:
            self.close()
            raise

    def _begin(self, identity: Identity | None) -> None:
        """Makes the file: a copy of a log that has an identity, or a new log, which is said."""
        others = beginnings.beside(self._path) if identity is None else []
        begun = identity or new_identity()
        is_first = create_file(self._path, begun, self.version, is_copy=identity is not None)
        if is_first and identity is None:
            beginnings.say(begun.log, str(self._path.absolute()), others)

    def _connect(self, busy_seconds: float | None = None) -> apsw.Connection:
        connection = connect(
            self._uri,
            busy_seconds=BUSY_SECONDS if busy_seconds is None else busy_seconds,
            statements_kept=_STATEMENTS_KEPT,
        )
        try:
            connection.execute("pragma synchronous = full")
            connection.execute("pragma trusted_schema = off")  # nothing in a file calls a function
            connection.execute("pragma wal_autocheckpoint = 0")  # see `_move_wal`
        except BaseException:
            connection.close()
            raise
        return connection

    def _read_meta(self) -> tuple[str, bytes]:
        with self._readers.borrowed() as connection:
            schema.check(str(self._path), tables_at(self._path, connection), self.version)
            meta: dict[str, bytes] = dict(connection.execute("select name, value from meta"))
        return schema.identity(str(self._path), meta)

    def _unavailable(self, done: str, error: Exception) -> InboxUnavailable:
        return schema.unreadable(self._path, error) or InboxUnavailable(
            f"The inbox {self._path} cannot be {done}",
            str(error),
            PUT_BACK if isinstance(error, apsw.CorruptError) else self._remedy(),
        )

    def _remedy(self) -> str:
        """SQLite makes `-shm` with the rights that the file has then, and opens nothing without it:
        whoever gives the file its rights back forgets that one, which SQLite never names."""
        parts = (Path(f"{self._path}{it}") for it in DATABASE_SUFFIXES)
        if barred := [str(it) for it in (self._path.parent, *parts) if kinds.is_barred(it)]:
            return f"let the user who runs this read and write {', '.join(barred)}"
        with contextlib.suppress(OSError):
            if (free := shutil.disk_usage(self._path.parent).free) < databases.SPARE_BYTES:
                return f"make room in {self._path.parent}, on whose disk {free:,} bytes are free"
        return "check the disk's free space and the file's permissions, then try again"

    # --- writing ---

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        with self._exclusively() as connection:
            transaction = SqliteTransaction(connection, self.rows)
            yield transaction
            self._unmoved += 2 * transaction.inserted_bytes  # each is in a table and in indexes

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """All that is written in the block is one durable commit, or, where the block fails or the
        process ends, nothing; what is read in the block is as it was written. For one thread that
        has the inbox for itself, such as one that adds to a backup."""
        with self._exclusively() as self._at_once:
            try:
                yield
            finally:
                self._at_once = None

    @contextmanager
    def _exclusively(self) -> Iterator[apsw.Connection]:
        """The writer, in a transaction that is committed and synced when the block ends, or when
        the block of `at_once` around it does."""
        if self._at_once is not None:
            yield self._at_once
            return
        try:
            with in_turn(self._writing_alone):
                connection = self._begun()
                try:
                    yield connection
                    connection.execute("commit")
                except BaseException as error:
                    self._has_failed = self._has_failed or isinstance(error, apsw.Error)
                    self._drop_writer()  # rolls back what is not committed
                    raise
        except ERRORS as error:
            raise self._unavailable("written", error) from error
        self._unmoved += BYTES_PER_COMMIT
        if self._unmoved >= MOST_UNMOVED:
            self._move_wal()

    def _move_wal(self) -> None:
        """Moves the WAL into the file, for all that use it, if this process holds the lease for
        that, or nobody does. Nobody writes meanwhile: beside writers a checkpoint ends before the
        WAL does, so that no writer begins it at its start again. What fails is tried again."""
        self._unmoved = MOST_UNMOVED // 2
        with contextlib.suppress(InboxUnavailable, *ERRORS):
            if not self._tends_wal():
                return
            with in_turn(self._writing_alone):
                writer = self._begun()
                try:
                    with self._readers.borrowed() as other:  # the writer itself may not
                        other.execute("pragma wal_checkpoint(passive)").fetchone()
                finally:
                    writer.execute("rollback")
            self._unmoved = 0

    def _tends_wal(self) -> bool:
        """Whether this process holds the lease for the WAL, by now. It ends soon after a holder
        that was killed, or writes no more: whoever writes then takes it over."""
        if self._lease is not None and self._lease.left_here > TEND_SECONDS * instants.SECOND // 2:
            return True
        self._unmoved = -MOST_UNMOVED  # the lease's own row is written on the way
        if self._lease is not None:
            self._lease = leases.renew(self, self._lease)
        if self._lease is None:
            length = TEND_SECONDS * instants.SECOND
            taken = leases.take(self, TENDS, TENDS, length, leases.Spent(), longest=length)
            self._lease = taken if isinstance(taken, leases.Lease) else None
        self._unmoved = MOST_UNMOVED // 2
        return self._lease is not None

    def _begun(self) -> apsw.Connection:
        if self._is_closed:
            raise apsw.ConnectionClosedError("it is closed already")
        self._check_size(self._on_disk.check())
        if self._writer is not None:
            self._on_disk.check_wal(self._writer)
        if self._writer is None or not self._on_disk.has_wal or not self._is_proved:
            self._drop_writer()
            self.prove()
            self._empty_wal()
            self._writer = self._connect()
            self._writer.execute(f"pragma cache_size = -{WRITER_CACHE_KIB}")
            # What it may have to undo of a statement with many rows goes no way by another disk.
            self._writer.execute("pragma temp_store = memory")
            self._writer.execute(f"pragma journal_size_limit = {MAX_WAL_BYTES}")
            self._writer.execute(_LAST)  # from here on the WAL is there
            self._on_disk.watch_wal()
        self._writer.execute("begin immediate")
        return self._writer

    def _check_size(self, size: int) -> None:
        """Raises OSError where the file was cut, or a shorter one was written over it: what is
        written then may hang on pages that this process alone still has. No inbox shrinks."""
        if size < self._bytes:
            self._readers.drop_idle()
            self.prove()  # which names what is lost, where it is
            was = f"it was cut in use, from {self._bytes:,} bytes to {size:,}"
            raise OSError(f"{was}: stop all that use this inbox, see that it is whole, then start")
        self._bytes = size

    def _empty_wal(self) -> None:
        """Moves the WAL's pages into the database, so that a new writer starts an empty WAL.

        After a failed sync, the system may treat pages as clean that never reached the disk.
        Entries appended behind such pages would be acknowledged, and lost in a power cut. The
        checkpoint writes the pages again and syncs them; after a failed write, nothing is appended
        until it succeeds. Where a reader keeps the WAL in use, as Litestream does for good, the
        WAL's own bytes are written again and synced. A WAL that an earlier process left is emptied
        too, unless somebody is using it: that process may have ended because of such a failure.
        """
        try:
            with closing(self._connect(REPAIR_SECONDS if self._has_failed else 0)) as connection:
                if not self._has_failed:  # a checkpoint that waits for nobody would go on without
                    connection.execute("begin immediate")  # the write lock
                    connection.execute("rollback")
                is_busy, *_ = one_row(connection, "pragma wal_checkpoint(truncate)")
        except apsw.BusyError:
            is_busy = True  # the last of those who had it open is closing it at this moment
        if is_busy and self._has_failed:
            with closing(self._connect()) as connection:
                connection.execute("begin immediate")  # meanwhile nobody writes to it
                self._on_disk.write_wal_again()
        self._has_failed = False

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            self._on_disk.forget_wal()

    def probe(self) -> None:
        """Writes and syncs a mark by the way that entries take."""
        with self._exclusively() as connection:
            connection.execute(_PROBE, (self.clock(),))

    def put_head(self, head: Head) -> None:
        """Stores the head, unless the stored one is at least as large."""
        with self._exclusively() as connection:
            connection.execute(_PUT_HEAD, head)

    def put_checkpoint(self, signed: SignedHead) -> None:
        """Stores a signed checkpoint, unless there is one of the same size."""
        with self._exclusively() as connection:
            connection.execute(_PUT_CHECKPOINT, signed)

    def execute(self, sql: str, *values: object) -> int:
        """Runs one statement on the tables beside the log; how many rows it changed."""
        with self._exclusively() as connection:
            return changed(connection, sql, numbered(values))

    # --- reading ---

    def now(self) -> int:
        """This machine's clock, in microseconds: a file has no clock of its own."""
        return self.clock()

    def stands(self) -> str:
        """The number of its file, and when that was made."""
        try:
            return birth_of(self._path)
        except OSError as error:
            raise self._unavailable("read", error) from error

    def steady(self) -> int:
        """This machine's clock since it was started, in microseconds."""
        return instants.since_boot()

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of one statement on the tables beside the log."""
        with self._reading() as connection:
            return connection.execute(sql, numbered(values)).fetchall()

    def tables(self) -> schema.Tables:
        """What it says of its tables now."""
        with self._reading() as connection:
            return tables_of(connection)

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        if self._at_once is not None:
            yield self._at_once
            return
        try:
            self._on_disk.check()  # or we would go on reading a file that is no longer there
            with self._readers.borrowed() as connection:
                yield connection
        except ERRORS as error:
            raise self._unavailable("read", error) from error

    def last(self) -> tuple[int, int]:
        """The newest entry's seq and receipt; (0, 0) in an empty log."""
        with self._reading() as connection:
            seq, recorded_at = connection.execute(_LAST).fetchone() or (0, 0)
            return seq, recorded_at

    def read(self, after: int, limit: int, *, max_bytes: int = MAX_BYTES_PER_READ) -> list[Entry]:
        """The entries after a seq, in order, cut at `max_bytes` while they are read."""
        found: list[Row] = []
        size = 0
        sql = f"select {self.rows.selected} from entries where seq > ? order by seq limit ?"
        with (
            self._reading() as connection,
            closing(connection.execute(sql, (after, limit))) as rows,
        ):
            for row in rows:
                found.append(row)
                size += len(row[BODY] or b"")
                if size >= max_bytes:
                    break
        return self.rows.to_entries(found)

    def _find(self, given: Mapping[str, str]) -> list[Entry]:
        condition = " and ".join(f"{column} = ?" for column in given)
        with self._reading() as connection:
            sql = f"select {self.rows.selected} from entries where {condition} order by seq"
            return self.rows.to_entries(connection.execute(sql, list(given.values())).fetchall())

    def head(self) -> Head | None:
        """The stored head; None before the first."""
        with self._reading() as connection:
            row = connection.execute("select size, root from heads").fetchone()
            return Head._make(row) if row else None

    def checkpoint(self) -> SignedHead | None:
        """The largest signed checkpoint; None before the first."""
        with self._reading() as connection:
            row = connection.execute(f"{_CHECKPOINTS} desc limit 1").fetchone()
            return SignedHead._make(row) if row else None

    def checkpoints(self) -> list[SignedHead]:
        """All signed checkpoints, smallest first."""
        with self._reading() as connection:
            return list(map(SignedHead._make, connection.execute(_CHECKPOINTS).fetchall()))

    def first_damage(self, seconds: float) -> str | None:
        """What SQLite finds first where the file's pages do not hang together; "ok" where all do,
        and None where so many seconds were too few to read them."""
        until = time.monotonic() + seconds
        with self._reading() as connection:
            connection.set_progress_handler(lambda: time.monotonic() > until, _INSTRUCTIONS)
            try:
                [found] = one_row(connection, "pragma quick_check(1)")
            except apsw.InterruptError:
                return None
            finally:
                connection.set_progress_handler(None)
            return str(found)

    def close(self) -> None:
        """Closes the writer's and the readers' connections."""
        with in_turn(self._writing_alone):
            self._is_closed = True
            self._drop_writer()
        self._readers.close()
