"""Decides which entries go to an endpoint, and makes the message of one. No I/O.

A message is what came: the delivery's bytes, under the content type that it came with.
"""

import hashlib
from typing import Final

from pipeline.contract.body import canonical_json
from pipeline.contract.events import event_type
from pipeline.errors import Unreadable
from pipeline.forward.endpoints import EVERYTHING, Endpoint
from pipeline.log import tree
from pipeline.log.deliveries import JSON
from pipeline.log.entries import LIVE, QUARANTINE, WEBHOOK, Entry

QUARANTINED: Final = "quarantined"
"""The event type, for filters, of a delivery that cannot be read."""

DELIVERIES: Final = (WEBHOOK, QUARANTINE)


def is_for(entry: Entry, endpoint: Endpoint) -> bool:
    """Whether an entry goes to an endpoint (docs/forwarding.md#what-is-passed-on)."""
    if entry.kind not in DELIVERIES or entry.origin != LIVE or entry.body is None:
        return False
    if entry.is_again and not endpoint.redeliveries:
        return False
    known = entry.particulars
    if "supplied" in known:
        return False  # these bytes are ours: they never came
    if "replay_of" in known and endpoint.takes(QUARANTINED):
        return False  # it has them already
    if EVERYTHING in endpoint.events:
        return True
    return endpoint.takes(_type_of(entry))


def _type_of(entry: Entry) -> str:
    if entry.kind == QUARANTINE:
        return QUARANTINED
    try:
        return event_type(entry.body or b"")
    except Unreadable:  # by a release that read more than this one
        return QUARANTINED


def lane_of(entry: Entry) -> str:
    """What an entry must keep its place in: its seller's deliveries, or nothing but itself."""
    return alone(entry.seq) if entry.seller_id is None else f"seller {entry.seller_id}"


def alone(seq: int) -> str:
    """The lane of an entry that waits for no other."""
    return f"entry {seq}"


def message_id(log: str, entry: Entry, endpoint: str) -> bytes:
    """The same for each try of an entry at an endpoint, and for no other entry or endpoint.

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
