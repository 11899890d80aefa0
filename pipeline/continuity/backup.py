"""Copies the inbox, artifacts and, by choice, keys to a folder while everything runs.

The log only grows, so a copy of its first n entries is consistent at any moment, and a backup into
the same folder adds what is new. Entries are seen there together with what was signed over them,
after their artifacts: a backup that is cut off leaves the one from before it. Artifacts go into a
folder, wherever they are kept; those that entries name and the store lacks are named. The ledger
is not copied: it follows from the inbox.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from pipeline import places, plain
from pipeline.continuity.kept_heads import Guard, open_shared
from pipeline.errors import (
    CallerError,
    InboxChanged,
    InboxForked,
    InboxUnavailable,
    NoRoom,
    OperatorError,
    WrongUsage,
)
from pipeline.files import databases, disk, temporary
from pipeline.files.locks import alone_in
from pipeline.inbox import Head, Inbox, SignedHead, migrations, open_inbox
from pipeline.inbox.artifacts import Lacking, artifact_store, digests_named, named
from pipeline.inbox.erased import erase_again, erased_entries, erased_in, newest_erasure
from pipeline.inbox.heartbeats import Part, beat
from pipeline.inbox.signing_keys import Registered, SigningKeys, log_keys, register, registered
from pipeline.inbox.sqlite import foreign
from pipeline.inbox.sqlite.file import make_whole
from pipeline.inbox.sqlite.inbox import SqliteInbox
from pipeline.log import tree
from pipeline.log.artifacts import ArtifactDamaged, ArtifactStore, FolderArtifacts
from pipeline.log.checkpoints import Checkpoint, Signer
from pipeline.log.commitments import require_known, uncommitted
from pipeline.log.entries import Entry, Identity
from pipeline.settings import Settings
from pipeline.texts import some_of

ENTRIES_PER_BATCH: Final = 4096
SAMPLE: Final = 20_000
"""Entries that are read to say how long a migration takes."""
COPYING: Final = 3.0
STEPPING: Final = 0.5
"""How many times as long as reading alone a copy takes, and a step, such as an index over all."""
INBOX, ARTIFACTS, KEYS = "inbox.db", "artifacts", "keys"
CHANGED: Final = "CHANGED.txt"
"""Beside a backup of what stands, which is none to go on with."""
SIGNING_KEY: Final = "signing.key"

OnProgress = Callable[[str, int, int], None]
"""(what is copied, how many of them are done, how many there are)"""


@dataclass(frozen=True, slots=True)
class BackedUp:
    """What a backup holds now, what this run added to it, and what it should hold and does not:
    with anything `lacking` it is not whole. `unsigned`: how many of its entries, the newest, no
    signature covers. `changed`: what is wrong with entries that were copied as they stand, so that
    no restore takes them; empty for nothing. `unnoted`: why the inbox does not say that there is a
    whole backup now; empty where it does. `lacks_key`: keys were asked for, and the one that signs
    is not in it."""

    log: str
    entries: int
    new_entries: int
    new_artifacts: int = 0
    keys: tuple[Path, ...] = ()
    lacking: tuple[Lacking, ...] = ()
    unsigned: int = 0
    changed: str = ""
    unnoted: str = ""
    lacks_key: bool = False


def backup(
    settings: Settings,
    folder: Path,
    *,
    with_keys: bool = False,
    as_it_stands: bool = False,
    beside: Mapping[str, bytes] | None = None,
    sign: Callable[[], object] = lambda: None,
    send: Callable[[BackedUp], object] = lambda _: None,
    on_progress: OnProgress = lambda *_: None,
) -> BackedUp:
    """Copies to `folder`, or brings an earlier copy there up to date.

    It holds each entry that was there when it began. `sign` lets the keeper sign them; where that
    came about the copy ends with what was signed, so that a restore can prove all of it.
    `as_it_stands`: copies entries that are not as they were recorded as well, into an empty folder;
    without it they raise `InboxChanged`, before anything is copied. `beside`: further files of the
    backup, by their names. `send`: sends a whole backup
    elsewhere, before it counts as made. Raises
    `OperatorError` if the folder holds another log's backup, or cannot be written, and
    `InboxForked` if the inbox lacks what was signed: a copy of it would be taken for whole.
    """
    with closing(open_shared(settings, create=False)) as source:
        try:
            Guard(settings)(source)
        except InboxForked as fork:
            raise InboxForked("Nothing was copied", fork.why, fork.remedy) from None
        present = source.last()[0]
        sign()
        # Read before the entries, so that the copy holds every entry that they cover.
        vouchers = Vouchers.of(source)
        signed = max((it.size for it in vouchers.checkpoints), default=0)
        require_its_own(settings, folder, as_it_stands=as_it_stands)
        if (folder / INBOX).exists():
            foreign.checked(folder / INBOX)
            migrations.migrate(folder / INBOX)
        before = _held(folder)
        last = max(signed, before) if signed >= present else source.last()[0]
        if last == 0:
            raise _empty(source)
        changed = _changed(source, before, last, vouchers, as_it_stands=as_it_stands)
        if changed and not as_it_stands:
            raise _not_copied(changed)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with alone_in(folder):  # two at once would both add the same entries
            require_its_own(settings, folder, as_it_stands=as_it_stands)
            if changed:
                disk.write_whole(folder / CHANGED, f"{changed}\n".encode())
            keys: tuple[Path, ...] = ()
            if with_keys:  # first: whoever has the entries needs the key that signed them
                _make_way(SigningKeys(source, settings.signing_key_file), folder)
                keys = copy_keys(key_files(settings, folder))
            for name, content in (beside or {}).items():
                disk.write_whole(folder / name, content)
            copied = _copied(settings, source, folder, last, vouchers, on_progress)
            is_whole = not copied.lacking and not changed
            if is_whole:
                send(copied)
            done = replace(
                copied,
                keys=keys,
                changed=changed,
                unnoted=_noted(source) if is_whole else "",
                lacks_key=with_keys and not _has_key(source, folder),
            )
        if as_it_stands or newest_erasure(source) <= done.entries:
            return done
    # Meanwhile somebody was forgotten: what stays was copied, and not the entry that fixes it.
    again = backup(
        settings,
        folder,
        with_keys=with_keys,
        beside=beside,
        sign=sign,
        send=send,
        on_progress=on_progress,
    )
    return replace(
        again,
        new_entries=done.new_entries + again.new_entries,
        new_artifacts=done.new_artifacts + again.new_artifacts,
    )


def _copied(
    settings: Settings,
    source: Inbox,
    folder: Path,
    last: int,
    vouchers: "Vouchers",
    on_progress: OnProgress,
) -> BackedUp:
    """Copies the artifacts of the entries up to `last`, then these, with what vouches for them."""
    # Another one may have added more while this one waited for it.
    last = max(last, _held(folder))
    kept, store = FolderArtifacts(folder / ARTIFACTS), artifact_store(settings, source)
    artifacts, lacking = copy_artifacts(source, store, kept, on_progress, last=last)
    with _added_to(folder, source.identity) as copy:
        _require_one_chain(vouchers, copy)
        added = copy_entries(source, copy, on_progress, last=last)
        erase_again(copy, erased_entries(source))  # an earlier run copied them whole
        vouchers.up_to(last).put(copy)
        signed = max((it.size for it in copy.checkpoints()), default=0)
    with opened_inbox(str(folder / INBOX)) as copy:
        _remove_erased(copy, kept)
    unsigned = max(0, last - signed)
    return BackedUp(source.log, last, added, artifacts, lacking=lacking, unsigned=unsigned)


def _require_one_chain(vouchers: "Vouchers", copy: Inbox) -> None:
    """Raises `OperatorError` where the copy names another first key of the log than the inbox: one
    of the two began under the name of the other."""
    first = {it.key for it in (*vouchers.keys, *registered(copy)) if it.number == 1}
    if len(first) > 1:
        raise OperatorError(
            "Nothing was copied",
            f"the copy and the inbox both are of {copy.log}, and each names another first key:"
            f" {' and '.join(sorted(first))}",
            "find out which of the two is the log's, by the key that was published for it, and keep"
            " this copy: the other log has taken its name",
        )


def _held(folder: Path) -> int:
    """How many entries a backup has, which is of this release's version."""
    if not (folder / INBOX).exists():
        return 0
    with opened_inbox(str(folder / INBOX)) as copy:
        return copy.last()[0]


@contextmanager
def _added_to(folder: Path, identity: Identity, version: int | None = None) -> Iterator[Inbox]:
    """The copy of an inbox in a folder, to be added to. What is added is seen there when the block
    ends without an error, all of it in one step: a first copy takes its name then, and a later one
    gets what is new in one transaction. Raises `InboxUnavailable` where a disk is full."""
    path, draft = folder / INBOX, folder / f"{INBOX}.partial"
    databases.remove_database(draft)  # of one that was killed
    if path.exists():
        with opened_inbox(str(path), identity, version=version) as copy:
            assert isinstance(copy, SqliteInbox)  # a folder holds no other
            with copy.at_once():
                yield copy
        make_whole(path)  # whoever takes the folder elsewhere may forget its WAL
        return
    try:
        with opened_inbox(str(draft), identity, version=version) as copy:
            yield copy
        make_whole(draft)
        draft.replace(path)
        disk.sync(folder)
    finally:
        databases.remove_database(draft)


def _has_key(source: Inbox, folder: Path) -> bool:
    """Whether the key that signs for the log is in a backup; so it is where there is none yet."""
    keys, kept = log_keys(source), folder / KEYS / SIGNING_KEY
    return keys is None or (kept.exists() and Signer(source.log, kept).key == keys.current)


def _noted(source: Inbox) -> str:
    """Says in the inbox that there is a whole backup; why it could not, or nothing. What was copied
    is whole all the same: it may be made by a user who only reads."""
    try:
        beat(source, Part.BACKUP)
    except InboxUnavailable as error:
        return error.finding
    return ""


def require_its_own(settings: Settings, folder: Path, *, as_it_stands: bool = False) -> None:
    """Raises `WrongUsage` where a backup would be the stores themselves, or where one that can be
    restored, and one that cannot, would become one."""
    for name in (INBOX, ARTIFACTS, f"{KEYS}/{SIGNING_KEY}"):
        if named := places.named_by(settings, folder / name):
            raise WrongUsage(
                "Nothing was copied",
                f"{folder / name} is what {named} names: it would be its own backup",
                "choose another folder, best on another disk",
            )
    if as_it_stands and (folder / INBOX).exists():
        raise WrongUsage(
            "Nothing was copied",
            f"{folder} holds a backup, which may be sound",
            "give --as-it-stands a folder of its own",
        )
    if not as_it_stands and (folder / CHANGED).exists():
        raise WrongUsage(
            "Nothing was copied",
            f"{folder} holds a copy of an inbox as it stood, with changed entries ({CHANGED})",
            "choose another folder: no restore takes that one",
        )


def _changed(
    source: Inbox, before: int, last: int, vouchers: "Vouchers", *, as_it_stands: bool
) -> str:
    """What is wrong with the entries that are to be copied, from `before` + 1 to `last`; empty for
    nothing. Each is what its leaf commits to, and all leaves from the first one on lead to the
    newest root that was signed or kept for so many: a restore asks the same."""
    expected, erased = vouchers.newest(last), erased_in(source)
    found: list[int] = []
    frontier, root = tree.Frontier(), b""
    for entries in batches(source, 0, last):
        hashes = [tree.leaf_hash(it.leaf) for it in entries]
        at = max(0, expected.size - frontier.size) if expected is not None else 0
        frontier.extend(hashes[:at])
        if expected is not None and frontier.size == expected.size and not root:
            root = frontier.root()
        frontier.extend(hashes[at:])
        new = [it for it in entries if it.seq > before]
        require_known([] if as_it_stands else new, "Nothing was copied")
        if any(it.is_erased and it.seq not in erased for it in new):  # since that was asked, maybe
            erased = erased_in(source)
        found += [it.seq for it in new if uncommitted(it, source.identity, erased)]
    if found:
        return f"entries {some_of(found)} of the inbox are not as they were recorded"
    if frontier.size != last:
        return f"the inbox lacks entries between the first and entry {last}"
    if expected is not None and root != expected.root:
        return f"the first {expected.size} entries lead to another root than was signed"
    return ""


def _empty(source: Inbox) -> CallerError:
    return CallerError(
        "Nothing was copied",
        f"the inbox of {source.log} holds no entry yet: whoever put an empty copy back would begin"
        " another log under its name",
        "run it again once something was recorded",
    )


def _not_copied(changed: str) -> InboxChanged:
    return InboxChanged(
        "Nothing was copied",
        f"{changed}, and no restore would take them",
        "put the inbox right first: `prazo restore --from-ledger`, or an earlier backup; to keep"
        " it as it stands all the same, `prazo backup --as-it-stands` into a folder of its own",
    )


def backup_before_migration(
    settings: Settings, folder: Path, *, on_progress: OnProgress = lambda *_: None
) -> BackedUp:
    """Copies the inbox to `folder` in the version that it has, so that the release that wrote it
    can restore it, too; or brings an earlier copy there up to date. Where a migration was cut off
    after some of its steps, or another process has taken them, the copy of before stays as it is.

    Raises `NoRoom`, and copies nothing, where there is no room for it; `WrongUsage` where the
    folder is the inbox's own, or holds a copy of another version that lacks entries.
    """
    require_its_own(settings, folder)
    needed, place = migrations.size_of(settings.inbox), _existing(folder)
    free = shutil.disk_usage(place).free
    if free < needed and not (folder / INBOX).exists():
        raise NoRoom(
            "The inbox was not migrated",
            f"its backup needs {needed / 2**20:,.0f} MiB and {place} has {free / 2**20:,.0f} free",
            "make room, or name a folder on another disk with --backup",
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with alone_in(folder):  # two that migrate at once would both add the same entries
        version = migrations.version_of(settings.inbox)
        kept = _version_of_copy(folder) or version
        if (folder / INBOX).exists():
            foreign.checked(folder / INBOX)
        with (
            opened_inbox(settings.inbox, version=version) as source,
            _added_to(folder, source.identity, kept) as copy,
        ):
            if kept != version and not _is_all_of(source, copy):
                raise WrongUsage(
                    "The inbox was not migrated",
                    f"{folder} holds a copy of version {kept} with {copy.last()[0]} entries; the"
                    f" inbox has version {version} and {source.last()[0]} entries",
                    "name another folder with --backup: a copy has one version",
                )
            added = 0
            if kept == version:
                vouchers = Vouchers.of(source)
                added = copy_entries(source, copy, on_progress)
                vouchers.put(copy)
            return BackedUp(source.log, copy.last()[0], added)


def time_of_migration(inbox: Inbox, steps: range) -> tuple[int, float]:
    """How many entries an inbox has that lacks these steps, and about how many seconds it takes to
    copy them and to take each step: by the time that it takes to read the newest."""
    entries, _ = inbox.last()
    began = time.monotonic()
    sample = sum(map(len, batches(inbox, max(0, entries - SAMPLE), entries)))
    taken = time.monotonic() - began
    return entries, taken / max(1, sample) * entries * (COPYING + STEPPING * len(steps))


def _version_of_copy(folder: Path) -> int | None:
    """None where there is no copy yet, or one that was cut off before it had tables."""
    with suppress(InboxUnavailable):
        return migrations.version_of(folder / INBOX)
    return None


def _is_all_of(source: Inbox, copy: Inbox) -> bool:
    last = source.last()[0]
    return (copy.identity, copy.last()[0]) == (source.identity, last) and _agree(source, copy, last)


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder


@contextmanager
def opened_inbox(
    location: str,
    identity: Identity | None = None,
    *,
    version: int | None = None,
    is_at_rest: bool = False,
) -> Iterator[Inbox]:
    """An existing inbox; with an identity, a missing one is made as a copy of that log."""
    inbox = open_inbox(
        location,
        create=identity is not None,
        identity=identity,
        version=version,
        is_at_rest=is_at_rest,
    )
    try:
        yield inbox
    finally:
        inbox.close()


@dataclass(frozen=True, slots=True)
class Vouchers:
    """What an inbox holds beside its entries to prove them by."""

    head: Head | None
    checkpoints: Sequence[SignedHead]
    keys: Sequence[Registered]

    @classmethod
    def of(cls, inbox: Inbox) -> Self:
        """Those of an inbox, as they are now."""
        return cls(inbox.head(), inbox.checkpoints(), registered(inbox))

    def up_to(self, size: int) -> Self:
        """Those that so many entries can be proved by: the head may be of newer ones."""
        head = self.head if self.head is not None and self.head.size <= size else None
        return replace(self, head=head)

    def newest(self, size: int) -> Head | None:
        """The newest root that was signed or kept for so many entries or fewer."""
        heads = [] if self.head is None else [self.head]
        for checkpoint in self.checkpoints[-1:]:
            with suppress(ValueError):
                stated = Checkpoint.read(checkpoint.note)
                heads.append(Head(stated.size, stated.root))
        return max((it for it in heads if it.size <= size), default=None)

    def put(self, copy: Inbox) -> None:
        """Adds them to a copy of the inbox."""
        for number, key in self.keys:
            register(copy, number, key)
        if self.head is not None:
            copy.put_head(self.head)
        for checkpoint in self.checkpoints:
            copy.put_checkpoint(checkpoint)


def copy_entries(
    source: Inbox, copy: Inbox, on_progress: OnProgress, *, last: int | None = None
) -> int:
    """Adds to the copy the entries that it lacks, up to `last` or all of them; returns how many.

    Raises `OperatorError` if the copy is not the beginning of the source.
    """
    before = copy.last()[0]
    last = source.last()[0] if last is None else last
    if copy.identity != source.identity or before > last or not _agree(source, copy, before):
        raise OperatorError(
            "Nothing was copied",
            f"the copy holds {before} entries of {copy.log}, and they are not the first of the"
            f" {last} of {source.log}",
            "choose an empty folder or database for the copy, and find out what is in this one",
        )
    for entries in batches(source, before, last):
        copy.copy(entries)
        on_progress("entries", entries[-1].seq, last)
    return last - before


def _agree(source: Inbox, copy: Inbox, size: int) -> bool:
    """Whether their first entries are the same. The bytes of the last one may be erased since."""
    if size == 0:
        return True
    [ours], [theirs] = source.read(size - 1, 1), copy.read(size - 1, 1)
    if ours.is_erased:
        theirs = theirs._replace(body=ours.body, salt=ours.salt)
    return ours == theirs


def batches(inbox: Inbox, after: int, last: int) -> Iterator[Sequence[Entry]]:
    """The entries from `after` + 1 to `last`, some thousands at a time."""
    while after < last and (entries := inbox.read(after, min(ENTRIES_PER_BATCH, last - after))):
        yield entries
        after = entries[-1].seq


def copy_artifacts(
    inbox: Inbox,
    source: ArtifactStore,
    target: ArtifactStore,
    on_progress: OnProgress,
    *,
    last: int | None = None,
) -> tuple[int, tuple[Lacking, ...]]:
    """Copies the artifacts that entries of the inbox, up to `last` or all of them, name and the
    target lacks.

    Returns how many were copied; and those that neither store has, though an entry says that its
    bytes were stored.
    """
    added, last = 0, inbox.last()[0] if last is None else last
    lacking: dict[str, Lacking] = {}
    for artifacts in named(inbox, last):
        there = target.stored([it.sha256 for it in artifacts])
        for artifact in artifacts:
            size = there.get(artifact.sha256)
            if size is not None and artifact.size_bytes in (None, size):
                continue
            content, why = _readable(source, artifact.sha256)
            if content is not None:
                target.keep(content)
                there[artifact.sha256] = len(content)
                added += 1
            elif artifact.is_kept_here and target.fault(artifact.sha256):
                lacking.setdefault(artifact.sha256, Lacking(artifact.seq, artifact.sha256, why))
        if artifacts:
            on_progress("artifacts", artifacts[-1].seq, last)
    return added, tuple(lacking.values())


def _remove_erased(copy: Inbox, kept: ArtifactStore) -> None:
    """Removes artifacts of a backup that its entries named once, and name no more."""
    if erased_in(copy):
        still_named = digests_named(copy)
        for digest in [it for it in kept.names() if bytes.fromhex(it) not in still_named]:
            kept.remove(digest)


def _readable(store: ArtifactStore, sha256: str) -> tuple[bytes | None, str]:
    """The bytes of an artifact, or why there are none."""
    try:
        content = store.read(sha256)
    except ArtifactDamaged as error:
        return None, error.finding
    return content, f"The artifact {sha256} is missing from {store.place}"


def key_files(settings: Settings, folder: Path) -> list[tuple[Path, Path]]:
    """(path where it is used, path in the backup) of each key file."""
    return [
        (settings.signing_key_file, folder / KEYS / SIGNING_KEY),
        (settings.taxpayer_key_file, folder / KEYS / "taxpayer.key"),
    ]


def _make_way(signing: SigningKeys, folder: Path) -> None:
    """Keeps an earlier signing key of the log in the backup under its number, so that the present
    one can take its place."""
    keys, kept = signing.known(), folder / KEYS / SIGNING_KEY
    if keys is None:
        return
    signing.take_up()  # ends a rotation that was cut off: only the key in force is worth a copy
    if kept.exists():
        key = Signer(keys.current.name, kept).key
        if key in keys and key != keys.current:
            kept.rename(kept.with_name(f"{kept.name}.{keys.number(key)}"))


def copy_keys(pairs: Sequence[tuple[Path, Path]]) -> tuple[Path, ...]:
    """Copies the key files that exist, so that only their owner can read them.

    `pairs`: (source, target). Returns the files that were written. Raises `OperatorError`, and
    copies none, as `require_no_other_key` does.
    """
    require_no_other_key(pairs)
    copied = []
    for source, target in pairs:
        temporary.remove_left(f".{target.name}.", target.parent)  # by one that was killed
        if source.exists() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            disk.write_whole(target, plain.read(source), may_replace=False)
            copied.append(target)
    return tuple(copied)


def require_no_other_key(pairs: Sequence[tuple[Path, Path]]) -> None:
    """Raises `OperatorError` where another key lies in the place of one that is to be copied: a key
    is never replaced. `pairs`: (source, target)."""
    for source, target in pairs:
        if source.exists() and target.exists() and plain.read(target) != plain.read(source):
            raise OperatorError(
                f"The key {target} was not replaced",
                f"it differs from {source}",
                "move it away if the other one is right",
            )
