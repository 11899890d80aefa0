"""Proofs over the tree, against the definitions of RFC 9162 written out and the public vectors."""

import base64
import hashlib

import pymerkle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import verify
from pipeline.log import tree
from tests.log.vectors import LEAVES, ROOTS
from tests.support.inclusion import root_by_inclusion


def root(leaves: list[bytes]) -> bytes:
    """MTH of RFC 9162, section 2.1.1, as it is written there."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = split(len(leaves))
    return hashlib.sha256(b"\x01" + root(leaves[:k]) + root(leaves[k:])).digest()


def split(n: int) -> int:
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def path(m: int, leaves: list[bytes]) -> list[bytes]:
    """PATH of RFC 9162, section 2.1.3.1."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if m < k:
        return [*path(m, leaves[:k]), root(leaves[k:])]
    return [*path(m - k, leaves[k:]), root(leaves[:k])]


def subproof(m: int, leaves: list[bytes], is_whole: bool) -> list[bytes]:
    """SUBPROOF of RFC 9162, section 2.1.4.1."""
    if m == len(leaves):
        return [] if is_whole else [root(leaves)]
    k = split(len(leaves))
    if m <= k:
        return [*subproof(m, leaves[:k], is_whole), root(leaves[k:])]
    return [*subproof(m - k, leaves[k:], False), root(leaves[:k])]


def subtrees(leaves: list[bytes]) -> tree.Subtree:
    return lambda level, position: root(leaves[position << level : position + 1 << level])


def test_roots_are_those_of_the_public_vectors() -> None:
    for size, expected in enumerate(ROOTS):
        frontier = tree.Frontier()
        frontier.extend(tree.leaf_hash(it) for it in LEAVES[:size])
        assert frontier.root().hex() == expected
        assert root(LEAVES[:size]).hex() == expected


def test_inclusion_proofs_are_those_of_the_public_vectors() -> None:
    assert [it.hex() for it in tree.inclusion_proof(5, 8, subtrees(LEAVES))] == [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ]
    assert [it.hex() for it in tree.inclusion_proof(2, 3, subtrees(LEAVES))] == [
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
    ]
    assert tree.inclusion_proof(0, 1, subtrees(LEAVES)) == []


def test_consistency_proofs_are_those_of_the_public_vectors() -> None:
    assert [it.hex() for it in tree.consistency_proof(6, 8, subtrees(LEAVES))] == [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ]
    assert [it.hex() for it in tree.consistency_proof(2, 5, subtrees(LEAVES))] == [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ]
    assert tree.consistency_proof(8, 8, subtrees(LEAVES)) == []


def test_every_proof_up_to_forty_leaves_is_the_one_that_the_rfc_defines() -> None:
    leaves = [b"%d" % it for it in range(40)]
    for size in range(1, 41):
        some = leaves[:size]
        for index in range(size):
            proof = tree.inclusion_proof(index, size, subtrees(some))
            assert proof == path(index, some)
            leaf = tree.leaf_hash(some[index])
            assert root_by_inclusion(index, size, leaf, proof) == root(some)
        for old in range(1, size + 1):
            proof = tree.consistency_proof(old, size, subtrees(some))
            assert proof == subproof(old, some, True)
            roots = verify.roots_by_consistency(old, size, root(some[:old]), proof)
            assert roots == (root(some[:old]), root(some))


@settings(deadline=None)
@given(st.integers(1, 1500), st.data())
def test_another_implementation_has_the_same_roots_and_proofs(
    size: int, data: st.DataObject
) -> None:
    """pymerkle counts leaves from one, begins an inclusion proof with the leaf itself, and orders
    consistency proofs in a way of its own: there the roots at both sizes are compared."""
    leaves = [b"%d" % it for it in range(size)]
    theirs = pymerkle.InmemoryTree(algorithm="sha256")
    for leaf in leaves:
        theirs.append_entry(leaf)
    hashes = [tree.leaf_hash(it) for it in leaves]
    ours = tree.Frontier()
    ours.extend(hashes)
    assert theirs.get_root().hex() == ours.root().hex()

    def subtree(level: int, position: int) -> bytes:
        part = tree.Frontier()
        part.extend(hashes[position << level : position + 1 << level])
        return part.root()

    index = data.draw(st.integers(0, size - 1))
    inclusion = theirs.prove_inclusion(index + 1, size)
    assert inclusion.path == [hashes[index], *tree.inclusion_proof(index, size, subtree)]
    pymerkle.verify_inclusion(hashes[index], ours.root(), inclusion)
    old = data.draw(st.integers(1, size))
    roots = (theirs.get_root(old), theirs.get_root(size))
    pymerkle.verify_consistency(*roots, theirs.prove_consistency(old, size))
    proof = tree.consistency_proof(old, size, subtree)
    assert verify.roots_by_consistency(old, size, roots[0], proof) == roots


@given(st.integers(1, 300), st.data())
def test_a_proof_fits_no_other_leaf_place_or_tree(size: int, data: st.DataObject) -> None:
    leaves = [b"%d" % it for it in range(size)]
    index = data.draw(st.integers(0, size - 1))
    proof = tree.inclusion_proof(index, size, subtrees(leaves))
    leaf = tree.leaf_hash(leaves[index])

    def leads_there(index: int, size: int, leaf: bytes, proof: list[bytes]) -> bool:
        try:
            return root_by_inclusion(index, size, leaf, proof) == root(leaves)
        except ValueError:
            return False

    assert leads_there(index, size, leaf, proof)
    assert not leads_there(index, size, tree.leaf_hash(b"other"), proof)
    for other in range(size):
        assert leads_there(other, size, leaf, proof) == (other == index)
    assert not leads_there(index, size, leaf, [*proof, bytes(32)])
    for place in range(len(proof)):
        flipped = [*proof[:place], bytes(32), *proof[place + 1 :]]
        assert not leads_there(index, size, leaf, flipped)
        assert not leads_there(index, size, leaf, proof[:place] + proof[place + 1 :])


@given(st.integers(2, 300), st.data())
def test_a_consistency_proof_fits_no_other_history(size: int, data: st.DataObject) -> None:
    leaves = [b"%d" % it for it in range(size)]
    old = data.draw(st.integers(1, size - 1))
    proof = tree.consistency_proof(old, size, subtrees(leaves))
    changed = data.draw(st.integers(0, old - 1))
    rewritten = [*leaves[:changed], b"rewritten", *leaves[changed + 1 :]]
    for forged in (proof, tree.consistency_proof(old, size, subtrees(rewritten))):
        roots = verify.roots_by_consistency(old, size, root(leaves[:old]), forged)
        assert roots != (root(leaves[:old]), root(rewritten))
    for place in range(len(proof)):
        flipped = [*proof[:place], bytes(32), *proof[place + 1 :]]
        roots = verify.roots_by_consistency(old, size, root(leaves[:old]), flipped)
        assert roots[1] != root(leaves)


def test_there_is_no_proof_for_what_is_not_in_the_tree() -> None:
    with pytest.raises(ValueError, match="no leaf 3 in a tree of 3"):
        tree.inclusion_proof(3, 3, subtrees(LEAVES))
    with pytest.raises(ValueError, match="no leaf -1"):
        tree.inclusion_proof(-1, 3, subtrees(LEAVES))
    with pytest.raises(ValueError, match="a tree of 4 leaves is not the beginning of a tree of 3"):
        tree.consistency_proof(4, 3, subtrees(LEAVES))
    with pytest.raises(ValueError, match="a tree of 0 leaves"):
        tree.consistency_proof(0, 3, subtrees(LEAVES))


def test_a_tlog_proof_is_the_text_that_c2sp_describes() -> None:
    proof = tree.tlog_proof(7, [b"\x00" * 32, b"\xff" * 32], "prazo/x\n8\nroot\n\n— prazo/x sig\n")
    assert proof == (
        "c2sp.org/tlog-proof@v1\n"
        "index 7\n"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
        "//////////////////////////////////////////8=\n"
        "\n"
        "prazo/x\n8\nroot\n\n— prazo/x sig\n"
    )
    assert base64.b64decode("//////////////////////////////////////////8=") == b"\xff" * 32


@pytest.mark.parametrize("size", [*range(1, 40), 64, 65, 127, 128, 200])
def test_the_newest_leaf_is_proved_by_the_peaks_before_it(size: int):
    leaves = [b"%d" % number for number in range(size)]
    before = tree.Frontier()
    before.extend(tree.leaf_hash(it) for it in leaves[:-1])
    proof = tree.newest_proof(before.peaks)
    assert proof == path(size - 1, leaves)
    assert tree.root_over_newest(tree.leaf_hash(leaves[-1]), proof) == root(leaves)
    assert tree.root_over_newest(tree.leaf_hash(b"another"), proof) != root(leaves)
    read = tree.TlogProof.read(tree.tlog_proof(size - 1, proof, "the checkpoint\n"))
    assert read == (size - 1, proof, "the checkpoint\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "another format\nindex 0\n\nx",
        "c2sp.org/tlog-proof@v1\nindex -1\n\nx",
        "c2sp.org/tlog-proof@v1\nindex 1\nAAAA\n\nx",
        "c2sp.org/tlog-proof@v1\nindex 1\n!\n\nx",
        "c2sp.org/tlog-proof@v1\nindex 1",
    ],
)
def test_what_is_not_a_proof_is_not_read(text: str):
    with pytest.raises(ValueError, match=r"not a proof|base64|padding"):
        tree.TlogProof.read(text)
