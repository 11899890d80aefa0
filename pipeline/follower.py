"""Follows the inbox into a ledger, and guards that both tell the same history.

The guard: after each commit the keeper leaves the ledger's size and root (its *head*) in the inbox,
another file on another engine, and every few minutes a signed checkpoint of them. A ledger whose
root differs from either is never served: it is built anew from the inbox, and if the inbox itself
leads to another root, refused.
"""

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline import lost_tail
from pipeline.checkpoints import Checkpoint, Signer
from pipeline.errors import LedgerRefused, OperatorError, PrazoError
from pipeline.inbox import Head, Inbox, SignedHead
from pipeline.ledger import Ledger, LedgerDamaged, LedgerOutdated

LOG = logging.getLogger(__name__)

MAX_ENTRIES_A_BATCH: Final = 8192
MAX_BYTES_A_BATCH: Final = 64 * 2**20
ENTRIES_A_KEEPING: Final = 65_536
"""Catching up, kept rows of processes are made for so many entries at once, or for a quarter of
the ledger where that is more: each time takes longer the longer the log is."""
LINGER_SECONDS: Final = 0.2
"""Between batches while the inbox is busy; longer where the last one took longer. Even one entry
costs a seventh of a second of a core, and following must leave half a core to others."""
RETRY_SECONDS: Final = 2.0
REACH_SECONDS: Final = 60.0
CHECKPOINT_SECONDS: Final = 300.0
"""Between signed checkpoints while entries come in: each is kept, so that a package can later be
shown to continue it. Whoever needs one of this moment asks for it (`Follower.checkpoint`)."""

Progress = Callable[[int], None]
"""Told the ledger's size after each batch."""


OpenLedger = Callable[[Path | None], Ledger]


@dataclass(frozen=True, slots=True)
class Status:
    """How far the ledger is, for the freshness line and `/readyz`. Instants in microseconds."""

    last_seq: int
    inbox_seq: int
    recorded_at: int  # of the newest entry that the inbox holds
    lag_seconds: float  # how long the oldest entry that is missing has been waiting
    is_verified: bool  # the root was compared with the head that the inbox keeps
    problem: str | None
    healed: str | None  # what had to be rebuilt since the start, and why


class Follower:
    """Keeps one ledger up to date. `start` follows on a thread; `catch_up` does it here."""

    def __init__(
        self,
        inbox: Inbox,
        path: Path | None,
        open_ledger: OpenLedger,
        *,
        is_keeper: bool = True,
        signer: Signer | None = None,
    ) -> None:
        """Opens the ledger at `path` (None: in memory) and proves it, or heals it first.

        `is_keeper`: whether this follower leaves heads, and signs them with `signer`; exactly one
        of an inbox's does.
        Raises `LedgerRefused` where the ledger and the inbox cannot both be true.
        """
        self._inbox = inbox
        self._path = path
        self._open_ledger = open_ledger
        self._is_keeper = is_keeper
        self._signer = signer
        self._sign_at = 0.0  # on the monotonic clock
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._problem: str | None = None
        self._healed: str | None = None
        self._is_verified = False
        self._behind_since: float | None = None
        self.ledger = self._open_guarded()

    # --- the guard ---

    def _open_guarded(self) -> Ledger:
        """The ledger, proved to lie on the history that the inbox tells, up to the last head."""
        try:
            ledger = self._open_ledger(self._path)
        except (LedgerDamaged, LedgerOutdated) as error:
            return self._rebuilt(error.why or error.what)
        try:
            self._reach_head(ledger)
        except _Diverged as diverged:
            ledger.close()
            return self._rebuilt(str(diverged))
        except LedgerDamaged as error:
            ledger.close()
            return self._rebuilt(error.why)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def _reach_head(self, ledger: Ledger) -> None:
        """Appends what is missing up to the head and the last checkpoint, and compares the roots
        there."""
        head, signed, (last_seq, _) = self._inbox.head(), self._signed_head(), self._inbox.last()
        if ledger.size > last_seq:
            given_back = lost_tail.give_back(
                ledger, self._inbox, (head, signed) if self._is_keeper else ()
            )
            self._heal_note(
                f"the inbox had lost its last {given_back} entries; the ledger gave them back, and"
                " they lead to the root that was kept for them; lines of files among them would be"
                " recorded again if they were ingested again"
            )
        before = ledger.size
        for kept, how in ((signed, "signed"), (head, "kept")):
            if kept is None:
                continue
            while ledger.size < kept.size and self._append(ledger, until=kept.size):
                pass
            if ledger.size < kept.size or ledger.root_at(kept.size) != kept.root:
                raise _Diverged(
                    f"its first {kept.size} entries lead to another root than was {how}"
                )
            self._is_verified = True
        if before == 0 < ledger.size:
            self._heal_note(
                f"there was no ledger: {ledger.size} entries of the inbox made it, and they lead to"
                " the root that was kept for them"
            )
        elif ledger.size > before:
            self._heal_note(
                f"the ledger had lost its last {ledger.size - before} entries; the inbox gave them"
                " back, and they lead to the root that was kept for them"
            )

    def _signed_head(self) -> Head | None:
        """What the newest checkpoint says; `LedgerRefused` where our key did not sign it."""
        signed = self._inbox.checkpoint()
        if signed is None:
            return None
        try:
            text = self._signer.key.opened(signed.note) if self._signer else signed.note
            checkpoint = Checkpoint.read(text)
            if (checkpoint.origin, checkpoint.size) != (self._inbox.log, signed.size):
                raise ValueError("it is of another log or another size")
        except ValueError as error:
            raise LedgerRefused(
                "The ledger is not served",
                f"the inbox's checkpoint of {signed.size} entries is not one of ours: {error}",
                "restore PRAZO_SIGNING_KEY_FILE, or the inbox, from a backup",
            ) from None
        return Head(checkpoint.size, checkpoint.root)

    def _rebuilt(self, why: str) -> Ledger:
        """A ledger made anew beside the old file, which stays where it is until the new one is
        proved, and is kept aside then for whoever wants to look."""
        LOG.warning("building the ledger anew from the inbox: %s", why)
        draft = self._path and self._path.with_name(f"{self._path.name}.rebuilding")
        _remove(draft)
        ledger = self._open_ledger(draft)
        try:
            self._reach_head(ledger)
            while self._append(ledger):
                pass
        except _Diverged as diverged:
            ledger.close()
            raise LedgerRefused(
                "The ledger is not served",
                f"built anew from the inbox, {diverged}",
                "the inbox was changed: restore it from a backup",
            ) from None
        self._heal_note(f"the ledger was built anew from the inbox: {why}")
        if self._path is None or draft is None:
            return ledger
        ledger.close()
        _set_aside(self._path)
        draft.rename(self._path)
        return self._open_ledger(self._path)

    def rebuild(self) -> None:
        """`prazo rebuild`: the ledger made anew, whatever the present one is like."""
        self.ledger.close()
        self.ledger = self._rebuilt("as asked")

    def _heal_note(self, note: str) -> None:
        LOG.warning("%s", note)
        self._healed = note

    # --- following ---

    def _append(self, ledger: Ledger, until: int | None = None) -> int:
        """Appends one batch; how many entries it had. `until` ends it at that size."""
        room = MAX_ENTRIES_A_BATCH if until is None else until - ledger.size
        entries = self._inbox.read(
            ledger.size, min(room, MAX_ENTRIES_A_BATCH), max_bytes=MAX_BYTES_A_BATCH
        )
        size = ledger.size + len(entries)
        kept = ledger.progress.kept if ledger.progress else 0  # none known after a failed commit
        waiting, unkept = self._inbox.last()[0] - size, size - kept
        more_follow = waiting >= MAX_ENTRIES_A_BATCH and unkept < max(ENTRIES_A_KEEPING, size // 4)
        ledger.append(entries, more_follow=more_follow)
        return len(entries)

    def catch_up(self, progress: Progress | None = None, *, seconds: float = math.inf) -> int:
        """Appends what the inbox holds, in batches, until that time is over; how many entries."""
        before, until = self.ledger.size, time.monotonic() + seconds
        while time.monotonic() < until and self.follow_once():
            if progress is not None:
                progress(self.ledger.size)
        return self.ledger.size - before

    def follow_once(self) -> int:
        """Appends one batch and keeps or compares the head; 0 when there was nothing to do."""
        head = self._inbox.head()
        is_ahead = head is not None and head.size > self.ledger.size
        appended = self._append(
            self.ledger, until=head.size if head and is_ahead and not self._is_keeper else None
        )
        if self._is_keeper:
            if appended:
                self._inbox.put_head(Head(self.ledger.size, self.ledger.frontier.root()))
                self._is_verified = True
        elif head and head.size == self.ledger.size and head.root != self.ledger.frontier.root():
            raise LedgerRefused(
                "The ledger is not followed any further",
                f"at {head.size} entries it has another root than its inbox's keeper",
                "one of the two read a changed inbox: stop and compare both",
            )
        return appended

    def checkpoint(self) -> SignedHead | None:
        """The newest checkpoint; signed anew where this follower holds the key and the ledger has
        grown since the last one. None while nothing was signed."""
        tree = self.ledger.frontier
        signed = self._inbox.checkpoint()
        if self._signer is None or tree.size <= (signed.size if signed else 0):
            return signed
        signed = SignedHead(tree.size, self._signer.checkpoint(tree.size, tree.root()))
        self._inbox.put_checkpoint(signed)
        return signed

    def _checkpoint_in_time(self) -> None:
        if self._signer is not None and time.monotonic() >= self._sign_at:
            self.checkpoint()
            self._sign_at = time.monotonic() + CHECKPOINT_SECONDS

    def start(self) -> None:
        """Follows on a thread of its own until `close`."""
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                appended = self.follow_once()
                self._checkpoint_in_time()
                self._problem = None
                self._note_lag()
            except LedgerRefused as error:
                self._problem, self._is_verified = str(error), False
                LOG.critical("%s", error)
                return  # a false past must not grow; a person has to look
            except PrazoError as error:
                self._problem = str(error)
                LOG.error("%s", error)
                self._stop.wait(RETRY_SECONDS)
                continue
            if appended < MAX_ENTRIES_A_BATCH:
                self._stop.wait(max(LINGER_SECONDS, (time.monotonic() - began) / 2))

    def reach(self, seq: int) -> None:
        """Returns once the ledger holds that entry of the inbox: waits for the thread that
        follows, or follows here where there is none. Raises `OperatorError` after a while."""
        until = time.monotonic() + REACH_SECONDS
        while self.ledger.size < seq:
            if self._thread is None:
                self.catch_up()
            elif time.monotonic() < until and self._thread.is_alive():
                time.sleep(LINGER_SECONDS / 4)
            else:
                raise OperatorError(
                    f"The ledger has not reached entry {seq}",
                    self._problem or f"after {REACH_SECONDS:.0f} s it is at {self.ledger.size}",
                    "wait until it has caught up, then try again",
                )

    def _note_lag(self) -> None:
        inbox_seq, _ = self._inbox.last()
        if inbox_seq <= self.ledger.size:
            self._behind_since = None
        elif self._behind_since is None:
            self._behind_since = time.monotonic()

    def status(self) -> Status:
        try:
            inbox_seq, recorded_at = self._inbox.last()
        except PrazoError as error:
            inbox_seq, recorded_at = self.ledger.size, 0
            self._problem = str(error)
        since = self._behind_since
        return Status(
            last_seq=self.ledger.size,
            inbox_seq=inbox_seq,
            recorded_at=recorded_at,
            lag_seconds=0.0 if since is None else time.monotonic() - since,
            is_verified=self._is_verified,
            problem=self._problem,
            healed=self._healed,
        )

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        with contextlib.suppress(PrazoError):
            self.ledger.close()


class _Diverged(Exception):
    """The ledger's root differs from the head that was kept for its size."""


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def _remove(path: Path | None) -> None:
    if path is not None:
        path.unlink(missing_ok=True)
        _wal(path).unlink(missing_ok=True)


def _set_aside(path: Path) -> None:
    if not path.exists():
        return
    aside = path.with_name(f"{path.name}.set-aside-{time.time_ns()}")
    path.rename(aside)
    if _wal(path).exists():
        _wal(path).rename(_wal(aside))
    LOG.warning("the former ledger was kept as %s", aside)
