"""Keeps other processes of this machine away, by locks that end with the process.

filelock 4.3 was tried: it locks no folder, leaves its files behind, and takes 65 ms to import.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import PrazoError


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keeps every other process of this machine that asks for the same folder waiting during the
    block. The lock is the process's, so it ends with it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def locked(lock: Path, busy: PrazoError) -> Iterator[None]:
    """Keeps every other process of this machine out of such a block, by a lock on a file that
    exists for as long as the block, or as something stands in it. The lock is the process's, so it
    ends with it.

    Raises `busy` where another process is in one, and `OSError` where the file cannot be made.
    """
    try:
        descriptor = _descriptor(lock)
    except BlockingIOError:
        raise busy from None
    try:
        yield
    finally:
        if os.fstat(descriptor).st_size == 0:
            lock.unlink(missing_ok=True)  # while it is locked still: nobody else's is removed
        os.close(descriptor)


def _descriptor(lock: Path) -> int:
    """An open descriptor of the file `lock`, made and locked. Raises `BlockingIOError` where
    another process has locked it."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(lock.stat(), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)  # whoever had it has just removed it


def mark_in_use(descriptor: int) -> None:
    """Marks a file or folder as in use. On a file system without locks nobody gets one, so that
    `remove_left` removes nothing there."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
