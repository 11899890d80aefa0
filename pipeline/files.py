"""Small files that are read again when they change: secrets, tokens, credentials."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, TypeVar

from pipeline.errors import SettingsError

LOG = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS: Final = 1.0
MAX_FILE_BYTES: Final = 1_048_576

T = TypeVar("T")


class RereadFile(Generic[T]):
    """What a file holds, parsed; looked at again at most once a second.

    A file that cannot be read or parsed any more leaves what was read before in force: half of a
    rotation must not lock the platform out.
    """

    def __init__(self, path: Path, parse: Callable[[str], T]) -> None:
        """Raises `SettingsError` where the file cannot be read at the start."""
        self._path = path
        self._parse = parse
        self._stamp = self._look()
        self._value = parse(self._read())
        self._looked_at = time.monotonic()

    def get(self) -> T:
        now = time.monotonic()
        if now - self._looked_at >= LOOK_AGAIN_SECONDS:
            self._looked_at = now
            try:
                stamp = self._look()
                if stamp != self._stamp:
                    self._value = self._parse(self._read())
                    self._stamp = stamp
            except SettingsError as error:
                LOG.warning("what was read before stays in force: %s", error)
        return self._value

    def _look(self) -> tuple[int, int, int]:
        try:
            stat = self._path.stat()
        except OSError as error:
            raise self._unreadable(str(error)) from None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def _read(self) -> str:
        try:
            with self._path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
            if len(data) > MAX_FILE_BYTES:
                raise self._unreadable(f"it is over {MAX_FILE_BYTES} bytes")
            return data.decode("utf-8-sig")  # some editors put a mark in front
        except (OSError, UnicodeDecodeError) as error:
            raise self._unreadable(str(error)) from None

    def _unreadable(self, why: str) -> SettingsError:
        return SettingsError(
            f"The file {self._path} cannot be read",
            why,
            "check the path in the settings and the file's permissions",
        )
