"""Chooses where the bytes of artifacts are, says which of those that entries name are lacking, and
takes in the bytes of these from files."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from pipeline import plain
from pipeline.contract.body import parse_json
from pipeline.errors import Unreadable
from pipeline.http.outgoing.looks import Looks
from pipeline.inbox.store import Inbox
from pipeline.log.artifacts import (
    MAX_ARTIFACT_BYTES,
    ArtifactStore,
    FolderArtifacts,
    is_digest,
    is_kept_here,
)
from pipeline.log.kinds import naming_artifacts
from pipeline.settings import Settings

if TYPE_CHECKING:
    from pipeline.inbox.postgres.inbox import PostgresInbox

ENTRIES_PER_READ: Final = 64
"""A collection's body may have megabytes."""

SECONDS_BETWEEN_LOOKS: Final = 300.0
"""A look reads every entry that names some, and whoever watches asks every few seconds."""
FIRST_LOOK_SECONDS: Final = 5.0
"""For the first look, before there is anything to say."""

_NAMING: Final = tuple(
    f"""
    select seq, body from entries
    where kind = '{kind}' and seq > $1 and seq <= $2
    order by seq
    limit $3"""
    for kind in sorted(naming_artifacts())
)
"""One for each kind, since an index has the entries of one."""


def artifact_store(settings: Settings, inbox: Inbox) -> ArtifactStore:
    """Where the settings say that artifacts are: the folder, or the inbox's own database.

    `inbox`: the one that the settings name, open.
    """
    folder = FolderArtifacts(settings.artifacts)
    if settings.artifacts_in == "folder" or settings.has_inbox_file:
        return folder
    from pipeline.inbox.artifacts.database import DatabaseArtifacts  # imports the driver

    return DatabaseArtifacts(cast("PostgresInbox", inbox), folder)


class Named(NamedTuple):
    """An artifact as an entry names it."""

    seq: int
    sha256: str
    size_bytes: int | None
    is_kept_here: bool


def named(inbox: Inbox, last: int | None = None, *, after: int = 0) -> Iterator[list[Named]]:
    """The artifacts that entries after `after`, up to `last`, name (default: all), some entries at
    a time.

    A body that can no longer be read, or is gone, names none; `prazo verify` says what is wrong
    with it.
    """
    last = inbox.last()[0] if last is None else last
    for naming in _NAMING:
        read_to = after
        while rows := inbox.query(naming, read_to, last, ENTRIES_PER_READ):
            yield [it for seq, body in rows for it in _artifacts(seq, body)]
            read_to = rows[-1][0]


def digests_named(inbox: Inbox, last: int | None = None, *, after: int = 0) -> set[bytes]:
    """Digests of all artifacts that such entries name, whoever keeps them."""
    found = named(inbox, last, after=after)
    return {bytes.fromhex(it.sha256) for artifacts in found for it in artifacts}


def _artifacts(seq: int, body: bytes | None) -> Iterator[Named]:
    try:
        content = parse_json(body or b"")
    except Unreadable:
        return
    artifacts = content.get("artifacts") if isinstance(content, dict) else None
    for artifact in artifacts if isinstance(artifacts, list) else ():
        if isinstance(artifact, Mapping) and is_digest(artifact.get("sha256")):
            yield Named(seq, artifact["sha256"], _size(artifact), is_kept_here(artifact))


def _size(artifact: Mapping[str, Any]) -> int | None:
    size = artifact.get("size_bytes")
    return size if isinstance(size, int) else None


class Lacking(NamedTuple):
    """An artifact that our store should have, and the first entry that names it."""

    seq: int
    sha256: str
    why: str

    def __str__(self) -> str:
        return f"entry {self.seq}: {self.why}"


class Held(NamedTuple):
    """How many artifacts our store should have, which of them it lacks, and how many it reads from
    a folder that no other machine may reach."""

    named: int
    lacking: list[Lacking]
    not_stored: int


def look(inbox: Inbox, store: ArtifactStore) -> Held:
    """Looks for every artifact that our store should have, by its size: cheap, and blind to bytes
    that were changed; `prazo verify` reads them."""
    seen: set[bytes] = set()
    lacking = []
    not_stored = 0
    for artifacts in named(inbox):
        ours = [it for it in artifacts if it.is_kept_here]
        stored = store.stored([it.sha256 for it in ours])
        sizes = stored | store.sizes([it.sha256 for it in ours if it.sha256 not in stored])
        for artifact in ours:
            digest = artifact.sha256
            if bytes.fromhex(digest) in seen:
                continue
            seen.add(bytes.fromhex(digest))
            if digest not in sizes or artifact.size_bytes not in (None, sizes[digest]):
                why = store.fault(digest)
                lacking += [Lacking(artifact.seq, digest, why)] if why else []
            elif digest not in stored:
                not_stored += 1
    return Held(len(seen), lacking, not_stored)


def looks(settings: Settings, open_inbox: Callable[[], Inbox]) -> Looks[Held]:
    """Looks at the artifacts, over a connection of its own: in a long log each look takes long.

    `open_inbox`: opens the inbox of the settings once more.
    """

    def held() -> Held:
        with closing(open_inbox()) as inbox:
            return look(inbox, artifact_store(settings, inbox))

    return Looks(
        held,
        name="artifacts",
        every_seconds=SECONDS_BETWEEN_LOOKS,
        first_seconds=FIRST_LOOK_SECONDS,
    )


def take_in(inbox: Inbox, store: ArtifactStore, folder: Path) -> int:
    """Stores every file in a folder, or below it, that is an artifact of an entry and is not in the
    store, or damaged there; returns how many. A file's name does not matter, its digest does."""
    wanted = digests_named(inbox)
    taken = 0
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        with plain.opened(path) as file:
            digest = hashlib.file_digest(file, "sha256")
        name = digest.hexdigest()
        if digest.digest() in wanted and not (store.stored([name]) and store.fault(name) is None):
            store.keep(plain.read(path, MAX_ARTIFACT_BYTES))
            taken += 1
    return taken
