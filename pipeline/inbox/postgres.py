"""The inbox in PostgreSQL: several receivers on several machines, one log.

Writers take turns under an advisory lock that ends with their transaction, so that `seq` has no
gaps and no entry becomes visible before one with a smaller `seq`. Everything lives in a schema of
its own, `prazo`; a database holds one inbox.
"""

import select
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pipeline.errors import InboxUnavailable
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

Connection = psycopg.Connection[tuple[Any, ...]]

SCHEMA_VERSION: Final = "1"
ADVISORY_LOCK: Final = int.from_bytes(b"prazo", "big")

CONNECTION_DEFAULTS: Final[Mapping[str, str]] = {
    "application_name": "prazo",
    "client_encoding": "utf8",
    "connect_timeout": "5",  # seconds
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",  # milliseconds; a server that vanished is given up after it
    "target_session_attrs": "read-write",  # of several hosts, the one that is primary now
}
"""What an inbox's URL may set otherwise, each by its libpq name."""

_SESSION = """
    select current_setting('fsync'),
        current_setting('server_encoding'),
        -- A commit that is answered before it is on disk is no promise; remote_apply is a stronger
        -- one than ours and stays.
        set_config('synchronous_commit', case current_setting('synchronous_commit')
            when 'remote_apply' then 'remote_apply' else 'on' end, false),
        -- A cancelled wait for a synchronous standby would count as committed.
        set_config('statement_timeout', '0', false),
        set_config('lock_timeout', '10s', false),
        -- A receiver that hangs while it holds the lock must not hold up the others.
        set_config('idle_in_transaction_session_timeout', '30s', false),
        set_config('jit', 'off', false)"""

# Identifiers compare byte by byte: an index must not depend on a locale that upgrades change.
_SCHEMA = """
create schema if not exists prazo;

create table if not exists prazo.meta (name text primary key, value bytea not null);

create table if not exists prazo.entries (
    seq bigint primary key,
    kind text collate "C" not null,
    occurred_at bigint not null,        -- microseconds since the epoch, UTC, like every instant
    recorded_at bigint not null,
    origin text collate "C" not null,
    recorded_by text collate "C" not null,
    event_id text collate "C",
    attempt_id text collate "C",
    process_id text collate "C",
    seller_id text collate "C",
    status integer,
    process_n bigint,
    process_prev bigint,
    seller_n bigint,
    seller_prev bigint,
    is_again boolean not null,
    record bytea,
    body bytea,
    salt bytea,
    leaf bytea not null,
    ingest_key bytea
);

create index if not exists entries_process on prazo.entries (process_id, process_n)
    where process_id is not null;
create index if not exists entries_seller on prazo.entries (seller_id, seller_n)
    where seller_id is not null;
create index if not exists entries_event on prazo.entries (event_id) where event_id is not null;
create index if not exists entries_attempt on prazo.entries (attempt_id)
    where attempt_id is not null;
create unique index if not exists entries_ingest on prazo.entries (ingest_key)
    where ingest_key is not null;
create index if not exists entries_quarantine on prazo.entries (kind) where kind = 'quarantine';

create or replace function prazo.refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'append-only: entries are never changed or deleted';
end $$;

create or replace trigger entries_append_only
    before update or delete or truncate on prazo.entries
    for each statement execute function prazo.refuse_change();
alter table prazo.entries enable always trigger entries_append_only;

create table if not exists prazo.heads (
    id integer primary key check (id = 1),
    size bigint not null,
    root bytea not null
);

create table if not exists prazo.checkpoints (size bigint primary key, note text not null);

create table if not exists prazo.probes (
    id integer primary key check (id = 1),
    probed_at bigint not null
);
"""

_COPY = f"copy prazo.entries ({', '.join(COLUMNS)}) from stdin (format binary)"
_COPY_TYPES: Final = (
    *("int8", "text", "int8", "int8", "text", "text"),  # seq ... recorded_by
    *("text", "text", "text", "text", "int4"),  # event_id ... status
    *("int8", "int8", "int8", "int8", "bool"),  # process_n ... is_again
    *("bytea", "bytea", "bytea", "bytea", "bytea"),  # record ... ingest_key
)
_LAST = "select seq, recorded_at from prazo.entries order by seq desc limit 1"
_SELECT = f"select {', '.join(COLUMNS)} from prazo.entries"
_READ = f"""
    {_SELECT}
    where seq > %(after)s
        and seq <= %(after)s + %(limit)s
        and seq <= coalesce(
            (
                select min(seq)
                from (
                    select seq, sum(octet_length(body)) over (order by seq) as size
                    from prazo.entries
                    where seq > %(after)s and seq <= %(after)s + %(limit)s
                ) sized
                where size >= %(max_bytes)s
            ),
            %(after)s + %(limit)s
        )
    order by seq"""
_PUT_HEAD = """
    insert into prazo.heads (id, size, root) values (1, %s, %s)
    on conflict (id) do update set size = excluded.size, root = excluded.root
    where excluded.size > heads.size"""
_PUT_CHECKPOINT = """
    insert into prazo.checkpoints (size, note) values (%s, %s) on conflict do nothing"""
_CHECKPOINTS = "select size, note from prazo.checkpoints order by size"
_PROBE = """
    insert into prazo.probes (id, probed_at) values (1, %s)
    on conflict (id) do update set probed_at = excluded.probed_at"""


# A lateral join looks each identifier up by its index, whatever the statistics say.
def _tails(stream: str) -> str:
    return f"""
        select asked.id, tail.n, tail.seq
        from unnest(%s::text[]) asked (id)
        cross join lateral (
            select {stream}_n as n, seq
            from prazo.entries
            where {stream}_id = asked.id
            order by {stream}_n desc
            limit 1
        ) tail"""


_PROCESS_TAILS, _SELLER_TAILS = _tails("process"), _tails("seller")
_SEEN_EVENTS = """
    select asked.id
    from unnest(%s::text[]) asked (id)
    cross join lateral (select from prazo.entries where event_id = asked.id limit 1) seen"""
_SEEN_ATTEMPTS = """
    select distinct seen.kind, asked.id
    from unnest(%s::text[]) asked (id)
    cross join lateral (select kind from prazo.entries where attempt_id = asked.id) seen"""
_SEEN_INGEST_KEYS = """
    select asked.key
    from unnest(%b::bytea[]) asked (key)
    cross join lateral (select from prazo.entries where ingest_key = asked.key limit 1) seen"""


class _PostgresTransaction:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def look_up(self, asked: Asked) -> Known:
        """One round trip: the questions go out together, then the answers are read."""
        with self._connection.pipeline():
            last = self._connection.execute(_LAST)
            processes = self._ask(_PROCESS_TAILS, asked.processes)
            sellers = self._ask(_SELLER_TAILS, asked.sellers)
            events = self._ask(_SEEN_EVENTS, asked.events)
            attempts = self._ask(_SEEN_ATTEMPTS, asked.attempts)
            ingest_keys = self._ask(_SEEN_INGEST_KEYS, asked.ingest_keys)
        seq, recorded_at = last.fetchone() or (0, 0)
        return Known(
            seq=seq,
            recorded_at=recorded_at,
            processes={name: Tail(n, at) for name, n, at in processes},
            sellers={name: Tail(n, at) for name, n, at in sellers},
            events={row[0] for row in events},
            attempts=set(attempts),
            ingest_keys={row[0] for row in ingest_keys},
        )

    def _ask(self, query: str, values: Sequence[object]) -> Iterable[Any]:
        return self._connection.execute(query, (values,), binary=True) if values else ()

    def insert(self, entries: Sequence[Entry]) -> None:
        with self._connection.cursor().copy(_COPY) as copy:
            copy.set_types(_COPY_TYPES)
            for entry in entries:
                copy.write_row(entry)


class PostgresInbox(Inbox):
    """The inbox in the database at a `postgresql://` URL. A connection that is lost fails the call
    under way, and is made anew by the next."""

    def __init__(self, url: str, *, create: bool = True, identity: Identity | None = None) -> None:
        self._conninfo, self._place_name = _connection_of(url)
        self._writing_alone = threading.Lock()
        self._writer: Connection | None = None
        self._is_closed = False
        self._readers = Readers(self._connect, _is_usable)
        try:
            with self._doing("opened"), self._readers.borrowed() as connection:
                self._set_up(connection, create, identity or new_identity())
                self.log, self.log_key = self._read_meta(connection)
        except InboxUnavailable:
            self.close()
            raise

    # --- opening ---

    def _connect(self) -> Connection:
        connection: Connection = psycopg.connect(self._conninfo, autocommit=True)
        try:
            row = connection.execute(_SESSION).fetchone() or ()
            self._check(fsync=row[0], encoding=row[1])
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, *, fsync: str, encoding: str) -> None:
        if fsync != "on":
            raise InboxUnavailable(
                f"The inbox {self._place_name} is not used",
                "its server runs with fsync off: it would lose acknowledged entries in a power cut",
                "set fsync = on in postgresql.conf and restart the server",
            )
        if encoding != "UTF8":
            raise InboxUnavailable(
                f"The inbox {self._place_name} is not used",
                f"the database's encoding is {encoding}: it cannot hold every identifier",
                "create the database with encoding UTF8",
            )

    def _set_up(self, connection: Connection, create: bool, identity: Identity) -> None:
        if _has_tables(connection):
            return
        if not create:
            raise InboxUnavailable(
                f"There is no inbox at {self._place_name}",
                "the database has no schema prazo with an inbox's tables",
                "set PRAZO_INBOX to the database that `prazo receive` writes, or start it first",
            )
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
            connection.execute(_SCHEMA)
            connection.cursor().executemany(
                "insert into prazo.meta (name, value) values (%s, %s) on conflict do nothing",
                [
                    ("version", SCHEMA_VERSION.encode()),
                    ("log", identity.log.encode()),
                    ("log_key", identity.log_key),
                ],
            )

    def _read_meta(self, connection: Connection) -> tuple[str, bytes]:
        rows = connection.execute("select name, value from prazo.meta", binary=True)
        meta: dict[str, bytes] = dict(rows.fetchall())
        if meta["version"] != SCHEMA_VERSION.encode():
            raise InboxUnavailable(
                f"The inbox {self._place_name} is not used",
                f"its tables have version {meta['version'].decode()}, not {SCHEMA_VERSION}",
                "use the version of Prazo that wrote it",
            )
        return meta["log"].decode(), meta["log_key"]

    @contextmanager
    def _doing(self, done: str) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise InboxUnavailable(
                f"The inbox {self._place_name} cannot be {done}",
                str(error).strip() or type(error).__name__,
                "check that the server runs, its disk, and this user's rights; then try again",
            ) from error

    # --- writing ---

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        with self._doing("written"), self._writing_alone:
            try:
                connection = self._begun()
                yield _PostgresTransaction(connection)
                connection.execute("commit")
            except BaseException:
                # The server rolls back what it had not committed; a connection whose transaction
                # failed is not used again.
                self._drop_writer()
                raise

    def _begun(self) -> Connection:
        """The writer, in a transaction that excludes every other.

        Read committed, whatever the server's default: a snapshot as old as the wait for the lock
        would not show what the lock's former holder has written.
        """
        if self._is_closed:
            raise psycopg.InterfaceError("it is closed already")
        if self._writer is not None and not _is_usable(self._writer):
            self._drop_writer()
        if self._writer is None:
            self._writer = self._connect()
        with self._writer.pipeline():
            self._writer.execute("begin isolation level read committed read write")
            self._writer.execute("select pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
        return self._writer

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def probe(self) -> None:
        with self._using("written") as connection:
            connection.execute(_PROBE, (self.clock(),))

    def put_head(self, head: Head) -> None:
        with self._using("written") as connection:
            connection.execute(_PUT_HEAD, head)

    def put_checkpoint(self, signed: SignedHead) -> None:
        with self._using("written") as connection:
            connection.execute(_PUT_CHECKPOINT, signed)

    # --- reading ---

    @contextmanager
    def _using(self, done: str = "read") -> Iterator[Connection]:
        """A connection on which every statement is a transaction of its own."""
        with self._doing(done), self._readers.borrowed() as connection:
            yield connection

    def last(self) -> tuple[int, int]:
        with self._using() as connection:
            seq, recorded_at = connection.execute(_LAST).fetchone() or (0, 0)
            return seq, recorded_at

    def read(self, after: int, limit: int, *, max_bytes: int = MAX_BYTES_A_READ) -> list[Entry]:
        parameters = {"after": after, "limit": limit, "max_bytes": max_bytes}
        with self._using() as connection:
            rows = connection.execute(_READ, parameters, binary=True)
            return [Entry._make(row) for row in rows]

    def _find(self, given: Mapping[str, str]) -> list[Entry]:
        condition = " and ".join(f"{column} = %s" for column in given)
        with self._using() as connection:
            rows = connection.execute(
                f"{_SELECT} where {condition} order by seq", list(given.values()), binary=True
            )
            return [Entry._make(row) for row in rows]

    def head(self) -> Head | None:
        with self._using() as connection:
            row = connection.execute("select size, root from prazo.heads", binary=True).fetchone()
            return Head._make(row) if row else None

    def checkpoint(self) -> SignedHead | None:
        with self._using() as connection:
            row = connection.execute(f"{_CHECKPOINTS} desc limit 1", binary=True).fetchone()
            return SignedHead._make(row) if row else None

    def checkpoints(self) -> list[SignedHead]:
        with self._using() as connection:
            return [SignedHead._make(row) for row in connection.execute(_CHECKPOINTS, binary=True)]

    def close(self) -> None:
        with self._writing_alone:
            self._is_closed = True
            self._drop_writer()
        self._readers.close()


def _is_usable(connection: Connection) -> bool:
    """Whether the server is still there, as far as this end knows: between two statements it
    sends nothing but a farewell. So a restart of the server costs no delivery a 503."""
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return not waiting.poll(0)


def _has_tables(connection: Connection) -> bool:
    row = connection.execute("select to_regclass('prazo.meta') is not null").fetchone()
    return bool(row and row[0])


def _connection_of(url: str) -> tuple[str, str]:
    """(connection string with our defaults, name to show: it never holds the password)."""
    try:
        given = {name: str(it) for name, it in conninfo_to_dict(url).items()}
    except psycopg.ProgrammingError:  # its message repeats the URL
        raise InboxUnavailable(
            "The inbox cannot be opened",
            "PRAZO_INBOX is not a valid PostgreSQL URL",
            "write it as postgresql://user@host:5432/database; the password belongs in a"
            " ~/.pgpass file",
        ) from None
    place = ":".join(given[name] for name in ("host", "port") if name in given)
    shown = f"postgresql://{place}/{given.get('dbname', '')}"
    return make_conninfo("", **{**CONNECTION_DEFAULTS, **given}), shown
