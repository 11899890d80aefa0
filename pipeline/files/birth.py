"""Tells a file from its copies: each has a number of its own on its disk, or was made at another
instant, since disks give the numbers of deleted files away again."""

import ctypes
import os
from pathlib import Path
from typing import Final

_HERE: Final = -100  # relative paths count from the working folder
_BORN: Final = 0x800
_STRUCT_BYTES: Final = 256
_MASK, _SECONDS, _NANOSECONDS = slice(0, 4), slice(80, 88), slice(88, 92)


def birth_of(path: Path) -> str:
    """The number of a file and the instant at which it was made, as long as it stays on its disk;
    the number alone where the system does not say when. Raises `OSError` where there is none.

    The file is not opened: whoever closes one ends all locks that the process has on it.
    """
    number = path.stat().st_ino
    born = _made_at(path)
    return str(number) if born is None else f"{number} {born}"


def _made_at(path: Path) -> int | None:
    """In nanoseconds since 1970. Python's own `stat` does not say it on Linux."""
    found = ctypes.create_string_buffer(_STRUCT_BYTES)
    try:
        failed = ctypes.CDLL(None).statx(_HERE, os.fsencode(path), 0, _BORN, found)
    except (OSError, AttributeError):  # another system, or a C library without it
        return None
    said = found.raw
    if failed or not int.from_bytes(said[_MASK], "little") & _BORN:
        return None
    seconds = int.from_bytes(said[_SECONDS], "little", signed=True)
    return seconds * 10**9 + int.from_bytes(said[_NANOSECONDS], "little")
