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
from pipeline.ledger.following.reading import ReadAhead
from pipeline.ledger.store import Ledger
from pipeline.log.entries import LEAF_RULES, Entry, leaf_version

MAX_ENTRIES_PER_BATCH: Final = 8192
MAX_BYTES_PER_BATCH: Final = 32 * 2**20
ENTRIES_AT_ONCE: Final = 15 * MAX_ENTRIES_PER_BATCH
"""In one transaction, where so many wait and nobody reads. They fill a row group of DuckDB's, which
is then compressed and written to the file at once, not to the WAL first and again by a checkpoint
(docs/decisions/ledger.md#very-many-entries-are-one-transaction)."""
ENTRIES_PER_REFRESH: Final = 65_536
MOST_BEHIND: Final = 8 * ENTRIES_PER_REFRESH
"""While catching up, materialized rows of processes are refreshed once for a quarter of the ledger,
but for no fewer entries than the first, since a refresh takes longer the longer the log is, and for
no more than the second, for which a reader waits five seconds."""


def always() -> bool:
    """Whether one more batch may join a transaction, where nobody minds how long it takes."""
    return True


class Appending:
    """Appends batch by batch. While whole batches wait, the next ones are read as DuckDB still
    writes the one before. For one caller at a time; to be closed before inbox and ledger are."""

    def __init__(self, ledger: Ledger, inbox: Inbox) -> None:
        self._ledger = ledger
        self._inbox = inbox
        self._ahead = ReadAhead(lambda after: self._read(after, MAX_ENTRIES_PER_BATCH))

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
        batch = self._next(ledger.last_entry, room)
        batch = batch or self._read(before, min(room, MAX_ENTRIES_PER_BATCH))
        size = before + (batch.size if batch else 0)
        waiting = min(inbox.last()[0] - size, before + room - size)
        check_continuity(ledger, inbox)  # after the read: what came from another inbox shows
        if batch is None:
            return 0
        if waiting >= MAX_ENTRIES_PER_BATCH:
            self._ahead.begin(size)
        further = 0
        if waiting >= ENTRIES_AT_ONCE and not ledger.is_watched:
            further = ENTRIES_AT_ONCE // MAX_ENTRIES_PER_BATCH - 1
        uncovered = size + further * MAX_ENTRIES_PER_BATCH - ledger.covered
        most = min(max(ENTRIES_PER_REFRESH, size // 4), MOST_BEHIND)
        ledger.append(
            batch,
            self._further(batch.last_entry, further, may_go_on) if further else (),
            more_follow=waiting >= MAX_ENTRIES_PER_BATCH and uncovered < most,
            may_wait=True,
        )
        return ledger.size - before

    def _further(
        self, newest: LastEntry, most: int, may_go_on: Callable[[], bool]
    ) -> Iterator[Batch]:
        """Batches that follow an entry, until somebody reads."""
        for _ in range(most):
            if self._ledger.is_watched or not may_go_on():
                return
            batch = self._next(newest, MAX_ENTRIES_PER_BATCH)
            if batch is None:
                return
            yield batch
            newest = batch.last_entry

    def _next(self, newest: LastEntry, room: int) -> Batch | None:
        """The batch that was read ahead, if it follows that entry, there is room for it, and the
        inbox still holds the past of both: it may be another by now."""
        batch = self._ahead.take()
        if batch is None:
            return None
        last = batch.last_entry
        if (
            batch.first_seq == newest.seq + 1
            and batch.size <= room
            and all(it.seq == 0 or self._inbox.leaf(it.seq) == it.leaf for it in (newest, last))
        ):
            return batch
        self._ahead.drop()
        return None

    def _read(self, after: int, limit: int) -> Batch | None:
        entries = self._inbox.read(after, limit, max_bytes=MAX_BYTES_PER_BATCH)
        _check_versions(entries)
        return self._ledger.batch(entries) if entries else None

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
