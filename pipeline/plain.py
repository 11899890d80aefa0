"""Reads files that may come from anybody: plain ones alone, and no more bytes than are expected.

A pipe waits for its writer, a device has no end, and either may have the name of a file. A link
counts as what it leads to.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 1_048_576
"""Of a key, a checkpoint, a policy or the like."""


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """A plain file, to be read. Raises `OSError` for anything else, and waits for nobody."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_ISDIR(mode := os.fstat(descriptor).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        yield file


def read(path: Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a plain file. Raises `OSError` for anything else, or more bytes than `most`."""
    with opened(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is over {most:,} bytes", str(path))
    return content


def require(path: Path) -> None:
    """Raises `OSError` where something is at a path that is not a plain file. It opens none:
    closing a file ends all locks that the process has on it, and a database's are such."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
