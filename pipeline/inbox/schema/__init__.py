"""The tables of an inbox, as ordered steps: a new inbox takes them all, an older one the rest.

A step is a file `ENGINE_N.sql` beside this one. A step that a release has shipped is never changed.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import apsw

from pipeline.errors import InboxMissing, InboxUnavailable
from pipeline.files.kinds import content_of
from pipeline.inbox.schema.rows import dictionary
from pipeline.log.entries import Identity

Engine = Literal["sqlite", "postgres"]

VERSION: Final = 1
"""Of the tables that this release reads and writes: the number of the last step."""


def step(engine: Engine, number: int) -> str:
    """The SQL of one step, from 1."""
    return (Path(__file__).parent / f"{engine}_{number}.sql").read_text(encoding="utf-8")


def steps(engine: Engine, *, until: int) -> str:
    """The SQL of the steps to a version, in order."""
    return "\n".join(step(engine, number) for number in range(1, until + 1))


def meta_of(identity: Identity) -> dict[str, bytes]:
    """The rows of `meta` in a new inbox of a log. The copy of the dictionary is for whoever reads
    the tables without this release: nothing here reads it, since somebody could change it."""
    return {
        "log": identity.log.encode(),
        "log_key": identity.log_key,
        "dictionary": dictionary(),
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


def check(place: str, found: int, expected: int | None = None) -> None:
    """Raises `InboxUnavailable` unless an inbox has the version that is expected, by default this
    release's.

    `place`: its name in the message.
    """
    expected = VERSION if expected is None else expected
    if found != expected:
        raise InboxUnavailable(
            f"The inbox {place} is not used",
            f"its tables have version {found}, and this release works with version {expected}",
            "stop everything that writes to it, then run `prazo migrate`"
            if found < expected
            else "use the release of Prazo that wrote it, or a newer one",
        )


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
