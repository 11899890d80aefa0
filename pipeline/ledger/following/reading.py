"""Reads an inbox's batches ahead, on a thread, while DuckDB writes those before them."""

import contextlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from pipeline.ledger.batch import Batch

MOST_AHEAD: Final = 14
"""Batches in memory at once: DuckDB takes many in one transaction, and then works out rows for as
long as it takes to read as many."""
LEAST_AHEAD: Final = 2
BYTES_AHEAD: Final = 192 * 2**20
"""That they may take."""


class ReadAhead:
    """Batches of one inbox in order. For one caller at a time; to be closed before the inbox is."""

    def __init__(self, read: Callable[[int], Batch | None]) -> None:
        """`read`: the batch after an entry; None where none follows it."""
        self._read = read
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reading-ahead")
        self._begun: deque[Future[Batch | None]] = deque()
        self._after: int | None = None  # of the next to be read; of the thread, while any is begun

    def begin(self, after: int) -> None:
        """Begins to read what follows an entry, unless it reads already."""
        if not self._begun:
            self._after = after
            self._begin_until(LEAST_AHEAD)

    def _begin_until(self, many: int) -> None:
        while len(self._begun) < many:
            self._begun.append(self._thread.submit(self._read_next))

    def _read_next(self) -> Batch | None:
        after, self._after = self._after, None
        if after is None:
            return None
        batch = self._read(after)
        self._after = None if batch is None else batch.last_entry.seq
        return batch

    def take(self) -> Batch | None:
        """The next batch, once it is read; None where none was begun, none follows, or reading it
        failed: whoever reads it themselves is told why."""
        if not self._begun:
            return None
        batch = None
        with contextlib.suppress(Exception):
            batch = self._begun.popleft().result()
        if batch is None:
            self.drop()
        else:
            fitting = BYTES_AHEAD // max(1, batch.size_bytes)
            self._begin_until(max(LEAST_AHEAD, min(MOST_AHEAD, fitting)))
        return batch

    def drop(self) -> None:
        """Forgets what was read: something else follows now, or nothing."""
        while self._begun:
            begun = self._begun.popleft()
            if not begun.cancel():
                begun.exception()  # waits

    def close(self) -> None:
        """Ends the thread, once it has read what it is reading."""
        self.drop()
        self._thread.shutdown()
