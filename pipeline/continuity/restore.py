"""Restores the inbox from a backup, or from the ledger, and rebuilds the ledger.

It first proves the entries against what was signed over them. Only then does it write anything, and
it sets the present files aside.
"""

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from pipeline.continuity import kept_heads, restoring
from pipeline.continuity.backup import (
    ARTIFACTS,
    ENTRIES_PER_BATCH,
    INBOX,
    KEYS,
    SIGNING_KEY,
    OnProgress,
    Vouchers,
    batches,
    copy_artifacts,
    copy_entries,
    copy_keys,
    key_files,
    opened_inbox,
    require_no_other_key,
)
from pipeline.continuity.erased_again import erase_what_came_back, keys_here
from pipeline.continuity.held import HeldEntries
from pipeline.continuity.kept_heads import KeptHead
from pipeline.continuity.newer import Newer, Proof, newer_entries, rotations_since
from pipeline.continuity.restoring import draft_of
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.errors import (
    CallerError,
    InboxForked,
    InboxUnavailable,
    NotRestored,
    OperatorError,
    PrazoError,
)
from pipeline.files import databases
from pipeline.inbox import Head, Inbox, copies, schema
from pipeline.inbox.artifacts import artifact_store
from pipeline.inbox.erased import erased_entries, erased_in
from pipeline.inbox.signing_keys import log_keys
from pipeline.inbox.sqlite import foreign
from pipeline.inbox.sqlite.file import make_whole
from pipeline.inbox.store import Statement
from pipeline.log import erasures, tree
from pipeline.log.actions import By, action
from pipeline.log.artifacts import FolderArtifacts
from pipeline.log.checkpoints import Signer, VerificationKey
from pipeline.log.commitments import require_known, uncommitted
from pipeline.log.entries import LIVE, Entry
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.kinds.restoration import RESTORATION
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.log.signing import LogKeys, open_checkpoint
from pipeline.settings import Settings
from pipeline.texts import counted, some_of
from pipeline.verify import Verdict

_ANOTHER: Final = "try another backup"
_WRITABLE: Final = "copy it to where you may write, and restore the copy; else try another backup"
_OF_SELLERS: Final = ("journeys", "journey_sessions", "journey_flow", "artifact_owners")
ROWS_PER_COMMIT: Final = 1000
_DELIVERIES: Final = f"""
    select event_id from entries
    where seq > $1 and kind in ('{WEBHOOK}', '{QUARANTINE}') and origin = '{LIVE}'"""
_EVENTS_THERE: Final = """
    select count(*) from json_each($1)
    where exists (select 1 from entries where event_id = value)"""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored, what was set aside (in `notes`), and whether everything is right."""

    log: str
    entries: int
    artifacts: int
    keys: tuple[Path, ...]
    notes: tuple[str, ...]
    verdict: Verdict


def restore(
    settings: Settings,
    folder: Path,
    *,
    against: str | None = None,
    insisted: By | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> Restored:
    """Restores a backup to where the settings say, builds the ledger, and verifies both.

    A present inbox file is set aside. If a ledger of the same log is newer than the backup, its
    newer entries are restored too. `against`: a signed checkpoint that was kept elsewhere, which
    the entries must continue. `insisted`: who puts back what no signature covers, and why. Raises
    `OperatorError` if the backup contradicts what was signed over it, if no signature covers one of
    the entries and nobody `insisted`, while a process holds the ledger, or if a PostgreSQL inbox
    holds other entries.
    """
    notes: list[str] = []
    with restoring.alone(settings), ExitStack() as opened:
        version = _version_of(folder)
        with _damaged(folder):
            at = opened_inbox(str(folder / INBOX), version=version, is_at_rest=True)
            source = opened.enter_context(at)
        with restoring.announced(settings, source.log):
            with _damaged(folder):
                on_progress("proving the backup", 0, 1)
                known = _keys(source, settings, folder, rotations_since(settings, source))
                kept = _kept_head(settings, source, known)
                proof = _proved(source, known, against=against, kept=kept)
            has_key = settings.signing_key_file.exists()  # it was compared with the backup's
            stated = [Head(kept.size, kept.root)] if kept is not None else []
            stated += [proof.beyond] if proof.beyond is not None else []
            newer = newer_entries(settings, source, proof, stated, notes)
            size = proof.size + len(newer.entries)
            if proof.beyond is not None and proof.beyond not in newer.reached:
                raise _not_continued(proof.beyond, size)
            signed = max([proof.signed, *(it.size for it in newer.reached)])
            if insisted is None and _may_be_left_out(source, proof, signed, newer):
                notes.append(_left_out(proof))
                proof = proof._replace(size=signed, root=proof.signed_root)
                size = signed
            _require_signatures(signed, size, insisted)
            pairs = _keys_to_put(settings, folder, source.log, known, has_key=has_key)
            require_no_other_key(pairs)
        put = [used for _, used in pairs]
        with (
            _marked(settings, source.log, put, leaves_nothing=settings.has_inbox_file),
            _replaced_inbox(settings, source, notes) as inbox,
        ):
            _require_the_same(source, inbox, proof.size)
            # Before the entries: whatever is started on them without a key would make another one.
            keys = copy_keys(pairs)
            # First, so that nobody takes a database for whole that was filled up to the middle.
            Vouchers.of(source).up_to(size).put(inbox)
            copy_entries(source, inbox, on_progress, last=proof.size)
            if newer.entries:
                inbox.copy(newer.entries)
            erase_what_came_back(inbox, newer.erased, keys_here(settings, inbox))
            _record(inbox, signed, insisted, notes)
            # A new inbox file takes its place after this: its entries name what is there. Those of
            # the backup may be of somebody who was forgotten since.
            artifacts, lacking = copy_artifacts(
                inbox,
                FolderArtifacts(folder / ARTIFACTS),
                artifact_store(settings, inbox),
                on_progress,
            )
        if newer.is_other and (aside := databases.set_aside(settings.ledger)) is not None:
            notes.append(f"the former {settings.ledger.name} was kept as {aside.name}")
        if lacking:
            are = counted(len(lacking), "artifact is", "artifacts are")
            notes.append(f"{are} neither in the backup nor here")
        return _verified(settings, proof, against, artifacts, keys, notes, on_progress)


def restore_from_ledger(
    settings: Settings,
    *,
    against: str | None = None,
    insisted: By | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> Restored:
    """Rebuilds the inbox from the ledger's entries, when its own were changed or are missing.

    The present inbox is set aside: a file under another name, the tables of a database in another
    schema. It still supplies the log's identity, what was signed over it, and the entries that the
    ledger has not followed yet. Raises `OperatorError`, and changes nothing, unless every entry is
    as it was recorded, all of them lead to the signed roots, and a signature covers each or a
    person `insisted`.
    """
    notes: list[str] = []
    replaced = _replaced_inbox
    if not settings.has_inbox_file:
        from pipeline.continuity.set_aside import replaced_tables as replaced  # imports the driver
    with restoring.alone(settings):
        with (
            closing(kept_heads.open_shared(settings, create=False)) as damaged,
            closing(HeldEntries(settings, damaged.log)) as ledger,
            replaced(settings, damaged, notes) as inbox,
        ):
            for first in range(1, ledger.size + 1, ENTRIES_PER_BATCH):
                on_progress("entries", first - 1, ledger.size)
                inbox.copy(ledger.recorded(first, first + ENTRIES_PER_BATCH - 1))
            for entries in batches(damaged, ledger.size, damaged.last()[0]):
                inbox.copy(entries)
            # The ledger may not know of it yet, or not have been made again since.
            erase_what_came_back(inbox, erased_entries(damaged), keys_here(settings, inbox))
            Vouchers.of(damaged).put(inbox)
            known = _keys(inbox, settings, None)
            kept = _kept_head(settings, inbox, known)
            proof = _proved(inbox, known, against=against, kept=kept)
            if proof.beyond is not None:
                raise _not_continued(proof.beyond, proof.size)
            _require_signatures(proof.signed, inbox.last()[0], insisted)
            _record(inbox, proof.signed, insisted, notes)
            notes.append(f"{counted(ledger.size, 'entry')} of the ledger went into the new inbox")
        return _verified(settings, proof, against, 0, (), notes, on_progress)


def _verified(
    settings: Settings,
    proof: Proof,
    against: str | None,
    artifacts: int,
    keys: tuple[Path, ...],
    notes: Sequence[str],
    on_progress: OnProgress,
) -> Restored:
    service = LedgerService(settings, serves_a_fork=True)
    try:
        verdict = audit(
            service,
            against=against,
            on_progress=lambda done, all_: on_progress("verifying", done, all_),
        )
        ledger, size = service.ledger, proof.size
        if ledger.size < size or (size and ledger.root_at(size) != proof.root):
            verdict.fault("the backup changed while it was put back: this is not what was proved")
        log, entries = service.inbox.log, service.inbox.last()[0]
    finally:
        service.close()
    return Restored(log, entries, artifacts, keys, tuple(notes), verdict)


@contextmanager
def _marked(
    settings: Settings, log: str, keys: Sequence[Path] = (), *, leaves_nothing: bool
) -> Iterator[None]:
    """Has whatever is started refuse while the block puts the log here, and after one that was cut
    off. Where it fails, its keys are taken back; the mark stays where no inbox is: a service that
    starts at boot would begin another log there. `leaves_nothing`: whether an error leaves nothing
    else either; what came into a database stays there."""
    missing = [it for it in keys if not it.exists()]
    restoring.mark(settings, log, missing)
    try:
        yield
    except BaseException as error:
        is_refused = isinstance(error, NotRestored)
        if leaves_nothing or is_refused:
            restoring.take_back_keys(settings)
        if is_refused or (leaves_nothing and Path(settings.inbox).exists()):
            restoring.clear(settings)
        raise
    restoring.clear(settings)


@contextmanager
def _replaced_inbox(settings: Settings, log: Inbox, notes: list[str]) -> Iterator[Inbox]:
    """An inbox to fill, of the log of another. It replaces the present one when the block ends
    without an error; in a database, what it is filled with completes that one."""
    if not settings.has_inbox_file:
        with opened_inbox(settings.inbox, log.identity) as inbox:
            copies.hold(inbox)
            yield inbox
        return
    draft = draft_of(settings)
    databases.remove_database(draft)
    try:
        with opened_inbox(str(draft), log.identity) as inbox:
            yield inbox
            lacking = _lacking(settings.inbox, inbox)
            _keep_beside(settings.inbox, inbox)
        make_whole(draft)
    except InboxUnavailable as error:
        databases.remove_database(draft)
        raise InboxUnavailable(
            "The inbox was not put back; the present one is as it was", error.finding, error.remedy
        ) from error
    except BaseException:
        databases.remove_database(draft)
        raise
    present = Path(settings.inbox)
    if present.exists():
        with suppress(PrazoError):  # what stands in its WAL alone goes into the file, while it can
            make_whole(present)
    aside = databases.swap_in(draft, present)  # at no moment is there none
    if aside is not None and aside.exists():
        notes.append(f"the former {present.name} was kept as {aside.name}")
    elif aside is not None:
        notes.append(
            f"the WAL of the {present.name} that is not there was kept as {aside.name}-wal: its"
            " newest entries may be in that alone"
        )
    if aside is None or not aside.exists():
        return
    if lacking is None:
        notes.append(f"how many entries {aside} holds that were not put back cannot be told")
    elif said := lacking.said(str(aside), log.log):
        notes.append(said)


def _require_the_same(source: Inbox, inbox: Inbox, last: int) -> None:
    """Raises `NotRestored` where the inbox, in a database, has anything that the first entries of
    the backup, up to `last`, have not: a backup is put back into an empty one, or completes one
    that was cut off."""
    size = inbox.last()[0]
    held = 0
    if inbox.identity == source.identity and size <= last:
        pairs = zip(_each(inbox, size), _each(source, size), strict=False)
        held = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    if held < size or inbox.identity != source.identity:
        raise NotRestored(
            "Nothing was restored",
            f"the database of the inbox holds {size} entries of {inbox.log}, and they are not the"
            f" first of the {last} of {source.log} in the backup",
            "where the ledger is right, `prazo restore --from-ledger` replaces them; else let"
            " PRAZO_INBOX name an empty database, and restore the backup into that",
        )


def _each(inbox: Inbox, size: int) -> Iterator[Entry]:
    return itertools.chain.from_iterable(batches(inbox, 0, size))


class _Aside(NamedTuple):
    """What the inbox that is set aside holds, and the restored one does not."""

    log: str
    entries: int
    deliveries: int

    def said(self, aside: str, restored: str) -> str:
        """In words; empty for nothing."""
        if not self.entries:
            return ""
        of = "" if self.log == restored else f" of another log, {self.log},"
        number = counted(self.entries, "entry", "entries")
        are = counted(self.deliveries, "of them is a delivery", "of them are deliveries")
        return (
            f"{aside} holds {number}{of} that {'was' if self.entries == 1 else 'were'} not put"
            f" back; {are} answered 200, and in no other file here. Keep it: `PRAZO_INBOX={aside}`"
            " with a PRAZO_LEDGER of its own lets `prazo show deliveries` list them; if it is the"
            " sound one, move it back to its place (docs/operations.md#backup-and-restore)"
        )


def _lacking(location: str, restored: Inbox) -> _Aside | None:
    """What the present inbox has after the newest entry that both have; None where it cannot be
    read."""
    with suppress(PrazoError), opened_inbox(location) as present:
        fork = _fork(present, restored)
        [(entries,)] = present.query("select count(*) from entries where seq > $1", fork)
        deliveries = 0
        for rows in _by_thousands(present.query(_DELIVERIES, fork)):
            known = json.dumps([event for (event,) in rows if event is not None])
            [(there,)] = restored.query(_EVENTS_THERE, known)
            deliveries += len(rows) - there
        return _Aside(present.log, int(entries), deliveries)
    return None


def _fork(present: Inbox, restored: Inbox) -> int:
    """How many of the first entries two inboxes share."""
    if present.identity != restored.identity:
        return 0
    low, high = 0, min(present.last()[0], restored.last()[0])
    while low < high:
        middle = (low + high + 1) // 2
        if present.leaf(middle) == restored.leaf(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _by_thousands(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    return (rows[at : at + ROWS_PER_COMMIT] for at in range(0, len(rows), ROWS_PER_COMMIT))


def _keep_beside(location: str, restored: Inbox) -> None:
    """Copies the links of sellers, and whose the bytes of artifacts are, from the present inbox,
    where it can be read: they stand beside the log, and in no backup. Without them a link that
    somebody was sent opens nothing, what a seller has confirmed is not submitted by itself, and
    nobody knows whose bytes are that no entry names."""
    with suppress(PrazoError), opened_inbox(location) as present:
        if present.log != restored.log:
            return
        for table in _OF_SELLERS:
            for some in _by_thousands(present.query(f"select * from {table}")):
                places = ", ".join(f"${number}" for number in range(1, len(some[0]) + 1))
                insert = f"insert into {table} values ({places})"
                claim, *besides = (Statement(insert, tuple(row)) for row in some)
                restored.change(claim, besides)


def _version_of(folder: Path) -> int:
    """The version of a backup's inbox, if this release can read it: its own, or an older one. It
    may be anybody's."""
    with _damaged(folder):
        if not (folder / INBOX).exists():
            raise schema.missing(folder / INBOX)
        return foreign.checked(folder / INBOX)


@contextmanager
def _damaged(folder: Path) -> Iterator[None]:
    """Says of what cannot be read that it is the backup: nothing else helps than another one."""
    try:
        yield
    # Where bytes were turned, SQLite may give values of other types than were written.
    except (InboxUnavailable, CallerError, ValueError, TypeError) as error:
        why = error.why or error.what if isinstance(error, PrazoError) else error
        remedy = _ANOTHER if os.access(folder, os.W_OK) else _WRITABLE
        raise NotRestored(
            "Nothing was restored", f"the backup in {folder} cannot be read: {why}", remedy
        ) from error


def _keys(
    source: Inbox,
    settings: Settings,
    folder: Path | None,
    later: Sequence[tuple[int, bytes]] = (),
) -> LogKeys | None:
    """The log's keys, as the inbox to be put back names them, and those that took over in `later`
    rotations; where it names none, the one that lies in the backup or on this machine.

    Raises `OperatorError` where this machine signs with another key than these.
    """
    keys, path = log_keys(source, later), settings.signing_key_file
    for place in (folder and folder / KEYS / SIGNING_KEY, path):
        if keys is None and place is not None and place.exists():
            keys = LogKeys(Signer(source.log, place).key)
    if keys is not None and path.exists():
        here = _keys_here(settings, source.log)
        if not any(it in keys for it in here):
            raise OperatorError(
                "Nothing was restored",
                f"{path} holds {here[0]}, and the log to be put back was signed by {keys.current}",
                "find out which of the two is right; move the key away if it is the wrong one",
            )
    return keys


def _kept_head(settings: Settings, source: Inbox, keys: LogKeys | None) -> KeptHead | None:
    """The newest signed head that this machine keeps outside of the inbox; None if there is none of
    this log, or none that is signed with its keys or with a key of this machine, which may have
    taken over since."""
    try:
        head = kept_heads.kept(kept_heads.place(settings))
    except InboxForked:
        return None
    if head is None or head.log != source.log:
        return None
    here = [LogKeys(it) for it in _keys_here(settings, source.log)]
    for known in (*here, *([keys] if keys is not None else [])):
        with suppress(ValueError):
            open_checkpoint(head.note, known)
            return head
    return None


def _keys_here(settings: Settings, log: str) -> list[VerificationKey]:
    """The keys whose private halves are on this machine, the one in force first."""
    path = settings.signing_key_file
    files_here = (path, *path.parent.glob(f"{path.name}.[0-9]*")) if path.exists() else ()
    return [Signer(log, it).key for it in files_here]


def _checkpoint_of(against: str, source: Inbox, keys: LogKeys | None) -> Head:
    """What a checkpoint kept elsewhere states; ValueError where it is not signed with the log's
    keys."""
    if keys is None:
        raise ValueError("no key of the log is known here, so the checkpoint given proves nothing")
    try:
        checkpoint = open_checkpoint(against, keys, log=source.log)
    except ValueError as error:
        raise ValueError(f"the checkpoint given is not this log's: {error}") from None
    return Head(checkpoint.size, checkpoint.root)


def _not_continued(given: Head, size: int) -> NotRestored:
    """Why what is to be put back, of so many entries, does not continue the checkpoint given."""
    if given.size > size:
        why = f"of {given.size} entries, and here are {size}: others are missing"
        remedy = (
            f"{_ANOTHER}; where they are lost for good, restore this one against a checkpoint of"
            f" {size} entries or fewer"
        )
    else:
        why = f"over other entries than the first {given.size} of what was to be put back"
        remedy = _ANOTHER
    return NotRestored("Nothing was restored", f"the checkpoint given is {why}", remedy)


def _may_be_left_out(source: Inbox, proof: Proof, signed: int, newer: Newer) -> bool:
    """Whether what is put back may end with the newest entry that a signature covers: where a
    backup was cut off, or nobody could sign. Not where this machine's ledger holds others after
    that, which would be lost, or one of them erased bytes before it."""
    if not 0 < signed < proof.size or signed != proof.signed:
        return False
    erasing = erasures.known(it for it in source.query(erasures.ASKED) if it[0] > signed)
    return not any(it <= signed for it in erasing) and (newer.is_other or newer.held <= signed)


def _left_out(proof: Proof) -> str:
    first, last = proof.signed + 1, proof.size
    if first == last:
        which, them = f"the newest entry of the backup, {last}, was", "it"
    else:
        number = counted(last - first + 1, "entry")
        which, them = f"the newest {number} of the backup, {first} to {last}, were", "them"
    return (
        f"{which} left out: no signature covers {them}, so whoever had the backup could have"
        f" written {them}. To put back all of it, run this again with --accept-unsigned REASON"
        " --actor NAME, before anything else is recorded"
    )


def _keys_to_put(
    settings: Settings, folder: Path, log: str, keys: LogKeys | None, *, has_key: bool
) -> list[tuple[Path, Path]]:
    """(path in the backup, path where it is used) of each key file. Of several signing keys, as of
    a backup that was cut off after a rotation, the one that is in force; none where this machine
    `has_key`."""
    pairs = []
    for used, kept in key_files(settings, folder):
        if used == settings.signing_key_file:
            if has_key:
                continue
            for path in (kept, *kept.parent.glob(f"{SIGNING_KEY}.[0-9]*")):
                if keys is not None and path.exists() and Signer(log, path).key == keys.current:
                    kept = path
        pairs.append((kept, used))
    return pairs


def _require_signatures(signed: int, size: int, insisted: By | None) -> None:
    """Raises `OperatorError` where unsigned entries are to be put back and no person insists: a
    holder of the backup may have changed them, and deleted what would tell. And where
    there are none: a log would begin at its first entry under the name of another."""
    if size == 0:
        raise NotRestored(
            "Nothing was restored",
            "the backup is empty, and nothing was signed: a first backup that was cut off leaves"
            " that. What is recorded next would begin another log under its name",
            "take another backup; where there is none, start `prazo serve`, which begins a log with"
            " a name of its own",
        )
    if signed >= size or insisted is not None:
        return
    which = "its entries" if signed == 0 else f"entries {signed + 1} to {size}"
    raise NotRestored(
        "Nothing was restored",
        f"no signature covers {which}: whoever could write to them could change them",
        "take a backup whose end is signed, or give a checkpoint that was kept elsewhere"
        " (--against); if you know that nobody changed them, insist: --accept-unsigned REASON"
        " --actor NAME, which becomes an entry",
    )


def _record(inbox: Inbox, signed: int, insisted: By | None, notes: list[str]) -> None:
    """Appends who insisted, where somebody had to."""
    size = inbox.last()[0]
    if insisted is None or signed >= size:
        return
    inbox.append([action(RESTORATION, **insisted._asdict(), signed=signed, put_back=size)])
    notes.append(
        f"no signature covers entries {signed + 1} to {size}: {insisted.actor} insisted, and"
        f" entry {size + 1} says so"
    )


def _proved(
    source: Inbox,
    keys: LogKeys | None,
    *,
    against: str | None = None,
    kept: KeptHead | None = None,
) -> Proof:
    """Proves the entries of an inbox.

    Every entry must be what its leaf commits to, and the leaves must lead to the head and to the
    root of every signed checkpoint: those in the inbox, the one that this machine keeps, the one
    that was kept elsewhere (`against`) unless that is newer. Otherwise raises `OperatorError`.
    """
    size = source.last()[0]
    head, signed = source.head(), source.checkpoints()
    try:
        given = None if against is None else _checkpoint_of(against, source, keys)
        beyond = given if given is not None and given.size > size else None
        vouched = [given] if given is not None and beyond is None else []
        if kept is not None and kept.size <= size:
            vouched.append(Head(kept.size, kept.root))
        for stored in signed:
            checkpoint = open_checkpoint(stored.note, keys, log=source.log, size=stored.size)
            vouched.append(Head(checkpoint.size, checkpoint.root))
        expected = vouched if head is None else [*vouched, head]
        roots = tree.Roots({size, *(at for at, _ in expected)})
        changed: list[int] = []
        erased = erased_in(source)
        for entries in batches(source, 0, size):
            require_known(entries, "Nothing was restored")
            roots.extend([it.leaf for it in entries])
            changed += [it.seq for it in entries if uncommitted(it, source.identity, erased)]
        if changed:
            raise ValueError(f"its entries {some_of(changed)} are not as they were recorded")
        for at, root in expected:
            if roots.frontier.size != size or roots.at.get(at, (b"",))[0] != root:
                raise ValueError(f"its first {at} entries lead to another root than was signed")
    except ValueError as error:
        raise NotRestored(
            "Nothing was restored", f"what was to be put back has been changed: {error}", _ANOTHER
        ) from None
    # A checkpoint whose signature no key here can check covers nothing.
    covered = Head(0, b"") if keys is None else max(vouched, default=Head(0, b""))
    return Proof(size, roots.at[size][0] if size else b"", *covered, beyond)
