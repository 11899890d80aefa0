"""Turns many waiting requests into one durable commit.

One thread does all the writing. While a commit runs, new requests queue up, and the next commit
takes all of them. There is no timer: an idle receiver commits at once, a busy one in large groups.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Final

from pipeline.errors import InboxUnavailable, Quoted
from pipeline.inbox.store import Inbox, Receipt
from pipeline.log.deliveries import Delivery
from pipeline.log.entries import Draft
from pipeline.short_turns import take_short_turns

LOG = logging.getLogger(__name__)

MAX_ENTRIES_PER_COMMIT: Final = 512
MAX_BYTES_PER_COMMIT: Final = 16 * 2**20
MAX_WAITING: Final = 4096
MAX_BYTES_WAITING: Final = 256 * 2**20

PATIENCE_SECONDS: Final = 15.0
"""The longest wait for a record, whatever holds up the writer's thread. The platform gives a
delivery up after 30 s, and its request may have taken a while to arrive."""
LOOK_SECONDS: Final = 0.25
"""Between two looks at who has waited for too long."""

Answer = Receipt | InboxUnavailable | None
Hear = Callable[[Answer], None]
"""Called once with the answer, on the loop's thread: the receipt of an entry that is on disk, why
it may not be on disk, or None after a trial that succeeded."""


class _Waiting:
    __slots__ = ("hear", "is_settled", "occurrence", "size", "until")

    def __init__(
        self, occurrence: Draft | Delivery | None, size: int, until: float, hear: Hear
    ) -> None:
        self.occurrence = occurrence  # None: it only tries whether one could be recorded
        self.size = size  # of the body, in bytes
        self.until = until  # of the monotonic clock
        self.hear = hear
        self.is_settled = False  # it was answered, or nobody waits for it any more

    def settle(self, answer: Answer) -> None:
        self.is_settled = True
        self.hear(answer)


class GroupCommit:
    """The only thread of a process that writes to the inbox. All methods but `close` are for one
    event loop."""

    def __init__(
        self,
        inbox: Inbox,
        loop: asyncio.AbstractEventLoop,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._inbox = inbox
        self._loop = loop
        self._patience = patience_seconds
        self._queue: deque[_Waiting] = deque()
        self._calls: SimpleQueue[bool] = SimpleQueue()  # to the thread: whether that is the last
        self._is_called = False
        self._waiting = self._waiting_bytes = 0  # counted on the loop's thread alone
        self._unanswered: deque[_Waiting] = deque()
        self._is_closed = False
        self._writing_since: float | None = None  # set on the writer's thread alone
        self._thread = threading.Thread(target=self._run, name="group-commit", daemon=True)
        self._thread.start()
        self._loop.call_soon(self._give_up_in_time)

    async def record(self, occurrence: Draft | Delivery, *, until: float | None = None) -> Receipt:
        """Returns once the occurrence is on disk; raises `InboxUnavailable` if it may not be.

        It raises at `until` (of the monotonic clock) at the latest, or without that when the
        patience is over, whatever holds up the writer's thread. An occurrence that the thread has
        not taken up by then is not recorded later; whether one that it has taken up is recorded,
        nobody knows.
        """
        receipt = await self._answered(occurrence, until)
        assert receipt is not None
        return receipt

    async def probe(self) -> None:
        """Tries whether an entry could be recorded: waits in the same queue, and has the same
        thread write. Raises `InboxUnavailable` if it could not."""
        await self._answered(None, None)

    async def _answered(
        self, occurrence: Draft | Delivery | None, until: float | None
    ) -> Receipt | None:
        answer: asyncio.Future[Receipt | None] = self._loop.create_future()
        waiting = self.put(occurrence, partial(_set, answer), until)
        try:
            return await answer
        except asyncio.CancelledError:
            waiting.is_settled = True
            raise

    def put(
        self, occurrence: Draft | Delivery | None, hear: Hear, until: float | None = None
    ) -> _Waiting:
        """Has an occurrence recorded, and calls `hear` with the outcome; `until` as in `record`.
        Raises `InboxUnavailable` where waiting would be of no use; then `hear` is not called.

        The writer's thread parses deliveries. Parsing a whole group takes half the time of parsing
        each one between two requests, because the code stays in the processor's caches.
        """
        now = time.monotonic()
        self._refuse_at_once(now)
        size = 0 if occurrence is None else len(occurrence.body or b"")
        waiting = _Waiting(occurrence, size, now + self._patience if until is None else until, hear)
        self._waiting += 1
        self._waiting_bytes += size
        self._unanswered.append(waiting)
        self._queue.append(waiting)
        if not self._is_called:
            self._is_called = True
            self._loop.call_soon(self._call)
        return waiting

    def _call(self) -> None:
        """Wakes the thread once for all that came in one turn of the loop: it would begin with the
        first of them alone, and the others would wait for that commit."""
        self._is_called = False
        self._calls.put(False)

    def _refuse_at_once(self, now: float) -> None:
        """Raises `InboxUnavailable` where waiting would be of no use."""
        if self._is_closed:
            raise InboxUnavailable("The entry was not recorded", "the receiver is stopping")
        if self._waiting >= MAX_WAITING or self._waiting_bytes >= MAX_BYTES_WAITING:
            raise InboxUnavailable(
                "The entry was not recorded",
                f"the inbox is too slow: {self._waiting} entries of {self._waiting_bytes} bytes"
                " wait to be written",
                "look at the disk's or the server's load",
            )
        since = self._writing_since
        if since is not None and now - since > self._patience:
            raise _stuck(now - since)

    def _give_up_in_time(self) -> None:
        """Answers who has waited for too long, and looks again in a moment."""
        now = time.monotonic()
        for waiting in [*self._unanswered]:
            if waiting.until <= now and not waiting.is_settled:
                since = self._writing_since
                waiting.settle(_stuck(now - since if since else 0.0))
        if not self._is_closed or self._unanswered:
            self._loop.call_later(LOOK_SECONDS, self._give_up_in_time)

    def close(self, seconds: float | None = None) -> bool:
        """Writes what is waiting and ends the thread; whether it ended within `seconds`. Later
        calls of `record` are refused."""
        self._is_closed = True
        self._calls.put(True)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        take_short_turns()
        is_last = False
        while not is_last:
            is_last = self._calls.get()
            while batch := self._next_batch():
                self._writing_since = time.monotonic()
                answers = self._written(batch)
                self._writing_since = None
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    self._loop.call_soon_threadsafe(self._answer, batch, answers)

    def _next_batch(self) -> list[_Waiting]:
        """All that waits now, or as much of it as one commit takes."""
        batch: list[_Waiting] = []
        size = 0
        while self._queue and len(batch) < MAX_ENTRIES_PER_COMMIT and size < MAX_BYTES_PER_COMMIT:
            batch.append(following := self._queue.popleft())
            size += following.size
        return batch

    def _written(self, batch: Sequence[_Waiting]) -> Sequence[Answer]:
        """An answer for each that waits. Who was answered 503 meanwhile sends again, so nothing is
        written for them."""
        is_gone = [it.is_settled for it in batch]
        waiting = [it for it, gone in zip(batch, is_gone, strict=True) if not gone]
        occurrences = [it.occurrence for it in waiting if it.occurrence is not None]
        recorded = iter(self._commit(occurrences) if occurrences else ())
        probed = self._probe() if len(waiting) > len(occurrences) else None
        return [
            None if gone else probed if each.occurrence is None else next(recorded)
            for each, gone in zip(batch, is_gone, strict=True)
        ]

    def _probe(self) -> InboxUnavailable | None:
        try:
            self._inbox.probe()
        except InboxUnavailable as error:
            return error
        except Exception as error:
            return InboxUnavailable("The inbox could not be tried", _unknown(error))
        return None

    def _commit(self, occurrences: Sequence[Draft | Delivery]) -> Sequence[Answer]:
        try:
            return self._inbox.append(
                [it.draft() if isinstance(it, Delivery) else it for it in occurrences]
            )
        except InboxUnavailable as error:
            return [error] * len(occurrences)
        except Exception as error:  # a waiting request must be answered, whatever happened
            if len(occurrences) == 1:
                return [InboxUnavailable("The entry could not be recorded", _unknown(error))]
            # One that cannot be recorded must not make the others of its group fail.
            return [answer for it in occurrences for answer in self._commit([it])]

    def _answer(self, batch: Sequence[_Waiting], answers: Sequence[Answer]) -> None:
        for waiting, answer in zip(batch, answers, strict=True):
            self._waiting -= 1
            self._waiting_bytes -= waiting.size
            if waiting.is_settled:
                continue  # its caller has gone, or was answered that it should send again
            try:
                waiting.settle(answer)
            except Exception:
                LOG.exception("an answer could not be sent")  # the others of its group get theirs
        while self._unanswered and self._unanswered[0].is_settled:
            self._unanswered.popleft()


def _set(future: "asyncio.Future[Receipt | None]", answer: Answer) -> None:
    if future.done():
        return
    if isinstance(answer, InboxUnavailable):
        future.set_exception(answer)
    else:
        future.set_result(answer)


def _unknown(error: Exception) -> Quoted:
    return Quoted(repr(error), type(error).__name__)


def _stuck(seconds: float) -> InboxUnavailable:
    return InboxUnavailable(
        "The entry was not recorded in time",
        f"the write under way has not ended for {seconds:.0f} s"
        if seconds
        else "others came first",
        "look at the disk of the inbox or at its server, and at who else writes there",
    )
