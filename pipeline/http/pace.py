"""Limits how often something is done: so many at once, then one each so many seconds."""

import math
import threading
import time
from collections.abc import Callable


class Pace:
    """Counts in memory, for one process. Safe from several threads."""

    def __init__(
        self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`most` at once; one more each so many `seconds`."""
        self._most, self._seconds, self._clock = float(most), seconds, clock
        self._left, self._at = self._most, clock()
        self._lock = threading.Lock()

    def wait(self) -> int:
        """Takes a place: 0; or none where all are taken: in how many seconds there is one."""
        with self._lock:
            now = self._clock()
            self._left = min(self._most, self._left + (now - self._at) / self._seconds)
            self._at = now
            if self._left < 1:
                return max(1, math.ceil((1 - self._left) * self._seconds))
            self._left -= 1
            return 0
