"""Sends reviews: rules, a durable start, the PUT, its end in the log. Nothing else sends.

    decide    the case file and the rules say whether anything may be sent
    lease     of the process, for as long as the request may take
    start     in the inbox before a byte leaves; a crash after this line shows as `unknown`
    PUT       over mutual TLS, if right before it the lease is still ours
    finish    in the inbox, which ends the lease; a crash before it loses the answer, not the
              attempt: the same bytes go again under the same idempotency key

The start is recorded only if the process has exactly the entries that were decided from, so
nothing is sent on stale evidence. The lease keeps two processes of ours from sending the same
review at once, however their clocks differ and wherever one of them is paused.
"""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, Protocol

from pipeline import instants, traces
from pipeline.clearance import acts, clearances
from pipeline.clearance.clearances import Clearance
from pipeline.contract.body import JsonValue
from pipeline.errors import InboxUnavailable
from pipeline.http.outgoing.retry_after import retry_after
from pipeline.inbox import Inbox, Outcome, Receipt, copies
from pipeline.inbox.leases import Held
from pipeline.log.actions import By, action
from pipeline.log.entries import Draft, public
from pipeline.log.kinds.override import OVERRIDE
from pipeline.log.kinds.replacement import REPLACEMENT
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.submit import permit, retries
from pipeline.submit.casefile import LEASE, CaseFile, CaseFiles
from pipeline.submit.decision import (
    Busy,
    Go,
    NotDue,
    Order,
    Refused,
    Terms,
    decide,
    is_sendable_seller,
)
from pipeline.submit.outcomes import outcome_of
from pipeline.submit.permit import LeasePermit
from pipeline.submit.platform import Platform, PlatformAnswer, withheld
from pipeline.submit.retries import Standing, UnderWay
from pipeline.submit.rules import Violation
from pipeline.texts import for_anybody

LOG = logging.getLogger(__name__)

REFUSED: Final = "refused"
"""The error of an attempt that our own rules kept from being sent."""

DECIDE_SECONDS: Final = 15.0
"""From an order to its durable start, whatever the inbox hangs in: then nothing is sent."""
CONFLICTS: Final = 5
"""How often an order is decided, where the process gets another entry each time meanwhile."""
CLOCK_WAIT: Final = 5 * instants.SECOND
"""Longest wait for the inbox's clock to reach an entry that a clock ahead of it has dated."""
FINISH_SECONDS: Final = 5.0
"""Longest wait of a caller for its answer to be recorded; the recording goes on without it."""
RECORD_AGAIN_SECONDS: Final = 1.0
DRAIN_SECONDS: Final = 20.0

_NOTHING: Final[Mapping[str, JsonValue]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Sent:
    """An attempt that was made, and what came of it."""

    attempt_id: str
    outcome: str
    answer: PlatformAnswer
    retry_after_at: int | None
    is_recorded: bool
    """False: the log cannot be written now. This process goes on trying for as long as it runs."""
    warnings: tuple[Violation, ...] = ()


Result = Sent | Refused | Busy | NotDue


class Recorder(Protocol):
    """Makes an entry durable; `GroupCommit` is one."""

    async def record(self, draft: Draft) -> Receipt:
        """Records one draft durably; its receipt."""


class Submissions:
    """Sends orders, from one event loop. `close` waits for what is under way."""

    def __init__(
        self,
        inbox: Inbox,
        recorder: Recorder,
        platform: Platform,
        terms: Terms,
    ) -> None:
        self.casefiles = CaseFiles(inbox)
        self.marketplace_id = platform.marketplace_id
        self._inbox = inbox
        self._recorder = recorder
        self._platform = platform
        self._terms = terms
        outcome_of(200, None)  # if this cannot work here, it fails before anything is sent
        self._sending: set[asyncio.Task[Sent]] = set()
        self._finishing: dict[str, asyncio.Task[None]] = {}  # by process

    async def attempt(self, order: Order) -> Result:
        """One attempt at most. Raises `InboxUnavailable`, `CopyHeld`, or `clearances.Awaited` where
        an override waits for a second person; then nothing was sent.

        Once its start is durable it goes on to its end, even if its callers stop waiting: an answer
        that no one takes is lost.
        """
        since = time.monotonic()
        attempt_id = f"att_{secrets.token_hex(12)}"
        try:
            async with asyncio.timeout(DECIDE_SECONDS):
                ready = await self._ready(order, attempt_id)
        except TimeoutError:
            raise InboxUnavailable(
                "Nothing was sent",
                f"the inbox did not answer within {DECIDE_SECONDS:g} s",
                "look at the disk of the inbox or at its server",
            ) from None
        if isinstance(ready, _Ready):
            sending = asyncio.create_task(self._send(order, ready, since))
            self._sending.add(sending)
            sending.add_done_callback(self._sending.discard)
            return await asyncio.shield(sending)
        if isinstance(ready, Refused):
            traces.submitted(attempt_id, order.process_id, since, order.via, REFUSED, None)
        return ready

    async def _ready(self, order: Order, attempt_id: str) -> "_Ready | Refused | Busy | NotDue":
        """Decides about an order and, if it is to be sent, makes its start durable."""
        recorded: set[str] = set()
        await asyncio.to_thread(copies.require_in_use, self._inbox)
        for _ in range(CONFLICTS):
            if order.process_id in self._finishing:
                break
            case = await self._open(order.process_id)
            decision = decide(order, case, self._terms)
            if isinstance(decision, Refused):
                await self._record_refusal(order, attempt_id, case.as_of)
                return decision
            if not isinstance(decision, Go):
                return decision
            clearance = await asyncio.to_thread(self._clearance, order, decision)
            lease = await permit.take(
                self._inbox,
                order.process_id,
                f"{order.recorded_by} {attempt_id}",
                self._platform.timeout_seconds,
                case.spent,
            )
            if isinstance(lease, Held):
                return Busy(case.now + lease.left)
            try:
                begun = await self._begun(
                    order, attempt_id, case, decision, lease, recorded, clearance
                )
            except BaseException:
                await lease.release()  # whatever became of the start, nothing is sent under it
                raise
            if begun is not None:
                return _Ready(begun, lease, decision.warnings)
            await lease.release()
        return Busy(await self.now() + instants.SECOND)

    def _clearance(self, order: Order, decision: Go) -> Clearance | None:
        """The second person's word for an override; None where none is needed."""
        if not decision.overridden_gates or order.override is None:
            return None
        return clearances.settle(
            self._inbox,
            self._terms.four_eyes,
            acts.override(
                order.process_id, order.seller_id, order.payload, decision.overridden_gates
            ),
            By(order.override.reason, order.override.actor, order.recorded_by),
        )

    async def now(self) -> int:
        """The instant by the inbox's clock, in microseconds."""
        return await asyncio.to_thread(self._inbox.now)

    async def standing(self, process_id: str) -> tuple[Standing, CaseFile]:
        """Where a process's submissions stand now."""
        case = await asyncio.to_thread(self.casefiles.open, process_id)
        return retries.standing(case.attempts), case

    async def retry(
        self, process_id: str, how: Literal["due", "asked"], *, recorded_by: str
    ) -> Result:
        """Sends the bytes that were sent last once more, if that is due or a person asks for it.

        A due retry has the `via` of its try; one that a person asks for has `cli`.
        """
        standing, case = await self.standing(process_id)
        if isinstance(standing, UnderWay):
            return Busy(standing.until)
        last = None if standing.tried is None else standing.tried.last
        payload = None if last is None else case.payloads.get(last.start_seq or 0)
        if last is None or payload is None or case.is_finished:
            return NotDue(standing, case.is_finished)
        order = Order(
            process_id=process_id,
            seller_id=last.seller_id or "",
            payload=payload,
            via="api" if how == "due" and last.via == "api" else "cli",
            recorded_by=recorded_by,
            retry=how,
        )
        return await self.attempt(order)

    async def close(self, *, answer_seconds: float = DRAIN_SECONDS) -> None:
        """Waits so long for answers to what is under way, and up to `DRAIN_SECONDS` for ends to be
        recorded; then closes the connections."""
        if self._sending:
            await asyncio.wait(self._sending, timeout=answer_seconds)
        if self._finishing:
            await asyncio.wait(self._finishing.values(), timeout=DRAIN_SECONDS)
        await self._platform.close()

    async def _open(self, process_id: str) -> CaseFile:
        """The case file to decide from.

        Where an entry of it is a little ahead of the inbox's clock, this waits for that instant. So
        a start is dated ahead of the inbox's clock only where some clock is far ahead.
        """
        case = await asyncio.to_thread(self.casefiles.open, process_id)
        if 0 < (ahead := case.as_of - case.now) <= CLOCK_WAIT:
            await asyncio.sleep(ahead / instants.SECOND)
            case = await asyncio.to_thread(self.casefiles.open, process_id)
        return case

    async def _begun(
        self,
        order: Order,
        attempt_id: str,
        case: CaseFile,
        decision: Go,
        lease: LeasePermit,
        recorded: set[str],
        clearance: Clearance | None,
    ) -> "_Begun | None":
        """Records the actions that a person answers for, then the start. None where the process has
        other entries than those that were decided from. `recorded`: the kinds of actions that are
        in the log already. The start uses the clearance up; a crash before it leaves the clearance
        for the next run."""
        now = max(await self.now(), case.as_of)  # gathering the case is not the platform's time
        passed = lease.passed  # read after the clock, so that the end is never dated too late
        position = case.process_n
        for draft in _actions(order, decision, attempt_id, now, clearance):
            if draft.kind in recorded:
                continue
            if not await self._record_at(draft, position):
                return None
            position += 1
            recorded.add(draft.kind)
        start = self._start(order, attempt_id, now, {LEASE: lease.number})
        if clearance is not None:
            start = clearance.begun_by(start)
        is_there = await self._record_at(start, position, clearance)
        return _Begun(start, passed) if is_there else None

    async def _record_at(
        self, draft: Draft, position: int, clearance: Clearance | None = None
    ) -> bool:
        """Records a draft if the process has exactly so many entries. Raises `CallerError` where
        another run has used its clearance up."""
        placed = draft._replace(expected_process_n=position)
        receipt = await self._recorder.record(placed)
        if clearance is not None:
            clearance.check(receipt)
        return receipt.outcome is not Outcome.CONFLICT

    async def _record_refusal(self, order: Order, attempt_id: str, now: int) -> None:
        """Both entries in one commit: a start alone would look like an attempt to resume.

        An id in the path of another marketplace, or one that cannot be sent, names none of our
        sellers.
        """
        is_ours = order.marketplace_id in (None, self.marketplace_id)
        seller_id = order.seller_id if is_ours and is_sendable_seller(order.seller_id) else None
        start = self._start(order, attempt_id, now)
        finish = _finish(order, attempt_id, now, PlatformAnswer(error=REFUSED), None)
        drafts = [it._replace(seller_id=seller_id) for it in (start, finish)]
        await asyncio.to_thread(self._inbox.append, drafts)

    def _start(
        self, order: Order, attempt_id: str, now: int, known: Mapping[str, JsonValue] = _NOTHING
    ) -> Draft:
        return Draft(
            kind=SUBMISSION_STARTED,
            occurred_at=now,
            recorded_by=order.recorded_by,
            body=order.payload,
            particulars={
                "via": order.via,
                "marketplace_id": order.marketplace_id or self._platform.marketplace_id,
                **public(idempotency_key=order.process_id),
                "timeout_seconds": self._platform.timeout_seconds,
                **known,
            },
            attempt_id=attempt_id,
            process_id=order.process_id,
            seller_id=order.seller_id,
        )

    async def _send(self, order: Order, ready: "_Ready", since: float) -> Sent:
        """Sends the PUT, once the start is durable, and records what came of it. Recording the
        start has used up a part of the platform's time: `timeout_seconds` after the lease was taken
        others may send, so nothing of ours may be under way then."""
        begun, lease = ready.begun, ready.lease
        attempt_id = begun.start.attempt_id or ""
        leaves = time.monotonic()
        answer = withheld("its time was over before there was a connection")
        if (seconds := lease.seconds_left) > 0:
            try:
                answer = await self._platform.put_review(
                    order.seller_id, order.payload, order.process_id, seconds=seconds, permit=lease
                )
            except Exception:
                # A bug of ours, perhaps after bytes have left: the log must say that nobody knows.
                about = _about(begun.start)
                LOG.exception("the attempt %s ended in an error of ours", attempt_id, extra=about)
                answer = PlatformAnswer(error="internal_error", detail="see the text log")
        traces.called(attempt_id, order.process_id, leaves, answer.status)
        # Counted from the start on by a clock that nobody sets: the inbox may be away by now.
        now = begun.start.dated + lease.passed - begun.passed
        asked = retry_after(answer.header("retry-after"), now)
        retry_after_at = asked if answer.status in (429, 503) else None
        draft = _finish(order, attempt_id, now, answer, retry_after_at)
        is_recorded = await self._record_finish(order.process_id, draft)
        outcome = outcome_of(answer.status, answer.error)
        traces.submitted(attempt_id, order.process_id, since, order.via, outcome, answer.status)
        return Sent(
            attempt_id,
            outcome,
            answer,
            retry_after_at,
            is_recorded,
            ready.warnings,
        )

    async def _record_finish(self, process_id: str, draft: Draft) -> bool:
        """Records an end, and tries for as long as this process lives: without it the same bytes
        would be sent again. Waits up to `FINISH_SECONDS`; whether it is recorded by then."""
        task = asyncio.create_task(self._record_until_done(draft))
        self._finishing[process_id] = task
        task.add_done_callback(lambda _: self._finishing.pop(process_id, None))
        done, _ = await asyncio.wait({task}, timeout=FINISH_SECONDS)
        return bool(done)

    async def _record_until_done(self, draft: Draft) -> None:
        is_late = False
        while True:
            try:
                await self._recorder.record(draft)
            except InboxUnavailable as error:
                if not is_late:  # a disk may be full for hours, and several attempts may wait
                    LOG.error(
                        "the end of the attempt %s waits to be recorded: %s",
                        draft.attempt_id,
                        error,
                        extra=_about(draft),
                    )
                is_late = True
                await asyncio.sleep(RECORD_AGAIN_SECONDS)
            else:
                break
        if is_late:
            about = _about(draft)
            LOG.warning("the end of the attempt %s is recorded now", draft.attempt_id, extra=about)


def _about(draft: Draft) -> dict[str, str | None]:
    """What a record of the text log is about."""
    return {"request_id": draft.attempt_id, "process_id": draft.process_id}


def note_sent(process_id: str, sent: Sent) -> None:
    """Writes to the text log what came of an attempt, for parts whose callers are elsewhere."""
    about = {"request_id": sent.attempt_id, "process_id": process_id}
    LOG.info("the attempt %s ended: %s", sent.attempt_id, sent.outcome, extra=about)


class _Begun(NamedTuple):
    """A start in the log, and how old its lease was when it was stamped, in microseconds."""

    start: Draft
    passed: int


class _Ready(NamedTuple):
    """An attempt of which only the PUT and its end are missing."""

    begun: _Begun
    lease: LeasePermit
    warnings: tuple[Violation, ...]


def _actions(
    order: Order, decision: Go, attempt_id: str, now: int, clearance: Clearance | None
) -> list[Draft]:
    """The drafts of what a person answers for, which are recorded before the start."""
    drafts = []
    if decision.is_replacement and order.replacement is not None:
        drafts.append(
            action(
                REPLACEMENT,
                reason=order.replacement.reason,
                actor=order.replacement.actor,
                recorded_by=order.recorded_by,
                process_id=order.process_id,
                seller_id=order.seller_id,
                attempt_id=attempt_id,
            )
        )
    if decision.overridden_gates and order.override is not None:
        drafts.append(
            action(
                OVERRIDE,
                reason=order.override.reason if clearance is None else clearance.reason,
                actor=order.override.actor,
                recorded_by=order.recorded_by,
                process_id=order.process_id,
                seller_id=order.seller_id,
                attempt_id=attempt_id,
                gates=list(decision.overridden_gates),
                **({} if clearance is None else clearance.named),
            )
        )
    return [it._replace(occurred_at=now) for it in drafts]


def _place(location: str | None) -> str | None:
    """Where an answer leads, without the query, which may hold what is secret."""
    return None if location is None else _said(re.split("[?#]", location, maxsplit=1)[0])


def _said(header: str | None) -> str | None:
    """A header as entries keep it: packages show it to anybody."""
    return header and for_anybody(header)[:_MOST_OF_HEADER]


_MOST_OF_HEADER: Final = 500


def _finish(
    order: Order, attempt_id: str, now: int, answer: PlatformAnswer, retry_after_at: int | None
) -> Draft:
    media_type = answer.header("content-type")
    known: dict[str, JsonValue] = {
        "error": answer.error,
        "retry_after_at": None if retry_after_at is None else instants.canonical(retry_after_at),
        "content_type": media_type and for_anybody(media_type),
        "is_truncated": answer.is_truncated or None,
        "location": _place(answer.header("location")),
        "retry_after": None if retry_after_at else _said(answer.header("retry-after")),
        "detail": answer.detail,
        "client_certificate": answer.certificate,
    }
    return Draft(
        kind=SUBMISSION_FINISHED,
        occurred_at=now,
        recorded_by=order.recorded_by,
        body=answer.body if answer.status is not None else None,
        particulars={name: it for name, it in known.items() if it is not None},
        attempt_id=attempt_id,
        process_id=order.process_id,
        seller_id=order.seller_id,
        status=answer.status,
    )
