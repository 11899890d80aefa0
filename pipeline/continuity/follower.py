"""Follows the inbox into a ledger, on a thread or for one caller, and signs its checkpoints.

After each commit the keeper leaves the ledger's size and root (its *head*) in the inbox, another
file on another engine, and signed in a file beside the ledger; every few minutes it leaves a signed
checkpoint in the inbox. `recovery.py` compares all of them before a ledger is served.

An inbox that was put back from an older copy is not followed (`continuity.py`), until it has again
what was recorded in it.
"""

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from pipeline import traces
from pipeline.continuity.appending import MAX_ENTRIES_PER_BATCH, Appending
from pipeline.continuity.forks import check_continuity
from pipeline.continuity.newest import Newest
from pipeline.continuity.reading import always
from pipeline.continuity.recovery import Opened
from pipeline.errors import (
    InboxForked,
    LedgerBehind,
    LedgerRefused,
    NoRoom,
    OperatorError,
    PrazoError,
)
from pipeline.files.disk import is_full, write_whole
from pipeline.inbox import Head, Inbox, SignedHead
from pipeline.inbox.clock import COMPARE_SECONDS
from pipeline.inbox.signing_keys import KeyElsewhere, SigningKeys
from pipeline.ledger.file import close_once_read
from pipeline.ledger.store import MOST_UNSETTLED, Ledger
from pipeline.log import tree

LOG = logging.getLogger(__name__)

LINGER_SECONDS: Final = 0.2
"""Between batches while the inbox is busy; longer where the last one took longer: following must
leave half a core to others."""
SETTLE_SECONDS: Final = 2.0
"""For so long at most the rows of a few entries wait for a reader: to make them takes a tenth of a
second of a core, for one entry as for a hundred."""
GATHER_SECONDS: Final = 5.0
"""While people read, entries that come one by one are taken together, once in so many seconds:
after each batch rows are made for the next question, and no answer is the newest any more."""
RETRY_SECONDS: Final = 2.0
"""After a failure; twice as long after each further one, up to `LONGEST_RETRY_SECONDS`."""
LONGEST_RETRY_SECONDS: Final = 30.0
BEHIND_SECONDS: Final = GATHER_SECONDS + 5.0
"""A ledger that is so far behind does not count as verified: nobody has looked at what it lacks."""
REACH_SECONDS: Final = 60.0
CHECKPOINT_SECONDS: Final = 300.0
"""Between signed checkpoints while entries come in: each stays in the inbox, so that a package can
later be shown to continue it. Whoever needs one of this moment calls `Follower.checkpoint`."""

LOOK_FOR_KEY_SECONDS: Final = 10.0
"""Between two looks for a key that another machine has made, and that somebody may bring."""

MAKE_AGAIN_SECONDS: Final = 600.0
"""Before a ledger that can be opened is made again once more: a disk that fails would be filled."""

LOOK_AGAIN_SECONDS: Final = 5.0
"""Between two looks whether the inbox has again what it lacked."""

Recover = Callable[[str, Callable[[], bool]], Opened]
"""Makes the ledger's file again, which is closed, given what is damaged; and for as long as asked.
"""

OnProgress = Callable[[int], None]
"""Called with the ledger's size after each transaction."""


class _Behind(NamedTuple):
    """An entry that the ledger was seen to lack, and when, on the monotonic clock."""

    seq: int
    at: float


@dataclass(frozen=True, slots=True)
class Status:
    """How far the ledger is, for the freshness line and `/readyz`. Instants in microseconds."""

    last_seq: int
    inbox_seq: int
    recorded_at: int  # of the newest entry that the inbox holds
    lag_seconds: float  # how long the oldest entry that is missing has been waiting
    is_verified: bool  # the root is the one kept elsewhere, nothing fails, and it is not behind
    problem: str | None
    recovered: str | None  # what had to be rebuilt or put back since the start, and why


class Follower:
    """Keeps one ledger up to date. `start` follows on a thread; `catch_up` does it here."""

    def __init__(
        self,
        inbox: Inbox,
        ledger: Ledger,
        signing: SigningKeys | None,
        *,
        is_verified: bool,
        recovered: str | None,
        head_file: Path,
        fork: InboxForked | None = None,
        recover: Recover | None = None,
        prove: Callable[[Inbox], None] = lambda _: None,
    ) -> None:
        """`signing`: given to what may be the keeper, which leaves heads in the inbox and signs
        them once the log's key is on this machine. `is_verified`, `recovered`: of `Status`, from
        when the ledger was opened. `head_file`: where the keeper leaves its newest head. `fork`:
        why the inbox is not to be followed as it is. `recover`: has the ledger's damaged file made
        again. `prove`: raises `InboxForked` where the inbox lacks what was signed."""
        self.ledger = ledger
        self._inbox = inbox
        self._newest = Newest(inbox)
        self._appending = Appending(ledger, inbox)
        self._keys = signing
        self._signing = signing if signing is not None and signing.signer is not None else None
        self._look_for_key_at = 0.0  # on the monotonic clock
        self._sign_at = 0.0  # on the monotonic clock
        self._compare_at = time.monotonic() + COMPARE_SECONDS  # it was done when it was opened
        self._stop = threading.Event()
        self._is_awaited = threading.Event()  # somebody waits for entries to be in the ledger
        self._appended_at = -math.inf  # on the monotonic clock, by the thread that follows
        self._thread: threading.Thread | None = None
        self._problem: str | None = None
        self._is_verified = is_verified
        self._recovered = recovered
        self._behind_since: _Behind | None = None
        self._head_file = head_file
        self._recover, self._prove = recover, prove
        self._make_again_at = -math.inf  # on the monotonic clock, at the earliest
        self._kept_size = 0  # of the head that was last left there
        self.fork = fork
        """Why the inbox is not followed: it lacks what was recorded in it."""

    def catch_up(self, on_progress: OnProgress | None = None, *, seconds: float = math.inf) -> int:
        """Appends what the inbox holds, in batches, until the time is over; how many entries."""
        before, until = self.ledger.size, time.monotonic() + seconds

        def has_time() -> bool:
            return time.monotonic() < until

        while has_time() and self.follow_once(has_time):
            if on_progress is not None:
                on_progress(self.ledger.size)
        return self.ledger.size - before

    def follow_once(self, may_go_on: Callable[[], bool] = always) -> int:
        """Appends what one commit takes, and leaves or compares the head; 0 when there was nothing
        to do. `may_go_on`: as `Appending.append` asks it.

        Raises `InboxForked` where the inbox lacks what was recorded in it, and from then on, unless
        the thread that follows finds it right again.
        """
        with self._watching():
            self.ledger.open_again()
            return self._follow(may_go_on)

    @contextlib.contextmanager
    def _watching(self) -> Iterator[None]:
        """A fork that shows itself in the block ends all following and signing."""
        if self.fork is not None:
            raise InboxForked(*self.fork.args)
        try:
            yield
        except InboxForked as fork:
            self.fork, self._is_verified = fork, False
            self._inbox.doubt()
            raise

    def _follow(self, may_go_on: Callable[[], bool]) -> int:
        head = self._inbox.head()
        is_ahead = head is not None and head.size > self.ledger.size
        until = head.size if head and is_ahead and self._signing is None else None
        appended = self._appending.append(until, may_go_on=may_go_on)
        if self._signing is not None:
            self._leave_heads_as_keeper(self._signing, is_new=appended > 0)
        elif head and head.size == self.ledger.size:
            self._compare(head, self.ledger.frontier.root())
        elif head and head.size < self.ledger.size and not self._is_verified:
            # It may be past each head that it looks at, for as long as entries come.
            self._compare(head, self.ledger.root_at(head.size))
        return appended

    def _compare(self, head: Head, root: bytes) -> None:
        if head.root != root:
            raise LedgerRefused(
                "The ledger is not followed any further",
                f"at {head.size} entries its root is not the one that the inbox's keeper has",
                "one of the two read an inbox that was changed: stop both and compare them",
            )
        self._is_verified = True  # there may have been no head yet when it was opened

    def _leave_heads_as_keeper(self, signing: SigningKeys, *, is_new: bool) -> None:
        """Once another machine has rotated the key, this ledger goes on as one that never had it:
        it follows, and compares."""
        try:
            self._leave_heads(signing, is_new=is_new)
        except KeyElsewhere as why:
            LOG.warning("from now on this ledger follows and compares. %s", why)
            self._signing = None

    def _look_for_key_in_time(self) -> None:
        """Whether somebody has brought the key, which another machine has or had."""
        if self._keys is None or self._signing is not None:
            return
        if time.monotonic() >= self._look_for_key_at:
            self._look_for_key_at = time.monotonic() + LOOK_FOR_KEY_SECONDS
            if self._keys.take_up() is not None:
                LOG.warning("the log's key is on this machine: this ledger signs")
                self._signing = self._keys

    def _leave_heads(self, signing: SigningKeys, *, is_new: bool) -> None:
        """First outside of the inbox: by the one there everybody's next write is judged."""
        try:
            self._keep_head(signing)
        finally:
            if is_new:
                self._inbox.put_head(Head(self.ledger.size, self.ledger.frontier.root()))
                self._is_verified = True

    def _keep_head(self, signing: SigningKeys) -> None:
        """Leaves the newest head outside of the inbox, with the proof of the newest leaf: by these
        a receiver tells an older copy of the inbox (`pipeline.continuity.kept_heads`)."""
        size = self.ledger.size
        if size == self._kept_size:
            return
        signer = signing.signer_at(size)
        if signer is None:  # the key was rotated in an entry that this ledger does not have yet
            return
        note = signer.checkpoint(size, self.ledger.frontier.root())
        text = tree.tlog_proof(size - 1, self.ledger.newest_proof(), note)
        try:
            self._head_file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._head_file, text.encode(), mode=0o644)  # `/api/head` shows it, too
        except OSError as error:
            raise (NoRoom if is_full(error) else OperatorError)(
                f"The newest head could not be kept in {self._head_file}",
                str(error),
                "make room there, or set PRAZO_HEAD_FILE: until then nobody can tell whether the"
                " inbox is put back from an older copy",
            ) from None
        self._kept_size = size

    def check_continuity(self) -> None:
        """Raises `InboxForked` where the inbox lacks the newest entry, or as `follow_once` does."""
        with self._watching():
            check_continuity(self.ledger, self._inbox)

    def sign(self) -> None:
        """Leaves the ledger's head wherever heads are kept, and a checkpoint in the inbox."""
        if self._signing is not None and self.ledger.size:
            self._leave_heads_as_keeper(self._signing, is_new=True)
            self.checkpoint()

    def checkpoint(self) -> SignedHead | None:
        """The newest checkpoint; a new one is signed where this follower has the key and the
        ledger has grown since the last. None while nothing was signed."""
        frontier = self.ledger.frontier
        signed = self._inbox.checkpoint()
        if (
            self._signing is None
            or self.fork is not None
            or frontier.size <= (signed.size if signed else 0)
        ):
            return signed
        self.check_continuity()
        signer = self._signing.signer_at(frontier.size)
        if signer is None:  # the key was rotated in an entry that this ledger does not have yet
            return signed
        note = signer.checkpoint(frontier.size, frontier.root())
        signed = SignedHead(frontier.size, note)
        self._inbox.put_checkpoint(signed)
        return signed

    def _checkpoint_in_time(self) -> None:
        if self._signing is not None and time.monotonic() >= self._sign_at:
            self.checkpoint()
            self._sign_at = time.monotonic() + CHECKPOINT_SECONDS

    def _settle_in_time(self) -> None:
        since = self.ledger.unsettled_since
        if since is not None and time.monotonic() - since >= SETTLE_SECONDS:
            self.ledger.settle(is_asked=False)

    def _compare_clocks_in_time(self) -> None:
        if time.monotonic() >= self._compare_at:
            self._inbox.compare_clocks()
            self._compare_at = time.monotonic() + COMPARE_SECONDS

    def start(self) -> None:
        """Follows on a thread of its own until `close`."""
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        pause = RETRY_SECONDS
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self._compare_clocks_in_time()
                self._make_again_in_time()
                self._look_for_key_in_time()
                before, from_here = self.ledger.size, time.monotonic()
                appended = self._follow_or_gather()
                traces.followed(self._inbox, before, before + appended, from_here)
                self._settle_in_time()
                self._checkpoint_in_time()
            except LedgerRefused as error:
                self._problem, self._is_verified = str(error), False
                LOG.critical("%s", error)
                if self.fork is None or not self._is_right_again():
                    return  # a false past must not grow; a person has to look
                continue
            except Exception as error:
                # Whatever it is, this thread goes on: a dead one would show an ever older past.
                self.ledger.saw(error)
                self._problem = _said(error)
                self._note_lag()
                self._stop.wait(pause)
                pause = min(2 * pause, LONGEST_RETRY_SECONDS)
                continue
            self._problem, pause = None, RETRY_SECONDS
            if self._note_lag() < MAX_ENTRIES_PER_BATCH or not appended:
                self._stop.wait(max(LINGER_SECONDS, (time.monotonic() - began) / 2))

    def _follow_or_gather(self) -> int:
        """As `follow_once`; but while people read, the next few entries wait for others."""
        is_awaited = self._is_awaited.is_set()
        self._is_awaited.clear()
        is_due = time.monotonic() >= self._appended_at + GATHER_SECONDS
        if not (is_awaited or is_due) and self.ledger.is_watched:
            self.check_continuity()
            if self._inbox.last()[0] - self.ledger.size <= MOST_UNSETTLED:
                return 0
        appended = self.follow_once(lambda: not self._stop.is_set())
        if appended:
            self._appended_at = time.monotonic()
        return appended

    def _is_right_again(self) -> bool:
        """Waits until the inbox has again what it lacked, by all that a start would prove: the
        right one was put back, or the log's keeper gave back what was missing. What was reconciled
        is another past: that takes a start. False where the follower ends before."""
        while not self._stop.wait(LOOK_AGAIN_SECONDS):
            try:
                self._make_again_in_time()
                self.ledger.open_again()
                check_continuity(self.ledger, self._inbox)
                self._prove(self._inbox)
                head = self._inbox.head()
                if head is not None and head.size <= self.ledger.size:
                    self._compare(head, self.ledger.root_at(head.size))
            except Exception as error:  # as in `_run`: whatever it is, this thread goes on
                LOG.debug("the inbox is not followed yet: %s", error)
                continue
            self.fork = self._problem = None
            LOG.warning("the inbox has again what was recorded in it: it is followed")
            return True
        return False

    def _make_again_in_time(self) -> None:
        """Has the file made again, as a start would, once it is damaged: no one restarts what seems
        to run. Readers hear why until it is there; where it cannot be made, the former one is
        opened again, if it can be."""
        why = self.ledger.damage
        if why is None or self._recover is None or time.monotonic() < self._make_again_at:
            return
        self._is_verified, self._problem = False, f"the ledger is made again from the inbox: {why}"
        close_once_read(self.ledger.path, lambda: self.ledger.shut(why))
        try:
            opened = self._recover(why, lambda: not self._stop.is_set())
        except BaseException:
            with contextlib.suppress(OperatorError):
                self.ledger.reopen()
                self._make_again_at = time.monotonic() + MAKE_AGAIN_SECONDS
            raise
        self._make_again_at = time.monotonic() + MAKE_AGAIN_SECONDS
        opened.ledger.close()
        self.fork = opened.fork
        self.ledger.reopen()
        # What was recovered comes last: whoever reads it reads of no problem beside it.
        self._is_verified, self._problem = opened.is_verified, None
        self._recovered = opened.recovered

    def reach(self, seq: int) -> None:
        """Returns once the ledger holds that entry of the inbox: waits for the thread that
        follows, or follows here where there is none. Raises `LedgerBehind` after a while."""
        until = time.monotonic() + REACH_SECONDS
        while self.ledger.size < seq:
            self.hurry()
            if self._thread is None:
                self.catch_up()
            elif self.fork is None and time.monotonic() < until and self._thread.is_alive():
                time.sleep(LINGER_SECONDS / 4)
            else:
                raise LedgerBehind(
                    f"The ledger has not reached entry {seq}",
                    self._problem or f"after {REACH_SECONDS:.0f} s it is at {self.ledger.size}",
                    "wait until it has caught up, then try again",
                )

    def hurry(self) -> None:
        """Has few entries taken at once: somebody waits for them."""
        self._is_awaited.set()

    def status(self) -> Status:
        """How far the ledger is now; never fails, nor waits for an inbox that hangs."""
        recovered = self._recovered  # before the problem, which ends first
        problem = self._problem if self.fork is None else self.fork.in_one_line
        size = self.ledger.size
        try:
            inbox_seq, recorded_at = self._newest.ask()
        except PrazoError as error:
            inbox_seq, recorded_at = size, 0
            problem = problem or str(error)
        lag = self._lag(size, inbox_seq)
        return Status(
            last_seq=size,
            inbox_seq=inbox_seq,
            recorded_at=recorded_at,
            lag_seconds=lag,
            is_verified=self._is_verified and problem is None and lag < BEHIND_SECONDS,
            problem=problem,
            recovered=recovered,
        )

    def _note_lag(self) -> int:
        """How many entries wait, as far as the inbox can be asked."""
        with contextlib.suppress(PrazoError):
            size, last = self.ledger.size, self._inbox.last()[0]
            self._lag(size, last)
            return last - size
        return 0

    def _lag(self, size: int, inbox_seq: int) -> float:
        """Seconds for which the first entry that is missing has been seen to be missing."""
        since = self._behind_since
        now = time.monotonic()
        if inbox_seq <= size:
            self._behind_since = None
        elif since is None or since.seq <= size:
            self._behind_since = since = _Behind(inbox_seq, now)
        return 0.0 if inbox_seq <= size or since is None else now - since.at

    def close(self) -> None:
        """Ends the thread, then closes the ledger, once others have read what they are reading:
        DuckDB refuses to close under them."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._appending.close()
        try:
            close_once_read(self.ledger.path, self.ledger.close)
        except PrazoError as error:
            LOG.warning("%s", error)


def _said(error: Exception) -> str:
    """Logs a failure; a fault of ours with its traceback. Returns what the pages say of it: of a
    fault its kind alone, since its words may quote a row."""
    if isinstance(error, PrazoError):
        LOG.error("%s", error)
        return error.in_one_line
    LOG.exception("the ledger could not be followed")
    return OperatorError(
        "The ledger could not be followed",
        type(error).__name__,
        "it is tried again and again; the log has the whole error, for whoever looks into it",
    ).in_one_line
