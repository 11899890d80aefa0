"""The file of an inbox in SQLite: made at once, opened, whole without its WAL, and its version."""

import contextlib
import os
from contextlib import closing
from pathlib import Path
from typing import Final

import apsw

from pipeline import plain
from pipeline.errors import InboxUnavailable
from pipeline.files import disk
from pipeline.files.birth import birth_of
from pipeline.files.temporary import OwnFolder
from pipeline.inbox import schema
from pipeline.inbox.sqlite.connection import ERRORS, connect, one_row
from pipeline.log.entries import Identity

PAGE_BYTES: Final = 8192
"""Of a new inbox. Of pages of 4 KB, SQLite's own size, entries of 1.3 KB, as those are that are not
compressed, leave a third empty (docs/performance.md#size)."""
_BESIDE: Final = ("-wal", "-shm", "-journal")
APPLICATION_ID: Final = int.from_bytes(b"PRZO", "big")


def create(path: Path, identity: Identity, version: int, *, is_copy: bool) -> bool:
    """Makes the file under another name and then links it to its path: a crash leaves no
    half-made inbox, and if another process was faster, its inbox stays, and this is false."""
    is_first = False
    folder = path.parent
    disk.make_folder(folder)
    with OwnFolder(f".{path.name}.", folder) as aside:
        draft = aside / path.name
        # Bodies hold personal data. SQLite gives its WAL the mode of this file.
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(connect(draft.absolute().as_uri())) as connection:
            connection.execute(f"pragma page_size = {PAGE_BYTES}")
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = full")
            connection.execute(f"pragma application_id = {APPLICATION_ID}")
            tables = schema.steps("sqlite", until=version)
            connection.execute(f"begin; {tables} commit;")
            connection.execute(f"pragma user_version = {version}")
            connection.executemany(
                "insert into meta (name, value) values (?, ?)",
                schema.meta_of(identity, version).items(),
            )
            if not is_copy:
                connection.execute(
                    "update meta set value = ? where name = ?",
                    (birth_of(draft).encode(), schema.STANDS),
                )
            move_in_wal(connection)
        disk.sync(draft)
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
            is_first = True
    disk.sync(folder)  # the file's name must survive a power cut, as its bytes do
    return is_first


def uri_of(path: Path, *, is_at_rest: bool = False) -> str:
    """How SQLite opens an inbox: it never creates the file. Raises `OSError` where the file, or one
    that SQLite keeps beside it, is a pipe or a device, of which it would read without end.

    Beside it SQLite makes files by which those who use it hear of each other. A backup on a disk
    that is mounted read-only is read without them, if nothing of it stands in a WAL alone.
    """
    for suffix in ("", *_BESIDE):
        plain.require(path.with_name(f"{path.name}{suffix}"))
    uri, wal = path.absolute().as_uri(), path.with_name(f"{path.name}-wal")
    if not is_at_rest or os.access(path.parent, os.W_OK) or (wal.exists() and wal.stat().st_size):
        return f"{uri}?mode=rw"
    return f"{uri}?mode=ro&immutable=1"


def make_whole(path: Path) -> None:
    """Returns once an inbox's file alone holds all of it, on disk: what is still in its WAL would
    be lost where the file takes another name. Raises `InboxUnavailable` where it cannot be done,
    for want of room for example: SQLite says nothing of that when the inbox is closed.

    Only SQLite may open the file here: whoever closes a file ends all locks that the process has on
    it, and without them the next process to leave deletes the WAL that this one still uses."""
    try:
        with closing(connect(uri_of(path))) as connection:
            move_in_wal(connection)
    except ERRORS as error:
        raise InboxUnavailable(
            f"The inbox {path} is not whole",
            str(error),
            "make room on its disk, and see that nobody has the file open; then try again",
        ) from error


def move_in_wal(connection: apsw.Connection) -> None:
    """Moves the WAL's pages into the file and syncs it. Closing does so too, and fails in silence:
    what lies in a WAL is then no part of a file that takes another name."""
    connection.execute("pragma synchronous = full")
    row = one_row(connection, "pragma wal_checkpoint(truncate)")
    if row != (0, 0, 0):  # busy, pages in the WAL, pages of these that were moved
        raise OSError(f"its WAL could not be moved into it: {row}")


def tables_of(connection: apsw.Connection) -> schema.Tables:
    """What an inbox says of its tables. Who may use them is asked only where there is a doubt."""
    (version,) = one_row(connection, "pragma user_version")
    if version <= schema.VERSION:
        return schema.Tables(version)
    row = connection.execute("select value from meta where name = 'needs'").fetchone()
    return schema.Tables(version, row and row[0])


def tables_at(path: Path, connection: apsw.Connection) -> schema.Tables:
    """The same of a file, at its path; `InboxUnavailable` where it is something else."""
    (application,) = one_row(connection, "pragma application_id")
    if application != APPLICATION_ID:
        is_empty = path.stat().st_size == 0
        content = f"of another program ({application:#x}; expected {APPLICATION_ID:#x})"
        raise schema.other(path, "an empty file" if is_empty else f"an SQLite file {content}")
    return tables_of(connection)
