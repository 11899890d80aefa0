"""Opens sessions with the inbox's PostgreSQL server in which no wait is without an end.

A server may be gone, frozen, or behind a network that swallows packets; so may we, while we hold
the lock that all writers take turns under. Both sides give the other up: we by a limit on every
answer, the server by time-outs of the session. Nothing but a limit of ours, which is long, is over
a commit: a commit that the server cancels could be answered as if it were durable.
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Self, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pipeline.errors import InboxUnavailable, Quoted
from pipeline.hosts import in_url

ADVISORY_LOCK: Final = int.from_bytes(b"prazo", "big")

LOCK_SECONDS: Final = 5.0
"""Until a writer that waits for the lock looks at who holds it, and then waits once more."""
SILENT_SECONDS: Final = 4.0
"""So long may the lock's holder keep the server waiting for its next word. It takes milliseconds
to write; a holder that is silent for longer is frozen, or its machine is gone."""
STATEMENT_SECONDS: Final = 10.0
"""For a statement of a writer's transaction, until its answer is here."""
READ_SECONDS: Final = 60.0
"""For what a reader asks: a ledger that catches up reads 32 MiB at once."""
COMMIT_SECONDS: Final = 60.0
"""For a commit's answer. Then its outcome is unknown, as after a lost connection."""

OF_PRAZO: Final = "prazo"
"""Begins the name of each session, by which a migration knows who uses the inbox."""
CONNECTION_DEFAULTS: Final[Mapping[str, str]] = {
    "application_name": OF_PRAZO,
    "client_encoding": "utf8",
    "connect_timeout": "5",  # seconds
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",  # milliseconds until we give up a server that vanished
    "target_session_attrs": "read-write",  # of several hosts, the one that is primary now
}
"""Our defaults, by their libpq names; an inbox's URL may set others."""

_SESSION = f"""
    select current_setting('fsync'),
        current_setting('server_encoding'),
        -- A commit that is answered before it is on disk promises nothing; remote_apply promises
        -- more than we need, and stays.
        set_config('synchronous_commit', case current_setting('synchronous_commit')
            when 'remote_apply' then 'remote_apply' else 'on' end, false),
        -- A cancelled wait for a synchronous standby would count as committed.
        set_config('statement_timeout', '0', false),
        set_config('client_min_messages', 'warning', false),  -- `commit_durably` listens
        set_config('lock_timeout', '{LOCK_SECONDS:g}s', false),
        -- A receiver that freezes or vanishes while it holds the lock must not hold up the others.
        set_config('idle_in_transaction_session_timeout', '{2 * SILENT_SECONDS:g}s', false),
        set_config('tcp_keepalives_idle', '5', false),
        set_config('tcp_keepalives_interval', '2', false),
        set_config('tcp_keepalives_count', '3', false),
        set_config('tcp_user_timeout', '10s', false),
        -- What takes disk in a probe takes it where the entries are.
        set_config('temp_tablespaces', '', false),
        set_config('search_path', 'prazo', false),
        set_config('jit', 'off', false),
        -- By it a transaction knows that all of this still holds where it runs.
        set_config('prazo.session', %s, false),
        -- Not in every version: the server notices in a long statement that we have hung up.
        (
            select set_config(name, '2s', false) from pg_settings
            where name = 'client_connection_check_interval'
        )"""

_END_A_SILENT_HOLDER = f"""
    select pg_terminate_backend(pid)
    from pg_locks
    join pg_stat_activity using (pid)
    where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())
        and (classid, objid, objsubid) = ({ADVISORY_LOCK >> 32}, {ADVISORY_LOCK & 0xFFFFFFFF}, 1)
        and granted
        and pid <> pg_backend_pid()
        and wait_event_type = 'Client'
        and clock_timestamp() - greatest(state_change, query_start)
            > interval '{SILENT_SECONDS:g} s'"""
"""In the middle of a COPY no time-out of the server's strikes, nor do keepalives as long as the
machine of a frozen process answers them. Ending its session always works."""

_LOCK: Final = "select pg_advisory_xact_lock(%s), current_setting('prazo.session', true)"

_NO_MORE: Final = ("too many clients", "too many connections", "connection slots are reserved")
"""What a server says that takes no more connections: of all, of a role's or a database's, and of
all but those that it keeps for its administrators."""
_READ_ONLY: Final = ("is read-only", "in a read-only transaction", "is in hot standby")
"""What libpq says of a new session, and the server in one that is open."""

RV = TypeVar("RV")


class Session(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose every wait for the server ends, by default after `READ_SECONDS`."""

    limit_seconds: float = READ_SECONDS
    place: str = ""
    """The inbox's name in messages."""
    mark: str = ""
    """What this session alone is set to."""

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """psycopg waits here for each answer; without an answer in time, the session is over."""
        limit = self.limit_seconds if timeout is None else timeout
        try:
            return super().wait(gen, interval, limit)
        except psycopg.errors._WaitTimeout:
            self.pgconn.finish()  # whoever asks on must not wait for as long again
            raise psycopg.OperationalError(
                f"the server did not answer within {limit:g} s"
            ) from None

    @contextmanager
    def limited_to(self, seconds: float) -> Iterator[None]:
        """Another limit for each wait in this block."""
        before, self.limit_seconds = self.limit_seconds, seconds
        try:
            yield
        finally:
            self.limit_seconds = before

    @classmethod
    def opened(cls, conninfo: str, place: str, *, writes: bool = False) -> Self:
        """A session with our settings. Raises `psycopg.Error`, or `InboxUnavailable` where the
        server cannot keep what we promise. `place`: the inbox's name in messages. `writes`: it is
        for transactions alone, whose statements have a limit on the server's side as well."""
        session = cls.connect(conninfo, autocommit=True)
        session.place, session.mark = place, secrets.token_hex(8)
        try:
            with session.limited_to(STATEMENT_SECONDS):
                settings = session.execute(_SESSION, (session.mark,)).fetchone()
                fsync, encoding, *_ = settings or ("", "")
                if writes:
                    session.execute(f"set statement_timeout = '{STATEMENT_SECONDS:g}s'")
            _check(place, fsync=fsync, encoding=encoding)
        except BaseException:
            session.close()
            raise
        return session

    def begin_alone(self) -> None:
        """Begins a transaction that excludes every other writer's.

        The isolation is always read committed: a snapshot from before the wait for the lock would
        not show what the lock's last holder wrote. Once the lock is held, the server waits for our
        next statement, so it notices when none comes.
        """
        try:
            self._lock()
        except psycopg.errors.LockNotAvailable:
            self.execute("rollback")
            if not self._end_a_silent_holder():
                raise
            self._lock()

    def _lock(self) -> None:
        with self.pipeline():
            self.execute("begin isolation level read committed read write")
            locked = self.execute(_LOCK, (ADVISORY_LOCK,))
        _, mark = locked.fetchone() or (None, None)
        self._check_mark(mark)

    def _check_mark(self, mark: str | None) -> None:
        """Raises `InboxUnavailable` where a pooler has led this transaction to a session that is
        not set as ours: its commit could be answered before it is on disk."""
        if mark != self.mark:
            raise InboxUnavailable(
                f"The inbox {self.place} cannot be written",
                "a pooler in front of its server lets transactions share sessions, and what we set"
                " for ours is not in force",
                "let PRAZO_INBOX name the server itself, or have the pooler give each connection a"
                " session of its own (PgBouncer: pool_mode = session)",
            )

    def _end_a_silent_holder(self) -> bool:
        """Whether there was one. Only its own user or a superuser may end a session."""
        try:
            return bool(self.execute(_END_A_SILENT_HOLDER).fetchall())
        except psycopg.errors.InsufficientPrivilege:
            return False

    def commit_durably(self) -> None:
        """Commits the transaction; once this returns, it is on disk.

        The server ends a statement's time-out before it commits. Where a person ends its wait for a
        synchronous standby, it commits all the same, and warns: after a failover it may be gone.
        """
        warnings: list[str | None] = []

        def hear(warning: psycopg.errors.Diagnostic) -> None:
            warnings.append(warning.message_primary)

        self.add_notice_handler(hear)
        try:
            with self.limited_to(COMMIT_SECONDS):
                committed = self.execute("commit")
        finally:
            self.remove_notice_handler(hear)
        if warnings:
            raise psycopg.OperationalError(f"the server warned: {warnings[0]}")
        if committed.statusmessage != "COMMIT":  # a transaction that failed is rolled back
            raise psycopg.OperationalError(f"the server answered {committed.statusmessage}")


def _check(place: str, *, fsync: str, encoding: str) -> None:
    if fsync != "on":
        raise InboxUnavailable(
            f"The inbox {place} is not used",
            "its server runs with fsync off: it would lose acknowledged entries in a power cut",
            "set fsync = on in postgresql.conf and restart the server",
        )
    if encoding != "UTF8":
        raise InboxUnavailable(
            f"The inbox {place} is not used",
            f"the database's encoding is {encoding}: it cannot hold every identifier",
            "create the database with encoding UTF8",
        )


def said(error: psycopg.Error) -> Quoted:
    """What the server or the driver says, in one line: messages come with hints on lines of their
    own, and places that show one line would show how those are written."""
    kind = type(error).__name__
    ours = f"{kind} ({error.sqlstate})" if error.sqlstate else kind
    return Quoted(" ".join(str(error).split()) or kind, ours)


def remedy_for(error: psycopg.Error) -> str:
    """What to do where the database fails. A server that refuses a connection gives no code, so it
    is known by its words: in English, else the remedy is the one for anything."""
    if any(it in str(error) for it in _NO_MORE):
        return (
            "raise max_connections in the server's postgresql.conf and restart it, or the limit"
            " that it names (`alter role` or `alter database ... connection limit`): a machine that"
            " runs all parts takes about 12 connections, and 40 under load"
        )
    if any(it in str(error) for it in _READ_ONLY):
        return (
            "find out why the server takes no writes: default_transaction_read_only is on, as where"
            " its disk is nearly full, or it is a standby; PRAZO_INBOX has to name the primary"
        )
    return "check that the server runs, its disk, and this user's rights; then try again"


def connection_of(url: str) -> tuple[str, str]:
    """(connection string with our defaults, name to show, which never holds the password)."""
    try:
        given = {name: str(it) for name, it in conninfo_to_dict(url).items()}
    except psycopg.ProgrammingError:  # its message repeats the URL
        raise InboxUnavailable(
            "The inbox cannot be opened",
            "PRAZO_INBOX is not a valid PostgreSQL URL",
            "write it as postgresql://user@host:5432/database; the password belongs in a"
            " ~/.pgpass file",
        ) from None
    if named := given.get("application_name"):
        given["application_name"] = f"{OF_PRAZO} {named}"
    shown = f"postgresql://{_servers(given)}/{given.get('dbname', '')}"
    return make_conninfo("", **{**CONNECTION_DEFAULTS, **given}), shown


def _servers(given: Mapping[str, str]) -> str:
    """The hosts with their ports as they stand in a URL; libpq takes one port for all, or one
    each."""
    listed = given.get("host", given.get("hostaddr", ""))
    hosts, ports = listed.split(","), given.get("port", "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    return ",".join(
        f"{in_url(host)}:{port}" if port else in_url(host)
        for host, port in zip(hosts, ports, strict=False)
    )
