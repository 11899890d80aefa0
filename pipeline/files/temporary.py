"""Temporary folders of one process, and what a killed process left of them."""

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from pathlib import Path
from typing import Final

from pipeline.files.locks import mark_in_use

LEFT_SECONDS: Final = 60.0
"""A draft that is younger is left alone: whoever makes it may be about to lock it."""
_NEW: Final = ".new"


class OwnFolder:
    """A temporary folder of one process, which has to `remove` it. If the process is killed first,
    `remove_left` removes it, and so does the next `OwnFolder` of the same name and parent.

    The process holds a lock on the folder, which ends with the process: so a folder is known to be
    left even where another process has got the same number.
    """

    def __init__(self, name: str, parent: Path | None = None) -> None:
        """Makes the folder, for its owner alone, in `parent` or where the system keeps such files.
        Its own name is `name` and eight characters."""
        remove_left(name, parent)
        new = Path(tempfile.mkdtemp(prefix=name, suffix=_NEW, dir=parent))
        self._held = os.open(new, os.O_RDONLY)
        mark_in_use(self._held)
        self.path = new.rename(str(new).removesuffix(_NEW))  # it is never seen without its lock

    def remove(self) -> None:
        """Removes the folder with all that is in it; once is enough."""
        if self._held < 0:
            return
        held, self._held = self._held, -1
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(held)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def remove_left(name: str, parent: Path | None = None) -> None:
    """Removes the folders that an `OwnFolder` of that name left in `parent`, and drafts of a file
    `.name` beside them, whose process is gone. What cannot be removed stays."""
    parent = parent or Path(tempfile.gettempdir())
    theirs = re.compile(re.escape(name) + r"([a-z0-9_]{8}|[0-9a-f]{8}\.partial)")
    with contextlib.suppress(OSError):
        for entry in os.scandir(parent):
            if theirs.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_left(Path(entry.path))


def is_left(path: Path, *, is_removed: bool = False) -> bool:
    """Whether the process that wrote a draft is gone; with `is_removed` the draft goes too. One
    that was made a moment ago, and is not locked yet, may go with it: its writer hears of that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_removed:
                path.unlink()
            return True
        finally:
            os.close(descriptor)
    return False


def _remove_if_left(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        is_new = stat.S_ISREG(found.st_mode) and time.time() - found.st_mtime < LEFT_SECONDS
        if is_new or found.st_uid != os.geteuid():
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_ISDIR(found.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        elif stat.S_ISREG(found.st_mode):
            path.unlink()
    finally:
        os.close(descriptor)
