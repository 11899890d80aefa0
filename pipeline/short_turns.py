"""Decides who gets the processor first: short turns for threads that others wait for, at the
processor and at Python's lock, and a process that gives way to others on its machine.

A thread that has waited for the disk or for a request gets a busy processor at once only if its
turn would end before the turn of the thread that runs there. Among threads with equal shares, so it
is for the one that asks for shorter turns; in all it gets no more of the processor (Linux 6.12 and
later, sched_setattr(2)). On busy cores, waiting for the processor is most of a sync's time
(docs/performance.md#receiving).
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
"""The shortest turn that the kernel accepts; its default is a few milliseconds."""

NICENESS: Final = 5
"""On busy cores a process then has a third of the weight of others; on idle ones it loses
nothing."""

PYTHON_SECONDS: Final = 0.0003
"""How long a thread may keep Python's lock while another waits for it, where turns are short."""

_ATTRIBUTES: Final = struct.Struct("=IIQiIQQQ")  # sched_attr of the first version
_SIZE, _POLICY, _FLAGS, _RUNTIME = 0, 1, 2, 5
_NOT_FOR_CHILDREN: Final = 1  # SCHED_FLAG_RESET_ON_FORK
_CALLS: Final = {"x86_64": (314, 315), "aarch64": (274, 275)}  # sched_setattr, sched_getattr


def give_way() -> None:
    """Lowers the priority of this process and of those that it starts; to be called before it has a
    second thread. On busy cores a receiver on the same machine then comes first, since a page can
    wait and the platform does not. A process that gives way further already stays as it is, and so
    does any on a system without priorities.
    """
    if sys.platform != "win32":
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, max(niceness, NICENESS))


class _Blocks:
    """Counts the blocks of this process that want short turns at Python's lock. Safe from any
    thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def change(self, by: int) -> None:
        """Counts a block that begins (1) or ends (-1). The first one sets short turns; the last one
        restores what was set before."""
        with self._lock:
            if not self._count:
                self._before = sys.getswitchinterval()
            self._count += by
            sys.setswitchinterval(PYTHON_SECONDS if self._count else self._before)


_BLOCKS: Final = _Blocks()


@contextlib.contextmanager
def short_in_python() -> Iterator[None]:
    """During the block all threads of this process take short turns at Python's lock, instead of
    5 ms. That is for threads that need the lock often and briefly beside one that computes, as a
    writer of the inbox or of the ledger does. Where all threads compute, as for pages, it costs
    time. Blocks may overlap."""
    _BLOCKS.change(1)
    try:
        yield
    finally:
        _BLOCKS.change(-1)


def take_short_turns() -> bool:
    """Gives the calling thread, and no other, short turns at the processor. Whether the kernel did
    so: it may not know them, and a thread with another policy is left as it is."""
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
