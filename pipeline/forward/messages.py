"""Decides which entries go to an endpoint, and makes the message of one. No I/O.

A message is what came: the delivery's bytes, under the content type that it came with. Steps of the
seller's page are passed on as well, as events of ours, to endpoints that name them.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

from pipeline import instants
from pipeline.contract.body import JsonValue, canonical_json, parse_json
from pipeline.contract.events import event_type
from pipeline.errors import Unreadable
from pipeline.forward.endpoints import EVERYTHING, Endpoint, matches
from pipeline.log import tree
from pipeline.log.deliveries import JSON
from pipeline.log.entries import LIVE, OWN_JOURNEY, Entry
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.kinds.webhook import WEBHOOK

QUARANTINED: Final = "quarantined"
"""The event type, for filters, of a delivery that cannot be read."""

DELIVERIES: Final = (WEBHOOK, QUARANTINE)
PASSED_ON: Final = (*DELIVERIES, COLLECTION)
STEP: Final = "prazo.journey."
"""Begins the event type of a step of the seller's page."""
STEP_VERSION: Final = 1


def _live(kinds: Iterable[str]) -> str:
    listed = ", ".join(f"'{it}'" for it in kinds)
    return f"kind in ({listed}) and origin = '{LIVE}'"


IS_DELIVERY: Final = _live(DELIVERIES)
"""Which entries of the inbox are live deliveries, as a condition in SQL."""
IS_PASSED_ON: Final = _live(PASSED_ON)
"""Likewise, which may be passed on."""


def is_for(entry: Entry, endpoint: Endpoint) -> bool:
    """Whether an entry goes to an endpoint (docs/forwarding.md#what-is-passed-on)."""
    return why_not_for(entry, endpoint) is None


def why_not_for(entry: Entry, endpoint: Endpoint) -> str | None:
    """Why an entry does not go to an endpoint, in words; None where it does."""
    if entry.kind not in PASSED_ON or entry.origin != LIVE or entry.body is None:
        return "it is not a live delivery"
    if entry.is_erased:
        return "what came was erased"
    if entry.kind == COLLECTION:
        step = _step_of(entry)
        if step is None:
            return "it is a collection, and no step of the seller's page"
        # `*` stands for all that the platform sends.
        named = [it for it in endpoint.events if it != EVERYTHING]
        of_step = f"{STEP}{step['step']}"
        return None if any(matches(it, of_step) for it in named) else f"{of_step} is not named"
    if "supplied" in entry.particulars:
        return "a person completed it by hand: its bytes did not come from the platform"
    if entry.is_again and not endpoint.redeliveries:
        return "it is a redelivery, of which it takes none"
    if EVERYTHING in endpoint.events:
        return None
    its_type = _type_of(entry)
    return None if endpoint.takes(its_type) else f"{its_type} is not named"


def _type_of(entry: Entry) -> str:
    if entry.kind == QUARANTINE:
        return QUARANTINED
    try:
        return event_type(entry.body or b"")
    except Unreadable:  # by a release that read more than this one
        return QUARANTINED


def _step_of(entry: Entry) -> dict[str, JsonValue] | None:
    """What a step of the seller's page says; None of any other collection, and of what the page
    added to one, such as pictures."""
    try:
        said = parse_json(entry.body or b"")
    except Unreadable:
        return None
    if not isinstance(said, dict) or said.get("producer") != OWN_JOURNEY:
        return None
    return said if said.get("step") == "invited" or said.get("source") == "seller" else None


def body_of(entry: Entry, endpoint: Endpoint) -> bytes:
    """The bytes that are sent: those that came, or an event of ours without any answer in it.

    Raises `ValueError` for an entry that is not for the endpoint: whatever may be in it, such as a
    seller's answers, there is no message of it.
    """
    why_not = why_not_for(entry, endpoint)
    if why_not is not None or entry.body is None:
        raise ValueError(f"entry {entry.seq} is not for {endpoint.name}: {why_not}")
    if entry.kind != COLLECTION:
        return entry.body
    step = _step_of(entry) or {}
    known = ("journey_id", "step", "channel", "screen", "language", "is_whole", "expires_at")
    data = {
        "process_id": entry.process_id,
        "seller_id": entry.seller_id,
        "seq": entry.seq,
        **{name: step[name] for name in known if name in step},
        "fields": sorted(step.get("fields") or ()),
    }
    return canonical_json(
        {
            "type": f"{STEP}{step['step']}",
            "version": STEP_VERSION,
            "timestamp": instants.canonical(entry.occurred_at),
            "data": data,
        }
    )


def lane_of(entry: Entry) -> str:
    """What an entry must keep its place in: its seller's deliveries, or nothing but itself."""
    return alone(entry.seq) if entry.seller_id is None else f"seller {entry.seller_id}"


def alone(seq: int) -> str:
    """The lane of an entry that waits for no other."""
    return f"entry {seq}"


def replay_of(entry: Entry) -> int | None:
    """The seq of the delivery in quarantine whose bytes an entry could read later; else None."""
    seq: int | None = entry.particulars.get("replay_of")
    return seq


def message_id(log: str, entry: Entry, endpoint: str) -> bytes:
    """The same for each try of an entry at an endpoint, and for no other entry or endpoint.
    `entry`: of what was read again, the one in quarantine: it is not known to which endpoints that
    went, and those that have it drop the same message.

    It is made of the leaf, not of the seq: an inbox that was put back gives that once more. An
    entry that was then recorded again is the message that it was.
    """
    leaf = entry.particulars.get("was_leaf") or tree.leaf_hash(entry.leaf).hex()
    digest = hashlib.sha256(canonical_json([log, endpoint, leaf])).hexdigest()
    return f"msg_{digest[:32]}".encode()


def content_type(entry: Entry) -> bytes:
    """That the delivery came with."""
    said = entry.particulars.get("content_type")
    return said.encode("latin-1") if isinstance(said, str) else JSON
