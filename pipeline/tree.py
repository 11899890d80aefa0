"""The Merkle tree over the log's leaves, RFC 9162 hashing. Pure: no storage, no clock.

A tree of n leaves is kept as its *frontier*: the roots of the perfect subtrees that n's binary
digits name, largest first. Appending is O(1) hashes a leaf on average, and the root follows from
the frontier. Roots of full subtrees of 256^k leaves are handed out as they fill, so that whoever
stores them can prove any leaf without hashing the whole log again.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, Self

HASH_BYTES = 32
STORED_LEVELS = 8
"""Every 8th level is stored: subtrees of 256, 65,536, 16,777,216 ... leaves."""


class Node(NamedTuple):
    """The root of a full subtree: of `2**level` leaves from leaf `position * 2**level` on."""

    level: int
    position: int
    hash: bytes


Subtree = Callable[[int, int], bytes]
"""(level, position) -> the root of that full subtree, from wherever it is stored."""


def leaf_hash(leaf: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


EMPTY_ROOT = hashlib.sha256(b"").digest()


class Frontier:
    """A growing tree of `size` leaves."""

    def __init__(self, size: int = 0, peaks: Sequence[bytes] = ()) -> None:
        """`peaks`: hashes of the perfect subtrees, largest first; ValueError if they don't fit."""
        if len(peaks) != size.bit_count():
            raise ValueError(f"a tree of {size} leaves has {size.bit_count()} peaks")
        self.size = size
        self.peaks = list(peaks)

    def extend(self, leaf_hashes: Iterable[bytes]) -> list[Node]:
        """Appends leaves; returns the stored-level subtrees that they completed."""
        completed: list[Node] = []
        peaks, size = self.peaks, self.size
        for current in leaf_hashes:
            level, carried = 0, size
            while carried & 1:
                current = node_hash(peaks.pop(), current)
                level += 1
                carried >>= 1
                if level % STORED_LEVELS == 0:
                    completed.append(Node(level, carried, current))
            peaks.append(current)
            size += 1
        self.size = size
        return completed

    def root(self) -> bytes:
        return _joined(self.peaks)

    @classmethod
    def at(cls, size: int, subtree: Subtree) -> Self:
        """The frontier the tree had at an earlier size."""
        return cls(size, _peaks(0, size, subtree))


def _joined(peaks: Sequence[bytes]) -> bytes:
    """The root over perfect subtrees that stand side by side, largest first."""
    if not peaks:
        return EMPTY_ROOT
    *rest, root = peaks
    for peak in reversed(rest):
        root = node_hash(peak, root)
    return root


def _peaks(start: int, end: int, subtree: Subtree) -> list[bytes]:
    """The perfect subtrees over leaves `start` to `end`, where `start` is aligned to them all."""
    peaks = []
    for level in reversed(range((end - start).bit_length())):
        if end - start >> level & 1:
            peaks.append(subtree(level, start >> level))
            start += 1 << level
    return peaks


# --- proofs ----------------------------------------------------------------------------------


def inclusion_proof(index: int, size: int, subtree: Subtree) -> list[bytes]:
    """The hashes that lead from leaf `index` to the root of the first `size` leaves, lowest first
    (RFC 9162, section 2.1.3.1). ValueError outside of the tree."""
    if not 0 <= index < size:
        raise ValueError(f"there is no leaf {index} in a tree of {size}")
    proof: list[bytes] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            proof.append(_joined(_peaks(middle, end, subtree)))
            end = middle
        else:
            proof.append(_joined(_peaks(start, middle, subtree)))
            start = middle
    return proof[::-1]


def consistency_proof(old: int, new: int, subtree: Subtree) -> list[bytes]:
    """The hashes that show the first `old` leaves to be unchanged among the first `new` ones
    (RFC 9162, section 2.1.4.1); none where the sizes are equal. ValueError unless 0 < old <= new.
    """
    if not 0 < old <= new:
        raise ValueError(f"a tree of {old} leaves is no beginning of one of {new}")
    proof: list[bytes] = []
    start, end = 0, new
    while end != old:
        middle = start + _split(end - start)
        if old <= middle:
            proof.append(_joined(_peaks(middle, end, subtree)))
            end = middle
        else:
            proof.append(_joined(_peaks(start, middle, subtree)))
            start = middle
    if start:  # otherwise it is the whole old tree, whose root the verifier holds already
        proof.append(_joined(_peaks(start, end, subtree)))
    return proof[::-1]


def _split(size: int) -> int:
    """The largest power of two smaller than `size`: where RFC 9162 divides a tree."""
    return 1 << (size - 1).bit_length() - 1


TLOG_PROOF: Final = "c2sp.org/tlog-proof@v1"


def tlog_proof(index: int, proof: Sequence[bytes], checkpoint: str) -> str:
    """An inclusion proof and the signed checkpoint it leads to, as one text (C2SP tlog-proof)."""
    hashes = "".join(f"{base64.b64encode(it).decode()}\n" for it in proof)
    return f"{TLOG_PROOF}\nindex {index}\n{hashes}\n{checkpoint}"
