"""Who moves the write-ahead log of an SQLite inbox into its file, and when."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from pipeline import instants
from pipeline.inbox import leases
from pipeline.inbox.sqlite import inbox as sqlite_inbox
from pipeline.inbox.sqlite.inbox import TENDS, SqliteInbox
from tests.inbox.appender import appenders
from tests.inbox.drafts import note
from tests.support.sqlite import opened

MANY = 400
"""Commits: several times as many as go into the WAL before it is moved."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "inbox.db"


@pytest.fixture
def inbox(path: Path) -> Iterator[SqliteInbox]:
    with closing(SqliteInbox(path)) as made:
        yield made


def write(inbox: SqliteInbox, commits: int = MANY) -> None:
    for _ in range(commits):
        inbox.append([note(body=bytes(20_000))])


def test_an_inbox_that_one_process_writes_to_keeps_its_wal_small(
    inbox: SqliteInbox, path: Path
) -> None:
    write(inbox)
    assert path.stat().st_size > 6 * 2**20
    assert path.with_name("inbox.db-wal").stat().st_size < 12 * 2**20


def test_while_one_holds_the_lease_nobody_else_moves_anything(
    inbox: SqliteInbox, path: Path
) -> None:
    """Each process did, while others wrote: in SQLite before 3.51.3 pages could be lost."""
    with closing(SqliteInbox(path)) as other:
        length = sqlite_inbox.TEND_SECONDS * instants.SECOND
        held = leases.take(other, TENDS, "another process", length, leases.Spent())
        assert isinstance(held, leases.Lease)
        before = path.stat().st_size
        write(inbox, 200)
        for _ in range(3):  # anyone who only reads, and goes
            with closing(SqliteInbox(path)) as reader:
                assert reader.last()[0] == 200
        assert path.stat().st_size == before
        assert path.with_name("inbox.db-wal").stat().st_size > 4 * 2**20
        leases.release(other, held)
        write(inbox, 200)
        assert path.stat().st_size > before + 4 * 2**20


def test_a_holder_that_was_killed_is_followed_by_whoever_writes(path: Path) -> None:
    hurried = {"TEND_SECONDS": "2"}  # the writer would keep a core busy for ten
    with appenders(str(path), "a", "b", environment=hurried) as [first, second]:
        while not first.append(512)["seqs"] or not holder(path):
            pass
        number = holder(path)
        first.kill()
        later = instants.since_boot() + 2 * instants.SECOND
        while holder(path) == number:
            assert instants.since_boot() < later + 20 * instants.SECOND
            second.append(64)
        second.append(512)
        assert path.with_name("inbox.db-wal").stat().st_size < 128 * 2**20


def holder(path: Path) -> int:
    """The number of the lease that somebody has, or had last."""
    with closing(opened(path)) as connection:
        rows = connection.execute("select number from leases where name = ?", (TENDS,)).fetchall()
    return int(rows[0][0]) if rows else 0


def test_it_is_moved_while_nobody_writes(
    inbox: SqliteInbox, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write lock is held: a writer cannot begin the WAL at its start meanwhile."""
    asked: list[str] = []

    class Spy(apsw.Connection):
        def execute(self, sql: str, *given: Any, **how: Any) -> apsw.Cursor:
            if "wal_checkpoint" in sql:
                with closing(opened(path, busy_seconds=0)) as writer:
                    try:
                        writer.execute("begin immediate")
                        asked.append("free")
                    except apsw.BusyError:
                        asked.append("held")
            return super().execute(sql, *given, **how)

    write(inbox, 1)
    inbox._readers.drop_idle()
    monkeypatch.setattr(apsw, "Connection", Spy)
    write(inbox, 200)
    assert asked
    assert set(asked) == {"held"}
