"""Keeps the bytes of artifacts under the name of their digest: screens, flows and logs of journeys.

An entry names an artifact by its SHA-256; the bytes are on disk before that entry is. A crash in
between leaves bytes that nothing names, which do no harm.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from pipeline.contract import JsonValue
from pipeline.errors import OperatorError, Unreadable
from pipeline.occurrences import KeepArtifact

MAX_ARTIFACT_BYTES: Final = 32 * 2**20

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Kept(NamedTuple):
    """What an entry says of an artifact's bytes."""

    sha256: str
    size_bytes: int


class ArtifactDamaged(OperatorError):
    """The bytes under a digest are not those that the digest was taken of."""


class ArtifactStore:
    """A folder of files named by digest, in 256 folders. Any number of processes may share it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, content: bytes) -> Kept:
        """Returns once the bytes are on disk; the same bytes are kept once.

        Raises `OperatorError` where they cannot be written.
        """
        digest = hashlib.sha256(content).hexdigest()
        path = self.path(digest)
        try:
            _make_folder(path.parent)
            if path.exists() and path.stat().st_size == len(content):
                _sync(path)  # whoever wrote it may not have come to that yet
            else:
                _write(path, content)
            _sync(path.parent)
        except OSError as error:
            raise OperatorError(
                f"An artifact cannot be written to {self._folder}",
                error.strerror or str(error),
                "check the disk's free space and the folder's permissions",
            ) from None
        return Kept(digest, len(content))

    def read(self, sha256: str) -> bytes | None:
        """The bytes, compared with their digest, or None where the store has none of that name.

        Raises `ArtifactDamaged` where they are not what was kept.
        """
        try:
            content = self.path(sha256).read_bytes()
        except FileNotFoundError:
            return None
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ArtifactDamaged(
                f"The artifact {sha256} is damaged",
                "its bytes lead to another digest",
                "restore the folder of artifacts from a backup",
            )
        return content

    def has(self, sha256: object) -> bool:
        """Whether bytes are kept under a digest, as far as their file's name tells."""
        return isinstance(sha256, str) and self.path(sha256).exists()

    def path(self, sha256: str) -> Path:
        """Where the bytes of a digest lie, or would; ValueError for what is no digest."""
        if not _DIGEST.fullmatch(sha256):
            raise ValueError("no SHA-256 in hex")
        return self._folder / sha256[:2] / sha256


def keep_file(store: ArtifactStore, folder: Path, *, needs_bytes: bool = False) -> KeepArtifact:
    """Keeps artifacts that are named by `path`, in a folder or below it.

    No other file of this machine: a file of occurrences may come from anywhere, and what it names
    ends up in packages for auditors. `needs_bytes`: a digest alone is taken only of bytes that are
    kept already. Without it, another system's log may name what that system keeps.
    """
    inside = folder.resolve()

    def keep(artifact: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        if "path" not in artifact:
            sha256 = artifact.get("sha256")
            if sha256 is None or (needs_bytes and not store.has(sha256)):
                raise Unreadable("no bytes: name the artifact's file by path")
            return artifact
        named = artifact["path"]
        if not isinstance(named, str) or not named or "\0" in named:
            raise Unreadable("path: the name of a file is expected")
        path = (inside / named).resolve()
        if not path.is_relative_to(inside):
            raise Unreadable("path: the file must lie in the folder of what names it, or below it")
        try:
            with path.open("rb") as file:
                content = file.read(MAX_ARTIFACT_BYTES + 1)
        except OSError as error:
            raise Unreadable(f"path: the file cannot be read: {error.strerror}") from None
        if len(content) > MAX_ARTIFACT_BYTES:
            raise Unreadable(f"path: the file is over {MAX_ARTIFACT_BYTES} bytes")
        return described(artifact, content, store)

    return keep


def described(
    artifact: Mapping[str, JsonValue], content: bytes, store: ArtifactStore
) -> dict[str, JsonValue]:
    """Keeps the bytes, and says of the artifact what its entry will: digest and size for a path.

    Raises `Unreadable` where it was announced with another digest or size.
    """
    kept = Kept(hashlib.sha256(content).hexdigest(), len(content))
    for name, is_so in kept._asdict().items():
        if artifact.get(name) not in (None, is_so):
            raise Unreadable(f"{name}: the bytes have another")
    store.keep(content)
    return {**{key: it for key, it in artifact.items() if key != "path"}, **kept._asdict()}


def _write(path: Path, content: bytes) -> None:
    """Written whole under another name first: half an artifact must never bear its digest."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    """A folder's name is durable once the folder around it is synced."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    _sync(folder.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
