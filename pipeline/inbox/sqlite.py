"""The inbox in one SQLite file: WAL, `synchronous=FULL`, no server to run."""

import json
import os
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.errors import InboxUnavailable
from pipeline.inbox.store import (
    COLUMNS,
    MAX_BYTES_A_READ,
    Head,
    Inbox,
    Tail,
    Transaction,
    new_log_name,
)
from pipeline.occurrences import Entry

BUSY_TIMEOUT_SECONDS = 10.0

_SCHEMA = """
create table if not exists meta (name text primary key, value blob not null) strict;

create table if not exists entries (
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

create index if not exists entries_process on entries (process_id, process_n)
    where process_id is not null;
create index if not exists entries_seller on entries (seller_id, seller_n)
    where seller_id is not null;
create index if not exists entries_event on entries (event_id) where event_id is not null;
create index if not exists entries_attempt on entries (attempt_id) where attempt_id is not null;
create unique index if not exists entries_ingest on entries (ingest_key)
    where ingest_key is not null;
create index if not exists entries_quarantine on entries (kind) where kind = 'quarantine';

create trigger if not exists entries_no_update before update on entries
begin select raise(abort, 'append-only: entries are never changed'); end;
create trigger if not exists entries_no_delete before delete on entries
begin select raise(abort, 'append-only: entries are never deleted'); end;

create table if not exists heads (
    only integer primary key check (only = 1),
    size integer not null,
    root blob not null
) strict;
"""

_SELECT = f"select {', '.join(COLUMNS)} from entries"
_IS_AGAIN = COLUMNS.index("is_again")
_ROWS_A_FETCH = 256
_INSERT = f"insert into entries ({', '.join(COLUMNS)}) values ({', '.join('?' * len(COLUMNS))})"


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


def _entry(row: Sequence[Any]) -> Entry:
    return Entry._make((*row[:_IS_AGAIN], bool(row[_IS_AGAIN]), *row[_IS_AGAIN + 1 :]))


class _SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def last(self) -> tuple[int, int]:
        row = self._connection.execute(
            "select seq, recorded_at from entries order by seq desc limit 1"
        ).fetchone()
        return (row[0], row[1]) if row else (0, 0)

    def process_tails(self, ids: Collection[str]) -> dict[str, Tail]:
        return self._tails(_PROCESS_TAILS, ids)

    def seller_tails(self, ids: Collection[str]) -> dict[str, Tail]:
        return self._tails(_SELLER_TAILS, ids)

    def _tails(self, query: str, ids: Collection[str]) -> dict[str, Tail]:
        if not ids:
            return {}
        rows = self._connection.execute(query, (json.dumps(list(ids)),))
        return {name: Tail(n, seq) for name, n, seq in rows}

    def seen_events(self, ids: Collection[str]) -> set[str]:
        if not ids:
            return set()
        rows = self._connection.execute(
            "select value from json_each(?)"
            " where exists (select 1 from entries where event_id = value)",
            (json.dumps(list(ids)),),
        )
        return {row[0] for row in rows}

    def seen_attempts(self, ids: Collection[str]) -> set[tuple[str, str]]:
        if not ids:
            return set()
        rows = self._connection.execute(
            "select kind, attempt_id from entries"
            " where attempt_id in (select value from json_each(?))",
            (json.dumps(list(ids)),),
        )
        return set(rows)

    def seen_ingest_keys(self, keys: Collection[bytes]) -> set[bytes]:
        if not keys:
            return set()
        found = (
            self._connection.execute(
                "select ingest_key from entries where ingest_key = ?", (key,)
            ).fetchone()
            for key in keys
        )
        return {row[0] for row in found if row}

    def insert(self, entries: Sequence[Entry]) -> None:
        self._connection.executemany(_INSERT, entries)


class SqliteInbox(Inbox):
    """The inbox at a path. Readers see a snapshot and never wait for the writer."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._per_thread = threading.local()
        self._readers: list[sqlite3.Connection] = []
        if not create and not path.exists():
            raise InboxUnavailable(
                f"There is no inbox at {path}",
                "the file does not exist",
                "set PRAZO_INBOX to the file that `prazo receive` writes, or start it first",
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = self._connect()
            self._set_up()
        except (sqlite3.Error, OSError) as error:
            raise self._unavailable("opened", error) from error

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            timeout=BUSY_TIMEOUT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        connection.execute("pragma cache_size = -65536")  # KiB; index pages of a large log
        return connection

    def _set_up(self) -> None:
        self._path.chmod(0o600)  # bodies hold personal data
        self._writer.executescript(_SCHEMA)
        with self._exclusively():
            self._writer.executemany(
                "insert or ignore into meta (name, value) values (?, ?)",
                [("log", new_log_name().encode()), ("log_key", os.urandom(32))],
            )
        meta: dict[str, bytes] = dict(self._writer.execute("select name, value from meta"))
        self.log, self.log_key = meta["log"].decode(), meta["log_key"]

    def _unavailable(self, done: str, error: Exception) -> InboxUnavailable:
        return InboxUnavailable(
            f"The inbox {self._path} cannot be {done}",
            str(error),
            "check the disk's free space and the file's permissions, then try again",
        )

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        with self._lock:
            self._writer.execute("begin immediate")
            try:
                yield
                self._writer.execute("commit")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("rollback")
                raise

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        try:
            with self._exclusively():
                yield _SqliteTransaction(self._writer)
        except (sqlite3.Error, OSError) as error:
            self._reopen()
            raise self._unavailable("written", error) from error

    def _reopen(self) -> None:
        """A connection whose commit failed is not trusted again.

        The full checkpoint writes and syncs anew what a failed sync may have left in memory only;
        while that fails too, so does every append.
        """
        with self._lock:
            self._writer.close()
            self._writer = self._connect()
            try:
                self._writer.execute("pragma wal_checkpoint(truncate)")
            except sqlite3.Error:
                return  # still failing: the next append says so again

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._per_thread, "connection", None)
        if connection is None:
            connection = self._per_thread.connection = self._connect()
            self._readers.append(connection)
        return connection

    def _query(self, sql: str, parameters: Sequence[object]) -> list[tuple[object, ...]]:
        try:
            return self._reader().execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise self._unavailable("read", error) from error

    def last(self) -> tuple[int, int]:
        try:
            return _SqliteTransaction(self._reader()).last()
        except sqlite3.Error as error:
            raise self._unavailable("read", error) from error

    def read(self, after: int, limit: int, *, max_bytes: int = MAX_BYTES_A_READ) -> list[Entry]:
        entries: list[Entry] = []
        size = 0
        try:
            rows = self._reader().execute(
                f"{_SELECT} where seq > ? order by seq limit ?", (after, limit)
            )
            while size < max_bytes and (some := rows.fetchmany(_ROWS_A_FETCH)):
                entries += map(_entry, some)
                size += sum(len(entry.body or b"") for entry in entries[-len(some) :])
            rows.close()
        except sqlite3.Error as error:
            raise self._unavailable("read", error) from error
        return entries

    def find(
        self,
        *,
        process_id: str | None = None,
        seller_id: str | None = None,
        attempt_id: str | None = None,
        event_id: str | None = None,
        kind: str | None = None,
    ) -> list[Entry]:
        given = {
            name: it
            for name, it in {
                "process_id": process_id,
                "seller_id": seller_id,
                "attempt_id": attempt_id,
                "event_id": event_id,
                "kind": kind,
            }.items()
            if it is not None
        }
        condition = " and ".join(f"{name} = ?" for name in given)
        rows = self._query(f"{_SELECT} where {condition} order by seq", list(given.values()))
        return [_entry(row) for row in rows]

    def head(self) -> Head | None:
        rows = self._query("select size, root from heads", ())
        return Head._make(rows[0]) if rows else None

    def put_head(self, head: Head) -> None:
        try:
            with self._exclusively():
                self._writer.execute(
                    "insert into heads (only, size, root) values (1, ?, ?)"
                    " on conflict (only) do update set size = excluded.size, root = excluded.root"
                    " where excluded.size >= size",
                    head,
                )
        except (sqlite3.Error, OSError) as error:
            raise self._unavailable("written", error) from error

    def probe(self) -> None:
        try:
            with self._exclusively():
                self._writer.execute(
                    "insert or replace into meta (name, value) values ('probe', randomblob(8))"
                )
        except (sqlite3.Error, OSError) as error:
            raise self._unavailable("written", error) from error

    def close(self) -> None:
        for connection in [*self._readers, self._writer]:
            connection.close()
