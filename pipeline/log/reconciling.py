"""Makes the drafts that record lost entries once more, and says which head an abandoned past had.

An inbox that was put back from an older copy lacks entries that the ledger still holds. Each is
recorded again, with its own instant and bytes, and names by number and digest what it was. From
these digests anybody can work out the roots of the past that was abandoned.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Self

from pipeline import instants
from pipeline.contract.body import JsonValue, parse_json
from pipeline.log import erasures, tree
from pipeline.log.actions import action
from pipeline.log.deliveries import replay_key, supply_key
from pipeline.log.entries import ARE_REMAINS, Draft, Entry, draft_again
from pipeline.log.kinds.erasure import ERASURE
from pipeline.log.kinds.reconciliation import RECONCILIATION
from pipeline.log.kinds.supply import SUPPLY

WAS: Final = frozenset({"was_seq", "was_leaf", "was_recorded_at", "was_recorded_by"})
"""What an entry that was recorded again says of the one that was lost; no part of its content."""


class Reconciliation(NamedTuple):
    """What a reconciliation's entry says."""

    seq: int
    fork: int  # the last entry that both pasts share
    abandoned_size: int  # how far the abandoned past is known to have gone
    abandoned_root: bytes
    reached: int  # the newest of its entries that anybody is known to have written

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """Reads it from its entry."""
        said = parse_json(entry.body or b"")
        size, root = said["abandoned_size"], bytes.fromhex(said["abandoned_root"])
        return cls(entry.seq, said["fork"], size, root, said.get("reached", size))


def reconciliation(
    *,
    fork: int,
    abandoned_size: int,
    abandoned_root: bytes,
    recorded_again: int,
    reached: int,
    checkpoint: str | None,
    reason: str,
    actor: str | None,
    recorded_by: str,
) -> Draft:
    """The draft that says: the inbox had lost what followed entry `fork`, and has it again.

    `abandoned_size`, `abandoned_root`: of the past that is given up, as far as its root is known.
    `reached`: its newest entry that anybody is known to have written; as large at least.
    `recorded_again`: how many of its entries follow; the others are lost. `checkpoint`: the newest
    one that is known to be signed over it. Raises `CallerError` like `action`. Made again, it is
    recorded once.
    """
    draft = action(
        RECONCILIATION,
        reason=reason,
        actor=actor,
        recorded_by=recorded_by,
        fork=fork,
        abandoned_size=abandoned_size,
        abandoned_root=abandoned_root.hex(),
        recorded_again=recorded_again,
        reached=reached,
        lost=reached - fork - recorded_again,
        checkpoint=checkpoint,
    )
    named = b"reconciliation %d %d " % (fork, abandoned_size)
    if reached > abandoned_size:
        named += b"%d " % reached
    return draft._replace(ingest_key=hashlib.sha256(named + abandoned_root).digest())


def recorded_again(entries: Iterable[Entry]) -> dict[bytes, int]:
    """Of each entry that was recorded again among these: leaf hash of the lost one -> seq now."""
    named = ((it.particulars.get("was_leaf"), it.seq) for it in entries)
    return {bytes.fromhex(leaf): seq for leaf, seq in named if leaf is not None}


def again(lost: Entry, seqs: Mapping[int, int], fork: int, *, recorded_by: str) -> Draft:
    """The draft of a lost entry: the same occurrence, with its own instant, bytes, ids and key. Of
    one whose bytes were erased, what stays of them is recorded.

    `fork`: the last entry that was not lost. `seqs`: lost seq -> seq now, of the deliveries in
    quarantine that were recorded again; what read or supplied one of them has its key by the new
    seq, and names it so.
    """
    particulars: dict[str, JsonValue] = dict(lost.particulars)
    key = lost.ingest_key
    if particulars.get("replay_of") in seqs:
        particulars["replay_of"] = seqs[particulars["replay_of"]]
        key = replay_key(particulars["replay_of"])
    elif lost.kind == SUPPLY and (of := parse_json(lost.received or b"{}").get("of")) in seqs:
        key = supply_key(seqs[of])
    elif lost.kind == ERASURE:
        particulars = erasures.up_to(particulars, fork)
    if lost.is_erased:
        particulars[ARE_REMAINS] = True
    was: dict[str, JsonValue] = {
        "was_seq": lost.seq,
        "was_leaf": tree.leaf_hash(lost.leaf).hex(),
        "was_recorded_at": instants.canonical(lost.recorded_at),
        "was_recorded_by": lost.recorded_by,
    }
    return draft_again(lost, {**particulars, **was})._replace(
        recorded_by=recorded_by, ingest_key=key or _key_of_lost(lost)
    )


def apart(draft: Draft, lost: Entry) -> Draft:
    """The same where an entry of the new past has its key by now: with another, that nothing else
    has. What the lost one said must not be missing because it was said again since."""
    return draft._replace(ingest_key=_key_of_lost(lost))


def _key_of_lost(lost: Entry) -> bytes:
    return hashlib.sha256(b"lost " + lost.leaf).digest()


def abandoned_root(shared: tree.Frontier, entries: Iterable[Entry], size: int) -> bytes | None:
    """The root that the abandoned past had at a size, from the entries that were recorded again;
    None where one of them is missing.

    `shared`: the tree up to the fork; it grows.
    """
    for entry in entries:
        known = entry.particulars
        if shared.size == size or known.get("was_seq") != shared.size + 1:
            continue
        shared.extend([bytes.fromhex(known["was_leaf"])])
    return shared.root() if shared.size == size else None
