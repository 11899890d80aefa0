"""Small files that settings name, such as secrets: read, and read again when they change."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, TypeVar

from pipeline.aside import OneAtATime
from pipeline.errors import SettingsError
from pipeline.written import read_small, unreadable

LOG = logging.getLogger(__name__)

READ_SECONDS: Final = 10.0
"""How long a caller that must not hang waits for a file's disk."""
RECHECK_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 2.0
"""How long a caller waits who can go on with what was read before."""

T = TypeVar("T")
Stamp = tuple[int, int, int]
"""Of a file: when it was written, its size, and its number on the disk."""


def stamp_of(path: Path) -> Stamp:
    """By what a file shows that it was changed. Raises `OSError` where it cannot be looked at."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def unread(what: str, seconds: float) -> str:
    """What is said of files that were waited for, such as of a disk that hangs. `what`: "it was",
    "they were"."""
    return f"{what} not read within {seconds:.0f} s"


class RereadFile(Generic[T]):
    """The parsed content of a file, which is checked for changes at most once a second.

    If the file can no longer be read or parsed, the last good content stays in force: a rotation
    that is only half done must not lock the platform out, nor may a disk that hangs.
    """

    def __init__(self, path: Path, parse: Callable[[str], T], otherwise: T | None = None) -> None:
        """Reads the file. `otherwise`: what is in force until the file can be read; without it, a
        file that cannot be read raises `SettingsError`."""
        self._path = path
        self._parse = parse
        self._looks = OneAtATime[tuple[Stamp, T] | None](name=f"reads {path.name}")
        self._looking = threading.Lock()
        self._looked_at = time.monotonic()
        self._fault: SettingsError | None = None
        self._stamp: Stamp | None = None
        try:
            self._look(READ_SECONDS)
        except SettingsError as error:
            if otherwise is None:
                raise
            LOG.error("defaults are in force: %s", error)
            self._value, self._fault = otherwise, error

    def get(self) -> T:
        """The newest good content, for any thread."""
        if time.monotonic() - self._looked_at >= RECHECK_SECONDS and self._looking.acquire(False):
            try:
                self._look_again()
            finally:
                self._looked_at = time.monotonic()
                self._looking.release()
        return self._value

    def fault(self) -> SettingsError | None:
        """Why the file's present content is not in force; None where it is."""
        self.get()
        return self._fault

    def _look_again(self) -> None:
        try:
            self._look(LOOK_SECONDS)
        except SettingsError as error:
            if str(error) != str(self._fault):  # it is looked at every second
                LOG.warning("what was read before stays in force: %s", error)
            self._fault = error

    def _look(self, seconds: float) -> None:
        """Takes what the file says now, if it is not what was taken before. Raises `SettingsError`,
        after so many seconds at the latest."""
        try:
            read = self._looks.outcome(self._read_if_new, seconds)
        except TimeoutError:
            raise unreadable(self._path, unread("it was", seconds)) from None
        if read is not None:
            self._stamp, self._value = read
        self._fault = None

    def _read_if_new(self) -> tuple[Stamp, T] | None:
        """What the file says, and by what a change shows; None where it says nothing new."""
        try:
            stamp = stamp_of(self._path)
        except OSError as error:
            raise unreadable(self._path, str(error)) from None
        if stamp == self._stamp and self._fault is None:
            return None
        return stamp, self._parse(read_small(self._path))
