"""Decides which entry a delivered body becomes: a webhook, or a quarantined one with its reason."""

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.contract.body import JsonValue, canonical_json, parse_json
from pipeline.contract.encodings import decoded
from pipeline.contract.event_types import REVIEW_REQUIRED
from pipeline.contract.events import identify, read_event
from pipeline.contract.fields import flatten
from pipeline.contract.readings import (
    MISSING,
    code,
    platform_id,
    requested_fields,
)
from pipeline.errors import CallerError, Unreadable
from pipeline.log.actions import action
from pipeline.log.entries import LIVE, Draft, Entry
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.kinds.supply import SUPPLY
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.texts import for_anybody

JSON: Final = b"application/json"
"""The content type of a delivery that says no other."""

_CONTENT_TYPE: Final = re.compile(rb"[!-~][ -~]{0,199}")


class Delivery(NamedTuple):
    """The bytes of a delivered body, not parsed yet."""

    body: bytes
    occurred_at: int
    recorded_by: str
    content_type: bytes = JSON

    def draft(self) -> Draft:
        """Parses the body and returns its draft (see `delivery`)."""
        said = self.content_type
        is_json = said == JSON or not _CONTENT_TYPE.fullmatch(said)
        return delivery(
            self.body,
            occurred_at=self.occurred_at,
            recorded_by=self.recorded_by,
            particulars=None if is_json else {"content_type": for_anybody(said.decode("ascii"))},
        )


def delivery(
    body: bytes,
    *,
    occurred_at: int,
    recorded_by: str,
    particulars: Mapping[str, JsonValue] | None = None,
    origin: str = LIVE,
    ingest_key: bytes | None = None,
) -> Draft:
    """The draft for one delivered body: a webhook, or a quarantined one with its reason.

    Nothing else depends on what the body says (docs/rules.md#deliveries).
    """
    known = dict(particulars or {})
    try:
        identity = identify(body)
    except Unreadable as unreadable:
        return Draft(
            kind=QUARANTINE,
            occurred_at=occurred_at,
            recorded_by=recorded_by,
            body=body,
            particulars={**known, "reason": unreadable.what},
            origin=origin,
            ingest_key=ingest_key,
        )
    return Draft(  # the most frequent: by name it takes a third longer
        WEBHOOK,
        occurred_at,
        recorded_by,
        body,
        known,
        origin,
        identity.event_id,
        process_id=identity.process_id,
        seller_id=identity.seller_id,
        ingest_key=ingest_key,
    )


def replay(quarantined: Entry, *, recorded_by: str) -> Draft | None:
    """The webhook draft of a quarantined body that can be read now, or None if it still cannot.

    The inbox records it once, however often a replay is asked for.
    """
    again = _replay(quarantined, quarantined.received or b"", {}, recorded_by)
    return again if again.kind == WEBHOOK else None


def supply(
    quarantined: Entry,
    supplied: Mapping[str, JsonValue],
    *,
    encoding: str | None = None,
    reason: str,
    actor: str | None,
    recorded_by: str,
) -> tuple[Draft, Draft]:
    """Two entries that belong together: who supplied what a quarantined delivery lacks (dotted
    path -> value), or said in which encoding it is, one of `ENCODINGS`; and the delivery with
    that, as of its own receipt.

    Only what is missing or unreadable can be supplied: nobody puts words into the platform's
    mouth. Raises `CallerError` for anything else, where the delivery still cannot be read, or where
    what is supplied would not be: it stands, and a mistake could not be corrected.
    """
    body = quarantined.received or b""
    said: dict[str, JsonValue] = {}
    if encoding is not None:
        body = _in_utf_8(quarantined, encoding)
        said["encoding"] = encoding
    parts = dict(flatten(supplied))
    if supplied:
        content = _object_of(quarantined, body)
        for path, value in parts.items():
            _fill(content, path, value)
        body = canonical_json(content)
        said["supplied"] = sorted(supplied)
    whole = _replay(quarantined, body, said, recorded_by)
    if whole.kind != WEBHOOK:
        raise CallerError(
            f"Delivery {quarantined.seq} still cannot be read",
            whole.particulars["reason"],
            "supply that as well, in the same command"
            if supplied
            else "try another encoding, or supply what is missing in the same command (--supply)",
        )
    _check_parts(whole.body or b"", parts)
    supplying = action(
        SUPPLY,
        reason=reason,
        actor=actor,
        recorded_by=recorded_by,
        process_id=whole.process_id,
        seller_id=whole.seller_id,
        of=quarantined.seq,
        **({"encoding": encoding} if encoding is not None else {}),
        supplied=dict(supplied),
    )
    return supplying._replace(ingest_key=supply_key(quarantined.seq)), whole


def supply_key(seq: int) -> bytes:
    """The ingest key of the entry by which a person supplies a delivery in quarantine, once."""
    return hashlib.sha256(b"supply of %d" % seq).digest()


def replay_key(seq: int) -> bytes:
    """The ingest key of what a delivery in quarantine says once it can be read, once."""
    return hashlib.sha256(b"replay of %d" % seq).digest()


def _replay(
    quarantined: Entry, body: bytes, particulars: Mapping[str, JsonValue], recorded_by: str
) -> Draft:
    return delivery(
        body,
        occurred_at=quarantined.occurred_at,
        recorded_by=recorded_by,
        particulars={"replay_of": quarantined.seq, **particulars},
        origin=quarantined.origin,
        ingest_key=replay_key(quarantined.seq),
    )


def _in_utf_8(quarantined: Entry, encoding: str) -> bytes:
    """The bytes of a quarantined delivery, read in an encoding; raises `CallerError` where they
    are not in it."""
    try:
        return decoded(quarantined.received or b"", encoding).encode("utf-8")
    except Unreadable as unreadable:
        raise CallerError(
            f"Delivery {quarantined.seq} was not read",
            unreadable.what,
            "read it in another encoding, or as it is with `prazo quarantine --replay`",
        ) from None


def _object_of(quarantined: Entry, body: bytes) -> dict[str, JsonValue]:
    """What a quarantined delivery says; raises `CallerError` where no part can complete it."""
    try:
        content = parse_json(body)
    except Unreadable as unreadable:
        content, why = None, unreadable.what
    else:
        why = "not a JSON object"
    if not isinstance(content, dict):
        raise CallerError(
            f"Nothing can be supplied to delivery {quarantined.seq}",
            why,
            "say in which encoding it is (--encoding), or ask the platform to send it again",
        )
    return content


def _fill(content: dict[str, JsonValue], path: str, value: JsonValue) -> None:
    *above, name = path.split(".")
    for key in above:
        if not isinstance(content.get(key), dict):
            content[key] = {}  # nothing but an object could be read there
        content = content[key]
    there = content.get(name)
    read = _READERS.get(name)
    if there is not None and (read is None or read(there) is not None):
        raise CallerError(
            f"{path} was not supplied",
            "the delivery says it already",
            "supply only what is missing or cannot be read",
        )
    content[name] = value


def _check_parts(body: bytes, supplied: Collection[str]) -> None:
    event = read_event(body)
    unread = {
        path for part in event.unreadable if part.found != MISSING for path in _paths(part.part)
    }
    for path in supplied:
        if event.type == REVIEW_REQUIRED and path not in _PARTS:
            why, remedy = "nothing is read there", f"supply one of {', '.join(_PARTS)}"
        elif path in unread:
            why = "the contract shows no such value there"
            remedy = "write an instant like 2026-03-01T09:00:00Z, and a list as JSON"
        else:
            continue
        raise CallerError(f"{path} was not supplied", why, remedy)


def _paths(part: str) -> tuple[str, ...]:
    """Where an unreadable part of an event may stand."""
    name = part.removeprefix("record.")
    return (part,) if part in _ENVELOPE else (f"payload.object.{name}", f"payload.{name}")


_READERS: Final[Mapping[str, Callable[[JsonValue], object]]] = {
    "id": platform_id,
    "type": code,
    "created_at": instants.parse,
    "process_id": platform_id,
    "customer_id": platform_id,
    "status": code,
    "deadline_at": instants.parse,
    "requested_fields": requested_fields,
}
"""What reads each part of a review event: None says that the part cannot be read."""

_ENVELOPE: Final = ("id", "created_at")
_PARTS: Final = (
    "type",
    *_ENVELOPE,
    *(f"payload.object.{name}" for name in _READERS if name not in _ENVELOPE),
)
"""The paths of all that is read of a review event."""
