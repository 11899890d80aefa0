"""What a history says once its lines are counted once (rules.md section 1).

A history is a list of occurrence dicts in the order of recording; see `histories.py` for the
keys. Everything below is worked out for one `as_of`: later occurrences do not exist.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from .reading import Unreadable, instant, json_bytes, read_json, sha256, text_of, utc

REVIEW_REQUIRED = "regulatory.registration.review.required"
SELLER_EVENTS = (
    "seller.created",
    "seller.enabled",
    "seller.denied",
    "seller.disabled",
    "seller.updated",
    "seller.deleted",
)
BANK_EVENTS = ("bank_account.associated", "bank_account.deleted")
LISTED_EVENTS = (*SELLER_EVENTS, *BANK_EVENTS, REVIEW_REQUIRED)

ACP = "ACP"
ACI = "ACI"
REVIEW_TYPES = {
    "REGISTRATION_REVIEW_REQUIRED": ACP,
    "INCONSISTENT_DATA_UPDATE_REQUIRED": ACI,
}
DEFAULT_TIMEOUT = timedelta(seconds=60)


@dataclass(frozen=True)
class Entry:
    seq: int
    kind: str
    occurred_at: datetime
    recorded_at: datetime
    origin: str
    line: dict
    body: bytes | None

    @cached_property
    def reading(self) -> "Delivery | Unreadable":
        """What a webhook's bytes say, or why they cannot be read."""
        try:
            return read_delivery(self)
        except Unreadable as reason:
            return reason


@dataclass(frozen=True)
class Delivery:
    """A webhook whose bytes could be read."""

    entry: Entry
    event_id: str
    event_type: str
    created_at: datetime
    envelope: dict

    @property
    def occurred_at(self) -> datetime:
        return self.entry.occurred_at

    @cached_property
    def review(self) -> "ReviewEvent":
        """Of a review event alone: what its object says."""
        return read_review(self)

    @property
    def order(self) -> tuple:
        """ "Latest" among events: created_at, then first occurred_at, then event id."""
        return (self.created_at, self.occurred_at, self.event_id)


@dataclass(frozen=True)
class ReviewEvent:
    """The counted delivery of a review event, its object read."""

    delivery: Delivery
    process_id: str
    seller_id: str
    type_code: str
    status: str | None
    deadline_at: datetime
    requested_fields: list

    @property
    def created_at(self) -> datetime:
        return self.delivery.created_at

    @property
    def order(self) -> tuple:
        return self.delivery.order

    @property
    def seq(self) -> int:
        return self.delivery.entry.seq


@dataclass(frozen=True)
class Attempt:
    attempt_id: str
    start: Entry | None
    finish: Entry | None

    def said(self, key: str):
        """What the start says, or the finish where the start is silent or lost."""
        for entry in (self.start, self.finish):
            if entry is not None and entry.line.get(key) is not None:
                return entry.line[key]
        return None

    @property
    def process_id(self) -> str | None:
        return self.said("process_id")

    @property
    def seller_id(self) -> str | None:
        return self.said("seller_id")

    @property
    def started_at(self) -> datetime | None:
        return self.start.occurred_at if self.start else None

    @property
    def finished_at(self) -> datetime | None:
        return self.finish.occurred_at if self.finish else None

    @property
    def attempted_at(self) -> datetime:
        """The start, or the finish where the start is missing."""
        return self.started_at or self.finished_at

    @property
    def order(self) -> tuple:
        return (self.attempted_at, self.attempt_id)

    @property
    def status(self) -> int | None:
        return self.finish.line.get("status") if self.finish else None

    @property
    def error(self) -> str | None:
        return self.finish.line.get("error") if self.finish else None

    @property
    def body(self) -> bytes | None:
        return self.start.body if self.start else None

    @property
    def shown_by(self) -> Entry:
        """The entry that shows how the attempt went: its finish, else its start."""
        return self.finish or self.start

    @property
    def via(self) -> str | None:
        """A file says how an attempt was sent, but it came in by the file."""
        if self.start is None:
            return None
        return self.start.line.get("via") if self.start.origin == "live" else "ingested"

    @property
    def timeout(self) -> timedelta:
        seconds = self.start.line.get("timeout_seconds") if self.start else None
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds < 0:
            return DEFAULT_TIMEOUT
        return timedelta(seconds=seconds)


def body_bytes(body: object) -> bytes | None:
    """A string is kept byte for byte; an object gets the one spelling of its value."""
    if body is None:
        return None
    return body.encode("utf-8") if isinstance(body, str) else json_bytes(body)


def entries(history: list[dict]) -> list[Entry]:
    """Ingested lines equal in kind, occurred_at and content count once; live ones all count.

    No entry is back-dated: one whose clock ran behind is recorded at the latest instant so far.
    """
    kept: list[Entry] = []
    ingested = set()
    for line in history:
        occurred_at = instant(line["occurred_at"])
        body = body_bytes(line.get("body"))
        origin = line.get("origin", "ingested")
        if origin == "ingested":
            content = (occurred_at, content_of(line), body)
            if content in ingested:
                continue
            ingested.add(content)
        recorded_at = instant(line.get("recorded_at")) or occurred_at
        if kept:
            recorded_at = max(recorded_at, kept[-1].recorded_at)
        kept.append(
            Entry(
                seq=len(kept) + 1,
                kind=line["kind"],
                occurred_at=occurred_at,
                recorded_at=recorded_at,
                origin=origin,
                line=line,
                body=body,
            )
        )
    return kept


def content_of(line: dict) -> bytes:
    outside = ("occurred_at", "recorded_at", "origin", "body")
    return json_bytes({key: value for key, value in line.items() if key not in outside})


def read_delivery(entry: Entry) -> Delivery:
    """Section 8: the event of a body, or Unreadable with the reason for quarantine."""
    envelope = read_json(entry.body or b"")
    if not isinstance(envelope, dict):
        raise Unreadable("not an object")
    event_type = text_of(envelope.get("type"))
    if event_type is None:
        raise Unreadable("no type")
    delivery = Delivery(
        entry=entry,
        event_id=text_of(envelope.get("id")) or f"sha256:{sha256(entry.body)}",
        event_type=event_type,
        created_at=instant(envelope.get("created_at")) or entry.occurred_at,
        envelope=envelope,
    )
    if event_type == REVIEW_REQUIRED:
        read_review(delivery)  # raises for a review that cannot be read
    return delivery


def read_review(delivery: Delivery) -> ReviewEvent:
    payload = delivery.envelope.get("payload")
    review = payload.get("object") if isinstance(payload, dict) else None
    if not isinstance(review, dict):
        raise Unreadable("a review event without payload.object")
    process_id = text_of(review.get("process_id"))
    seller_id = text_of(review.get("customer_id"))
    type_code = text_of(review.get("type"))
    deadline_at = instant(review.get("deadline_at"))
    if process_id is None or seller_id is None or type_code is None or deadline_at is None:
        raise Unreadable("a review event without process_id, customer_id, type or deadline_at")
    requested = review.get("requested_fields")
    return ReviewEvent(
        delivery=delivery,
        process_id=process_id,
        seller_id=seller_id,
        type_code=type_code,
        status=text_of(review.get("status")),
        deadline_at=deadline_at,
        requested_fields=[path for path in requested if text_of(path)]
        if isinstance(requested, list)
        else [],
    )


class Log:
    """Everything known at `as_of`, counted once."""

    def __init__(self, recorded: list[Entry], as_of: datetime) -> None:
        self.recorded = recorded
        self.as_of = utc(as_of)
        self.entries = [entry for entry in recorded if entry.occurred_at <= self.as_of]

    def at(self, as_of: datetime) -> "Log":
        """The same entries, looked at from another instant."""
        return Log(self.recorded, as_of)

    def of_kind(self, kind: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind == kind]

    @cached_property
    def deliveries(self) -> list[Delivery]:
        """Webhooks that could be read, in order of recording."""
        readings = [entry.reading for entry in self.of_kind("webhook")]
        return [reading for reading in readings if isinstance(reading, Delivery)]

    @property
    def quarantined(self) -> list[tuple[Entry, str]]:
        """Webhooks that could not, each with its reason."""
        return [
            (entry, str(entry.reading))
            for entry in self.of_kind("webhook")
            if isinstance(entry.reading, Unreadable)
        ]

    @cached_property
    def events(self) -> list[Delivery]:
        """One delivery per event id: the earliest occurred_at, then the smallest SHA-256."""
        counted: dict[str, Delivery] = {}
        for delivery in sorted(self.deliveries, key=counting_order):
            counted.setdefault(delivery.event_id, delivery)
        return sorted(counted.values(), key=lambda event: event.order)

    @cached_property
    def review_events(self) -> list[ReviewEvent]:
        """In order: the first is the earliest, the last the latest."""
        return [event.review for event in self.events if event.event_type == REVIEW_REQUIRED]

    @cached_property
    def attempts(self) -> list[Attempt]:
        """In order: by start (finish, where the start is missing), then attempt_id."""
        starts = counted_once(self.of_kind("submission_started"))
        finishes = counted_once(self.of_kind("submission_finished"))
        attempts = [
            Attempt(attempt_id, starts.get(attempt_id), finishes.get(attempt_id))
            for attempt_id in {**starts, **finishes}
        ]
        return sorted(attempts, key=lambda attempt: attempt.order)

    @cached_property
    def collections(self) -> list[Entry]:
        """Equal collections count once, however often they were sent; the first seq stands."""
        return distinct(self.of_kind("collection"))

    @cached_property
    def overrides(self) -> list[Entry]:
        return distinct(self.of_kind("override"))

    @cached_property
    def replacements(self) -> list[Entry]:
        return distinct(self.of_kind("replacement"))


def counting_order(delivery: Delivery) -> tuple:
    return (delivery.occurred_at, sha256(delivery.entry.body), delivery.entry.seq)


def counted_once(submissions: list[Entry]) -> dict[str, Entry]:
    """Per attempt_id the earliest occurred_at, then the smallest SHA-256 of the body."""
    counted: dict[str, Entry] = {}
    for entry in sorted(submissions, key=submission_order):
        counted.setdefault(entry.line["attempt_id"], entry)
    return counted


def submission_order(entry: Entry) -> tuple:
    return (
        entry.occurred_at,
        sha256(entry.body),
        entry.origin != "live",
        content_of(entry.line),
        entry.seq,
    )


def distinct(given: list[Entry]) -> list[Entry]:
    first: dict[tuple, Entry] = {}
    for entry in given:
        first.setdefault((entry.occurred_at, content_of(entry.line), entry.body), entry)
    return list(first.values())
