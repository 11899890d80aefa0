"""Reads files that a person writes, however their editor saved them.

Every such file is read here: other bytes than a text are refused with the reason. What a format
says of a line is checked by the reader of that format, with the number that `lines_in` gives.
"""

import codecs
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from pipeline import plain
from pipeline.errors import FileBarred, SettingsError, Unreadable, WrongUsage

_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
"""As editors count lines; Python's `splitlines` also ends one at characters that stand in lines."""
_MARK: Final = "\ufeff"
AS_UTF_8: Final = "save it as UTF-8"


class Line(NamedTuple):
    """A line of a file that says something, without blanks around it."""

    number: int
    text: str


def mark_of(data: bytes) -> str | None:
    """The byte order mark before a text, by the encoding that it shows; None without one."""
    if data.startswith(codecs.BOM_UTF8):
        return "UTF-8"
    return "UTF-16" if data.startswith(_UTF_16) else None


def text_in(data: bytes) -> str:
    """The text that a person wrote, without a byte order mark, its lines ended by `\\n`: in UTF-8,
    or in UTF-16 that says so by its mark. Raises `Unreadable`: no other encoding is guessed."""
    is_utf_16 = mark_of(data) == "UTF-16"
    try:
        text = data.decode("utf-16" if is_utf_16 else "utf-8")
    except UnicodeDecodeError as error:
        if is_utf_16:
            raise Unreadable(f"it begins as UTF-16 and is not: {error.reason}") from None
        number = len(_LINE_END.findall(data[: error.start].decode("utf-8"))) + 1
        raise Unreadable(
            f"line {number} is not UTF-8: it holds the byte {data[error.start]:02X}, as a file in"
            f" Latin-1 or Windows-1252 does; {AS_UTF_8}"
        ) from None
    if "\0" in text:
        raise Unreadable(f"it holds NUL characters, as UTF-16 without a mark does; {AS_UTF_8}")
    return _LINE_END.sub("\n", text.removeprefix(_MARK))


def in_utf_8(data: bytes) -> bytes:
    """What a person wrote for others to read byte by byte, such as a payload: the same bytes in
    UTF-8 without a mark, line ends and all. Raises `Unreadable` as `text_in` does."""
    text = text_in(data)
    if mark_of(data) == "UTF-16":
        return text.encode("utf-8")
    return data.removeprefix(codecs.BOM_UTF8)


def lines_in(text: str, *, has_comments: bool = False) -> Iterator[Line]:
    """The lines that say something. `has_comments`: whether lines that begin with `#` do not. A
    mark before a line comes from a file that was put behind another one."""
    for number, line in enumerate(_LINE_END.split(text), start=1):
        said = line.strip().removeprefix(_MARK).strip()
        if said and not (has_comments and said.startswith("#")):
            yield Line(number, said)


def read_small(path: Path) -> str:
    """The text of a small file that the settings name, such as a secret's. Raises
    `SettingsError`."""
    return _as_setting(path, text_in)


def read_given(path: Path) -> str:
    """The text of a small file that a command is given, such as a checkpoint; or `WrongUsage`."""
    try:
        return read_small(path)
    except SettingsError as error:
        raise WrongUsage(
            f"{path} cannot be read", error.why, "check the path and the file"
        ) from None


def read_unmarked(path: Path, reader: str) -> str:
    """The text of a small file that another program reads as well, which takes neither a byte order
    mark nor UTF-16. `reader`: what that program is. Raises `SettingsError`."""

    def unmarked(data: bytes) -> str:
        if (mark := mark_of(data)) is not None:
            raise Unreadable(
                f"it begins with the byte order mark of {mark}, with which {reader} cannot read it;"
                f" {AS_UTF_8} without a mark"
            )
        return text_in(data)

    return _as_setting(path, unmarked)


def _as_setting(path: Path, text_of: Callable[[bytes], str]) -> str:
    try:
        return text_of(plain.read(path))
    except PermissionError as error:
        raise unreadable(path, str(error), FileBarred) from None
    except (OSError, Unreadable) as error:
        raise unreadable(path, str(error)) from None


def unreadable(path: Path, why: str, kind: type[SettingsError] = SettingsError) -> SettingsError:
    """What is said of such a file that cannot be read."""
    return kind(
        f"The file {path} cannot be read",
        why,
        "check the path in the settings, the file and its permissions",
    )
