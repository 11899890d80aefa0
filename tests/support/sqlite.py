"""Opens a file of SQLite by the library that the product has: with Python's own in the same
process, each would end the locks of the other."""

from pathlib import Path

import apsw


def opened(location: Path | str, *, busy_seconds: float = 5.0) -> apsw.Connection:
    """A connection, which makes the file where there is none; no transaction begins by itself."""
    connection = apsw.Connection(str(location))
    connection.set_busy_timeout(round(busy_seconds * 1000))
    return connection


def copy(source: Path | str, target: Path | str) -> None:
    """Makes a file, or one that is in use, what another is."""
    ours, theirs = opened(source), opened(target)
    with theirs.backup("main", ours, "main") as running:
        running.step()
    theirs.close()
    ours.close()
