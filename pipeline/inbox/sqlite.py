"""The inbox in one SQLite file: WAL, `synchronous=FULL`, no server to run."""

import contextlib
import itertools
import json
import os
import sqlite3
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from pipeline.errors import InboxMissing, InboxUnavailable
from pipeline.inbox.readers import Readers
from pipeline.inbox.store import (
    COLUMNS,
    MAX_BYTES_A_READ,
    Asked,
    Head,
    Identity,
    Inbox,
    Known,
    SignedHead,
    Tail,
    Transaction,
    new_identity,
)
from pipeline.occurrences import Entry

BUSY_SECONDS: Final = 10.0
WRITER_CACHE_KIB: Final = 65_536  # the indexes' pages of a large log
MAX_WAL_BYTES: Final = 64 * 2**20  # a larger one, after a long read, is cut when it is next reused

APPLICATION_ID: Final = int.from_bytes(b"PRZO", "big")
SCHEMA_VERSION: Final = 1

_SCHEMA = f"""
pragma application_id = {APPLICATION_ID};
pragma user_version = {SCHEMA_VERSION};

create table meta (name text primary key, value blob not null) strict;

create table entries (
    seq integer primary key,
    kind text not null,
    occurred_at integer not null,       -- microseconds since the epoch, UTC, like every instant
    recorded_at integer not null,
    origin text not null,
    recorded_by text not null,
    event_id text,
    attempt_id text,
    process_id text,
    seller_id text,
    status integer,
    process_n integer,
    process_prev integer,
    seller_n integer,
    seller_prev integer,
    is_again integer not null,
    record blob,
    body blob,
    salt blob,
    leaf blob not null,
    ingest_key blob
) strict;

create index entries_process on entries (process_id, process_n) where process_id is not null;
create index entries_seller on entries (seller_id, seller_n) where seller_id is not null;
create index entries_event on entries (event_id) where event_id is not null;
create index entries_attempt on entries (attempt_id) where attempt_id is not null;
create unique index entries_ingest on entries (ingest_key) where ingest_key is not null;
create index entries_quarantine on entries (kind) where kind = 'quarantine';

create trigger entries_no_update before update on entries
begin select raise(abort, 'append-only: entries are never changed'); end;
create trigger entries_no_delete before delete on entries
begin select raise(abort, 'append-only: entries are never deleted'); end;

create table heads (
    id integer primary key check (id = 1),
    size integer not null,
    root blob not null
) strict;

create table checkpoints (size integer primary key, note text not null) strict;

create table probes (id integer primary key check (id = 1), probed_at integer not null) strict;
"""

_LAST = "select seq, recorded_at from entries order by seq desc limit 1"
_SELECT = f"select {', '.join(COLUMNS)} from entries"
_IS_AGAIN = COLUMNS.index("is_again")
_ROW = f"({', '.join('?' * len(COLUMNS))})"
# A statement of many rows leaves the interpreter to the event loop for as long as it takes; with a
# row each, the writer would wait for its turn after every single one.
_INSERTS = [
    (rows, f"insert into entries ({', '.join(COLUMNS)}) values {', '.join([_ROW] * rows)}")
    for rows in (64, 16, 4, 1)
]
_PUT_HEAD = """
    insert into heads (id, size, root) values (1, ?, ?)
    on conflict (id) do update set size = excluded.size, root = excluded.root
    where excluded.size > heads.size"""
_PUT_CHECKPOINT = "insert into checkpoints (size, note) values (?, ?) on conflict do nothing"
_CHECKPOINTS = "select size, note from checkpoints order by size"
_PROBE = "insert or replace into probes (id, probed_at) values (1, ?)"


def _tails(stream: str) -> str:
    return f"""
        select asked.value, tail.{stream}_n, tail.seq
        from json_each(?) asked
        join entries tail on tail.seq = (
            select seq from entries
            where {stream}_id = asked.value
            order by {stream}_n desc limit 1
        )"""


_PROCESS_TAILS, _SELLER_TAILS = _tails("process"), _tails("seller")
_SEEN_EVENTS = """
    select value from json_each(?) where exists (select 1 from entries where event_id = value)"""
_SEEN_ATTEMPTS = """
    select distinct kind, attempt_id from entries
    where attempt_id in (select value from json_each(?))"""
_SEEN_INGEST_KEY = "select ingest_key from entries where ingest_key = ?"


def _entry(row: Sequence[Any]) -> Entry:
    return Entry._make((*row[:_IS_AGAIN], bool(row[_IS_AGAIN]), *row[_IS_AGAIN + 1 :]))


class _SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def look_up(self, asked: Asked) -> Known:
        seq, recorded_at = self._connection.execute(_LAST).fetchone() or (0, 0)
        return Known(
            seq=seq,
            recorded_at=recorded_at,
            processes=self._tails(_PROCESS_TAILS, asked.processes),
            sellers=self._tails(_SELLER_TAILS, asked.sellers),
            events={row[0] for row in self._rows(_SEEN_EVENTS, asked.events)},
            attempts=set(self._rows(_SEEN_ATTEMPTS, asked.attempts)),
            ingest_keys={key for key in asked.ingest_keys if self._is_ingested(key)},
        )

    def _rows(self, query: str, ids: Collection[str]) -> list[Any]:
        return self._connection.execute(query, (json.dumps(ids),)).fetchall() if ids else []

    def _tails(self, query: str, ids: Collection[str]) -> dict[str, Tail]:
        return {name: Tail(n, seq) for name, n, seq in self._rows(query, ids)}

    def _is_ingested(self, key: bytes) -> bool:
        return self._connection.execute(_SEEN_INGEST_KEY, (key,)).fetchone() is not None

    def insert(self, entries: Sequence[Entry]) -> None:
        at = 0
        for rows, statement in _INSERTS:
            while len(entries) - at >= rows:
                values = itertools.chain.from_iterable(entries[at : at + rows])
                self._connection.execute(statement, list(values))
                at += rows


class SqliteInbox(Inbox):
    """The inbox at a path. Readers see a snapshot and never wait for the writer."""

    def __init__(
        self, path: Path, *, create: bool = True, identity: Identity | None = None
    ) -> None:
        self._path = path
        self._uri = f"{path.absolute().as_uri()}?mode=rw"  # opening alone never makes a file
        self._writing_alone = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._has_failed = self._is_closed = False
        self._readers = Readers(self._connect)
        try:
            if not path.exists():
                if not create:
                    raise _missing(path)
                self._create(identity or new_identity())
            self._file = _identity(path)
            self.log, self.log_key = self._read_meta()
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise self._unavailable("opened", error) from error
        except InboxUnavailable:
            self.close()
            raise

    # --- opening ---

    def _create(self, identity: Identity) -> None:
        """Made whole beside its path, then put there: a crash leaves no half of an inbox, and
        where another process was faster, its log stays."""
        folder = self._path.parent
        missing = [it for it in (folder, *folder.parents) if not it.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=folder) as aside:
            draft = Path(aside) / self._path.name
            # SQLite gives its WAL the mode of this file; bodies hold personal data.
            os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                connection.execute("pragma journal_mode = wal")
                connection.execute("pragma synchronous = full")
                connection.executescript(f"begin; {_SCHEMA} commit;")
                connection.executemany(
                    "insert into meta (name, value) values (?, ?)",
                    [("log", identity.log.encode()), ("log_key", identity.log_key)],
                )
            with contextlib.suppress(FileExistsError):
                os.link(draft, self._path)
        for place in (folder, *(it.parent for it in missing)):
            _sync(place)  # the name must survive a power cut like the bytes behind it

    def _connect(self, busy_seconds: float | None = None) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._uri,
            uri=True,
            timeout=BUSY_SECONDS if busy_seconds is None else busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("pragma synchronous = full")
        except BaseException:
            connection.close()
            raise
        return connection

    def _read_meta(self) -> tuple[str, bytes]:
        with self._readers.borrowed() as connection:
            (application,) = connection.execute("pragma application_id").fetchone()
            (version,) = connection.execute("pragma user_version").fetchone()
            if (application, version) != (APPLICATION_ID, SCHEMA_VERSION):
                raise InboxUnavailable(
                    f"{self._path} is no inbox",
                    f"it is an SQLite file of another program or version ({application:#x},"
                    f" {version}; expected {APPLICATION_ID:#x}, {SCHEMA_VERSION})",
                    "set PRAZO_INBOX to the inbox's file, or to a path where nothing is yet",
                )
            meta: dict[str, bytes] = dict(connection.execute("select name, value from meta"))
        return meta["log"].decode(), meta["log_key"]

    def _unavailable(self, done: str, error: Exception) -> InboxUnavailable:
        return InboxUnavailable(
            f"The inbox {self._path} cannot be {done}",
            str(error),
            "check the disk's free space and the file's permissions, then try again",
        )

    # --- writing ---

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        with self._exclusively() as connection:
            yield _SqliteTransaction(connection)

    @contextmanager
    def _exclusively(self) -> Iterator[sqlite3.Connection]:
        """The writer, in a transaction that is committed and synced when the block ends."""
        try:
            with self._writing_alone:
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
        if _identity(self._path) != self._file:
            raise OSError("another file lies at its path since it was opened; restart to use that")
        if self._writer is None:
            self._empty_wal()
            self._writer = self._connect()
            self._writer.execute(f"pragma cache_size = -{WRITER_CACHE_KIB}")
            self._writer.execute(f"pragma journal_size_limit = {MAX_WAL_BYTES}")
        self._writer.execute("begin immediate")
        return self._writer

    def _empty_wal(self) -> None:
        """Moves the WAL's pages into the database, so that a new writer starts an empty one.

        After a sync that failed, the system may count pages as clean that never reached the disk.
        Entries that are appended behind such pages would be acknowledged, and lost in a power cut.
        The checkpoint writes the pages anew and syncs them; after a failure of ours nothing is
        appended until it succeeds. What a former process left is emptied too, unless someone is
        using it just now: that process may have ended because of such a failure.
        """
        with closing(self._connect(BUSY_SECONDS if self._has_failed else 0)) as connection:
            is_busy, *_ = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
        if is_busy and self._has_failed:
            raise sqlite3.OperationalError(
                f"a write has failed, and a reader kept the file busy for {BUSY_SECONDS:.0f} s, so"
                " that it could not be made sound again"
            )
        self._has_failed = False

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def probe(self) -> None:
        with self._exclusively() as connection:
            connection.execute(_PROBE, (self.clock(),))

    def put_head(self, head: Head) -> None:
        with self._exclusively() as connection:
            connection.execute(_PUT_HEAD, head)

    def put_checkpoint(self, signed: SignedHead) -> None:
        with self._exclusively() as connection:
            connection.execute(_PUT_CHECKPOINT, signed)

    # --- reading ---

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._readers.borrowed() as connection:
                yield connection
        except sqlite3.Error as error:
            raise self._unavailable("read", error) from error

    def last(self) -> tuple[int, int]:
        with self._reading() as connection:
            seq, recorded_at = connection.execute(_LAST).fetchone() or (0, 0)
            return seq, recorded_at

    def read(self, after: int, limit: int, *, max_bytes: int = MAX_BYTES_A_READ) -> list[Entry]:
        entries: list[Entry] = []
        size = 0
        with (
            self._reading() as connection,
            closing(
                connection.execute(f"{_SELECT} where seq > ? order by seq limit ?", (after, limit))
            ) as rows,
        ):
            for row in rows:
                entry = _entry(row)
                entries.append(entry)
                size += len(entry.body or b"")
                if size >= max_bytes:
                    break
        return entries

    def _find(self, given: Mapping[str, str]) -> list[Entry]:
        condition = " and ".join(f"{column} = ?" for column in given)
        with self._reading() as connection:
            rows = connection.execute(
                f"{_SELECT} where {condition} order by seq", list(given.values())
            )
            return [_entry(row) for row in rows]

    def head(self) -> Head | None:
        with self._reading() as connection:
            row = connection.execute("select size, root from heads").fetchone()
            return Head._make(row) if row else None

    def checkpoint(self) -> SignedHead | None:
        with self._reading() as connection:
            row = connection.execute(f"{_CHECKPOINTS} desc limit 1").fetchone()
            return SignedHead._make(row) if row else None

    def checkpoints(self) -> list[SignedHead]:
        with self._reading() as connection:
            return list(map(SignedHead._make, connection.execute(_CHECKPOINTS).fetchall()))

    def close(self) -> None:
        with self._writing_alone:
            self._is_closed = True
            self._drop_writer()
        self._readers.close()


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _missing(path: Path) -> InboxMissing:
    return InboxMissing(
        f"There is no inbox at {path}",
        "the file does not exist",
        "set PRAZO_INBOX to the file that `prazo receive` writes, or start that first",
    )
