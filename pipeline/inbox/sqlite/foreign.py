"""Looks at a file of SQLite that may be anybody's before a row of it is read.

A view in the place of a table gives rows without end, or others the second time, and a trigger does
something else than was asked. So a file that comes from outside, such as a backup, has the tables
of an inbox of its version, and nothing that such an inbox has not.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import apsw

from pipeline.errors import InboxUnavailable
from pipeline.inbox import schema
from pipeline.inbox.sqlite.connection import ERRORS, connect
from pipeline.inbox.sqlite.file import tables_at, uri_of

OBJECTS: Final = """
    select type, name, tbl_name, sql from sqlite_master
    where substr(name, 1, 11) <> 'sqlite_stat'
        and (type, name) not in (('table', '_litestream_seq'), ('table', '_litestream_lock'))"""
"""What a file defines; SQLite's own notes on how rows are spread are nobody's. Nor are Litestream's
tables, which nothing here reads."""
MOST_OBJECTS: Final = 500
MOST_BYTES: Final = 2**28
"""Of a value. SQLite would take a gigabyte."""
SECONDS: Final = 10.0
_INSTRUCTIONS: Final = 5_000_000
"""Of SQLite's, for reading what a file defines: a few hundred rows take some thousands."""

Object = tuple[str, str, str, str | None]


@cache
def objects_of(version: int) -> frozenset[Object]:
    """What a new inbox of a version defines."""
    with closing(connect(":memory:")) as connection:
        connection.execute(schema.steps("sqlite", until=version))
        return frozenset(connection.execute(OBJECTS))


def checked(path: Path) -> int:
    """The version of an inbox's file, which defines what inboxes of that version do and no more;
    raises `InboxUnavailable` for any other file. Nothing of it is executed."""
    try:
        with _looked_at(path) as connection:
            said = tables_at(path, connection)
            if not 1 <= (version := said.version) <= schema.VERSION:
                schema.refuse(str(path), said)  # what its further steps added may be anything
            found: list[Any] = connection.execute(f"{OBJECTS} limit {MOST_OBJECTS}").fetchall()
    except ERRORS as error:
        unreadable = InboxUnavailable(f"The inbox {path} cannot be read", str(error))
        raise schema.unreadable(path, error) or unreadable from None
    expected = objects_of(version)
    tables = {it for it in expected if it[0] == "table"}
    for kind, name, *_ in sorted(frozenset(found) - expected | tables - frozenset(found), key=str):
        raise InboxUnavailable(
            f"The inbox {path} is not used",
            f"the {kind} {str(name)[:60]!r} is not as an inbox of version {version} has it",
            "take one that nobody has changed",
        )
    return version


@contextmanager
def _looked_at(path: Path) -> Iterator[apsw.Connection]:
    uri = uri_of(path, is_at_rest=True)
    with closing(connect(uri, busy_seconds=SECONDS)) as opened:
        opened.limit(apsw.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        opened.set_progress_handler(lambda: True, _INSTRUCTIONS)
        opened.execute("pragma trusted_schema = off")
        yield opened
