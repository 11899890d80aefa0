"""Deliveries as they came (rules.md sections 1, 7 and 8)."""

from .model import BANK_EVENTS, Delivery, Log
from .reading import sha256, text_of


def deliveries(log: Log) -> list[dict]:
    """One row per readable delivery, in order of recording."""
    counted = {event.event_id: event for event in log.events}
    return [
        {
            "seq": delivery.entry.seq,
            "event_id": delivery.event_id,
            "event_type": delivery.event_type,
            "created_at": delivery.created_at,
            "occurred_at": delivery.occurred_at,
            "recorded_at": delivery.entry.recorded_at,
            "origin": delivery.entry.origin,
            "is_redelivery": delivery is not counted[delivery.event_id],
            "is_altered": delivery.entry.body != counted[delivery.event_id].entry.body,
        }
        for delivery in log.deliveries
    ]


def redeliveries(log: Log) -> list[dict]:
    """One row per event delivered more than once."""
    rows = []
    for event in sorted(log.events, key=lambda event: event.event_id):
        times = deliveries_of(log, event)
        if len(times) > 1:
            rows.append(
                {
                    "event_id": event.event_id,
                    "event_type": event.event_type,
                    "deliveries": len(times),
                    "redeliveries": len(times) - 1,
                    "bodies": len({delivery.entry.body for delivery in times}),
                    "first_delivered_at": min(delivery.occurred_at for delivery in times),
                    "last_delivered_at": max(delivery.occurred_at for delivery in times),
                }
            )
    return rows


def deliveries_of(log: Log, event: Delivery) -> list[Delivery]:
    return [delivery for delivery in log.deliveries if delivery.event_id == event.event_id]


def quarantine(log: Log) -> list[dict]:
    """One row per delivery that could not be read; a replay names it in `replay_of`."""
    replayed = {entry.line.get("replay_of") for entry in log.of_kind("webhook")}
    return [
        {
            "seq": entry.seq,
            "occurred_at": entry.occurred_at,
            "recorded_at": entry.recorded_at,
            "origin": entry.origin,
            "reason": reason,
            "body_sha256": sha256(entry.body),
            "is_replayed": entry.seq in replayed,
        }
        for entry, reason in log.quarantined
    ]


def bank_accounts(log: Log) -> list[dict]:
    """One row per bank-account event, with the seller as far as the payload names one."""
    return [
        {
            "event_id": event.event_id,
            "event_type": event.event_type,
            "seller_id": bank_account_seller(event),
            "created_at": event.created_at,
        }
        for event in sorted(log.events, key=lambda event: event.event_id)
        if event.event_type in BANK_EVENTS
    ]


def bank_account_seller(event: Delivery) -> str | None:
    payload = event.envelope.get("payload")
    if not isinstance(payload, dict):
        return None
    for holder in (payload.get("object"), payload):
        if isinstance(holder, dict):
            for key in ("customer_id", "seller_id"):
                if text_of(holder.get(key)):
                    return holder[key]
    return None
