"""Holds a ledger and an inbox against each other: whether they share one past, and where they part.

An inbox that was put back from an older copy is not followed: that would sign two pasts under one
name.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, NamedTuple

from pipeline.continuity.kept_heads import REMEDY
from pipeline.errors import InboxForked
from pipeline.inbox import Head, Inbox
from pipeline.ledger.store import Ledger
from pipeline.log import tree
from pipeline.log.commitments import uncommitted
from pipeline.log.entries import Entry
from pipeline.log.kinds.reconciliation import RECONCILIATION
from pipeline.log.reconciling import Reconciliation, abandoned_root, recorded_again

ENTRIES_PER_READ: Final = 4096


def check_continuity(ledger: Ledger, inbox: Inbox) -> None:
    """Raises `InboxForked` unless the inbox still has the ledger's newest entry."""
    newest = ledger.last_entry  # both at once: another thread may append while the inbox is asked
    if newest.seq == 0 or inbox.leaf(newest.seq) == newest.leaf:
        return
    fork, last = fork_of(ledger, inbox), inbox.last()[0]
    instead = f"{last - fork} others in their place" if last > fork else "nothing in their place"
    raise InboxForked(
        "The ledger does not follow the inbox any further",
        f"they part after entry {fork}: the ledger holds {ledger.size - fork} acknowledged entries"
        f" that the inbox lacks, and the inbox holds {instead}; an older copy of it was put back",
        REMEDY,
    )


def fork_of(ledger: Ledger, inbox: Inbox) -> int:
    """The last entry that ledger and inbox share."""
    return parting(ledger.size, lambda seq: ledger.select("seq = ?", [seq])[0].leaf, inbox)


def parting(size: int, leaf_of: Callable[[int], bytes], inbox: Inbox) -> int:
    """The last entry that so many leaves and the inbox share. Salts make every later one differ."""
    shared, differing = 0, min(size, inbox.last()[0]) + 1
    while differing - shared > 1:
        middle = (shared + differing) // 2
        if leaf_of(middle) == inbox.leaf(middle):
            shared = middle
        else:
            differing = middle
    return shared


def recorded_after(inbox: Inbox, after: int) -> dict[bytes, int]:
    """Of each entry of another past that the inbox recorded again after `after`: leaf hash of the
    lost one -> seq now."""

    def entries() -> Iterator[Entry]:
        last = after
        while found := inbox.read(last, ENTRIES_PER_READ):
            yield from found
            last = found[-1].seq

    return recorded_again(entries())


class Ended(NamedTuple):
    """What the log says of the past that a head is of."""

    said: Reconciliation
    is_shown: bool  # whether that past had this root; otherwise nothing in the log can tell


_RECORDED_AGAIN: Final = (
    "seq > ? and (contains(decode(record), '\"was_seq\":')"
    " or record is null and contains(decode(leaf), '\"record_digest\":'))"
)
"""Those also of which a ledger without bodies has no record, which may say so."""


def ended_by(ledger: Ledger, inbox: Inbox, head: Head) -> Ended | None:
    """The reconciliation that ended the past of a head which the ledger does not have; None where
    none can have. It names the root that was given up, and any before that follows from the digests
    of the entries that were recorded again, where all of them were."""
    may_be = None
    for entry in _whole("body", ledger.select("kind = ?", [RECONCILIATION]), ledger, inbox):
        said = Reconciliation.of(entry)
        if not said.fork < head.size <= said.reached:
            continue
        root: bytes | None = None
        if head.size == said.abandoned_size:
            root = said.abandoned_root
        elif head.size < said.abandoned_size:
            shared = tree.Frontier.at(said.fork, ledger.subtrees())
            again = ledger.select(_RECORDED_AGAIN, [said.seq])
            root = abandoned_root(shared, _whole("record", again, ledger, inbox), head.size)
        if root == head.root:
            return Ended(said, is_shown=True)
        if root is None:
            may_be = Ended(said, is_shown=False)
    return may_be


def _whole(
    part: Literal["body", "record"], entries: Iterable[Entry], ledger: Ledger, inbox: Inbox
) -> Iterator[Entry]:
    """Entries of the ledger with a part of them that one without bodies may lack: they are then as
    the inbox has them and their leaves say."""
    for held in entries:
        if getattr(held, part) is not None:
            yield held
            continue
        for kept in inbox.read(held.seq - 1, 1):
            if kept.leaf == held.leaf and not uncommitted(kept, inbox.identity, ledger.erased()):
                yield kept
