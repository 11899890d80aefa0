"""Sends retries when they come due, for as long as its process runs.

What waits is worked out from the inbox alone, so any process can go on with a try, whether the one
that began it is alive or not. What is due is judged by the inbox's clock; waits are measured by a
clock that nobody sets.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.errors import CopyHeld, InboxUnavailable
from pipeline.inbox import Inbox, copies
from pipeline.inbox.heartbeats import Part, beat
from pipeline.log.entries import Entry
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.submit.attempt import Result, Sent, Submissions, note_sent
from pipeline.submit.decision import Busy, Refused
from pipeline.submit.retries import OURS, UnderWay, Waiting

LOG = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.25
REMEMBERED: Final = 24 * instants.HOUR + 10 * instants.MINUTE
"""How long after an attempt of ours its try may still go on. A test compares it with `gives_up_at`
of the view `clocked_attempts`."""
MAX_CONCURRENT_RETRIES: Final = 16
"""Retries under way at once, so that a platform that comes back is not flooded."""
ENTRIES_PER_READ: Final = 2000
RECHECK_DELAY: Final = 2 * instants.SECOND
"""Pause after the inbox could not be read, and while others have an attempt under way."""
BEAT_SECONDS: Final = 15.0
"""Between the heartbeats by which others see that retries are looked after."""
RECHECK_DELAY_AFTER_BUG: Final = 5 * instants.MINUTE

OnAttempt = Callable[[str, Result], None]
"""Hears the process and the result of each attempt."""


class Patience:
    """How long a command waits, by the clock that nobody sets."""

    def __init__(self, seconds: float) -> None:
        self._until = instants.since_boot() + round(seconds * instants.SECOND)

    @property
    def left(self) -> int:
        """In microseconds; 0 or less once it is over."""
        return self._until - instants.since_boot()


class _NextLook(NamedTuple):
    """When to look at a process again."""

    at: int  # by the clock that nobody sets
    until: int  # by the inbox's clock


class Resumer:
    """Sends what waits for a retry, whichever process began it: `prazo serve` and `prazo resume`.

    It reads the inbox on, and remembers only when to look at which process again. An entry causes a
    look; the look alone decides. A try is given up after 24 hours, so a process for which we have
    sent nothing for longer is not looked at.
    """

    def __init__(
        self, inbox: Inbox, submissions: Submissions, *, recorded_by: str, on_attempt: OnAttempt
    ) -> None:
        self._inbox = inbox
        self._submissions = submissions
        self._recorded_by = recorded_by
        self._on_attempt = on_attempt
        self._after = -1  # seq up to which the inbox was read; -1: not yet
        self._leaf = b""  # of the entry there; empty at the start of the log
        self._sent_at: dict[str, int] = {}  # process -> our last attempt's start, the oldest first
        self._look_at: dict[str, _NextLook] = {}  # by process
        # Process -> when an attempt that this process did not make must have ended.
        self._under_way: dict[str, int] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._beat_at = 0.0  # on the monotonic clock

    async def run(self, stop: asyncio.Event) -> None:
        """Runs until `stop` is set; attempts that are under way then come to their end. Raises
        `CopyHeld`, as `run_for` does, where the inbox is a copy when it begins."""
        await asyncio.to_thread(copies.require_in_use, self._inbox)
        while not stop.is_set():
            await self._beat_in_time()
            await self._turn()
            await sleep(stop, POLL_SECONDS)
        if self._looking:
            await asyncio.wait(self._looking.values())

    async def run_for(self, patience: Patience) -> list[tuple[str, int]]:
        """Runs until nothing more is due within the patience. Returns the processes that are left,
        and when each is to be looked at again.

        An attempt that others have under way may leave a retry that is due: its end is waited for
        within the same patience.
        """
        await asyncio.to_thread(copies.require_in_use, self._inbox)
        until = instants.since_boot() + patience.left
        while True:
            await self._turn()
            soon = [it for it in self._look_at.values() if it.at <= until]
            may_come = self._under_way and patience.left >= 0
            if not self._looking and not soon and not may_come:
                waiting = {name: planned.until for name, planned in self._look_at.items()}
                left = {**waiting, **self._under_way}
                return sorted(left.items(), key=lambda planned: planned[1])
            await asyncio.sleep(POLL_SECONDS / 5)

    async def _beat_in_time(self) -> None:
        if time.monotonic() >= self._beat_at:
            self._beat_at = time.monotonic() + BEAT_SECONDS
            try:
                await asyncio.to_thread(beat, self._inbox, Part.RESUMER)
            except InboxUnavailable as error:
                LOG.error("the resumer cannot say that it is well: %s", error)

    async def _turn(self) -> None:
        try:
            await self._read_on()
        except InboxUnavailable as error:
            LOG.error("retries wait: %s", error)
            await asyncio.sleep(RECHECK_DELAY / instants.SECOND)
        now = instants.since_boot()
        for process_id, again in sorted(self._look_at.items(), key=lambda planned: planned[1]):
            if again.at > now or len(self._looking) >= MAX_CONCURRENT_RETRIES:
                break
            if process_id not in self._looking:
                # Before the look reads anything: an entry that comes meanwhile causes another.
                del self._look_at[process_id]
                task = asyncio.create_task(self._look(process_id))
                self._looking[process_id] = task
                task.add_done_callback(
                    lambda _, looked_at=process_id: self._looking.pop(looked_at, None)  # type: ignore[misc]
                )

    async def _read_on(self) -> None:
        if self._leaf and await asyncio.to_thread(self._inbox.leaf, self._after) != self._leaf:
            LOG.warning("the inbox is not the one that was read: its retries are looked at again")
            self._after = -1
        if self._after < 0:
            since = await self._submissions.now() - REMEMBERED
            self._after, self._leaf = await asyncio.to_thread(self._inbox.last_before, since), b""
        while entries := await asyncio.to_thread(self._inbox.read, self._after, ENTRIES_PER_READ):
            now = await self._submissions.now()
            for entry in entries:
                self._note(entry, now)
            self._after, self._leaf = entries[-1].seq, entries[-1].leaf
            self._forget(now - REMEMBERED)

    def _note(self, entry: Entry, now: int) -> None:
        """Any entry of a process that we have sent something for is worth a look."""
        process_id = entry.process_id
        if process_id is None:
            return
        if entry.kind == SUBMISSION_STARTED and entry.particulars.get("via") in OURS:
            self._sent_at.pop(process_id, None)
            self._sent_at[process_id] = entry.recorded_at
        if process_id in self._sent_at:
            self._look_at[process_id] = _NextLook(instants.since_boot(), now)

    def _forget(self, before: int) -> None:
        """Forgets processes whose last attempt of ours is so old that no try still waits."""
        while self._sent_at and self._sent_at[oldest := next(iter(self._sent_at))] < before:
            del self._sent_at[oldest]

    async def _look(self, process_id: str) -> None:
        try:
            again = await self._retry_if_due(process_id)
        except (InboxUnavailable, CopyHeld) as error:
            about = {"process_id": process_id}
            LOG.error("the retry of %s waits: %s", process_id, error, extra=about)
            again = _look_after(self._inbox.clock(), RECHECK_DELAY)
        except Exception:
            # A bug of ours in one process's case must cost neither this retry nor any other.
            LOG.exception("the retry of %s waits", process_id, extra={"process_id": process_id})
            again = _look_after(self._inbox.clock(), RECHECK_DELAY_AFTER_BUG)
        if again is not None:
            self._look_at.setdefault(process_id, again)  # an entry that came since is sooner

    async def _retry_if_due(self, process_id: str) -> _NextLook | None:
        """Sends a process's retry if it is due. When to look at the process again; None: never,
        unless another entry comes."""
        self._under_way.pop(process_id, None)
        standing, case = await self._submissions.standing(process_id)
        if case.is_finished:
            return None
        match standing:
            case UnderWay(until=until):
                return self._after_others(process_id, until, case.now)
            case Waiting(tried=tried, due_at=int(due_at)) if tried.is_ours:
                if due_at > case.now:
                    return _look_after(case.now, due_at - case.now)
            case _:
                return None
        result = await self._submissions.retry(process_id, "due", recorded_by=self._recorded_by)
        if isinstance(result, Busy):
            return self._after_others(process_id, result.until, case.now)
        if isinstance(result, Sent):
            note_sent(process_id, result)
        if isinstance(result, Sent | Refused):
            self._on_attempt(process_id, result)
        return _look_after(case.now, 0)

    def _after_others(self, process_id: str, until: int, now: int) -> _NextLook:
        """The next look while others have an attempt under way, which must end by `until` and may
        end long before that."""
        self._under_way[process_id] = until
        return _look_after(now, min(until - now, RECHECK_DELAY))


def _look_after(now: int, pause: int) -> _NextLook:
    """The next look after a pause in microseconds; `now` by the inbox's clock."""
    return _NextLook(instants.since_boot() + pause, now + pause)


async def sleep(stop: asyncio.Event, seconds: float) -> None:
    """Waits for so long, or until `stop` is set."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
