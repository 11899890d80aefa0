"""Sends reviews: rules, a durable start, the PUT, its end in the log. The only one that sends.

    decide    the case file and the rules say whether anything may be sent
    start     in the inbox before a byte leaves; a crash after this line shows as `unknown`
    PUT       over mutual TLS
    finish    in the inbox; a crash before it loses the answer, not the attempt: the same bytes
              go again under the same idempotency key

The start is recorded only if the process has exactly the entries that were decided from, so two
processes of ours never send the same review at once, and nothing is sent on stale evidence.
"""

import asyncio
import dataclasses
import hashlib
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from pipeline import contract, instants, rules, tries
from pipeline.acts import act
from pipeline.addresses import is_segment
from pipeline.casefile import CaseFile, CaseFiles
from pipeline.contract import JsonValue
from pipeline.errors import InboxUnavailable, Unreadable
from pipeline.inbox import Inbox, Outcome, Receipt
from pipeline.occurrences import SUBMISSION_FINISHED, SUBMISSION_STARTED, Draft
from pipeline.platform import (
    NETWORK_ERROR,
    TIMEOUT,
    Answer,
    Platform,
    is_header_value,
    retry_after,
)
from pipeline.rules import Violation
from pipeline.settings import Settings
from pipeline.tries import GivenUp, Idle, Standing, UnderWay, Waiting

LOG = logging.getLogger(__name__)

Via = Literal["cli", "api", "gateway"]

OVERRIDE: Final = "override"
REPLACEMENT: Final = "replacement"
REFUSED: Final = "refused"
"""The error of an attempt that our own rules kept from being sent."""

CONFLICTS: Final = 5
"""Decisions taken anew because the process got another entry meanwhile."""
CLOCK_WAIT: Final = 5 * instants.SECOND
"""Longest wait for our clock to reach a collection of one that is ahead of it."""
FINISH_SECONDS: Final = 5.0
"""Longest wait of a caller for its answer to be recorded; the recording goes on without it."""
RECORD_AGAIN_SECONDS: Final = 1.0
DRAIN_SECONDS: Final = 20.0

_WAIVABLE: Final = {
    "process_unknown": "process_unknown",
    "field_without_evidence": "evidence",
    "source_not_seller": "evidence",
    "evidence_before_request": "evidence",
}
"""Which gate each rule belongs to that a person may override."""


class Permission(NamedTuple):
    """Why a person allows what the rules do not, and who that is."""

    reason: str
    actor: str


@dataclass(frozen=True, slots=True)
class Order:
    """What somebody wants sent."""

    process_id: str
    seller_id: str
    payload: bytes
    via: Via
    recorded_by: str
    override: Permission | None = None
    replacement: Permission | None = None
    retry: Literal["due", "asked"] | None = None
    """A retry of what was sent before: when it is due, or because a person asks for it."""
    marketplace_id: str | None = None
    """As the caller names it; None: ours."""


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a payload is not sent: a broken rule at a field path, in words without its values."""

    path: str
    rule: str
    found: str
    expected: str
    section: str

    @classmethod
    def of(cls, violation: Violation) -> "Objection":
        return cls(**{it.name: getattr(violation, it.name) for it in dataclasses.fields(cls)})

    def __str__(self) -> str:
        return f"{self.path}: found {self.found}; expected {self.expected} ({self.section})"


@dataclass(frozen=True, slots=True)
class Sent:
    """An attempt that was made, and what came of it."""

    attempt_id: str
    outcome: str
    answer: Answer
    retry_after_at: int | None
    is_recorded: bool
    """False: the log cannot be written now; it is tried until it can, or this process ends."""
    warnings: tuple[Objection, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Our own rules refuse it; nothing was sent."""

    objections: tuple[Objection, ...]


@dataclass(frozen=True, slots=True)
class Busy:
    """Another attempt of the process is under way; nothing was sent."""

    until: int


@dataclass(frozen=True, slots=True)
class NotDue:
    """There is no retry to send now; nothing was sent."""

    standing: Standing
    is_finished: bool


Result = Sent | Refused | Busy | NotDue


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings that decide."""

    evidence_gate: Literal["block", "warn"]
    allow_numeric_revenue: bool
    marketplace_id: str | None = None

    @classmethod
    def of(cls, settings: Settings) -> "Terms":
        return cls(settings.evidence_gate, settings.allow_numeric_revenue, settings.marketplace_id)


@dataclass(frozen=True, slots=True)
class Go:
    """It may be sent, with what a person has to answer for being recorded first."""

    warnings: tuple[Objection, ...] = ()
    overridden_gates: tuple[str, ...] = ()
    is_replacement: bool = False


# --- the decision ----------------------------------------------------------------------------


def decide(order: Order, case: CaseFile, now: int, terms: Terms) -> Go | Refused | Busy | NotDue:
    """Whether an order may be sent now, from what is known of its process. Pure."""
    standing = tries.standing(case.attempts, now, replaced_at=case.replaced_at)
    if isinstance(standing, UnderWay):
        return Busy(standing.until)
    if order.retry is not None and not _is_wanted(order, standing, case, now):
        return NotDue(standing, case.is_finished)

    objections: list[Objection] = []
    is_other = is_other_payload(standing, order.payload)
    if is_other and order.replacement is None:
        objections.append(_RETRY_PENDING)
    if not is_header_value(order.process_id):
        objections.append(_UNSENDABLE_PROCESS)
    if order.marketplace_id not in (None, terms.marketplace_id):
        objections.append(other_marketplace(terms.marketplace_id))
    if not is_sendable_seller(order.seller_id):
        objections.append(UNSENDABLE_SELLER)
    try:
        payload = contract.parse_json(order.payload)
    except Unreadable as unreadable:
        objections.append(_unreadable(unreadable))
        return Refused(tuple(objections))

    def verdict(*, is_overridden: bool) -> rules.Verdict:
        return rules.check(
            payload,
            case.process,
            case.answers,
            process_id=order.process_id,
            seller_id=order.seller_id,
            evidence_gate=terms.evidence_gate,
            allow_numeric_revenue=terms.allow_numeric_revenue,
            is_overridden=is_overridden,
        )

    plain = verdict(is_overridden=_inherits_override(standing, case, order.payload))
    judged = plain
    if plain.is_refused and order.override is not None:
        judged = verdict(is_overridden=True)
    objections += map(Objection.of, judged.violations)
    if objections:
        return Refused(tuple(objections))
    waived = [it.rule for it in plain.violations]
    return Go(
        warnings=tuple(map(Objection.of, judged.warnings)),
        overridden_gates=tuple(dict.fromkeys(_WAIVABLE[it] for it in waived)),
        is_replacement=is_other,
    )


def _is_wanted(order: Order, standing: Standing, case: CaseFile, now: int) -> bool:
    """Whether this retry is one to send now."""
    if case.is_finished or not isinstance(standing, Waiting | Idle) or standing.tried is None:
        return False
    tried = standing.tried
    if hashlib.sha256(order.payload).digest() != tried.payload_sha256:
        return False
    if isinstance(standing, Idle):
        return order.retry == "asked" and tried.last.outcome == "unauthorized"
    if order.retry == "asked":
        return (tried.last.retry_after_at or 0) <= now
    return tried.is_ours and not standing.is_held and standing.due_at <= now


def is_other_payload(standing: Standing, payload: bytes) -> bool:
    """Whether these are other bytes than those that wait for a retry."""
    if not isinstance(standing, Waiting) or standing.tried.payload_sha256 is None:
        return False
    return hashlib.sha256(payload).digest() != standing.tried.payload_sha256


def _inherits_override(standing: Standing, case: CaseFile, payload: bytes) -> bool:
    """A retry is the same submission: what a person answered for at first holds for it."""
    if not isinstance(standing, Waiting | GivenUp | Idle) or standing.tried is None:
        return False
    tried = standing.tried
    return hashlib.sha256(payload).digest() == tried.payload_sha256 and any(
        it.attempt_id in case.overridden for it in tried.attempts
    )


_RETRY_PENDING: Final = Objection(
    "body",
    "retry_pending",
    "another payload than the one that waits for a retry and may have been processed",
    "the same bytes, or a replacement with a reason and a name",
    "Submit registration review, body rules",
)
_UNSENDABLE_PROCESS: Final = Objection(
    "process_id",
    "wrong_format",
    "control characters or outer spaces",
    "an id that the Idempotency-Key header can carry",
    "Submit registration review",
)
UNSENDABLE_SELLER: Final = Objection(
    "seller_id",
    "wrong_format",
    "an id that is no segment of a path",
    "the customer_id of the webhook",
    "Submit registration review",
)


def is_sendable_seller(seller_id: str) -> bool:
    """Whether an id can be recorded, and stand in the platform's path."""
    return contract.identifier(seller_id) is not None and is_segment(seller_id)


def other_marketplace(ours: str | None) -> Objection:
    return Objection(
        "marketplace_id",
        "marketplace_mismatch",
        "another marketplace",
        f"ours, {ours}",
        "Submit registration review",
    )


def _unreadable(unreadable: Unreadable) -> Objection:
    return Objection(
        "body", "wrong_format", unreadable.what, "a JSON object", "Submission body fields"
    )


_OUTCOMES: Final = {
    200: "accepted",
    400: "invalid_payload",
    401: "unauthorized",
    404: "not_found",
    409: "conflict",
    429: "rate_limited",
}


def outcome_of(answer: Answer) -> str:
    """What an answer means, as the `attempts` view will say it: the caller does not wait for that,
    and a test holds the two together."""
    if answer.status is None:
        return answer.error if answer.error in (TIMEOUT, NETWORK_ERROR, REFUSED) else "unknown"
    if 500 <= answer.status <= 599:
        return "platform_error"
    return _OUTCOMES.get(answer.status, "unexpected_status")


# --- the doing -------------------------------------------------------------------------------


class Recorder(Protocol):
    """Makes an entry durable; `GroupCommit` is one."""

    async def record(self, draft: Draft) -> Receipt: ...


class Submissions:
    """Sends orders, from one event loop. `close` waits for answers that are not recorded yet."""

    def __init__(
        self,
        inbox: Inbox,
        recorder: Recorder,
        platform: Platform,
        terms: Terms,
        *,
        clock: Callable[[], int] = instants.now,
    ) -> None:
        self.casefiles = CaseFiles(inbox)
        self.marketplace_id = platform.marketplace_id
        self._inbox = inbox
        self._recorder = recorder
        self._platform = platform
        self._terms = terms
        self._clock = clock
        self._finishing: dict[str, asyncio.Task[None]] = {}  # by process

    async def attempt(self, order: Order) -> Result:
        """One attempt at most. Raises `InboxUnavailable`, and then nothing was sent."""
        attempt_id = f"att_{secrets.token_hex(12)}"
        recorded: set[str] = set()
        for _ in range(CONFLICTS):
            if order.process_id in self._finishing:
                return Busy(self._clock() + instants.SECOND)
            case, now = await self._open(order.process_id)
            decision = decide(order, case, now, self._terms)
            now = self._clock()  # gathering the case took its time, which is not the platform's
            if isinstance(decision, Refused):
                await self._record_refusal(order, attempt_id, now)
                return decision
            if not isinstance(decision, Go):
                return decision
            position = case.process_n
            is_current = True
            for draft in _acts(order, decision, attempt_id, now):
                if draft.kind in recorded or not is_current:
                    continue
                is_current = await self._record_at(draft, position)
                position += 1
                if is_current:
                    recorded.add(draft.kind)
            if is_current and await self._record_at(self._start(order, attempt_id, now), position):
                return await self._send(order, attempt_id, now, decision.warnings)
        return Busy(self._clock() + instants.SECOND)

    async def standing(self, process_id: str) -> tuple[Standing, CaseFile]:
        """Where a process's submissions stand now."""
        case, now = await self._open(process_id)
        return tries.standing(case.attempts, now, replaced_at=case.replaced_at), case

    async def retry(
        self, process_id: str, how: Literal["due", "asked"], *, recorded_by: str
    ) -> Result:
        """Sends again what was sent last, if it is due or a person asks: the same bytes.

        A due retry came in as its try did; one that is asked for comes by the command line.
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

    async def close(self) -> None:
        if self._finishing:
            await asyncio.wait(self._finishing.values(), timeout=DRAIN_SECONDS)
        await self._platform.close()

    async def _open(self, process_id: str) -> tuple[CaseFile, int]:
        """The case file, and the now that it is of.

        A collection that was acknowledged counts, even where its clock is a little ahead of ours:
        we wait for that instant.
        """
        for _ in range(2):
            now = self._clock()
            case = await asyncio.to_thread(self.casefiles.open, process_id, now)
            ahead = (case.collected_at or 0) - now
            if not 0 < ahead <= CLOCK_WAIT:
                break
            await asyncio.sleep(ahead / instants.SECOND)
        return case, now

    async def _record_at(self, draft: Draft, position: int) -> bool:
        """Records a draft if the process has exactly so many entries."""
        placed = draft._replace(expected_process_n=position)
        receipt = await self._recorder.record(placed)
        return receipt.outcome is not Outcome.CONFLICT

    async def _record_refusal(self, order: Order, attempt_id: str, now: int) -> None:
        """Both entries in one commit: a start alone would look like an attempt to resume.

        An id in the path of another marketplace, or one that cannot be sent, names none of our
        sellers.
        """
        is_ours = order.marketplace_id in (None, self.marketplace_id)
        seller_id = order.seller_id if is_ours and is_sendable_seller(order.seller_id) else None
        start = self._start(order, attempt_id, now)
        finish = _finish(order, attempt_id, now, Answer(error=REFUSED), None)
        drafts = [it._replace(seller_id=seller_id) for it in (start, finish)]
        await asyncio.to_thread(self._inbox.append, drafts)

    def _start(self, order: Order, attempt_id: str, now: int) -> Draft:
        return Draft(
            kind=SUBMISSION_STARTED,
            occurred_at=now,
            recorded_by=order.recorded_by,
            body=order.payload,
            particulars={
                "via": order.via,
                "marketplace_id": order.marketplace_id or self._platform.marketplace_id,
                "idempotency_key": order.process_id,
                "timeout_seconds": self._platform.timeout_seconds,
            },
            attempt_id=attempt_id,
            process_id=order.process_id,
            seller_id=order.seller_id,
        )

    async def _send(
        self, order: Order, attempt_id: str, started_at: int, warnings: tuple[Objection, ...]
    ) -> Sent:
        """The start is durable. The time that took is the platform's: when `timeout_seconds` of
        the start are over, others may send, and nothing of ours may still be under way."""
        passed = (self._clock() - started_at) / instants.SECOND
        seconds = max(self._platform.timeout_seconds - max(passed, 0.0), 0.001)
        try:
            answer = await self._platform.put_review(
                order.seller_id, order.payload, order.process_id, seconds=seconds
            )
        except Exception:
            # A bug of ours, after bytes may have left: nobody knows, and the log must say so.
            LOG.exception("the attempt %s ended in an error of ours", attempt_id)
            answer = Answer(error="internal_error", detail="see the text log")
        now = self._clock()
        asked = retry_after(answer.header("retry-after"), now)
        retry_after_at = asked if answer.status in (429, 503) else None
        draft = _finish(order, attempt_id, now, answer, retry_after_at)
        is_recorded = await self._record_finish(order.process_id, draft)
        return Sent(attempt_id, outcome_of(answer), answer, retry_after_at, is_recorded, warnings)

    async def _record_finish(self, process_id: str, draft: Draft) -> bool:
        """Tries as long as this process lives: an answer that is lost would be asked for again."""
        task = asyncio.create_task(self._record_until_done(draft))
        self._finishing[process_id] = task
        task.add_done_callback(lambda _: self._finishing.pop(process_id, None))
        done, _ = await asyncio.wait({task}, timeout=FINISH_SECONDS)
        return bool(done)

    async def _record_until_done(self, draft: Draft) -> None:
        while True:
            try:
                await self._recorder.record(draft)
                return
            except InboxUnavailable as error:
                LOG.error(
                    "the end of the attempt %s waits to be recorded: %s", draft.attempt_id, error
                )
                await asyncio.sleep(RECORD_AGAIN_SECONDS)


def _acts(order: Order, decision: Go, attempt_id: str, now: int) -> list[Draft]:
    """What a person answers for, as entries of its own before the start."""
    drafts = []
    if decision.is_replacement and order.replacement is not None:
        drafts.append(
            act(
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
            act(
                OVERRIDE,
                reason=order.override.reason,
                actor=order.override.actor,
                recorded_by=order.recorded_by,
                process_id=order.process_id,
                seller_id=order.seller_id,
                attempt_id=attempt_id,
                gates=list(decision.overridden_gates),
            )
        )
    return [it._replace(occurred_at=now) for it in drafts]


def _finish(
    order: Order, attempt_id: str, now: int, answer: Answer, retry_after_at: int | None
) -> Draft:
    known: dict[str, JsonValue] = {
        "error": answer.error,
        "retry_after_at": None if retry_after_at is None else instants.canonical(retry_after_at),
        "content_type": answer.header("content-type"),
        "is_truncated": answer.is_truncated or None,
        "detail": answer.detail,
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
