"""What a history says once its lines are counted once (docs/rules.md#counting-once).

A history is a list of occurrence dicts in the order of recording; see `histories.py` for the
keys. Everything below is worked out for one `as_of`: later occurrences do not exist.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from .contract import REVIEW_REQUIRED
from .reading import (
    Unreadable,
    identifier,
    instant,
    json_bytes,
    list_of_texts,
    read_json,
    sha256,
    text_of,
    utc,
)

DEFAULT_TIMEOUT = timedelta(seconds=60)
NOT_CONTENT = ("kind", "occurred_at", "recorded_at", "origin", "via")
"""What a submission entry says of its recording, or what is equal where contents are compared."""


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
    def content(self) -> str:
        """Two deliveries have one content when they are one JSON value, however it is spelled."""
        return sha256(json_bytes(self.envelope))

    @property
    def is_review(self) -> bool:
        return self.event_type == REVIEW_REQUIRED

    @cached_property
    def review(self) -> "ReviewEvent":
        """Of a review event alone: what its object says."""
        return read_review(self)

    @property
    def order(self) -> tuple:
        """ "Latest" among events: created_at, first occurred_at, event id, SHA-256 of content."""
        return (self.created_at, self.occurred_at, self.event_id, self.content)


@dataclass(frozen=True)
class ReviewEvent:
    """A version of a review event, its object read; what it does not say readably is None."""

    delivery: Delivery
    process_id: str
    seller_id: str | None
    type_code: str | None
    status: str | None
    deadline_at: datetime | None
    requested_fields: list[str] | None

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
        event_id=identifier(envelope.get("id")) or f"sha256:{sha256(entry.body)}",
        event_type=event_type,
        created_at=instant(envelope.get("created_at")) or entry.occurred_at,
        envelope=envelope,
    )
    if delivery.is_review:
        read_review(delivery)  # raises for a review that names no process
    return delivery


def read_review(delivery: Delivery) -> ReviewEvent:
    """What the object of a review event says; Unreadable where it names no process."""
    payload = delivery.envelope.get("payload")
    review = payload.get("object") if isinstance(payload, dict) else None
    process_id = identifier(review.get("process_id")) if isinstance(review, dict) else None
    if process_id is None:
        raise Unreadable("a review event without a readable process_id")
    return ReviewEvent(
        delivery=delivery,
        process_id=process_id,
        seller_id=identifier(review.get("customer_id")),
        type_code=text_of(review.get("type")),
        status=text_of(review.get("status")),
        deadline_at=instant(review.get("deadline_at")),
        requested_fields=list_of_texts(review.get("requested_fields")),
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
    def versions(self) -> dict[str, list[Delivery]]:
        """Per event id its versions, the first one first: one delivery for each content."""
        counted: dict[tuple, Delivery] = {}
        for delivery in sorted(self.deliveries, key=counting_order):
            counted.setdefault((delivery.event_id, delivery.content), delivery)
        versions: dict[str, list[Delivery]] = {}
        for (event_id, _), delivery in counted.items():
            versions.setdefault(event_id, []).append(delivery)
        return versions

    @cached_property
    def events(self) -> list[Delivery]:
        """The versions that count, earliest first: of reviews each, of others the latest."""
        counted: list[Delivery] = []
        for versions in self.versions.values():
            counted += [version for version in versions if version.is_review]
            others = [version for version in versions if not version.is_review]
            if others:
                counted.append(max(others, key=lambda version: version.order))
        return sorted(counted, key=lambda event: event.order)

    @cached_property
    def review_events(self) -> list[ReviewEvent]:
        """In order: the first is the earliest, the last the latest."""
        return [event.review for event in self.events if event.is_review]

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

    @cached_property
    def tickets(self) -> list[Entry]:
        """Opened and closed support tickets; a closing ends what was opened at its instant."""
        return sorted(
            distinct(self.of_kind("ticket")),
            key=lambda entry: (entry.occurred_at, entry.line["step"] == "closed"),
        )

    @cached_property
    def notices(self) -> list[Entry]:
        """One per message and process: what was sent to a seller, or said to one."""
        return counted_notices(self.of_kind("seller_notice"))

    @cached_property
    def notice_results(self) -> list[Entry]:
        """One per message, process (or none) and result."""
        return counted_notices(self.of_kind("seller_notice_result"))

    @cached_property
    def retractions(self) -> list[Entry]:
        return counted_notices(self.of_kind("retraction"))

    @cached_property
    def assignees(self) -> dict[str, str]:
        """Per process who was last assigned to it; nobody where that was taken back."""
        said = sorted(self.of_kind("assignment"), key=lambda entry: (entry.occurred_at, entry.seq))
        latest = {entry.line.get("process_id"): entry.line.get("assignee") for entry in said}
        return {process_id: name for process_id, name in latest.items() if process_id and name}


def counting_order(delivery: Delivery) -> tuple:
    return (delivery.occurred_at, delivery.content, delivery.entry.seq)


def counted_once(submissions: list[Entry]) -> dict[str, Entry]:
    """Per attempt_id the earliest occurred_at, then the smallest SHA-256 of the content."""
    counted: dict[str, Entry] = {}
    for entry in sorted(submissions, key=submission_order):
        counted.setdefault(entry.line["attempt_id"], entry)
    return counted


def counted_notices(given: list[Entry]) -> list[Entry]:
    """Per message, process and result the earliest occurred_at, then the smallest SHA-256 of the
    content; of equal ones the first recorded."""
    counted: dict[tuple, Entry] = {}
    for entry in sorted(given, key=notice_order):
        said = entry.line
        key = (said["message_id"], said.get("process_id"), said.get("result"))
        counted.setdefault(key, entry)
    return list(counted.values())


def notice_order(entry: Entry) -> tuple:
    return (entry.occurred_at, sha256(submission_content(entry)), entry.seq)


def submission_order(entry: Entry) -> tuple:
    recorded = (entry.origin != "live", entry.line.get("via") or "", entry.seq)
    return (entry.occurred_at, sha256(submission_content(entry)), *recorded)


def submission_content(entry: Entry) -> bytes:
    """All that the entry says but when it happened and how it was recorded; notices likewise."""
    body = None if entry.body is None else entry.body.decode("utf-8")
    said = {**entry.line, "body": body}
    return json_bytes(
        {key: said[key] for key in said if said[key] is not None and key not in NOT_CONTENT}
    )


def distinct(given: list[Entry]) -> list[Entry]:
    first: dict[tuple, Entry] = {}
    for entry in given:
        first.setdefault((entry.occurred_at, content_of(entry.line), entry.body), entry)
    return list(first.values())
