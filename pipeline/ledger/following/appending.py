"""Appends the inbox's entries to a ledger, as long as both share one past.

With each batch the ledger's newest leaf is compared with the inbox's entry there. An inbox that was
put back from an older copy is not followed: that would sign two pasts under one name.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from pipeline.errors import InboxForked, LedgerRefused
from pipeline.inbox import Inbox
from pipeline.inbox.kept_heads import REMEDY
from pipeline.ledger.batch import Batch, LastEntry
from pipeline.ledger.following.reading import ReadAhead, always
from pipeline.ledger.store import Ledger
from pipeline.log.entries import LEAF_RULES, Entry, leaf_version

MAX_ENTRIES_PER_BATCH: Final = 8192
MAX_BYTES_PER_BATCH: Final = 32 * 2**20
ENTRIES_AT_ONCE: Final = 15 * MAX_ENTRIES_PER_BATCH
"""In one transaction, where so many wait and nobody reads. They fill a row group of DuckDB's, which
is then compressed and written to the file at once, not to the WAL first and again by a checkpoint
(docs/decisions/ledger.md#very-many-entries-are-one-transaction)."""
BYTES_AT_ONCE: Final = 256 * 2**20
SHARE_AT_ONCE: Final = 0.4
"""What such a transaction may hold: bytes of entries, and these as a share of DuckDB's memory, in
which a row group stays until it is whole."""
ENTRIES_PER_REFRESH: Final = 65_536
MOST_BEHIND: Final = 8 * ENTRIES_PER_REFRESH
"""While catching up, materialized rows of processes are refreshed once for a quarter of the ledger,
but for no fewer entries than the first, since a refresh takes longer the longer the log is, and for
no more than the second, for which a reader waits five seconds."""


class Appending:
    """Appends batch by batch. While whole batches wait, the next ones are read as DuckDB still
    writes those before. For one caller at a time; to be closed before inbox and ledger are."""

    def __init__(self, ledger: Ledger, inbox: Inbox) -> None:
        self._ledger = ledger
        self._inbox = inbox
        self._ahead = ReadAhead(self._read_ahead)
        self._has_failed = False  # the last transaction

    def append(self, until: int | None = None, *, may_go_on: Callable[[], bool] = always) -> int:
        """Appends the next batch, or several in one transaction where very many wait; how many
        entries that were: 0 where none waits or the ledger has `until` entries, which it must not
        pass.

        `may_go_on`: whether one more batch may join the transaction; asked before each.

        Raises `LedgerRefused` at an entry of a later release: what this one would make of it, and
        sign, could be wrong. Raises `InboxForked` where the inbox lacks the ledger's newest entry.
        """
        ledger, inbox, before = self._ledger, self._inbox, self._ledger.size
        room = sys.maxsize if until is None else until - before
        batch = self._next(room) or self._read(before, min(room, MAX_ENTRIES_PER_BATCH))
        size = before + (batch.size if batch else 0)
        waiting = min(inbox.last()[0], before + room) - size
        check_continuity(ledger, inbox)  # after the read: what came from another inbox shows
        if batch is None:
            return 0
        are_many = waiting >= MAX_ENTRIES_PER_BATCH
        if are_many:
            self._ahead.begin(batch.last_entry, until)
        further = 0
        if waiting >= ENTRIES_AT_ONCE and not ledger.is_watched and not self._has_failed:
            further = ENTRIES_AT_ONCE // MAX_ENTRIES_PER_BATCH - 1
        uncovered = size + further * MAX_ENTRIES_PER_BATCH - ledger.covered
        most = min(max(ENTRIES_PER_REFRESH, size // 4), MOST_BEHIND)
        self._has_failed = True
        ledger.append(
            batch,
            self._further(batch, further, may_go_on),
            more_follow=are_many and uncovered < most,
            may_wait=not further,
        )
        self._has_failed = False
        if further:
            check_continuity(ledger, inbox)  # before anything is signed for what joined
        return ledger.size - before

    def _further(self, newest: Batch, most: int, may_go_on: Callable[[], bool]) -> Iterator[Batch]:
        """Batches that follow one, in the transaction in which that is written. It never waits for
        long, and asks the inbox nothing: whoever needs materialized rows waits for it."""
        ledger = self._ledger
        room = min(BYTES_AT_ONCE, SHARE_AT_ONCE * ledger.memory_bytes) - newest.size_bytes

        def is_alone() -> bool:
            return not ledger.is_watched and may_go_on()

        for _ in range(most):
            following = self._ahead.take(is_alone) if room > 0 and is_alone() else None
            if following is None or following.first_seq != newest.last_entry.seq + 1:
                return
            yield following
            newest, room = following, room - following.size_bytes

    def _next(self, room: int) -> Batch | None:
        """The batch that was read ahead, if it follows the ledger's newest entry, there is room for
        it, and the inbox still holds its last entry: it may be another by now."""
        batch = self._ahead.take()
        if batch is None:
            return None
        last = batch.last_entry
        is_next = batch.first_seq == self._ledger.size + 1 and batch.size <= room
        if is_next and self._inbox.leaf(last.seq) == last.leaf:
            return batch
        self._ahead.drop()
        return None

    def _read(self, after: int, limit: int) -> Batch | None:
        entries = self._inbox.read(after, limit, max_bytes=MAX_BYTES_PER_BATCH)
        _check_versions(entries)
        return self._ledger.batch(entries) if entries else None

    def _read_ahead(self, after: LastEntry, until: int | None) -> Batch | None:
        """Raises `InboxForked` where the inbox lacks the entry that the batch is to follow."""
        room = sys.maxsize if until is None else until - after.seq
        batch = self._read(after.seq, min(room, MAX_ENTRIES_PER_BATCH))
        if self._inbox.leaf(after.seq) != after.leaf:
            raise InboxForked(f"The inbox no longer holds entry {after.seq} as it was read")
        return batch

    def close(self) -> None:
        """Ends the thread that reads ahead."""
        self._ahead.close()


def append_all(ledger: Ledger, inbox: Inbox, until: int | None = None) -> None:
    """Appends what the inbox holds, up to the size `until`. Raises as `Appending.append` does."""
    with contextlib.closing(Appending(ledger, inbox)) as appending:
        while (until is None or ledger.size < until) and appending.append(until):
            pass


def _check_versions(entries: Sequence[Entry]) -> None:
    known = tuple(b',"v":%d}' % version for version in LEAF_RULES)
    for entry in entries:
        version = None if entry.leaf.endswith(known) else leaf_version(entry.leaf)
        if version is not None and version not in LEAF_RULES:
            raise LedgerRefused(
                "The ledger is not followed any further",
                f"entry {entry.seq} has a leaf of version {version}, and this release knows"
                f" {', '.join(map(str, LEAF_RULES))}",
                "use the release of Prazo that recorded it, or a newer one",
            )


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
