"""Findings about deliveries and our own entries: altered, slow, quarantined, new, overridden."""

from collections.abc import Iterator
from datetime import timedelta

from .deliveries import bank_account_seller, deliveries_of, replays
from .finding import NOTICE, RISK, finding, process_of
from .model import BANK_EVENTS, LISTED_EVENTS, REVIEW_TYPES, SELLER_EVENTS, Delivery, Log
from .payload import SHOWN_PATHS
from .reading import sha256, text_of
from .sellers import denials, record

SLOW = timedelta(seconds=5)

REVIEW_STATUSES = ("PENDING", "OVERDUE", "EXPIRED", "FINISHED")
REASONS = (
    "DOCUMENT_VALIDATION",
    "INTERNAL_KYC_POLICY",
    "FRAUD_PREVENTION",
    "REGISTRATION_INCONSISTENCY",
)
DETAILS = (
    "DOCUMENT_NOT_MATCH",
    "DOCUMENT_QUALITY",
    "NAME_INVALID",
    "BIRTH_DATE_INVALID",
    "REGISTRATION_STATUS_INVALID",
)


def event_altered(log: Log) -> Iterator[dict]:
    """One row per event id: its first delivery with other bytes than those that count."""
    for event in log.events:
        altered = [
            delivery
            for delivery in deliveries_of(log, event)
            if delivery.entry.body != event.entry.body
        ]
        if altered:
            first = min(
                altered,
                key=lambda other: (other.occurred_at, sha256(other.entry.body), other.entry.seq),
            )
            row = finding(
                "event_altered", RISK, first.occurred_at, first.entry.seq, detail=event.event_id
            )
            yield {**row, **subject_of(log, event)}


def slow_record(log: Log) -> Iterator[dict]:
    """A live delivery recorded more than 5 s after its receipt; a replay is none."""
    for entry in log.of_kind("webhook"):
        is_live = entry.origin == "live" and entry.line.get("replay_of") is None
        if is_live and entry.recorded_at - entry.occurred_at > SLOW:
            yield finding("slow_record", NOTICE, entry.recorded_at, entry.seq)


def quarantined(log: Log) -> Iterator[dict]:
    """Until it is replayed."""
    replayed = replays(log)
    for entry, reason in log.quarantined:
        if entry.seq not in replayed:
            yield finding("quarantined", RISK, entry.occurred_at, entry.seq, detail=reason)


def override(log: Log) -> Iterator[dict]:
    """The process that the entry names, though nothing else may have named it yet."""
    for entry in log.overrides:
        row = finding("override", NOTICE, entry.occurred_at, entry.seq)
        process = process_of(log, entry.line.get("process_id"))
        yield {
            **row,
            "process_id": entry.line.get("process_id"),
            "seller_id": process.seller_id if process else None,
        }


def new_code(log: Log) -> Iterator[dict]:
    """One row per kind of code and value, from its first entry.

    An event without an id, or without a record, is a code of its event type (section 8).
    """
    seen = set()
    for event in sorted(log.events, key=lambda event: (event.occurred_at, event.event_id)):
        for kind, value in unlisted_codes(log, event):
            if (kind, value) not in seen:
                seen.add((kind, value))
                row = finding(
                    "new_code",
                    NOTICE,
                    event.occurred_at,
                    event.entry.seq,
                    detail=f"{kind}: {value}",
                )
                yield {**row, **subject_of(log, event)}


def unlisted_codes(log: Log, event: Delivery) -> Iterator[tuple[str, str]]:
    if event.event_type not in LISTED_EVENTS:
        yield "event type", event.event_type
    if text_of(event.envelope.get("id")) is None:
        yield "event without id", event.event_type
    if event.event_type in SELLER_EVENTS and record(event) is None:
        yield "payload", event.event_type
    for review in log.review_events:
        if review.delivery is event:
            if review.type_code not in REVIEW_TYPES:
                yield "review type", review.type_code
            if review.status is not None and review.status not in REVIEW_STATUSES:
                yield "review status", review.status
            for path in review.requested_fields:
                if path not in SHOWN_PATHS:
                    yield "requested path", path
    for denial in denials(log):
        if denial["event_id"] == event.event_id:
            for pair in denial["reasons"]:
                if pair["reason"] not in REASONS:
                    yield "reason", pair["reason"]
                if pair["detail"] is not None and pair["detail"] not in DETAILS:
                    yield "detail", pair["detail"]


def subject_of(log: Log, event: Delivery) -> dict:
    """The process and the seller that an event is about; a process names its own seller."""
    process_id = seller_id = None
    for review in log.review_events:
        if review.delivery is event:
            process_id = review.process_id
            seller_id = process_of(log, process_id).seller_id
    if event.event_type in SELLER_EVENTS and record(event):
        seller_id = record(event)["id"]
    if event.event_type in BANK_EVENTS:
        seller_id = bank_account_seller(event)
    return {"process_id": process_id, "seller_id": seller_id}
