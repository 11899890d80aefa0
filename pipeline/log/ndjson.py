"""Turns occurrences written as NDJSON, one JSON object on each line, into drafts."""

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    GetPydanticSchema,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import core_schema

from pipeline import instants
from pipeline.contract.body import (
    MAX_ID_CHARACTERS,
    JsonValue,
    canonical_json,
    identifier,
    parse_json,
)
from pipeline.errors import Unreadable
from pipeline.log.artifacts import KEPT, KeepArtifact
from pipeline.log.deliveries import delivery
from pipeline.log.entries import INGESTED, LIVE, MOST_BYTES, Draft, public
from pipeline.log.kinds import alert, collection, kinds
from pipeline.log.kinds.alert import ALERT
from pipeline.log.kinds.collection import COLLECTION, Channel
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE
from pipeline.log.kinds.retraction import RETRACTION
from pipeline.log.kinds.seller_notice import OF_OURS, SELLER_NOTICE, CallOutcome, SellerChannel
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT, NoticeResult
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.texts import for_anybody

_READ_BY_FORM: Final = frozenset(
    {
        WEBHOOK,
        SUBMISSION_STARTED,
        SUBMISSION_FINISHED,
        COLLECTION,
        ALERT,
        SELLER_NOTICE,
        NOTICE_SCHEDULE,
        SELLER_NOTICE_RESULT,
        RETRACTION,
    }
)
"""Kinds whose lines have a form of their own."""


def _instant(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("an ISO 8601 text with an offset is expected")  # noqa: TRY004
    instant = instants.parse(value)
    if instant is None or not re.search(r"([Zz]|[+-][0-9:]+)$", value[10:]):
        raise ValueError("it is not ISO 8601 with an offset, such as 2026-03-01T00:00:00Z")
    return instant


def _identifier(value: object) -> str:
    text = identifier(value)
    if text is None:
        raise ValueError(f"a non-empty text of at most {MAX_ID_CHARACTERS} characters is expected")
    return text


def _body(value: JsonValue) -> bytes | None:
    """The bytes of a body: a string's own UTF-8 bytes, or the canonical JSON of any other value."""
    if value is None:
        return None
    return value.encode("utf-8") if isinstance(value, str) else canonical_json(value)


def _event_body(value: JsonValue) -> bytes:
    body = _body(value)
    if body is None:
        raise ValueError("an event is expected, as an object or a text")
    return body


def _one_of(*codes: str) -> GetPydanticSchema:
    """What takes these texts and no others."""
    return GetPydanticSchema(lambda *_: core_schema.literal_schema([*codes]))


OffsetInstant = Annotated[int, BeforeValidator(_instant)]

Identifier = Annotated[str, BeforeValidator(_identifier)]

Body = Annotated[bytes | None, BeforeValidator(_body)]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")
    occurred_at: OffsetInstant


class WebhookLine(_Line):
    """A delivery of the platform that another system received."""

    kind: Annotated[str, _one_of(WEBHOOK)]
    body: Annotated[bytes, BeforeValidator(_event_body)]


class SubmissionStartedLine(_Line):
    """An attempt that another system was about to send."""

    kind: Annotated[str, _one_of(SUBMISSION_STARTED)]
    attempt_id: Identifier
    process_id: Identifier
    seller_id: Identifier | None = None
    marketplace_id: str | None = None
    idempotency_key: str | None = None
    timeout_seconds: float | None = Field(default=None, gt=0, le=86_400)
    body: Body = None


class SubmissionFinishedLine(_Line):
    """The outcome of an attempt that another system sent."""

    kind: Annotated[str, _one_of(SUBMISSION_FINISHED)]
    attempt_id: Identifier
    process_id: Identifier
    seller_id: Identifier | None = None
    status: int | None = Field(default=None, strict=True, ge=100, le=999)
    error: str | None = None  # timeout, tls_refused, network_error, refused; else nothing
    body: Body = None


class Artifact(BaseModel):
    """A screen, a flow or a log that shows the collection; its bytes are in the artifact store."""

    model_config = ConfigDict(frozen=True, extra="allow")
    name: str = Field(min_length=1, max_length=255)
    media_type: str = Field(default="application/octet-stream", max_length=255)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    size_bytes: int | None = Field(default=None, strict=True, ge=0, le=MOST_BYTES)


class CollectionLine(_Line):
    """What a seller did in a collection journey (docs/rules.md#collection-evidence)."""

    kind: Annotated[str, _one_of(COLLECTION)]
    process_id: Identifier
    seller_id: Identifier
    journey_id: Identifier
    step: Annotated[str, _one_of(*collection.KIND.steps)]
    channel: Channel
    source: str = Field(min_length=1, max_length=64)
    actor: str | None = None
    fields: dict[str, Any] = Field(default_factory=dict)
    artifacts: Annotated[tuple[Artifact, ...], FailFast()] = ()
    """Of many that are none the first is named: an answer would be forty times what was sent."""


class NamedLine(_Line):
    """An occurrence of ours that changes no state: an override, a replacement or a note, say."""

    kind: Annotated[
        str,
        _one_of(*(it for it, of in kinds().items() if of.is_in_files and it not in _READ_BY_FORM)),
    ]
    process_id: Identifier | None = None
    seller_id: Identifier | None = None
    attempt_id: Identifier | None = None


class AlertLine(NamedLine):
    """A step of an alert, as another log has it: what is said of each step is there
    (docs/alerts.md#what-is-recorded)."""

    kind: Annotated[str, _one_of(ALERT)]
    alert: Identifier
    step: Annotated[str, _one_of(*alert.KIND.steps)]
    about: str | None = Field(default=None, min_length=1)  # its kind
    since: OffsetInstant | None = None
    until: OffsetInstant | None = None
    of: str | None = None
    at: OffsetInstant | None = None
    actor: str | None = Field(default=None, min_length=1)
    to: str | None = None  # empty where there was nobody to tell
    via: str | None = None
    level: int | None = Field(default=None, ge=0, strict=True)

    @model_validator(mode="after")
    def _says_what_its_step_needs(self) -> Self:
        lacking = [it for it in _SAID_OF_A_STEP.get(self.step, ()) if getattr(self, it) is None]
        if lacking:
            raise ValueError(f"an alert that was {self.step} needs {', '.join(lacking)}")
        return self


class SellerNoticeLine(NamedLine):
    """A message to a seller about a process, or a call or letter (docs/rules.md#seller-notices)."""

    kind: Annotated[str, _one_of(SELLER_NOTICE)]
    message_id: Identifier
    process_id: Identifier
    channel: SellerChannel
    outcome: CallOutcome | None = None
    promised_for: str | None = Field(default=None, max_length=64)
    actor: str | None = Field(default=None, max_length=255)
    rung: str | None = Field(default=None, max_length=64)
    artifacts: Annotated[tuple[Artifact, ...], FailFast()] = ()
    journey_id: Identifier | None = None
    template: str | None = Field(default=None, max_length=255)
    language: str | None = Field(default=None, max_length=35)


class NoticeScheduleLine(NamedLine):
    """A step of the schedule of seller notices; that of a message sent again names its words."""

    kind: Annotated[str, _one_of(NOTICE_SCHEDULE)]
    artifacts: Annotated[tuple[Artifact, ...], FailFast()] = ()


class SellerNoticeResultLine(NamedLine):
    """What became of a message; without a process, for all of them that it names."""

    kind: Annotated[str, _one_of(SELLER_NOTICE_RESULT)]
    message_id: Identifier
    result: NoticeResult


class RetractionLine(NamedLine):
    """A call or letter that was recorded by mistake."""

    kind: Annotated[str, _one_of(RETRACTION)]
    message_id: Identifier


_SAID_OF_A_STEP: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("tried", "sent", "failed", "undelivered"), ("to", "via")),
    "snoozed": ("until",),
    "taken_back": ("of", "at"),
}

Line = Annotated[
    WebhookLine
    | SubmissionStartedLine
    | SubmissionFinishedLine
    | CollectionLine
    | AlertLine
    | SellerNoticeLine
    | NoticeScheduleLine
    | SellerNoticeResultLine
    | RetractionLine
    | NamedLine,
    Field(discriminator="kind"),
]

_LINE: TypeAdapter[Line] = TypeAdapter(Line)


def read_line(line: bytes, *, recorded_by: str, keep: KeepArtifact | None = None) -> Draft:
    """The draft of one NDJSON line; raises `Unreadable` with every fault of the line,
    of its artifacts with those of the first that has any.

    `keep`: stores the artifacts that a collection names; without it they are recorded unchecked.
    """
    return _read(parse_json(line), recorded_by, keep)


def read_event_line(line: bytes, recorded_by: str) -> Draft:
    """The draft of an event that stands on a line exactly as the platform sent it.

    A file does not say when an event was received, so its `created_at` is taken for that.
    Raises `Unreadable` if it has no readable one: an instant is never made up.
    """
    body = line.rstrip(b"\r\n")
    event = parse_json(body)
    created_at = instants.parse(event.get("created_at")) if isinstance(event, dict) else None
    if created_at is None:
        if list_in(event) is not None:
            raise Unreadable("a list of events, where each line is to be one")
        raise Unreadable(
            "nothing says when this event was received: it has no readable created_at;"
            " wrap it in an occurrence with an occurred_at"
        )
    occurrence = {
        "kind": WEBHOOK,
        "occurred_at": instants.canonical(created_at),
        "body": body.decode("utf-8"),
    }
    return _read(occurrence, recorded_by, None)


def list_in(value: JsonValue) -> str | None:
    """The key under which a value holds a list, as the platform's own list of events does; "" where
    it is one itself, None for anything else."""
    if isinstance(value, list):
        return ""
    if not isinstance(value, dict) or "type" in value:
        return None
    return next((it for it in ("items", "data") if isinstance(value.get(it), list)), None)


def _read(value: JsonValue, recorded_by: str, keep: KeepArtifact | None) -> Draft:
    value, occurrence = _validated(value)
    names = CollectionLine | SellerNoticeLine | NoticeScheduleLine
    if isinstance(occurrence, names) and keep is not None:
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
    """The draft of a collection that is reported as it happens; raises `Unreadable`.

    If the reporter hears no answer and reports it again, it counts once, like a line of a file.
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


def read_notice(value: JsonValue, *, recorded_by: str) -> Draft:
    """The draft of a seller notice, of what became of one, or of a retraction, reported as it
    happens; raises `Unreadable`. Reported again, it counts once, like a line of a file."""
    value, occurrence = _validated(value)
    if not isinstance(occurrence, SellerNoticeLine | SellerNoticeResultLine | RetractionLine):
        raise Unreadable(
            f"kind: {SELLER_NOTICE}, {SELLER_NOTICE_RESULT} or {RETRACTION} is expected"
        )
    if ours := sorted(OF_OURS.intersection(value)):
        raise Unreadable(f"{ours[0]}: only messages that Prazo sends have it")
    drafted = _ingested(occurrence, value, recorded_by, _ingest_key(occurrence, value))
    return drafted._replace(origin=LIVE)


def _validated(value: JsonValue) -> tuple[dict[str, JsonValue], Line]:
    if not isinstance(value, dict):
        raise Unreadable("not a JSON object")
    try:
        return value, _LINE.validate_python(value)
    except ValidationError as error:
        why = "; ".join(_explain(it) for it in error.errors())
    raise Unreadable(why)


def _with_artifacts(value: dict[str, JsonValue], keep: KeepArtifact) -> dict[str, JsonValue]:
    """Stores the artifacts first: an entry never names bytes of ours before they are in the store,
    and says of others that another system keeps them."""
    if not value.get("artifacts"):
        return value
    kept = []
    for number, artifact in enumerate(value["artifacts"]):
        try:
            # Only `keep` can tell who has the bytes.
            unsaid = {name: it for name, it in artifact.items() if name != KEPT}
            kept.append(dict(keep(unsaid)))
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
    actor: str | None = None
    match occurrence:
        # Packages show particulars to anybody, and whoever wrote the file may have named a person.
        case SubmissionStartedLine():
            named = occurrence.marketplace_id
            particulars = {
                "via": INGESTED,  # another system sent it, so we never send it again
                "marketplace_id": named and for_anybody(named),
                **public(idempotency_key=occurrence.idempotency_key),
                "timeout_seconds": occurrence.timeout_seconds,
            }
            attempt_id, body = occurrence.attempt_id, occurrence.body
        case SubmissionFinishedLine():
            said = occurrence.error
            particulars = {"error": said and for_anybody(said)}
            attempt_id, body, status = occurrence.attempt_id, occurrence.body, occurrence.status
        case CollectionLine():
            body = content_bytes(value)
        case NamedLine():
            attempt_id = occurrence.attempt_id
            said = value.get("actor")
            actor = said if said and isinstance(said, str) else None
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
        actor=actor,
    )


_PLACED = frozenset({"kind", "occurred_at", "process_id", "seller_id", "attempt_id"})


def content_bytes(value: Mapping[str, JsonValue]) -> bytes:
    """The canonical JSON of an occurrence, without the keys that have columns of their own."""
    return canonical_json({key: it for key, it in value.items() if key not in _PLACED})


def _ingest_key(occurrence: Line, value: Mapping[str, JsonValue]) -> bytes:
    """A digest that is equal for two lines of the same kind, instant and content, even if they are
    spelled differently. Where the bytes of artifacts were kept when it came does not count."""
    content = {**value, "occurred_at": instants.canonical(occurrence.occurred_at)}
    if "body" in value and (body := _body(value["body"])) is not None:
        content["body"] = body.decode("utf-8")
    if isinstance(occurrence, CollectionLine | NoticeScheduleLine) and content.get("artifacts"):
        content["artifacts"] = [
            {name: it for name, it in artifact.items() if name != KEPT}
            for artifact in content["artifacts"]
        ]
    return hashlib.sha256(canonical_json(content)).digest()


def _explain(error: Any) -> str:
    """One error of pydantic as a line. It does not show the value, which may be personal."""
    if error["type"] == "union_tag_invalid":
        return f"kind: one of {error['ctx']['expected_tags']} is expected"
    if error["type"] == "union_tag_not_found":
        return "it has no kind; where each line is an event as the platform sent it, use --events"
    place = error["loc"][1:]  # the first part is the kind, which chose the model
    where = ".".join(str(part) for part in place)
    message = error["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
