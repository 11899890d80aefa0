"""Leads out of a fork: what an inbox lost is recorded in it once more, from the ledger.

The ledger follows an inbox that was put back from an older copy no further. Here the inbox gets an
entry that says what happened, then each lost entry again, naming what it was; the ledger is then
built again from the inbox. Each step is done once, however often a run is killed and started again.
Receivers may run meanwhile: the guard lets them write as soon as a new head is signed.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final, NamedTuple

from pipeline.continuity.drafts import require_room
from pipeline.continuity.erased_again import erase_what_came_back, stays_of
from pipeline.continuity.forks import fork_of, recorded_after
from pipeline.continuity.kept_heads import OTHER_LOG, KeptHead, kept, place, prove
from pipeline.continuity.service import LedgerService
from pipeline.errors import (
    CallerError,
    InboxForked,
    LedgerInUse,
    LedgerStalled,
    NoRoom,
    OperatorError,
)
from pipeline.inbox import Head, Inbox, Outcome
from pipeline.ledger.arrow import IS_ERASED
from pipeline.log import reconciling, tree
from pipeline.log.commitments import uncommitted
from pipeline.log.entries import Draft, Entry
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.kinds.reconciliation import RECONCILIATION
from pipeline.settings import Settings
from pipeline.texts import counted

ENTRIES_PER_COMMIT: Final = 256

OnProgress = Callable[[str, int, int], None]
"""(what is done, how much of it, how much there is)"""


class Fork(NamedTuple):
    """Where ledger and inbox part, and what that means."""

    at: int  # the last entry that both share, as far as anybody knows
    abandoned_size: int  # how far the past that the inbox lost is known to have gone
    abandoned_root: bytes
    in_ledger: int  # entries that the inbox lost and the ledger holds
    inbox_size: int
    checkpoint: str | None  # the newest one that is known to be signed over what was lost
    reached: int  # the newest entry of that past that anybody is known to have written

    @property
    def lost(self) -> int:
        """Entries that the inbox lost."""
        return self.reached - self.at

    @property
    def beyond_help(self) -> int:
        """Those of them that the ledger does not hold either."""
        return self.lost - self.in_ledger

    @property
    def others(self) -> int:
        """Entries that the inbox holds in their place."""
        return self.inbox_size - self.at


class Missed(NamedTuple):
    """Entries that a receiver wrote and misses, whether or not anybody followed them."""

    first: int
    last: int


class Reconciled(NamedTuple):
    """What was found, and what was done."""

    fork: Fork | None  # None: there was nothing to reconcile
    note: str | None  # what had to be recovered to find that out
    seq: int | None = None  # of the entry that says so; None where nothing was done


def reconcile(
    settings: Settings,
    *,
    reason: str,
    actor: str | None,
    recorded_by: str,
    accepts_loss: bool = False,
    missed: Missed | None = None,
    is_dry_run: bool = False,
    on_progress: OnProgress = lambda *_: None,
) -> Reconciled:
    """Records in the inbox again what it lost and the ledger holds, and builds the ledger again.

    `accepts_loss`: goes on where neither holds some of the entries that were recorded. `missed`:
    what a receiver says that it misses, of which ledger and heads may know nothing.

    Raises `CallerError` without a reason and a name, or where entries would be given up, and
    `OperatorError` where the ledger is not one to recover from, or a second one would not fit
    beside it; nothing is changed then.
    """
    try:
        service = LedgerService(
            settings, is_keeper=not is_dry_run, may_create=False, serves_a_fork=True
        )
    except LedgerInUse as held:
        raise LedgerInUse(
            held.what,
            "the ledger is built again in the end, so nobody else may hold it",
            "stop `prazo serve`, `prazo dashboard` or `prazo follow`; receivers of their own may"
            " go on",
        ) from None
    with closing(service):
        if service.fork is not None:
            fork = _found(service, kept(place(settings)), missed)
        elif missed is not None:
            fork = _unfollowed(service, missed)
        else:
            if not is_dry_run:
                _sign(service)  # what an earlier run recorded may have waited for a head
            return Reconciled(None, service.status().recovered)
        draft = reconciling.reconciliation(
            fork=fork.at,
            abandoned_size=fork.abandoned_size,
            abandoned_root=fork.abandoned_root,
            recorded_again=fork.in_ledger,
            reached=fork.reached,
            checkpoint=fork.checkpoint,
            reason=reason,
            actor=actor,
            recorded_by=recorded_by,
        )
        if is_dry_run:
            return _foreseen(fork)
        if fork.beyond_help and not accepts_loss:
            raise _beyond_help(fork)
        is_followed = service.fork is None
        if not is_followed:
            require_room(settings.ledger)  # before there is an entry: it is built again in the end
            service.inbox.guard(lambda _: None)  # what the guard holds back is corrected here
        seq = _recorded(service.inbox, draft)
        if is_followed:
            service.catch_up()
            service.sign()
            return Reconciled(fork, None, seq)
        _record_again(service, fork, recorded_by, on_progress)
        erased = service.ledger.select(IS_ERASED, [])
        erase_what_came_back(service.inbox, erased, service.keys)
        service.signing.take_up()  # the key in force may have come into force in what was lost
        on_progress("building the ledger", 0, 1)
        _build_again(service, fork, seq)
        service.sign()
        return Reconciled(fork, None, seq)


def _foreseen(fork: Fork) -> Reconciled:
    if fork.others or fork.beyond_help:
        return Reconciled(fork, None)
    note = f"The inbox lacks {counted(fork.lost, 'entry')}, which would be given back as they were."
    return Reconciled(None, note)


def _beyond_help(fork: Fork) -> CallerError:
    recorded = ("entry that was recorded is", "entries that were recorded are")
    lost = counted(fork.beyond_help, *recorded)
    return CallerError(
        "Nothing was reconciled",
        f"{lost} neither in the inbox nor in this ledger",
        "put back a ledger or a backup that holds them (`prazo restore`); if there is none, say"
        " --accept-loss",
    )


def _recorded(inbox: Inbox, draft: Draft) -> int:
    """The seq under which the reconciliation stands in the inbox, from this run or an earlier."""
    inbox.append([draft])
    return next(
        entry.seq
        for entry in inbox.find(kind=RECONCILIATION)
        if entry.ingest_key == draft.ingest_key
    )


def _build_again(service: LedgerService, fork: Fork, seq: int) -> None:
    try:
        service.rebuild(
            f"it was reconciled after entry {fork.at}, see entry {seq}",
            abandoned=_abandoned(service, fork).__contains__,
        )
    except (NoRoom, LedgerStalled) as full:
        raise NoRoom(
            "What the inbox lost is recorded in it again, and the ledger was not built",
            f"entry {seq} and those after it are on disk, and nothing is lost; {full.finding}",
            f"{full.remedy}, then run `prazo reconcile` again: it adds nothing twice",
        ) from full


def _sign(service: LedgerService) -> None:
    """Leaves a head. Raises `OperatorError` where that cannot be, and writers wait for one."""
    head = kept(place(service.settings))
    if head is not None and service.signer is None:
        try:
            prove(service.inbox, head, service.signing.known())
        except InboxForked:
            raise service.signing.missing() from None
    service.sign()


def _unfollowed(service: LedgerService, missed: Missed) -> Fork:
    """What only a receiver misses: ledger and inbox agree, and nobody else knows of a loss."""
    service.catch_up()
    at = min(missed.first - 1, service.ledger.size)
    return Fork(
        at=at,
        abandoned_size=at,
        abandoned_root=service.ledger.root_at(at),
        in_ledger=0,
        inbox_size=service.ledger.size,
        checkpoint=None,
        reached=missed.last,
    )


def _found(service: LedgerService, head: KeptHead | None, missed: Missed | None) -> Fork:
    """Where the stores part. Raises `OperatorError` where this ledger cannot help."""
    ledger, inbox = service.ledger, service.inbox
    keys, signing = service.recovery.keys_with(ledger), service.signing
    has_key = keys is not None and signing.holds(keys.current)
    if not has_key and (head is None or not signing.has_signed(head.note)):
        raise _helpless(
            f"the key that signs for the log is not in {service.settings.signing_key_file}",
            "run it where the dashboard signs; if this ledger says afterwards that it still holds"
            " entries that the inbox lacks, no other has them: bring the key's file here, and run"
            " it again",
        )
    if ledger.is_without_bodies:
        raise _helpless("this ledger holds no bodies", "run it where a whole ledger is")
    if head is not None and head.log != inbox.log:
        raise _helpless(
            f"the inbox is the log {inbox.log}, and the head that is kept is of {head.log}",
            OTHER_LOG,
        )
    shared, inbox_size = fork_of(ledger, inbox), inbox.last()[0]
    at = shared
    newest = Head(ledger.size, ledger.frontier.root())
    if head is not None and shared == ledger.size:
        # The ledger knows of no loss: it was made from the inbox as it is now. What the keeper left
        # in the inbox is older than the loss.
        known = inbox.head()
        sizes = [it.size for it in inbox.checkpoints()] + ([known.size] if known else [])
        at = min(inbox_size, max((it for it in sizes if it < head.size), default=0))
        newest = Head(head.size, head.root)
    elif head is not None:
        if head.size <= ledger.size and ledger.root_at(head.size) != head.root:
            raise _helpless(
                f"the ledger has another past than the head of {head.size} entries that is kept",
                "find the ledger that this head belongs to, or its backup",
            )
        newest = max(newest, Head(head.size, head.root))
    in_ledger = ledger.size - at if shared < ledger.size else 0
    erased = ledger.erased()
    for first in range(at + 1, at + in_ledger + 1, ENTRIES_PER_COMMIT):
        entries = ledger.recorded(first, first + ENTRIES_PER_COMMIT - 1)
        if wrong := [it.seq for it in entries if uncommitted(it, inbox.identity, erased)]:
            raise _helpless(
                f"entry {wrong[0]} of the ledger is not as it was recorded",
                "put back a ledger or a backup that is right (`prazo restore`)",
            )
    signed = inbox.checkpoint()
    return Fork(
        at=at,
        abandoned_size=newest.size,
        abandoned_root=newest.root,
        in_ledger=in_ledger,
        inbox_size=inbox_size,
        checkpoint=head.note if head else signed.note if signed and signed.size > at else None,
        reached=max(newest.size, missed.last if missed else 0),
    )


def _helpless(why: str, remedy: str) -> OperatorError:
    return OperatorError("Nothing was reconciled", why, remedy)


def _record_again(
    service: LedgerService, fork: Fork, recorded_by: str, on_progress: OnProgress
) -> None:
    """Records each lost entry that the inbox does not hold again already, in their order. Of one
    that was erased since, what stays: the ledger may have that erasure, and not have been made
    again yet, and no erasure names the entry under its new seq."""
    ledger, inbox = service.ledger, service.inbox
    erased = ledger.erased()
    seqs_now = recorded_after(inbox, fork.at)
    read_as: dict[int, int] = {}
    for first in range(fork.at + 1, fork.at + fork.in_ledger + 1, ENTRIES_PER_COMMIT):
        on_progress("entries recorded again", first - fork.at - 1, fork.in_ledger)
        for batch in _batches(ledger.recorded(first, first + ENTRIES_PER_COMMIT - 1)):
            lost = [
                stays_of(entry, service.keys)
                if entry.seq in erased and not entry.is_erased
                else entry
                for entry in batch
                if tree.leaf_hash(entry.leaf) not in seqs_now
            ]
            drafts = [
                reconciling.again(entry, read_as, fork.at, recorded_by=recorded_by)
                for entry in lost
            ]
            for receipt, draft, entry in zip(inbox.append(drafts), drafts, lost, strict=True):
                if receipt.outcome is Outcome.DUPLICATE and entry.kind != COLLECTION:
                    [receipt] = inbox.append([reconciling.apart(draft, entry)])
                if receipt.entry is not None:
                    seqs_now[tree.leaf_hash(entry.leaf)] = receipt.entry.seq
            if batch[-1].kind == QUARANTINE:
                read_as[batch[-1].seq] = seqs_now[tree.leaf_hash(batch[-1].leaf)]


def _batches(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Each ends after a delivery in quarantine, since what read it names its new seq, and after
    what has a key of its own: where another entry has that by now, nothing may come before it."""
    batches: list[list[Entry]] = [[]]
    for entry in entries:
        batches[-1].append(entry)
        if entry.kind == QUARANTINE or entry.ingest_key is not None:
            batches.append([])
    return [it for it in batches if it]


def _abandoned(service: LedgerService, fork: Fork) -> set[Head]:
    """The heads that are known to be of the past that is given up."""
    last = service.inbox.head()
    heads = {service.recovery.head_of(it) for it in service.inbox.checkpoints()}
    heads |= {it for it in (last, service.recovery.kept_head()) if it is not None}
    return {
        head
        for head in heads
        if head == (fork.abandoned_size, fork.abandoned_root)
        or (
            fork.in_ledger
            and fork.at < head.size <= service.ledger.size
            and service.ledger.root_at(head.size) == head.root
        )
    }
