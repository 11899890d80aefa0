"""The tables of an inbox, as ordered steps: a new inbox takes them all, an older one the rest.

A step is a file `ENGINE_N.sql` beside this one. A step that a release has shipped is never changed.
Most steps only add: a release that does not know one goes on beside it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple, NoReturn

import apsw

from pipeline.errors import InboxMissing, InboxNewer, InboxUnavailable
from pipeline.files.kinds import content_of
from pipeline.inbox.schema.rows import dictionary
from pipeline.log.entries import Identity
from pipeline.release import release

Engine = Literal["sqlite", "postgres"]

VERSION: Final = 1
"""Of the tables that this release reads and writes: the number of the last step."""
BREAKS: Final = frozenset({1})
"""Steps beside which no release goes on that does not know them: each is the first of a major
version. Every other step only adds: tables, indexes, and columns that have a default."""
STANDS: Final = "stands"
"""The row of `meta` that says where an inbox stands (pipeline/inbox/copies.py)."""
NOWHERE: Final = b""

_NEEDS: Final = re.compile(rb"([0-9]{1,9}) ([0-9]{1,9}) ([0-9a-z.+-]{1,40})")


class Tables(NamedTuple):
    """What an inbox says of its tables."""

    version: int
    needs: bytes | None = None
    """The row `needs` of its `meta`, as `needs` makes it."""

    @property
    def least(self) -> tuple[int, str]:
        """The oldest version that a release has to know to use them, and the release that has made
        them; the empty text where nothing says so: then it is this version."""
        said = _NEEDS.fullmatch(self.needs or b"")
        if said is None or int(said[1]) != self.version:
            return self.version, ""
        return int(said[2]), said[3].decode()


def needs(version: int) -> bytes:
    """What an inbox of a version says of who may use it: that version, the oldest that a release
    has to know, and this release, which makes it."""
    least = max(number for number in BREAKS if number <= version)
    return f"{version} {least} {release()}".encode()


def only_add(numbers: Iterable[int]) -> bool:
    """Whether those who know none of these steps go on beside them."""
    return BREAKS.isdisjoint(numbers)


def step(engine: Engine, number: int) -> str:
    """The SQL of one step, from 1."""
    return (Path(__file__).parent / f"{engine}_{number}.sql").read_text(encoding="utf-8")


def steps(engine: Engine, *, until: int) -> str:
    """The SQL of the steps to a version, in order."""
    return "\n".join(step(engine, number) for number in range(1, until + 1))


def meta_of(identity: Identity, version: int) -> dict[str, bytes]:
    """The rows of `meta` in a copy of a log; one that begins says where it stands. The copy of the
    dictionary is for whoever reads the tables without this release: nothing here reads it, since
    somebody could change it."""
    return {
        "log": identity.log.encode(),
        "log_key": identity.log_key,
        "dictionary": dictionary(),
        "needs": needs(version),
        STANDS: NOWHERE,
    }


def statements(sql: str) -> Iterator[str]:
    """The statements of a script, one by one, so that they can share a transaction,
    and each is asked for by itself."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if apsw.complete(statement):
            yield statement
            statement = ""


def check(place: str, found: Tables, known: int | None = None) -> None:
    """Raises `InboxUnavailable` unless whoever knows a version, by default this release's, can use
    the tables of an inbox: they have that version, or further steps that only add.

    `place`: its name in the message.
    """
    known = VERSION if known is None else known
    if not found.least[0] <= known <= found.version:
        refuse(place, found, known)


def refuse(place: str, found: Tables, known: int | None = None) -> NoReturn:
    """Raises `InboxUnavailable` for an inbox that has other tables; it says which release fits."""
    known = VERSION if known is None else known
    raise InboxUnavailable(
        f"The inbox {place} is not used",
        f"its tables have version {found.version}, and this release works with version {known}",
        "run `prazo migrate`; with --dry-run it says what has to be stopped for that"
        if found.version < known
        else _newer(found),
    )


def require_whole(found: Tables, what: str) -> None:
    """Raises `InboxNewer` where a newer release has added tables or columns to an inbox: what
    stands there, this one does not know. `what`: what was not done."""
    if found.version > VERSION:
        raise InboxNewer(
            what,
            f"the inbox has tables of version {found.version}, and this release knows those of"
            f" version {VERSION}",
            _newer(found),
        )


def _newer(found: Tables) -> str:
    maker = found.least[1]
    return f"use Prazo {maker} or newer" if maker else "use the release of Prazo that wrote it"


def identity(place: str, meta: Mapping[str, bytes]) -> tuple[str, bytes]:
    """The log's name and the key of its leaves, as an inbox's `meta` says.

    Raises `InboxUnavailable` where that lacks one: nothing could be recorded in its name.
    """
    with suppress(KeyError, UnicodeDecodeError):
        return meta["log"].decode(), meta["log_key"]
    raise InboxUnavailable(
        f"The inbox {place} is not used",
        "it does not say which log it holds, or with which key its leaves are made",
        "put a backup back with `prazo restore`",
    )


def unreadable(path: Path, error: Exception) -> InboxUnavailable | None:
    """What to say of a file that is not a database, where an error of SQLite says so; None where it
    says anything else."""
    if not isinstance(error, apsw.NotADBError):
        return None
    if (content := content_of(path)) is not None:
        return other(path, content)
    return InboxUnavailable(
        f"The inbox {path} cannot be read",
        "it is not an SQLite database, or its beginning is damaged",
        "set PRAZO_INBOX to the inbox's file; if this was it, `prazo restore DIR` puts it back from"
        " a backup",
    )


def other(path: Path, content: str) -> InboxUnavailable:
    """What to say of a file that is something else than an inbox."""
    return InboxUnavailable(
        f"{path} is not an inbox",
        f"it is {content}",
        "set PRAZO_INBOX to the inbox's file, or to a path where nothing is yet",
    )


def missing(path: Path) -> InboxMissing:
    """What to say where there is no file."""
    return InboxMissing(
        f"There is no inbox at {path}",
        "the file does not exist" if path.is_absolute() else f"{Path.cwd()} has no such file",
        "set PRAZO_INBOX to the file that `prazo receive` writes, or start that first",
    )
