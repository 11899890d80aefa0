"""Deliveries as they came (rules.md sections 1, 7 and 8)."""

from .model import BANK_EVENTS, Delivery, Log
from .reading import instant, text_of


def deliveries(log: Log) -> list[dict]:
    """One row per delivery, readable or not, in order of recording."""
    counted = {event.event_id: event for event in log.events}
    seen_before: set[str] = set()
    rows = []
    for delivery in log.deliveries:
        rows.append(
            {
                "seq": delivery.entry.seq,
                "kind": "webhook",
                "event_id": delivery.event_id,
                "event_type": delivery.event_type,
                "created_at": instant(delivery.envelope.get("created_at")),
                "occurred_at": delivery.occurred_at,
                "recorded_at": delivery.entry.recorded_at,
                "origin": delivery.entry.origin,
                "is_redelivery": delivery.event_id in seen_before,
                "is_altered": delivery.entry.body != counted[delivery.event_id].entry.body,
            }
        )
        seen_before.add(delivery.event_id)
    for entry, _ in log.quarantined:
        rows.append(
            {
                "seq": entry.seq,
                "kind": "quarantine",
                "event_id": None,
                "event_type": None,
                "created_at": None,
                "occurred_at": entry.occurred_at,
                "recorded_at": entry.recorded_at,
                "origin": entry.origin,
                "is_redelivery": False,
                "is_altered": False,
            }
        )
    return sorted(rows, key=lambda row: row["seq"])


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
                    "altered": sum(each.entry.body != event.entry.body for each in times),
                    "first_at": min(each.occurred_at for each in times),
                    "last_at": max(each.occurred_at for each in times),
                }
            )
    return rows


def deliveries_of(log: Log, event: Delivery) -> list[Delivery]:
    return [delivery for delivery in log.deliveries if delivery.event_id == event.event_id]


def quarantine(log: Log) -> list[dict]:
    """One row per delivery that could not be read; a replay names it in `replay_of`."""
    return [
        {
            "seq": entry.seq,
            "occurred_at": entry.occurred_at,
            "recorded_at": entry.recorded_at,
            "origin": entry.origin,
            "reason": reason,
            "size_bytes": len(entry.body or b""),
            "replayed_as": replays(log).get(entry.seq),
        }
        for entry, reason in log.quarantined
    ]


def replays(log: Log) -> dict[int, int]:
    """Of each quarantined entry that could be read since: the first entry that it became."""
    became: dict[int, int] = {}
    for delivery in log.deliveries:
        if delivery.entry.line.get("replay_of") is not None:
            became.setdefault(delivery.entry.line["replay_of"], delivery.entry.seq)
    return became


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
