"""Proves an inbox against heads that are kept outside of it, before anything is written to it.

An inbox that was put back from an older copy is whole in itself: nothing in it says that entries
are gone. So the keeper leaves its newest head in a file beside the ledger as well, and gives it out
over HTTP. It is the signed checkpoint with the proof of the newest leaf, so a process that writes
to an inbox can tell by reading one entry whether the inbox is that old.
"""

import logging
import threading
import time
import urllib.error
from pathlib import Path
from typing import Final, NamedTuple, Self

from pipeline import plain
from pipeline.aside import Aside
from pipeline.continuity import restoring
from pipeline.errors import InboxForked, InboxMissing, InboxUnavailable
from pipeline.http import addresses
from pipeline.http.outgoing import direct
from pipeline.inbox import Inbox, open_inbox
from pipeline.inbox.signing_keys import log_keys
from pipeline.log import tree
from pipeline.log.checkpoints import Checkpoint, Signer
from pipeline.log.kinds.reconciliation import RECONCILIATION
from pipeline.log.reconciling import Reconciliation
from pipeline.log.signing import LogKeys, open_checkpoint
from pipeline.places import head_beside
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

ASK_SECONDS: Final = 2.0
"""For the keeper's answer; a receiver that starts waits no longer for it."""
RETRY_SECONDS: Final = 1.0
"""Between two looks at an inbox that was refused."""
MAX_BYTES: Final = 65_536
NOTHING_SIGNED: Final = 404
"""What a keeper answers until it has signed a head: there is nothing to compare with yet."""

REMEDY: Final = (
    "if another inbox than the usual one is in its place, put that one back; if its entries are"
    " lost, stop the ledger's holder and run `prazo reconcile`"
    " (docs/operations.md#an-inbox-that-was-put-back)"
)
OTHER_LOG: Final = (
    "let PRAZO_INBOX name the inbox of that log; if it was lost, `prazo restore DIR` puts it back"
    " from its backup, with what the ledger holds beyond that, and sets this one aside"
)


class KeptHead(NamedTuple):
    """A signed head of a log, and the proof of its newest leaf."""

    log: str
    size: int
    root: bytes
    proof: list[bytes]
    note: str

    @classmethod
    def read(cls, text: str) -> Self:
        """Reads a head as it is kept; ValueError for any other text. Checks no signature."""
        index, hashes, note = tree.TlogProof.read(text)
        checkpoint = Checkpoint.read(note)
        if index != checkpoint.size - 1:
            raise ValueError(f"it proves leaf {index}, not the newest of {checkpoint.size}")
        return cls(checkpoint.log, checkpoint.size, checkpoint.root, hashes, note)

    def has_newest(self, leaf: bytes) -> bool:
        """Whether that was the log's newest leaf."""
        return tree.root_over_newest(tree.leaf_hash(leaf), self.proof) == self.root


def place(settings: Settings) -> Path:
    """Where the keeper leaves its newest head."""
    return settings.head_file or head_beside(settings.ledger)


def kept(path: Path) -> KeptHead | None:
    """The head in a file; None where there is none.

    Raises `InboxForked` if the file cannot be read: it may say that entries are lost.
    """
    try:
        return KeptHead.read(plain.read(path, MAX_BYTES).decode("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InboxForked(
            "Nothing is recorded",
            f"the head that is kept in {path} cannot be read: {error}",
            "look at that file; without it, nothing tells whether the inbox is an older copy",
        ) from None


def prove(inbox: Inbox, head: KeptHead, keys: LogKeys | None) -> None:
    """Raises `InboxForked` unless the inbox still has what the log had under that head.

    `keys`: of the log; None if none is known here, and the signature is not checked.
    """
    if head.log != inbox.log:
        raise _forked(
            f"the newest signed head that is known here, of {head.size} entries, is of another log,"
            f" {head.log}, than the inbox, {inbox.log}",
            OTHER_LOG,
        )
    try:
        open_checkpoint(head.note, keys)
    except ValueError as error:
        raise _forked(
            f"the head of {head.size} entries that is kept outside of the inbox is not signed with"
            f" a key that the inbox knows: {error}"
        ) from None
    leaf = inbox.leaf(head.size)
    if leaf is None:
        last = inbox.last()[0]
        held = f"holds only {last}" if last < head.size else f"lacks number {head.size}"
        raise _forked(
            f"{head.size} entries were signed, and the inbox {held}: entries that were acknowledged"
            " are missing from it"
        )
    if not head.has_newest(leaf):
        raise _forked(
            f"entry {head.size} of the inbox is not the one that was signed: entries that were"
            " acknowledged are missing from it, and others stand in their place"
        )


def _prove_size(inbox: Inbox) -> None:
    """Raises `InboxForked` where the inbox holds a checkpoint over more entries than it has, and of
    no past that was given up: its end was cut off, or a restore into its database was."""
    signed, (last, _) = inbox.checkpoint(), inbox.last()
    if signed is None or signed.size <= last:
        return
    ended = map(Reconciliation.of, inbox.find(kind=RECONCILIATION))
    if not any(it.fork < signed.size for it in ended):
        raise InboxForked(
            "Nothing is recorded in this inbox",
            f"it holds {last} entries and a checkpoint over {signed.size}: the others are missing",
            "if a restore was cut off, run it again, to its end; else stop the ledger's holder and"
            " run `prazo reconcile` (docs/operations.md#an-inbox-that-was-put-back)",
        )


def known_keys(inbox: Inbox, key_file: Path) -> LogKeys | None:
    """The keys that sign for the log: those that the inbox has registered, or the one whose file is
    here; None if neither is known."""
    keys = log_keys(inbox)
    if keys is None and key_file.exists():
        return LogKeys(Signer(inbox.log, key_file).key)
    return keys


def _forked(why: str, remedy: str = REMEDY) -> InboxForked:
    return InboxForked("Nothing is recorded in this inbox", why, remedy)


_ANSWERED: Final[dict[tuple[str, str], KeptHead]] = {}
"""By inbox and keeper, the last head that this keeper gave over HTTP. Whoever opens the inbox
once more, since it was refused, must not go on because the keeper is silent by then."""


class Guard:
    """Stands before the first write over each connection to an inbox (`Inbox.guard`).

    It compares the inbox with the head in the keeper's file and, where the keeper runs on another
    machine, with the one that it gives over HTTP. What cannot be reached holds nothing up, and is
    said.
    """

    def __init__(self, settings: Settings) -> None:
        self._file = place(settings)
        self._key_file = settings.signing_key_file
        self._url = settings.keeper_url
        self._lock = threading.Lock()
        self._question: Aside[KeptHead | None] | None = None
        self._at = (settings.inbox, self._url or "")
        self._refusal: InboxForked | None = None
        self._refused_at = 0.0  # on the monotonic clock
        self._said = ""
        self.unreached: str | None = None
        """Why the newest head could not be had from the keeper, if so."""

    def __call__(self, inbox: Inbox) -> None:
        """Raises `InboxForked` where the inbox is not proved; looks again once a second."""
        with self._lock:
            now = time.monotonic()
            if self._refusal is not None and now < self._refused_at + RETRY_SECONDS:
                raise InboxForked(*self._refusal.args)
            try:
                self._prove(inbox)
            except InboxForked as refusal:
                if self._refusal is None:
                    LOG.critical("%s", refusal)
                self._refusal, self._refused_at = refusal, now
                raise
            if self._refusal is not None:
                LOG.warning("the inbox has what was signed: entries are recorded in it again")
            self._refusal = None

    def _prove(self, inbox: Inbox) -> None:
        _prove_size(inbox)
        heads = [head for head in (kept(self._file), self._asked()) if head is not None]
        if not heads:
            return
        keys = known_keys(inbox, self._key_file)
        if keys is None:
            self._say("no signing key of this log is known here: kept heads are compared unsigned")
        # The older of two may be from before a reconciliation.
        prove(inbox, max(heads, key=lambda head: head.size), keys)

    def _asked(self) -> KeptHead | None:
        """The head that the keeper gives over HTTP, or gave when it last answered.

        A keeper that did not answer in time is not waited for again until it has answered: its
        word is taken with the look after that.
        """
        if self._url is None:
            return None
        patience = ASK_SECONDS if self.unreached is None else 0.0
        url = self._url
        self._question = self._question or Aside(lambda: ask(url), name="kept head")
        try:
            answer = self._question.outcome(patience)
            self.unreached, self._question = None, None
            if answer is not None:
                _ANSWERED[self._at] = answer
        except TimeoutError as error:
            self._unreached(error)
        except (OSError, ValueError) as error:
            self._question = None
            self._unreached(error)
        return _ANSWERED.get(self._at)

    def _unreached(self, error: Exception) -> None:
        place = addresses.shown(self._url or "")
        self.unreached = f"the keeper at {place} did not give its newest head: {error}"
        self._say(self.unreached)

    def _say(self, what: str) -> None:
        if what != self._said:
            LOG.warning("%s", what)
        self._said = what


def open_guarded(settings: Settings, *, create: bool = True) -> Inbox:
    """The inbox of the settings, to be written to once the guard has proved it. `create`: makes one
    where there is none, as `open_shared` does."""
    inbox = open_shared(settings, create=create)
    inbox.guard(Guard(settings))
    return inbox


def open_shared(settings: Settings, *, create: bool = True) -> Inbox:
    """The inbox of the settings. Where another machine is its keeper, or this one has a head or a
    ledger of a log, none is made: what came would be recorded in another log, and the one that was
    lost is to be put back in this very place. Raises `InboxMissing` then, as without `create`, and
    `InboxUnavailable` while a restore is not done."""
    if settings.has_inbox_file:
        restoring.require_none(settings)
    other = other_beginning(settings)
    begins = create and other is None and not restoring.is_marked(settings)
    try:
        inbox = open_inbox(settings.inbox, create=begins)
    except InboxMissing as missing:
        restoring.require_none(settings)
        if other is None:
            raise
        why, remedy = other
        raise InboxMissing(missing.what, f"{missing.why}; {why}", remedy) from None
    try:
        # A database that has what was signed over the log refuses whatever comes too early, and
        # goes on by itself once it has the rest.
        if not settings.has_inbox_file and inbox.checkpoint() is None:
            restoring.require_none(settings)
    except InboxUnavailable:
        inbox.close()
        raise
    return inbox


def other_beginning(settings: Settings) -> tuple[str, str] | None:
    """Why this machine begins no log, and what to do; None where it does."""
    if settings.keeper_url is not None:
        return (
            "the machine that PRAZO_KEEPER_URL names begins a log, not this one",
            "start that machine, or let it restore the backup; if this one is to begin the log,"
            " leave PRAZO_KEEPER_URL out",
        )
    if left := left_of_a_log(settings):
        named = " and ".join(map(str, left))
        return (
            f"{named} {'is' if len(left) == 1 else 'are'} of a log that is not there: no other is"
            " begun in its place",
            "`prazo restore DIR` puts it back from its backup, with what the ledger holds beyond"
            " that; if PRAZO_INBOX names the wrong inbox, correct it; if another log is to begin"
            f" here, move {named} away",
        )
    return None


def left_of_a_log(settings: Settings) -> list[Path]:
    """What this machine has of an inbox that was there before: a head and a ledger, each made from
    it, and a WAL, which would be read into whatever took its place."""
    wals = [Path(f"{settings.inbox}-wal")] if settings.has_inbox_file else []
    return [it for it in (place(settings), settings.ledger, *wals) if it.exists()]


def ask(url: str) -> KeptHead | None:
    """The newest head of the keeper at a URL; None while it has none. Raises OSError or ValueError
    where it gives no answer that could be one."""
    try:
        with direct.opened(f"{url.rstrip('/')}/api/head", ASK_SECONDS) as answer:
            return KeptHead.read(answer.read(MAX_BYTES).decode("utf-8"))
    except urllib.error.HTTPError as error:
        with error:
            if error.code == NOTHING_SIGNED:
                return None
            raise OSError(f"it answered {error.code}") from None
