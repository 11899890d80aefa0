"""The Merkle tree against published roots, and against the definition in RFC 9162 section 2.1.1."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.log.tree import Frontier, Node, leaf_hash, node_hash
from tests.log.vectors import LEAVES, ROOTS

unhurried = settings(deadline=None)  # the machine may be busy


def _defined_root(hashes: list[bytes]) -> bytes:
    """MTH of RFC 9162, word for word, over leaves that are hashed already."""
    if not hashes:
        return hashlib.sha256().digest()
    if len(hashes) == 1:
        return hashes[0]
    k = 1
    while k * 2 < len(hashes):
        k *= 2
    left, right = _defined_root(hashes[:k]), _defined_root(hashes[k:])
    return hashlib.sha256(b"\x01" + left + right).digest()


def _hashes(count: int) -> list[bytes]:
    return [leaf_hash(number.to_bytes(4, "big")) for number in range(count)]


@pytest.mark.parametrize("size", range(9))
def test_the_root_of_every_size_is_the_published_one(size: int):
    frontier = Frontier()
    frontier.extend(leaf_hash(leaf) for leaf in LEAVES[:size])
    assert frontier.size == size
    assert frontier.root().hex() == ROOTS[size]


def test_leaves_and_nodes_are_hashed_apart():
    """Without the prefixes a node could be shown as a leaf, and a forged tree have the same root.
    The digest of 0x00 is the published root of one empty leaf."""
    assert leaf_hash(b"").hex() == ROOTS[1]
    assert node_hash(b"", b"").hex() == (
        "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a"  # of the byte 0x01
    )


@unhurried
@given(batches=st.lists(st.integers(0, 40), max_size=12))
def test_however_the_leaves_come_in_batches_the_root_is_that_of_the_definition(batches: list[int]):
    hashes = _hashes(sum(batches))
    frontier, taken = Frontier(), 0
    for count in batches:
        frontier.extend(hashes[taken : taken + count])
        taken += count
        assert frontier.root() == _defined_root(hashes[:taken])


@unhurried
@given(size=st.integers(0, 300))
def test_the_peaks_are_the_roots_of_the_subtrees_that_the_binary_digits_name(size: int):
    hashes = _hashes(size)
    frontier = Frontier()
    frontier.extend(hashes)
    peaks, start = [], 0
    for width in (256, 128, 64, 32, 16, 8, 4, 2, 1):
        if size & width:
            peaks.append(_defined_root(hashes[start : start + width]))
            start += width
    assert frontier.peaks == peaks


@unhurried
@given(size=st.integers(0, 300), more=st.integers(0, 300))
def test_a_frontier_that_was_stored_goes_on_where_it_stopped(size: int, more: int):
    hashes = _hashes(size + more)
    first = Frontier()
    first.extend(hashes[:size])
    second = Frontier(first.size, first.peaks)
    second.extend(hashes[size:])
    assert second.root() == _defined_root(hashes)


def test_a_restored_frontier_does_not_change_the_list_it_was_made_from():
    stored = _hashes(1)
    Frontier(1, stored).extend(_hashes(1))
    assert stored == _hashes(1)


@unhurried
@given(size=st.integers(0, 300))
def test_the_frontier_of_an_earlier_size_is_made_of_stored_subtrees(size: int):
    hashes = _hashes(300)
    asked: list[tuple[int, int]] = []

    def subtree(level: int, position: int) -> bytes:
        asked.append((level, position))
        width = 2**level
        assert (position + 1) * width <= size, "a subtree that did not exist yet"
        return _defined_root(hashes[position * width : (position + 1) * width])

    frontier = Frontier.at(size, subtree)
    assert frontier.size == size
    assert frontier.root() == _defined_root(hashes[:size])
    assert len(asked) == size.bit_count()


def test_full_subtrees_of_256_leaves_are_handed_out_as_they_fill():
    hashes = _hashes(515)
    frontier = Frontier()
    assert frontier.extend(hashes[:255]) == []
    assert frontier.extend(hashes[255:256]) == [Node(8, 0, _defined_root(hashes[:256]))]
    assert frontier.extend(hashes[256:]) == [Node(8, 1, _defined_root(hashes[256:512]))]


def test_a_full_subtree_of_65536_leaves_is_handed_out_once_with_the_256_below_it():
    hashes = _hashes(65_536)
    frontier = Frontier()
    nodes = frontier.extend(hashes)
    assert [it.position for it in nodes if it.level == 8] == list(range(256))
    assert [it for it in nodes if it.level != 8] == [Node(16, 0, frontier.root())]
    assert frontier.root() == _defined_root(hashes)


@pytest.mark.parametrize(("size", "peaks"), [(0, 1), (1, 0), (2, 2), (3, 1), (256, 8)])
def test_a_frontier_with_too_many_or_too_few_peaks_is_refused(size: int, peaks: int):
    with pytest.raises(ValueError, match="peaks"):
        Frontier(size, _hashes(peaks))
