"""What a file is, and whether this user may use it."""

import os
from pathlib import Path
from typing import Final

DUCKDB: Final = "a DuckDB database"
_SQLITE: Final = b"SQLite format 3\0"
_SQLITE_HEADER: Final = 100
_APPLICATION_ID: Final = slice(68, 72)
_BEGINNINGS: Final = {
    _SQLITE: "an SQLite database, such as an inbox",
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


def is_barred(path: Path) -> bool:
    """Whether something is there that this user may not both read and write."""
    if not os.access(path, os.F_OK):
        return False
    return not os.access(path, os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0))


def application_of(path: Path) -> int | None:
    """Of which program an SQLite database is, as its file says; None where it cannot be read, or
    is something else."""
    try:
        with path.open("rb") as file:
            header = file.read(_SQLITE_HEADER)
    except OSError:
        return None
    if len(header) < _SQLITE_HEADER or not header.startswith(_SQLITE):
        return None
    return int.from_bytes(header[_APPLICATION_ID])


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
