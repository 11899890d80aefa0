"""What tests ask of the machine that they run on."""

import os
import shutil
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path


def free_port() -> int:
    """A port of the loopback address on which nothing listened just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def memory(size: int) -> Path | None:
    """A folder in memory, where so many bytes are free in it: what is synced there is not waited
    for, and a killed process loses no more than on a disk."""
    folder = Path("/dev/shm")
    return folder if folder.is_dir() and shutil.disk_usage(folder).free > size else None


def wait_until(is_so: Callable[[], object], seconds: float = 60, pause: float = 0.01) -> None:
    """Waits for what another thread or process does; a busy machine may take long. `pause`: between
    two looks, longer where a look itself is work."""
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
