"""Lines of histories, each complete and valid as it is; a test overrides what it is about.

The process `p1` of seller `s1` is an ACP opened on 1 March 2026 at noon: OVERDUE from noon on
31 March, EXPIRED from noon on 30 April. As an ACI it is EXPIRED from noon on 31 March.
"""

from datetime import datetime
from typing import Any

from tests.support.oracle.reading import json_bytes, sha256

OPENED = "2026-03-01T12:00:00Z"
ACP_DEADLINE = "2026-04-30T12:00:00Z"
ACI_DEADLINE = "2026-03-31T12:00:00Z"
ADDRESS = {
    "line1": "Rua A, 1",
    "line3": "Centro",
    "city": "Recife",
    "state": "PE",
    "postal_code": "50000000",
    "country_code": "BR",
}


def at(text: str) -> datetime:
    """A naive UTC datetime."""
    return datetime.fromisoformat(f"{text}+00:00").replace(tzinfo=None)


def digest(line: dict[str, Any]) -> str:
    """By which versions of one instant and receipt are ordered: that of the body's one spelling."""
    return sha256(json_bytes(line["body"]))


def webhook(body: object, occurred_at: str = OPENED, **more: Any) -> dict[str, Any]:
    return {"kind": "webhook", "occurred_at": occurred_at, "body": body, **more}


def acp(
    event_id: str = "e1",
    created_at: str | None = OPENED,
    occurred_at: str | None = None,
    **review: Any,
) -> dict[str, Any]:
    """A review event, received when it was created; `review` overrides fields of its object."""
    body = {
        "id": event_id,
        "type": "regulatory.registration.review.required",
        "created_at": created_at,
        "payload": {
            "object": {
                "type": "REGISTRATION_REVIEW_REQUIRED",
                "process_id": "p1",
                "customer_id": "s1",
                "status": "PENDING",
                "deadline_at": ACP_DEADLINE,
                "requested_fields": ["revenue"],
                **review,
            }
        },
    }
    return webhook(body, occurred_at or created_at or OPENED)


def aci(event_id: str = "e1", created_at: str = OPENED, **review: Any) -> dict[str, Any]:
    return acp(
        event_id,
        created_at,
        **{
            "type": "INCONSISTENT_DATA_UPDATE_REQUIRED",
            "status": "OVERDUE",
            "deadline_at": ACI_DEADLINE,
            **review,
        },
    )


def seller(
    what: str, event_id: str, created_at: str = OPENED, seller_id: str = "s1", **record: Any
) -> dict[str, Any]:
    body = {
        "id": event_id,
        "type": f"seller.{what}",
        "created_at": created_at,
        "payload": {"object": {"id": seller_id, **record}},
    }
    return webhook(body, created_at)


def started(
    attempt_id: str = "a1", occurred_at: str = "2026-03-02T00:00:00Z", **more: Any
) -> dict[str, Any]:
    """An attempt that sends revenue alone, for the process."""
    return {
        "kind": "submission_started",
        "occurred_at": occurred_at,
        "attempt_id": attempt_id,
        "process_id": "p1",
        "seller_id": "s1",
        "marketplace_id": "m1",
        "idempotency_key": "p1",
        "body": {"process_id": "p1", "type": "individual", "revenue": "1000_to_5000"},
        **more,
    }


def finished(
    attempt_id: str = "a1",
    status: int | None = 200,
    occurred_at: str = "2026-03-02T00:00:01Z",
    **more: Any,
) -> dict[str, Any]:
    return {
        "kind": "submission_finished",
        "occurred_at": occurred_at,
        "attempt_id": attempt_id,
        "process_id": "p1",
        "status": status,
        "error": None,
        "body": None,
        **more,
    }


def refusal(attempt_id: str, occurred_at: str, **more: Any) -> list[dict[str, Any]]:
    return [
        started(attempt_id, occurred_at, **more),
        finished(attempt_id, None, occurred_at, error="refused"),
    ]


def answered(occurred_at: str = "2026-03-01T18:00:00Z", **more: Any) -> dict[str, Any]:
    """The seller's answer to `revenue`, in time."""
    return {
        "kind": "collection",
        "occurred_at": occurred_at,
        "process_id": "p1",
        "seller_id": "s1",
        "journey_id": "j1",
        "step": "answered",
        "channel": "web_form",
        "source": "seller",
        "actor": "Maria",
        "fields": {"revenue": "1000_to_5000"},
        **more,
    }


def invited(occurred_at: str = "2026-03-01T13:00:00Z", **more: Any) -> dict[str, Any]:
    line = {**answered(occurred_at), "step": "invited", **more}
    del line["fields"]
    return line


def notice(
    message_id: str = "n1",
    occurred_at: str = "2026-03-02T00:00:00Z",
    channel: str = "email",
    **more: Any,
) -> dict[str, Any]:
    """A message to the seller, just before it is handed over."""
    return {
        "kind": "seller_notice",
        "occurred_at": occurred_at,
        "message_id": message_id,
        "process_id": "p1",
        "seller_id": "s1",
        "channel": channel,
        **more,
    }


def called(
    message_id: str = "n1",
    occurred_at: str = "2026-03-02T00:00:00Z",
    outcome: str | None = "reached",
    **more: Any,
) -> dict[str, Any]:
    return notice(message_id, occurred_at, "phone", outcome=outcome, actor="Ana", **more)


def posted(
    message_id: str = "n1", occurred_at: str = "2026-03-02T00:00:00Z", **more: Any
) -> dict[str, Any]:
    return notice(message_id, occurred_at, "letter", actor="Bia", **more)


def result(what: str, occurred_at: str, message_id: str = "n1", **more: Any) -> dict[str, Any]:
    """What became of a message, for all its processes unless `process_id` names one."""
    return {
        "kind": "seller_notice_result",
        "occurred_at": occurred_at,
        "message_id": message_id,
        "result": what,
        "detail": None,
        **more,
    }


def retracted(occurred_at: str, message_id: str = "n1", **more: Any) -> dict[str, Any]:
    return {
        "kind": "retraction",
        "occurred_at": occurred_at,
        "message_id": message_id,
        "actor": "Ana",
        "reason": "another seller",
        **more,
    }


def schedule(step: str, occurred_at: str, **more: Any) -> dict[str, Any]:
    """What was decided about the schedule of seller notices, for all unless it names a process or a
    seller."""
    line = {"kind": "notice_schedule", "occurred_at": occurred_at, "step": step, "actor": "Ana"}
    return live({**line, **more})


def action(kind: str, occurred_at: str, **more: Any) -> dict[str, Any]:
    """An override or a replacement."""
    return {
        "kind": kind,
        "occurred_at": occurred_at,
        "process_id": "p1",
        "reason": "the seller called",
        "actor": "ana",
        **more,
    }


def forwarding(step: str, occurred_at: str, **content: Any) -> dict[str, Any]:
    """What the forwarder records about an endpoint."""
    body = {"step": step, "endpoint": "erp", **content}
    return live({"kind": "forwarding", "occurred_at": occurred_at, "body": body})


def clearance(step: str, occurred_at: str, **content: Any) -> dict[str, Any]:
    """A request for what needs a second person, or that person's word."""
    body = {"step": step, "request": "clr_1", "actor": "Ana", "reason": "why", **content}
    return live({"kind": "clearance", "occurred_at": occurred_at, "body": body})


def seen(
    kind: str,
    occurred_at: str,
    *,
    process_id: str | None = None,
    seller_id: str | None = None,
    **content: Any,
) -> dict[str, Any]:
    """What shows somebody personal data: an unmask, a search or an export, of a process or seller
    where one is named."""
    body = {"reason": "why", "actor": "Ana", **content}
    named = {"process_id": process_id, "seller_id": seller_id}
    return live({"kind": kind, "occurred_at": occurred_at, **named, "body": body})


def live(line: dict[str, Any], recorded_at: str | None = None) -> dict[str, Any]:
    """As the product records it when it happens; an attempt came by the API unless it says how."""
    via = {"via": "api"} if line["kind"] == "submission_started" else {}
    return {**via, **line, "origin": "live", "recorded_at": recorded_at or line["occurred_at"]}
