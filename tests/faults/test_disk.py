"""A disk that is slow, fails or fills up: what is acknowledged is on it, and stays."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from pipeline.continuity import backup as backups
from pipeline.continuity import restore as restores
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxUnavailable
from pipeline.inbox import open_inbox
from pipeline.inbox.sqlite import inbox as sqlite_inbox
from pipeline.inbox.sqlite.inbox import SqliteInbox
from tests import depth
from tests.faults.shim import SMALL_DISK_BYTES, FsyncShim
from tests.inbox.appender import Appender, appenders
from tests.inbox.drafts import note
from tests.support.postgres import PostgresServer
from tests.support.soundness import all_entries, assert_sound
from tests.support.stores import settings_in

ROOT = Path(__file__).parents[2]


def _seqs_in(path: Path) -> list[int]:
    inbox = open_inbox(path, create=False)
    entries = all_entries(inbox)
    assert_sound(entries, inbox.log)
    inbox.close()
    return [it.seq for it in entries]


# --- SQLite ----------------------------------------------------------------------------------


def test_sqlite_acknowledges_no_entry_before_the_sync_has_returned(
    tmp_path: Path, fsync_shim: FsyncShim
):
    with appenders(str(tmp_path / "inbox.db"), "a", environment=fsync_shim.env) as [appender]:
        assert appender.append()["seqs"] == [1]
        fsync_shim.delay(300)
        answer = appender.append()
        fsync_shim.heal()
    assert answer["seqs"] == [2]
    assert answer["seconds"] >= 0.3


def test_sqlite_makes_no_inbox_that_a_power_cut_could_take_back(
    tmp_path: Path, fsync_shim: FsyncShim
):
    fsync_shim.fail()
    path = tmp_path / "inbox.db"
    with appenders(str(path), "a", environment=fsync_shim.env) as [appender]:
        assert "cannot be opened" in appender.append()["failed"]
        assert not path.exists()
        fsync_shim.heal()
        assert appender.append()["seqs"] == [1]


def test_sqlite_acknowledges_nothing_while_syncs_fail_and_goes_on_when_they_work(
    tmp_path: Path, fsync_shim: FsyncShim
):
    path = tmp_path / "inbox.db"
    acknowledged: list[int] = []
    with appenders(str(path), "a", environment=fsync_shim.env) as [appender]:
        for _ in range(3):
            acknowledged += appender.append(3)["seqs"]
            fsync_shim.fail()
            for _ in range(2):
                assert "cannot be written" in appender.append(2)["failed"]
            fsync_shim.heal()
            acknowledged += appender.append(1)["seqs"]
    seqs = _seqs_in(path)
    assert len(acknowledged) == 12
    assert set(acknowledged) <= set(seqs)


@pytest.mark.parametrize("is_killed", [True, False], ids=["restarted", "same-process"])
def test_sqlite_appends_nothing_behind_pages_that_a_failed_sync_left_in_memory(
    tmp_path: Path, fsync_shim: FsyncShim, is_killed: bool
):
    """The system reports a failed sync once and counts the pages as clean from then on. SQLite
    finds their frames whole in the WAL, appends behind them and syncs without an error; then a
    power cut takes the frames that were never written, and with them all that lies behind."""
    path, wal = tmp_path / "inbox.db", tmp_path / "inbox.db-wal"
    first = Appender(str(path), "a", fsync_shim.env)
    assert first.append(3)["seqs"] == [1, 2, 3]
    synced = wal.stat().st_size
    fsync_shim.fail()
    assert "cannot be written" in first.append(20)["failed"]
    header, written = wal.read_bytes()[:32], wal.stat().st_size
    assert written > synced
    second = first
    if is_killed:
        first.kill()
        second = Appender(str(path), "b", fsync_shim.env)
    fsync_shim.heal()
    [seq] = second.append(1)["seqs"]

    after_power_cut = tmp_path / "after"
    after_power_cut.mkdir()
    shutil.copy(path, after_power_cut)
    frames = bytearray(wal.read_bytes())
    if frames[:32] == header:  # the same WAL: what was not synced then is lost now
        frames[synced:written] = bytes(written - synced)
    (after_power_cut / "inbox.db-wal").write_bytes(frames)
    second.kill()
    assert seq in _seqs_in(after_power_cut / "inbox.db")


def test_sqlite_loses_nothing_on_a_full_disk_and_goes_on_when_there_is_room(small_disk: Path):
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(3 * 2**20))
    inbox = SqliteInbox(small_disk / "inbox.db")
    acknowledged: list[int] = []

    def append_for_ever() -> None:
        while True:
            receipts = inbox.append([note(body=bytes(20_000))])
            acknowledged.extend(it.entry.seq for it in receipts if it.entry)

    for _ in range(2):  # it stays full
        with pytest.raises(InboxUnavailable, match="full"):
            append_for_ever()
    assert len(acknowledged) > 1
    assert [it.seq for it in all_entries(inbox)] == acknowledged

    ballast.unlink()
    [receipt] = inbox.append([note()])
    assert receipt.entry is not None
    entries = all_entries(inbox)
    assert_sound(entries, inbox.log)
    assert [it.seq for it in entries] == [*acknowledged, receipt.entry.seq]
    inbox.close()


def test_sqlite_goes_on_after_a_full_disk_though_a_reader_never_leaves_the_wal(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
):
    """As Litestream does: before, each delivery was refused until that was stopped."""
    monkeypatch.setattr(sqlite_inbox, "REPAIR_SECONDS", 0.1)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(3 * 2**20))
    path = small_disk / "inbox.db"
    inbox = SqliteInbox(path)
    inbox.append([note(body=b"first")])
    synced: list[str] = []
    sync = os.fsync

    def noted(file: Any) -> None:
        synced.append(Path(f"/proc/self/fd/{file.fileno()}").readlink().name)
        sync(file)

    with closing(apsw.Connection(str(path))) as reader:
        reader.execute("begin; select seq from entries")
        with pytest.raises(InboxUnavailable, match="full"):
            inbox.append([note(body=bytes(6 * 2**20))])
        ballast.unlink()
        before = [it.leaf for it in all_entries(inbox)]
        monkeypatch.setattr(os, "fsync", noted)
        [receipt] = inbox.append([note()])
        assert receipt.entry is not None
        assert synced == ["inbox.db-wal"]  # before SQLite wrote behind what it had
    entries = all_entries(inbox)
    assert_sound(entries, inbox.log)
    assert [it.leaf for it in entries] == [*before, receipt.entry.leaf]
    inbox.close()
    assert _seqs_in(path)[-1] == receipt.entry.seq


def test_sqlite_records_much_at_once_where_temporary_files_find_no_room(
    small_disk: Path, tmp_path: Path
):
    """On a full `/tmp`, groups of some forty deliveries were answered 503, no file of history was
    taken and no backup made, all for want of room on the inbox's disk, which had plenty. A probe
    writes one row, so `/readyz` saw nothing."""
    (small_disk / "ballast").write_bytes(bytes(SMALL_DISK_BYTES))
    append = """
import secrets, sys; from pathlib import Path
from pipeline.inbox.sqlite import inbox as sqlite_inbox
from pipeline.inbox.sqlite.inbox import SqliteInbox
from tests.inbox.drafts import note
inbox = SqliteInbox(Path(sys.argv[1]))
for _ in range(4):  # ids in no order: many pages of each index are another then
    ids = [secrets.token_hex(8) for _ in range(200)]
    inbox.append([note(process_id=it, seller_id=it, attempt_id=it) for it in ids])
inbox.close()
"""
    command = [sys.executable, "-c", append, tmp_path / "inbox.db"]
    environment = {**os.environ, "SQLITE_TMPDIR": str(small_disk)}  # read as the library begins
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    with closing(SqliteInbox(tmp_path / "inbox.db")) as inbox:
        assert inbox.last()[0] == 800


def test_sqlite_makes_nothing_on_a_disk_that_is_full_already(small_disk: Path):
    (small_disk / "ballast").write_bytes(bytes(4 * 2**20))
    with pytest.raises(InboxUnavailable, match="cannot be opened"):
        SqliteInbox(small_disk / "inbox.db")
    assert [it.name for it in small_disk.iterdir()] == ["ballast"]


def test_sqlite_makes_an_inbox_whole_or_none_whatever_room_there_is(small_disk: Path):
    """Where its WAL had room and its file had not, the file took its place without what was in the
    WAL, and was malformed for ever."""
    path, ballast = small_disk / "inbox.db", small_disk / "ballast"
    made, rooms = 0, range(0, 1600, depth.rounds(80, 40))
    for free in rooms:
        ballast.write_bytes(bytes(SMALL_DISK_BYTES - free * 1024))
        try:
            SqliteInbox(path).close()
        except InboxUnavailable:
            assert [it.name for it in small_disk.iterdir()] == ["ballast"]
        ballast.unlink()
        made += path.exists()
        with closing(SqliteInbox(path)) as inbox:
            assert inbox.append([note()])[0].entry is not None
        for file in small_disk.iterdir():
            file.unlink()
    assert 0 < made < len(rooms)


def test_a_restore_for_which_there_is_no_room_leaves_the_present_inbox(
    small_disk: Path, tmp_path: Path
):
    """The restored file was put into its place before its WAL was in it: a malformed inbox replaced
    a healthy one."""
    settings = settings_in(tmp_path, inbox=str(small_disk / "inbox.db"))
    with closing(LedgerService(settings)) as service:
        for _ in range(20):
            service.inbox.append([note(body=os.urandom(30_000))])
        service.catch_up()
        service.checkpoint()
        backups.backup(settings, tmp_path / "saved")
        last = service.inbox.last()[0]
    present, ballast = small_disk / "inbox.db", small_disk / "ballast"
    said, rooms = list[str](), range(0, 4000, depth.rounds(500, 100))
    for free in rooms:
        room = shutil.disk_usage(small_disk).free
        ballast.write_bytes(bytes(max(0, room - free * 1024)))
        before = present.read_bytes()
        try:
            restores.restore(settings, tmp_path / "saved")
        except InboxUnavailable as error:
            said.append(str(error))
            assert present.read_bytes() == before
            assert sorted(it.name for it in small_disk.iterdir()) == ["ballast", "inbox.db"]
        ballast.unlink()
        assert _seqs_in(present) == [*range(1, last + 1)]
        for former in small_disk.glob("*set-aside*"):
            former.unlink()
    assert 0 < len(said) < len(rooms)
    for words in said:
        assert words.startswith(
            "The inbox was not put back; the present one is as it was: The inbox"
        )
        assert "make room" in words or "check the disk's free space" in words


# --- PostgreSQL ------------------------------------------------------------------------------


def test_postgres_acknowledges_no_entry_before_the_sync_has_returned(
    postgres: PostgresServer, database: str, fsync_shim: FsyncShim
):
    postgres.stop()
    postgres.start(environment=fsync_shim.env)
    try:
        with appenders(database, "a") as [appender]:
            assert appender.append()["seqs"] == [1]
            fsync_shim.delay(300)
            answer = appender.append()
            fsync_shim.heal()
        assert answer["seqs"] == [2]
        assert answer["seconds"] >= 0.3
    finally:
        fsync_shim.heal()
        postgres.stop()
        postgres.start()


def test_postgres_acknowledges_nothing_while_syncs_fail_and_all_is_there_after_a_restart(
    postgres: PostgresServer, database: str, fsync_shim: FsyncShim
):
    postgres.stop()
    postgres.start(environment=fsync_shim.env)
    try:
        inbox = open_inbox(database)
        acknowledged = len(inbox.append([note() for _ in range(3)]))
        fsync_shim.fail()  # the server panics at the first one
        for _ in range(2):
            with pytest.raises(InboxUnavailable):
                inbox.append([note()])
    finally:
        fsync_shim.heal()
        postgres.stop(signal.SIGQUIT)
        postgres.start()
    inbox.append([note()])
    entries = all_entries(inbox)
    assert_sound(entries, inbox.log)
    assert len(entries) >= acknowledged + 1
    inbox.close()
