"""Files of a backup, or given to a command, that are none: pipes, devices, and tables that never
end."""

import os
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pipeline import plain
from pipeline.continuity import backup as backups
from pipeline.continuity import restore as restores
from pipeline.errors import InboxUnavailable, NotRestored, OperatorError
from pipeline.inbox import open_inbox
from pipeline.settings import Settings
from tests.audit.conftest import command, entries_alone
from tests.support.sqlite import opened
from tests.support.stores import settings_in

SECONDS = 5.0
"""Each of these hung for good, or until memory or a disk was full."""


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [pipe, endless])
@pytest.mark.parametrize("name", ["inbox.db", "inbox.db-wal", "keys/signing.key"])
def test_a_backup_of_which_a_file_is_a_pipe_or_a_device_is_refused_at_once(
    settings: Settings, tmp_path: Path, make: Callable[[Path], None], name: str
) -> None:
    saved = tmp_path / "saved"
    backups.backup(settings, saved, with_keys=True)
    make(saved / name)
    begun = time.monotonic()
    with pytest.raises(OperatorError, match="not a plain file"):
        restores.restore(settings_in(tmp_path / "elsewhere"), saved)
    assert time.monotonic() - begun < SECONDS
    with pytest.raises(OperatorError, match="not a plain file"):
        backups.backup(settings, saved, with_keys=True)


@entries_alone
@pytest.mark.parametrize("make", [pipe, endless])
def test_an_artifact_that_is_a_pipe_or_a_device_is_named_as_damaged(
    settings: Settings, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    saved = tmp_path / "saved"
    backups.backup(settings, saved)
    [first, _] = sorted((saved / "artifacts").glob("??/*"))
    make(first)
    done = restores.restore(settings_in(tmp_path / "elsewhere"), saved)
    assert "1 artifact is neither in the backup nor here" in done.notes
    assert [it for it in done.verdict.faults if first.name in it] != []
    if make is endless:  # a sound copy takes the link's place
        assert backups.backup(settings, saved).lacking == ()
    else:
        with pytest.raises(OperatorError, match="is there, and not a file"):
            backups.backup(settings, saved)


DEFINED = {
    "an endless view": "alter table entries rename to entries_; create view entries as"
    " with recursive n(i) as (select 1 union all select i + 1 from n) select i as seq from n;",
    "an endless view beside": "create view beside as"
    " with recursive n(i) as (select 1 union all select i + 1 from n) select i from n;",
    "a trigger": "create trigger t after insert on entries begin delete from checkpoints; end;",
    "a virtual table": "drop table heads; create virtual table heads using fts5(id, size, root);",
    "a generated column": "drop table heads; create table heads (id integer primary key,"
    " size integer, root blob generated always as (zeroblob(1000000)));",
}


@pytest.mark.parametrize("defined", DEFINED)
def test_a_backup_that_defines_more_than_tables_of_an_inbox_is_refused_before_a_row_is_read(
    settings: Settings, tmp_path: Path, defined: str
) -> None:
    saved = tmp_path / "saved"
    backups.backup(settings, saved)
    with closing(opened(saved / "inbox.db")) as foreign:
        foreign.execute(DEFINED[defined])
    begun = time.monotonic()
    for refused in (
        lambda: restores.restore(settings_in(tmp_path / "elsewhere"), saved),
        lambda: backups.backup(settings, saved),
    ):
        with pytest.raises((NotRestored, InboxUnavailable), match="is not as an inbox of version"):
            refused()
    assert time.monotonic() - begun < SECONDS
    assert not (tmp_path / "elsewhere" / "inbox.db").exists()


@pytest.mark.parametrize("make", [pipe, endless])
def test_what_a_command_is_given_is_read_from_plain_files_alone(
    settings: Settings, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    given = tmp_path / "given"
    package = tmp_path / "package.zip"
    package.write_bytes(b"")
    make(given)
    for asked in (
        ("verify", str(given)),
        ("verify", "--against", str(given)),
        ("verify", str(package), "--policy", str(given)),
        ("verify", str(package), "--archive", str(given)),
        ("submit", "p1", "--payload", str(given)),
        ("collect", str(given)),
        ("restore", str(tmp_path), "--against", str(given)),
        *((("ingest", str(given)),) if make is endless else ()),  # a pipe may hold a history
    ):
        begun = time.monotonic()
        done = command(settings, *asked)
        assert done.returncode in (1, 2), asked
        assert "Error" in done.stderr, asked
        assert time.monotonic() - begun < SECONDS, asked


def test_an_inbox_that_the_settings_name_must_be_a_plain_file(tmp_path: Path) -> None:
    for make in (pipe, endless):
        make(tmp_path / "inbox.db")
        with pytest.raises(InboxUnavailable, match="not a plain file"):
            open_inbox(tmp_path / "inbox.db")


def test_a_file_is_read_no_further_than_its_most_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert plain.read(path, 5) == b"12345"
    with pytest.raises(OSError, match="it is over 4 bytes"):
        plain.read(path, 4)
    shutil.rmtree(tmp_path)
    plain.require(path)  # where there is none
