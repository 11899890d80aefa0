"""Reads the platform's events, as far as the contract shows them. No I/O.

Nothing here refuses what is merely unexpected: an unknown event type, status or shape is read as
far as possible, and the views report it as a `new_code` or an `unreadable_part`. Only two things
are `Unreadable`: bytes that are not an event, and a review that names no process
(docs/rules.md#deliveries).
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.contract import shapes
from pipeline.contract.body import JsonValue, identifier, parse_content, parse_json
from pipeline.contract.event_types import FAMILIES
from pipeline.contract.readings import (
    MISSING,
    TAX_IDS,
    DecisionReason,
    Event,
    Identity,
    Review,
    SellerRecord,
    UnreadablePart,
    code,
    is_tax_id_text,
    platform_id,
    requested_fields,
    tax_id,
    text_of,
)
from pipeline.contract.review_types import of_code
from pipeline.contract.seller_record import FIELDS
from pipeline.errors import Unreadable


def identify(body: bytes) -> Identity:
    """The part of `read_event` that recording needs; raises `Unreadable` for the same bytes."""
    envelope = _envelope(parse_json(body))
    if (identity := shapes.identify(envelope)) is not None:
        return identity
    objects = _objects(envelope)
    return Identity(
        event_id=platform_id(envelope.get("id")) or _digest_name(body),
        process_id=objects.process_id,
        seller_id=objects.seller_id,
    )


def event_type(body: bytes) -> str:
    """The type of the event in a delivery's bytes; raises `Unreadable` where they name none."""
    name: str = _envelope(parse_json(body))["type"]
    return name


def read_event(body: bytes) -> Event:
    """The event in a delivery's bytes; raises `Unreadable` for bytes that go to quarantine."""
    value, content = parse_content(body)
    envelope = _envelope(value)
    return shapes.read_event(envelope, content) or _part_by_part(envelope, content, body)


def _part_by_part(envelope: Mapping[str, JsonValue], content: bytes, body: bytes) -> Event:
    """The event, as far as it can be read."""
    review, record, account = objects = _objects(envelope)
    event_id = platform_id(envelope.get("id"))
    return Event(
        id=event_id or _digest_name(body),
        has_id=event_id is not None,
        type=envelope["type"],
        created_at=instants.parse(envelope.get("created_at")),
        review=None if review is None else _read_review(review, objects.process_id or ""),
        seller=None if record is None else _read_seller(record),
        seller_id=objects.seller_id,
        bank_account_id=None if account is None else _account_id(account),
        content_sha256=content,
        unreadable=tuple(_unreadable_parts(envelope, objects)),
    )


def _digest_name(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def _envelope(envelope: JsonValue) -> dict[str, JsonValue]:
    """What a body holds, which is to be an event."""
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
    family, payload = FAMILIES.get(envelope["type"]), envelope.get("payload")
    payload = payload if isinstance(payload, dict) else {}
    inner = payload.get("object")
    if family == "review":
        if not isinstance(inner, dict):
            raise Unreadable("a review event without an object at payload.object")
        if platform_id(inner.get("process_id")) is None:
            raise Unreadable("a review event without a readable payload.object.process_id")
        return _Objects(review=inner)
    if family == "seller":
        return _Objects(seller=next((it for it in (inner, payload) if _has_id(it)), None))
    if family == "bank account":
        return _Objects(account={**payload, **inner} if isinstance(inner, dict) else payload)
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


def _number(value: JsonValue) -> float | None:
    """A number, also one that came as a text."""
    if isinstance(value, str):
        return float(value) if _AMOUNT.fullmatch(value) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _flag(value: JsonValue) -> bool | None:
    return value if isinstance(value, bool) else None


def _flag_of_record(value: JsonValue) -> bool | None:
    """A flag that no rule reads, also one that came as a text or as 0 or 1."""
    return _FLAGS.get(value) if isinstance(value, int | str) else None


def _decision_reasons(value: JsonValue) -> tuple[DecisionReason, ...]:
    items = (it for it in value if isinstance(it, dict)) if isinstance(value, list) else ()
    return tuple(
        DecisionReason(reason, code(item.get("detail")))
        for item in items
        if (reason := code(item.get("reason")))
    )


_Read = Callable[[JsonValue], object]

_AMOUNT: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,9})?", re.ASCII)
_FLAGS: Final = {**dict.fromkeys((1, "1", "true"), True), **dict.fromkeys((0, "0", "false"), False)}

_READERS: Final[Mapping[str, _Read]] = {
    "code": code,
    "text": text_of,
    "name": text_of,
    "anything": text_of,
    "number": _number,
    "flag": _flag_of_record,
    "instant": instants.parse,
    "tax id": tax_id,
}


def _read_seller(record: Mapping[str, JsonValue]) -> SellerRecord:
    fields = {each.name: _read(record, each.name, _READERS[each.kind]) for each in FIELDS}
    return SellerRecord(
        id=_read(record, "id", text_of),
        fields=fields,
        retry=_read(record, "retry", _flag),
        decision_reasons=_decision_reasons(record.get("decision_reasons")),
        document_tax_id=tax_id(record.get("document_number")),
    )


def _read(record: Mapping[str, JsonValue], name: str, read: _Read) -> Any:
    value = record.get(name)
    return None if value is None else read(value)


def _account_holder(account: Mapping[str, JsonValue]) -> str | None:
    """The seller of a bank account event, or None if no key names one.

    The contract does not show this event. It says only that the account is associated "to the
    customer", so this tries the names that the contract uses for a seller elsewhere.
    """
    holder = account.get("customer") or account.get("seller")
    candidates = (account.get("customer_id"), account.get("seller_id"), _id_in(holder))
    return next((it for it in map(platform_id, candidates) if it), None)


def _account_id(account: Mapping[str, JsonValue]) -> str | None:
    """The account that such an event is about: by the id of its object, else by what that names
    as an account, whole or by its id."""
    names = ("bank_account_id", "account_id", "bank_account", "account", "object")
    candidates = (account.get("id"), *(_id_in(account.get(it)) for it in names))
    return next((it for it in map(platform_id, candidates) if it), None)


def _id_in(value: JsonValue) -> JsonValue:
    return value.get("id") if isinstance(value, dict) else value


# --- what is not as the contract shows it ----------------------------------------------------


def _unreadable_parts(
    envelope: Mapping[str, JsonValue], objects: _Objects
) -> Iterator[UnreadablePart]:
    """The parts that the rules read and that are not there as the contract shows them."""
    family = FAMILIES.get(envelope["type"])
    if family is None:
        return
    yield from _odd("id", envelope.get("id"), identifier)
    yield from _odd("created_at", envelope.get("created_at"), instants.parse)
    if objects.review is not None:
        yield from _odd_in_review(objects.review)
    elif objects.seller is not None:
        yield from _odd_in_seller_event(envelope, objects.seller)
    elif objects.account is not None:
        for name in ("customer_id", "seller_id"):
            if objects.account.get(name) is not None:
                yield from _odd(name, objects.account[name], identifier)
                return
    elif family == "seller":
        yield from _odd("record.id", _unread_id(envelope.get("payload")), identifier)


def _unread_id(payload: JsonValue) -> JsonValue:
    """What stands where a seller event without a record has its seller's id; None for nothing."""
    inner = payload.get("object") if isinstance(payload, dict) else None
    ids = (it.get("id") for it in (inner, payload) if isinstance(it, dict))
    return next((it for it in ids if it is not None), None)


def _odd(part: str, value: JsonValue, read: _Read) -> Iterator[UnreadablePart]:
    if value is not None and read(value) is None:
        yield UnreadablePart.of(part, value)


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
    listed = of_code(inner.get("type"))
    if inner.get("requested_fields") == [] and listed is not None and listed.is_partial:
        yield UnreadablePart.of("requested_fields", [])


def _odd_in_seller_event(
    envelope: Mapping[str, JsonValue], record: Mapping[str, JsonValue]
) -> Iterator[UnreadablePart]:
    yield from _odd("record.id", record["id"], identifier)
    yield from _odd("record.created_at", record.get("created_at"), instants.parse)
    yield from _odd("record.status", record.get("status"), code)
    yield from _odd("record.type", record.get("type"), code)
    yield from _odd_tax_ids(record)
    if envelope["type"] != "seller.denied":
        return
    payload = envelope["payload"]
    beside = payload if record is payload.get("object") else payload.get("object")
    for name, read in (("decision_reasons", _whole_reasons), ("retry", _flag)):
        yield from _odd(name, record.get(name), read)
        if isinstance(beside, dict) and beside.get(name) is not None:
            yield UnreadablePart.of(name, beside[name])  # it is not read from there


def _odd_tax_ids(record: Mapping[str, JsonValue]) -> Iterator[UnreadablePart]:
    """Tax ids that came as anything but a text. A number of a document is one where the record has
    no other."""
    *own, document = TAX_IDS
    for name in own:
        yield from _odd(name, record.get(name), _text)
    if not any(is_tax_id_text(tax_id(record.get(name))) for name in own):
        yield from _odd(document, record.get(document), _text)


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _whole_reasons(value: JsonValue) -> tuple[DecisionReason, ...] | None:
    """The reasons, or None where any of them cannot be read to the full."""
    reasons = _decision_reasons(value)
    if not isinstance(value, list) or len(reasons) < len(value):
        return None
    details = (it.get("detail") for it in value)
    return reasons if all(it is None or isinstance(it, str) for it in details) else None
