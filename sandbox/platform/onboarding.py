"""Onboarding, of which the contract names two calls and shows no body: the bodies here are ours.

POST /sellers/individuals      the seller record's own fields, as far as a person knows them;
                               `revenue` is a band. 201 with the seller record
POST /sellers/{id}/documents   {"documents": [{"type": "identity", "content": base64}]}.
                               202; the analysis begins
"""

import base64
import binascii
from collections.abc import Iterator
from datetime import date
from typing import Any

from sandbox.people import Address, Profile
from sandbox.platform.judge import Violation, flatten, format_fault, missing, parse_object
from sandbox.platform.state_machine import Answer, Platform, refusal
from sandbox.resources import ADDRESS_FIELDS, Json, seller_record, to_bytes

_NEEDED = ("first_name", "last_name", "taxpayer_id", "birthdate")
_OPTIONAL = ("email", "phone_number", "document_number", "mcc")
_KNOWN = {*_NEEDED, *_OPTIONAL, "type", "revenue", *(f"address.{name}" for name in ADDRESS_FIELDS)}


def create_individual(platform: Platform, body: bytes, now: int) -> Answer:
    """Registers a person: 201 and a `seller.created` event, or 400 with every fault named."""
    document = parse_object(body)
    if document is None:
        return refusal(400, "the body is not a JSON object")
    if violations := [*_faults_of_person(document)]:
        return refusal(400, "invalid registration", violations)
    profile = Profile(
        type="individual",
        **{name: document[name] for name in _NEEDED},
        **{name: document.get(name, "") for name in _OPTIONAL},
        revenue=document["revenue"],
        address=Address(**{"line2": "", **document["address"]}),
    )
    seller = platform.register(profile, now)
    return Answer(201, to_bytes(seller_record(seller, platform.marketplace_id)))


def take_documents(platform: Platform, seller_id: str, body: bytes, now: int) -> Answer:
    """Begins a seller's analysis: 202; 404 for an unknown seller, 409 once it has ended."""
    platform.advance(now)
    seller = platform.sellers.get(seller_id)
    if seller is None or seller.status == "deleted":
        return refusal(404, "no such seller")
    if seller.status != "pending":
        return refusal(409, f"the analysis has ended: the seller is {seller.status}")
    if violations := [*_faults_of_documents(parse_object(body))]:
        return refusal(400, "invalid documents", violations)
    platform.analyse(seller_id, now)
    return Answer(202, to_bytes({"seller_id": seller_id, "status": seller.status}))


def _faults_of_person(document: Json) -> Iterator[Violation]:
    sent = dict(flatten(document))
    for name in (*_NEEDED, "revenue"):
        if name not in sent:
            yield Violation(name, "missing")
    yield from missing("address", sent)
    for path, value in sent.items():
        message = _fault(path, value) if path in _KNOWN else "no field of a registration"
        if message is not None:
            yield Violation(path, message)


def _fault(path: str, value: Any) -> str | None:
    if path == "type":
        return None if value == "individual" else "only individuals are created here"
    if path == "birthdate":
        return None if _is_date(value) else "not a date, such as 1980-12-31"
    if path in _NEEDED or path in _OPTIONAL:
        return None if isinstance(value, str) and value.strip() else "not a text"
    return format_fault(path, value)


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _faults_of_documents(document: Json | None) -> Iterator[Violation]:
    documents = None if document is None else document.get("documents")
    if not isinstance(documents, list) or not documents:
        yield Violation("documents", "not a list with at least one document")
        return
    for number, document in enumerate(documents):
        kind, content = (
            (document.get("type"), document.get("content"))
            if isinstance(document, dict)
            else (None, None)
        )
        if not isinstance(kind, str) or not kind:
            yield Violation(f"documents.{number}.type", "not a text")
        if not _is_base64(content):
            yield Violation(f"documents.{number}.content", "not base64, or empty")


def _is_base64(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(base64.b64decode(value, validate=True))
    except (binascii.Error, ValueError):
        return False
