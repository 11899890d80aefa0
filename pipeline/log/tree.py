"""Computes the Merkle tree over the log's leaves, with the hashes of RFC 9162. Pure: no storage.

A tree of n leaves is kept as its *frontier*: the roots of the perfect subtrees that n's binary
digits name, largest first. Appending a leaf takes O(1) hashes on average, and the root follows
from the frontier. The caller gets the root of each full subtree of 256^k leaves as it fills. With
these stored, it can prove any leaf without hashing the whole log again.
"""

import base64
import bisect
import functools
import hashlib
import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
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

Nodes = Callable[[int, int, int], list[bytes]]
"""(level, first position, last) -> the nodes of a stored level that are there, in order."""

REMEMBERED_BLOCKS: Final = 1024
"""Of 256 nodes each, while proofs are made: 30 MB at most."""


def leaf_hash(leaf: bytes) -> bytes:
    """The hash of one leaf, 32 bytes (RFC 9162, section 2.1.1)."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of a node over its two children, 32 bytes (RFC 9162, section 2.1.1)."""
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
        """Appends leaves; returns the subtrees of stored levels that they completed."""
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
        """The root of the whole tree; `EMPTY_ROOT` without leaves."""
        return _joined(self.peaks)

    @classmethod
    def at(cls, size: int, subtree: Subtree) -> Self:
        """The frontier that the tree had at an earlier size."""
        return cls(size, _peaks(0, size, subtree))


def subtrees(nodes: Nodes, lacks: Callable[[int, int], Exception]) -> Subtree:
    """Roots of full subtrees, from the nodes of stored levels; what was read is remembered.
    `lacks`: what to raise where a node is not stored."""

    @functools.lru_cache(maxsize=REMEMBERED_BLOCKS)
    def block(level: int, number: int) -> list[list[bytes]]:
        """Up to 256 stored nodes of a level, side by side, and the levels above them."""
        first = number << STORED_LEVELS
        row = nodes(level, first, first + (1 << STORED_LEVELS) - 1)
        levels = [row]
        while len(row) > 1:
            row = list(map(node_hash, row[::2], row[1::2]))
            levels.append(row)
        return levels + [[]] * (STORED_LEVELS - len(levels))

    def subtree(level: int, position: int) -> bytes:
        stored, above = level - level % STORED_LEVELS, level % STORED_LEVELS
        within = STORED_LEVELS - above
        row = block(stored, position >> within)[above]
        place = position & (1 << within) - 1
        if place >= len(row):
            raise lacks(level, position)
        return row[place]

    return subtree


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
    (RFC 9162, section 2.1.3.1). Raises ValueError for an index outside the tree."""
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


def batch_proof(indices: Sequence[int], size: int, subtree: Subtree) -> Iterator[bytes]:
    """The hashes that lead from many leaves at once to the root of the first `size` leaves: from
    left to right, the root of each largest subtree in which none of them is.

    `indices`: of the leaves, in order. A verifier goes the same way down from the root: into every
    subtree that holds one of the leaves, and past every other with the next hash. Raises ValueError
    for indices that are not in order, or outside the tree.
    """
    is_in_order = all(map(operator.lt, indices, itertools.islice(indices, 1, None)))
    if not is_in_order or (indices and not 0 <= indices[0] <= indices[-1] < size):
        raise ValueError(f"these are not places of leaves in a tree of {size}, in order")
    ways = [(0, size, 0, len(indices))]
    while ways:
        start, end, first, behind = ways.pop()
        if first == behind:
            yield _joined(_peaks(start, end, subtree))
        elif behind - first < end - start:
            middle = start + _split(end - start)
            between = bisect.bisect_left(indices, middle, first, behind)
            ways.append((middle, end, between, behind))
            ways.append((start, middle, first, between))


def newest_proof(peaks: Sequence[bytes]) -> list[bytes]:
    """The inclusion proof of the newest leaf, from the peaks of the tree that it was appended to:
    on its way to the root it has every one of them to its left."""
    return list(reversed(peaks))


def root_over_newest(leaf: bytes, proof: Sequence[bytes]) -> bytes:
    """The root that a newest leaf and its proof lead to; `leaf` is its hash."""
    root = leaf
    for peak in proof:
        root = node_hash(peak, root)
    return root


def consistency_proof(old: int, new: int, subtree: Subtree) -> list[bytes]:
    """The hashes that prove that the first `old` of `new` leaves are unchanged (RFC 9162, section
    2.1.4.1); none if the sizes are equal. Raises ValueError unless 0 < old <= new.
    """
    if not 0 < old <= new:
        raise ValueError(f"a tree of {old} leaves is not the beginning of a tree of {new}")
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
    if start:  # otherwise this is the whole old tree, and the verifier has its root already
        proof.append(_joined(_peaks(start, end, subtree)))
    return proof[::-1]


def _split(size: int) -> int:
    """The largest power of two smaller than `size`: where RFC 9162 divides a tree."""
    return 1 << (size - 1).bit_length() - 1


TLOG_PROOF: Final = "c2sp.org/tlog-proof@v1"
_INDEX: Final = re.compile("index (0|[1-9][0-9]{0,15})")


def tlog_proof(index: int, proof: Sequence[bytes], checkpoint: str) -> str:
    """The text of an inclusion proof with its signed checkpoint (C2SP tlog-proof)."""
    hashes = "".join(f"{base64.b64encode(it).decode()}\n" for it in proof)
    return f"{TLOG_PROOF}\nindex {index}\n{hashes}\n{checkpoint}"


class TlogProof(NamedTuple):
    """What a `tlog_proof` says."""

    leaf: int
    hashes: list[bytes]
    checkpoint: str

    @classmethod
    def read(cls, text: str) -> Self:
        """Reads such a text; ValueError for any other."""
        proof, blank, checkpoint = text.partition("\n\n")
        first, *lines = proof.split("\n")
        if first != TLOG_PROOF or not blank or not lines or not _INDEX.fullmatch(lines[0]):
            raise ValueError(f"not a proof: {TLOG_PROOF}, an index and hashes are expected")
        hashes = [base64.b64decode(it, validate=True) for it in lines[1:]]
        spelled = [base64.b64encode(it).decode() for it in hashes]
        if spelled != lines[1:] or any(len(it) != HASH_BYTES for it in hashes):
            raise ValueError("not a proof: one of its hashes is not a SHA-256")
        return cls(int(lines[0].removeprefix("index ")), hashes, checkpoint)


class Roots:
    """Rebuilds the tree from the leaves, and keeps its root at each of the given sizes."""

    def __init__(self, sizes: set[int]) -> None:
        self._sizes = sorted(sizes, reverse=True)
        self.at: dict[int, tuple[bytes, list[bytes]]] = {}
        self.nodes: list[Node] = []
        self.frontier = Frontier()

    def extend(self, leaves: Sequence[bytes]) -> None:
        """Appends leaves, in the order of the log."""
        hashes = [leaf_hash(it) for it in leaves]
        done, before = 0, self.frontier.size
        while self._sizes and self._sizes[-1] <= before + len(hashes):
            size = self._sizes.pop()
            self.nodes += self.frontier.extend(hashes[done : size - before])
            done = size - before
            self.at[size] = (self.frontier.root(), list(self.frontier.peaks))
        self.nodes += self.frontier.extend(hashes[done:])
