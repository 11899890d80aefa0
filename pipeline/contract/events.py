"""Reads the platform's events, as far as the contract shows them. No I/O.

Nothing here refuses what is merely unexpected: an unknown event type, status or shape is read as
far as possible, and the views report it as a `new_code` or an `unreadable_part`. Only two things
are `Unreadable`: bytes that are not an event, and a review that names no process
(docs/rules.md#deliveries).
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Self

from pipeline import instants
from pipeline.contract.body import (
    JsonValue,
    canonical_json,
    content_sha256,
    identifier,
    parse_json,
)
from pipeline.errors import Unreadable

REVIEW_REQUIRED: Final = "regulatory.registration.review.required"

SELLER_EVENTS: Final = frozenset(
    f"seller.{what}" for what in ("created", "enabled", "denied", "disabled", "updated", "deleted")
)

BANK_ACCOUNT_EVENTS: Final = frozenset({"bank_account.associated", "bank_account.deleted"})

EVENT_TYPES: Final = SELLER_EVENTS | BANK_ACCOUNT_EVENTS | {REVIEW_REQUIRED}

REVIEW_TYPES: Final[Mapping[str, str]] = {
    "REGISTRATION_REVIEW_REQUIRED": "ACP",
    "INCONSISTENT_DATA_UPDATE_REQUIRED": "ACI",
}

MISSING: Final = "missing"

SHOWN_CHARACTERS: Final = 100
"""Of the JSON that came in place of a readable part."""


def _text(value: JsonValue) -> str | None:
    """A text field of a record. A value that is not a text becomes its canonical JSON."""
    if value is None or isinstance(value, str):
        return value
    return canonical_json(value).decode("utf-8")


def code(value: JsonValue) -> str | None:
    """A code such as a status or a reason; None for anything but a non-empty text."""
    return value if isinstance(value, str) and value else None


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _flag(value: JsonValue) -> bool | None:
    return value if isinstance(value, bool) else None


def platform_id(value: JsonValue) -> str | None:
    """An id as the platform writes it: a text, or a whole number, which is read as its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return identifier(value)


def requested_fields(value: JsonValue) -> tuple[str, ...] | None:
    """The listed paths as they came; None for anything but a list of texts."""
    if isinstance(value, list) and {str}.issuperset(map(type, value)):
        return tuple(value)
    return None


class DecisionReason(NamedTuple):
    """Why a seller was denied. A missing, null or empty detail is None (docs/rules.md#denials)."""

    reason: str
    detail: str | None


class SellerRecord(NamedTuple):
    """The contract's seller record (docs/contract.md#seller-record).

    A field that is missing or null is None. Instants are in microseconds.
    """

    id: str | None
    status: str | None
    resource: str | None
    account_balance: float | None
    current_balance: float | None
    first_name: str | None
    last_name: str | None
    email: str | None
    taxpayer_id: str | None
    phone_number: str | None
    birthdate: str | None
    address: str | None
    mcc: str | None
    show_profile_online: bool | None
    is_mobile: bool | None
    decline_on_fail_security_code: bool | None
    decline_on_fail_zipcode: bool | None
    delinquent: bool | None
    marketplace_id: str | None
    uri: str | None
    metadata: str | None
    created_at: int | None
    updated_at: int | None
    revenue: float | None
    type: str | None
    document_number: str | None
    retry: bool | None
    decision_reasons: tuple[DecisionReason, ...]


def _decision_reasons(value: JsonValue) -> tuple[DecisionReason, ...]:
    items = (it for it in value if isinstance(it, dict)) if isinstance(value, list) else ()
    return tuple(
        DecisionReason(reason, code(item.get("detail")))
        for item in items
        if (reason := code(item.get("reason")))
    )


class UnreadablePart(NamedTuple):
    """A part of a known event that is not as the contract shows it, and what came in its place."""

    part: str
    found: str  # JSON, cut; or `missing`

    @classmethod
    def of(cls, part: str, value: JsonValue) -> Self:
        """The part that holds this value; of a long value only its beginning is shown."""
        return cls(part, canonical_json(value).decode()[:SHOWN_CHARACTERS])


class Review(NamedTuple):
    """`payload.object` of a review event: which process, whose, until when, and what is asked.

    What is absent or unreadable is None, but for the process.
    """

    process_id: str
    customer_id: str | None
    type: str | None
    status: str | None
    deadline_at: int | None
    requested_fields: tuple[str, ...] | None


class Event(NamedTuple):
    """What one delivery says. `id` is the platform's, or `sha256:<hex of the body>` without one.

    `content_sha256` is equal for the same JSON value, however it is spelled. `unreadable` names
    the parts of a known event that are not as the contract shows them, with what came.
    """

    id: str
    has_id: bool
    type: str
    created_at: int | None
    review: Review | None
    seller: SellerRecord | None
    seller_id: str | None
    bank_account_id: str | None
    content_sha256: bytes
    unreadable: tuple[UnreadablePart, ...]

    @property
    def process_id(self) -> str | None:
        """The process that a review event is about; None for other events."""
        return self.review.process_id if self.review else None


class Identity(NamedTuple):
    """The ids under which a delivery is recorded."""

    event_id: str
    process_id: str | None
    seller_id: str | None


def identify(body: bytes) -> Identity:
    """The part of `read_event` that recording needs; raises `Unreadable` for the same bytes."""
    envelope = _read_envelope(body)
    objects = _objects(envelope)
    return Identity(
        event_id=platform_id(envelope.get("id")) or _digest_name(body),
        process_id=objects.process_id,
        seller_id=objects.seller_id,
    )


def event_type(body: bytes) -> str:
    """The type of the event in a delivery's bytes; raises `Unreadable` where they name none."""
    name: str = _read_envelope(body)["type"]
    return name


def read_event(body: bytes) -> Event:
    """The event in a delivery's bytes; raises `Unreadable` for bytes that go to quarantine."""
    envelope = _read_envelope(body)
    review, record, account = objects = _objects(envelope)
    event_id = platform_id(envelope.get("id"))
    read = None if review is None else _read_review(review, objects.process_id or "")
    return Event(
        id=event_id or _digest_name(body),
        has_id=event_id is not None,
        type=envelope["type"],
        created_at=instants.parse(envelope.get("created_at")),
        review=read,
        seller=None if record is None else _read_seller(record),
        seller_id=objects.seller_id,
        bank_account_id=None if account is None else platform_id(account.get("id")),
        content_sha256=content_sha256(envelope),
        unreadable=tuple(_unreadable_parts(envelope, objects, read)),
    )


def _digest_name(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def _read_envelope(body: bytes) -> dict[str, JsonValue]:
    envelope = parse_json(body)
    if not isinstance(envelope, dict):
        raise Unreadable("not a JSON object")
    event_type = envelope.get("type")
    if not isinstance(event_type, str) or not event_type:
        raise Unreadable("no event type: `type` must be a non-empty string")
    return envelope


class _Objects(NamedTuple):
    """The one of these that the event's type asks for, where it is there, as it came."""

    review: Mapping[str, JsonValue] | None = None
    seller: Mapping[str, JsonValue] | None = None
    account: Mapping[str, JsonValue] | None = None

    @property
    def process_id(self) -> str | None:
        return None if self.review is None else platform_id(self.review.get("process_id"))

    @property
    def seller_id(self) -> str | None:
        if self.review is not None:
            return platform_id(self.review.get("customer_id"))
        if self.seller is not None:
            return platform_id(self.seller["id"])
        return None if self.account is None else _account_holder(self.account)


def _objects(envelope: Mapping[str, JsonValue]) -> _Objects:
    """Raises `Unreadable` for a review that names no process."""
    event_type, payload = envelope["type"], envelope.get("payload")
    payload = payload if isinstance(payload, dict) else {}
    inner = payload.get("object")
    if event_type == REVIEW_REQUIRED:
        if not isinstance(inner, dict):
            raise Unreadable("a review event without an object at payload.object")
        if platform_id(inner.get("process_id")) is None:
            raise Unreadable("a review event without a readable payload.object.process_id")
        return _Objects(review=inner)
    if event_type in SELLER_EVENTS:
        return _Objects(seller=next((it for it in (inner, payload) if _has_id(it)), None))
    if event_type in BANK_ACCOUNT_EVENTS:
        return _Objects(account=inner if isinstance(inner, dict) else payload)
    return _Objects()


def _has_id(value: JsonValue) -> bool:
    return isinstance(value, dict) and platform_id(value.get("id")) is not None


def _read_review(inner: Mapping[str, JsonValue], process_id: str) -> Review:
    return Review(
        process_id=process_id,
        customer_id=platform_id(inner.get("customer_id")),
        type=code(inner.get("type")),
        status=code(inner.get("status")),
        deadline_at=instants.parse(inner.get("deadline_at")),
        requested_fields=requested_fields(inner.get("requested_fields")),
    )


_Read = Callable[[JsonValue], object]

_SELLER_FIELDS: Final[tuple[tuple[str, _Read], ...]] = tuple(
    {
        **dict.fromkeys(SellerRecord._fields[:-1], _text),
        **dict.fromkeys(("account_balance", "current_balance", "revenue"), _number),
        **dict.fromkeys(("show_profile_online", "is_mobile", "delinquent", "retry"), _flag),
        **dict.fromkeys(("decline_on_fail_security_code", "decline_on_fail_zipcode"), _flag),
        **dict.fromkeys(("created_at", "updated_at"), instants.parse),
        **dict.fromkeys(("status", "type"), code),
    }.items()
)
"""What reads each field of a seller record that is not null, but for the last."""


def _read_seller(record: Mapping[str, JsonValue]) -> SellerRecord:
    fields: list[Any] = []
    for name, read in _SELLER_FIELDS:
        value = record.get(name)
        fields.append(None if value is None else read(value))
    reasons = _decision_reasons(record.get("decision_reasons"))
    return SellerRecord._make([*fields, reasons])


def _account_holder(account: Mapping[str, JsonValue]) -> str | None:
    """The seller of a bank account event, or None if no key names one.

    The contract does not show this event. It says only that the account is associated "to the
    customer", so this tries the names that the contract uses for a seller elsewhere.
    """
    holder = account.get("customer") or account.get("seller")
    candidates = (
        account.get("customer_id"),
        account.get("seller_id"),
        holder.get("id") if isinstance(holder, dict) else holder,
    )
    return next((it for it in map(platform_id, candidates) if it), None)


# --- what is not as the contract shows it ----------------------------------------------------


def _unreadable_parts(
    envelope: Mapping[str, JsonValue], objects: _Objects, review: Review | None
) -> Iterator[UnreadablePart]:
    """The parts that the rules read and that are not there as the contract shows them. `review`: as
    it was read."""
    if envelope["type"] not in EVENT_TYPES:
        return
    yield from _odd("id", envelope.get("id"), identifier)
    yield from _odd("created_at", envelope.get("created_at"), instants.parse)
    if objects.review is not None:
        if review is None or not _is_plain(objects.review, review):
            yield from _odd_in_review(objects.review)
    elif objects.seller is not None:
        yield from _odd_in_seller_event(envelope, objects.seller)
    elif objects.account is not None:
        for name in ("customer_id", "seller_id"):
            if objects.account.get(name) is not None:
                yield from _odd(name, objects.account[name], identifier)
                return
    elif envelope["type"] in SELLER_EVENTS:
        yield from _odd("record.id", _unread_id(envelope.get("payload")), identifier)


def _unread_id(payload: JsonValue) -> JsonValue:
    """What stands where a seller event without a record has its seller's id; None for nothing."""
    inner = payload.get("object") if isinstance(payload, dict) else None
    ids = (it.get("id") for it in (inner, payload) if isinstance(it, dict))
    return next((it for it in ids if it is not None), None)


def _odd(part: str, value: JsonValue, read: _Read) -> Iterator[UnreadablePart]:
    if value is not None and read(value) is None:
        yield UnreadablePart.of(part, value)


def _is_plain(inner: Mapping[str, JsonValue], review: Review) -> bool:
    """Whether all of a review could be read, and its ids are texts. Then no part of it is odd; to
    find that out part by part takes longer."""
    ids = (inner["process_id"], inner["customer_id"]) if None not in review else ()
    return bool(review.requested_fields) and {*map(type, ids)} == {str}


def _odd_in_review(inner: Mapping[str, JsonValue]) -> Iterator[UnreadablePart]:
    yield from _odd("process_id", inner["process_id"], identifier)
    read: _Read
    for name, read in (("customer_id", identifier), ("type", code), ("status", code)):
        if inner.get(name) is None:
            yield UnreadablePart(name, MISSING)
        else:
            yield from _odd(name, inner[name], read)
    is_open = inner.get("status") != "FINISHED"
    for name, read in (("deadline_at", instants.parse), ("requested_fields", requested_fields)):
        if inner.get(name) is not None:
            yield from _odd(name, inner[name], read)
        elif is_open:
            yield UnreadablePart(name, MISSING)
    if inner.get("requested_fields") == [] and REVIEW_TYPES.get(str(inner.get("type"))) == "ACI":
        yield UnreadablePart.of("requested_fields", [])


def _odd_in_seller_event(
    envelope: Mapping[str, JsonValue], record: Mapping[str, JsonValue]
) -> Iterator[UnreadablePart]:
    yield from _odd("record.id", record["id"], identifier)
    yield from _odd("record.created_at", record.get("created_at"), instants.parse)
    yield from _odd("record.status", record.get("status"), code)
    yield from _odd("record.type", record.get("type"), code)
    if envelope["type"] != "seller.denied":
        return
    payload = envelope["payload"]
    beside = payload if record is payload.get("object") else payload.get("object")
    for name, read in (("decision_reasons", _whole_reasons), ("retry", _flag)):
        yield from _odd(name, record.get(name), read)
        if isinstance(beside, dict) and beside.get(name) is not None:
            yield UnreadablePart.of(name, beside[name])  # it is not read from there


def _whole_reasons(value: JsonValue) -> tuple[DecisionReason, ...] | None:
    """The reasons, or None where any of them cannot be read to the full."""
    reasons = _decision_reasons(value)
    if not isinstance(value, list) or len(reasons) < len(value):
        return None
    details = (it.get("detail") for it in value)
    return reasons if all(it is None or isinstance(it, str) for it in details) else None
