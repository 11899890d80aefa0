"""Opens each file of SQLite, by the library that `apsw` brings, of a version that loses nothing.

Python's own `sqlite3` is another library with locks of its own. Whichever of two in one process
closes a file ends the POSIX locks of the other, and another process writes over what this one does.
So nothing in the product imports it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import apsw

from pipeline.errors import InboxUnavailable

VERSION: Final = apsw.sqlite_lib_version()
FLOOR: Final = "3.51.3"
"""Before it, a checkpoint that meets a writer who begins the WAL at its start may lose pages."""
ERRORS: Final = (apsw.Error, OSError, UnicodeDecodeError)
"""What ends a use of a file: the last where a text in it is not UTF-8."""

Values = Sequence[Any] | Mapping[str, Any]


def connect(
    location: str, *, busy_seconds: float = 10.0, statements_kept: int = 100
) -> apsw.Connection:
    """A connection to a file by its URI, or to `:memory:`, for one thread at a time. No transaction
    begins by itself. Who finds the file locked asks again for `busy_seconds`.

    Raises `InboxUnavailable` where the SQLite that is installed is too old."""
    _require_floor()
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(location, flags, statementcachesize=statements_kept)
    connection.set_busy_timeout(round(busy_seconds * 1000))
    connection.setlk_timeout(0, 0)  # locks are asked for as any other build of SQLite does
    connection.execute("pragma secure_delete = on")  # not every build has it on by itself
    return connection


def one_row(connection: apsw.Connection, sql: str, values: Values = ()) -> tuple[Any, ...]:
    """The row of a statement that always has one."""
    row: tuple[Any, ...]
    [row] = connection.execute(sql, values)
    return row


def changed(connection: apsw.Connection, sql: str, values: Values) -> int:
    """Runs a statement that changes rows; how many."""
    connection.execute(sql, values)
    return connection.changes()


def _require_floor() -> None:
    if _numbers(VERSION) < _numbers(FLOOR):
        raise InboxUnavailable(
            "The inbox is not opened",
            f"SQLite {VERSION} is installed, which may lose what was committed; {FLOOR} does not",
            "install Prazo with the versions of its `requirements.lock`",
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
