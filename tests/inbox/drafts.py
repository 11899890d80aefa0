"""Small drafts for tests of the inbox."""

from typing import Any

from pipeline.log.entries import Draft

NOON = 1_772_366_400_000_000  # 2026-03-01T12:00:00Z


def webhook(event_id: str, **changes: Any) -> Draft:
    return draft(kind="webhook", event_id=event_id, **changes)


def note(**changes: Any) -> Draft:
    return draft(kind="note", **changes)


def draft(**changes: Any) -> Draft:
    return Draft(**{"occurred_at": NOON, "recorded_by": "test", "body": b'{"a":1}', **changes})
