"""Deliveries as the platform might send them; every event is another one unless it is named."""

import itertools
import json
from pathlib import Path
from typing import Any

from tests.support.oracle.contract import LISTED_EVENTS

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
REVIEW = "regulatory.registration.review.required"
EVENT_TYPES = LISTED_EVENTS

_numbers = itertools.count(1)


def new_id() -> str:
    return f"evt_test_{next(_numbers)}"


def sample(event_type: str) -> bytes:
    """The recorded body of an event type, as an event that was not seen before."""
    name = f"{event_type}.acp" if event_type == REVIEW else event_type
    event = json.loads((SAMPLES / f"{name}.json").read_bytes())
    return json.dumps({**event, "id": new_id()}).encode()


def event(**changes: Any) -> bytes:
    """A small seller event."""
    return json.dumps(
        {
            "id": new_id(),
            "type": "seller.created",
            "created_at": "2026-03-01T12:00:00Z",
            "payload": {"object": {"id": "sel_1", "status": "pending", "resource": "seller"}},
            **changes,
        }
    ).encode()


def review(**changes: Any) -> bytes:
    """A review event, with changes to its `payload.object`; None leaves a field out."""
    inner = {
        "type": "REGISTRATION_REVIEW_REQUIRED",
        "process_id": "prc_1",
        "customer_id": "sel_1",
        "status": "PENDING",
        "deadline_at": "2026-04-30T12:00:00Z",
        "requested_fields": ["revenue"],
        **changes,
    }
    shown = {name: it for name, it in inner.items() if it is not None}
    return event(type=REVIEW, payload={"object": shown})


def of_size(size: int) -> bytes:
    """An event of exactly so many bytes."""
    bare = event(padding="")
    return bare.replace(b'"padding": ""', b'"padding": "%b"' % (b"." * (size - len(bare))))
