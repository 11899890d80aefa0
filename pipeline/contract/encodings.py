"""Reads bytes that are not in UTF-8, by the encoding that somebody names. No I/O."""

import codecs
from collections.abc import Mapping
from typing import Final

from pipeline.errors import Unreadable

UTF_16: Final = "utf-16"
_ALSO: Final[Mapping[str, tuple[str, ...]]] = {
    "latin-1": ("latin1", "iso-8859-1", "iso8859-1", "iso-latin-1", "l1"),
    "windows-1252": ("windows1252", "cp1252", "cp-1252", "1252", "ansi"),
    UTF_16: ("utf16", "utf-16-le", "utf-16le", "utf-16-be", "utf-16be", "unicode"),
}
"""Encodings, each with its further names."""
ENCODINGS: Final = tuple(_ALSO)


def encoding_named(name: str) -> str | None:
    """The one of `ENCODINGS` that somebody means, however they spell it."""
    spelled = name.strip().lower().replace("_", "-")
    return next((it for it, others in _ALSO.items() if spelled in (it, *others)), None)


def decoded(data: bytes, encoding: str) -> str:
    """The text in `data`, without a byte order mark; raises `Unreadable` where it is none in that
    encoding. `encoding`: one of `ENCODINGS`. UTF-16 says by its mark which byte of two comes first;
    without one the text is taken to begin with a character of ASCII, as JSON does."""
    try:
        if encoding == UTF_16:
            return _utf_16(data)
        if _is_utf_8(data):
            raise Unreadable(f"not {encoding}: it is UTF-8 as it stands")
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unreadable(f"not {encoding}: {error.reason} at byte {error.start}") from None


def _utf_16(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    return data.decode("utf-16-be" if data[:1] == b"\0" else "utf-16-le")


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
