"""A small log that has everything a package can hold: three processes of two sellers, a redelivery,
a failed and an accepted attempt, collections with artifacts, a quarantined delivery, an override,
a seller event, an identifier that could be a tax id, and text that a spreadsheet would run."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline import instants
from pipeline.inbox import Inbox
from pipeline.log.artifacts import ArtifactStore, FolderArtifacts
from pipeline.log.deliveries import delivery
from pipeline.log.entries import Draft
from pipeline.log.ndjson import read_line

TAX_ID = "52998224725"
SCREEN = b"\x89PNG the screen on which the seller answered"
JOURNEY_LOG = b'{"opened":"2026-03-05T10:00:00Z","answered":"2026-03-05T10:04:00Z"}'
ADDRESS = {
    "line1": "Rua das Flores 12",
    "line3": "Centro",
    "city": "Sao Paulo",
    "state": "SP",
    "postal_code": "01310100",
    "country_code": "BR",
}
PAYLOAD = {
    "process_id": "p1",
    "type": "individual",
    "revenue": "1000_to_5000",
    "address": ADDRESS,
}


def record(inbox: Inbox, artifacts: Path | ArtifactStore, *, first_answer: int = 500) -> None:
    """Records the story, at instants of its own. `artifacts`: a store, or the folder of one."""
    store = FolderArtifacts(artifacts) if isinstance(artifacts, Path) else artifacts
    for at, draft in _drafts(store, first_answer):
        inbox.clock = functools.partial(_at, at)
        inbox.append([draft])
    inbox.clock = instants.now


def deliver(inbox: Inbox, event: str) -> None:
    """One more delivery, of an event that no rule is about."""
    body = json.dumps({"id": event, "type": "seller.updated", "payload": {"object": {"id": "s1"}}})
    deliver_bytes(inbox, body.encode())


def deliver_bytes(inbox: Inbox, body: bytes) -> None:
    """A delivery of whatever these bytes say."""
    inbox.append([delivery(body, occurred_at=instants.now(), recorded_by="webhook")])


def collect(inbox: Inbox, artifacts: Path, screen: bytes) -> None:
    """One more answer of the first seller, with a screen."""
    stored = FolderArtifacts(artifacts).keep(screen)
    artifact = {"name": "screen.png", "media_type": "image/png", **stored._asdict()}
    journey = _journey("p1", "s1", "j3", "answered")
    _, draft = _line("2026-03-11T09:00:00Z", "collection", **journey, artifacts=[artifact])
    inbox.append([draft])


def review(event: str, process: str, seller: str) -> Draft:
    """A review of a process, reported again."""
    at = instants.canonical(instants.now())
    return _review(at, event, process, seller, "PENDING", ["revenue", "address"])[1]


def _drafts(store: ArtifactStore, first_answer: int) -> Iterator[tuple[str, Draft]]:
    asked = ["revenue", "address"]
    yield _review("2026-03-01T09:00:00Z", "e1", "p1", "s1", "PENDING", asked)
    yield _review("2026-03-01T09:00:05Z", "e1", "p1", "s1", "PENDING", asked)
    yield _delivery(
        "2026-03-02T08:00:00Z",
        {
            "id": "e2",
            "type": "seller.created",
            "created_at": "2026-03-02T07:59:59Z",
            "payload": {
                "object": {
                    "id": "s1",
                    "resource": "seller",
                    "first_name": "Mariana",
                    "email": "mariana@example.com",
                    "taxpayer_id": TAX_ID,
                }
            },
        },
    )
    yield _line("2026-03-04T12:00:00Z", "collection", **_journey("p1", "s1", "j1", "invited"))
    screen, journey = store.keep(SCREEN), store.keep(JOURNEY_LOG)
    yield _line(
        "2026-03-05T10:04:00Z",
        "collection",
        **_journey("p1", "s1", "j1", "answered"),
        fields={"revenue": "1000_to_5000", "address": ADDRESS},
        artifacts=[
            {"name": "Mariana.png", "media_type": "image/png", **screen._asdict()},
            {"name": "journey.json", "media_type": "application/json", **journey._asdict()},
        ],
    )
    yield _attempt("2026-03-06T15:00:00Z", "submission_started", "a1", "p1", "s1", body=PAYLOAD)
    yield _attempt(
        "2026-03-06T15:00:02Z", "submission_finished", "a1", "p1", "s1", status=first_answer
    )
    yield _attempt("2026-03-06T15:01:00Z", "submission_started", "a2", "p1", "s1", body=PAYLOAD)
    yield _attempt("2026-03-06T15:01:01Z", "submission_finished", "a2", "p1", "s1", status=200)
    # Another seller, whose id could be a tax id: it stands in leaves as an HMAC.
    yield _review("2026-03-07T09:00:00Z", "e3", "p2", TAX_ID, "OVERDUE", ["revenue"], "ACI")
    yield _line("2026-03-08T09:00:00Z", "collection", **_journey("p2", TAX_ID, "j2", "opened"))
    yield _line(
        "2026-03-08T09:30:00Z",
        "override",
        process_id="p2",
        seller_id=TAX_ID,
        actor="=cmd|'/c calc'!A1",
        reason="the seller answered by telephone",
    )
    yield _attempt(
        *("2026-03-08T10:00:00Z", "submission_started", "a3", "p2", TAX_ID),
        body={"process_id": "p2", "type": "individual", "revenue": "1_to_2"},
    )
    yield _attempt(
        "2026-03-08T10:01:00Z", "submission_finished", "a3", "p2", TAX_ID, error="timeout"
    )
    yield _review("2026-03-09T09:00:00Z", "e4", "p3", "s1", "PENDING", asked)
    yield (
        "2026-03-10T09:00:00Z",
        delivery(b'{"type": 1', occurred_at=_at("2026-03-10T09:00:00Z"), recorded_by="webhook"),
    )


def _review(
    at: str,
    event: str,
    process: str,
    seller: str,
    status: str,
    fields: list[str],
    kind: str = "ACP",
) -> tuple[str, Draft]:
    return _delivery(
        at,
        {
            "id": event,
            "type": "regulatory.registration.review.required",
            "created_at": "2026-03-01T09:00:00Z",
            "payload": {
                "object": {
                    "type": {
                        "ACP": "REGISTRATION_REVIEW_REQUIRED",
                        "ACI": "INCONSISTENT_DATA_UPDATE_REQUIRED",
                    }[kind],
                    "process_id": process,
                    "customer_id": seller,
                    "status": status,
                    "deadline_at": {"ACP": "2026-04-30T09:00:00Z", "ACI": "2026-03-31T09:00:00Z"}[
                        kind
                    ],
                    "requested_fields": fields,
                }
            },
        },
    )


def _delivery(at: str, event: dict[str, Any]) -> tuple[str, Draft]:
    body = json.dumps(event).encode()
    return at, delivery(body, occurred_at=_at(at), recorded_by="webhook")


def _journey(process: str, seller: str, journey: str, step: str) -> dict[str, Any]:
    return {
        "process_id": process,
        "seller_id": seller,
        "journey_id": journey,
        "step": step,
        "channel": "web_form",
        "source": "seller",
        "actor": "Mariana Souza",
    }


def _attempt(
    at: str, kind: str, attempt: str, process: str, seller: str, **more: Any
) -> tuple[str, Draft]:
    return _line(at, kind, attempt_id=attempt, process_id=process, seller_id=seller, **more)


def _line(at: str, kind: str, **content: Any) -> tuple[str, Draft]:
    line = json.dumps({"kind": kind, "occurred_at": at, **content}).encode()
    return at, read_line(line, recorded_by="history.ndjson")


def _at(text: str) -> int:
    instant = instants.parse(text)
    assert instant is not None
    return instant
