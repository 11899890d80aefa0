"""Turns many waiting requests into one durable commit.

One thread owns the writing. While a commit runs, whatever arrives queues up; the next commit takes
all of it. There is no timer: an idle receiver commits at once, a busy one in large groups.
"""

import asyncio
import contextlib
import threading
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from pipeline.errors import InboxUnavailable
from pipeline.inbox.store import Inbox, Receipt
from pipeline.occurrences import Draft

MAX_ENTRIES_A_COMMIT: Final = 512
MAX_BYTES_A_COMMIT: Final = 16 * 2**20
MAX_WAITING: Final = 4096


class _Waiting(NamedTuple):
    draft: Draft
    answer: asyncio.Future[Receipt]


class GroupCommit:
    """The single writer thread of a process; `record` is for coroutines of one event loop."""

    def __init__(self, inbox: Inbox, loop: asyncio.AbstractEventLoop) -> None:
        self._inbox = inbox
        self._loop = loop
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="group-commit", daemon=True)
        self._thread.start()

    async def record(self, draft: Draft) -> Receipt:
        """Returns once the draft is on disk; raises `InboxUnavailable` where it may not be."""
        if self._queue.qsize() >= MAX_WAITING:
            raise InboxUnavailable(
                "The inbox is too slow", f"{MAX_WAITING} entries wait to be written", "send again"
            )
        answer: asyncio.Future[Receipt] = self._loop.create_future()
        self._queue.put(_Waiting(draft, answer))
        return await answer

    def close(self) -> None:
        """Writes what is waiting, then ends the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (batch := self._next_batch()) is not None:
            receipts: list[Receipt] | InboxUnavailable
            try:
                receipts = self._inbox.append([it.draft for it in batch])
            except InboxUnavailable as error:
                receipts = error
            except Exception as error:  # a waiting request must be answered, whatever happened
                receipts = InboxUnavailable("The entry could not be recorded", repr(error))
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(_answer, batch, receipts)

    def _next_batch(self) -> list[_Waiting] | None:
        first = self._queue.get()
        if first is None:
            return None
        batch, size = [first], len(first.draft.body or b"")
        while len(batch) < MAX_ENTRIES_A_COMMIT and size < MAX_BYTES_A_COMMIT:
            try:
                following = self._queue.get_nowait()
            except Empty:
                break
            if following is None:
                self._queue.put(None)  # closing: this batch first
                break
            batch.append(following)
            size += len(following.draft.body or b"")
        return batch


def _answer(batch: list[_Waiting], receipts: list[Receipt] | InboxUnavailable) -> None:
    for position, waiting in enumerate(batch):
        if waiting.answer.done():
            continue  # its caller has gone
        if isinstance(receipts, InboxUnavailable):
            waiting.answer.set_exception(receipts)
        else:
            waiting.answer.set_result(receipts[position])
