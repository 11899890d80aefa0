"""Findings about deliveries and our own entries: altered, slow, quarantined, new, overridden."""

from collections.abc import Iterator
from datetime import timedelta

from tests.support.oracle.contract import (
    BANK_EVENTS,
    DETAILS,
    LISTED_EVENTS,
    REASONS,
    REVIEW_STATUSES,
    REVIEW_TYPES,
    SELLER_EVENTS,
)
from tests.support.oracle.deliveries import bank_account_seller, replays
from tests.support.oracle.model import Delivery, Log
from tests.support.oracle.payload import SHOWN_PATHS
from tests.support.oracle.reading import identifier
from tests.support.oracle.sellers import is_denial, reasons, record, record_id

from .finding import NOTICE, RISK, finding, process_of

SLOW = timedelta(seconds=5)


def event_altered(log: Log) -> Iterator[dict]:
    """One row per version of an event but the first, about what that version names."""
    for event_id, versions in log.versions.items():
        for version in versions[1:]:
            row = finding(
                "event_altered", RISK, version.occurred_at, version.entry.seq, detail=event_id
            )
            subject = subject_of(log, version)
            if version.is_review and version.review.seller_id:
                subject["seller_id"] = version.review.seller_id
            yield {**row, **subject}


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

    An event without an id, or without a record, is a code of its event type.
    """
    seen = set()
    for event in sorted(log.events, key=place_of_first):
        for kind, value in unlisted_codes(event):
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


def place_of_first(event: Delivery) -> tuple:
    """Of versions at one instant, by process and seller; those that name none come last."""
    named = (event.review.process_id, event.review.seller_id) if event.is_review else ()
    return event.occurred_at, event.event_id, [(it is None, it or "") for it in named]


def unlisted_codes(event: Delivery) -> Iterator[tuple[str, str]]:
    if event.event_type not in LISTED_EVENTS:
        yield "event type", event.event_type
    if identifier(event.envelope.get("id")) is None:
        yield "event without id", event.event_type
    if event.event_type in SELLER_EVENTS and record(event) is None:
        yield "payload", event.event_type
    if event.is_review:
        review = event.review
        if review.type_code is not None and review.type_code not in REVIEW_TYPES:
            yield "review type", review.type_code
        if review.status is not None and review.status not in REVIEW_STATUSES:
            yield "review status", review.status
        for path in review.requested_fields or []:
            if path not in SHOWN_PATHS:
                yield "requested path", path
    for pair in reasons(record(event)) if is_denial(event) else []:
        if pair["reason"] not in REASONS:
            yield "reason", pair["reason"]
        if pair["detail"] is not None and pair["detail"] not in DETAILS:
            yield "detail", pair["detail"]


def subject_of(log: Log, event: Delivery) -> dict:
    """The process and the seller that an event is about.

    The seller is the process's own, or the event's where its earliest event names none.
    """
    process_id = seller_id = None
    if event.is_review:
        process_id = event.review.process_id
        seller_id = process_of(log, process_id).seller_id or event.review.seller_id
    if event.event_type in SELLER_EVENTS and record(event):
        seller_id = record_id(event)
    if event.event_type in BANK_EVENTS:
        seller_id = bank_account_seller(event)
    return {"process_id": process_id, "seller_id": seller_id}
