"""The Merkle tree over the log's leaves, RFC 9162 hashing. Pure: no storage, no clock.

A tree of n leaves is kept as its *frontier*: the roots of the perfect subtrees that n's binary
digits name, largest first. Appending is O(1) hashes a leaf on average, and the root follows from
the frontier. Roots of full subtrees of 256^k leaves are handed out as they fill, so that whoever
stores them can prove any leaf without hashing the whole log again.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Self

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
        if not self.peaks:
            return EMPTY_ROOT
        *rest, root = self.peaks
        for peak in reversed(rest):
            root = node_hash(peak, root)
        return root

    @classmethod
    def at(cls, size: int, subtree: Subtree) -> Self:
        """The frontier the tree had at an earlier size."""
        peaks, start = [], 0
        for level in reversed(range(size.bit_length())):
            if size >> level & 1:
                peaks.append(subtree(level, start >> level))
                start += 1 << level
        return cls(size, peaks)
