"""Handles files with care: writes them whole or not at all, sets databases aside, and rereads
small files (secrets, tokens, credentials) when they change."""

import contextlib
import errno
import fcntl
import logging
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, TypeVar

from pipeline.errors import FileBarred, PrazoError, SettingsError, WrongUsage
from pipeline.places import DATABASE_SUFFIXES, named_by

LOG = logging.getLogger(__name__)

READ_SECONDS: Final = 10.0
"""How long a caller that must not hang waits for a file's disk."""
RECHECK_SECONDS: Final = 1.0
LEFT_SECONDS: Final = 60.0
"""A draft that is younger is left alone: whoever makes it may be about to lock it."""
_NEW: Final = ".new"
MAX_FILE_BYTES: Final = 1_048_576

_WALS: Final = ("-wal", ".wal")
SPARE_BYTES: Final = 1_048_576
"""What a database may need beside what it moves out of its WAL."""

DUCKDB: Final = "a DuckDB database"
_BEGINNINGS: Final = {
    b"SQLite format 3\0": "an SQLite database, such as an inbox",
    b"PK\3\4": "a zip file, such as a package",
    b"PAR1": "a Parquet file",
    b"-----BEGIN ": "a key or a certificate",
    b"\x89PNG\r\n\x1a\n": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"%PDF-": "a PDF",
    b"\x1f\x8b\x08": "a compressed file",
    b"\x28\xb5\x2f\xfd": "a compressed file",
    b"\xfd7zXZ\0": "a compressed file",
    b"\x7fELF": "a program",
}
TEXT: Final = "a text"
_NO_TEXT: Final = frozenset({*range(9), *range(14, 27), *range(28, 32), 127})
"""Bytes that no text has, in UTF-8 or another encoding of single bytes."""
_LOOKED_AT: Final = 4096

T = TypeVar("T")


@contextmanager
def written_whole(path: Path, *, may_replace: bool = True, mode: int = 0o600) -> Iterator[BinaryIO]:
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


class _Looked(Exception):
    """Leaves `written_whole` before it puts anything at its path."""


@contextmanager
def _draft(path: Path, mode: int) -> Iterator[BinaryIO]:
    """A new file, which is on disk when the block ends. Where the block or the disk fails, that
    error is raised, and none of closing the file, which tries to write what is left."""
    file = open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115
    try:
        _lock(file.fileno())
        yield file
        file.flush()
        os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            file.close()
        raise
    file.close()


def is_full(error: OSError) -> bool:
    """Whether a disk, or what one may take of it, is full: by a quota, or in one file."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_whole(path: Path, content: bytes, *, may_replace: bool = True, mode: int = 0o600) -> None:
    """Writes `content` to a file, as `written_whole` does."""
    with written_whole(path, may_replace=may_replace, mode=mode) as file:
        file.write(content)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keeps every other process of this machine that asks for the same folder waiting during the
    block. The lock is the process's, so it ends with it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def locked(lock: Path, busy: PrazoError) -> Iterator[None]:
    """Keeps every other process of this machine out of such a block, by a lock on a file that
    exists for as long as the block. The lock is the process's, so it ends with it.

    Raises `busy` where another process is in one, and `OSError` where the file cannot be made.
    """
    try:
        descriptor = _descriptor(lock)
    except BlockingIOError:
        raise busy from None
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)  # while it is locked still: nobody else's is removed
        os.close(descriptor)


def _descriptor(lock: Path) -> int:
    """An open descriptor of the file `lock`, made and locked. Raises `BlockingIOError` where
    another process has locked it."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(lock.stat(), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)  # whoever had it has just removed it


def make_folder(folder: Path) -> None:
    """Makes a folder where there is none, with those that it lies in, so that their names survive a
    power cut."""
    missing = [it for it in (folder, *folder.parents) if not it.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        sync(place.parent)


class OwnFolder:
    """A temporary folder of one process, which has to `remove` it. If the process is killed first,
    `remove_left` removes it, and so does the next `OwnFolder` of the same name and parent.

    The process holds a lock on the folder, which ends with the process: so a folder is known to be
    left even where another process has got the same number.
    """

    def __init__(self, name: str, parent: Path | None = None) -> None:
        """Makes the folder, for its owner alone, in `parent` or where the system keeps such files.
        Its own name is `name` and eight characters."""
        remove_left(name, parent)
        new = Path(tempfile.mkdtemp(prefix=name, suffix=_NEW, dir=parent))
        self._held = os.open(new, os.O_RDONLY)
        _lock(self._held)
        self.path = new.rename(str(new).removesuffix(_NEW))  # it is never seen without its lock

    def remove(self) -> None:
        """Removes the folder with all that is in it; once is enough."""
        if self._held < 0:
            return
        held, self._held = self._held, -1
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(held)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def remove_left(name: str, parent: Path | None = None) -> None:
    """Removes the folders that an `OwnFolder` of that name left in `parent`, and drafts of a file
    `.name` beside them, whose process is gone. What cannot be removed stays."""
    parent = parent or Path(tempfile.gettempdir())
    theirs = re.compile(re.escape(name) + r"([a-z0-9_]{8}|[0-9a-f]{8}\.partial)")
    with contextlib.suppress(OSError):
        for entry in os.scandir(parent):
            if theirs.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_left(Path(entry.path))


def _remove_if_left(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        is_new = stat.S_ISREG(found.st_mode) and time.time() - found.st_mtime < LEFT_SECONDS
        if is_new or found.st_uid != os.geteuid():
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_ISDIR(found.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        elif stat.S_ISREG(found.st_mode):
            path.unlink()
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Marks a file or folder as in use. On a file system without locks nobody gets one, so that
    `remove_left` removes nothing there."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def read_small(path: Path) -> str:
    """The text of a small file that the settings name, such as a secret's. Raises
    `SettingsError`."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise _unreadable(path, f"it is over {MAX_FILE_BYTES} bytes")
        return data.decode("utf-8-sig")  # some editors write a byte order mark
    except PermissionError as error:
        raise _unreadable(path, str(error), FileBarred) from None
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, str(error)) from None


def _unreadable(path: Path, why: str, kind: type[SettingsError] = SettingsError) -> SettingsError:
    return kind(
        f"The file {path} cannot be read",
        why,
        "check the path in the settings and the file's permissions",
    )


def is_barred(path: Path) -> bool:
    """Whether something is there that this user may not both read and write."""
    if not os.access(path, os.F_OK):
        return False
    return not os.access(path, os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0))


def content_of(path: Path) -> str | None:
    """What a file is, by its first bytes; `TEXT` where its first and last bytes are only text.
    None where they do not tell, as with a damaged database, and where there is no such file."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        start = file.read(_LOOKED_AT)
        file.seek(max(0, path.stat().st_size - _LOOKED_AT))
        end = file.read(_LOOKED_AT)
    if start[8:12] == b"DUCK":  # behind a checksum, which may be like the beginning of anything
        return DUCKDB
    if known := next((it for mark, it in _BEGINNINGS.items() if start.startswith(mark)), None):
        return known
    return TEXT if start and _NO_TEXT.isdisjoint(start + end) else None


def sync(path: Path) -> None:
    """Returns once a file's bytes, or a folder's names, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def identity_of(status: os.stat_result) -> tuple[int, int]:
    """What tells a file from another one that takes its path, as long as it is there."""
    return status.st_dev, status.st_ino


def identities_beside(database: Path) -> list[tuple[int, int] | None]:
    """Of what SQLite keeps beside a file: its WAL, and by what its users hear of each other."""
    found: list[tuple[int, int] | None] = []
    for suffix in ("-wal", "-shm"):
        try:
            found.append(identity_of(Path(f"{database}{suffix}").stat()))
        except FileNotFoundError:
            found.append(None)
    return found


def set_aside(database: Path) -> Path | None:
    """Renames a database and the files that belong to it, so that nothing is lost.

    Returns its new path, or None if there was no database.
    """
    if not database.exists():
        return None
    aside = database.with_name(f"{database.name}.set-aside-{time.time_ns()}")
    for suffix in DATABASE_SUFFIXES:
        part = database.with_name(database.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    return aside


def swap_in(draft: Path, database: Path, *, is_dropped: bool = False) -> Path | None:
    """Puts a closed database in the place of another, which is set aside, or removed where it
    `is_dropped`. Raises an `OSError`, and changes nothing, where the draft still has a WAL: it was
    not written to its end when it was closed. `is_full` recognises that error where the disk had no
    room for the WAL.

    There is a database at every moment: the old one gets a second name, then the new one takes its
    place in one step. The old one's WAL is moved first, even where the old database itself is gone,
    since it must never be read into the new one; entries that were only in that WAL are followed
    again from the inbox. Returns the path to which the old one was moved, where only its WAL may
    be; None if there was neither.
    """
    wals = [draft.with_name(draft.name + suffix) for suffix in _WALS]
    if left := [wal.stat().st_size for wal in wals if wal.exists()]:
        if shutil.disk_usage(draft.parent).free < sum(left) + SPARE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(draft.parent))
        raise OSError(errno.EIO, "could not be written to its end", str(draft))
    aside = database.with_name(f"{database.name}.set-aside-{time.time_ns()}")
    is_kept = False
    for suffix in filter(None, DATABASE_SUFFIXES):
        part = database.with_name(database.name + suffix)
        if is_dropped:
            part.unlink(missing_ok=True)
        elif part.exists():
            part.rename(aside.with_name(aside.name + suffix))
            is_kept = is_kept or suffix in _WALS
    if database.exists() and not is_dropped:
        os.link(database, aside)
        is_kept = True
    draft.replace(database)
    sync(database.parent)
    return aside if is_kept else None


def remove_database(database: Path) -> None:
    """Deletes a database, if there is one, and the files that belong to it."""
    for suffix in DATABASE_SUFFIXES:
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    remove_spilled(database)


def remove_spilled(database: Path) -> None:
    """Deletes the files beside a DuckDB database to which a killed process moved rows that did not
    fit into memory. DuckDB itself deletes them only when it next needs such files. The caller must
    have the database open, as only one process can."""
    folder = database.with_name(f"{database.name}.tmp")
    with contextlib.suppress(OSError):
        for left in folder.glob("duckdb_temp_*"):
            left.unlink()
        folder.rmdir()


class RereadFile(Generic[T]):
    """The parsed content of a file, which is checked for changes at most once a second.

    If the file can no longer be read or parsed, the last good content stays in force: a rotation
    that is only half done must not lock the platform out.
    """

    def __init__(self, path: Path, parse: Callable[[str], T], otherwise: T | None = None) -> None:
        """Reads the file. `otherwise`: what is in force until the file can be read; without it, a
        file that cannot be read raises `SettingsError`."""
        self._path = path
        self._parse = parse
        self._looked_at = time.monotonic()
        self._fault: SettingsError | None = None
        self._stamp: tuple[int, int, int] | None = None
        try:
            self._stamp = self._look()
            self._value = parse(read_small(self._path))
        except SettingsError as error:
            if otherwise is None:
                raise
            LOG.error("defaults are in force: %s", error)
            self._value, self._fault = otherwise, error

    def get(self) -> T:
        """The newest good content."""
        now = time.monotonic()
        if now - self._looked_at >= RECHECK_SECONDS:
            self._looked_at = now
            try:
                stamp = self._look()
                if stamp != self._stamp or self._fault is not None:
                    self._value = self._parse(read_small(self._path))
                    self._stamp = stamp
                    self._fault = None
            except SettingsError as error:
                if str(error) != str(self._fault):  # it is looked at every second
                    LOG.warning("what was read before stays in force: %s", error)
                self._fault = error
        return self._value

    def fault(self) -> SettingsError | None:
        """Why the file's present content is not in force; None where it is."""
        self.get()
        return self._fault

    def _look(self) -> tuple[int, int, int]:
        try:
            stat = self._path.stat()
        except OSError as error:
            raise _unreadable(self._path, str(error)) from None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino
