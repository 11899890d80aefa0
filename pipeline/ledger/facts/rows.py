"""The facts of the ledger: one NamedTuple for each table of facts, with its columns.

`TABLES` names the table of each, and `schema` makes them. A field that may be None is a column that
may be null.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, get_args, get_type_hints

from pipeline.contract.seller_record import FIELDS
from pipeline.ledger.views.catalogue import script

Instant: TypeAlias = Annotated[int, "timestamp"]
"""In microseconds; every TIMESTAMP is UTC."""
Status: TypeAlias = Annotated[int, "integer"]
"""Of an answer over HTTP."""


class Webhook(NamedTuple):
    """One delivery that could be read."""

    seq: int
    event_id: str
    event_type: str
    created_at: Instant | None
    occurred_at: Instant
    recorded_at: Instant
    origin: str
    is_again: bool
    has_id: bool
    is_shape_known: bool
    replay_of: int | None
    content_sha256: bytes  # of its JSON value, however it is spelled


class UnreadablePart(NamedTuple):
    """One part of an event that is not as the contract shows it, with the JSON that came, cut."""

    seq: int
    event_id: str
    occurred_at: Instant
    process_id: str | None
    seller_id: str | None
    part: str
    found: str


class ReviewFact(NamedTuple):
    """What a review event says; None where it is absent or cannot be read."""

    seq: int
    event_id: str
    occurred_at: Instant
    created_at: Instant
    process_id: str
    seller_id: str | None
    object_type: str | None
    status: str | None
    deadline_at: Instant | None
    requested_fields: tuple[str, ...] | None
    content_sha256: bytes
    origin: str


_FIELD_TYPES: Final[Mapping[str, Any]] = {"number": float, "flag": bool, "instant": Instant}
"""Of the seller's record; all others are texts."""

_namedtuple: Any = NamedTuple  # mypy takes no fields but those that are spelled out
_SellerEvent: Any = _namedtuple(
    "_SellerEvent",
    [
        ("seq", int),
        ("event_id", str),
        ("event_type", str),
        ("occurred_at", Instant),
        ("created_at", Instant),
        ("seller_id", str),
        *((each.column, _FIELD_TYPES.get(each.kind, str) | None) for each in FIELDS),
        ("taxpayer_key", bytes | None),
        ("ein_key", bytes | None),
        ("document_key", bytes | None),
        ("retry", bool | None),
        ("reasons", str),
    ],
)


class SellerEvent(_SellerEvent):  # type: ignore[misc]
    """One event of a seller, with the record that it carries.

    Personal columns are masked by the views, or here already in a ledger that follows without
    bodies. The keys join tax ids without showing them. `reasons` are sorted distinct pairs as JSON:
    text is grouped faster than a list.
    """

    __slots__ = ()


class BankAccountEvent(NamedTuple):
    """One event of a bank account."""

    seq: int
    event_id: str
    event_type: str
    occurred_at: Instant
    created_at: Instant
    seller_id: str | None
    bank_account_id: str | None


class AttemptStart(NamedTuple):
    """The start of one submission attempt."""

    seq: int
    attempt_id: str
    process_id: str
    seller_id: str | None
    occurred_at: Instant
    is_again: bool
    via: str | None
    marketplace_id: str | None
    idempotency_key: str | None
    timeout_seconds: float | None
    payload_type: str | None
    is_object: bool
    body_size: int | None
    body_sha256: bytes
    content_sha256: bytes


class AttemptFinish(NamedTuple):
    """The end of one submission attempt."""

    seq: int
    attempt_id: str
    process_id: str
    seller_id: str | None
    occurred_at: Instant
    is_again: bool
    status: Status | None
    error: str | None
    retry_after_at: Instant | None
    origin: str
    content_sha256: bytes


class SentField(NamedTuple):
    """One field of a payload that an attempt sent. Its value stands as a keyed digest: enough to
    say whether two are the same, not what they are."""

    seq: int
    attempt_id: str
    process_id: str
    path: str
    is_null: bool
    value_key: bytes


class Collection(NamedTuple):
    """One step of a seller in a journey."""

    seq: int
    process_id: str
    seller_id: str
    occurred_at: Instant
    recorded_at: Instant
    journey_id: str
    step: str
    channel: str
    source: str
    actor: str | None
    is_link: bool  # the making of a link of ours, which invites nobody by itself
    paths: tuple[str, ...]  # of the fields answered, in order
    artifacts: int
    body_sha256: bytes


class AnsweredField(NamedTuple):
    """One field that a collection answers."""

    seq: int
    process_id: str
    path: str
    value_key: bytes


class Artifact(NamedTuple):
    """One artifact that a collection names."""

    seq: int
    process_id: str
    journey_id: str
    step: str
    name: str
    media_type: str
    sha256: str | None
    size_bytes: int | None


class Notice(NamedTuple):
    """One message to a seller about one process, or one call or letter."""

    seq: int
    message_id: str
    process_id: str
    seller_id: str | None
    occurred_at: Instant
    recorded_at: Instant
    origin: str
    channel: str
    outcome: str | None  # of a call
    rung: str | None  # of the schedule; None by hand
    template: str | None
    language: str | None
    promised_for: str | None
    actor: str | None
    content_sha256: bytes


class NoticeResult(NamedTuple):
    """What is said of a message afterwards; without a process, for each that it names."""

    seq: int
    message_id: str
    process_id: str | None
    occurred_at: Instant
    recorded_at: Instant
    origin: str
    result: str  # as reported, or `retracted`
    is_refused: bool  # the service will never take it
    content_sha256: bytes


class Quarantined(NamedTuple):
    """One delivery that could not be read; its bytes are in the log."""

    seq: int
    occurred_at: Instant
    recorded_at: Instant
    origin: str
    reason: str
    size_bytes: int


class Rejection(NamedTuple):
    """Deliveries that were turned away unread, at most one row per minute and reason."""

    seq: int
    occurred_at: Instant
    status: Status
    reason: str
    deliveries: int


class Action(NamedTuple):
    """What a person did, such as an override or an export, with reason and name."""

    seq: int
    kind: str
    occurred_at: Instant
    process_id: str | None
    seller_id: str | None
    attempt_id: str | None
    actor: str | None
    reason: str | None
    step: str | None  # of a ticket, an alert or a calendar: which
    content: str | None
    body_sha256: bytes
    origin: str


Fact = (
    Webhook
    | UnreadablePart
    | ReviewFact
    | SellerEvent
    | BankAccountEvent
    | AttemptStart
    | AttemptFinish
    | SentField
    | Collection
    | AnsweredField
    | Artifact
    | Notice
    | NoticeResult
    | Quarantined
    | Rejection
    | Action
)

TABLES: Final[dict[type[Fact], str]] = {
    Webhook: "fact_webhooks",
    UnreadablePart: "fact_unreadable_parts",
    ReviewFact: "fact_reviews",
    SellerEvent: "fact_seller_events",
    BankAccountEvent: "fact_bank_account_events",
    AttemptStart: "fact_attempt_starts",
    AttemptFinish: "fact_attempt_finishes",
    SentField: "fact_sent_fields",
    Collection: "fact_collections",
    AnsweredField: "fact_answered_fields",
    Artifact: "fact_artifacts",
    Notice: "fact_notices",
    NoticeResult: "fact_notice_results",
    Quarantined: "fact_quarantined",
    Rejection: "fact_rejections",
    Action: "fact_actions",
}


def recorded_name(table: str) -> str:
    """How the log and packages name a table of facts: what they hold outlasts a ledger's names."""
    return table.replace("fact_", "facts.", 1)


_SQL_TYPES: Final[Mapping[Any, str]] = {
    bool: "boolean",
    bytes: "blob",
    float: "double",
    int: "bigint",
    str: "varchar",
    tuple[str, ...]: "varchar[]",
    **{each: get_args(each)[1] for each in (Instant, Status)},
}


def schema() -> str:
    """The statements that make the ledger's tables, but for those with kept rows of views."""
    return f"{script('schema')}\n{_definitions()}"


@cache
def _definitions() -> str:
    return "\n".join(map(_definition, TABLES))


def _definition(fact: type[Fact]) -> str:
    hints = get_type_hints(fact, include_extras=True)
    columns = ", ".join(f"{name} {_sql_type(hints[name])}" for name in fact._fields)
    return f"create table if not exists {TABLES[fact]} ({columns});"


def _sql_type(of: Any) -> str:
    """The type of a column, with whether it may be null."""
    if of in _SQL_TYPES:
        return f"{_SQL_TYPES[of]} not null"
    return next(_SQL_TYPES[each] for each in get_args(of) if each is not type(None))
