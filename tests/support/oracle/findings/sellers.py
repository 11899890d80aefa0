"""Findings about sellers that were deleted."""

from collections.abc import Iterator

from tests.support.oracle.contract import STATUS_OF
from tests.support.oracle.model import Log
from tests.support.oracle.processes import OPEN, processes
from tests.support.oracle.sellers import deletion, seller_events

from .finding import RISK, finding


def status_after_deletion(log: Log) -> Iterator[dict]:
    """One row per status event that was created after the seller's deletion."""
    for seller_id, events in seller_events(log).items():
        deleted = deletion(events)
        for event in events:
            is_later = deleted is not None and event.created_at > deleted.created_at
            if is_later and STATUS_OF[event.event_type]:
                row = finding(
                    "status_after_deletion",
                    RISK,
                    event.created_at,
                    event.entry.seq,
                    detail=event.event_type,
                )
                yield {**row, "seller_id": seller_id}


def deleted_with_open(log: Log) -> Iterator[dict]:
    """One row per open process of a deleted seller, from when both were so."""
    events_of = seller_events(log)
    for process in processes(log):
        deleted = deletion(events_of.get(process.seller_id, []))
        if deleted is None or process.state not in OPEN:
            continue
        at, seq = deleted.created_at, deleted.entry.seq
        if process.opened_at > at:
            at, seq = process.opened_at, process.earliest.seq
        yield finding("deleted_with_open", RISK, at, seq, process)
