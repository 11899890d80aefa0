"""Brings an older inbox to this release's version, one ordered step after the other.

A step and the number that says it was taken are one transaction, on both engines. So a crash at any
moment leaves the version before a step or the one after it, and running again takes the rest. Of
several that run at once, each step is taken by one. While steps are taken that only add, others go
on using the inbox; for any other nobody may.
"""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import apsw

from pipeline.errors import InboxMissing, InboxUnavailable
from pipeline.files.disk import GIVE_WRITE, not_writable
from pipeline.files.locks import alone_in
from pipeline.inbox import schema
from pipeline.places import DATABASE_SUFFIXES
from pipeline.texts import counted

BUSY_SECONDS: Final = 10.0
STEP_SECONDS: Final = 3600.0
"""For one statement of a step: an index over a large log takes minutes."""
LOCK_SECONDS: Final = 60.0
"""Until a step that others hold up in PostgreSQL is given up."""
GONE_SECONDS: Final = 3.0
"""So long a server may take to notice that a session has ended."""

_IN_USE: Final = "stop every process that uses it, check the disk's free space, then run it again"
_DAMAGED: Final = "check its disk and the file's permissions; where it is damaged, restore a backup"
_SAY_NEEDS: Final = """
    insert into meta (name, value) values ('needs', {})
    on conflict (name) do update set value = excluded.value"""
_USERS: Final = """
    select count(*) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
        and application_name ~ '^prazo( |$)'"""
_MIGRATOR: Final = "migration of prazo"
"""The name of a session that migrates: several may at once."""


def version_of(location: str | Path, *, is_at_rest: bool = False) -> int:
    """The version of the inbox at a path or URL; `InboxUnavailable` where there is none.
    `is_at_rest` as for `open_inbox`."""
    if _is_url(location):
        with _session(str(location)) as (session, place):
            return _postgres_tables(session, place).version
    with _connection(Path(location), "read", _DAMAGED, is_at_rest) as connection:
        return _sqlite_tables(Path(location), connection).version


def missing(location: str | Path) -> range:
    """The steps that the inbox lacks. Raises `InboxUnavailable` where it is not for this release,
    or there is none."""
    if _is_url(location):
        with _session(str(location)) as (session, place):
            return _missing_steps(place, _postgres_tables(session, place))
    with _connection(Path(location), "read", _DAMAGED) as connection:
        return _missing_steps(str(location), _sqlite_tables(Path(location), connection))


def size_of(location: str | Path) -> int:
    """About how many bytes the inbox takes."""
    if _is_url(location):
        with _session(str(location)) as (session, _):
            row = session.execute("select pg_total_relation_size('prazo.entries')").fetchone()
            return int(row[0])
    path = Path(location)
    parts = [path.with_name(path.name + suffix) for suffix in DATABASE_SUFFIXES]
    return sum(part.stat().st_size for part in parts if part.exists())


def place_of(location: str | Path) -> str:
    """The inbox's name in messages: never a password."""
    if _is_url(location):
        from pipeline.inbox.postgres.session import connection_of  # imports the driver

        return connection_of(str(location))[1]
    return str(location)


def migrate(location: str | Path) -> list[int]:
    """Takes the steps that the inbox lacks; their numbers.

    Raises `InboxUnavailable` where another process uses the inbox and a step does more than to
    add, and where the inbox is not for this release.
    """
    if _is_url(location):
        with _session(str(location)) as (session, place):
            return _migrate_postgres(session, place)
    path = Path(location)
    _check_there(path)
    # Two that both have it open would each keep the other from having the file for itself.
    with alone_in(path.parent), _connection(path, "migrated", _IN_USE) as connection:
        return _migrate_sqlite(path, connection)


def _is_url(location: str | Path) -> bool:
    return str(location).startswith(("postgresql://", "postgres://"))


def _missing_steps(place: str, tables: schema.Tables) -> range:
    if tables.version > schema.VERSION:
        schema.check(place, tables)
    return range(tables.version + 1, schema.VERSION + 1)


# --- SQLite ----------------------------------------------------------------------------------


def _check_there(path: Path) -> None:
    if not path.exists():
        raise InboxMissing(
            f"There is no inbox at {path}", "the file does not exist", "set PRAZO_INBOX to it"
        )


@contextmanager
def _connection(
    path: Path, done: str, remedy: str, is_at_rest: bool = False
) -> Iterator[apsw.Connection]:
    from pipeline.inbox.sqlite.connection import ERRORS, connect
    from pipeline.inbox.sqlite.file import uri_of

    _check_there(path)
    try:
        uri = uri_of(path, is_at_rest=is_at_rest)
        with closing(connect(uri, busy_seconds=BUSY_SECONDS)) as connection:
            connection.execute("pragma synchronous = full")
            yield connection
    except ERRORS as error:
        barred = None if is_at_rest else not_writable(path.parent)
        unavailable = InboxUnavailable(
            f"The inbox {path} cannot be {done}",
            str(error) if barred is None else barred,
            remedy if barred is None else GIVE_WRITE,
        )
        raise schema.unreadable(path, error) or unavailable from error


def _sqlite_tables(path: Path, connection: apsw.Connection) -> schema.Tables:
    from pipeline.inbox.sqlite.file import tables_at

    return tables_at(path, connection)


def _migrate_sqlite(path: Path, connection: apsw.Connection) -> list[int]:
    taken = []
    missing = _missing_steps(str(path), _sqlite_tables(path, connection))
    if not schema.only_add(missing):
        # In this mode SQLite lets nobody else have the file open, not even to read.
        connection.execute("pragma locking_mode = exclusive")
    for number in missing:
        connection.execute("begin immediate")
        if _sqlite_tables(path, connection).version >= number:
            connection.execute("rollback")  # another process took the step
            continue
        for statement in schema.statements(schema.step("sqlite", number)):
            connection.execute(statement)
        connection.execute(f"pragma user_version = {number}")
        connection.execute(_SAY_NEEDS.format("?"), (schema.needs(number),))
        connection.execute("commit")
        taken.append(number)
    return taken


# --- PostgreSQL ------------------------------------------------------------------------------


@contextmanager
def _session(url: str) -> Iterator[tuple[Any, str]]:
    """(session, the inbox's name in messages); the driver is imported only when it is needed."""
    import psycopg
    from psycopg.conninfo import make_conninfo

    from pipeline.inbox.postgres.session import Session, connection_of, said

    conninfo, place = connection_of(url)
    try:
        named = make_conninfo(conninfo, application_name=_MIGRATOR)
        with closing(Session.opened(named, place)) as session, session.limited_to(STEP_SECONDS):
            yield session, place
    except psycopg.Error as error:
        raise InboxUnavailable(
            f"The inbox {place} cannot be migrated",
            said(error),
            "check that the server runs, its disk, and this user's rights; then run it again",
        ) from error


def _postgres_tables(session: Any, place: str) -> schema.Tables:
    from pipeline.inbox.postgres.inbox import tables_of

    (exists,) = session.execute("select to_regclass('prazo.meta') is not null").fetchone()
    if not exists:
        raise InboxMissing(
            f"There is no inbox at {place}",
            "the database has no schema prazo with an inbox's tables",
            "set PRAZO_INBOX to the database that `prazo receive` writes",
        )
    return tables_of(session)


def _users(session: Any) -> int:
    """How many other sessions of Prazo there are. One whose process has just ended is there for a
    moment more: the server notices it later."""
    give_up_at = time.monotonic() + GONE_SECONDS
    while True:
        (users,) = session.execute(_USERS).fetchone()
        if not users or time.monotonic() > give_up_at:
            return int(users)
        time.sleep(0.05)


def _migrate_postgres(session: Any, place: str) -> list[int]:
    missing = _missing_steps(place, _postgres_tables(session, place))
    is_alone = not schema.only_add(missing)
    taken = []
    for number in missing:
        if is_alone and (users := _users(session)):
            raise InboxUnavailable(
                f"The inbox {place} was not migrated",
                counted(users, "session of Prazo uses it", "sessions of Prazo use it"),
                "stop every receiver and ledger on every machine, then run it again",
            )
        if _taken_postgres(session, place, number):
            taken.append(number)
    return taken


def _taken_postgres(session: Any, place: str, number: int) -> bool:
    """Whether the step was taken from here. Whoever reads a table that it changes is waited for,
    each time for a moment alone: meanwhile everybody else waits behind the step."""
    from psycopg.errors import LockNotAvailable

    give_up_at = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return _take_postgres(session, place, number)
        except LockNotAvailable:
            if time.monotonic() > give_up_at:
                raise
        time.sleep(1)


def _take_postgres(session: Any, place: str, number: int) -> bool:
    from pipeline.inbox.postgres.session import ADVISORY_LOCK

    with session.transaction():
        session.execute("set local lock_timeout = '2s'")
        session.execute("select pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
        if _postgres_tables(session, place).version >= number:
            return False  # another process took the step
        session.execute(schema.step("postgres", number))
        session.execute(
            "update prazo.meta set value = %s where name = 'version'", (str(number).encode(),)
        )
        session.execute(_SAY_NEEDS.format("%s"), (schema.needs(number),))
        return True
