"""Lets one thread of a process write to an inbox at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from pipeline.errors import InboxUnavailable

TURN_SECONDS: Final = 10.0
"""The longest that a thread waits for another thread's write."""


@contextmanager
def in_turn(writing_alone: Lock) -> Iterator[None]:
    """Holds an inbox's lock among the threads of this process; `InboxUnavailable` where another
    thread's write does not end within `TURN_SECONDS`."""
    if not writing_alone.acquire(timeout=TURN_SECONDS):
        raise InboxUnavailable(
            "The inbox cannot be written",
            f"another write of this process has not ended for {TURN_SECONDS:g} s",
            "look at the disk of the inbox, or at its server",
        )
    try:
        yield
    finally:
        writing_alone.release()
