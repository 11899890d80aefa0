"""Reads typed facts out of entries: what the views ask about, column by column. No I/O.

Facts follow from the entries alone, so that a rebuilt ledger has the same ones.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline import instants
from pipeline.contract.body import JsonValue, canonical_form, content_sha256, parse_json
from pipeline.contract.event_types import FAMILIES
from pipeline.contract.events import read_event
from pipeline.contract.fields import flatten
from pipeline.contract.readings import DecisionReason
from pipeline.contract.seller_record import FIELDS
from pipeline.errors import CallerError, LedgerRefused, Unreadable
from pipeline.ledger.facts import remains
from pipeline.ledger.facts.rows import (
    TABLES,
    Action,
    AnsweredField,
    Artifact,
    AttemptFinish,
    AttemptStart,
    BankAccountEvent,
    Collection,
    Fact,
    Notice,
    NoticeResult,
    Quarantined,
    Rejection,
    ReviewFact,
    SellerEvent,
    SentField,
    UnreadablePart,
    Webhook,
)
from pipeline.log.entries import MOST_BYTES, Entry
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.kinds.rejection import REJECTION
from pipeline.log.kinds.retraction import RETRACTION
from pipeline.log.kinds.seller_notice import SELLER_NOTICE
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.log.reconciling import WAS
from pipeline.texts import is_tax_id


@dataclass(frozen=True, slots=True)
class Keys:
    """Secrets for digests that let values be compared but not guessed; kept outside the ledger."""

    values: bytes
    taxpayer: bytes

    def of_value(self, value: JsonValue) -> bytes:
        """Equal for the same JSON value: same type, same digits, same string."""
        return hmac.digest(self.values, canonical_form(value), "sha256")

    @property
    def taxpayer_mark(self) -> str:
        """A digest that tells this key of tax ids from another one, and reveals nothing else."""
        return hmac.digest(self.taxpayer, b"which key this is", "sha256").hex()[:16]

    def of_taxpayer(self, taxpayer_id: str | None) -> bytes | None:
        """A digest that is equal for equal tax ids, however they are punctuated or cased: only
        letters A to Z and digits count (a CNPJ may carry letters since July 2026). Empty where the
        id has none of these; None without an id."""
        if taxpayer_id is None:
            return None
        known = taxpayer_id
        if not (known.isascii() and known.isalnum()):
            known = "".join(it for it in known if it.isascii() and it.isalnum())
        known = known.upper()
        return hmac.digest(self.taxpayer, known.encode(), "sha256") if known else b""

    def of_typed(self, text: str) -> bytes:
        """A digest of what somebody looked for: equal for equal tax ids, however they are
        punctuated, and for other texts that differ in case and blanks alone."""
        if is_tax_id(text.strip()):
            return self.of_taxpayer(text) or b""
        known = " ".join(text.casefold().split())
        return hmac.digest(self.taxpayer, b"typed: " + known.encode("utf-8", "replace"), "sha256")


def extract(entries: Iterable[Entry], keys: Keys) -> dict[type[Fact], list[Fact]]:
    """The facts of entries by table, in order of seq, with the names of people. Raises as
    `facts_of` does."""
    facts: dict[type[Fact], list[Fact]] = {table: [] for table in TABLES}
    for entry in entries:
        for fact in facts_of(entry, keys):
            facts[type(fact)].append(fact if entry.pseudonym is None else _named(fact, entry))
    return facts


def _named(fact: Fact, entry: Entry) -> Fact:
    if (
        isinstance(fact, Action | Notice)
        and fact.actor == entry.pseudonym
        and entry.name is not None
    ):
        return fact._replace(actor=entry.name)
    return fact


def facts_of(entry: Entry, keys: Keys) -> list[Fact]:
    """The facts of one entry, from its body or from what remains of it, with people's pseudonyms.
    Raises `LedgerRefused` for an entry that this program did not record: whoever can write into the
    inbox may put anything there."""
    try:
        if entry.is_erased:
            return [*remains.facts_in(entry)]
        return [*_READERS.get(entry.kind, _action)(entry, keys)]
    except (AttributeError, CallerError, LookupError, TypeError, ValueError) as error:
        raise LedgerRefused(
            f"Entry {entry.seq} cannot be read",
            f"its bytes are not what the kind {entry.kind} has ({type(error).__name__})",
            "the inbox was changed by hand: restore it from a backup",
        ) from error


def _sha256(data: bytes | None) -> bytes:
    return hashlib.sha256(data or b"").digest()


def _content_sha256(entry: Entry) -> bytes:
    """The digest of what a submission entry says, without how it was recorded: entries with the
    same digest are repetitions (docs/rules.md#counting-once)."""
    timeout = entry.particulars.get("timeout_seconds")
    content = {
        **{name: it for name, it in entry.particulars.items() if name not in WAS},
        "timeout_seconds": int(timeout) if timeout is not None and timeout % 1 == 0 else timeout,
        "via": None,
        "attempt_id": entry.attempt_id,
        "process_id": entry.process_id,
        "seller_id": entry.seller_id,
        "status": entry.status,
        "body": None if entry.body is None else entry.body.decode("utf-8", "backslashreplace"),
    }
    known = {name: it for name, it in content.items() if it is not None}
    return content_sha256(known)


def _webhook(entry: Entry, keys: Keys) -> Iterable[Fact]:
    # The most frequent facts are given their values by position: by name it takes twice as long.
    event = read_event(entry.body or b"")
    family = FAMILIES.get(event.type)
    yield Webhook(
        entry.seq,
        event.id,
        event.type,
        event.created_at,
        entry.occurred_at,
        entry.recorded_at,
        entry.origin,
        entry.is_again,
        event.has_id,
        event.seller is not None or family != "seller",
        entry.particulars.get("replay_of") if entry.record else None,
        event.content_sha256,
    )
    for part, found in event.unreadable:
        yield UnreadablePart(
            seq=entry.seq,
            event_id=event.id,
            occurred_at=entry.occurred_at,
            process_id=event.process_id,
            seller_id=event.seller_id,
            part=part,
            found=found,
        )
    created_at = entry.occurred_at if event.created_at is None else event.created_at
    if (review := event.review) is not None:
        yield ReviewFact(
            entry.seq,
            event.id,
            entry.occurred_at,
            created_at,
            review.process_id,
            review.customer_id,
            review.type,
            review.status,
            review.deadline_at,
            review.requested_fields,
            event.content_sha256,
            entry.origin,
        )
    elif (seller := event.seller) is not None:
        yield SellerEvent(
            entry.seq,
            event.id,
            event.type,
            entry.occurred_at,
            created_at,
            seller.id or "",
            *(seller.fields[each.name] for each in FIELDS),
            keys.of_taxpayer(seller.fields["taxpayer_id"]),
            keys.of_taxpayer(seller.fields["ein"]),
            keys.of_taxpayer(seller.document_tax_id),
            seller.retry,
            _reasons(seller.decision_reasons),
        )
    elif family == "bank account":
        yield BankAccountEvent(
            seq=entry.seq,
            event_id=event.id,
            event_type=event.type,
            occurred_at=entry.occurred_at,
            created_at=created_at,
            seller_id=event.seller_id,
            bank_account_id=event.bank_account_id,
        )


def _reasons(given: Sequence[DecisionReason]) -> str:
    """The distinct pairs as JSON, in one order and spelling, so that equal reasons are equal texts.
    A reason without a detail comes after those that have one."""
    if not given:
        return "[]"
    ordered = sorted(
        set(given), key=lambda reason: (reason.reason, reason.detail is None, reason.detail or "")
    )
    return canonical_form([it._asdict() for it in ordered]).decode()


def _submission_started(entry: Entry, keys: Keys) -> Iterable[Fact]:
    payload = _json_object(entry.body)
    known = entry.particulars
    payload_type = None if payload is None else payload.get("type")
    yield AttemptStart(
        seq=entry.seq,
        attempt_id=entry.attempt_id or "",
        process_id=entry.process_id or "",
        seller_id=entry.seller_id,
        occurred_at=entry.occurred_at,
        is_again=entry.is_again,
        via=known.get("via"),
        marketplace_id=known.get("marketplace_id"),
        idempotency_key=known.get("idempotency_key"),
        timeout_seconds=known.get("timeout_seconds"),
        payload_type=payload_type if isinstance(payload_type, str) else None,
        is_object=payload is not None,
        body_size=None if entry.body is None else len(entry.body),
        body_sha256=_sha256(entry.body),
        content_sha256=_content_sha256(entry),
    )
    for path, value in dict(flatten(payload or {})).items():  # a path sent twice: the last counts
        yield SentField(
            seq=entry.seq,
            attempt_id=entry.attempt_id or "",
            process_id=entry.process_id or "",
            path=path,
            is_null=value is None,
            value_key=keys.of_value(value),
        )


def _submission_finished(entry: Entry, _: Keys) -> Iterable[Fact]:
    known = entry.particulars
    yield AttemptFinish(
        seq=entry.seq,
        attempt_id=entry.attempt_id or "",
        process_id=entry.process_id or "",
        seller_id=entry.seller_id,
        occurred_at=entry.occurred_at,
        is_again=entry.is_again,
        status=entry.status,
        error=known.get("error"),
        retry_after_at=instants.parse(known.get("retry_after_at")),
        origin=entry.origin,
        content_sha256=_content_sha256(entry),
    )


def _collection(entry: Entry, keys: Keys) -> Iterable[Fact]:
    content = _json_object(entry.body) or {}
    process_id, journey_id, step = entry.process_id or "", content["journey_id"], content["step"]
    fields = content.get("fields") or {} if step == "answered" else {}
    answered = dict(flatten(fields))  # a path named twice: the last counts
    artifacts = content.get("artifacts") or ()
    yield Collection(
        seq=entry.seq,
        process_id=process_id,
        seller_id=entry.seller_id or "",
        occurred_at=entry.occurred_at,
        recorded_at=entry.recorded_at,
        journey_id=journey_id,
        step=step,
        channel=content["channel"],
        source=content["source"],
        actor=content.get("actor"),
        is_link=content.get("expires_at") is not None,
        paths=tuple(sorted(answered)),
        artifacts=len(artifacts),
        body_sha256=_sha256(entry.body),
    )
    for path, value in answered.items():
        yield AnsweredField(
            seq=entry.seq, process_id=process_id, path=path, value_key=keys.of_value(value)
        )
    for artifact in artifacts:
        yield Artifact(
            seq=entry.seq,
            process_id=process_id,
            journey_id=journey_id,
            step=step,
            name=artifact["name"],
            media_type=artifact.get("media_type") or "application/octet-stream",
            sha256=artifact.get("sha256"),
            size_bytes=_size(artifact.get("size_bytes")),
        )


def _size(stated: JsonValue) -> int | None:
    """The number of bytes that a collection states. None where it is not a number, or larger than a
    table holds: a package of somebody else's may state anything."""
    try:
        size = int(stated)
    except (TypeError, ValueError):
        return None
    return size if size <= MOST_BYTES else None


def _quarantine(entry: Entry, _: Keys) -> Iterable[Fact]:
    yield Quarantined(
        seq=entry.seq,
        occurred_at=entry.occurred_at,
        recorded_at=entry.recorded_at,
        origin=entry.origin,
        reason=entry.particulars["reason"],
        size_bytes=len(entry.body or b""),
    )


def _rejection(entry: Entry, _: Keys) -> Iterable[Fact]:
    known = entry.particulars
    yield Rejection(
        seq=entry.seq,
        occurred_at=entry.occurred_at,
        status=entry.status or 0,
        reason=known["reason"],
        deliveries=known["deliveries"],
    )


def _seller_notice(entry: Entry, _: Keys) -> Iterable[Fact]:
    content = _json_object(entry.body) or {}
    rung, actor = content.get("rung"), content.get("actor")
    yield _acted(entry, content)
    yield Notice(
        seq=entry.seq,
        message_id=content["message_id"],
        process_id=entry.process_id or "",
        seller_id=entry.seller_id,
        occurred_at=entry.occurred_at,
        recorded_at=entry.recorded_at,
        origin=entry.origin,
        channel=content["channel"],
        outcome=content.get("outcome"),
        rung=None if rung is None else str(rung),
        template=content.get("template"),
        language=content.get("language"),
        promised_for=content.get("promised_for"),
        actor=actor if isinstance(actor, str) else None,
        content_sha256=_sha256_of_said(entry, content),
    )


def _notice_result(entry: Entry, _: Keys) -> Iterable[Fact]:
    content = _json_object(entry.body) or {}
    yield _acted(entry, content)
    yield NoticeResult(
        seq=entry.seq,
        message_id=content["message_id"],
        process_id=entry.process_id,
        occurred_at=entry.occurred_at,
        recorded_at=entry.recorded_at,
        origin=entry.origin,
        result="retracted" if entry.kind == RETRACTION else content["result"],
        is_refused=content.get("is_refused") is True,
        content_sha256=_sha256_of_said(entry, content),
    )


def _sha256_of_said(entry: Entry, content: dict[str, JsonValue]) -> bytes:
    """As `_content_sha256`, of what a line says, but for who did it: each pseudonym is another."""
    said = {**content, "process_id": entry.process_id, "seller_id": entry.seller_id}
    known = {name: it for name, it in said.items() if name != "actor" and it is not None}
    return content_sha256(known)


def _action(entry: Entry, _: Keys) -> Iterable[Fact]:
    yield _acted(entry, _json_object(entry.body) or {})


def _acted(entry: Entry, said: Mapping[str, JsonValue]) -> Action:
    content = dict(said)
    actor, reason = content.pop("actor", None), content.pop("reason", None)
    step = content.get("step", content.get("result"))
    return Action(
        seq=entry.seq,
        kind=entry.kind,
        occurred_at=entry.occurred_at,
        process_id=entry.process_id,
        seller_id=entry.seller_id,
        attempt_id=entry.attempt_id,
        actor=actor if isinstance(actor, str) else None,
        reason=reason if isinstance(reason, str) else None,
        step=step if isinstance(step, str) else None,
        content=json.dumps(content, ensure_ascii=False),
        body_sha256=_sha256(entry.body),
        origin=entry.origin,
    )


_READERS: Final[dict[str, Callable[[Entry, Keys], Iterable[Fact]]]] = {
    WEBHOOK: _webhook,
    QUARANTINE: _quarantine,
    REJECTION: _rejection,
    SUBMISSION_STARTED: _submission_started,
    SUBMISSION_FINISHED: _submission_finished,
    COLLECTION: _collection,
    SELLER_NOTICE: _seller_notice,
    SELLER_NOTICE_RESULT: _notice_result,
    RETRACTION: _notice_result,
}


def _json_object(body: bytes | None) -> dict[str, JsonValue] | None:
    """The object in a body, if there is one: an attempt may carry any bytes."""
    try:
        value = parse_json(body or b"")
    except Unreadable:
        return None
    return value if isinstance(value, dict) else None
