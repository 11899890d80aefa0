"""Deliveries as they came (docs/rules.md#deliveries)."""

from collections.abc import Iterator

from .contract import BANK_EVENTS
from .model import Delivery, Log
from .reading import identifier, instant


def deliveries(log: Log) -> list[dict]:
    """One row per delivery, readable or not, in order of recording."""
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
                "is_altered": delivery.content != log.versions[delivery.event_id][0].content,
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
    """One row per event id delivered more than once; altered are all but its first version."""
    rows = []
    for event_id, versions in sorted(log.versions.items()):
        times = [delivery for delivery in log.deliveries if delivery.event_id == event_id]
        if len(times) > 1:
            rows.append(
                {
                    "event_id": event_id,
                    "event_type": versions[0].event_type,
                    "deliveries": len(times),
                    "altered": sum(each.content != versions[0].content for each in times),
                    "first_at": min(each.occurred_at for each in times),
                    "last_at": max(each.occurred_at for each in times),
                }
            )
    return rows


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
    """The first that can be read."""
    readable = (identifier(value) for _, value in seller_named_by(event))
    return next((seller_id for seller_id in readable if seller_id), None)


def seller_named_by(event: Delivery) -> Iterator[tuple[str, object]]:
    """Where a bank event names its seller: key and value, the object's before the payload's."""
    payload = event.envelope.get("payload")
    holders = [payload.get("object"), payload] if isinstance(payload, dict) else []
    for holder in holders:
        for key in ("customer_id", "seller_id"):
            if isinstance(holder, dict) and holder.get(key) is not None:
                yield key, holder[key]
