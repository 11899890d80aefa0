"""The facts of the ledger: one NamedTuple for each table of facts in `queries/schema.sql`.

`TABLES` names the table of each; fields and columns are matched by position.
"""

from typing import Final, NamedTuple


class Webhook(NamedTuple):
    """One delivery that could be read."""

    seq: int
    event_id: str
    event_type: str
    created_at: int | None
    occurred_at: int
    recorded_at: int
    origin: str
    is_again: bool
    has_id: bool
    is_shape_known: bool
    replay_of: int | None
    content_sha256: bytes


class UnreadablePart(NamedTuple):
    """One part of an event that could not be read, and what stood there."""

    seq: int
    event_id: str
    occurred_at: int
    process_id: str | None
    seller_id: str | None
    part: str
    found: str


class ReviewFact(NamedTuple):
    """One review event."""

    seq: int
    event_id: str
    occurred_at: int
    created_at: int
    process_id: str
    seller_id: str | None
    object_type: str | None
    status: str | None
    deadline_at: int | None
    requested_fields: tuple[str, ...] | None
    content_sha256: bytes


class SellerEvent(NamedTuple):
    """One event of a seller, with the record that it carries."""

    seq: int
    event_id: str
    event_type: str
    occurred_at: int
    created_at: int
    seller_id: str
    status: str | None
    resource: str | None
    account_balance: float | None
    current_balance: float | None
    first_name: str | None
    last_name: str | None
    email: str | None
    taxpayer_id: str | None
    taxpayer_key: bytes | None
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
    record_created_at: int | None
    record_updated_at: int | None
    revenue: float | None
    type: str | None
    document_number: str | None
    document_key: bytes | None
    ein: str | None
    ein_key: bytes | None
    business_name: str | None
    business_email: str | None
    business_phone: str | None
    business_address: str | None
    business_owner: str | None
    retry: bool | None
    reasons: str


class BankAccountEvent(NamedTuple):
    """One event of a bank account."""

    seq: int
    event_id: str
    event_type: str
    occurred_at: int
    created_at: int
    seller_id: str | None
    bank_account_id: str | None


class AttemptStart(NamedTuple):
    """The start of one submission attempt."""

    seq: int
    attempt_id: str
    process_id: str
    seller_id: str | None
    occurred_at: int
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
    occurred_at: int
    is_again: bool
    status: int | None
    error: str | None
    retry_after_at: int | None
    origin: str
    content_sha256: bytes


class SentField(NamedTuple):
    """One field of a payload that an attempt sent."""

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
    occurred_at: int
    recorded_at: int
    journey_id: str
    step: str
    channel: str
    source: str
    actor: str | None
    paths: tuple[str, ...]  # of the fields answered
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


class Quarantined(NamedTuple):
    """One delivery that could not be read."""

    seq: int
    occurred_at: int
    recorded_at: int
    origin: str
    reason: str
    size_bytes: int


class Rejection(NamedTuple):
    """Deliveries of one kind that were turned away in one interval."""

    seq: int
    occurred_at: int
    status: int
    reason: str
    deliveries: int


class Action(NamedTuple):
    """One action of a person."""

    seq: int
    kind: str
    occurred_at: int
    process_id: str | None
    seller_id: str | None
    attempt_id: str | None
    actor: str | None
    reason: str | None
    step: str | None
    content: str | None
    body_sha256: bytes


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
    | Quarantined
    | Rejection
    | Action
)

TABLES: Final[dict[type[Fact], str]] = {
    Webhook: "facts.webhooks",
    UnreadablePart: "facts.unreadable_parts",
    ReviewFact: "facts.reviews",
    SellerEvent: "facts.seller_events",
    BankAccountEvent: "facts.bank_account_events",
    AttemptStart: "facts.attempt_starts",
    AttemptFinish: "facts.attempt_finishes",
    SentField: "facts.sent_fields",
    Collection: "facts.collections",
    AnsweredField: "facts.answered_fields",
    Artifact: "facts.artifacts",
    Quarantined: "facts.quarantined",
    Rejection: "facts.rejections",
    Action: "facts.actions",
}
