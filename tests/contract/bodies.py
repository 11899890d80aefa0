"""Bodies of events, as the platform would send them."""

import json

FIRST_OF_MARCH = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z


def body(**envelope: object) -> bytes:
    return json.dumps(envelope).encode()


def review(**changes: object) -> bytes:
    inner = {
        "type": "REGISTRATION_REVIEW_REQUIRED",
        "process_id": "p1",
        "customer_id": "s1",
        "status": "PENDING",
        "deadline_at": "2026-04-30T00:00:00Z",
        "requested_fields": ["revenue", "address.postal_code"],
        **changes,
    }
    return body(
        id="evt_1",
        type="regulatory.registration.review.required",
        created_at="2026-03-01T00:00:00Z",
        payload={"object": inner},
    )


def seller(event_type: str = "seller.denied", **record: object) -> bytes:
    return body(id="evt_2", type=event_type, payload={"object": {"id": "s1", **record}})
