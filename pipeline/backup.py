"""Copies the inbox, artifacts and, by choice, keys to a folder while everything runs; and back.

The log only grows, so a copy of its first n entries is consistent at any moment, and a backup into
the same folder adds what is new. The ledger is not copied: it follows from the inbox. A restore,
from such a folder or out of the ledger, proves what it has against what was signed over it before
anything is put anywhere.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.artifacts import ArtifactStore
from pipeline.audit import Roots, audit
from pipeline.checkpoints import Checkpoint, Signer
from pipeline.commitments import uncommitted
from pipeline.errors import LedgerInUse, OperatorError, PrazoError
from pipeline.facts import Keys
from pipeline.inbox import Identity, Inbox, open_inbox
from pipeline.keys import secret_key
from pipeline.ledger import Ledger
from pipeline.occurrences import Entry
from pipeline.service import LedgerService
from pipeline.settings import Settings
from pipeline.verify import Verdict

ENTRIES_A_BATCH: Final = 4096
INBOX, ARTIFACTS, KEYS = "inbox.db", "artifacts", "keys"
_DIGEST = re.compile("[0-9a-f]{64}")

Progress = Callable[[str, int, int], None]
"""(what is copied, how many of it are, how many there are)"""


@dataclass(frozen=True, slots=True)
class BackedUp:
    """What a backup holds now, and what this run added to it."""

    log: str
    entries: int
    new_entries: int
    new_artifacts: int
    keys: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put back, what was set aside, and whether all of it is right."""

    log: str
    entries: int
    artifacts: int
    keys: tuple[Path, ...]
    notes: tuple[str, ...]
    verdict: Verdict


# --- backup ----------------------------------------------------------------------------------


def backup(
    settings: Settings,
    folder: Path,
    *,
    with_keys: bool = False,
    progress: Progress = lambda *_: None,
) -> BackedUp:
    """Copies to `folder`, or brings an earlier copy there up to date.

    Raises `OperatorError` where the folder holds another log's backup, or cannot be written.
    """
    with _inbox(settings.inbox) as source:
        # Taken before the entries: the copy then holds all that they were made over.
        head, signed = source.head(), source.checkpoints()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _inbox(str(folder / INBOX), source.identity) as copy:
            added = _copy_entries(source, copy, progress)
            if head is not None:
                copy.put_head(head)
            for it in signed:
                copy.put_checkpoint(it)
            entries = copy.last()[0]
        artifacts = _copy_artifacts(settings.artifacts, folder / ARTIFACTS, progress)
        keys = _copy_keys(_key_files(settings, folder)) if with_keys else ()
        return BackedUp(source.log, entries, added, artifacts, keys)


@contextmanager
def _inbox(location: str, identity: Identity | None = None) -> Iterator[Inbox]:
    """An inbox that is there; or, with an identity, one that is made to hold a copy of it."""
    inbox = open_inbox(location, create=identity is not None, identity=identity)
    try:
        yield inbox
    finally:
        inbox.close()


def _copy_entries(source: Inbox, copy: Inbox, progress: Progress) -> int:
    """How many were added. Raises `OperatorError` where the copy is no beginning of the source."""
    before, last = copy.last()[0], source.last()[0]
    if copy.identity != source.identity or before > last or not _agree(source, copy, before):
        raise OperatorError(
            "Nothing was copied",
            f"the copy holds {before} entries of {copy.log}, and they are no beginning of the"
            f" {last} of {source.log}",
            "choose an empty folder or database for it, and find out what the other one is",
        )
    for entries in _batches(source, before, last):
        copy.copy(entries)
        progress("entries", entries[-1].seq, last)
    return last - before


def _agree(source: Inbox, copy: Inbox, size: int) -> bool:
    return size == 0 or source.read(size - 1, 1) == copy.read(size - 1, 1)


def _batches(inbox: Inbox, after: int, last: int) -> Iterator[Sequence[Entry]]:
    while after < last and (entries := inbox.read(after, min(ENTRIES_A_BATCH, last - after))):
        yield entries
        after = entries[-1].seq


def _copy_artifacts(source: Path, target: Path, progress: Progress) -> int:
    """How many were added; a damaged one raises `ArtifactDamaged`, and is copied nowhere."""
    kept, copies = ArtifactStore(source), ArtifactStore(target)
    names = sorted(it.name for it in source.glob("??/*") if _DIGEST.fullmatch(it.name))
    added = 0
    for done, name in enumerate(names):
        if not copies.path(name).exists():
            copies.keep(kept.read(name) or b"")
            added += 1
        progress("artifacts", done + 1, len(names))
    return added


def _key_files(settings: Settings, folder: Path) -> list[tuple[Path, Path]]:
    """(where it is used, where a backup has it)"""
    return [
        (settings.signing_key_file, folder / KEYS / "signing.key"),
        (settings.taxpayer_key_file, folder / KEYS / "taxpayer.key"),
    ]


def _copy_keys(pairs: Sequence[tuple[Path, Path]]) -> tuple[Path, ...]:
    """Copies the key files that are there, each readable by its owner alone; never over another."""
    copied = []
    for source, target in pairs:
        if not source.exists():
            continue
        content = source.read_bytes()
        if target.exists():
            if target.read_bytes() != content:
                raise OperatorError(
                    f"The key {target} was not replaced",
                    f"it is another than {source}",
                    "move it away if the other one is right",
                )
            continue
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        copied.append(target)
    return tuple(copied)


# --- restore ---------------------------------------------------------------------------------


def restore(settings: Settings, folder: Path, *, progress: Progress = lambda *_: None) -> Restored:
    """Puts a backup where the settings say, makes the ledger, and verifies both.

    An inbox file that lies there is set aside; a ledger of the same log that is newer than the
    backup gives the further entries back. Raises `OperatorError` for a backup that contradicts
    what was signed over it, while a process holds the ledger, and for a PostgreSQL inbox that
    holds other entries.
    """
    notes: list[str] = []
    with _inbox(str(folder / INBOX)) as source:
        progress("proving the backup", 0, 1)
        root = _proved(source, _verification(source, settings, folder))
        keys = _copy_keys([(kept, used) for used, kept in _key_files(settings, folder)])
        newer = _newer_entries(settings, source, root, notes)
        with _inbox_anew(settings, source.identity, notes) as inbox:
            _copy_entries(source, inbox, progress)
            if newer:
                inbox.copy(newer)
            _copy_vouchers(source, inbox)
    artifacts = _copy_artifacts(folder / ARTIFACTS, settings.artifacts, progress)
    return _verified(settings, artifacts, keys, notes, progress)


def restore_from_ledger(settings: Settings, *, progress: Progress = lambda *_: None) -> Restored:
    """Makes the inbox anew out of the ledger's entries, where its own are changed or missing.

    The present inbox, set aside, still says which log it is, what was signed over it, the keys of
    lines of files, and what the ledger has not followed yet. Raises `OperatorError`, and changes
    nothing, unless every entry is as it was recorded and all lead to what was signed.
    """
    if "://" in settings.inbox:
        raise OperatorError(
            "The inbox is not made anew",
            "its database cannot be replaced from here",
            "restore a backup of it; or `prazo backup`, and restore into an empty database",
        )
    notes: list[str] = []
    with (
        _inbox(settings.inbox) as damaged,
        closing(_ledger(settings, damaged)) as ledger,
        _inbox_anew(settings, damaged.identity, notes) as inbox,
    ):
        for first in range(1, ledger.size + 1, ENTRIES_A_BATCH):
            progress("entries", first - 1, ledger.size)
            last = first + ENTRIES_A_BATCH - 1
            keys = {
                it.seq: it.ingest_key for them in _batches(damaged, first - 1, last) for it in them
            }
            inbox.copy(
                [
                    it._replace(ingest_key=keys.get(it.seq))
                    for it in ledger.select("seq between ? and ?", [first, last])
                ]
            )
        for entries in _batches(damaged, ledger.size, damaged.last()[0]):
            inbox.copy(entries)
        _copy_vouchers(damaged, inbox)
        _proved(inbox, _verification(inbox, settings, None))
        notes.append(f"{ledger.size} entries of the ledger made the inbox anew")
    return _verified(settings, 0, (), notes, progress)


def _verified(
    settings: Settings,
    artifacts: int,
    keys: tuple[Path, ...],
    notes: Sequence[str],
    progress: Progress,
) -> Restored:
    service = LedgerService(settings)
    try:
        verdict = audit(service, progress=lambda done, all_: progress("verifying", done, all_))
        log, entries = service.inbox.log, service.inbox.last()[0]
    finally:
        service.close()
    return Restored(log, entries, artifacts, keys, tuple(notes), verdict)


@contextmanager
def _inbox_anew(settings: Settings, identity: Identity, notes: list[str]) -> Iterator[Inbox]:
    """An inbox to fill, which takes the place of the present one when the block ends well."""
    if "://" in settings.inbox:
        with _inbox(settings.inbox, identity) as inbox:
            yield inbox
        return
    draft = Path(f"{settings.inbox}.restoring")
    _remove(draft)
    try:
        with _inbox(str(draft), identity) as inbox:
            yield inbox
    except BaseException:
        _remove(draft)
        raise
    _set_aside(Path(settings.inbox), notes)
    draft.rename(settings.inbox)


def _copy_vouchers(source: Inbox, copy: Inbox) -> None:
    """What was kept and signed of the log."""
    if head := source.head():
        copy.put_head(head)
    for it in source.checkpoints():
        copy.put_checkpoint(it)


def _verification(source: Inbox, settings: Settings, folder: Path | None) -> Signer | None:
    """The log's key, if the backup or this machine has it."""
    for path in (folder and folder / KEYS / "signing.key", settings.signing_key_file):
        if path is not None and path.exists():
            return Signer(source.log, path)
    return None


def _proved(source: Inbox, signer: Signer | None) -> bytes:
    """The backup's root, once its entries are what their leaves commit to, and these lead to every
    root that was signed or kept of it."""
    size = source.last()[0]
    head, signed = source.head(), source.checkpoints()
    roots = Roots({size, *(it.size for it in signed), *([head.size] if head else [])})
    changed: list[str] = []
    for entries in _batches(source, 0, size):
        roots.extend([it.leaf for it in entries])
        changed += [str(it.seq) for it in entries if uncommitted(it, source.identity)]
    try:
        if changed:
            raise ValueError(f"its entries {', '.join(changed[:20])} are not as they were recorded")
        expected = [] if head is None else [(head.size, head.root)]
        for it in signed:
            checkpoint = Checkpoint.read(signer.key.opened(it.note) if signer else it.note)
            expected.append((checkpoint.size, checkpoint.root))
        for at, root in expected:
            if roots.frontier.size != size or roots.at.get(at, (b"",))[0] != root:
                raise ValueError(f"its first {at} entries lead to another root than was signed")
    except ValueError as error:
        raise OperatorError(
            "Nothing was restored",
            f"what was to be put back was changed: {error}",
            "take another backup",
        ) from None
    return roots.at[size][0] if size else b""


def _newer_entries(
    settings: Settings, source: Inbox, root: bytes, notes: list[str]
) -> Sequence[Entry]:
    """What the ledger here holds beyond the backup, if it continues it; else it is set aside."""
    size = source.last()[0]
    if not settings.ledger.exists():
        return ()
    try:
        ledger = _ledger(settings, source)
    except LedgerInUse:
        raise
    except PrazoError as error:
        notes.append(f"the ledger could not be used: {error.what}")
        _set_aside(settings.ledger, notes)
        return ()
    try:
        if ledger.size <= size:
            return ()
        if ledger.root_at(size) == root:
            newer = ledger.select("seq > ?", [size])
            notes.append(
                f"{len(newer)} entries that are newer than the backup came back from the ledger;"
                " lines of files among them would be recorded again if they were ingested again"
            )
            return newer
        notes.append(f"the ledger is of another history: its root at {size} entries differs")
    finally:
        ledger.close()
    _set_aside(settings.ledger, notes)
    return ()


def _ledger(settings: Settings, inbox: Inbox) -> Ledger:
    keys = Keys(values=inbox.log_key, taxpayer=secret_key(settings.taxpayer_key_file))
    return Ledger(settings.ledger, log=inbox.log, keys=keys)


def _set_aside(path: Path, notes: list[str]) -> None:
    """Renames a database with what belongs to it, so that nothing is lost by a restore."""
    if not path.exists():
        return
    aside = path.with_name(f"{path.name}.set-aside-{time.time_ns()}")
    for suffix in ("", "-wal", "-shm", ".wal"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    notes.append(f"the former {path.name} was kept as {aside.name}")


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
