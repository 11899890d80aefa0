"""What tests ask of the machine that they run on."""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.files import reread

_PORTS = range(10_000, 32_000)
"""Ports below those that the system gives to clients: such a port could be taken by a client before
the program for which it was found has started."""


def free_port() -> int:
    """A port of the loopback address on which nothing listened just now."""
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def memory(size: int) -> Path | None:
    """A folder in memory, if `size` bytes are free in it. Syncing there takes no time, and a killed
    process loses no more than on a disk."""
    folder = Path("/dev/shm")
    return folder if folder.is_dir() and shutil.disk_usage(folder).free > size else None


def wait_until(is_so: Callable[[], object], seconds: float = 60, pause: float = 0.01) -> None:
    """Waits until `is_so`, which another thread or process brings about; a busy machine may take
    long. `pause`: seconds between two looks, longer where a look itself is work."""
    limit = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < limit, f"not so within {seconds} seconds"
        time.sleep(pause)


def killed(work: Callable[[], None]) -> None:
    """Does the work in a process of its own, which must end by SIGKILL."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, f"it ended by itself: {status}"


@contextlib.contextmanager
def hung_disk(path: Path) -> Iterator[threading.Event]:
    """Anyone who looks at this file again waits, until what is yielded is set, or until the end. A
    pipe in its place would be refused at once."""
    goes_on, stamp_of = threading.Event(), reread.stamp_of

    def look(at: Path) -> reread.Stamp:
        if at == path:
            goes_on.wait()
        return stamp_of(at)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reread, "stamp_of", look)
        try:
            yield goes_on
        finally:
            goes_on.set()
