"""Temporary folders of one process, and what a killed process left of them."""

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pipeline.files.locks import mark_in_use

LEFT_SECONDS: Final = 60.0
"""A draft that is younger is left alone: whoever makes it may be about to lock it."""
_NEW: Final = ".new"
_PARTIAL: Final = ".partial"
_FOLDER: Final = rf"[a-z0-9_]{{8}}(?:{re.escape(_NEW)})?"
_FILE: Final = rf"[0-9a-f]{{8}}{re.escape(_PARTIAL)}"
_DRAFT: Final = f"(?:{_FOLDER}|{_FILE})"
IN_TMPDIR: Final = (
    "prazo-export-",
    "prazo-sheet-",
    "prazo-rows-",
    "prazo-picture-",
    "prazo-verify-",
)
"""The names of folders that an `OwnFolder` makes where the system keeps temporary files."""


class OwnFolder:
    """A temporary folder of one process, which has to `remove` it. If the process is killed first,
    `remove_left` removes it, and so does the next `OwnFolder` of the same name and parent.

    The process holds a lock on the folder, which ends with the process: so a folder is known to be
    left even where another process has got the same number.
    """

    def __init__(self, name: str, parent: Path | None = None) -> None:
        """Makes the folder, for its owner alone, in `parent` or where the system keeps such files.
        Its own name is `name` and eight characters."""
        assert parent is not None or name in IN_TMPDIR  # else nobody would look for it
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
    for path in _left(parent, f"{re.escape(name)}{_DRAFT}"):
        with contextlib.suppress(OSError):
            _is_left(path, is_removed=True)


def all_left(files: Iterable[Path], *, is_removed: bool = False) -> list[Path]:
    """What killed processes left: folders of rows and packages where the system keeps temporary
    files, folders in which one of `files` was made, and drafts in the folders of these.
    `is_removed`: and they are removed, as far as this user can."""
    ours = "|".join(map(re.escape, IN_TMPDIR))
    found = _left(None, f"(?:{ours}){_FOLDER}")
    by_folder: dict[Path, list[str]] = {}
    for file in files:
        by_folder.setdefault(file.parent, []).append(re.escape(file.name))
    for folder, names in by_folder.items():
        found += _left(folder, rf"\.(?:{'|'.join(names)})\.{_FOLDER}|\..+\.{_FILE}")
    if is_removed:
        for path in found:
            with contextlib.suppress(OSError):
                _is_left(path, is_removed=True)
    return found


def _left(parent: Path | None, names: str) -> list[Path]:
    """What is in a folder under one of these names, and nobody holds any more."""
    theirs, found = re.compile(names), []
    with contextlib.suppress(OSError):
        for entry in os.scandir(parent or tempfile.gettempdir()):
            if theirs.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    if _is_left(Path(entry.path)):
                        found.append(Path(entry.path))
    return sorted(found)


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


def _is_left(path: Path, *, is_removed: bool = False) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        is_folder, is_file = stat.S_ISDIR(found.st_mode), stat.S_ISREG(found.st_mode)
        may_be_new = is_file or path.name.endswith(_NEW)
        is_new = may_be_new and time.time() - found.st_mtime < LEFT_SECONDS
        is_draft = is_file if path.name.endswith(_PARTIAL) else is_folder
        if is_new or not is_draft or found.st_uid != os.geteuid():
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_removed and is_folder:
            shutil.rmtree(path, ignore_errors=True)
        elif is_removed:
            path.unlink()
        return True
    finally:
        os.close(descriptor)
