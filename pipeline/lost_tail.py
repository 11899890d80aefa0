"""Gives an inbox back the entries at its end that only the ledger still holds.

An inbox can lose its newest entries: a cut file, a failed disk, a hand with SQL. The ledger holds
them whole. It is believed only for what the inbox itself still vouches for, a head or a signed
checkpoint that covers every entry given back: nobody can have made those up in the ledger.
"""

from collections.abc import Iterable
from typing import Final

from pipeline import tree
from pipeline.commitments import uncommitted
from pipeline.errors import LedgerRefused
from pipeline.inbox import Head, Inbox
from pipeline.ledger import Ledger
from pipeline.occurrences import Entry

ENTRIES_A_COMMIT: Final = 4096


def give_back(ledger: Ledger, inbox: Inbox, vouched: Iterable[Head | None]) -> int:
    """How many entries the inbox has again; `vouched`: heads of the log that it still keeps.

    Raises `LedgerRefused`, and changes nothing, unless all of them are proved.
    """
    last, _ = inbox.last()
    kept = [it for it in vouched if it is not None and it.size == ledger.size]
    if ledger.is_without_bodies or not kept:
        raise _refusal(ledger, last, "no head or signature in the inbox covers the rest")
    if last and ledger.select("seq = ?", [last])[0].leaf != inbox.read(last - 1, 1)[0].leaf:
        raise _refusal(ledger, last, f"and they differ at entry {last} already")
    frontier = tree.Frontier.at(last, ledger.subtrees())
    batches = range(last + 1, ledger.size + 1, ENTRIES_A_COMMIT)
    for first in batches:
        entries = _entries(ledger, first)
        if any(uncommitted(it, inbox.identity) for it in entries):
            raise _refusal(ledger, last, "and entries of the ledger are not as they were recorded")
        frontier.extend(tree.leaf_hash(it.leaf) for it in entries)
    if any((frontier.size, frontier.root()) != (it.size, it.root) for it in kept):
        raise _refusal(ledger, last, "and the ledger's lead to another root than was kept")
    for first in batches:
        inbox.copy(_entries(ledger, first))
    return ledger.size - last


def _entries(ledger: Ledger, first: int) -> list[Entry]:
    return ledger.select("seq between ? and ?", [first, first + ENTRIES_A_COMMIT - 1])


def _refusal(ledger: Ledger, last: int, why: str) -> LedgerRefused:
    return LedgerRefused(
        "The ledger is not served",
        f"it holds {ledger.size} entries and the inbox only {last}, {why}",
        "acknowledged entries are missing from the inbox: stop the receiver, then `prazo restore"
        " --from-ledger` puts them back, if you know the ledger to be right",
    )
