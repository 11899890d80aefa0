"""Hand-made occurrences: each function is one line of NDJSON
(docs/operations.md#files-of-occurrences)."""

from datetime import UTC, datetime, timedelta
from typing import Any

Occurrence = dict[str, Any]

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)  # what the pages are asked to look at
AS_OF = "2026-06-01T12:00:00Z"

ADDRESS = [
    "address.line1",
    "address.line3",
    "address.city",
    "address.state",
    "address.postal_code",
    "address.country_code",
]
_TYPES = {"ACP": "REGISTRATION_REVIEW_REQUIRED", "ACI": "INCONSISTENT_DATA_UPDATE_REQUIRED"}


def before(**how_long: float) -> datetime:
    return NOW - timedelta(**how_long)


def text(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")


def review(
    process: str,
    opened: datetime,
    *,
    seller: str = "sel_ana",
    kind: str = "ACI",
    status: str | None = None,
    fields: list[str] | None = None,
    at: datetime | None = None,
    event: str | None = None,
) -> Occurrence:
    """A review event; its deadline is the contract's 60 or 30 days after the opening."""
    created = at or opened
    return {
        "kind": "webhook",
        "occurred_at": text(created + timedelta(seconds=2)),
        "body": {
            "id": event or f"evt_{process}_{text(created)}",
            "type": "regulatory.registration.review.required",
            "created_at": text(created),
            "payload": {
                "object": {
                    "type": _TYPES[kind],
                    "process_id": process,
                    "customer_id": seller,
                    "status": status or ("PENDING" if kind == "ACP" else "OVERDUE"),
                    "deadline_at": text(opened + timedelta(days=60 if kind == "ACP" else 30)),
                    "requested_fields": ["revenue"] if fields is None else fields,
                }
            },
        },
    }


def seller_event(
    seller: str, what: str, at: datetime, *, taxpayer: str = "52998224725", **more: Any
) -> Occurrence:
    """`what`: created, enabled, denied, disabled, updated or deleted."""
    return {
        "kind": "webhook",
        "occurred_at": text(at + timedelta(seconds=2)),
        "body": {
            "id": f"evt_{seller}_{what}_{text(at)}",
            "type": f"seller.{what}",
            "created_at": text(at),
            "payload": {
                "object": {
                    "id": seller,
                    "status": what if what in ("enabled", "denied") else "pending",
                    "resource": "seller",
                    "type": "individual",
                    "first_name": "Ana",
                    "email": "ana@example.com",
                    "taxpayer_id": taxpayer,
                    "delinquent": False,
                    "revenue": 12500.5,
                    "created_at": text(at),
                    **more,
                }
            },
        },
    }


def collected(
    process: str, step: str, at: datetime, *, seller: str = "sel_ana", **more: Any
) -> Occurrence:
    """`step`: invited, opened, answered or confirmed."""
    return {
        "kind": "collection",
        "occurred_at": text(at),
        "process_id": process,
        "seller_id": seller,
        "journey_id": f"jrn_{process}",
        "step": step,
        "channel": "web_form",
        "source": "seller",
        "actor": "owner",
        **({"fields": {"revenue": "1000_to_5000"}} if step == "answered" else {}),
        **more,
    }


def attempt(
    process: str,
    at: datetime,
    *,
    status: int | None = None,
    error: str | None = None,
    seller: str = "sel_ana",
    name: str | None = None,
) -> list[Occurrence]:
    """A submission and its answer one second later."""
    attempt_id = name or f"att_{process}_{text(at)}"
    return [
        {
            "kind": "submission_started",
            "occurred_at": text(at),
            "attempt_id": attempt_id,
            "process_id": process,
            "seller_id": seller,
            "marketplace_id": "mkt_1",
            "idempotency_key": process,
            "body": {"process_id": process, "type": "individual", "revenue": "1000_to_5000"},
        },
        {
            "kind": "submission_finished",
            "occurred_at": text(at + timedelta(seconds=1)),
            "attempt_id": attempt_id,
            "process_id": process,
            "status": status,
            "error": error,
            "body": None,
        },
    ]
