"""Opens a ledger that may be served: proves that its history is the inbox's, or recovers it first.

A ledger whose root differs from the head or from the newest checkpoint that the inbox keeps is
never served: it is rebuilt from the inbox, and if the inbox itself leads to another root, refused.

An inbox can also lose its newest entries: a cut file, a failed disk, a hand with SQL. The ledger
holds them whole. It is believed only for what the inbox itself still vouches for, a head or a
signed checkpoint that covers every entry given back: nobody can have made those up in the ledger.
The signed head that the keeper leaves outside of the inbox vouches like one in it.

An inbox that was put back from an older copy and then went on has another past than the ledger. The
ledger is then neither followed any further nor rebuilt: it alone holds what was lost, until the
inbox has been reconciled (`reconcile.py`). That holds for the file of an earlier release, too:
where the inbox lacks its newest entry, the ledger is made again from its entries.
"""

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import duckdb

from pipeline.continuity import former
from pipeline.continuity.appending import append_all
from pipeline.continuity.drafts import draft_of, making, require_room, swapped_in
from pipeline.continuity.erased_again import erase_what_came_back
from pipeline.continuity.forks import check_continuity, ended_by, fork_of, parting, recorded_after
from pipeline.continuity.kept_heads import kept, prove
from pipeline.continuity.reading import always
from pipeline.errors import InboxForked, LedgerDamaged, LedgerOutdated, LedgerRefused
from pipeline.files import databases
from pipeline.inbox import Head, Inbox, SignedHead
from pipeline.inbox.erased import erased_entries, newest_erasure
from pipeline.inbox.signing_keys import open_own
from pipeline.ledger import file
from pipeline.ledger.arrow import ERASURES, IS_ERASED, entries_of_former
from pipeline.ledger.store import Ledger
from pipeline.log import erasures, tree
from pipeline.log.checkpoints import VerificationKey
from pipeline.log.commitments import uncommitted
from pipeline.log.entries import Entry, Identity
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.erasure import ERASURE
from pipeline.log.kinds.key_rotation import KEY_ROTATION
from pipeline.log.kinds.reconciliation import RECONCILIATION
from pipeline.log.reconciling import Reconciliation
from pipeline.log.signing import LogKeys, open_checkpoint
from pipeline.texts import counted

LOG = logging.getLogger(__name__)

ENTRIES_PER_COMMIT: Final = 4096

OpenLedger = Callable[[Path | None, int], Ledger]
"""Opens the ledger at a path, or makes it; None: in memory. With it comes the newest erasure after
which it has to be begun."""

Abandoned = Callable[[Head], bool]
"""Whether a head is of a past that a reconciliation has ended."""


class Opened(NamedTuple):
    """A ledger that may be served."""

    ledger: Ledger
    is_verified: bool  # its root was compared with a head or checkpoint
    recovered: str | None  # what had to be rebuilt or put back, and why
    fork: InboxForked | None = None  # why it must not follow the inbox any further


class Recovery:
    """Opens one ledger over one inbox: at the start, and once its file is damaged under it."""

    def __init__(
        self,
        inbox: Inbox,
        path: Path | None,
        open_ledger: OpenLedger,
        ask_keys: Callable[[], LogKeys | None],
        *,
        is_keeper: Callable[[VerificationKey | None], bool],
        head_file: Path,
    ) -> None:
        """`ask_keys`: gives those that sign for the log, where they are known; asked each time, as
        they may be replaced while a ledger is served. `is_keeper`: whether this machine
        may give entries back to the inbox, if that key is the log's. `head_file`: where the keeper
        leaves its newest head."""
        self._inbox = inbox
        self._path = path
        self._open_at = open_ledger
        self._erasure = 0  # one that comes while a ledger is made has the next one made
        self._ask_keys = ask_keys
        self._keys: LogKeys | None = None
        self._is_keeper = is_keeper
        self._head_file = head_file
        self._is_verified = False
        self._recovered: str | None = None
        self._may_go_on: Callable[[], bool] = always

    def open(self, damage: str | None = None, may_go_on: Callable[[], bool] = always) -> Opened:
        """The ledger as it lies there, or recovered. `damage`: known of its file, which then has to
        be made again. `may_go_on`: as `append_all` asks it.

        Raises `LedgerRefused` where the ledger and the inbox cannot both be true.
        """
        self._may_go_on, self._is_verified, self._recovered = may_go_on, False, None
        self._look()
        try:
            ledger = self._opened(damage)
        except (LedgerDamaged, LedgerOutdated):
            with making(self._path):
                made = self._made_again(damage)
            if isinstance(made, Opened):
                return made
            ledger = made
        try:
            fork = self._fork(ledger)
            if fork is not None:
                return Opened(ledger, False, None, fork)
            self._reach_head(ledger)
        except _Diverged as diverged:
            ledger.close()
            return self.rebuild(str(diverged))
        except (LedgerDamaged, duckdb.Error) as error:
            ledger.close()
            damage = error.why if isinstance(error, LedgerDamaged) else file.corruption(error)
            if damage is None:
                raise
            return self.rebuild(damage)
        except BaseException:
            ledger.close()
            raise
        return Opened(ledger, self._is_verified, self._recovered)

    def _look(self) -> None:
        """What the log says by now of what was erased, and which keys sign for it."""
        self._erasure, self._keys = newest_erasure(self._inbox), self._ask_keys()

    def _made_again(self, damage: str | None) -> Ledger | Opened:
        """The ledger, made again unless another process has done so meanwhile."""
        try:
            return self._opened(damage)
        except (LedgerDamaged, LedgerOutdated) as error:
            why = error.why or error.what
            carried = None if self._path is None else self._carried_over(self._path, why)
            return carried or self._rebuilt(why, is_outdated=isinstance(error, LedgerOutdated))

    def _opened(self, damage: str | None) -> Ledger:
        if damage is not None:
            raise LedgerDamaged(f"The ledger {self._path} is damaged", damage)
        return self._open_ledger(self._path)

    def _open_ledger(self, path: Path | None) -> Ledger:
        return self._open_at(path, self._erasure)

    def rebuild(self, why: str, *, abandoned: Abandoned = lambda _: False) -> Opened:
        """Builds the ledger from the inbox, beside the old file. That stays where it is until the
        new one is proved, and is then set aside for inspection.

        `abandoned`: whether a head in the inbox is of a past that a reconciliation has ended.
        Raises `LedgerInUse` where another process is making it again.
        """
        self._look()
        with making(self._path):
            return self._rebuilt(why, abandoned=abandoned)

    def _rebuilt(
        self, why: str, *, abandoned: Abandoned = lambda _: False, is_outdated: bool = False
    ) -> Opened:
        """The ledger, built again. Not set aside are one that holds what was erased since, and one
        without bodies that `is_outdated`: it may hold what only the masks of this release hide."""
        LOG.warning("rebuilding the ledger from the inbox: %s", why)
        draft, is_outlived = self._path and draft_of(self._path), False
        if self._path is not None and draft is not None:
            databases.remove_database(draft)
            require_room(self._path)
            is_outlived = former.is_outlived(self._path, self._inbox, self._erasure)
        try:
            ledger, fork = self._built(draft, abandoned)
        except BaseException:
            if draft is not None:
                databases.remove_database(draft)  # it may be what fills the disk
            raise
        if fork is not None and self._path is not None and self._path.exists():
            ledger.close()
            databases.remove_database(draft_of(self._path))
            raise _unreadable(self._path, f"{fork.why}; {why}")
        if self._path is not None and draft is not None:
            ledger.close()
            is_dropped = is_outlived or (is_outdated and ledger.is_without_bodies)
            aside = swapped_in(draft, self._path, is_dropped=is_dropped)
            ledger = self._open_ledger(self._path)
            if aside is not None:
                LOG.warning("the former ledger was kept as %s", aside)
        self._note(f"the ledger was rebuilt from the inbox: {why}")
        return Opened(ledger, self._is_verified and fork is None, self._recovered, fork)

    def _carried_over(self, path: Path, why: str) -> Ledger | None:
        """The ledger made again from its own former file; None where the inbox has the newest entry
        of that, or where nothing can be read in it.

        Raises `InboxForked`, and leaves the file where it is, where it is not read to its end.
        """
        draft = draft_of(path)
        try:
            with closing(duckdb.connect(file.name_of(path), read_only=True)) as theirs:
                meta = dict(theirs.execute("select name, value from meta").fetchall())
                [(seq, count)] = theirs.execute("select max(seq), count(*) from log").fetchall()
                newest = theirs.execute("select leaf from log where seq = ?", [seq]).fetchone()
                if meta["log"] != self._inbox.log or newest in (None, (self._inbox.leaf(seq),)):
                    return None
                if count != seq or meta["without_bodies"] != "false":
                    raise _unreadable(path, why)
                shared = parting(
                    seq, lambda seq: entries_of_former(theirs, seq, seq)[0].leaf, self._inbox
                )
                if uncommitted(
                    entries_of_former(theirs, shared + 1, shared + 1)[0],
                    self._inbox.identity,
                    erasures.known(theirs.execute(ERASURES, [ERASURE]).fetchall()),
                ):
                    return None  # the file was changed: nothing of that was ever recorded
                databases.remove_database(draft)
                require_room(path)
                self._carry_over(theirs, draft, seq)
        except (duckdb.Error, KeyError) as error:
            LOG.warning("the former ledger cannot be read: %s", error)
            return None
        aside = swapped_in(draft, path)
        LOG.warning("the ledger was made again from its own entries, %s: %s", aside, why)
        return self._open_ledger(path)

    def _carry_over(self, theirs: duckdb.DuckDBPyConnection, draft: Path, size: int) -> None:
        ledger = self._open_ledger(draft)
        erased = {it.seq: it for it in erased_entries(self._inbox)}  # since it followed them
        try:
            for first in range(1, size + 1, ENTRIES_PER_COMMIT):
                last = min(size, first + ENTRIES_PER_COMMIT - 1)
                entries = entries_of_former(theirs, first, last)
                batch = ledger.batch([erased.get(it.seq, it) for it in entries])
                ledger.append(batch, more_follow=last < size)
        except BaseException:
            ledger.close()
            databases.remove_database(draft)
            raise
        ledger.close()

    def _built(self, draft: Path | None, abandoned: Abandoned) -> tuple[Ledger, InboxForked | None]:
        ledger = self._open_ledger(draft)
        try:
            self._reach_head(ledger, abandoned)
            return ledger, self._completed(ledger, abandoned)
        except _Diverged as diverged:
            ledger.close()
            raise LedgerRefused(
                "The ledger is not served",
                f"rebuilt from the inbox, {diverged}",
                "the inbox was changed: restore it from a backup",
            ) from None
        except BaseException:
            ledger.close()
            raise

    # --- an inbox that was put back ---

    def _fork(self, ledger: Ledger) -> InboxForked | None:
        """Why the ledger must not follow the inbox any further; None where it may. Raises
        `_Diverged` where all that follows their last common entry stands in the inbox once more."""
        if ledger.size > self._inbox.last()[0] and self._shares_its_end(ledger):
            return self._awaiting(ledger)  # else it gives back what is lacking, or refuses
        try:
            check_continuity(ledger, self._inbox)
        except InboxForked as fork:
            at = fork_of(ledger, self._inbox)
            if not is_genuine(ledger, at + 1, self._inbox.identity):
                return None  # the ledger was changed: its root tells
            if stands_again(ledger, self._inbox, at):
                raise _Diverged(f"the inbox was reconciled after entry {at}") from None
            return fork
        try:
            self._prove_kept(ledger, lambda _: False)
        except InboxForked:
            self._reach_head(ledger)
            return self._completed(ledger, lambda _: False)
        return None

    def _completed(self, ledger: Ledger, abandoned: Abandoned) -> InboxForked | None:
        """Appends whatever the inbox holds; why it is not all, by the head outside of the inbox."""
        append_all(ledger, self._inbox, may_go_on=self._may_go_on)
        try:
            self._prove_kept(ledger, abandoned)
        except InboxForked as fork:
            return fork
        return None

    def _awaiting(self, ledger: Ledger) -> InboxForked | None:
        """Why the inbox is not followed by who only looks, or has not the key: the log's keeper
        gives back what it lacks. None for the keeper, and where it would not."""
        is_keeper, vouchers = self._vouchers(ledger)
        if is_keeper or ledger.is_without_bodies or ledger.size not in {it.size for it in vouchers}:
            return None
        last, _ = self._inbox.last()
        return InboxForked(
            "The ledger does not follow the inbox any further",
            f"the inbox lacks the last {ledger.size - last} of {counted(ledger.size, 'entry')}, and"
            " holds nothing in their place: they would be given back as they were",
            "if another inbox than the usual one is in its place, put that one back; if its entries"
            " are lost, start what signs (`prazo serve`), or run `prazo reconcile` there",
        )

    def _vouchers(self, ledger: Ledger) -> tuple[bool, list[Head]]:
        """Whether this is the log's keeper, and the heads that vouch for what the inbox lacks."""
        keys = self.keys_with(ledger)
        signed = self._inbox.checkpoint()
        heads = (self._inbox.head(), signed and self.head_of(signed), self.kept_head(keys))
        known = [it for it in heads if it is not None]
        return self._is_keeper(None if keys is None else keys.current), known

    def _shares_its_end(self, ledger: Ledger) -> bool:
        last, _ = self._inbox.last()
        return fork_of(ledger, self._inbox) == last

    def keys_with(self, ledger: Ledger) -> LogKeys | None:
        """The log's keys, with those that came into force in what the inbox lost."""
        if self._keys is None:
            return None
        rotations = [(it.seq, it.body or b"") for it in ledger.select("kind = ?", [KEY_ROTATION])]
        return LogKeys(next(iter(self._keys)).key, rotations)

    def kept_head(self, keys: LogKeys | None = None) -> Head | None:
        """The head outside of the inbox, if it is of this log and signed with the log's key.
        `keys`: the log's, where others are known than the inbox has."""
        head, keys = kept(self._head_file), keys or self._keys
        if head is None or keys is None:
            return None
        try:
            open_checkpoint(head.note, keys, log=self._inbox.log)
        except ValueError:
            return None
        return Head(head.size, head.root)

    def _prove_kept(self, ledger: Ledger, abandoned: Abandoned) -> None:
        """Raises `InboxForked` where the head outside of the inbox is not of its past, nor of one
        that a reconciliation has ended."""
        head = kept(self._head_file)
        if head is None or abandoned(Head(head.size, head.root)):
            return
        try:
            prove(self._inbox, head, self._keys)
        except InboxForked:
            ended = ended_by(ledger, self._inbox, Head(head.size, head.root))
            if head.log != self._inbox.log or ended is None or not ended.is_shown:
                raise

    def _reach_head(self, ledger: Ledger, abandoned: Abandoned = lambda _: False) -> None:
        """Appends what is missing up to the head and the newest checkpoint, and compares the roots
        there; those of an abandoned past are passed over."""
        head, newest, (last_seq, _) = (
            self._inbox.head(),
            self._inbox.checkpoint(),
            self._inbox.last(),
        )
        signed = newest and self.head_of(newest)
        if ledger.size > last_seq:
            is_keeper, vouchers = self._vouchers(ledger)
            count = give_back(ledger, self._inbox, vouchers if is_keeper else [])
            self._note(
                f"the inbox had lost its last {counted(count, 'entry')}; the ledger gave them back,"
                " and they lead to the root that was kept for them"
            )
        before = ledger.size
        for expected, how in ((signed, "signed"), (head, "kept")):
            if expected is None or abandoned(expected):
                continue
            append_all(ledger, self._inbox, expected.size, may_go_on=self._may_go_on)
            if ledger.size < expected.size or ledger.root_at(expected.size) != expected.root:
                raise _Diverged(
                    f"its first {expected.size} entries lead to another root than the one {how}"
                )
            self._is_verified = True
        if before == 0 < ledger.size:
            self._note(
                f"the ledger was built from {counted(ledger.size, 'entry')} of the inbox, and they"
                " lead to the root that was kept for them"
            )
        elif ledger.size > before and self._had_more_than(before):
            self._note(
                f"the ledger had lost its last {counted(ledger.size - before, 'entry')}; the inbox"
                " gave them back, and they lead to the root that was kept for them"
            )

    def _had_more_than(self, size: int) -> bool:
        """Whether a head that was left on this machine is of more entries. Without one, the ledger
        may have been behind while another machine went on."""
        left = kept(self._head_file)
        return left is not None and left.size > size

    def head_of(self, signed: SignedHead) -> Head:
        """What a checkpoint of the inbox says; `LedgerRefused` where our key did not sign it."""
        checkpoint = open_own(signed, self._keys, self._inbox.log)
        return Head(checkpoint.size, checkpoint.root)

    def _note(self, note: str) -> None:
        LOG.warning("%s", note)
        self._recovered = note


def is_genuine(ledger: Ledger, seq: int, identity: Identity) -> bool:
    """Whether the ledger's entry is as it was recorded, as far as the ledger can tell."""
    [entry] = ledger.recorded(seq, seq)
    return ledger.is_without_bodies or not uncommitted(entry, identity, ledger.erased())


def stands_again(ledger: Ledger, inbox: Inbox, fork: int) -> bool:
    """Whether the inbox was reconciled, and everything that follows the fork in the ledger stands
    in it again; a collection may have been sent again, even before."""
    said = map(Reconciliation.of, inbox.find(kind=RECONCILIATION))
    if not any(it.fork <= fork < it.seq for it in said):
        return False
    stands = recorded_after(inbox, fork)
    for first in range(fork + 1, ledger.size + 1, ENTRIES_PER_COMMIT):
        for entry in ledger.recorded(first, first + ENTRIES_PER_COMMIT - 1):
            if tree.leaf_hash(entry.leaf) not in stands and not _was_sent_again(inbox, entry):
                return False
    return True


def _was_sent_again(inbox: Inbox, lost: Entry) -> bool:
    sql = "select 1 from entries where ingest_key = $1"
    return lost.kind == COLLECTION and bool(inbox.query(sql, lost.ingest_key))


def give_back(ledger: Ledger, inbox: Inbox, vouchers: list[Head]) -> int:
    """Copies entries that the inbox has lost at its end from the ledger; how many.

    `vouchers`: the heads of the log that the inbox still keeps. Raises `LedgerRefused`, and
    changes nothing, unless every entry is covered by one of them and proved.
    """
    last, _ = inbox.last()
    covering = [it for it in vouchers if it.size == ledger.size]
    if ledger.is_without_bodies or not covering:
        raise _refusal(ledger, last, "no head or signature in the inbox covers the rest")
    if last and ledger.select("seq = ?", [last])[0].leaf != inbox.read(last - 1, 1)[0].leaf:
        raise _refusal(ledger, last, f"and they differ at entry {last} already")
    frontier = tree.Frontier.at(last, ledger.subtrees())
    erased = ledger.erased()
    batches = range(last + 1, ledger.size + 1, ENTRIES_PER_COMMIT)
    for first in batches:
        entries = ledger.recorded(first, first + ENTRIES_PER_COMMIT - 1)
        if any(uncommitted(it, inbox.identity, erased) for it in entries):
            raise _refusal(ledger, last, "and entries of the ledger are not as they were recorded")
        frontier.extend(tree.leaf_hash(it.leaf) for it in entries)
    if any((frontier.size, frontier.root()) != (it.size, it.root) for it in covering):
        raise _refusal(ledger, last, "and the ledger's entries lead to another root than was kept")
    for first in batches:
        inbox.copy(ledger.recorded(first, first + ENTRIES_PER_COMMIT - 1))
    erase_what_came_back(inbox, ledger.select(IS_ERASED, []), ledger.keys)
    return ledger.size - last


def _refusal(ledger: Ledger, last: int, why: str) -> LedgerRefused:
    return LedgerRefused(
        "The ledger is not served",
        f"it holds {ledger.size} entries and the inbox only {last}, {why}",
        "acknowledged entries are missing from the inbox: stop the receiver; `prazo restore"
        " --from-ledger` puts them back, if you know the ledger to be right",
    )


def _unreadable(path: Path, why: str) -> InboxForked:
    return InboxForked(
        "The ledger is not rebuilt",
        f"the inbox lacks entries that were recorded, and {path}, which may hold them, cannot be"
        f" used: {why}",
        "keep that file; put back a backup of it, or of the inbox (`prazo restore`). If there is"
        " none, move it away, and `prazo reconcile --accept-loss` records the loss",
    )


class _Diverged(Exception):
    """The ledger's root differs from the one that was signed or kept for its size."""
