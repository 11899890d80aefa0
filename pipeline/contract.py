"""Reads the platform's bytes into records, as far as the contract shows them. No I/O.

Nothing here refuses what is merely unexpected: an unknown event type, status or shape is read as
far as it goes, and the views report it as a `new_code`. Only bytes that cannot be read at all, or
a review without what a deadline needs, are `Unreadable` (rules.md section 8).
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict

from pipeline import instants
from pipeline.errors import Unreadable

JsonValue = Any  # JSON as Python reads it: None, bool, int, float, str, list or dict of such

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

MAX_DEPTH: Final = 64
MAX_ID_CHARACTERS: Final = 512
_LEAST_INTEGER, _GREATEST_INTEGER = -(2**63), 2**64 - 1
_PLAIN_NAME = re.compile(r"[A-Za-z_]{1,40}")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


# --- bytes -> JSON ---------------------------------------------------------------------------


def parse_json(data: bytes) -> JsonValue:
    """The one JSON value in `data`, read strictly.

    Raises `Unreadable` for what parsers disagree on, since two readers of one body must never see
    two things: other encodings than UTF-8, a byte order mark, duplicate keys, NaN and Infinity,
    numbers beyond 64 bits or beyond a double, lone surrogates, nesting beyond `MAX_DEPTH`.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8: {error.reason} at byte {error.start}") from None
    if text.startswith("\ufeff"):
        raise Unreadable("not JSON: it starts with a byte order mark")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Unreadable(
            f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from None
    except RecursionError:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels") from None
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")
    if _SURROGATE_ESCAPE.search(data):
        _refuse_lone_surrogates(value)
    return value


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                # The reason is exported unmasked: a key that is no plain name may be a value.
                name = f"the key {key!r}" if _PLAIN_NAME.fullmatch(key) else "a key"
                raise Unreadable(f"{name} stands twice in one object")
            seen.add(key)
    return result


def _integer(digits: str) -> int:
    if len(digits) > 20 or not _LEAST_INTEGER <= (value := int(digits)) <= _GREATEST_INTEGER:
        raise Unreadable("a whole number beyond 64 bits")
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Unreadable("a number beyond the range of a double")
    return value


def _constant(name: str) -> None:
    raise Unreadable(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)


def _depth(value: JsonValue) -> int:
    """Levels of objects and arrays; walked level by level, so depth cannot exhaust the stack."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [
            child for item in level for child in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


def _refuse_lone_surrogates(value: JsonValue) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise Unreadable("a lone surrogate (half a character) in a string") from None


def canonical_json(value: JsonValue) -> bytes:
    """The one spelling of a JSON value: sorted keys, no spaces, UTF-8."""
    return _ENCODER.encode(value).encode("utf-8")


# Made once: `json.dumps` makes one for each value that it spells, which takes as long again.
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
)


# --- JSON -> records -------------------------------------------------------------------------


def identifier(value: JsonValue) -> str | None:
    """A readable identifier: a non-empty string, bounded, without NUL (no index takes those)."""
    if isinstance(value, str) and 0 < len(value) <= MAX_ID_CHARACTERS and "\0" not in value:
        return value
    return None


def _text(value: JsonValue) -> str | None:
    """A text field of a record; a number or object where a text was expected keeps its JSON."""
    if value is None or isinstance(value, str):
        return value
    return canonical_json(value).decode("utf-8")


def _code(value: JsonValue) -> str | None:
    """A code such as a status or a reason; whatever is no text, or empty, is none."""
    return value if isinstance(value, str) and value else None


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _flag(value: JsonValue) -> bool | None:
    return value if isinstance(value, bool) else None


def _requested(value: JsonValue) -> tuple[str, ...]:
    """The listed paths as they came; a missing or malformed list asks for nothing."""
    return tuple(it for it in value if isinstance(it, str)) if isinstance(value, list) else ()


Text = Annotated[str | None, BeforeValidator(_text)]
Code = Annotated[str | None, BeforeValidator(_code)]
Number = Annotated[float | None, BeforeValidator(_number)]
Flag = Annotated[bool | None, BeforeValidator(_flag)]
Instant = Annotated[int | None, BeforeValidator(instants.parse)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class DecisionReason(NamedTuple):
    """Why a seller was denied. An absent, null or empty detail is None (rules.md section 7)."""

    reason: str
    detail: str | None


class SellerRecord(_Record):
    """The contract's seller record ("Resources and their fields"); absent and null alike None."""

    id: Text = None
    status: Code = None
    resource: Text = None
    account_balance: Number = None
    current_balance: Number = None
    first_name: Text = None
    last_name: Text = None
    email: Text = None
    taxpayer_id: Text = None
    phone_number: Text = None
    birthdate: Text = None
    address: Text = None
    mcc: Text = None
    show_profile_online: Flag = None
    is_mobile: Flag = None
    decline_on_fail_security_code: Flag = None
    decline_on_fail_zipcode: Flag = None
    delinquent: Flag = None
    marketplace_id: Text = None
    uri: Text = None
    metadata: Text = None
    created_at: Instant = None
    updated_at: Instant = None
    revenue: Number = None
    type: Text = None
    document_number: Text = None
    retry: Flag = None
    decision_reasons: Annotated[
        tuple[DecisionReason, ...], BeforeValidator(lambda value: _decision_reasons(value))
    ] = ()


def _decision_reasons(value: JsonValue) -> tuple[DecisionReason, ...]:
    items = (it for it in value if isinstance(it, dict)) if isinstance(value, list) else ()
    return tuple(
        DecisionReason(reason, _code(item.get("detail")))
        for item in items
        if (reason := _code(item.get("reason")))
    )


class Review(NamedTuple):
    """`payload.object` of a review event: which process, whose, until when, and what is asked."""

    type: str
    process_id: str
    customer_id: str
    deadline_at: int
    status: str | None
    requested_fields: tuple[str, ...]


class Event(NamedTuple):
    """What one delivery says. `id` is the platform's, or `sha256:<hex of the body>` without one."""

    id: str
    has_id: bool
    type: str
    created_at: int | None
    review: Review | None
    seller: SellerRecord | None
    seller_id: str | None
    bank_account_id: str | None

    @property
    def process_id(self) -> str | None:
        return self.review.process_id if self.review else None


class Identity(NamedTuple):
    """The ids under which a delivery is recorded."""

    event_id: str
    process_id: str | None
    seller_id: str | None


def identify(body: bytes) -> Identity:
    """As much of `read_event` as recording needs; raises `Unreadable` for the same bytes."""
    envelope = _read_envelope(body)
    payload = _read_payload(envelope)
    return Identity(
        event_id=identifier(envelope.get("id")) or _digest_name(body),
        process_id=None if payload.review is None else payload.review.process_id,
        seller_id=payload.seller_id,
    )


def read_event(body: bytes) -> Event:
    """The event in a delivery's bytes; raises `Unreadable` for what goes to quarantine."""
    envelope = _read_envelope(body)
    review, record, account = payload = _read_payload(envelope)
    event_id = identifier(envelope.get("id"))
    return Event(
        id=event_id or _digest_name(body),
        has_id=event_id is not None,
        type=envelope["type"],
        created_at=instants.parse(envelope.get("created_at")),
        review=review,
        seller=None if record is None else SellerRecord.model_validate(record),
        seller_id=payload.seller_id,
        bank_account_id=None if account is None else identifier(account.get("id")),
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


class _Payload(NamedTuple):
    """The one of these that the event's type asks for, where it is there."""

    review: Review | None = None
    seller: Mapping[str, JsonValue] | None = None
    account: Mapping[str, JsonValue] | None = None

    @property
    def seller_id(self) -> str | None:
        if self.review is not None:
            return self.review.customer_id
        if self.seller is not None:
            return identifier(self.seller["id"])
        return None if self.account is None else _account_holder(self.account)


def _read_payload(envelope: Mapping[str, JsonValue]) -> _Payload:
    event_type, payload = envelope["type"], envelope.get("payload")
    payload = payload if isinstance(payload, dict) else {}
    inner = payload.get("object")
    if event_type == REVIEW_REQUIRED:
        return _Payload(review=_read_review(inner))
    if event_type in SELLER_EVENTS:
        return _Payload(seller=next((it for it in (inner, payload) if _has_id(it)), None))
    if event_type in BANK_ACCOUNT_EVENTS:
        return _Payload(account=inner if isinstance(inner, dict) else payload)
    return _Payload()


def _has_id(value: JsonValue) -> bool:
    return isinstance(value, dict) and identifier(value.get("id")) is not None


def _read_review(inner: JsonValue) -> Review:
    if not isinstance(inner, dict):
        raise Unreadable("a review event without an object at payload.object")
    process_id = identifier(inner.get("process_id"))
    customer_id = identifier(inner.get("customer_id"))
    review_type = identifier(inner.get("type"))
    deadline_at = instants.parse(inner.get("deadline_at"))
    if process_id is None or customer_id is None or review_type is None or deadline_at is None:
        readable = {
            "process_id": process_id,
            "customer_id": customer_id,
            "type": review_type,
            "deadline_at": deadline_at,
        }
        missing = ", ".join(f"payload.object.{name}" for name, it in readable.items() if it is None)
        raise Unreadable(f"a review event without a readable {missing}")
    return Review(
        type=review_type,
        process_id=process_id,
        customer_id=customer_id,
        deadline_at=deadline_at,
        status=_code(inner.get("status")),
        requested_fields=_requested(inner.get("requested_fields")),
    )


def _account_holder(account: Mapping[str, JsonValue]) -> str | None:
    """The seller of a bank account event, as far as an unknown shape names one.

    The contract says only that the account is associated "to the customer"; the names tried are
    those that the contract uses for a seller elsewhere.
    """
    holder = account.get("customer") or account.get("seller")
    candidates = (
        account.get("customer_id"),
        account.get("seller_id"),
        holder.get("id") if isinstance(holder, dict) else holder,
    )
    return next((it for it in map(identifier, candidates) if it), None)
