"""Changes parts of `alerts.toml` as a person would by hand: all else, comments too, stays.

A change is a new text, which the code that reads the file has to take; nothing is written before.
"""

import contextlib
import copy
import difflib
import os
import stat
import threading
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from pipeline.errors import CallerError, OperatorError
from pipeline.files.disk import not_writable, write_whole
from pipeline.texts import names_person
from pipeline.written import read_small

RECIPIENTS, ROUTES, HOURS = "recipients", "routes", "hours"
_WRITING: Final = threading.Lock()
Place = tuple[str, str | int] | tuple[str]
"""A table of the file: `("recipients", "ana")`, `("routes", 0)` or `("hours",)`."""


class Overtaken(CallerError):
    """Somebody has changed the file since the change was begun. `difference`: how, line by line.
    `now`: what the file says."""

    def __init__(self, path: Path, was: str, now: str) -> None:
        super().__init__(
            "The change was not made",
            f"somebody has changed {path.name} meanwhile",
            "look at the difference, and make the change again",
        )
        lines = difflib.unified_diff(
            was.splitlines(), now.splitlines(), "before", "now", lineterm="", n=1
        )
        self.difference, self.now = "\n".join(lines), now


def tables(text: str) -> dict[str, Any]:
    """What the file says, as TOML has it; nothing where it is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def table(said: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """What one table of the file says; empty where it has none."""
    found: Any = said.get(place[0], {})
    with contextlib.suppress(KeyError, IndexError):
        found = found[place[1]] if len(place) > 1 else found
        return dict(found)
    return {}


def named(place: Place) -> str:
    """A table's name, as faults of the file have it: routes are counted from 1. One that looks like
    an address is left out, since entries hold none."""
    words = (str(it + 1) if isinstance(it, int) else it for it in place)
    return ".".join("…" if names_person(it) else it for it in words)


def changed(text: str, place: Place, values: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The file's text with other values at a place, and the names of what changed there. A value
    that is None is taken out. Raises `CallerError` where the file is written in a way that only a
    person can change."""
    before = tables(text)
    known = table(before, place)
    new = {key: it for key, it in values.items() if it != known.get(key)}
    if not new:
        return text, []
    after = _with(before, place, known | new)
    draft = _in_place(text, place, new) if known else _at_the_end(text, place, new)
    return _as_meant(draft, after), [f"{named(place)}.{key}" for key in new]


def removed(text: str, place: Place) -> tuple[str, list[str]]:
    """The file's text without a table, and its name. Raises as `changed` does."""
    document = _parsed(text)
    after = copy.deepcopy(tables(text))
    for said in (document, after):
        del said[place[0]][place[1]]  # type: ignore[misc]
    return _as_meant(document.as_string(), _without_empty(after)), [named(place)]


def cannot_write(path: Path) -> str | None:
    """Why the file cannot be written here; None where it can. One of another user is not written:
    ours in its place might be closed to whoever reads it."""
    path = path.resolve()
    try:
        status = path.stat()
    except OSError as error:
        return f"{path.name} cannot be read: {error.strerror}"
    if status.st_uid != os.geteuid() or status.st_gid != os.getegid():
        return f"{path.name} belongs to another user or group"
    if not status.st_mode & stat.S_IWUSR:
        return f"{path.name} is marked as read-only"
    return not_writable(path.parent)


def write(path: Path, was: str, text: str, note: Callable[[str], None]) -> None:
    """Replaces the file whole, unless it no longer says `was`: then raises `Overtaken`. `note` is
    called with "changed" before that, and with "not_written" where it failed, which raises
    `OperatorError`."""
    path = path.resolve()
    with _WRITING:
        now = read_small(path)
        if now != was:
            raise Overtaken(path, was, now)
        note("changed")
        try:
            write_whole(path, text.encode(), mode=stat.S_IMODE(path.stat().st_mode))
        except OSError as error:
            note("not_written")
            raise OperatorError(
                "The change was not written", f"{path}: {error.strerror}", "write it by hand"
            ) from None


def _with(said: Mapping[str, Any], place: Place, values: Mapping[str, Any]) -> dict[str, Any]:
    after: dict[str, Any] = copy.deepcopy(dict(said))
    kept = {key: it for key, it in values.items() if it is not None}
    if len(place) == 1:
        after[place[0]] = kept
    elif isinstance(place[1], int):
        routes = after.setdefault(place[0], [])
        routes[place[1] : place[1] + 1] = [kept]
    else:
        after.setdefault(place[0], {})[place[1]] = kept
    return _without_empty(after)


def _without_empty(said: dict[str, Any]) -> dict[str, Any]:
    return {key: it for key, it in said.items() if it not in ({}, [])}


def _in_place(text: str, place: Place, new: Mapping[str, Any]) -> str:
    document = _parsed(text)
    found: Any = document[place[0]]
    found = found[place[1]] if len(place) > 1 else found
    for key, value in new.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = _item(value)
    return document.as_string()


def _at_the_end(text: str, place: Place, new: Mapping[str, Any]) -> str:
    """A table that the file does not have yet."""
    name = place[0]
    if len(place) > 1 and isinstance(place[1], str):
        name += f".{tomlkit.key(place[1]).as_string()}"
    header = f"[[{name}]]" if name == ROUTES else f"[{name}]"
    lines = [f"{key} = {_item(it).as_string()}" for key, it in new.items() if it is not None]
    return f"{text.rstrip()}\n\n" * bool(text.strip()) + "\n".join([header, *lines]) + "\n"


def _item(value: Any) -> Any:
    """A value as a person would write it: tables in lists stand in one line."""
    if isinstance(value, list) and any(isinstance(it, dict) for it in value):
        items = tomlkit.array()
        for each in value:
            inline = tomlkit.inline_table()
            inline.update(each)
            items.append(inline)
        return items
    return tomlkit.item(value)


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise _by_hand(str(error)) from None


def _as_meant(draft: str, after: Mapping[str, Any]) -> str:
    """The new text, if it says what was meant, and all else as before."""
    if _without_empty(tables(draft)) != after:
        raise _by_hand("it is written in an unusual way")
    return draft


def _by_hand(why: str) -> CallerError:
    return CallerError("The file cannot be changed here", why, "change it with an editor")
