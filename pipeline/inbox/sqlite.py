"""Stores the inbox in one SQLite file (WAL, `synchronous=FULL`), without a server to run."""

import contextlib
import functools
import itertools
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json, to_json

from pipeline import instants
from pipeline.errors import InboxUnavailable
from pipeline.files import databases, disk, kinds
from pipeline.inbox import schema
from pipeline.inbox.readers import Readers
from pipeline.inbox.schema.rows import BODY, Row, Rows
from pipeline.inbox.store import (
    MAX_BYTES_PER_READ,
    Asked,
    Head,
    Inbox,
    Known,
    SignedHead,
    Statement,
    Tail,
    Transaction,
)
from pipeline.inbox.turns import in_turn
from pipeline.log.entries import Entry, Identity, new_identity
from pipeline.places import DATABASE_SUFFIXES

BUSY_SECONDS: Final = 10.0
PAGE_BYTES: Final = 8192
"""Of a new inbox. Of pages of 4 KB, SQLite's own size, entries of 1.3 KB, as those are that are not
compressed, leave a third empty (docs/performance.md#size)."""
WRITER_CACHE_KIB: Final = 65_536  # the indexes' pages of a large log
MAX_WAL_BYTES: Final = 64 * 2**20  # a long read makes it larger; it is cut when it is next reused
BESIDE_SECONDS: Final = 0.02  # between two looks at the WAL's name: what it has is saved then
APPLICATION_ID: Final = int.from_bytes(b"PRZO", "big")
_LAST = "select seq, recorded_at from entries order by seq desc limit 1"
ROWS_PER_INSERT: Final = 64
_STATEMENTS_KEPT: Final = 2 * ROWS_PER_INSERT  # one for each number of rows, and all others
_PUT_HEAD = """
    insert into heads (id, size, root) values (1, ?, ?)
    on conflict (id) do update set size = excluded.size, root = excluded.root
    where excluded.size > heads.size"""
_PUT_CHECKPOINT = "insert into checkpoints (size, note) values (?, ?) on conflict do nothing"
_CHECKPOINTS = "select size, note from checkpoints order by size"
_PROBE = "insert or replace into probes (id, probed_at) values (1, ?)"


@functools.cache
def _insert(columns: tuple[str, ...], rows: int) -> str:
    """While a statement runs, the event loop has the interpreter. With many rows in a statement,
    the writer waits for its turn once, not after every row."""
    row = f"({', '.join('?' * len(columns))})"
    return f"insert into entries ({', '.join(columns)}) values {', '.join([row] * rows)}"


def _tails(stream: str) -> str:
    return f"""
        select json_group_array(json_array(asked.value, tail.{stream}_n, tail.seq))
        from json_each(?) asked
        join entries tail on tail.seq = (
            select seq from entries
            where {stream}_id = asked.value
            order by {stream}_n desc limit 1
        )"""


_PROCESS_TAILS, _SELLER_TAILS = _tails("process"), _tails("seller")
_SEEN_EVENTS = """
    select json_group_array(value) from json_each(?)
    where exists (select 1 from entries where event_id = value)"""
_SEEN_ATTEMPTS = """
    select json_group_array(distinct json_array(kind, attempt_id)) from entries
    where attempt_id in (select value from json_each(?))"""
_SEEN_INGEST_KEY = "select ingest_key from entries where ingest_key = ?"


class _SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection, rows: Rows) -> None:
        self._connection, self._in_table = connection, rows

    def look_up(self, asked: Asked) -> Known:
        leaf = f"leaf, {self._in_table.is_compressed}"
        last = f"select seq, recorded_at, {leaf} from entries order by seq desc limit 1"
        seq, recorded_at, *found = self._connection.execute(last).fetchone() or (0, 0)
        if asked.seq != seq:  # the newest is not one that was written from here
            of = f"select {leaf} from entries where seq = ?"
            found = self._connection.execute(of, (asked.seq,)).fetchone()
        (version,) = self._connection.execute("pragma user_version").fetchone()
        return Known(
            version=version,
            seq=seq,
            recorded_at=recorded_at,
            processes=self._tails(_PROCESS_TAILS, asked.processes),
            sellers=self._tails(_SELLER_TAILS, asked.sellers),
            events={*self._found(_SEEN_EVENTS, asked.events)},
            attempts={(kind, name) for kind, name in self._found(_SEEN_ATTEMPTS, asked.attempts)},
            ingest_keys={key for key in asked.ingest_keys if self._is_ingested(key)},
            leaf=self._in_table.leaf(found or None),
        )

    def _found(self, query: str, ids: Collection[str]) -> list[Any]:
        """What a query gives as one row of JSON: for each row the interpreter would be given to the
        event loop, and waited for."""
        if not ids:
            return []
        [found] = self._connection.execute(query, (to_json(ids).decode(),)).fetchone()
        rows: list[Any] = from_json(found)
        return rows

    def _tails(self, query: str, ids: Collection[str]) -> dict[str, Tail]:
        return {name: Tail(n, seq) for name, n, seq in self._found(query, ids)}

    def _is_ingested(self, key: bytes) -> bool:
        return self._connection.execute(_SEEN_INGEST_KEY, (key,)).fetchone() is not None

    def insert(self, entries: Sequence[Entry]) -> None:
        rows, columns = self._in_table.to_rows(entries), self._in_table.columns
        for at in range(0, len(rows), ROWS_PER_INSERT):
            some = rows[at : at + ROWS_PER_INSERT]
            values = [*itertools.chain.from_iterable(some)]
            self._connection.execute(_insert(columns, len(some)), values)

    def execute(self, statement: Statement) -> int:
        return self._connection.execute(statement.sql, _numbered(statement.values)).rowcount


class SqliteInbox(Inbox):
    """The inbox at a path. Readers see a snapshot and never wait for the writer."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        identity: Identity | None = None,
        version: int = schema.VERSION,
        is_at_rest: bool = False,
    ) -> None:
        super().__init__()
        self.version = version
        self.rows = schema.rows_in(version)
        self._path = path
        self._uri = uri_of(path, is_at_rest=is_at_rest)
        self._writing_alone = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._beside: list[tuple[int, int] | None] = []  # the writer's
        self._look_beside_at = 0.0  # on the monotonic clock
        self._has_failed = self._is_closed = False
        self._bytes = 0  # of the file, when it was last written
        self._readers = Readers(self._connect)
        try:
            if not path.exists():
                if not create:
                    raise schema.missing(path)
                self._create(identity or new_identity())
            self._file = databases.identity_of(path.stat())
            self._real_path = path.resolve()  # SQLite keeps its WAL where a link leads
            self.log, self.log_key = self._read_meta()
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise self._unavailable("opened", error) from error
        except InboxUnavailable:
            self.close()
            raise

    # --- opening ---

    def _create(self, identity: Identity) -> None:
        """Makes the file under another name and then links it to its path: a crash leaves no
        half-made inbox, and if another process was faster, its inbox stays."""
        folder = self._path.parent
        disk.make_folder(folder)
        with tempfile.TemporaryDirectory(prefix=".", dir=folder) as aside:
            draft = Path(aside) / self._path.name
            # Bodies hold personal data. SQLite gives its WAL the mode of this file.
            os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                connection.execute(f"pragma page_size = {PAGE_BYTES}")
                connection.execute("pragma journal_mode = wal")
                connection.execute("pragma synchronous = full")
                connection.execute(f"pragma application_id = {APPLICATION_ID}")
                tables = schema.steps("sqlite", until=self.version)
                connection.executescript(f"begin; {tables} commit;")
                connection.execute(f"pragma user_version = {self.version}")
                connection.executemany(
                    "insert into meta (name, value) values (?, ?)",
                    {
                        "log": identity.log.encode(),
                        "log_key": identity.log_key,
                        **schema.meta_of(last=self.version),
                    }.items(),
                )
                _move_in_wal(connection)
            disk.sync(draft)
            with contextlib.suppress(FileExistsError):
                os.link(draft, self._path)
        disk.sync(folder)  # the file's name must survive a power cut, as its bytes do

    def _connect(self, busy_seconds: float | None = None) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._uri,
            uri=True,
            timeout=BUSY_SECONDS if busy_seconds is None else busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_STATEMENTS_KEPT,
        )
        try:
            connection.execute("pragma synchronous = full")
        except BaseException:
            connection.close()
            raise
        return connection

    def _read_meta(self) -> tuple[str, bytes]:
        with self._readers.borrowed() as connection:
            schema.check(str(self._path), version_of(self._path, connection), self.version)
            meta: dict[str, bytes] = dict(connection.execute("select name, value from meta"))
        return schema.identity(str(self._path), meta)

    def _unavailable(self, done: str, error: Exception) -> InboxUnavailable:
        return schema.unreadable(self._path, error) or InboxUnavailable(
            f"The inbox {self._path} cannot be {done}",
            str(error),
            self._remedy(),
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
            yield _SqliteTransaction(connection, self.rows)

    @contextmanager
    def _exclusively(self) -> Iterator[sqlite3.Connection]:
        """The writer, in a transaction that is committed and synced when the block ends."""
        try:
            with in_turn(self._writing_alone):
                connection = self._begun()
                try:
                    yield connection
                    connection.execute("commit")
                except BaseException as error:
                    self._has_failed = self._has_failed or isinstance(error, sqlite3.Error)
                    self._drop_writer()  # rolls back what is not committed
                    raise
        except (sqlite3.Error, OSError) as error:
            raise self._unavailable("written", error) from error

    def _begun(self) -> sqlite3.Connection:
        if self._is_closed:
            raise sqlite3.ProgrammingError("it is closed already")
        self._check_size(self._check_place())
        self._check_beside()
        if self._writer is None or not self._beside or not self._is_proved:
            self._drop_writer()
            self.prove()
            self._empty_wal()
            self._writer = self._connect()
            self._writer.execute(f"pragma cache_size = -{WRITER_CACHE_KIB}")
            # What it may have to undo of a statement with many rows goes no way by another disk.
            self._writer.execute("pragma temp_store = memory")
            self._writer.execute(f"pragma journal_size_limit = {MAX_WAL_BYTES}")
            self._writer.execute("pragma secure_delete = on")  # not every build has it on itself
            self._writer.execute(_LAST)  # from here on the WAL is there
            self._beside = databases.identities_beside(self._real_path)
        self._writer.execute("begin immediate")
        return self._writer

    def _check_place(self) -> int:
        """The file's size, in bytes; raises OSError where another file took its path."""
        status = self._path.stat()  # one call for both: each waits for Python's lock
        if databases.identity_of(status) != self._file:
            raise OSError("another file took its path since it was opened; restart to use that one")
        return status.st_size

    def _check_beside(self) -> None:
        """Raises OSError where the writer's WAL lost its name: nobody hears of what is written to
        it. What it has goes into the file, unless others have begun another WAL meanwhile."""
        if self._writer is None or not self._beside or time.monotonic() < self._look_beside_at:
            return
        now = databases.identities_beside(self._real_path)
        if now == self._beside:
            self._look_beside_at = time.monotonic() + BESIDE_SECONDS
            return
        if all(it in (None, was) for it, was in zip(now, self._beside, strict=True)):
            _move_in_wal(self._writer)
        raise OSError("its WAL was deleted in use: stop all that use this inbox, then start them")

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
        until it succeeds. A WAL that an earlier process left is emptied too, unless somebody is
        using it: that process may have ended because of such a failure.
        """
        try:
            with closing(self._connect(BUSY_SECONDS if self._has_failed else 0)) as connection:
                is_busy, *_ = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:  # the rest says why
                raise
            is_busy = True  # the last of those who had it open is closing it at this moment
        if is_busy and self._has_failed:
            raise sqlite3.OperationalError(
                f"a write has failed, and the file could not be repaired, because a reader kept it"
                f" busy for {BUSY_SECONDS:.0f} s"
            )
        self._has_failed = False

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer, self._beside = None, []

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
            return connection.execute(sql, _numbered(values)).rowcount

    # --- reading ---

    def now(self) -> int:
        """This machine's clock, in microseconds: a file has no clock of its own."""
        return self.clock()

    def steady(self) -> int:
        """This machine's clock since it was started, in microseconds."""
        return instants.since_boot()

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of one statement on the tables beside the log."""
        with self._reading() as connection:
            return connection.execute(sql, _numbered(values)).fetchall()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            self._check_place()  # or we would go on reading a file that is no longer there
            with self._readers.borrowed() as connection:
                yield connection
        except (sqlite3.Error, OSError) as error:
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

    def close(self) -> None:
        """Closes the writer's and the readers' connections."""
        with in_turn(self._writing_alone):
            self._is_closed = True
            self._drop_writer()
        self._readers.close()


def uri_of(path: Path, *, is_at_rest: bool = False) -> str:
    """How SQLite opens an inbox: it never creates the file.

    Beside it SQLite makes files by which those who use it hear of each other. A backup on a disk
    that is mounted read-only is read without them, if nothing of it stands in a WAL alone.
    """
    uri, wal = path.absolute().as_uri(), path.with_name(f"{path.name}-wal")
    if not is_at_rest or os.access(path.parent, os.W_OK) or (wal.exists() and wal.stat().st_size):
        return f"{uri}?mode=rw"
    return f"{uri}?mode=ro&immutable=1"


def make_whole(path: Path) -> None:
    """Returns once an inbox's file alone holds all of it, on disk: what is still in its WAL would
    be lost where the file takes another name. Raises `InboxUnavailable` where it cannot be done,
    for want of room for example: SQLite says nothing of that when the inbox is closed.

    Only SQLite may open the file here: whoever closes a file ends all locks that the process has on
    it, and without them the next process to leave deletes the WAL that this one still uses."""
    try:
        with closing(sqlite3.connect(uri_of(path), uri=True, isolation_level=None)) as connection:
            _move_in_wal(connection)
    except sqlite3.Error as error:
        raise InboxUnavailable(
            f"The inbox {path} is not whole",
            str(error),
            "make room on its disk, and see that nobody has the file open; then try again",
        ) from error


def _move_in_wal(connection: sqlite3.Connection) -> None:
    """Moves the WAL's pages into the file and syncs it. Closing does so too, and fails in silence:
    what lies in a WAL is then no part of a file that takes another name."""
    connection.execute("pragma synchronous = full")
    row = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
    if row != (0, 0, 0):  # busy, pages in the WAL, pages of these that were moved
        raise sqlite3.OperationalError(f"its WAL could not be moved into it: {row}")


def version_of(path: Path, connection: sqlite3.Connection) -> int:
    """The version of the inbox at a path; `InboxUnavailable` where the file is something else."""
    (application,) = connection.execute("pragma application_id").fetchone()
    (version,) = connection.execute("pragma user_version").fetchone()
    if application != APPLICATION_ID:
        is_empty = path.stat().st_size == 0
        content = f"of another program ({application:#x}; expected {APPLICATION_ID:#x})"
        raise schema.other(path, "an empty file" if is_empty else f"an SQLite file {content}")
    return int(version)


def _numbered(values: Sequence[object]) -> dict[str, object]:
    return {str(number): value for number, value in enumerate(values, 1)}
