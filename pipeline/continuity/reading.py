"""Reads an inbox's batches ahead, on a thread, while DuckDB writes those before them."""

import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from pipeline import short_turns
from pipeline.ledger.batch import Batch, LastEntry

MOST_AHEAD: Final = 14
"""Batches in memory at once. To read so many takes about as long as the refresh after a large
transaction, which takes as many at once."""
BYTES_AHEAD: Final = 192 * 2**20
"""Of entries in these: once they have more, none is read until one is taken."""
LOOK_SECONDS: Final = 0.05
"""Between two looks whether to wait any longer."""


def always() -> bool:
    """Yes: go on."""
    return True


class ReadAhead:
    """Batches of one inbox, in order. For one caller at a time; closed before the inbox is."""

    def __init__(self, read: Callable[[LastEntry, int], Batch | None]) -> None:
        """`read`: the batch after an entry, up to a seq; None where none follows. It raises where
        none can be read, or where what was read does not follow."""
        self._read = read
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reading-ahead")
        self._changed = threading.Condition()  # all that follows is read and changed under it
        self._ready: deque[Batch] = deque()
        self._is_reading = self._is_stopping = False

    def begin(self, after: LastEntry, end: int = sys.maxsize) -> None:
        """Begins to read what follows an entry, up to a seq, unless it has begun already."""
        with self._changed:
            if not self._is_reading and not self._ready:
                self._is_reading = True
                self._thread.submit(self._read_on, after, end)

    def _read_on(self, after: LastEntry, end: int) -> None:
        try:
            # The writer needs Python's lock for each table of a batch.
            with short_turns.short_in_python():
                while self._wait_for_room():
                    batch = self._read(after, end)
                    if batch is None:
                        return
                    with self._changed:
                        self._ready.append(batch)
                        self._changed.notify_all()
                    after = batch.last_entry
        except Exception:  # the caller then reads the same batch itself, and has the error
            return
        finally:
            with self._changed:
                self._is_reading = False
                self._changed.notify_all()

    def _wait_for_room(self) -> bool:
        """Whether there is room for another batch; false once nothing more is wanted."""

        def is_decided() -> bool:
            held = sum(batch.size_bytes for batch in self._ready)
            return self._is_stopping or (len(self._ready) < MOST_AHEAD and held < BYTES_AHEAD)

        with self._changed:
            self._changed.wait_for(is_decided)
            return not self._is_stopping

    def take(self, may_wait: Callable[[], bool] = always) -> Batch | None:
        """The next batch, once it is read; None where none is being read, or none can be.
        `may_wait`: asked again and again; where it says no, the batch is left for later."""
        with self._changed:
            while not self._ready and self._is_reading and may_wait():
                self._changed.wait(LOOK_SECONDS)
            if not self._ready:
                return None
            batch = self._ready.popleft()
            self._changed.notify_all()
            return batch

    def drop(self) -> None:
        """Waits for the read under way, then forgets all: another entry follows now."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._is_reading)
            self._is_stopping = False
            self._ready.clear()

    def close(self) -> None:
        """Ends the thread, once it has read what it is reading."""
        self.drop()
        self._thread.shutdown()
