"""Decides whether an order may be sent, from the case file and the rules alone.

Deciding is pure; `Terms.of` reads the file of revenue bands once, before anything is decided.

Everything that speaks against it is named at once. Where a person may allow it all the same, that
person gives a reason and a name, which `attempt.py` records.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pipeline.clearance import acts
from pipeline.contract.body import JsonValue, identifier, parse_json
from pipeline.contract.fields import BAND
from pipeline.contract.paths import is_segment
from pipeline.errors import SettingsError, Unreadable
from pipeline.http.outgoing.headers import is_header_value
from pipeline.settings import Settings
from pipeline.submit import retries, rules
from pipeline.submit.casefile import CaseFile
from pipeline.submit.retries import GivenUp, Idle, Standing, UnderWay, Waiting
from pipeline.submit.rules import Violation
from pipeline.texts import MOST_NAMED, printable
from pipeline.written import Line, lines_in, read_small

Via = Literal["cli", "api", "gateway"]

_WAIVABLE: Final = {
    "process_unknown": "process_unknown",
    "type_mismatch": "type_mismatch",
    "nothing_requested": "nothing_requested",
    "field_without_evidence": "evidence",
    "source_not_seller": "evidence",
    "evidence_before_request": "evidence",
}
"""Which gate each rule belongs to that a person may override."""


class Approval(NamedTuple):
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
    override: Approval | None = None
    replacement: Approval | None = None
    retry: Literal["due", "asked"] | None = None
    """A retry of what was sent before: when it is due, or because a person asks for it."""
    marketplace_id: str | None = None
    """As the caller names it; None: ours."""
    is_listed: bool = False
    """Somebody sends what a list had as ready: only while to submit is the next action still."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Our own rules refuse it; nothing was sent."""

    violations: tuple[Violation, ...]


@dataclass(frozen=True, slots=True)
class Busy:
    """Another attempt of the process is under way; nothing was sent."""

    until: int


@dataclass(frozen=True, slots=True)
class NotDue:
    """There is no retry to send now, or no answers any more; nothing was sent."""

    standing: Standing
    is_finished: bool


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings that decide."""

    evidence_gate: Literal["block", "warn"]
    allow_numeric_revenue: bool
    marketplace_id: str | None = None
    bands: frozenset[str] | None = None
    """All revenue bands of the platform; None: they are not known."""
    four_eyes: acts.Terms = acts.NOBODY
    """Whether an override waits for a second person."""

    @classmethod
    def of(cls, settings: Settings) -> "Terms":
        """Raises `SettingsError` where the file of bands cannot be used."""
        return cls(
            settings.evidence_gate,
            settings.allow_numeric_revenue,
            settings.marketplace_id,
            None if (path := settings.revenue_bands_file) is None else bands_in(path),
            acts.Terms.of(settings),
        )


def bands_in(path: Path) -> frozenset[str]:
    """The platform's bands, one a line of a file. Raises `SettingsError`, which names every line
    that is not a band: a seller could choose it, and nothing so chosen would be sent."""
    lines = [*lines_in(read_small(path), has_comments=True)]
    wrong = [f"line {it.number} is {printable(it.text)!r}" for it in lines if not _is_band(it)]
    if wrong or not lines:
        raise SettingsError(
            f"The revenue bands in {path} cannot be used",
            "; ".join(wrong[:MOST_NAMED]) or "it lists none",
            f"write on each line {BAND.expected}",
        )
    return frozenset(line for _, line in lines)


def _is_band(line: Line) -> bool:
    return BAND.accepts(line.text)


@dataclass(frozen=True, slots=True)
class Go:
    """It may be sent, with what a person has to answer for being recorded first."""

    warnings: tuple[Violation, ...] = ()
    overridden_gates: tuple[str, ...] = ()
    is_replacement: bool = False


def decide(order: Order, case: CaseFile, terms: Terms) -> Go | Refused | Busy | NotDue:
    """Whether an order may be sent now, from what is known of its process. Pure."""
    standing = retries.standing(case.attempts)
    if isinstance(standing, UnderWay):
        return Busy(standing.until)
    if order.retry is not None and not _is_wanted(order, standing, case):
        return NotDue(standing, case.is_finished)
    if order.is_listed and not _is_next(standing, case):
        return NotDue(standing, case.is_finished)

    violations = [*_wrong_in_order(order, standing, terms)]
    try:
        payload = parse_json(order.payload)
    except Unreadable as unreadable:
        return Refused((*violations, unreadable_body(unreadable)))
    plain = _verdict(payload, order, case, terms, _inherits_override(standing, case, order.payload))
    judged = plain
    if plain.is_refused and order.override is not None:
        judged = _verdict(payload, order, case, terms, is_overridden=True)
    violations += judged.violations
    if violations:
        return Refused(tuple(violations))
    waived = [it.rule for it in plain.violations]
    return Go(
        warnings=judged.warnings,
        overridden_gates=tuple(dict.fromkeys(_WAIVABLE[it] for it in waived)),
        is_replacement=is_other_payload(standing, order.payload),
    )


def _wrong_in_order(order: Order, standing: Standing, terms: Terms) -> Iterator[Violation]:
    """What is wrong with an order, whatever its payload says."""
    is_held_up = isinstance(standing, Waiting) and is_other_payload(standing, order.payload)
    if is_held_up and order.replacement is None and not _replaces_its_own(order, standing):
        yield _RETRY_PENDING
    if not is_header_value(order.process_id):
        yield _UNSENDABLE_PROCESS
    if order.marketplace_id not in (None, terms.marketplace_id):
        yield other_marketplace(terms.marketplace_id)
    if not is_sendable_seller(order.seller_id):
        yield UNSENDABLE_SELLER


def _verdict(
    payload: JsonValue, order: Order, case: CaseFile, terms: Terms, is_overridden: bool
) -> rules.Verdict:
    """What the rules say of an order's payload."""
    is_sent_before = was_sent(case, order.payload)
    return rules.check(
        payload,
        case.process,
        case.answers,
        process_id=order.process_id,
        seller_id=order.seller_id,
        evidence_gate=terms.evidence_gate,
        allow_numeric_revenue=terms.allow_numeric_revenue,
        bands=terms.bands,
        seller_type=case.seller_type,
        is_sent_before=is_sent_before,
        needs_process_id=order.via != "gateway" and not is_sent_before,
        is_overridden=is_overridden,
    )


def _is_wanted(order: Order, standing: Standing, case: CaseFile) -> bool:
    """Whether this retry is one to send now, by the inbox's clock."""
    if case.is_finished or not isinstance(standing, Waiting | Idle) or standing.tried is None:
        return False
    tried = standing.tried
    if hashlib.sha256(order.payload).digest() != tried.payload_sha256:
        return False
    if isinstance(standing, Idle):
        return order.retry == "asked" and tried.last.outcome == "unauthorized"
    if order.retry == "asked":
        return (tried.last.retry_after_at or 0) <= case.now
    return tried.is_ours and standing.due_at is not None and standing.due_at <= case.now


def _is_next(standing: Standing, case: CaseFile) -> bool:
    """Whether nothing went out of which something else follows (`unfinished_work`). Two people who
    pressed at once sent each review twice: the second did not see that the first was accepted."""
    if case.is_finished or not isinstance(standing, Idle):
        return False
    if standing.tried is None:
        return True
    last = standing.tried.last
    confirmed_at = None if case.process is None else case.process.confirmed_at
    return last.outcome == "invalid_payload" and (confirmed_at or 0) > last.outcome_at


def is_other_payload(standing: Standing, payload: bytes) -> bool:
    """Whether these are other bytes than those that wait for a retry, or waited until given up."""
    if not isinstance(standing, Waiting | GivenUp) or standing.tried.payload_sha256 is None:
        return False
    return hashlib.sha256(payload).digest() != standing.tried.payload_sha256


def _replaces_its_own(order: Order, standing: Standing) -> bool:
    """A gateway's caller retries by itself, so it also decides what its try goes on with."""
    return (
        order.via == "gateway"
        and isinstance(standing, Waiting)
        and standing.tried.last.via == "gateway"
    )


def was_sent(case: CaseFile, payload: bytes) -> bool:
    """Whether these bytes went out for the process before, whatever became of them."""
    digest = hashlib.sha256(payload).digest()
    return any(it.payload_sha256 == digest and it.outcome != "refused" for it in case.attempts)


def _inherits_override(standing: Standing, case: CaseFile, payload: bytes) -> bool:
    """A retry is the same submission: what a person answered for at first holds for it."""
    if not isinstance(standing, Waiting | GivenUp | Idle) or standing.tried is None:
        return False
    tried = standing.tried
    return hashlib.sha256(payload).digest() == tried.payload_sha256 and any(
        attempt.attempt_id in case.overridden for attempt in tried.attempts
    )


_RETRY_PENDING: Final = Violation(
    "body",
    "retry_pending",
    "another payload than the one that waits for a retry and may have been processed",
    "the same bytes, or a replacement with a reason and a name",
    "Submit registration review, body rules",
)
_UNSENDABLE_PROCESS: Final = Violation(
    "process_id",
    "wrong_format",
    "control characters or outer spaces",
    "an id that the Idempotency-Key header can carry",
    "Submit registration review",
)
UNSENDABLE_SELLER: Final = Violation(
    "seller_id",
    "wrong_format",
    "an id that is not a segment of a path",
    "the customer_id of the webhook",
    "Submit registration review",
)


def is_sendable_seller(seller_id: str) -> bool:
    """Whether an id can be recorded, and stand in the platform's path."""
    return identifier(seller_id) is not None and is_segment(seller_id)


def other_marketplace(ours: str | None) -> Violation:
    """What is wrong with a path that names another marketplace than ours."""
    return Violation(
        "marketplace_id",
        "marketplace_mismatch",
        "another marketplace",
        f"ours, {ours}",
        "Submit registration review",
    )


def unreadable_body(unreadable: Unreadable) -> Violation:
    """What is wrong with a body that is not readable JSON."""
    return Violation(
        "body", "wrong_format", unreadable.what, "a JSON object", "Submission body fields"
    )
