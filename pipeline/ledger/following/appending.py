"""Appends the inbox's entries to a ledger, as long as both share one past.

With each batch the ledger's newest leaf is compared with the inbox's entry there. An inbox that was
put back from an older copy is not followed: that would sign two pasts under one name.
"""

import contextlib
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from pipeline.errors import InboxForked, LedgerRefused
from pipeline.inbox import Inbox
from pipeline.inbox.kept_heads import REMEDY
from pipeline.ledger.batch import Batch
from pipeline.ledger.store import Ledger
from pipeline.log.entries import LEAF_RULES, Entry, leaf_version

MAX_ENTRIES_PER_BATCH: Final = 8192
MAX_BYTES_PER_BATCH: Final = 64 * 2**20
ENTRIES_PER_REFRESH: Final = 65_536
MOST_BEHIND: Final = 8 * ENTRIES_PER_REFRESH
"""While catching up, materialized rows of processes are refreshed once for a quarter of the ledger,
but for no fewer entries than the first, since a refresh takes longer the longer the log is, and for
no more than the second, for which a reader waits five seconds."""


class Appending:
    """Appends batch by batch. While whole batches wait, a thread reads the next one as DuckDB still
    writes the one before, so that two are in memory. For one caller at a time; to be closed before
    inbox and ledger are."""

    def __init__(self, ledger: Ledger, inbox: Inbox) -> None:
        self._ledger = ledger
        self._inbox = inbox
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="appending")
        self._next: Future[Batch] | None = None

    def append(self, until: int | None = None) -> int:
        """Appends the next batch; how many entries it has, 0 where none waits or the ledger has
        `until` entries, which it must not pass.

        Raises `LedgerRefused` at an entry of a later release: what this one would make of it, and
        sign, could be wrong. Raises `InboxForked` where the inbox lacks the ledger's newest entry.
        """
        ledger, inbox = self._ledger, self._inbox
        room = sys.maxsize if until is None else until - ledger.size
        batch = self._begun(room) or self._read(ledger.size, min(room, MAX_ENTRIES_PER_BATCH))
        size = ledger.size + len(batch.entries)
        waiting, uncovered = inbox.last()[0] - size, size - ledger.covered
        are_many = waiting >= MAX_ENTRIES_PER_BATCH
        most = min(max(ENTRIES_PER_REFRESH, size // 4), MOST_BEHIND)
        more_follow = are_many and uncovered < most
        check_continuity(ledger, inbox)  # after the read: what came from another inbox shows
        if are_many and room - len(batch.entries) >= MAX_ENTRIES_PER_BATCH:
            self._next = self._reader.submit(self._read, size, MAX_ENTRIES_PER_BATCH)
        ledger.append(batch, more_follow=more_follow, may_wait=True)
        return len(batch.entries)

    def _begun(self, room: int) -> Batch | None:
        """The batch that was begun to be read, if it is the next one and there is room for it."""
        begun, self._next = self._next, None
        if begun is None:
            return None
        with contextlib.suppress(Exception):  # it is read once more, and fails for whoever waits
            batch = begun.result()
            first, last = batch.entries[0], batch.entries[-1]
            is_next = first.seq == self._ledger.size + 1 and len(batch.entries) <= room
            if is_next and self._inbox.leaf(last.seq) == last.leaf:  # it may be another by now
                return batch
        return None

    def _read(self, after: int, limit: int) -> Batch:
        entries = self._inbox.read(after, limit, max_bytes=MAX_BYTES_PER_BATCH)
        _check_versions(entries)
        return self._ledger.batch(entries)

    def close(self) -> None:
        """Ends the thread, once it has read what it is reading."""
        self._reader.shutdown()


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
