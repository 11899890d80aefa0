"""A seller with one of everything that the log can hold of a person, and another one beside."""

import json
from pathlib import Path
from typing import Any, Final

from pipeline import instants
from pipeline.inbox import Inbox
from pipeline.inbox.artifacts import artifact_store
from pipeline.log.artifacts import keep_file
from pipeline.log.deliveries import replay
from pipeline.log.entries import Draft
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.ndjson import read_line
from pipeline.settings import Settings

SELLER: Final = "sel_1"
PROCESS: Final = "prc_1"
OTHER: Final = "sel_10"

WORDS: Final = (
    *("Mariana", "Quintela", "52998224725", "11987654321", "1990-01-02", "Flores", "zezinha"),
    *("Olinda", "1234.5", "6789.25", "55501.75", "of-zezinha"),
    *("11444777000161", "Doces Quitanda", "quitanda@", "551122223333", "Rua do Sol"),
)
"""All that the history says of the person, one word of each value."""

SCREEN: Final = b"\x89PNG Mariana answers"
SHARED: Final = b"\x89PNG the same terms for everybody"
BROKEN: Final = '{"id":"e9","payload":{"object":{"id":"sel_1","first_name":"Mariana"'
OF_ANOTHER: Final = '{"id":"e8","payload":{"object":{"id":"sel_10","first_name":"Joana"'
UNREADABLE: Final = {
    "id": "e7",
    "type": "seller.updated",
    "payload": {"object": {"id": SELLER, "first_name": "Mariana", "resource": "seller"}},
}
"""What an older release could not read, and this one can."""

_RECORD: Final = {
    "id": SELLER,
    "resource": "seller",
    "status": "active",
    "type": "individual",
    "first_name": "Mariana",
    "last_name": "Quintela",
    "email": "Mariana.Quintela@example.com",
    "taxpayer_id": "52998224725",
    "phone_number": "11987654321",
    "birthdate": "1990-01-02",
    "address": {"line1": "Rua das Flores 12"},
    "metadata": {"nick": "zezinha"},
    "account_balance": 1234.5,
    "current_balance": 6789.25,
    "revenue": 55501.75,
    "uri": "/v1/sellers/of-zezinha",
    "document_number": {"of": "Mariana"},
    "ein": "11444777000161",
    "business_name": "Doces Quitanda",
    "business_email": "quitanda@example.com",
    "business_phone": "551122223333",
    "business_address": {"line1": "Rua do Sol 9"},
    "owner": {"first_name": "Mariana", "taxpayer_id": 52998224725},
}
_REVIEW: Final = {
    "type": "REGISTRATION_REVIEW_REQUIRED",
    "process_id": PROCESS,
    "customer_id": SELLER,
    "status": "PENDING",
    "deadline_at": "2026-05-01T09:00:00Z",
    "requested_fields": ["revenue", "address"],
}
_ANSWERS: Final = {
    "revenue": "1000_to_5000",
    "address": {"line1": "Rua das Flores 12", "city": "Olinda"},
}


def event(at: str, name: str, kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """The line of a delivery."""
    body = {"id": name, "type": kind, "created_at": at, "payload": {"object": record}}
    return {"kind": "webhook", "occurred_at": at, "body": body}


def returned(name: str) -> dict[str, Any]:
    """The line of what the platform says of the seller once more, later."""
    said = {"id": SELLER, "first_name": "Mariana"}
    return event("2026-06-01T09:00:00Z", name, "seller.updated", said)


def add_lines(inbox: Inbox, *lines: dict[str, Any], recorded_by: str = "file") -> None:
    inbox.append([read_line(json.dumps(it).encode(), recorded_by=recorded_by) for it in lines])


def review(at: str, name: str, **more: Any) -> dict[str, Any]:
    """The line of a review event of the process."""
    kind = "regulatory.registration.review.required"
    return event(at, name, kind, _REVIEW | more)


def history(*, is_finished: bool = True) -> list[dict[str, Any]]:
    """The lines, in order. The review is answered, and the platform takes that, if so."""
    sent = {"process_id": PROCESS, "type": "individual", **_ANSWERS}
    of_process = {"process_id": PROCESS, "seller_id": SELLER}
    artifacts = [
        {"name": "mariana.png", "media_type": "image/png", "path": "screen.png"},
        {"name": "terms.png", "media_type": "image/png", "path": "terms.png"},
    ]
    lines: list[dict[str, Any]] = [
        event("2026-03-01T09:00:00Z", "e1", "seller.created", _RECORD),
        event("2026-03-01T09:30:00Z", "e2", "seller.created", _RECORD | {"address": "Olinda"}),
        event("2026-03-01T10:00:00Z", "e3", "seller.created", {"id": OTHER, "first_name": "Joana"}),
        review("2026-03-02T09:00:00Z", "e4"),
        review("2026-03-02T09:00:01Z", "e4"),
        {
            "kind": "collection",
            "occurred_at": "2026-03-05T10:00:00Z",
            **of_process,
            "journey_id": "j1",
            "step": "answered",
            "channel": "web_form",
            "source": "seller",
            "actor": "Mariana Quintela",
            "fields": _ANSWERS,
            "artifacts": artifacts,
        },
        {
            "kind": "collection",
            "occurred_at": "2026-03-05T11:00:00Z",
            "process_id": "prc_10",
            "seller_id": OTHER,
            "journey_id": "j2",
            "step": "answered",
            "channel": "web_form",
            "source": "seller",
            "fields": {"revenue": "up_to_1000"},
            "artifacts": artifacts[1:],
        },
        {
            "kind": "submission_started",
            "occurred_at": "2026-03-06T10:00:00Z",
            **of_process,
            "attempt_id": "a1",
            "marketplace_id": "m1",
            "idempotency_key": PROCESS,
            "body": sent,
        },
        {
            "kind": "submission_finished",
            "occurred_at": "2026-03-06T10:00:02Z",
            "process_id": PROCESS,
            "attempt_id": "a1",
            "status": 200 if is_finished else 500,
            "error": None,
            "body": {"received": sent, "of": "Mariana Quintela"},
        },
        {
            "kind": "note",
            "occurred_at": "2026-03-06T11:00:00Z",
            **of_process,
            "actor": "bia",
            "reason": "Mariana called from 11987654321",
        },
        {
            "kind": "ticket",
            "occurred_at": "2026-03-06T12:00:00Z",
            **of_process,
            "actor": "bia",
            "step": "opened",
            "number": "T-1",
        },
        {"kind": "webhook", "occurred_at": "2026-03-06T12:00:00Z", "body": BROKEN},
        {"kind": "webhook", "occurred_at": "2026-03-06T12:00:00Z", "body": OF_ANOTHER},
    ]
    if is_finished:
        lines.append(review("2026-03-07T09:00:00Z", "e5", status="FINISHED"))
    return lines


def named_by_other(digest: str) -> Draft:
    """A collection of another seller that names bytes by their digest."""
    said = {
        **{"kind": "collection", "occurred_at": "2026-03-06T10:00:00Z"},
        **{"process_id": "prc_10", "seller_id": OTHER, "journey_id": "j10", "actor": "Joana"},
        **{"step": "answered", "channel": "web_form", "source": "seller"},
        "artifacts": [{"name": "a.png", "media_type": "image/png", "sha256": digest}],
    }
    return read_line(json.dumps(said).encode(), recorded_by="token")


def link(inbox: Inbox, ref: str, *, seller_id: str = SELLER, **more: Any) -> None:
    """A link to the seller's page, with these columns."""
    of_link = {"ref": ref, "token_sha256": ref, "process_id": PROCESS, "seller_id": seller_id}
    of_link |= {"channel": "email", "review": "{}", "minted_at": 1, "expires_at": 2} | more
    places = ", ".join(f"${number}" for number in range(1, len(of_link) + 1))
    sql = f"insert into journeys ({', '.join(of_link)}) values ({places})"
    inbox.execute(sql, *of_link.values())


def record(settings: Settings, inbox: Inbox, folder: Path, *, is_finished: bool = True) -> None:
    """Records the history, and a delivery that was in quarantine until it could be read."""
    (folder / "screen.png").write_bytes(SCREEN)
    (folder / "terms.png").write_bytes(SHARED)
    keep = keep_file(artifact_store(settings, inbox), folder)
    lines = [json.dumps(it).encode() for it in history(is_finished=is_finished)]
    inbox.append([read_line(it, recorded_by="file", keep=keep) for it in lines])
    body = json.dumps(UNREADABLE).encode()
    [receipt] = inbox.append(
        [
            Draft(
                QUARANTINE,
                instants.parse("2026-03-06T13:00:00Z"),
                "webhook",
                body,
                {"reason": "an older release could not read it"},
            )
        ]
    )
    assert receipt.entry is not None
    again = replay(receipt.entry, recorded_by="ana")
    assert again is not None
    inbox.append([again])


ERASED: Final = {
    "webhook": 6,
    "collection": 1,
    "submission_started": 1,
    "submission_finished": 1,
    "note": 1,
    "quarantine": 2,
}
"""How many entries of each kind say something of the person: e1, e2, e4 twice, e5 and e7, and in
quarantine e7 and what breaks off."""
