"""Who gets the processor first: short turns for threads that others wait for, at the processor and
at Python's lock, and a process that gives way to others on its machine.

A thread that has waited for the disk or for a request gets the processor at once only if its turn
would end before that of whoever is at work there. Of threads with equal shares, that is the one
that asks for less at a time; it gets no more of the processor in all (Linux 6.12 and later,
sched_setattr(2)). On busy cores this is most of a sync's time (docs/performance.md#receiving).
"""

import contextlib
import ctypes
import os
import platform
import struct
import sys
import threading
from collections.abc import Iterator
from typing import Final

TURN_NANOSECONDS: Final = 100_000
"""The least that the kernel takes; its own default is a few milliseconds."""

NICENESS: Final = 5
"""A third of the weight that other processes have where cores are busy, and no less where not."""

PYTHON_SECONDS: Final = 0.0003
"""For so long a thread may keep Python's lock while another waits for it, where turns are short."""

_ATTRIBUTES: Final = struct.Struct("=IIQiIQQQ")  # sched_attr of the first version
_SIZE, _POLICY, _FLAGS, _RUNTIME = 0, 1, 2, 5
_NOT_FOR_CHILDREN: Final = 1  # SCHED_FLAG_RESET_ON_FORK
_CALLS: Final = {"x86_64": (314, 315), "aarch64": (274, 275)}  # sched_setattr, sched_getattr


def give_way() -> None:
    """For this process and what it starts, before it has a second thread: on busy cores a receiver
    on the same machine comes first, since a page can wait and the platform does not. A process that
    gives way further already stays as it is. Where the system knows no such thing nothing changes.
    """
    if sys.platform != "win32":
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, max(niceness, NICENESS))


class _Blocks:
    """Those of this process that want short turns at Python's lock, from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def change(self, by: int) -> None:
        """Counts one that begins (1) or ends (-1). The first asks for short turns, and the last
        gives back what was before it."""
        with self._lock:
            if not self._count:
                self._before = sys.getswitchinterval()
            self._count += by
            sys.setswitchinterval(PYTHON_SECONDS if self._count else self._before)


_BLOCKS: Final = _Blocks()


@contextlib.contextmanager
def short_in_python() -> Iterator[None]:
    """For the block, and each that overlaps it, all threads of this process take short turns at
    Python's lock; its own default is 5 ms. For threads that need it often and briefly beside one
    that computes: a writer of the inbox or of the ledger. Threads that compute alike, such as
    pages, lose by it."""
    _BLOCKS.change(1)
    try:
        yield
    finally:
        _BLOCKS.change(-1)


def take_short_turns() -> bool:
    """For the calling thread alone; whether the kernel does it. Where it does not, nothing changes,
    nor does it for a thread for which somebody chose another policy."""
    calls = _CALLS.get(platform.machine()) if sys.platform == "linux" else None
    if calls is None:
        return False
    change, ask = calls
    system, buffer = ctypes.CDLL(None), ctypes.create_string_buffer(_ATTRIBUTES.size)

    def attributes() -> list[int]:
        failed = system.syscall(ask, 0, buffer, _ATTRIBUTES.size, 0)
        return [0] * 8 if failed else [*_ATTRIBUTES.unpack(buffer.raw)]

    wanted = attributes()
    if not wanted[_SIZE] or wanted[_POLICY] != os.SCHED_OTHER:
        return False
    wanted[_FLAGS] |= _NOT_FOR_CHILDREN
    wanted[_RUNTIME] = TURN_NANOSECONDS
    system.syscall(change, 0, _ATTRIBUTES.pack(*wanted), 0)
    return attributes()[_RUNTIME] == TURN_NANOSECONDS  # earlier kernels take it and forget it
