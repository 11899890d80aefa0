"""Counts what witnesses and the time authority were asked for packages, for monitoring."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final, Literal

By = Literal["witnesses", "timestamp"]
Outcome = Literal["made", "failed"]

COUNTS: Final[dict[tuple[By, Outcome], int]] = {
    ("witnesses", "made"): 0,
    ("witnesses", "failed"): 0,
    ("timestamp", "made"): 0,
    ("timestamp", "failed"): 0,
}
"""Of this process, from 0 on."""
_LOCK: Final = Lock()


@contextmanager
def counted(by: By) -> Iterator[None]:
    """Counts one that the block asks for: it failed where the block raises."""
    outcome: Outcome = "failed"
    try:
        yield
        outcome = "made"
    finally:
        with _LOCK:
            COUNTS[by, outcome] += 1
