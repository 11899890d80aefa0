"""Stores the inbox in PostgreSQL, so that several receivers on several machines share one log.

Writers take turns under an advisory lock that ends with their transaction, so that `seq` has no
gaps and no entry becomes visible before one with a smaller `seq`. All tables are in the schema
`prazo`; a database holds one inbox.
"""

import select
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakSet

import psycopg

from pipeline import instants
from pipeline.errors import InboxMissing, InboxUnavailable
from pipeline.inbox import beginnings, schema
from pipeline.inbox.clock import TOLERANCE
from pipeline.inbox.one_writer import in_turn
from pipeline.inbox.postgres.session import (
    ADVISORY_LOCK,
    STATEMENT_SECONDS,
    Session,
    connection_of,
    remedy_for,
    said,
)
from pipeline.inbox.readers import Readers
from pipeline.inbox.schema.rows import Rows, dictionary
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
    people_of,
)
from pipeline.log.actors import Actor
from pipeline.log.entries import Entry, Identity, new_identity

_COPY_TYPES: Final = (
    *("int8", "text", "int8", "int8", "text", "text"),  # seq ... recorded_by
    *("text", "text", "text", "text", "int4"),  # event_id ... status
    *("int8", "int8", "int8", "int8", "bool"),  # process_n ... is_again
    *("bytea", "bytea", "bytea", "bytea", "text"),  # record ... pseudonym
    *("bytea", "bool"),  # ingest_key, is_compressed
)
_LAST = "select seq, recorded_at from prazo.entries order by seq desc limit 1"
_UP_TO_MAX_BYTES = """
    where seq > %(after)s
        and seq <= %(last)s
        and seq <= coalesce(
            (
                select min(seq)
                from (
                    select seq, sum(octet_length(body)) over (order by seq) as size
                    from prazo.entries
                    where seq > %(after)s and seq <= %(last)s
                ) sized
                where size >= %(max_bytes)s
            ),
            %(last)s
        )
    order by seq"""
TABLES_OF: Final = """
    select (select value from prazo.meta where name = 'version') as version,
        (select value from prazo.meta where name = 'needs') as needs"""
_NUMBERS = """concat_ws(' ',
    (select system_identifier from pg_control_system()),
    (select oid from pg_database where datname = current_database()),
    'prazo'::regnamespace::oid)"""
_BEGIN_HERE = f"update prazo.meta set value = convert_to({_NUMBERS}, 'utf8') where name = %s"
_NOW = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint"
_LAST_AND_NOW = f"""
    select * from ({_NOW}) clock cross join ({TABLES_OF}) tables
    left join ({_LAST}) newest on true"""
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
_MAY_TAKE_DISK = "select has_database_privilege(current_database(), 'temporary')"
# A small row finds room in pages that are there already, even on a full disk. The rows of this
# table take a megabyte of new pages, and the server gives them back at the commit.
_TAKE_DISK = """
    create temporary table if not exists taken (filling text) on commit delete rows"""
_FILL = """
    insert into pg_temp.taken select repeat('-', 1900) from generate_series(1, 512)"""


# A lateral join uses the index for each identifier, even where the statistics mislead the planner.
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
_NAMED = "select pseudonym, name, salt from prazo.actors where name = %b order by pseudonym"
_REGISTER = """
    insert into prazo.actors (pseudonym, name, salt) values (%s, %b, %b) on conflict do nothing"""
_SEEN_INGEST_KEYS = """
    select asked.key
    from unnest(%b::bytea[]) asked (key)
    cross join lateral (select from prazo.entries where ingest_key = asked.key limit 1) seen"""


class _PostgresTransaction:
    def __init__(self, connection: Session, rows: Rows) -> None:
        self._connection, self._in_table = connection, rows

    def look_up(self, asked: Asked) -> Known:
        """Takes one round trip: all queries are sent together, then the answers are read."""
        with self._connection.pipeline():
            last = self._connection.execute(_LAST_AND_NOW)
            processes = self._ask(_PROCESS_TAILS, asked.processes)
            sellers = self._ask(_SELLER_TAILS, asked.sellers)
            events = self._ask(_SEEN_EVENTS, asked.events)
            attempts = self._ask(_SEEN_ATTEMPTS, asked.attempts)
            ingest_keys = self._ask(_SEEN_INGEST_KEYS, asked.ingest_keys)
            leaves = self._ask(
                f"select leaf, {self._in_table.is_compressed} from prazo.entries"
                " where seq = any(%s)",
                [asked.seq] if asked.seq else (),
            )
        now, version, needs, seq, recorded_at = last.fetchone() or (None, 0, None, None, None)
        return Known(
            tables=schema.Tables(int(version), needs),
            seq=seq or 0,
            recorded_at=recorded_at or 0,
            processes={name: Tail(n, at) for name, n, at in processes},
            sellers={name: Tail(n, at) for name, n, at in sellers},
            events={row[0] for row in events},
            attempts=set(attempts),
            ingest_keys={row[0] for row in ingest_keys},
            leaf=self._in_table.leaf(next(iter(leaves), None)),
            now=now,
        )

    def _ask(self, query: str, values: Sequence[object]) -> Iterable[Any]:
        return self._connection.execute(query, (values,), binary=True) if values else ()

    def insert(self, entries: Sequence[Entry]) -> None:
        for person in people_of(entries):
            self._connection.execute(_REGISTER, person)
        columns = self._in_table.columns
        sql = f"copy prazo.entries ({', '.join(columns)}) from stdin (format binary)"
        with self._connection.cursor().copy(sql) as copy:
            copy.set_types(_COPY_TYPES)
            for row in self._in_table.to_rows(entries):
                copy.write_row(row)

    def execute(self, statement: Statement) -> int:
        cursor = psycopg.RawCursor(self._connection)
        return cursor.execute(statement.sql, statement.values).rowcount

    def actors_named(self, name: bytes) -> list[Actor]:
        found = self._connection.execute(_NAMED, (name,), binary=True)
        return [Actor._make(row) for row in found]


class PostgresInbox(Inbox):
    """The inbox in the database at a `postgresql://` URL.

    When a connection is lost, the call under way fails and the next call connects again.
    """

    def __init__(
        self,
        url: str,
        *,
        create: bool = True,
        identity: Identity | None = None,
        version: int | None = None,
    ) -> None:
        super().__init__()
        self.version = schema.VERSION if version is None else version
        self.rows = Rows(dictionary())
        self._is_open = False
        self._conninfo, self._place_name = connection_of(url)
        self._writing_alone = threading.Lock()
        self._writer: Session | None = None
        self._is_closed = False
        self._readers = Readers(self._connect, _is_usable)
        self._proved: WeakSet[Session] = WeakSet()  # connections to what the guard has passed
        try:
            with self._doing("opened"), self._readers.borrowed() as connection:
                self._set_up(connection, create, identity)
                self.log, self.log_key = self._read_meta(connection)
        except InboxUnavailable:
            self.close()
            raise
        self._is_open = True

    # --- opening ---

    def _connect(self, *, writes: bool = False) -> Session:
        """Raises `InboxUnavailable` where the tables are of another version by now: its entries
        may stand there otherwise; and where another log is there by now."""
        session = Session.opened(self._conninfo, self._place_name, writes=writes)
        if self._is_open:
            try:
                log, _ = self._read_meta(session)
                if log != self.log:
                    raise InboxUnavailable(
                        f"There is another inbox at {self._place_name} by now",
                        f"it is the log {log}, and {self.log} was there before",
                        "if that one is to be used, start this program again; else put the other"
                        " back",
                    )
            except BaseException:
                session.close()
                raise
        return session

    def _set_up(self, connection: Session, create: bool, identity: Identity | None) -> None:
        if _has_tables(connection):
            return
        if not create:
            raise InboxMissing(
                f"There is no inbox at {self._place_name}",
                "the database has no schema prazo with an inbox's tables",
                "set PRAZO_INBOX to the database that `prazo receive` writes, or start it first",
            )
        begun = identity or new_identity()
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
            is_first = not _has_tables(connection)
            connection.execute(schema.steps("postgres", until=self.version))
            connection.cursor().executemany(
                "insert into prazo.meta (name, value) values (%s, %s) on conflict do nothing",
                [
                    ("version", str(self.version).encode()),
                    *schema.meta_of(begun, self.version).items(),
                ],
            )
            if is_first and identity is None:
                connection.execute(_BEGIN_HERE, (schema.STANDS,))
        if is_first and identity is None:
            beginnings.say(begun.log, self._place_name, beginnings.beside(None))

    def _read_meta(self, connection: Session) -> tuple[str, bytes]:
        rows = connection.execute("select name, value from prazo.meta", binary=True)
        meta: dict[str, bytes] = dict(rows.fetchall())
        tables = schema.Tables(int(meta["version"]), meta.get("needs"))
        schema.check(self._place_name, tables, self.version)
        return schema.identity(self._place_name, meta)

    @contextmanager
    def _doing(self, done: str) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise InboxUnavailable(
                f"The inbox {self._place_name} cannot be {done}",
                said(error),
                remedy_for(error),
            ) from error

    # --- writing ---

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        with self._exclusively() as session:
            yield _PostgresTransaction(session, self.rows)

    @contextmanager
    def _exclusively(self) -> Iterator[Session]:
        """The writer, in a transaction that excludes every other writer, and that is on disk when
        the block ends."""
        with self._doing("written"), in_turn(self._writing_alone):
            try:
                session = self._begun()
                with session.limited_to(STATEMENT_SECONDS):
                    yield session
                session.commit_durably()
            except BaseException:
                # The server rolls back a transaction that it has not committed. A connection is
                # not used again after its transaction failed.
                if self._writer is not None and self._writer.closed:
                    self._readers.drop_idle()  # the next writer is proved by what these read
                self._drop_writer()
                raise

    def _begun(self) -> Session:
        if self._is_closed:
            raise psycopg.InterfaceError("it is closed already")
        if self._writer is not None and not _is_usable(self._writer):
            self._drop_writer()
        if self._writer is None or not self._is_proved:
            self._drop_writer()
            self._writer = self._connect(writes=True)
            self.prove()
        with self._writer.limited_to(STATEMENT_SECONDS):
            self._writer.begin_alone()
        return self._writer

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def probe(self) -> None:
        """Writes and syncs a mark by the way that entries take."""
        with self._exclusively() as session:
            _PostgresTransaction(session, self.rows).insert(())  # nothing, by the way of an entry
            if session.execute(_MAY_TAKE_DISK).fetchone() == (True,):
                session.execute(_TAKE_DISK)
                session.execute(_FILL)
            session.execute(_PROBE, (self.clock(),))

    def put_head(self, head: Head) -> None:
        """Stores the head, unless the stored one is at least as large."""
        with self._using("written") as connection:
            connection.execute(_PUT_HEAD, head)

    def put_checkpoint(self, signed: SignedHead) -> None:
        """Stores a signed checkpoint, unless there is one of the same size."""
        with self._using("written") as connection:
            connection.execute(_PUT_CHECKPOINT, signed)

    def execute(self, sql: str, *values: object) -> int:
        """Runs one statement on the tables beside the log; how many rows it changed."""
        with self._using("written") as connection:
            return psycopg.RawCursor(connection).execute(sql, values).rowcount

    def compare_clocks(self) -> None:
        """Asks for the database's time."""
        self.steady()

    # --- reading ---

    def now(self) -> int:
        """The database's clock, in microseconds: the same for every machine. Once it has left the
        time that is believed, that time."""
        of_server, believed = self.steady(), self.machine.now()
        return of_server if abs(of_server - believed) <= TOLERANCE else believed

    def stands(self) -> str:
        """The server's number, and those of the database and of its schema."""
        [(numbers,)] = self.query(f"select {_NUMBERS}")
        return str(numbers)

    def steady(self) -> int:
        """The database's clock, whatever it says."""
        asked = instants.since_boot()
        [(now,)] = self.query(_NOW)
        self.machine.hear_database(asked, int(now))
        return int(now)

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of one statement on the tables beside the log."""
        with self._using() as connection:
            return ask(connection, sql, *values)

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """A transaction on the tables beside the log; on disk when the block ends."""
        with self._using("written") as session:
            with session.limited_to(STATEMENT_SECONDS):
                session.execute("begin isolation level read committed read write")
                yield session
            session.commit_durably()

    def insert(self, session: Session, entries: Sequence[Entry]) -> None:
        """Adds entries in a transaction of somebody who replaces all of them."""
        _PostgresTransaction(session, self.rows).insert(entries)

    @contextmanager
    def _using(self, done: str = "read") -> Iterator[Session]:
        """A connection on which each statement is its own transaction. What is written over it
        needs a proved inbox, as an entry does."""
        with self._doing(done), self._readers.borrowed() as connection:
            if done == "written" and not (self._is_proved and connection in self._proved):
                self.prove()
                self._proved.add(connection)
            yield connection

    def tables(self) -> schema.Tables:
        """What it says of its tables now."""
        with self._using() as connection:
            return tables_of(connection)

    def last(self) -> tuple[int, int]:
        """The newest entry's seq and receipt; (0, 0) in an empty log."""
        with self._using() as connection:
            seq, recorded_at = connection.execute(_LAST).fetchone() or (0, 0)
            return seq, recorded_at

    def read(self, after: int, limit: int, *, max_bytes: int = MAX_BYTES_PER_READ) -> list[Entry]:
        """The entries after a seq, in order, cut by the server at `max_bytes`."""
        # A sum of parameters would be as small as both are: of 16 bits up to 32,767.
        parameters = {"after": after, "last": after + limit, "max_bytes": max_bytes}
        sql = f"select {self.rows.selected} from prazo.entries {_UP_TO_MAX_BYTES}"
        with self._using() as connection:
            return self.rows.to_entries(connection.execute(sql, parameters, binary=True).fetchall())

    def _find(self, given: Mapping[str, str]) -> list[Entry]:
        condition = " and ".join(f"{column} = %s" for column in given)
        sql = f"select {self.rows.selected} from prazo.entries where {condition} order by seq"
        with self._using() as connection:
            rows = connection.execute(sql, list(given.values()), binary=True)
            return self.rows.to_entries(rows.fetchall())

    def head(self) -> Head | None:
        """The stored head; None before the first."""
        with self._using() as connection:
            row = connection.execute("select size, root from prazo.heads", binary=True).fetchone()
            return Head._make(row) if row else None

    def checkpoint(self) -> SignedHead | None:
        """The largest signed checkpoint; None before the first."""
        with self._using() as connection:
            row = connection.execute(f"{_CHECKPOINTS} desc limit 1", binary=True).fetchone()
            return SignedHead._make(row) if row else None

    def checkpoints(self) -> list[SignedHead]:
        """All signed checkpoints, smallest first."""
        with self._using() as connection:
            return [SignedHead._make(row) for row in connection.execute(_CHECKPOINTS, binary=True)]

    def close(self) -> None:
        """Closes the writer's and the readers' connections."""
        with in_turn(self._writing_alone):
            self._is_closed = True
            self._drop_writer()
        self._readers.close()


def tables_of(session: Session) -> schema.Tables:
    """What an inbox says of its tables."""
    version, needs = session.execute(TABLES_OF, binary=True).fetchone() or (0, None)
    return schema.Tables(int(version), needs)


def ask(session: Session, sql: str, *values: object) -> list[tuple[Any, ...]]:
    """The rows of one statement, if it has any; values stand in it as `$1`, `$2` ..."""
    cursor = psycopg.RawCursor(session).execute(sql, values, binary=True)
    return cursor.fetchall() if cursor.description else []


def _is_usable(connection: Session) -> bool:
    """Whether the server is still there, as far as this end knows.

    Between two statements the server sends something only when it closes the connection. Thanks to
    this check, no delivery is answered 503 because the server was restarted.
    """
    if connection.closed:
        return False
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return not waiting.poll(0)


def _has_tables(connection: Session) -> bool:
    row = connection.execute("select to_regclass('prazo.meta') is not null").fetchone()
    return bool(row and row[0])
