"""Keeps copies of backups, encrypted, in a folder or a store that speaks S3; takes them back.

A copy is a tar in the age format, so that any age program opens it. It is encrypted to a public key
on its way: neither the store nor this machine can read it. A note beside it, written last, says how
large it is: without that there is no copy. age notices what is cut off or exchanged; that it is the
log's, a restore asks of the log's own signatures.
"""

import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import pyrage
from pyarrow import fs

from pipeline import instants
from pipeline.errors import NoRoom, NotRestored, OperatorError
from pipeline.files.disk import is_full
from pipeline.texts import counted

_DATA, _NOTE = ".tar.age", ".json"
_STAMP: Final = "prazo-%Y%m%dT%H%M%SZ"
_AT_ONCE: Final = 2**20
_MOST_NOTE_BYTES: Final = 4096
_MOST_DAYS: Final = 731
_LEFT: Final = instants.DAY
"""An older copy without its note is one that was cut off."""


class Kept(NamedTuple):
    """A copy in the store. `entries`: how many of the log's it holds."""

    name: str
    made_at: int
    size: int
    log: str
    entries: int


class Keep(NamedTuple):
    """Of how many days, weeks and months the newest copy is kept, counted back from the newest."""

    days: int
    weeks: int
    months: int

    @classmethod
    def read(cls, text: str) -> "Keep":
        """`7,4,12`, as the setting has it."""
        return cls(*map(int, text.split(",")))

    def of(self, copies: Sequence[Kept]) -> set[str]:
        """The names of those that stay; the newest always does."""
        newest_first = sorted(copies, key=lambda copy: copy.made_at, reverse=True)
        stay = {it.name for it in newest_first[:1]}
        for number, period in zip(self, ("%Y-%j", "%G-%V", "%Y-%m"), strict=True):
            newest_of: dict[str, str] = {}
            for copy in newest_first:
                newest_of.setdefault(instants.of(copy.made_at).strftime(period), copy.name)
            stay |= {*list(newest_of.values())[:number]}
        return stay

    def ends(self, copies: Sequence[Kept], now: int) -> dict[str, int]:
        """When each copy goes, if one is made each day from now on; without those that stay for
        two years."""
        present, gone = list(copies), dict[str, int]()
        for day in range(1, _MOST_DAYS):
            at = now + day * instants.DAY
            present.append(Kept(str(at), at, 0, "", 0))
            stay = self.of(present)
            gone |= {it.name: at for it in present if it.name not in stay}
            present = [it for it in present if it.name in stay]
            if not any(it.log for it in present):
                break
        return {it.name: gone[it.name] for it in copies if it.name in gone}


def copies_of(location: str, keep: Keep, erased_to: int | None, now: int) -> dict[str, int | None]:
    """The copies in a store that may hold what was erased up to an entry, each with the instant at
    which it goes; None: for two years or more. `erased_to`: None where nothing was erased yet, so
    that each copy may. Raises `OperatorError`."""
    copies = Vault(location).copies()
    ends = keep.ends(copies, now)
    return {
        copy.name: ends.get(copy.name)
        for copy in copies
        if erased_to is None or copy.entries < erased_to
    }


class Vault:
    """The store at a folder's path or an `s3://` URL."""

    def __init__(self, location: str) -> None:
        """Raises `OperatorError` where it cannot be reached."""
        self.location = location
        with self._doing("reached"):
            if location.startswith("s3://"):
                self._store, self._at = fs.FileSystem.from_uri(location)
            else:
                Path(location).mkdir(parents=True, exist_ok=True, mode=0o700)
                self._store, self._at = fs.LocalFileSystem(), str(Path(location).absolute())

    def put(self, folder: Path, to: str, log: str, entries: int, now: int) -> Kept:
        """Sends what a folder holds, encrypted to a public key of age; raises `OperatorError`, or
        `NoRoom`, and then there is no copy."""
        recipient = _read(pyrage.x25519.Recipient.from_str, to, "PRAZO_BACKUP_RECIPIENT")
        name = instants.of(now).strftime(_STAMP)
        with self._doing("written"), self._left_out(name):
            with self._store.open_output_stream(f"{self._at}/{name}{_DATA}") as stream:
                out = _Measured(stream)
                try:
                    _through(
                        lambda end: _packed(folder, end),
                        lambda end: pyrage.encrypt_io(end, out, [recipient]),
                    )
                except pyrage.EncryptError as error:  # it hides what kept it from writing
                    raise out.failed or OSError(str(error)) from None
            if self._size(name) != out.size:
                raise OSError("what is there is not what was sent")
            kept = Kept(name, now, out.size, log, entries)
            note = {**kept._asdict(), "sha256": out.digest.hexdigest()}
            with self._store.open_output_stream(f"{self._at}/{name}{_NOTE}") as stream:
                stream.write(json.dumps(note).encode())
        return kept

    def copies(self) -> list[Kept]:
        """Those that are whole, the oldest first."""
        with self._doing("read"):
            names = self._names()
            found = [self._noted(it) for it, suffix in names if suffix == _NOTE]
            sizes = {it: self._size(it) for it, suffix in names if suffix == _DATA}
        whole = [it for it in found if it is not None and sizes.get(it.name) == it.size]
        return sorted(whole, key=lambda copy: copy.made_at)

    def take(self, name: str | None, identity: str, into: Path) -> Kept:
        """Decrypts a copy, or the newest, into an empty folder. Raises `NotRestored` where there is
        none, the key is another's, or it is not as it was sent."""
        copies = self.copies()
        chosen = [it for it in copies if name in (None, it.name)][-1:]
        if not chosen:
            names = ", ".join(it.name for it in copies) or "none"
            raise NotRestored(
                "Nothing was restored",
                f"{self.location} has no whole copy {name or 'at all'}",
                f"whole ones there: {names}",
            )
        key = _read(pyrage.x25519.Identity.from_str, identity, "the file of --identity")
        data = f"{self._at}/{chosen[0].name}{_DATA}"
        with self._doing("read"), self._store.open_input_stream(data) as stream:
            try:
                _through(
                    lambda end: pyrage.decrypt_io(stream, end, [key]),
                    lambda end: _unpacked(end, into),
                )
            except (OSError, pyrage.DecryptError, tarfile.TarError, EOFError) as error:
                raise NotRestored(
                    "Nothing was restored",
                    f"the copy {chosen[0].name} cannot be decrypted: {error}",
                    "the key may be another's, the copy changed or the store away: try again, then"
                    " another copy",
                ) from None
        return chosen[0]

    def tidy(self, keep: Keep, now: int) -> list[str]:
        """Removes the copies that need not stay, and what was cut off; the names of the former."""
        copies = self.copies()
        gone = {it.name for it in copies} - keep.of(copies)
        known = {it.name for it in copies}
        with self._doing("tidied"):
            for name, suffix in sorted(
                self._names(), key=lambda file: file[1] != _NOTE
            ):  # notes first
                is_left = name not in known and now - _stamped(name) > _LEFT
                if name in gone or is_left:
                    self._store.delete_file(f"{self._at}/{name}{suffix}")
        return sorted(gone)

    @contextmanager
    def _left_out(self, name: str) -> Iterator[None]:
        """Where the block fails, removes what there is of a copy, if the store still answers: on a
        full disk it would take the room of the next one."""
        try:
            yield
        except BaseException:
            for suffix in (_NOTE, _DATA):
                with suppress(OSError):
                    self._store.delete_file(f"{self._at}/{name}{suffix}")
            raise

    def _names(self) -> list[tuple[str, str]]:
        """(name, suffix) of each file of ours."""
        found = self._store.get_file_info(fs.FileSelector(self._at, allow_not_found=True))
        names = [it.base_name for it in found if it.type == fs.FileType.File]
        parts = [
            (file.removesuffix(end), end)
            for file in names
            for end in (_DATA, _NOTE)
            if file.endswith(end)
        ]
        return [it for it in parts if _stamped(it[0])]

    def _size(self, name: str) -> int | None:
        [info] = self._store.get_file_info([f"{self._at}/{name}{_DATA}"])
        return info.size if info.type == fs.FileType.File else None

    def _noted(self, name: str) -> Kept | None:
        """What is noted of a copy; None where it went since it was listed, or says nothing."""
        try:
            with self._store.open_input_stream(f"{self._at}/{name}{_NOTE}") as stream:
                said = stream.read(_MOST_NOTE_BYTES)
        except FileNotFoundError:
            return None
        with suppress(ValueError, KeyError, TypeError):
            note = json.loads(said)
            return Kept(
                name,
                int(note["made_at"]),
                int(note["size"]),
                str(note["log"]),
                int(note["entries"]),
            )
        return None

    @contextmanager
    def _doing(self, done: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise (NoRoom if is_full(error) else OperatorError)(
                f"The store of backups {self.location} cannot be {done}",
                str(error),
                "look at its room and rights, and at the way to it; nothing there counts that was"
                " not sent to its end",
            ) from error


class _Measured:
    """Counts and digests what goes through."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.size, self.digest = 0, hashlib.sha256()
        self.failed: OSError | None = None

    def write(self, some: bytes) -> int:
        try:
            self._stream.write(some)
        except OSError as error:
            self.failed = error
            raise
        self.size += len(some)
        self.digest.update(some)
        return len(some)

    def flush(self) -> None:
        """What is not sent yet goes when the stream is closed."""


def _through(write: Callable[[IO[bytes]], object], read: Callable[[IO[bytes]], object]) -> None:
    """Has two work at the ends of a pipe at once. The error of the one that writes counts first: it
    is why the other found an end. No whole copy stands in memory."""
    into, out_of = os.pipe()[::-1]

    def writing() -> None:
        with os.fdopen(into, "wb", _AT_ONCE) as end:
            write(end)

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(writing)
        failed: Exception | None = None
        with os.fdopen(out_of, "rb", _AT_ONCE) as end:
            try:
                read(end)
                while end.read(_AT_ONCE):
                    pass
            except Exception as error:
                failed = error
        try:
            written.result()
        except BrokenPipeError:
            if failed is None:
                raise
    if failed is not None:
        raise failed


def _packed(folder: Path, end: IO[bytes]) -> None:
    with tarfile.open(fileobj=end, mode="w|") as tar:
        for path in sorted(_of_backup(folder)):
            tar.add(path, str(path.relative_to(folder)), recursive=False)


def _of_backup(folder: Path) -> Iterable[Path]:
    return (it for it in folder.rglob("*") if it.is_file() and not it.name.startswith("."))


def _unpacked(end: IO[bytes], into: Path) -> None:
    """Only files below the folder, with nothing of their owners: whoever has the recipient's public
    key can write an archive. (Python's own filter came with 3.11.4.)"""
    with tarfile.open(fileobj=end, mode="r|") as tar:
        for member in tar:
            place = into / member.name
            content = tar.extractfile(member) if member.isreg() else None
            if content is None or ".." in place.parts or not place.is_relative_to(into):
                raise tarfile.ExtractError(f"{member.name!r} is not a file of a backup")
            place.parent.mkdir(parents=True, exist_ok=True)
            with content, place.open("xb") as file:
                shutil.copyfileobj(content, file)


def _stamped(name: str) -> int:
    """The instant in a name; 0 where it is not one of ours."""
    with suppress(ValueError):
        made_at = datetime.strptime(name, _STAMP).replace(tzinfo=UTC)
        return round(made_at.timestamp()) * instants.SECOND
    return 0


def _read(reader: Callable[[str], Any], text: str, place: str) -> Any:
    lines = [it.strip() for it in text.splitlines() if it.strip() and not it.startswith("#")]
    try:
        return reader(lines[0])
    except (IndexError, pyrage.RecipientError, pyrage.IdentityError):
        raise OperatorError(
            f"The key of backups in {place} cannot be used",
            f"{counted(len(lines), 'line')}, and the first is not a key of age",
            "`age-keygen` makes a pair: `age1...` encrypts, `AGE-SECRET-KEY-1...` decrypts",
        ) from None
