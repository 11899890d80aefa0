"""Brings files to the disk whole or not at all, and says when they are there."""

import contextlib
import errno
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from pipeline.errors import WrongUsage
from pipeline.files.locks import mark_in_use
from pipeline.places import named_by

GIVE_WRITE: Final = (
    "mount it for writing, or give the right to whoever runs this; or choose another"
)
"""What to do where `not_writable` says why."""

OWN: Final = 0o600
"""The rights of a file that only its owner can read."""


@contextmanager
def written_whole(path: Path, *, may_replace: bool = True, mode: int = OWN) -> Iterator[BinaryIO]:
    """A file to write, which only its owner can read unless `mode` says otherwise. When the block
    ends, it is at `path` and on disk; if the block fails, `path` is unchanged.

    A full disk raises an `OSError` that names the folder; `is_full` recognises it.

    A link at `path` is replaced and never followed. What is neither a file nor a link there, such
    as a device, raises `FileExistsError`. `may_replace`: if false, a file raises it too.
    """
    if path.exists() and not (path.is_file() or path.is_symlink()):
        raise FileExistsError(errno.EEXIST, "is there, and not a file", str(path))
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with _draft(draft, mode) as file:
            yield file
        if may_replace:
            draft.replace(path)
        else:
            os.link(draft, path)
        sync(path.parent)
    except OSError as error:
        if is_full(error) or error.filename == str(draft):  # nobody asked for a draft
            raise OSError(error.errno, error.strerror, str(path.parent)) from error
        raise
    finally:
        draft.unlink(missing_ok=True)


def check_place(
    path: Path, settings: Iterable[tuple[str, Any]], *, may_replace: bool = True
) -> None:
    """Raises the `OSError` with which `written_whole` would fail before its first byte. A caller
    that records something, or does it only once, asks first, so that it does not fail after that.
    Raises `WrongUsage` where the file would replace one that `settings` name, or any file unless it
    `may_replace` one."""
    if named := named_by(settings, path):
        raise WrongUsage(
            "Nothing was written",
            f"{path} is what {named} names: what is there would be lost",
            "choose another file",
        )
    if not may_replace and os.path.lexists(path):
        raise WrongUsage(
            "Nothing was written",
            f"{path} is there already: what is in it would be lost",
            "choose another file, or move that one away",
        )
    with contextlib.suppress(_Looked), written_whole(path):
        raise _Looked


def try_to_write(folder: Path, size: int) -> None:
    """Brings so many bytes to the disk of a folder, in a file without a name, which nobody has to
    remove. Raises the `OSError` with which that fails; `is_full` recognises a full disk."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(size))
        file.flush()
        os.fsync(file.fileno())


class _Looked(Exception):
    """Leaves `written_whole` before it puts anything at its path."""


@contextmanager
def _draft(path: Path, mode: int) -> Iterator[BinaryIO]:
    """A new file, which is on disk when the block ends. Where the block or the disk fails, that
    error is raised, and none of closing the file, which tries to write what is left."""
    file = open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115
    try:
        if mode != OWN:  # which no usual umask takes away, and some disks cannot change
            os.fchmod(file.fileno(), mode)
        mark_in_use(file.fileno())
        yield file
        file.flush()
        os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()
        raise
    file.close()


def write_whole(path: Path, content: bytes, *, may_replace: bool = True, mode: int = OWN) -> None:
    """Writes `content` to a file, as `written_whole` does."""
    with written_whole(path, may_replace=may_replace, mode=mode) as file:
        file.write(content)


def is_full(error: OSError) -> bool:
    """Whether a disk, or what one may take of it, is full: by a quota, or in one file."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def existing(path: Path) -> Path:
    """The path, or the nearest folder above it that is there: on its disk the path would be."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path.resolve()


def not_writable(folder: Path) -> str | None:
    """Why nothing can be put into a folder, or into the one in which it would be made; None where
    it can."""
    place = existing(folder.absolute())
    if os.access(place, os.W_OK | os.X_OK):
        return None
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        return f"{place} is mounted read-only"
    return f"this user may not write to {place}"


def make_folder(folder: Path) -> None:
    """Makes a folder where there is none, with those that it lies in, so that their names survive a
    power cut."""
    missing = [it for it in (folder, *folder.parents) if not it.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync(place.parent)


def sync(path: Path) -> None:
    """Returns once a file's bytes, or a folder's names, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
