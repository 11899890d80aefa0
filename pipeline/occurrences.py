"""What the log holds: one occurrence an entry, its canonical leaf, and the NDJSON form of it.

A `Draft` is an occurrence before it is recorded; the inbox gives it a place and makes an `Entry`.
The leaf is what the Merkle tree hashes. It stands for the whole entry, yet holds no value that a
person could be known by: the bytes that came stand beside it, bound by salted commitments, so
that they can be withheld or erased and the tree still verifies (architecture.md, evidence.md).
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import to_json

from pipeline import contract, instants
from pipeline.contract import JsonValue
from pipeline.errors import Unreadable

LEAF_VERSION: Final = 1
SALT_BYTES: Final = 32

# Kinds of entry (rules.md sections 1 and 8).
WEBHOOK: Final = "webhook"
QUARANTINE: Final = "quarantine"  # a delivery that cannot be read; its bytes are kept
REJECTION: Final = "rejection"  # deliveries turned away unread (401, 405, 413, 415), with a count
SUBMISSION_STARTED: Final = "submission_started"
SUBMISSION_FINISHED: Final = "submission_finished"
COLLECTION: Final = "collection"
UNMASK: Final = "unmask"

LIVE: Final = "live"
INGESTED: Final = "ingested"


class Draft(NamedTuple):
    """An occurrence that is to be recorded.

    `body` is kept byte for byte. `particulars` are what we know beside it (how it came in, why it
    was refused): flat JSON, never a personal value, since they go into exports unmasked.
    `ingest_key` makes a line of a file count once. `expected_process_n` lets the draft be
    recorded only while the process has exactly that many entries, so that what was decided from
    them still holds.
    """

    kind: str
    occurred_at: int
    recorded_by: str
    body: bytes | None = None
    particulars: Mapping[str, JsonValue] = MappingProxyType({})
    origin: str = LIVE
    event_id: str | None = None
    attempt_id: str | None = None
    process_id: str | None = None
    seller_id: str | None = None
    status: int | None = None
    ingest_key: bytes | None = None
    expected_process_n: int | None = None


class Place(NamedTuple):
    """Where an entry stands: in the log, in its process's stream and in its seller's."""

    seq: int
    recorded_at: int
    process_n: int | None
    process_prev: int | None
    seller_n: int | None
    seller_prev: int | None
    is_again: bool


class Entry(NamedTuple):
    """One recorded occurrence, column by column as the inbox and the log hold it."""

    seq: int
    kind: str
    occurred_at: int
    recorded_at: int
    origin: str
    recorded_by: str
    event_id: str | None
    attempt_id: str | None
    process_id: str | None
    seller_id: str | None
    status: int | None
    process_n: int | None
    process_prev: int | None
    seller_n: int | None
    seller_prev: int | None
    is_again: bool
    record: bytes | None
    body: bytes | None
    salt: bytes | None
    leaf: bytes
    ingest_key: bytes | None

    @property
    def particulars(self) -> dict[str, JsonValue]:
        """What we know beside the body, without the salt that protects it."""
        known: dict[str, JsonValue] = json.loads(self.record) if self.record else {}
        known.pop("salt", None)
        return known


# --- leaf ------------------------------------------------------------------------------------

_OPAQUE = re.compile(
    r"(?!sha256:|hmac:)"
    r"(?![0-9.+()-]+$)"  # a CPF, a CNPJ or a telephone number, punctuated or not
    r"(?![A-Z0-9]{12}[0-9]{2}$)"  # a CNPJ of letters and digits
    r"[!-.0-?A-~]{1,128}"  # printable ASCII without blank, `/` and `@`
)


def public_name(identifier: str, log_key: bytes) -> str:
    """How an identifier stands in a leaf: as it is, or as an HMAC where it could be personal.

    As it is: printable ASCII that looks like no tax id, telephone number or e-mail. Everything
    else, a digest of a body included, could be guessed from its plain hash.
    """
    if _OPAQUE.fullmatch(identifier):
        return identifier
    return "hmac:" + hmac.new(log_key, identifier.encode("utf-8"), hashlib.sha256).hexdigest()


def commitment(salt: bytes, data: bytes) -> str:
    """`sha256(salt || data)` in hex: binds the data without telling it."""
    return hashlib.sha256(salt + data).hexdigest()


def record_entry(
    draft: Draft, place: Place, *, log: str, log_key: bytes, random: Callable[[int], bytes]
) -> Entry:
    """The entry of a draft at a place, with its leaf. Pure but for `random`, which salts it."""
    salt = random(SALT_BYTES) if draft.body is not None else None
    record = (
        contract.canonical_json({**draft.particulars, "salt": random(SALT_BYTES).hex()})
        if draft.particulars
        else None
    )
    leaf = {  # its keys in order: `to_json` spells them as they stand
        "attempt_id": draft.attempt_id and public_name(draft.attempt_id, log_key),
        "body_commitment": salt and commitment(salt, draft.body or b""),
        "body_size": salt and len(draft.body or b""),
        "event_id": draft.event_id and public_name(draft.event_id, log_key),
        "kind": draft.kind,
        "log": log,
        "occurred_at": instants.canonical(draft.occurred_at),
        "origin": draft.origin,
        "process_n": place.process_n,
        "process_prev": place.process_prev,
        "process_stream": draft.process_id and public_name(draft.process_id, log_key),
        "record_digest": record and hashlib.sha256(record).hexdigest(),
        "recorded_at": instants.canonical(place.recorded_at),
        "recorded_by": draft.recorded_by,
        "seller_n": place.seller_n,
        "seller_prev": place.seller_prev,
        "seller_stream": draft.seller_id and public_name(draft.seller_id, log_key),
        "seq": place.seq,
        "status": draft.status,
        "v": LEAF_VERSION,
    }
    return Entry(
        seq=place.seq,
        kind=draft.kind,
        occurred_at=draft.occurred_at,
        recorded_at=place.recorded_at,
        origin=draft.origin,
        recorded_by=draft.recorded_by,
        event_id=draft.event_id,
        attempt_id=draft.attempt_id,
        process_id=draft.process_id,
        seller_id=draft.seller_id,
        status=draft.status,
        process_n=place.process_n,
        process_prev=place.process_prev,
        seller_n=place.seller_n,
        seller_prev=place.seller_prev,
        is_again=place.is_again,
        record=record,
        body=draft.body,
        salt=salt,
        # As `canonical_json` would spell texts and whole numbers, in a quarter of the time.
        leaf=to_json({key: it for key, it in leaf.items() if it is not None}),
        ingest_key=draft.ingest_key,
    )


# --- deliveries ------------------------------------------------------------------------------


class Delivery(NamedTuple):
    """A delivered body as it came, not read yet."""

    body: bytes
    occurred_at: int
    recorded_by: str

    def draft(self) -> Draft:
        return delivery(self.body, occurred_at=self.occurred_at, recorded_by=self.recorded_by)


def delivery(
    body: bytes,
    *,
    occurred_at: int,
    recorded_by: str,
    particulars: Mapping[str, JsonValue] | None = None,
    origin: str = LIVE,
    ingest_key: bytes | None = None,
) -> Draft:
    """The entry that one delivered body becomes: a webhook, or a quarantined one with its reason.

    Reading the body decides nothing but that (rules.md section 8).
    """
    known = dict(particulars or {})
    try:
        identity = contract.identify(body)
    except Unreadable as unreadable:
        return Draft(
            kind=QUARANTINE,
            occurred_at=occurred_at,
            recorded_by=recorded_by,
            body=body,
            particulars={**known, "reason": unreadable.what},
            origin=origin,
            ingest_key=ingest_key,
        )
    return Draft(
        kind=WEBHOOK,
        occurred_at=occurred_at,
        recorded_by=recorded_by,
        body=body,
        particulars=known,
        origin=origin,
        event_id=identity.event_id,
        process_id=identity.process_id,
        seller_id=identity.seller_id,
        ingest_key=ingest_key,
    )


def replay(quarantined: Entry, *, recorded_by: str) -> Draft | None:
    """The webhook entry of a quarantined body that can be read now, or None while it can't.

    It is recorded once, however often the replay is asked for.
    """
    again = delivery(
        quarantined.body or b"",
        occurred_at=quarantined.occurred_at,
        recorded_by=recorded_by,
        particulars={"replay_of": quarantined.seq},
        origin=quarantined.origin,
        ingest_key=hashlib.sha256(b"replay of %d" % quarantined.seq).digest(),
    )
    return again if again.kind == WEBHOOK else None


# --- NDJSON ----------------------------------------------------------------------------------


def _instant(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("an ISO 8601 text with an offset is expected")  # noqa: TRY004
    instant = instants.parse(value)
    if instant is None or not re.search(r"([Zz]|[+-][0-9:]+)$", value[10:]):
        raise ValueError("it is not ISO 8601 with an offset, such as 2026-03-01T00:00:00Z")
    return instant


def _identifier(value: object) -> str:
    found = contract.identifier(value)
    if found is None:
        raise ValueError(
            f"a non-empty text of at most {contract.MAX_ID_CHARACTERS} characters is expected"
        )
    return found


def _body(value: JsonValue) -> bytes | None:
    """A string is kept byte for byte; an object is a value, and gets its one spelling."""
    if value is None:
        return None
    return value.encode("utf-8") if isinstance(value, str) else contract.canonical_json(value)


OffsetInstant = Annotated[int, BeforeValidator(_instant)]
Identifier = Annotated[str, BeforeValidator(_identifier)]
Body = Annotated[bytes | None, BeforeValidator(_body)]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")
    occurred_at: OffsetInstant


class WebhookLine(_Line):
    kind: Literal["webhook"]
    body: Annotated[bytes, BeforeValidator(_body)]


class SubmissionStartedLine(_Line):
    kind: Literal["submission_started"]
    attempt_id: Identifier
    process_id: Identifier
    seller_id: Identifier | None = None
    marketplace_id: str | None = None
    idempotency_key: str | None = None
    timeout_seconds: float | None = Field(default=None, gt=0, le=86_400)
    body: Body = None


class SubmissionFinishedLine(_Line):
    kind: Literal["submission_finished"]
    attempt_id: Identifier
    process_id: Identifier
    seller_id: Identifier | None = None
    status: int | None = Field(default=None, ge=100, le=999)
    error: str | None = None  # timeout, network_error or refused; anything else says nothing
    body: Body = None


class Artifact(BaseModel):
    """A screen, a flow or a log that shows the collection; its bytes lie in the artifact store."""

    model_config = ConfigDict(frozen=True, extra="allow")
    name: str = Field(min_length=1, max_length=255)
    media_type: str = Field(default="application/octet-stream", max_length=255)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    size_bytes: int | None = Field(default=None, ge=0)


class CollectionLine(_Line):
    """What a seller did in a collection journey (rules.md section 5)."""

    kind: Literal["collection"]
    process_id: Identifier
    seller_id: Identifier
    journey_id: Identifier
    step: Literal["invited", "opened", "answered", "confirmed"]
    channel: Literal["in_app", "web_form", "email", "push", "sms", "chat", "phone"]
    source: str = Field(min_length=1, max_length=64)
    actor: str | None = None
    fields: dict[str, Any] = Field(default_factory=dict)
    artifacts: tuple[Artifact, ...] = ()


class NamedLine(_Line):
    """Our own occurrences that change no state: overrides, replacements, notes and the like."""

    kind: Literal["override", "replacement", "note", "alert", "assignment"]
    process_id: Identifier | None = None
    seller_id: Identifier | None = None
    attempt_id: Identifier | None = None


Line = Annotated[
    WebhookLine | SubmissionStartedLine | SubmissionFinishedLine | CollectionLine | NamedLine,
    Field(discriminator="kind"),
]
_LINE: TypeAdapter[Line] = TypeAdapter(Line)


KeepArtifact = Callable[[Mapping[str, JsonValue]], Mapping[str, JsonValue]]
"""Makes sure of an artifact's bytes: what a collection names -> what its entry says of it.

Raises `Unreadable` where there are no such bytes."""


def read_line(line: bytes, *, recorded_by: str, keep: KeepArtifact | None = None) -> Draft:
    """The draft of one NDJSON line; raises `Unreadable` with every reason why it is none."""
    value, occurrence = _validated(contract.parse_json(line))
    if isinstance(occurrence, CollectionLine) and keep is not None:
        value = _with_artifacts(value, keep)
    key = _ingest_key(occurrence, value)
    if isinstance(occurrence, WebhookLine):
        return delivery(
            occurrence.body,
            occurred_at=occurrence.occurred_at,
            recorded_by=recorded_by,
            origin=INGESTED,
            ingest_key=key,
        )
    return _ingested(occurrence, value, recorded_by, key)


def read_collection(value: JsonValue, *, recorded_by: str, keep: KeepArtifact) -> Draft:
    """The draft of a collection that is told as it happens; raises `Unreadable`.

    Told again, because its teller heard no answer, it counts once, like a line of a file.
    """
    if isinstance(value, dict) and "kind" not in value:
        value = {"kind": COLLECTION, **value}
    value, occurrence = _validated(value)
    if not isinstance(occurrence, CollectionLine):
        raise Unreadable(f"kind: {COLLECTION} is expected")
    value = _with_artifacts(value, keep)
    return Draft(
        kind=COLLECTION,
        occurred_at=occurrence.occurred_at,
        recorded_by=recorded_by,
        body=content_bytes(value),
        process_id=occurrence.process_id,
        seller_id=occurrence.seller_id,
        ingest_key=_ingest_key(occurrence, value),
    )


def _validated(value: JsonValue) -> tuple[dict[str, JsonValue], Line]:
    if not isinstance(value, dict):
        raise Unreadable("not a JSON object")
    try:
        return value, _LINE.validate_python(value)
    except ValidationError as error:
        raise Unreadable("; ".join(_explain(it) for it in error.errors())) from None


def _with_artifacts(value: dict[str, JsonValue], keep: KeepArtifact) -> dict[str, JsonValue]:
    """The bytes come first: an entry never names an artifact that is not kept."""
    if not value.get("artifacts"):
        return value
    kept = []
    for number, artifact in enumerate(value["artifacts"]):
        try:
            kept.append(dict(keep(artifact)))
        except Unreadable as unreadable:
            raise Unreadable(f"artifacts.{number}: {unreadable.what}") from None
    return {**value, "artifacts": kept}


def _ingested(
    occurrence: SubmissionStartedLine | SubmissionFinishedLine | CollectionLine | NamedLine,
    value: dict[str, JsonValue],
    recorded_by: str,
    key: bytes,
) -> Draft:
    particulars: dict[str, JsonValue] = {}
    status: int | None = None
    attempt_id: str | None = None
    match occurrence:
        case SubmissionStartedLine():
            particulars = {
                "via": INGESTED,  # whatever sent it, we shall never send it again
                "marketplace_id": occurrence.marketplace_id,
                "idempotency_key": occurrence.idempotency_key,
                "timeout_seconds": occurrence.timeout_seconds,
            }
            attempt_id, body = occurrence.attempt_id, occurrence.body
        case SubmissionFinishedLine():
            particulars = {"error": occurrence.error}
            attempt_id, body, status = occurrence.attempt_id, occurrence.body, occurrence.status
        case CollectionLine():
            body = content_bytes(value)
        case NamedLine():
            attempt_id = occurrence.attempt_id
            body = content_bytes(value)
    return Draft(
        kind=occurrence.kind,
        occurred_at=occurrence.occurred_at,
        recorded_by=recorded_by,
        body=body,
        particulars={name: it for name, it in particulars.items() if it is not None},
        origin=INGESTED,
        attempt_id=attempt_id,
        process_id=occurrence.process_id,
        seller_id=occurrence.seller_id,
        status=status,
        ingest_key=key,
    )


_PLACED = frozenset({"kind", "occurred_at", "process_id", "seller_id", "attempt_id"})


def content_bytes(value: Mapping[str, JsonValue]) -> bytes:
    """The content of an occurrence that came as a value, without what its columns say already."""
    return contract.canonical_json({key: it for key, it in value.items() if key not in _PLACED})


def _ingest_key(occurrence: Line, value: Mapping[str, JsonValue]) -> bytes:
    """Equal for lines equal in kind, instant and content, however they are spelled."""
    content = {**value, "occurred_at": instants.canonical(occurrence.occurred_at)}
    if "body" in value and (body := _body(value["body"])) is not None:
        content["body"] = body.decode("utf-8")
    return hashlib.sha256(contract.canonical_json(content)).digest()


def _explain(error: Any) -> str:
    """One line of a pydantic error, without echoing the value: it may be personal."""
    place = error["loc"][1:]  # the first is the kind, which chose the model
    where = ".".join(str(part) for part in place)
    message = error["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
