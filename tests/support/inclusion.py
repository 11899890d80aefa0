"""Checks an inclusion proof as RFC 9162 says, apart from what makes one."""

from pipeline.verify import node_hash


def root_by_inclusion(index: int, size: int, leaf: bytes, proof: list[bytes]) -> bytes:
    """The root that a proof leads to from a leaf's hash; ValueError if it cannot fit the tree."""
    at, last, root = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise ValueError("the proof is too long")
        if at & 1 or at == last:
            root = node_hash(sibling, root)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            root = node_hash(root, sibling)
        at, last = at >> 1, last >> 1
    if last or index >= size:
        raise ValueError("the proof is too short")
    return root
