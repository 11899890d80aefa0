"""Databases with the files that belong to them: set aside, swapped in, removed."""

import contextlib
import errno
import os
import shutil
import time
from pathlib import Path
from typing import Final

from pipeline.files.disk import sync
from pipeline.places import DATABASE_SUFFIXES

_WALS: Final = ("-wal", ".wal")
SPARE_BYTES: Final = 1_048_576
"""What a database may need beside what it moves out of its WAL."""


def set_aside(database: Path) -> Path | None:
    """Renames a database and the files that belong to it, so that nothing is lost.

    Returns its new path, or None if there was no database.
    """
    if not database.exists():
        return None
    aside = database.with_name(f"{database.name}.set-aside-{time.time_ns()}")
    for suffix in DATABASE_SUFFIXES:
        part = database.with_name(database.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    return aside


def swap_in(draft: Path, database: Path, *, is_dropped: bool = False) -> Path | None:
    """Puts a closed database in the place of another, which is set aside, or removed where it
    `is_dropped`. Raises an `OSError`, and changes nothing, where the draft still has a WAL: it was
    not written to its end when it was closed. `is_full` recognises that error where the disk had no
    room for the WAL.

    There is a database at every moment: the old one gets a second name, then the new one takes its
    place in one step. The old one's WAL is moved first, even where the old database itself is gone,
    since it must never be read into the new one; entries that were only in that WAL are followed
    again from the inbox. Returns the path to which the old one was moved, where only its WAL may
    be; None if there was neither.
    """
    wals = [draft.with_name(draft.name + suffix) for suffix in _WALS]
    if left := [wal.stat().st_size for wal in wals if wal.exists()]:
        if shutil.disk_usage(draft.parent).free < sum(left) + SPARE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(draft.parent))
        raise OSError(errno.EIO, "could not be written to its end", str(draft))
    aside = database.with_name(f"{database.name}.set-aside-{time.time_ns()}")
    is_kept = False
    for suffix in filter(None, DATABASE_SUFFIXES):
        part = database.with_name(database.name + suffix)
        if is_dropped:
            part.unlink(missing_ok=True)
        elif part.exists():
            part.rename(aside.with_name(aside.name + suffix))
            is_kept = is_kept or suffix in _WALS
    if database.exists() and not is_dropped:
        os.link(database, aside)
        is_kept = True
    draft.replace(database)
    sync(database.parent)
    return aside if is_kept else None


def remove_database(database: Path) -> None:
    """Deletes a database, if there is one, and the files that belong to it."""
    for suffix in DATABASE_SUFFIXES:
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    remove_spilled(database)


def remove_spilled(database: Path) -> None:
    """Deletes the files beside a DuckDB database to which a killed process moved rows that did not
    fit into memory. DuckDB itself deletes them only when it next needs such files. The caller must
    have the database open, as only one process can."""
    folder = database.with_name(f"{database.name}.tmp")
    with contextlib.suppress(OSError):
        for left in folder.glob("duckdb_temp_*"):
            left.unlink()
        folder.rmdir()
