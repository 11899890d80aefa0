"""Says what is wrong with a value as it was written down: quotes, a comment or blanks around it,
which some readers of settings take away and others take for a part of it. Pure."""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

_QUOTES: Final = "\"'`\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"
_SECRET: Final = re.compile(r"[@:=]")
"""What an address with a password in it has."""
_COMMENT: Final = re.compile(r"\s#")
_COMMENT_ALONE: Final = re.compile(r"\s#(?=\s|$)")
_OF_A_SHELL: Final = re.compile(r"~(?=/|$)|\$\{?\w+\}?")


def misread(
    value: str,
    *,
    is_prose: bool = False,
    may_be_secret: bool = False,
    is_folder: Callable[[str], bool] | None = None,
) -> str | None:
    """What to say of a value that has something around it; None where nothing has, and for a value
    of blanks alone.

    `is_prose`: a name of yours, in which `#1` and a quotation at one end are words.
    `may_be_secret`: it is not repeated where it looks like an address with a password. `is_folder`,
    of a path: whether a folder is there, since a folder may be called `a #1`.
    """
    if not value.strip():
        return None
    if any(unicodedata.category(it) == "Cc" for it in value.strip()):
        return "has a line break or another control character in it: write it on one line"
    meant, around = value, dict[str, None]()
    while (shorter := _without(meant, is_prose, is_folder)) is not None:
        what, meant = shorter
        around[what] = None
    if around:
        said = " and ".join(around)
        return f"has {said} around it, {_TAKEN_FOR_IT}: {_write(meant, around, may_be_secret)}"
    if is_folder is not None and (shells := _OF_A_SHELL.match(value)):
        return (
            f"begins with {shells[0]}, which a shell alone replaces: write the whole path, or"
            f" ./{shells[0]} where that is a name"
        )
    return None


_TAKEN_FOR_IT: Final = "taken for a part of it by what set it"


def _write(meant: str, around: dict[str, None], may_be_secret: bool) -> str:
    if not meant:
        return "leave it out where nothing is meant"
    if "@" in meant or (may_be_secret and _SECRET.search(meant)):
        return "write it without them (it is not repeated here, since it may hold a password)"
    elsewhere = ", and the comment on a line of its own" if "a comment" in around else ""
    return f"write {meant} alone{elsewhere}"


def _without(
    value: str, is_prose: bool, is_folder: Callable[[str], bool] | None
) -> tuple[str, str] | None:
    """(what was around a value, the value without it); None where nothing is."""
    if (bare := _stripped(value)) != value:
        return "blanks", bare
    for found in (_COMMENT_ALONE if is_prose else _COMMENT).finditer(value):
        rest = value[found.start() :]
        folder = value[: found.start()] + rest.partition("/")[0]
        if not (is_folder is not None and "/" in rest and is_folder(folder)):
            return "a comment", value[: found.start()]
    first, last = value[:1], value[-1:]
    is_quoted = len(value) > 1 and first in _QUOTES and last in _QUOTES
    if is_quoted or (not is_prose and value and (first in _QUOTES or last in _QUOTES)):
        inner = value[1:] if first in _QUOTES else value
        return "quotes", inner[:-1] if inner[-1:] in _QUOTES and inner else inner
    return None


def _stripped(value: str) -> str:
    """The value without blanks and signs that nobody sees at its ends."""
    first, last = 0, len(value)
    while first < last and _is_blank(value[first]):
        first += 1
    while last > first and _is_blank(value[last - 1]):
        last -= 1
    return value[first:last]


def _is_blank(sign: str) -> bool:
    return sign.isspace() or unicodedata.category(sign) in ("Cc", "Cf")
