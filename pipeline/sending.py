"""Sees submissions through: the first attempt, its retries when they are due, what was left over.

What waits is worked out from the inbox alone, so it makes no difference whether the process that
began a try, another one, or none of them is still alive.
"""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from pipeline import instants
from pipeline.casefile import CaseFile, CaseFiles
from pipeline.errors import CallerError, InboxUnavailable, OperatorError
from pipeline.inbox import GroupCommit, Inbox, open_inbox
from pipeline.occurrences import SUBMISSION_STARTED, Entry
from pipeline.platform import Platform
from pipeline.settings import Settings
from pipeline.submission import (
    Busy,
    Go,
    NotDue,
    Order,
    Permission,
    Refused,
    Result,
    Sent,
    Submissions,
    Terms,
    Via,
    decide,
)
from pipeline.tries import OURS, TRY_LASTS, Standing, UnderWay, Waiting

LOG = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.25
BUSY_SECONDS: Final = 0.2
START_AGAIN_SECONDS: Final = 30.0
REMEMBERED: Final = TRY_LASTS + 10 * instants.MINUTE
"""How long an attempt of ours may matter: as long as its try lasts, and its last attempt."""
AT_ONCE: Final = 16
"""Retries under way at a time: a platform that comes back is not met by all that waits for it."""
ENTRIES_A_READ: Final = 2000
LOOK_AGAIN: Final = 2 * instants.SECOND
"""After the inbox could not be read, and while others have an attempt under way."""
LOOK_AGAIN_AFTER_A_BUG: Final = 5 * instants.MINUTE

Tell = Callable[[str, Result], None]
"""Told the process and the result of each attempt."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a submission stands when we stop looking after it."""

    result: Result
    standing: Standing
    is_finished: bool


@asynccontextmanager
async def open_submissions(settings: Settings) -> AsyncIterator[tuple[Inbox, Submissions]]:
    """Raises `SettingsError` where the platform is not set up, or `InboxUnavailable`."""
    platform = Platform(settings)
    inbox = open_inbox(settings.inbox)
    recorder = GroupCommit(inbox, asyncio.get_running_loop())
    submissions = Submissions(inbox, recorder, platform, Terms.of(settings))
    try:
        yield inbox, submissions
    finally:
        await submissions.close()
        await asyncio.to_thread(recorder.close)
        inbox.close()


def submit(
    settings: Settings,
    process_id: str,
    payload: bytes,
    *,
    recorded_by: str,
    via: Via = "api",
    seller_id: str | None = None,
    override: Permission | None = None,
    replacement: Permission | None = None,
    patience_seconds: float = 30.0,
    tell: Tell = lambda process_id, result: None,
) -> Ended:
    """The Python API: submits a review, and its retries as long as they are due within patience.

    What still waits then is sent by `prazo serve` or `prazo resume`. `seller_id` is needed only
    where nothing in the log names the process's seller.
    """

    async def run() -> Ended:
        until = instants.now() + round(patience_seconds * instants.SECOND)
        async with open_submissions(settings) as (_, submissions):
            order = Order(
                process_id=process_id,
                seller_id=seller_id or await _seller_of(submissions, process_id),
                payload=payload,
                via=via,
                recorded_by=recorded_by,
                override=override,
                replacement=replacement,
            )
            result = await first_attempt(submissions, order, until)
            return await see_through(
                submissions, process_id, result, until=until, recorded_by=recorded_by, tell=tell
            )

    return asyncio.run(run())


def resume(
    settings: Settings,
    process_id: str,
    *,
    recorded_by: str,
    patience_seconds: float = 30.0,
    tell: Tell = lambda process_id, result: None,
) -> Ended:
    """Sends again what one process waits for, now: also a gateway's try, or after a 401."""

    async def run() -> Ended:
        until = instants.now() + round(patience_seconds * instants.SECOND)
        async with open_submissions(settings) as (_, submissions):
            result: Result
            while isinstance(
                result := await submissions.retry(process_id, "asked", recorded_by=recorded_by),
                Busy,
            ) and await _is_time_left(until):
                pass
            return await see_through(
                submissions, process_id, result, until=until, recorded_by=recorded_by, tell=tell
            )

    return asyncio.run(run())


def resume_all(
    settings: Settings, *, recorded_by: str, patience_seconds: float, tell: Tell
) -> list[tuple[str, int]]:
    """Sends what waits for a retry and is due within patience; what waits still, and until when."""

    async def run() -> list[tuple[str, int]]:
        async with open_submissions(settings) as (inbox, submissions):
            resumer = Resumer(inbox, submissions, recorded_by=recorded_by, tell=tell)
            until = instants.now() + round(patience_seconds * instants.SECOND)
            return await resumer.run_until(until)

    return asyncio.run(run())


def resume_for_ever(settings: Settings, *, recorded_by: str, tell: Tell) -> None:
    """Sends what waits for a retry as it comes due, until SIGTERM; what is under way then ends.

    Settings that are wrong and an inbox that cannot be opened are told and tried again: the
    receiver beside us must not stop for them.
    """

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        while not stop.is_set():
            try:
                async with open_submissions(settings) as (inbox, submissions):
                    await Resumer(inbox, submissions, recorded_by=recorded_by, tell=tell).run(stop)
            except OperatorError as error:
                LOG.error("retries wait: %s", error)
                await _sleep(stop, START_AGAIN_SECONDS)

    asyncio.run(run())


async def _sleep(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


def dry_run(
    settings: Settings,
    process_id: str,
    payload: bytes,
    *,
    seller_id: str | None = None,
    override: Permission | None = None,
    replacement: Permission | None = None,
) -> Go | Refused | Busy | NotDue:
    """What would be decided of a submission now; nothing is recorded or sent."""
    inbox = open_inbox(settings.inbox)
    try:
        now = instants.now()
        case = CaseFiles(inbox).open(process_id, now)
        order = Order(
            process_id=process_id,
            seller_id=seller_id or _seller_in(case, process_id),
            payload=payload,
            via="api",
            recorded_by="",
            override=override,
            replacement=replacement,
        )
        return decide(order, case, now, Terms.of(settings))
    finally:
        inbox.close()


async def _seller_of(submissions: Submissions, process_id: str) -> str:
    _, case = await submissions.standing(process_id)
    return _seller_in(case, process_id)


def _seller_in(case: CaseFile, process_id: str) -> str:
    """The process's seller; raises `CallerError` where nothing names one."""
    if case.process is None or case.process.seller_id is None:
        raise CallerError(
            f"There is no review process {process_id}",
            "no webhook, collection or attempt names it",
            "check the id; if its webhook was lost, name the seller and override the gate",
        )
    return case.process.seller_id


async def first_attempt(submissions: Submissions, order: Order, until: int) -> Result:
    """The order's own attempt, once whatever else is under way for the process has ended."""
    while isinstance(result := await submissions.attempt(order), Busy):
        if not await _is_time_left(until):
            break
    return result


async def _is_time_left(until: int) -> bool:
    """Waits a little for an attempt of another process to end, unless `until` is over."""
    left = until - instants.now()
    if left <= 0:
        return False
    await asyncio.sleep(min(left / instants.SECOND, BUSY_SECONDS))
    return True


async def see_through(
    submissions: Submissions,
    process_id: str,
    result: Result,
    *,
    until: int,
    recorded_by: str,
    tell: Tell,
) -> Ended:
    """Sends the retries after `result`, those that are due by `until`."""
    tell(process_id, result)
    while True:
        standing, case = await submissions.standing(process_id)
        match standing:
            case _ if case.is_finished or isinstance(result, Refused):
                return Ended(result, standing, case.is_finished)
            case UnderWay():  # by another process of ours, or by one that died
                if await _is_time_left(until):
                    continue
                return Ended(result, standing, case.is_finished)
            case Waiting(tried=tried, due_at=due_at, is_held=False) if (
                tried.is_ours and due_at <= until
            ):
                await asyncio.sleep(max(0.0, (due_at - instants.now()) / instants.SECOND))
            case _:
                return Ended(result, standing, case.is_finished)
        again = await submissions.retry(process_id, "due", recorded_by=recorded_by)
        if isinstance(again, Sent | Refused):
            result = again
            tell(process_id, result)


class Resumer:
    """Sends what waits for a retry, whichever process began it: `prazo serve` and `prazo resume`.

    It reads on in the inbox and keeps nothing but when to look at which process again. Entries
    only ever cause a look, and the look alone decides; a try is given up after 24 hours, so what
    nobody of ours has sent for longer than that is never looked at.
    """

    def __init__(
        self, inbox: Inbox, submissions: Submissions, *, recorded_by: str, tell: Tell
    ) -> None:
        self._inbox = inbox
        self._submissions = submissions
        self._recorded_by = recorded_by
        self._tell = tell
        self._after = -1  # seq up to which the inbox was read; -1: not yet
        self._sent_at: dict[str, int] = {}  # process -> our last attempt's start, the oldest first
        self._look_at: dict[str, int] = {}  # process -> when
        self._under_way: dict[str, int] = {}  # process -> the end of what others, or the dead, send
        self._looking: dict[str, asyncio.Task[None]] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop; attempts that are under way then come to their end."""
        while not stop.is_set():
            await self._turn()
            await _sleep(stop, POLL_SECONDS)
        if self._looking:
            await asyncio.wait(self._looking.values())

    async def run_until(self, until: int) -> list[tuple[str, int]]:
        """Until nothing is left that is due by then; what is left, and when to come back for it.

        What others have under way may turn out to be due: it is waited for as long, not longer.
        """
        while True:
            await self._turn()
            soon = [it for it, at in self._look_at.items() if at <= until]
            may_come = self._under_way and instants.now() <= until
            if not self._looking and not soon and not may_come:
                left = {**self._look_at, **self._under_way}
                return sorted(left.items(), key=lambda it: it[1])
            await asyncio.sleep(POLL_SECONDS / 5)

    async def _turn(self) -> None:
        try:
            await self._read_on()
        except InboxUnavailable as error:
            LOG.error("retries wait: %s", error)
            await asyncio.sleep(LOOK_AGAIN / instants.SECOND)
        now = instants.now()
        for process_id, at in sorted(self._look_at.items(), key=lambda it: it[1]):
            if at > now or len(self._looking) >= AT_ONCE:
                break
            if process_id not in self._looking:
                # Before the look reads anything: an entry that comes meanwhile causes another.
                del self._look_at[process_id]
                task = asyncio.create_task(self._look(process_id))
                self._looking[process_id] = task
                task.add_done_callback(lambda _, it=process_id: self._looking.pop(it, None))  # type: ignore[misc]

    async def _read_on(self) -> None:
        if self._after < 0:
            since = instants.now() - REMEMBERED
            self._after = await asyncio.to_thread(_last_before, self._inbox, since)
        while entries := await asyncio.to_thread(self._inbox.read, self._after, ENTRIES_A_READ):
            now = instants.now()
            for entry in entries:
                self._note(entry, now)
            self._after = entries[-1].seq
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
            self._look_at[process_id] = now

    def _forget(self, before: int) -> None:
        """Whose last attempt of ours is so old that no try with it still waits."""
        while self._sent_at and self._sent_at[oldest := next(iter(self._sent_at))] < before:
            del self._sent_at[oldest]

    async def _look(self, process_id: str) -> None:
        try:
            again_at = await self._retry_if_due(process_id)
        except InboxUnavailable as error:
            LOG.error("the retry of %s waits: %s", process_id, error)
            again_at = instants.now() + LOOK_AGAIN
        except Exception:
            # A bug of ours in one process's case must not cost it its retry, nor others theirs.
            LOG.exception("the retry of %s waits", process_id)
            again_at = instants.now() + LOOK_AGAIN_AFTER_A_BUG
        if again_at is not None:
            self._look_at.setdefault(process_id, again_at)  # an entry that came since is sooner

    async def _retry_if_due(self, process_id: str) -> int | None:
        """When to look at it again; None: never, unless another entry comes."""
        self._under_way.pop(process_id, None)
        standing, case = await self._submissions.standing(process_id)
        if case.is_finished:
            return None
        match standing:
            case UnderWay(until=until):
                self._under_way[process_id] = until
                return min(until, instants.now() + LOOK_AGAIN)
            case Waiting(tried=tried, due_at=due_at, is_held=False) if tried.is_ours:
                if due_at > instants.now():
                    return due_at
            case _:
                return None
        result = await self._submissions.retry(process_id, "due", recorded_by=self._recorded_by)
        if isinstance(result, Sent | Refused):
            self._tell(process_id, result)
        return instants.now()


def _last_before(inbox: Inbox, instant: int) -> int:
    """The seq of the last entry recorded before an instant; 0 where there is none."""
    low, (high, _) = 0, inbox.last()
    while low < high:
        middle = (low + high + 1) // 2
        [entry] = inbox.read(middle - 1, 1)
        if entry.recorded_at < instant:
            low = middle
        else:
            high = middle - 1
    return low
