"""Reads the variables of settings, from the environment and a `.env` file, in this place alone;
checks values that name places: paths, addresses of inboxes, headers, time zones; says which setting
a path belongs to.

An empty value, which a variable that is not set leaves, is refused: as a path it would mean the
folder that Prazo runs in.
"""

import contextlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator

from pipeline import plain
from pipeline.errors import SettingsError, Unreadable
from pipeline.hosts import in_ascii
from pipeline.written import text_in

PREFIX: Final = "PRAZO_"
HOME: Final = f"{PREFIX}HOME"
"""The variable of the folder in which `.env` and, by its defaults, all that is kept lies. It is one
of the environment alone."""
_LIKE_A_CONNECTION: Final = re.compile(
    r"^\s*[A-Za-z][A-Za-z0-9+.-]+:"  # any scheme, or half of one
    r"|^\s*postgres[a-z]*[:/]*//"
    r"|://|@"
    r"|\b(?:password|host|hostaddr|dbname|sslmode)\s*=",
    re.IGNORECASE,
)
"""What a mistyped address of a database looks like, and no path of a file."""
_POSTGRESQL: Final = re.compile(
    r"postgres(?:ql)?://"
    r"(?:[^/?@]*@)?"  # the user and the password, in which these three are written as %2F %3F %40
    r"(?:_HOST(?:,_HOST)*)?"
    r"(?:[/?][^@]*)?".replace("_HOST", r"(?:\[[^]/?@]*\]|[^][:,/?@]*)(?::[0-9]*)?")
)
"""An address in which no part of a password can be taken for a host, a port or a database."""

DATABASE_SUFFIXES: Final = ("", "-wal", "-shm", ".wal")
"""What SQLite and DuckDB add to the name of a database for the files that belong to it."""
HEAD_SUFFIX: Final = ".head"
_BESIDE: Final = (*DATABASE_SUFFIXES, HEAD_SUFFIX)
_WRITTEN: Final = (
    *("inbox", "ledger", "artifacts"),
    *("head_file", "signing_key_file", "taxpayer_key_file"),
)
"""The settings of files and folders that Prazo makes, and writes."""

_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""RFC 9110, section 5.6.2."""


def _path_or_postgresql(location: str) -> str:
    """Refuses a mistyped URL. Taken for a path, it would become a folder with the password in its
    name; taken for a URL, a part of the password could become the host, which messages show."""
    if location.startswith(("postgresql://", "postgres://")):
        if not _POSTGRESQL.fullmatch(location):
            raise ValueError(
                "is not like postgresql://user@host:5432/database (the value is not repeated"
                " here, since it may hold a password): the only @ stands before the host, and"
                " a port has digits alone; in a password, write %40 for @, %2F for / and"
                " %3F for ?"
            )
        hosts = re.split("[/?]", location.partition("//")[2])[0].rpartition("@")[2]
        for host in hosts.split(","):
            if not host.isascii():
                named = in_ascii(host.partition(":")[0])
                raise ValueError(f"has letters outside ASCII: write its host as {named}")
        return location
    if _LIKE_A_CONNECTION.search(location):
        raise ValueError(
            "is not the path of a file, in which no @ may be, and does not start with"
            " postgresql:// either (the value is not repeated here, since it may hold a"
            " password)"
        )
    _names_no_folder(_names_a_file(Path(location)), "inbox.db")
    return location


def _names_a_file(path: Path) -> Path:
    if not path.name.strip():
        raise ValueError("names no file: leave it out where nothing is meant")
    return path


def _names_no_folder(path: Path, name: str) -> Path:
    """`name`: what the file could be called."""
    with contextlib.suppress(OSError):  # whoever opens it says what is wrong with that path
        if path.is_dir():
            raise ValueError(f"{path} is a folder: name a file in it, such as {path / name}")
    return path


def _duckdb_can_keep(path: Path) -> Path:
    """Refuses what DuckDB cannot open: it makes the name of its WAL from what stands before a `?`,
    wherever that is, and takes a backslash for a slash. A link does not help, as it is followed."""
    shown = path.absolute()
    if not {"?", "\\"}.isdisjoint(f"{shown}{shown.resolve()}"):
        raise ValueError(
            f"{shown} has a ? or a backslash in its name or in a folder's, which DuckDB takes for"
            " something else: name a file in a folder without one"
        )
    return path


def _names_a_folder(path: Path) -> Path:
    with contextlib.suppress(OSError):  # as above
        if path.exists() and not path.is_dir():
            raise ValueError(f"{path} is a file: name a folder")
    return path


def _not_empty(given: Any) -> Any:
    if isinstance(given, str) and not given.strip():
        raise ValueError("is empty: leave it out where nothing is meant")
    return given


def _names_a_header(name: str) -> str:
    if not _HEADER.fullmatch(name):
        raise ValueError(f"{name!r} cannot be a header's name, such as X-Forwarded-User")
    return name


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{name!r} is not an IANA time zone, such as America/Sao_Paulo") from None
    return name


InboxPlace = Annotated[str, AfterValidator(_path_or_postgresql)]
"""The path of a file, or the address of a PostgreSQL database."""
FilePath = Annotated[Path, AfterValidator(_names_a_file)]
LedgerPath = Annotated[
    FilePath,
    AfterValidator(partial(_names_no_folder, name="ledger.duckdb")),
    AfterValidator(_duckdb_can_keep),
]
HeadPath = Annotated[FilePath, AfterValidator(partial(_names_no_folder, name="ledger.head"))]
FolderPath = Annotated[Path, BeforeValidator(_not_empty), AfterValidator(_names_a_folder)]
HeaderName = Annotated[str, AfterValidator(_names_a_header)]
"""A header of an HTTP request. With a name that no request can carry, every request would be
turned away."""
Zone = Annotated[str, AfterValidator(_known_zone)]
"""The name of an IANA time zone."""


left_out: Final[set[str]] = set()
"""Variables of other programs that were set, and that `leave_out_key_logs` took away."""


def leave_out_key_logs() -> None:
    """Takes the variables out of this process's environment that have TLS libraries write down keys
    that decrypt its connections: those of libraries that make contexts of their own, too."""
    for name in ("SSLKEYLOGFILE", "sslkeylogfile"):
        if os.environ.pop(name, None) is not None:
            left_out.add(name)


def go_home() -> None:
    """Goes to the folder that `PRAZO_HOME` names, from which all relative paths count, in the files
    of settings, too; stays where it is unset. Raises `SettingsError` where there is none."""
    if (home := os.environ.get(HOME)) is None:
        return
    try:
        folder = Path(_not_empty(home)).absolute()
        os.chdir(folder)
    except (ValueError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise SettingsError(
            f"{HOME} names no folder that can be used: {home!r}",
            str(why),
            "make the folder, or let the variable name another",
        ) from None
    os.environ[HOME] = str(folder)  # for programs that this one starts, in whatever folder


def refuse_elsewhere() -> None:
    """Raises `ValueError` where this program is not in the folder that `PRAZO_HOME` names: it would
    begin another log."""
    home = os.environ.get(HOME)
    if home is not None and not (Path(home).is_dir() and Path(home).samefile(os.curdir)):
        raise ValueError(
            f"{HOME} is {home!r}, and this program runs in {Path.cwd()}: let it call"
            " pipeline.places.go_home() first"
        )


def variables() -> dict[str, str | None]:
    """Every variable of ours, whatever its case, by its name in capitals: of the environment, else
    of a `.env` file in the folder that Prazo runs in. None: a name in the file without a `=`.

    Raises `ValueError` for a file that cannot be read to its end.
    """
    given = {name: it for name, it in os.environ.items() if name != HOME}
    found = _capitals(_said_in(Path(".env"))) | _capitals(given)
    return {name: value for name, value in found.items() if name.startswith(PREFIX)}


def said_where() -> dict[str, str]:
    """Where each variable of ours is set, in words. Raises as `variables` does."""
    file, given = Path(".env").absolute(), _capitals(os.environ)
    return {name: "the environment" if name in given else str(file) for name in variables()}


def _capitals(variables: Mapping[str, str | None]) -> dict[str, str | None]:
    return {name.upper(): value for name, value in variables.items()}


def _said_in(file: Path) -> dict[str, str | None]:
    """What a `.env` file says, by name; nothing where there is none. Raises `ValueError` where it
    cannot be read, or a line of it that is about a variable of ours: without that line a default
    would be in force, such as deliveries that nobody authenticates."""
    try:
        text = text_in(plain.read(file))
    except FileNotFoundError:
        return {}
    except OSError as error:  # a folder, too: so a container mounts a file that is not there
        raise ValueError(f"the {file} file cannot be read: {error.strerror}") from None
    except Unreadable as unreadable:
        raise ValueError(f"the {file} file cannot be read: {unreadable.what}") from None
    from dotenv import dotenv_values  # most services are given an environment
    from dotenv.parser import parse_stream

    for line in parse_stream(io.StringIO(text)):
        name = (line.key or "").upper()
        is_other = name.startswith(PREFIX[:-1]) and not name.startswith(PREFIX)  # PRAZO-INBOX=
        if is_other or (line.error and PREFIX[:-1] in line.original.string.upper()):
            raise ValueError(
                f"line {line.original.line} of the {file} file is not like {PREFIX}NAME=value, with"
                " both quotes or none (it is not repeated here, since it may hold a password)"
            )
    return dotenv_values(stream=io.StringIO(text))


def head_beside(ledger: Path) -> Path:
    """Where the keeper's newest head is left, unless a setting names another place."""
    return ledger.with_name(f"{ledger.name}{HEAD_SUFFIX}")


def named_by(settings: Iterable[tuple[str, Any]], path: Path) -> str | None:
    """The setting, such as `PRAZO_INBOX`, that names `path`, or names the file to which a file at
    `path` belongs, as a WAL to its database. None where no setting does."""
    place = _place(path)
    for name, named in _paths(settings):
        if place in _places(named):
            return _shown(name)
    return None


def named_twice(settings: Iterable[tuple[str, Any]]) -> list[str]:
    """A message for each file that Prazo writes and another setting names, too: the one would
    replace the other, or could not be read as what it should be."""
    paths = dict(_paths(settings))
    paths.setdefault("head_file", head_beside(paths["ledger"]))
    stands = {name: _places(path, ("",)) for name, path in paths.items()}
    wrong = []
    for number, name in enumerate(_WRITTEN):
        mine = {f"{it}{suffix}" for it in stands.get(name, ()) for suffix in DATABASE_SUFFIXES}
        for other in stands.keys() - _WRITTEN[: number + 1]:
            if not mine.isdisjoint(stands[other]):
                wrong.append(
                    f"{_shown(name)} and {_shown(other)} name one place, {paths[other]}: what Prazo"
                    " writes there needs a place of its own"
                )
    return wrong


def written(settings: Iterable[tuple[str, Any]]) -> list[Path]:
    """The files that Prazo makes and writes by these settings."""
    paths = dict(_paths(settings))
    paths.setdefault("head_file", head_beside(paths["ledger"]))
    return [paths[it] for it in _WRITTEN if it in paths and it != "artifacts"]


def _paths(settings: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Path]]:
    for name, value in settings:
        named = Path(value) if name == "inbox" and "://" not in value else value
        if isinstance(named, Path):
            yield name, named


def _shown(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _places(named: Path, beside: tuple[str, ...] = _BESIDE) -> set[str]:
    """The places of what a setting names, and of the files that belong to it."""
    stands = {_place(named), str(named.resolve())}  # a link is a place of its own
    return {f"{place}{suffix}" for place in stands for suffix in beside}


def _place(path: Path) -> str:
    """Where a file would be put: by the folder that its links lead to, under the last name."""
    absolute = path.absolute()
    return str(absolute.parent.resolve() / absolute.name)
