"""Writes a BagIt 1.0 bag as one zip file. The same files always make the same bytes."""

import hashlib
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from pipeline.errors import NoRoom
from pipeline.files.disk import is_full
from pipeline.verify import LARGE

BAG_DECLARATION: Final = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
MAX_RATIO: Final = 50
"""A file that packing makes smaller than this is stored as it is: a verifier takes a zip that
unfolds to far more than its own size for an attack."""
PIECE: Final = 1 << 20
_FIRST_DAY: Final = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip can hold
_LEVEL: Final = 4  # two thirds of zlib's own time for a few percent more bytes


class _Zip(zipfile.ZipFile):
    def __del__(self) -> None:
        """Writes nothing: what was not closed was not sealed, and its file is closed by now."""


class BagWriter:
    """Adds files to a zip, which is a bag once it is sealed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._zip = _Zip(file, "w", compresslevel=_LEVEL)
        self._digests: dict[str, str] = {}
        self._payload_bytes = 0

    def add(self, name: str, content: bytes | Path) -> None:
        """Adds a file, from its bytes or from where they are; the zip keeps the order of the
        calls. What is read from a path never stands in memory as a whole. Raises `NoRoom`."""
        info = zipfile.ZipInfo(name, _FIRST_DAY)
        info.create_system = 3  # Unix, wherever this runs
        info.external_attr = (stat.S_IFREG | 0o644) << 16
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        # Packed, a file that is just not large might be: one that is stored stays as it is.
        is_packed = not LARGE - PIECE < size <= LARGE and (
            size < PIECE or _packs_within_reason(content, size)
        )
        info.compress_type = zipfile.ZIP_DEFLATED if is_packed else zipfile.ZIP_STORED
        digest = hashlib.sha256()
        with self._room(), self._zip.open(info, "w", force_zip64=size > LARGE) as member:
            for piece in _pieces(content):
                digest.update(piece)
                member.write(piece)
        self._digests[name] = digest.hexdigest()
        if name.startswith("data/"):
            self._payload_bytes += size

    def seal(self, info: Iterable[tuple[str, str]], sign: Callable[[str], str]) -> None:
        """Adds the tag files, with a signature, and closes the zip. Raises `NoRoom`.

        `info`: the lines of bag-info.txt. `sign`: signs a manifest and returns the signed note.
        """
        payload = sorted(it for it in self._digests if it.startswith("data/"))
        lines = [f"{name}: {value}" for name, value in info]
        lines.append(f"Payload-Oxum: {self._payload_bytes}.{len(payload)}")
        self.add("bagit.txt", BAG_DECLARATION)
        self.add("bag-info.txt", "".join(f"{it}\n" for it in lines).encode())
        self.add("manifest-sha256.txt", self._manifest(payload).encode())
        self.add("manifest.note", sign(self._manifest(self._tags())).encode())
        self.add("tagmanifest-sha256.txt", self._manifest(self._tags()).encode())
        with self._room():
            self._zip.close()
            self._file.flush()

    @contextmanager
    def _room(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not is_full(error):
                raise
            folder = Path(str(getattr(self._file, "name", ""))).parent
            raise NoRoom(
                "The package was not made",
                f"there is no room left in {folder.absolute()}",
                "make room there and ask for it again; nothing was left there. The log has the"
                " entry of this export already: where a second person had approved it, it has to"
                " be approved again",
            ) from error

    def _tags(self) -> list[str]:
        return sorted(it for it in self._digests if not it.startswith("data/"))

    def _manifest(self, names: Iterable[str]) -> str:
        return "".join(f"{self._digests[it]}  {it}\n" for it in names)


def _pieces(content: bytes | Path) -> Iterable[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with content.open("rb") as file:
        yield from iter(lambda: file.read(PIECE), b"")


def _packs_within_reason(content: bytes | Path, size: int) -> bool:
    packer, packed = zlib.compressobj(1), 0
    for piece in _pieces(content):
        packed += len(packer.compress(piece))
        if packed * MAX_RATIO >= size:  # for nearly every file, after its first pieces
            return True
    return False
