"""Lists what no backup holds: settings and the files that they name, with where they are. A backup
has the list, by which a restore names those that are not where it puts back."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from pipeline import alert_rules, places
from pipeline.continuity.backup import key_files
from pipeline.errors import PrazoError
from pipeline.forward import endpoints
from pipeline.notices import rules
from pipeline.settings import Settings
from pipeline.texts import counted, printable
from pipeline.written import read_small

FILE: Final = "not-copied.json"
_FILES: Final = "_file"
_FOLLOWS: Final = ("head_file",)
"""The settings of files that are made again from what a backup holds."""
_NAME_MORE: Final[dict[str, Callable[[Path], list[Path]]]] = {
    "alerts_file": lambda path: alert_rules.load(path).secret_files(),
    "notices_file": lambda path: rules.load(path).secret_files(),
    "forward_file": lambda path: [it.secret_file for it in endpoints.load(path)],
}
"""The settings of files that name further ones."""


class Uncopied(NamedTuple):
    """What a backup lacks, and the name of the machine on which it is."""

    machine: str
    settings: dict[str, str]
    """Variable -> where it is set."""
    files: list[tuple[str, str]]
    """(variable that names it, or the file that does; its path)"""

    @classmethod
    def of(cls, settings: Settings, folder: Path, *, with_keys: bool) -> "Uncopied":
        """What a backup into a folder will lack. A file that cannot be read names no other."""
        keys = {it for it, kept in key_files(settings, folder) if with_keys or kept.exists()}
        files = [it for it in _files(settings) if it[1] not in keys and it[1].exists()]
        named = [(name, str(path.absolute())) for name, path in files]
        return cls(socket.gethostname(), places.said_where(), list(dict.fromkeys(named)))

    @classmethod
    def read(cls, folder: Path) -> "Uncopied | None":
        """What a backup says that it lacks; None for one of an earlier release."""
        with suppress(PrazoError, OSError, ValueError, KeyError, TypeError, AttributeError):
            said: dict[str, Any] = json.loads(read_small(folder / FILE))
            files = [(str(name), str(path)) for name, path in said["files"]]
            where = {str(name): str(it) for name, it in said["settings"].items()}
            return cls(str(said["machine"]), where, files)
        return None

    def content(self) -> bytes:
        """The file that goes into the backup."""
        return f"{json.dumps(self._asdict(), indent=1)}\n".encode()

    def said(self) -> str:
        """In one line, for whoever made the backup; empty where nothing is lacking."""
        parts = [
            f"{counted(len(self.settings), 'setting')}" if self.settings else "",
            f"{counted(len(self.files), 'file')} that settings name" if self.files else "",
        ]
        lacking = " and ".join(filter(None, parts))
        return f"Not in it, and named in {FILE}: {lacking}. Keep copies of them." if lacking else ""

    def not_here(self, settings: Settings) -> Iterator[str]:
        """Lines about what is not where the backup is put back."""
        named = ((name, it) for name, it in _files(settings) if name.startswith(places.PREFIX))
        here, given = dict(named), places.said_where()
        unset: dict[str, list[str]] = {}
        for name, where in sorted(self.settings.items()):
            if name not in given:
                unset.setdefault(where, []).append(name)
        for where, names in unset.items():
            yield printable(f"not set here: {', '.join(names)}; set on {self.machine} in {where}")
        for name, path in self.files:
            if not Path(path).exists() and not (name in here and here[name].exists()):
                yield printable(f"not here: the file {path} of {self.machine} ({name})")


def _files(settings: Settings) -> Iterator[tuple[str, Path]]:
    """(variable, or the file that names it; path) of each file that somebody wrote."""
    for name, path in settings:
        if not name.endswith(_FILES) or name in _FOLLOWS or not isinstance(path, Path):
            continue
        yield f"{places.PREFIX}{name.upper()}", path
        if name in _NAME_MORE:
            with suppress(PrazoError, OSError):
                yield from ((f"named in {path}", it) for it in _NAME_MORE[name](path))
