"""Keeps the bytes of artifacts (screens, flows and logs of journeys) under their digest.

An entry names an artifact by its SHA-256, and the bytes are durable before the entry is. A crash in
between leaves bytes that no entry names; whose they are, a row of the inbox says from before they
are stored (`pipeline/inbox/artifacts/owners.py`). What a store is, and the one that is a folder,
are here; the one in a PostgreSQL inbox, and the choice between them, in `pipeline/inbox/artifacts`.
"""

import hashlib
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from pipeline import plain
from pipeline.contract.body import JsonValue
from pipeline.errors import NoRoom, OperatorError, Unreadable
from pipeline.files.disk import is_full, sync, try_to_write, write_whole
from pipeline.files.temporary import is_left

LOG = logging.getLogger(__name__)

MAX_ARTIFACT_BYTES: Final = 32 * 2**20
CHUNK_BYTES: Final = 2**20

_DIGEST = re.compile(r"[0-9a-f]{64}")

KeepArtifact = Callable[[Mapping[str, JsonValue]], Mapping[str, JsonValue]]
"""Takes an artifact as a collection names it, stores its bytes, and returns what the entry says.

Raises `Unreadable` if there are no such bytes."""


class Stored(NamedTuple):
    """What an entry says about an artifact's bytes."""

    sha256: str
    size_bytes: int


def stored_as(content: bytes) -> Stored:
    """What an entry says about these bytes."""
    return Stored(hashlib.sha256(content).hexdigest(), len(content))


class ArtifactDamaged(OperatorError):
    """The bytes that a store has for a digest cannot be read, or no longer have that digest."""


def damaged(sha256: str, why: str = "its bytes have another digest") -> ArtifactDamaged:
    """The error that an artifact's bytes cannot be used."""
    return ArtifactDamaged(
        f"The artifact {sha256} is damaged",
        why,
        "`prazo artifacts FOLDER` takes its bytes from a backup's folder",
    )


def digest_of(chunks: Iterable[bytes]) -> str | None:
    """The SHA-256 of the chunks together; None if there is none."""
    digest = None
    for chunk in chunks:
        digest = hashlib.sha256() if digest is None else digest
        digest.update(chunk)
    return None if digest is None else digest.hexdigest()


# --- stores ----------------------------------------------------------------------------------


class KeepsBytes(Protocol):
    """What an occurrence's artifacts are kept in; an `ArtifactStore` is one."""

    def keep(self, content: bytes) -> Stored:
        """Keeps the bytes of an artifact."""

    def vouch(self, sha256: str) -> bool:
        """Whether an entry may name the bytes under a digest."""

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """How many bytes there are under each of the digests that are there."""


class ArtifactStore(ABC):
    """Bytes under their digests. Any number of threads and processes may share one."""

    place: str
    """Where the bytes are, for people."""

    def keep(self, content: bytes) -> Stored:
        """Returns once the bytes are durable. The same bytes are stored once; a damaged copy of
        them is replaced.

        Raises `OperatorError` if they cannot be written.
        """
        stored = stored_as(content)
        self._write(stored.sha256, content)
        return stored

    def read(self, sha256: str) -> bytes | None:
        """The bytes under a digest, or None if the store does not have them.

        Raises `ArtifactDamaged` if they cannot be read, or do not have that digest.
        """
        chunks = list(self.chunks(sha256))
        if not chunks:
            return None
        content = b"".join(chunks)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise damaged(sha256)
        return content

    def fault(self, sha256: str) -> str | None:
        """What is wrong with the bytes under a digest, in words; None if they are all there. It
        reads every byte, a chunk at a time."""
        try:
            found = digest_of(self.chunks(sha256))
            if found is None:
                return f"The artifact {sha256} is missing from {self.place}"
            if found != sha256:
                raise damaged(sha256)
        except ArtifactDamaged as error:
            return error.finding
        return None

    def vouch(self, sha256: str) -> bool:
        """Whether the bytes under a digest are here, right and durable; an entry may name them."""
        return self.fault(sha256) is None

    @abstractmethod
    def probe(self, size: int) -> None:
        """Tries whether so many bytes could be kept; nothing stays. Raises `OperatorError` if they
        could not."""

    @abstractmethod
    def remove(self, sha256: str) -> bool:
        """Removes the bytes under a digest for good; whether there were any. For what is erased:
        no entry may name them any more. Raises `OperatorError` where they cannot be removed."""

    @abstractmethod
    def _write(self, sha256: str, content: bytes) -> None:
        """Returns once the bytes are durable under their digest."""

    @abstractmethod
    def chunks(self, sha256: str) -> Iterator[bytes]:
        """The bytes under a digest as they are, unchecked, in pieces: none if the store does not
        have them, else one or more.

        Raises `ArtifactDamaged` if they cannot be read.
        """

    @abstractmethod
    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """How many bytes there are under each of the digests that the store has. It reads none."""

    def stored(self, digests: Sequence[str]) -> dict[str, int]:
        """The same of what `keep` has stored, without what is read from elsewhere."""
        return self.sizes(digests)

    @abstractmethod
    def names(self) -> Iterator[str]:
        """Every digest that the store has bytes for."""

    @abstractmethod
    def partial(self, *, is_removed: bool = False) -> int:
        """How many files a writer that was killed left; with `is_removed` they go."""


class FolderArtifacts(ArtifactStore):
    """A folder of files named by digest, in 256 folders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.place = f"the folder {folder}"

    def _write(self, sha256: str, content: bytes) -> None:
        with self._writing("The artifact was not kept"):
            if self.vouch(sha256):
                return
            path = self.path(sha256)
            if not self._folder.exists():
                LOG.warning("a new store of artifacts begins in %s", self._folder.absolute())
            _make_folder(path.parent)
            write_whole(path, content)

    def probe(self, size: int) -> None:
        """Writes a file beside those of artifacts, and removes it."""
        with self._writing("No artifact could be kept"):
            _make_folder(self._folder)
            try_to_write(self._folder, size)

    @contextmanager
    def _writing(self, failed: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if is_full(error):
                raise NoRoom(
                    failed,
                    f"there is no room left in {self._folder.absolute()}",
                    "make room there, then try again; nothing was left of it",
                ) from None
            raise OperatorError(
                f"An artifact cannot be written to {self._folder}",
                error.strerror or str(error),
                "check the disk's free space and the folder's permissions",
            ) from None

    def remove(self, sha256: str) -> bool:
        """Removes a digest's file."""
        path = self.path(sha256)
        try:
            path.unlink()
            sync(path.parent)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise OperatorError(
                f"An artifact cannot be removed from {self._folder}",
                error.strerror or str(error),
                "check the folder's permissions, then run it again",
            ) from None
        return True

    def vouch(self, sha256: str) -> bool:
        """The same; the file is synced first."""
        if not super().vouch(sha256):
            return False
        path = self.path(sha256)
        sync(path)  # another process may have written it and not synced it yet
        sync(path.parent)
        return True

    def chunks(self, sha256: str) -> Iterator[bytes]:
        """The bytes of a digest's file, unchecked."""
        try:
            with plain.opened(self.path(sha256)) as file:
                yield file.read(CHUNK_BYTES)
                while chunk := file.read(CHUNK_BYTES):
                    yield chunk
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise damaged(sha256, f"it cannot be read: {error.strerror or error}") from None

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """The sizes of the files that are there."""
        found = {}
        for digest in digests:
            try:
                found[digest] = self.path(digest).stat().st_size
            except OSError:
                continue
        return found

    def names(self) -> Iterator[str]:
        """Every digest that names a file."""
        for path in self._folder.glob("??/*"):
            if _DIGEST.fullmatch(path.name):
                yield path.name

    def partial(self, *, is_removed: bool = False) -> int:
        """Drafts of files that nobody writes any more."""
        return sum(
            is_left(path, is_removed=is_removed) for path in self._folder.glob("??/.*.partial")
        )

    def path(self, sha256: str) -> Path:
        """The path of a digest's file, whether it exists or not.

        Raises ValueError unless `sha256` is 64 hex digits in lower case.
        """
        if not is_digest(sha256):
            raise ValueError("not a SHA-256 in hex")
        return self._folder / sha256[:2] / sha256


def is_digest(value: object) -> bool:
    """Whether a value is a SHA-256 as entries write it: 64 hex digits in lower case."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _make_folder(folder: Path) -> None:
    """Makes a folder and its parents. A folder's name is durable once its parent is synced."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync(folder.parent)


# --- what an entry says of them --------------------------------------------------------------

KEPT: Final = "kept"
"""Key of an artifact that a line of a file names by its digest alone: who has the bytes."""
HERE, ELSEWHERE = "here", "elsewhere"


def is_kept_here(artifact: Mapping[str, Any]) -> bool:
    """Whether our store should have the bytes of an artifact, so that without them evidence is
    lost: unless its entry says that the system keeps them from which it came."""
    return artifact.get(KEPT) != ELSEWHERE


class Keeping:
    """Keeps the artifacts of one occurrence. It may name the same bytes ten thousand times, which
    are read, digested and synced once."""

    def __init__(self, store: KeepsBytes) -> None:
        self._store = store
        self._stored: dict[str, Stored] = {}
        self._sizes: dict[str, int | None] = {}

    def is_kept(self, artifact: Mapping[str, JsonValue]) -> bool:
        """Whether the store vouches for the bytes of an artifact that is named by its digest.

        Raises `Unreadable` if the artifact was announced with another size than they have.
        """
        digest = artifact.get("sha256")
        if not isinstance(digest, str) or not is_digest(digest):
            return False
        if digest not in self._sizes:
            if not self._store.vouch(digest):
                return False
            self._sizes[digest] = self._store.sizes([digest]).get(digest)
        if artifact.get("size_bytes") not in (None, self._sizes[digest]):
            raise Unreadable("size_bytes: the bytes have another")
        return True

    def described(
        self, artifact: Mapping[str, JsonValue], name: str, read: Callable[[], bytes]
    ) -> dict[str, JsonValue]:
        """As `described` below. `read` gives the bytes, which are always the same under a name."""
        if (stored := self._stored.get(name)) is not None:
            return _as_stored(artifact, stored)
        found = described(artifact, read(), self._store)
        self._stored[name] = Stored(found["sha256"], found["size_bytes"])
        return found


def keep_file(store: KeepsBytes, folder: Path, *, needs_bytes: bool = False) -> KeepArtifact:
    """A function that stores the artifacts that an occurrence names by `path`, in `folder` or
    below.

    It reads no other file of this machine: a file of occurrences may come from anywhere, and what
    it names ends up in packages for auditors. With `needs_bytes`, an artifact that is named by its
    digest alone must be in the store already. Without it, another system's log may name artifacts
    that only that system has; the entry says so.
    """
    inside = folder.resolve()
    keeping = Keeping(store)

    def keep(artifact: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        if "path" not in artifact:
            is_kept = keeping.is_kept(artifact)
            if artifact.get("sha256") is None or (needs_bytes and not is_kept):
                raise Unreadable("no bytes: name the artifact's file by path")
            return artifact if needs_bytes else {**artifact, KEPT: HERE if is_kept else ELSEWHERE}
        name = artifact["path"]
        if not isinstance(name, str) or not name or "\0" in name:
            raise Unreadable("path: the name of a file is expected")
        path = (inside / name).resolve()
        if not path.is_relative_to(inside):
            raise Unreadable("path: the file must lie in the folder of what names it, or below it")
        if path.exists() and not path.is_file():
            raise Unreadable("path: it is not a file")  # to open a pipe would wait for its writer
        return keeping.described(artifact, str(path), lambda: _content(path))

    return keep


def _content(path: Path) -> bytes:
    try:
        return plain.read(path, MAX_ARTIFACT_BYTES)
    except OSError as error:
        raise Unreadable(f"path: the file cannot be read: {error.strerror}") from None


def described(
    artifact: Mapping[str, JsonValue], content: bytes, store: KeepsBytes
) -> dict[str, JsonValue]:
    """Stores the bytes and returns the artifact as its entry describes it: with the digest and the
    size of the bytes in place of a path.

    Raises `Unreadable` if the artifact was announced with another digest or size.
    """
    found = _as_stored(artifact, stored_as(content))
    store.keep(content)
    return found


def _as_stored(artifact: Mapping[str, JsonValue], stored: Stored) -> dict[str, JsonValue]:
    for name, actual in stored._asdict().items():
        if artifact.get(name) not in (None, actual):
            raise Unreadable(f"{name}: the bytes have another")
    return {**{key: it for key, it in artifact.items() if key != "path"}, **stored._asdict()}
