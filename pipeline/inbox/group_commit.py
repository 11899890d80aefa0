"""Turns many waiting requests into one durable commit.

One thread owns the writing. While a commit runs, whatever arrives queues up; the next commit takes
all of it. There is no timer: an idle receiver commits at once, a busy one in large groups.
"""

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from pipeline.errors import InboxUnavailable
from pipeline.inbox.store import Inbox, Receipt
from pipeline.occurrences import Delivery, Draft

MAX_ENTRIES_A_COMMIT: Final = 512
MAX_BYTES_A_COMMIT: Final = 16 * 2**20
MAX_WAITING: Final = 4096
MAX_BYTES_WAITING: Final = 256 * 2**20

Answer = Receipt | InboxUnavailable


class _Waiting(NamedTuple):
    occurrence: Draft | Delivery
    size: int  # of the body, in bytes
    answer: asyncio.Future[Receipt]


class GroupCommit:
    """The single writer thread of a process; `record` is for coroutines of one event loop."""

    def __init__(self, inbox: Inbox, loop: asyncio.AbstractEventLoop) -> None:
        self._inbox = inbox
        self._loop = loop
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._waiting = self._waiting_bytes = 0  # counted on the loop's thread alone
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="group-commit", daemon=True)
        self._thread.start()

    async def record(self, occurrence: Draft | Delivery) -> Receipt:
        """Returns once it is on disk; raises `InboxUnavailable` where it may not be.

        A delivery is read on the writer's thread: a group at once takes half the time that reading
        each between two requests does, for the code stays in the processor's caches.
        """
        if self._is_closed:
            raise InboxUnavailable("The entry was not recorded", "the receiver is stopping")
        if self._waiting >= MAX_WAITING or self._waiting_bytes >= MAX_BYTES_WAITING:
            raise InboxUnavailable(
                "The entry was not recorded",
                f"the inbox is too slow: {self._waiting} entries of {self._waiting_bytes} bytes"
                " wait to be written",
                "look at the disk's or the server's load",
            )
        waiting = _Waiting(occurrence, len(occurrence.body or b""), self._loop.create_future())
        self._waiting += 1
        self._waiting_bytes += waiting.size
        self._queue.put(waiting)
        return await waiting.answer

    def close(self) -> None:
        """Writes what is waiting, then ends the thread; what comes later is turned down."""
        self._is_closed = True
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_last = False
        while not is_last:
            batch, is_last = self._next_batch()
            if batch:
                answers = self._commit([it.occurrence for it in batch])
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    self._loop.call_soon_threadsafe(self._answer, batch, answers)

    def _next_batch(self) -> tuple[list[_Waiting], bool]:
        """Whatever waits now, at least one; and whether it is the last."""
        batch: list[_Waiting] = []
        size = 0
        following = self._queue.get()
        while following is not None:
            batch.append(following)
            size += following.size
            if len(batch) >= MAX_ENTRIES_A_COMMIT or size >= MAX_BYTES_A_COMMIT:
                return batch, False
            try:
                following = self._queue.get_nowait()
            except Empty:
                return batch, False
        return batch, True

    def _commit(self, occurrences: Sequence[Draft | Delivery]) -> Sequence[Answer]:
        try:
            return self._inbox.append(
                [it.draft() if isinstance(it, Delivery) else it for it in occurrences]
            )
        except InboxUnavailable as error:
            return [error] * len(occurrences)
        except Exception as error:  # a waiting request must be answered, whatever happened
            if len(occurrences) == 1:
                return [InboxUnavailable("The entry could not be recorded", repr(error))]
            # One that cannot be recorded must not turn down those that came with it.
            return [answer for it in occurrences for answer in self._commit([it])]

    def _answer(self, batch: Sequence[_Waiting], answers: Sequence[Answer]) -> None:
        for waiting, answer in zip(batch, answers, strict=True):
            self._waiting -= 1
            self._waiting_bytes -= waiting.size
            if waiting.answer.done():
                continue  # its caller has gone
            if isinstance(answer, InboxUnavailable):
                waiting.answer.set_exception(answer)
            else:
                waiting.answer.set_result(answer)
