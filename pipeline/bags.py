"""Writes a BagIt 1.0 bag as one zip file: the same files give the same bytes, on any day."""

import hashlib
import os
import stat
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Self

BAG_DECLARATION: Final = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
_FIRST_DAY: Final = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say


class BagWriter:
    """Adds files to a bag in a zip; nothing lies at the path until all of it does."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draft = path.with_name(f".{path.name}.{os.getpid()}.partial")
        descriptor = os.open(self._draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._file = os.fdopen(descriptor, "wb")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED)
        self._digests: dict[str, str] = {}
        self._payload_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        self._draft.unlink(missing_ok=True)

    def add(self, name: str, content: bytes) -> None:
        """Files are kept in the order in which they are added."""
        info = zipfile.ZipInfo(name, _FIRST_DAY)
        info.create_system = 3  # Unix, wherever this runs
        info.external_attr = (stat.S_IFREG | 0o644) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(info, content)
        self._digests[name] = hashlib.sha256(content).hexdigest()
        if name.startswith("data/"):
            self._payload_bytes += len(content)

    def seal(self, info: Iterable[tuple[str, str]], sign: Callable[[str], str]) -> None:
        """Adds what makes the files a bag, signed, and puts it at its path.

        `info`: lines of bag-info.txt; `sign`: gives the signed note over a manifest of tag files.
        """
        payload = sorted(it for it in self._digests if it.startswith("data/"))
        lines = [f"{name}: {value}" for name, value in info]
        lines.append(f"Payload-Oxum: {self._payload_bytes}.{len(payload)}")
        self.add("bagit.txt", BAG_DECLARATION)
        self.add("bag-info.txt", "".join(f"{it}\n" for it in lines).encode())
        self.add("manifest-sha256.txt", self._manifest(payload).encode())
        self.add("manifest.note", sign(self._manifest(self._tags())).encode())
        self.add("tagmanifest-sha256.txt", self._manifest(self._tags()).encode())
        self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._draft.replace(self._path)

    def _tags(self) -> list[str]:
        return sorted(it for it in self._digests if not it.startswith("data/"))

    def _manifest(self, names: Iterable[str]) -> str:
        return "".join(f"{self._digests[it]}  {it}\n" for it in names)
