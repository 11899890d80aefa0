"""What an event says once it is read, and what reads single values of it. No I/O."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self

from pipeline.contract.body import JsonValue, canonical_form, canonical_json, identifier

MISSING: Final = "missing"

SHOWN_CHARACTERS: Final = 100
"""Of the JSON that came in place of a readable part."""


class DecisionReason(NamedTuple):
    """Why a seller was denied. A missing, null or empty detail is None (docs/rules.md#denials)."""

    reason: str
    detail: str | None


class SellerRecord(NamedTuple):
    """The contract's seller record, and what records of businesses carry beside
    (docs/contract.md#seller-record).

    A field that is missing or null is None. Instants are in microseconds.
    """

    id: str | None
    fields: Mapping[str, Any]  # each of `seller_record.FIELDS`, by its name
    retry: bool | None
    decision_reasons: tuple[DecisionReason, ...]
    document_tax_id: str | None  # `document_number`, as far as it can stand for a tax id


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


def text_of(value: JsonValue) -> str | None:
    """A text field of a record. A value that is not a text becomes its canonical JSON."""
    if value is None or isinstance(value, str):
        return value
    return canonical_form(value).decode("utf-8")


TAX_IDS: Final = ("taxpayer_id", "ein", "document_number")
"""Where a record has its seller's tax id: the first of them that is one (docs/rules.md#tax-ids)."""


_EXACT: Final = 2.0**53
"""Up to it a number with a fraction or an exponent has all the digits that it came with."""


def tax_id(value: JsonValue) -> str | None:
    """A tax id as it came: a text, or a whole number, which is read as its digits with the zeros
    that a number loses: a CPF has 11, a CNPJ 14. However it is written: 52998224725.0 and
    5.2998224725E10 are whole. None for anything else, which would make one person of all who sent
    the like."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and value <= _EXACT:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return None
    digits = str(value)
    return digits.zfill(11 if len(digits) <= 11 else 14)


def is_tax_id_text(value: JsonValue) -> bool:
    """Whether a text has any of what tax ids are compared by: letters A to Z, and digits."""
    return isinstance(value, str) and any(it.isascii() and it.isalnum() for it in value)


def code(value: JsonValue) -> str | None:
    """A code such as a status or a reason; None for anything but a non-empty text."""
    return value if isinstance(value, str) and value else None


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
