"""Appends the inbox's entries to a ledger, as long as both share one past.

With each batch the ledger's newest leaf is compared with the inbox's entry there (`continuity.py`).
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from pipeline.continuity.forks import check_continuity
from pipeline.continuity.reading import ReadAhead, always
from pipeline.errors import InboxForked, LedgerBehind
from pipeline.inbox import Inbox
from pipeline.ledger.batch import Batch, LastEntry
from pipeline.ledger.store import Ledger
from pipeline.log.commitments import require_known
from pipeline.log.entries import LEAF_RULES, Entry
from pipeline.texts import counted

MAX_ENTRIES_PER_BATCH: Final = 8192
MAX_BYTES_PER_BATCH: Final = 32 * 2**20
ENTRIES_AT_ONCE: Final = 15 * MAX_ENTRIES_PER_BATCH
"""Where so many wait and nobody reads, they are one transaction. 122,880 rows are a row group of
DuckDB's: a whole one is compressed and written to the file at once, not to the WAL first and again
by a checkpoint (docs/decisions/ledger.md#very-many-entries-are-one-transaction)."""
BYTES_AT_ONCE: Final = 256 * 2**20
"""The most bytes of entries that such a transaction may hold."""
SHARE_AT_ONCE: Final = 0.4
"""The most that these may be of DuckDB's memory, in which a row group stays until it is whole."""
LEAST_BEHIND: Final = 65_536
"""While catching up, materialized rows of processes wait until a quarter of the ledger needs them,
and at least so many entries: a refresh takes longer the longer the log is."""
MOST_BEHIND: Final = 8 * LEAST_BEHIND
"""For no more entries do they wait: a reader waits five seconds for the rows of so many."""


class Appending:
    """Appends batch by batch. While whole batches wait, the next ones are read as DuckDB still
    writes those before. For one caller at a time; to be closed before inbox and ledger are."""

    def __init__(self, ledger: Ledger, inbox: Inbox) -> None:
        self._ledger = ledger
        self._inbox = inbox
        self._ahead = ReadAhead(self._read_ahead)
        self._may_have_failed = False  # the last transaction: it did, unless it came to its end

    def append(self, until: int | None = None, *, may_go_on: Callable[[], bool] = always) -> int:
        """Appends the next batch, or several in one transaction where very many wait; how many
        entries that were: 0 where none waits or the ledger has `until` entries, which it must not
        pass.

        `may_go_on`: whether one more batch may join the transaction; asked before each.

        Raises `LedgerRefused` at an entry of a later release: what this one would make of it, and
        sign, could be wrong. Raises `InboxForked` where the inbox lacks the ledger's newest entry.
        """
        ledger, inbox, before = self._ledger, self._inbox, self._ledger.size
        end = sys.maxsize if until is None else until
        batch = self._next(end - before) or self._read(before, end)
        size = before + (batch.size if batch else 0)
        waiting = min(inbox.last()[0], end) - size
        check_continuity(ledger, inbox)  # after the read: what came from another inbox shows
        if batch is None:
            return 0
        are_many = waiting >= MAX_ENTRIES_PER_BATCH
        if are_many:
            self._ahead.begin(batch.last_entry, end)
        further = 0
        if waiting >= ENTRIES_AT_ONCE and not ledger.is_watched and not self._may_have_failed:
            further = ENTRIES_AT_ONCE // MAX_ENTRIES_PER_BATCH - 1
        size_then = size + further * MAX_ENTRIES_PER_BATCH
        self._may_have_failed = True
        ledger.append(
            batch,
            self._further(batch, further, may_go_on),
            more_follow=are_many and size_then - ledger.covered < _most_behind(size),
            may_wait=not further,
        )
        self._may_have_failed = False
        if further:
            check_continuity(ledger, inbox)  # before anything is signed for what joined
        return ledger.size - before

    def _further(self, newest: Batch, most: int, may_go_on: Callable[[], bool]) -> Iterator[Batch]:
        """Batches that join the transaction of the one before. To have them it never waits long,
        and asks the inbox nothing: readers of materialized rows wait for that transaction."""
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

    def _read(self, after: int, end: int) -> Batch | None:
        limit = min(end - after, MAX_ENTRIES_PER_BATCH)
        entries = self._inbox.read(after, limit, max_bytes=MAX_BYTES_PER_BATCH)
        _check_versions(entries)
        return self._ledger.batch(entries) if entries else None

    def _read_ahead(self, after: LastEntry, end: int) -> Batch | None:
        """Raises `InboxForked` where the inbox lacks the entry that the batch is to follow."""
        batch = self._read(after.seq, end)
        if self._inbox.leaf(after.seq) != after.leaf:
            raise InboxForked(f"The inbox no longer holds entry {after.seq} as it was read")
        return batch

    def close(self) -> None:
        """Ends the thread that reads ahead."""
        self._ahead.close()


def append_all(
    ledger: Ledger,
    inbox: Inbox,
    until: int | None = None,
    *,
    may_go_on: Callable[[], bool] = always,
) -> None:
    """Appends what the inbox holds, up to the size `until`. Raises as `Appending.append` does, and
    `LedgerBehind` where it may not go on: asked before each batch."""
    with contextlib.closing(Appending(ledger, inbox)) as appending:
        while (until is None or ledger.size < until) and appending.append(
            until, may_go_on=may_go_on
        ):
            if not may_go_on():
                end = inbox.last()[0] if until is None else until
                raise LedgerBehind(
                    f"The ledger is still {counted(end - ledger.size, 'entry')} behind the inbox",
                    "it is being made from there, and whoever opened it does not wait any longer",
                    "let `prazo serve` or `prazo follow` make it, which commands then ask; or wait"
                    " for `prazo rebuild`",
                )


def _most_behind(size: int) -> int:
    """How many entries of a ledger of this size may lack their materialized rows of processes."""
    return min(max(LEAST_BEHIND, size // 4), MOST_BEHIND)


def _check_versions(entries: Sequence[Entry]) -> None:
    known = tuple(b',"v":%d}' % version for version in LEAF_RULES)
    others = (it for it in entries if not it.leaf.endswith(known))
    require_known(others, "The ledger is not followed any further")
