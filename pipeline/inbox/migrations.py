"""Brings an older inbox to this release's version, one ordered step after the other.

A step and the number that says it was taken are one transaction, on both engines. So a crash at any
moment leaves the version before a step or the one after it, and running again takes the rest. Of
several that run at once, each step is taken by one.
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
GONE_SECONDS: Final = 3.0
"""So long a server may take to notice that a session has ended."""

_IN_USE: Final = "stop every process that uses it, check the disk's free space, then run it again"
_DAMAGED: Final = "check its disk and the file's permissions; where it is damaged, restore a backup"
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
            return _postgres_version(session, place)
    with _connection(Path(location), "read", _DAMAGED, is_at_rest) as connection:
        return _sqlite_version(Path(location), connection)


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

    Raises `InboxUnavailable` where another process uses the inbox, or its version is newer than
    this release's.
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


def _missing_steps(place: str, version: int) -> range:
    if version > schema.VERSION:
        schema.check(place, version)
    return range(version + 1, schema.VERSION + 1)


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


def _sqlite_version(path: Path, connection: apsw.Connection) -> int:
    from pipeline.inbox.sqlite.file import version_of as version_in

    return version_in(path, connection)


def _migrate_sqlite(path: Path, connection: apsw.Connection) -> list[int]:
    taken = []
    for number in _missing_steps(str(path), _sqlite_version(path, connection)):
        # In this mode SQLite lets nobody else have the file open, not even to read.
        connection.execute("pragma locking_mode = exclusive")
        connection.execute("begin immediate")
        if _sqlite_version(path, connection) >= number:
            connection.execute("rollback")  # another process took the step
            continue
        for statement in schema.statements(schema.step("sqlite", number)):
            connection.execute(statement)
        connection.execute(f"pragma user_version = {number}")
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


def _postgres_version(session: Any, place: str) -> int:
    from pipeline.inbox.postgres.inbox import VERSION_OF

    (exists,) = session.execute("select to_regclass('prazo.meta') is not null").fetchone()
    if not exists:
        raise InboxMissing(
            f"There is no inbox at {place}",
            "the database has no schema prazo with an inbox's tables",
            "set PRAZO_INBOX to the database that `prazo receive` writes",
        )
    return int(session.execute(VERSION_OF).fetchone()[0])


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
    from pipeline.inbox.postgres.session import ADVISORY_LOCK

    taken = []
    for number in _missing_steps(place, _postgres_version(session, place)):
        users = _users(session)
        if users:
            raise InboxUnavailable(
                f"The inbox {place} was not migrated",
                counted(users, "session of Prazo uses it", "sessions of Prazo use it"),
                "stop every receiver and ledger on every machine, then run it again",
            )
        with session.transaction():
            session.execute("set local lock_timeout = '60s'")
            session.execute("select pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
            if _postgres_version(session, place) >= number:
                continue  # another process took the step
            session.execute(schema.step("postgres", number))
            session.execute(
                "update prazo.meta set value = %s where name = 'version'", (str(number).encode(),)
            )
        taken.append(number)
    return taken
