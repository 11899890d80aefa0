"""Whether an inbox's file and its WAL are still those at their names: what is written to others is
acknowledged, and never read."""

import os
import time
from pathlib import Path
from typing import Final

import apsw

from pipeline.inbox.sqlite.file import move_in_wal

PART_BYTES: Final = 2**20
BESIDE_SECONDS: Final = 0.02  # between two looks at the WAL's name: what it has is saved then


class Place:
    """The file that was at a path when this was made."""

    def __init__(self, path: Path) -> None:
        """Raises `OSError` where there is none."""
        self._path = path
        self._file = _identity(path.stat())
        self._real_path = path.resolve()  # SQLite keeps its WAL where a link leads
        self._beside: list[tuple[int, int] | None] = []  # the writer's
        self._look_beside_at = 0.0  # on the monotonic clock

    def check(self) -> int:
        """The file's size, in bytes; raises OSError where another file took its path."""
        status = self._path.stat()  # one call for both: each waits for Python's lock
        if _identity(status) != self._file:
            raise OSError("another file took its path since it was opened; restart to use that one")
        return status.st_size

    @property
    def has_wal(self) -> bool:
        """Whether the WAL of a writer is watched."""
        return bool(self._beside)

    def watch_wal(self) -> None:
        """Remembers the WAL that is there now: a writer has begun it, or goes on with it."""
        self._beside = _beside(self._real_path)

    def forget_wal(self) -> None:
        """The writer is gone."""
        self._beside = []

    def check_wal(self, writer: apsw.Connection) -> None:
        """Raises OSError where the writer's WAL lost its name: nobody hears of what is written to
        it. What it has goes into the file, unless others have begun another WAL meanwhile."""
        if not self._beside or time.monotonic() < self._look_beside_at:
            return
        now = _beside(self._real_path)
        if now == self._beside:
            self._look_beside_at = time.monotonic() + BESIDE_SECONDS
            return
        if all(it in (None, was) for it, was in zip(now, self._beside, strict=True)):
            move_in_wal(writer)
        raise OSError("its WAL was deleted in use: stop all that use this inbox, then start them")

    def write_wal_again(self) -> None:
        """Writes the WAL's bytes over themselves, and syncs them. To be called while nobody writes
        there. No lock hangs on that file, so that closing it here ends none."""
        with Path(f"{self._real_path}-wal").open("r+b") as wal:
            while part := wal.read(PART_BYTES):
                wal.seek(-len(part), os.SEEK_CUR)
                wal.write(part)
            wal.flush()
            os.fsync(wal)


def _identity(status: os.stat_result) -> tuple[int, int]:
    """What tells a file from another one that takes its path, as long as it is there."""
    return status.st_dev, status.st_ino


def _beside(database: Path) -> list[tuple[int, int] | None]:
    """Of what SQLite keeps beside a file: its WAL, and by what its users hear of each other."""
    found: list[tuple[int, int] | None] = []
    for suffix in ("-wal", "-shm"):
        try:
            found.append(_identity(Path(f"{database}{suffix}").stat()))
        except FileNotFoundError:
            found.append(None)
    return found
