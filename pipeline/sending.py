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
from pipeline.occurrences import LIVE, SUBMISSION_FINISHED, SUBMISSION_STARTED, Entry
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
LONGEST_ATTEMPT: Final = 10 * instants.MINUTE
FINAL_STATUSES: Final = frozenset({200, 400, 401, 404, 409})
AT_ONCE: Final = 16
"""Retries under way at a time: a platform that comes back is not met by all that waits for it."""
ENTRIES_A_READ: Final = 2000
LOOK_AGAIN: Final = 2 * instants.SECOND
"""After the inbox could not be read."""

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
    submissions = Submissions(inbox, recorder, platform, _terms(settings))
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
            ):
                await asyncio.sleep(BUSY_SECONDS)
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
        return decide(order, case, now, _terms(settings))
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


def _terms(settings: Settings) -> Terms:
    return Terms(settings.evidence_gate, settings.allow_numeric_revenue)


async def first_attempt(submissions: Submissions, order: Order, until: int) -> Result:
    """The order's own attempt, once whatever else is under way for the process has ended."""
    while isinstance(result := await submissions.attempt(order), Busy):
        if result.until > until and instants.now() > until:
            break
        await asyncio.sleep(BUSY_SECONDS)
    return result


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
                await asyncio.sleep(BUSY_SECONDS)
                continue
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

    It reads on in the inbox and keeps nothing but when to look at which process again; a try is
    given up after 24 hours, so what is older than that is never looked at.
    """

    def __init__(
        self, inbox: Inbox, submissions: Submissions, *, recorded_by: str, tell: Tell
    ) -> None:
        self._inbox = inbox
        self._submissions = submissions
        self._recorded_by = recorded_by
        self._tell = tell
        self._after = -1  # seq up to which the inbox was read; -1: not yet
        self._look_at: dict[str, int] = {}  # process -> when
        self._under_way: set[str] = set()  # processes that others, or the dead, are sending
        self._looking: dict[str, asyncio.Task[None]] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop; attempts that are under way then come to their end."""
        while not stop.is_set():
            await self._turn()
            await _sleep(stop, POLL_SECONDS)
        if self._looking:
            await asyncio.wait(self._looking.values())

    async def run_until(self, until: int) -> list[tuple[str, int]]:
        """Until nothing is left that is due by then, or may still turn out to be; what is due
        later."""
        while True:
            await self._turn()
            soon = [it for it, at in self._look_at.items() if at <= until]
            if not self._looking and not soon and not self._under_way:
                return sorted(self._look_at.items(), key=lambda it: it[1])
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
                task = asyncio.create_task(self._look(process_id))
                self._looking[process_id] = task
                task.add_done_callback(lambda _, it=process_id: self._looking.pop(it, None))  # type: ignore[misc]

    async def _read_on(self) -> None:
        if self._after < 0:
            since = instants.now() - TRY_LASTS - LONGEST_ATTEMPT
            self._after = await asyncio.to_thread(_last_before, self._inbox, since)
        while entries := await asyncio.to_thread(self._inbox.read, self._after, ENTRIES_A_READ):
            for entry in entries:
                self._note(entry)
            self._after = entries[-1].seq

    def _note(self, entry: Entry) -> None:
        """Whether an entry makes its process worth a look. The look decides; this only saves it."""
        process_id = entry.process_id
        if process_id is None:
            return
        if entry.kind == SUBMISSION_STARTED:
            if entry.origin == LIVE and entry.particulars.get("via") in OURS:
                self._look_at[process_id] = entry.occurred_at
            else:
                self._look_at.pop(process_id, None)
        elif process_id in self._look_at:
            is_final = entry.kind == SUBMISSION_FINISHED and (
                entry.status in FINAL_STATUSES or entry.particulars.get("error") == "refused"
            )
            if is_final:
                del self._look_at[process_id]
            else:
                self._look_at[process_id] = instants.now()

    async def _look(self, process_id: str) -> None:
        try:
            again_at = await self._retry_if_due(process_id)
        except InboxUnavailable as error:
            LOG.error("the retry of %s waits: %s", process_id, error)
            again_at = instants.now() + LOOK_AGAIN
        if again_at is None:
            self._look_at.pop(process_id, None)
        else:
            self._look_at[process_id] = again_at

    async def _retry_if_due(self, process_id: str) -> int | None:
        """When to look at it again; None: never, unless another entry comes."""
        self._under_way.discard(process_id)
        standing, case = await self._submissions.standing(process_id)
        if case.is_finished:
            return None
        match standing:
            case UnderWay(until=until):
                self._under_way.add(process_id)
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
