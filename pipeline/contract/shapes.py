"""Reads events in the shape that the contract shows, by types that compiled code checks.

Nearly all events have it. Of any other this gives None, and `events.py` reads it part by part: so a
type here may ask for more than the rules do, and must never take what they read otherwise. No I/O.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct, ValidationError, convert, defstruct
from msgspec.structs import asdict

from pipeline import instants
from pipeline.contract.body import MAX_ID_CHARACTERS, JsonValue
from pipeline.contract.event_types import FAMILIES, Family
from pipeline.contract.readings import (
    DecisionReason,
    Event,
    Identity,
    Review,
    SellerRecord,
    text_of,
)
from pipeline.contract.seller_record import FIELDS

_Identifier: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_ID_CHARACTERS)]
_Code: TypeAlias = Annotated[str, Meta(min_length=1)]


class _Review(Struct):
    process_id: _Identifier
    customer_id: _Identifier
    type: _Code
    status: _Code
    deadline_at: str
    requested_fields: Annotated[tuple[str, ...], Meta(min_length=1)]


class _Reason(Struct):
    reason: _Code
    detail: str | None = None


_KINDS_OF_FIELDS: Final[Mapping[str, Any]] = {
    "code": _Code | None,
    "text": str | None,
    "name": str | None,
    "anything": Any,
    "number": float | None,
    "flag": bool | None,
    "instant": str | None,
    "tax id": str | None,
}

_Seller: Any = defstruct(
    "_Seller",
    [
        ("id", _Identifier),
        *((each.name, _KINDS_OF_FIELDS[each.kind], None) for each in FIELDS),
        ("retry", bool | None, None),
        ("decision_reasons", tuple[_Reason, ...], ()),
    ],
    kw_only=True,
)


class _ReviewPayload(Struct):
    object: _Review


class _SellerPayload(Struct):
    """A denial's reasons are read of the record alone, and reported where they stand beside it."""

    object: _Seller
    decision_reasons: None = None
    retry: None = None


class _ReviewEvent(Struct):
    id: _Identifier
    created_at: str
    payload: _ReviewPayload


class _SellerEvent(Struct):
    id: _Identifier
    created_at: str
    payload: _SellerPayload


_KINDS: Final[Mapping[Family, type[_ReviewEvent | _SellerEvent]]] = {
    "review": _ReviewEvent,
    "seller": _SellerEvent,
}
_KIND_OF: Final = {code: _KINDS[family] for code, family in FAMILIES.items() if family in _KINDS}


def identify(envelope: Mapping[str, JsonValue]) -> Identity | None:
    """Under which ids an event is recorded; None where it has another shape."""
    shown = _shown(envelope)
    if shown is None:
        return None
    if isinstance(about := shown.payload.object, _Review):
        return Identity(shown.id, about.process_id, about.customer_id)
    return Identity(shown.id, None, about.id)


def read_event(envelope: Mapping[str, JsonValue], content_sha256: bytes) -> Event | None:
    """The event, where all of it is as the contract shows it, so that no part is unreadable; None
    where it has another shape. `content_sha256`: of the envelope."""
    shown = _shown(envelope)
    if shown is None or (created_at := instants.parse(shown.created_at)) is None:
        return None
    review = seller = None
    if isinstance(about := shown.payload.object, _Review):
        review, seller_id = _read_review(about), about.customer_id
    else:
        seller, seller_id = _read_seller(about), about.id
    if review is None and seller is None:
        return None
    bank_account_id, unreadable = None, ()
    return Event(  # by position, here and below: by name it takes twice as long
        shown.id,
        True,
        envelope["type"],
        created_at,
        review,
        seller,
        seller_id,
        bank_account_id,
        content_sha256,
        unreadable,
    )


def _shown(envelope: Mapping[str, JsonValue]) -> _ReviewEvent | _SellerEvent | None:
    kind = _KIND_OF.get(envelope["type"])
    if kind is None:
        return None
    try:
        shown = convert(envelope, kind)
    except ValidationError:
        return None
    about = shown.payload.object
    ids = about.process_id + about.customer_id if isinstance(about, _Review) else about.id
    return None if "\0" in shown.id + ids else shown


def _read_review(shown: _Review) -> Review | None:
    deadline_at = instants.parse(shown.deadline_at)
    if deadline_at is None:
        return None
    return Review(
        shown.process_id,
        shown.customer_id,
        shown.type,
        shown.status,
        deadline_at,
        shown.requested_fields,
    )


def _read_seller(shown: _Seller) -> SellerRecord | None:
    said = asdict(shown)
    for name, read in _READ_AFTERWARDS:
        said[name] = read(said[name])
    record = SellerRecord(
        said.pop("id"),
        said,
        said.pop("retry"),
        _reasons(said.pop("decision_reasons")),
        shown.document_number,
    )
    is_read = said["created_at"] is not None or shown.created_at is None
    return record if is_read else None


def _reasons(shown: Sequence[_Reason]) -> tuple[DecisionReason, ...]:
    return tuple([DecisionReason(it.reason, it.detail or None) for it in shown])


_READERS: Final[Mapping[str, Callable[[Any], object]]] = {
    "anything": text_of,
    "instant": instants.parse,
}
_READ_AFTERWARDS: Final = tuple(
    (each.name, _READERS[each.kind]) for each in FIELDS if each.kind in _READERS
)
"""Of a seller's record, what compiled code leaves as it came."""
