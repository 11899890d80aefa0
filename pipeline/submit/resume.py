"""Sends submissions for their callers: the first attempt, and what is left of earlier ones.

Each call sees a submission through for as long as its caller is patient; `resumer.py` sends the
retries that come due later.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from pipeline import instants, signals
from pipeline.continuity.kept_heads import open_guarded, open_shared
from pipeline.errors import CallerError, OperatorError
from pipeline.inbox import Inbox
from pipeline.inbox.group_commit import GroupCommit
from pipeline.inbox.heartbeats import Part
from pipeline.inbox.parts import present
from pipeline.settings import Settings
from pipeline.submit.attempt import Result, Sent, Submissions
from pipeline.submit.casefile import CaseFile, CaseFiles
from pipeline.submit.decision import Approval, Busy, Go, NotDue, Order, Refused, Terms, Via, decide
from pipeline.submit.platform import Platform
from pipeline.submit.resumer import OnAttempt, Patience, Resumer, sleep
from pipeline.submit.retries import Standing, UnderWay, Waiting

LOG = logging.getLogger(__name__)

BUSY_SECONDS: Final = 0.2
START_AGAIN_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a submission stands when we stop sending it."""

    result: Result
    standing: Standing
    is_finished: bool


@asynccontextmanager
async def open_submissions(settings: Settings) -> AsyncIterator[tuple[Inbox, Submissions]]:
    """The inbox, and submissions over it, for the block. Raises `SettingsError` where the platform
    is not set up, or `InboxUnavailable`."""
    platform = Platform(settings)
    inbox = open_guarded(settings)
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
    override: Approval | None = None,
    replacement: Approval | None = None,
    patience_seconds: float = 30.0,
    on_attempt: OnAttempt = lambda process_id, result: None,
) -> Ended:
    """The Python API: sends a submission, and its retries that are due within the patience.

    `prazo serve` or `prazo resume` sends the later ones. `seller_id` is needed only where nothing
    in the log names the process's seller.
    """

    async def first(submissions: Submissions, patience: Patience) -> Result:
        order = Order(
            process_id=process_id,
            seller_id=seller_id or await _seller_of(submissions, process_id),
            payload=payload,
            via=via,
            recorded_by=recorded_by,
            override=override,
            replacement=replacement,
        )
        return await first_attempt(submissions, order, patience)

    return _see_through(settings, process_id, first, patience_seconds, recorded_by, on_attempt)


def resume(
    settings: Settings,
    process_id: str,
    *,
    recorded_by: str,
    patience_seconds: float = 30.0,
    on_attempt: OnAttempt = lambda process_id, result: None,
) -> Ended:
    """Sends what one process waits to send again, now: also a gateway's try, or one that ended in
    a 401. Raises `CallerError` where nothing names the process."""

    async def first(submissions: Submissions, patience: Patience) -> Result:
        result: Result
        while isinstance(
            result := await submissions.retry(process_id, "asked", recorded_by=recorded_by),
            Busy,
        ) and await _is_time_left(patience):
            pass
        if isinstance(result, NotDue):  # nothing waits: is there such a process at all?
            _, case = await submissions.standing(process_id)
            if case.process is None:
                raise unknown_process(process_id)
        return result

    return _see_through(settings, process_id, first, patience_seconds, recorded_by, on_attempt)


def _see_through(
    settings: Settings,
    process_id: str,
    first: Callable[[Submissions, Patience], Awaitable[Result]],
    patience_seconds: float,
    recorded_by: str,
    on_attempt: OnAttempt,
) -> Ended:
    """Sends `first`, and the retries that come due within patience."""

    async def run() -> Ended:
        patience = Patience(patience_seconds)
        async with open_submissions(settings) as (_, submissions):
            return await see_through(
                submissions,
                process_id,
                await first(submissions, patience),
                patience=patience,
                recorded_by=recorded_by,
                on_attempt=on_attempt,
            )

    return asyncio.run(run())


def resume_all(
    settings: Settings, *, recorded_by: str, patience_seconds: float, on_attempt: OnAttempt
) -> list[tuple[str, int]]:
    """Sends the retries that are due within the patience. Returns the processes that still wait,
    and until when."""

    async def run() -> list[tuple[str, int]]:
        async with open_submissions(settings) as (inbox, submissions):
            resumer = Resumer(inbox, submissions, recorded_by=recorded_by, on_attempt=on_attempt)
            return await resumer.run_for(Patience(patience_seconds))

    return asyncio.run(run())


def resume_for_ever(settings: Settings, *, recorded_by: str, on_attempt: OnAttempt) -> None:
    """Sends retries as they come due, until SIGTERM; attempts under way then come to their end.

    Wrong settings and an inbox that cannot be opened are logged and tried again: they must not stop
    the receiver that runs beside this.
    """

    async def run() -> None:
        stop = asyncio.Event()
        signals.stop_by_signals(stop.set, asyncio.get_running_loop())
        while not stop.is_set():
            try:
                async with open_submissions(settings) as (inbox, submissions):
                    with present(inbox, Part.RESUMER):
                        await Resumer(
                            inbox, submissions, recorded_by=recorded_by, on_attempt=on_attempt
                        ).run(stop)
            except OperatorError as error:
                LOG.error("retries wait: %s", error)
                await sleep(stop, START_AGAIN_SECONDS)

    asyncio.run(run())


def dry_run(
    settings: Settings,
    process_id: str,
    payload: bytes,
    *,
    seller_id: str | None = None,
    override: Approval | None = None,
    replacement: Approval | None = None,
) -> Go | Refused | Busy | NotDue:
    """What would be decided of a submission now; nothing is recorded or sent."""
    inbox = open_shared(settings, create=False)
    try:
        case = CaseFiles(inbox).open(process_id)
        order = Order(
            process_id=process_id,
            seller_id=seller_id or _seller_in(case, process_id),
            payload=payload,
            via="api",
            recorded_by="",
            override=override,
            replacement=replacement,
        )
        return decide(order, case, Terms.of(settings))
    finally:
        inbox.close()


async def _seller_of(submissions: Submissions, process_id: str) -> str:
    _, case = await submissions.standing(process_id)
    return _seller_in(case, process_id)


def _seller_in(case: CaseFile, process_id: str) -> str:
    """The process's seller; raises `CallerError` where nothing names one."""
    if case.process is None:
        raise unknown_process(
            process_id, "; if its webhook was lost, name the seller and override the gate"
        )
    if case.process.seller_id is None:
        raise CallerError(
            f"Nobody knows whose review {process_id} is",
            "its first event names no seller that can be read",
            "ask the platform, then name the seller",
        )
    return case.process.seller_id


def unknown_process(process_id: str, otherwise: str = "") -> CallerError:
    """An id that nothing in the log names. `otherwise`: what to do where it is right."""
    return CallerError(
        f"There is no review process {process_id}",
        "no webhook, collection or attempt names it",
        f"check the id{otherwise}",
    )


async def first_attempt(submissions: Submissions, order: Order, patience: Patience) -> Result:
    """The order's own attempt, once whatever else is under way for the process has ended."""
    while isinstance(result := await submissions.attempt(order), Busy):
        if not await _is_time_left(patience):
            break
    return result


async def _is_time_left(patience: Patience) -> bool:
    """Waits a little for an attempt of another process to end, unless patience is over."""
    left = patience.left
    if left <= 0:
        return False
    await asyncio.sleep(min(left / instants.SECOND, BUSY_SECONDS))
    return True


async def see_through(
    submissions: Submissions,
    process_id: str,
    result: Result,
    *,
    patience: Patience,
    recorded_by: str,
    on_attempt: OnAttempt,
) -> Ended:
    """Sends the retries that follow `result` and are due within the patience."""
    on_attempt(process_id, result)
    while True:
        standing, case = await submissions.standing(process_id)
        match standing:
            case _ if case.is_finished or isinstance(result, Refused):
                return Ended(result, standing, case.is_finished)
            case UnderWay():  # by another process of ours, or by one that died
                if await _is_time_left(patience):
                    continue
                return Ended(result, standing, case.is_finished)
            case Waiting(tried=tried, due_at=int(due_at)) if (
                tried.is_ours and due_at - case.now <= patience.left
            ):
                await asyncio.sleep(max(0.0, (due_at - case.now) / instants.SECOND))
            case _:
                return Ended(result, standing, case.is_finished)
        again = await submissions.retry(process_id, "due", recorded_by=recorded_by)
        if isinstance(again, Sent | Refused):
            result = again
            on_attempt(process_id, result)
        elif isinstance(again, Busy) and not await _is_time_left(patience):
            return Ended(result, standing, case.is_finished)
