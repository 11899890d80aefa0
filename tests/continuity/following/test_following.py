"""The ledger shows what the inbox holds, whatever happens to its own file."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.continuity import appending
from pipeline.continuity.kept_heads import place
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.errors import InboxForked, LedgerInUse, LedgerRefused, LedgerStalled
from pipeline.inbox import Head, open_inbox
from pipeline.ledger import checks, file, refresh, store
from pipeline.settings import Settings
from tests import depth
from tests.continuity.following.programs import started
from tests.ledger.conftest import OPENED, deliver, entries_alone
from tests.support.sqlite import opened
from tests.support.stores import settings_in


def rows_of_every_table(service: LedgerService) -> dict[str, list[tuple[Any, ...]]]:
    """All that the ledger holds of its log; views are worked out from these alone."""
    service.ledger.settle()
    cursor = service.ledger.cursor()
    tables = cursor.execute(
        "select table_name from duckdb_tables() where table_name <> 'meta'"
    ).fetchall()
    assert {("log",), ("fact_reviews",), ("kept_processes",)} < {*tables}
    return {name: cursor.execute(f"from {name} order by all").fetchall() for (name,) in tables}


def caught_up(settings: Settings) -> LedgerService:
    service = LedgerService(settings)
    service.catch_up()
    return service


@pytest.fixture(scope="module")
def once_killed(once_followed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, followed further by a process that was killed: its last commits are in the WAL."""
    folder = tmp_path_factory.mktemp("killed")
    shutil.copytree(once_followed, folder, dirs_exist_ok=True)
    kill_after_commit(settings_in(folder), range(300, 400))
    return folder


@pytest.fixture
def killed(settings: Settings, once_killed: Path) -> Settings:
    """A copy of them."""
    shutil.copytree(once_killed, settings.ledger.parent, dirs_exist_ok=True)
    return settings


def test_every_delivery_becomes_a_row_in_order(followed: Settings):
    with closing(LedgerService(followed)) as service:
        log = service.ledger.cursor().execute("select seq from log order by seq").fetchall()
        assert [seq for (seq,) in log] == list(range(1, 301))
        assert service.reader.count("process_state") == 300
        first = service.reader.read("process_state", where={"process_id": "p0"}).to_pylist()[0]
        assert (first["seller_id"], first["review_type"], first["state"]) == (
            "s0",
            "ACP",
            "EXPIRED",
        )


def test_catching_up_keeps_rows_of_processes_in_steps_and_at_its_end(settings, inbox, monkeypatch):
    """Each step scans the log, so there are few; all at the end would make the end slow."""
    monkeypatch.setattr(appending, "MAX_ENTRIES_PER_BATCH", 20)
    monkeypatch.setattr(appending, "LEAST_BEHIND", 40)
    monkeypatch.setattr(store, "MOST_UNSETTLED", 0)
    kept = []
    with closing(LedgerService(settings)) as service:

        def note(size: int) -> None:
            if not service.ledger.watermark.is_behind:
                kept.append(size)

        service.catch_up(note)
        assert kept == [40, 80, 120, 160, 220, 300]  # at least 40; from 200 on a quarter of all
        assert service.reader.count("process_state") == 300


def test_following_again_adds_nothing(followed: Settings):
    with closing(LedgerService(followed)) as service:
        assert service.catch_up() == 0
    with closing(caught_up(followed)) as service:
        assert service.status().last_seq == 300
        assert service.status().is_verified


def test_nothing_in_the_log_can_be_changed_or_deleted(followed: Settings):
    with closing(LedgerService(followed)) as service:
        for statement in (
            "delete from log",
            "delete from log where seq = 1",
            "update log set kind = 'note'",
            "truncate log",
        ):
            with pytest.raises(duckdb.Error, match="append-only"):
                service.ledger.cursor().execute(statement).fetchall()
        assert service.ledger.cursor().execute("select count(*) from log").fetchall() == [(300,)]


def delete_the_file(path: Path) -> None:
    path.unlink()
    path.with_name(f"{path.name}.wal").unlink(missing_ok=True)


def overwrite_the_file(path: Path) -> None:
    path.write_bytes(b"not a database" * 1000)
    path.with_name(f"{path.name}.wal").unlink(missing_ok=True)


def cut_the_file(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip_bits(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for position in range(0, len(content), 4096):
        content[position] ^= 0xFF
    path.write_bytes(content)


def overwrite_the_rows(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:12_288] + os.urandom(path.stat().st_size - 12_288))


DAMAGES = (delete_the_file, overwrite_the_file, cut_the_file, flip_bits, overwrite_the_rows)


def test_a_damaged_file_is_rebuilt_with_the_same_rows(
    followed: Settings, subtests: pytest.Subtests
):
    with closing(LedgerService(followed)) as service:
        before, root = rows_of_every_table(service), service.ledger.frontier.root()
    for damage in depth.few(DAMAGES, 3):
        with subtests.test(damage.__name__):
            damage(followed.ledger)
            with closing(caught_up(followed)) as service:
                assert service.status().recovered
                assert service.status().is_verified
                assert service.ledger.frontier.root() == root
                assert rows_of_every_table(service) == before


def kill_after_commit(settings: Settings, deliveries: range) -> None:
    opened = open_inbox(settings.inbox)
    deliver(opened, deliveries)
    opened.close()
    assert started("catch_up_and_die", settings).wait() == -signal.SIGKILL


def test_commits_that_stand_in_the_wal_survive_a_kill(killed: Settings):
    assert killed.ledger.with_name("ledger.duckdb.wal").stat().st_size > 0
    with closing(LedgerService(killed)) as service:
        assert service.status().last_seq == 400
        assert service.status().recovered is None
        assert list(checks.broken(service.ledger)) == []


@pytest.mark.parametrize("left", depth.few([0, 1, 2, 3], 2))
def test_a_cut_wal_is_noticed_and_recovered_from_the_inbox(killed: Settings, left: int):
    """DuckDB opens such a file without a word, with acknowledged rows gone."""
    wal = killed.ledger.with_name("ledger.duckdb.wal")
    if left == 0:
        wal.unlink()
    else:
        os.truncate(wal, wal.stat().st_size * left // 4)
    with closing(caught_up(killed)) as service:
        assert service.status().recovered
        assert service.status().last_seq == 400
        assert service.status().is_verified
        assert service.reader.count("process_state") == 400


def test_an_old_copy_put_back_is_noticed_and_recovered(followed: Settings, tmp_path):
    old = tmp_path / "old.duckdb"
    shutil.copy(followed.ledger, old)
    with closing(open_inbox(followed.inbox)) as inbox:
        deliver(inbox, range(300, 350))
    with closing(caught_up(followed)) as service:
        before = rows_of_every_table(service)
    shutil.copy(old, followed.ledger)
    with closing(caught_up(followed)) as service:
        assert "lost its last 50 entries" in (service.status().recovered or "")
        assert rows_of_every_table(service) == before


def test_a_changed_leaf_in_the_ledger_is_noticed_and_the_ledger_rebuilt(followed: Settings):
    with closing(LedgerService(followed)) as service:
        root = service.ledger.frontier.root()
    connection = duckdb.connect(str(followed.ledger))
    connection.execute("drop trigger log_no_update on log").fetchall()
    connection.execute("update log set leaf = '{}'::blob where seq = 299").fetchall()
    connection.close()
    with closing(caught_up(followed)) as service:
        assert "another root" in (service.status().recovered or "")
        assert service.ledger.frontier.root() == root
        kept = list(followed.ledger.parent.glob("ledger.duckdb.set-aside-*"))
        assert len(kept) == 1


@entries_alone
def test_a_changed_leaf_deep_in_the_log_is_named_by_an_audit(followed: Settings):
    """A start compares roots, and those of full subtrees are stored: only whoever reads every leaf
    sees that one of them is another now."""
    connection = duckdb.connect(str(followed.ledger))
    connection.execute("drop trigger log_no_update on log").fetchall()
    connection.execute("update log set leaf = '{}'::blob where seq = 5").fetchall()
    connection.close()
    with closing(caught_up(followed)) as service:
        assert service.status().recovered is None
        found = audit(service).faults
        assert (
            "entry 5: its leaf differs between inbox and ledger, and the ledger is wrong;"
            " `prazo rebuild` rebuilds the ledger"
        ) in found
        service.rebuild()
        assert audit(service).faults == []


def without_its_last_ten(settings: Settings) -> None:
    with closing(opened(settings.inbox)) as raw, raw:
        raw.execute("drop trigger entries_no_delete")
        raw.execute("delete from entries where seq > 290")


def test_an_inbox_that_lost_entries_gets_them_back_from_the_ledger(followed: Settings):
    with closing(LedgerService(followed)) as service:
        root = service.ledger.frontier.root()
    without_its_last_ten(followed)
    with closing(LedgerService(followed)) as service:
        assert "the inbox had lost its last 10 entries" in (service.status().recovered or "")
        assert service.inbox.last()[0] == 300
        deliver(service.inbox, range(300, 301))
        service.catch_up()
        assert service.ledger.root_at(300) == root
        assert service.ledger.size == 301


def test_an_inbox_that_lost_entries_and_what_vouched_for_them_is_refused(followed: Settings):
    """The ledger alone proves nothing: its last entries could have been made up."""
    without_its_last_ten(followed)
    with closing(opened(followed.inbox)) as raw, raw:
        raw.execute("delete from heads")
        raw.execute("delete from checkpoints")
    place(followed).unlink()
    with pytest.raises(LedgerRefused, match="holds 300 entries and the inbox only 290"):
        LedgerService(followed)
    assert followed.ledger.exists()


def test_an_inbox_that_went_on_after_it_lost_entries_is_refused(followed: Settings):
    """Two histories: what was recorded since stands at the seqs of what was lost."""
    without_its_last_ten(followed)
    with closing(open_inbox(followed.inbox)) as reopened:
        deliver(reopened, range(400, 405))
    with pytest.raises(
        LedgerRefused,
        match=r"part after entry 290: the ledger holds 10 .* and the inbox holds 5 others",
    ):
        LedgerService(followed)


def test_an_inbox_of_another_log_is_refused(followed: Settings, tmp_path):
    other = followed.model_copy(update={"inbox": str(tmp_path / "other.db")})
    open_inbox(other.inbox).close()
    with pytest.raises(LedgerRefused, match="another log"):
        LedgerService(other)


def test_a_second_process_learns_that_the_ledger_is_in_use(followed: Settings):
    with closing(LedgerService(followed)):
        second = started("open_the_ledger", followed, stderr=subprocess.PIPE)
        _, said = second.communicate()
        assert LedgerInUse.__name__ in said


def test_a_ledger_without_bodies_has_the_same_root_and_no_personal_value(settings, inbox):
    seller = {
        "id": "evt_seller",
        "type": "seller.enabled",
        "created_at": "2026-03-01T00:00:00Z",
        "payload": {
            "object": {
                "id": "s1",
                "first_name": "Benedita",
                "taxpayer_id": "39053344705",
                "business_name": "Quitanda",
                "owner": {"taxpayer_id": "11144477735"},
                "ein": 11444777000161,
            }
        },
    }
    no_id = {**seller, "id": {"name": "Benedita"}}
    from pipeline.log.deliveries import delivery

    inbox.append(
        [
            delivery(json.dumps(event).encode(), occurred_at=OPENED, recorded_by="webhook")
            for event in (seller, no_id)
        ]
    )
    with closing(caught_up(settings)) as service:
        root = service.ledger.frontier.root()
        whole = service.reader.read("seller_state", where={"seller_id": "s1"}).to_pylist()
    analyst = settings.model_copy(update={"ledger": settings.ledger.with_name("analyst.duckdb")})
    with closing(LedgerService(analyst, is_keeper=False, without_bodies=True)) as service:
        service.catch_up()
        assert service.ledger.frontier.root() == root
        assert service.reader.read("seller_state", where={"seller_id": "s1"}).to_pylist() == whole
        assert whole[0]["first_name"] == "B***"
        service.ledger.cursor().execute("checkpoint").fetchall()
    content = analyst.ledger.read_bytes()
    for word in (b"Benedita", b"39053344705", b"Quitanda", b"11144477735", b"11444777000161"):
        assert word not in content


@pytest.mark.parametrize("later", [0, 1])
def test_a_second_ledger_that_started_first_is_verified_once_there_is_a_head(
    settings, inbox, later: int
):
    """It was not until it was started again: `/api/ready` answered 503, and people were alarmed."""
    second = settings.model_copy(update={"ledger": settings.ledger.with_name("second.duckdb")})
    with closing(LedgerService(second, is_keeper=False)) as service:
        service.catch_up()
        assert not service.status().is_verified
        caught_up(settings).close()
        deliver(inbox, range(300, 300 + later))  # it is past the head by then
        service._follower.follow_once()
        assert service.status().is_verified


@pytest.mark.parametrize("later", [0, 1])
def test_a_second_ledger_with_another_root_than_the_keeper_follows_no_further(
    settings, inbox, later: int
):
    second = settings.model_copy(update={"ledger": settings.ledger.with_name("second.duckdb")})
    with closing(LedgerService(second, is_keeper=False)) as service:
        service.catch_up()
        inbox.put_head(Head(300, b"r" * 32))
        deliver(inbox, range(300, 300 + later))
        with pytest.raises(LedgerRefused, match="its root is not the one that the inbox's keeper"):
            service._follower.follow_once()
        assert not service.status().is_verified


def test_nothing_is_signed_once_the_inbox_lacks_what_was_followed(followed: Settings):
    """Nobody has followed it since, so nobody has noticed yet."""
    with closing(LedgerService(followed)) as service:
        without_its_last_ten(followed)
        with pytest.raises(InboxForked, match="part after entry 290"):
            service._follower.checkpoint()
        assert service.inbox.checkpoint() is None


# --- room ---


def test_a_second_ledger_that_was_behind_has_lost_nothing(settings, inbox, tmp_path):
    """It was stopped while the keeper, on another machine, went on."""
    own = settings.model_copy(update={"ledger": tmp_path / "own" / "ledger.duckdb"})
    deliver(inbox, range(3))
    with closing(LedgerService(own, is_keeper=False)) as second:
        second.catch_up()
    with closing(LedgerService(settings)) as keeper:
        deliver(inbox, range(3, 6))
        keeper.catch_up()
    with closing(LedgerService(own, is_keeper=False)) as second:
        assert second.ledger.size == inbox.last()[0]
        assert second.status().recovered is None


def memory_of_indexes(service: LedgerService) -> int:
    rows = service.ledger.cursor().execute(
        "select sum(memory_usage_bytes) from duckdb_memory() where tag = 'ART_INDEX'"
    )
    return int(rows.fetchall()[0][0])


@pytest.mark.long
def test_indexes_are_let_go_of_before_they_fill_the_memory(settings, inbox, monkeypatch):
    """And nobody who reads meanwhile meets an error or sees half a batch."""
    with closing(caught_up(settings)) as service:
        before = memory_of_indexes(service)
    monkeypatch.setattr(file, "INDEX_SHARE", 0)
    faults, is_over = [], threading.Event()

    def read(service: LedgerService) -> None:
        while not is_over.is_set():
            try:
                assert service.reader.count("process_state") % 100 == 0
            except Exception as error:
                faults.append(error)

    with closing(LedgerService(settings)) as service:
        reading = [threading.Thread(target=read, args=(service,)) for _ in range(2)]
        for thread in reading:
            thread.start()
        for start in range(300, 1300, 100):
            deliver(inbox, range(start, start + 100))
            service.catch_up()
        is_over.set()
        for thread in reading:
            thread.join()
        assert service.reader.count("process_state") == 1300
        # A reader can hold up each try; the next batch after the last of them does not wait.
        deliver(inbox, range(1300, 1400))
        service.catch_up()
        service.ledger.settle()
        held = memory_of_indexes(service)
        assert list(checks.broken(service.ledger)) == []
    assert faults == []
    assert before > 0
    assert held < before


UNWRITTEN = (
    (duckdb.OutOfMemoryException("Out of Memory Error: 2GB used"), "PRAZO_LEDGER_MEMORY"),
    (duckdb.IOException("Could not write file: No space left on device"), "room on its disk"),
    (duckdb.IOException('Cannot open file "l.wal": Permission denied'), "read and write it"),
    (duckdb.IOException('Cannot open file "l.wal": Too many open files'), "ulimit"),
    (duckdb.IOException('Cannot open file "l.wal": Read-only file system'), "read and write"),
)


def test_a_ledger_that_cannot_be_written_is_not_taken_for_a_damaged_one(
    settings, inbox, monkeypatch
):
    for error, remedy in UNWRITTEN:

        def fail(*_: object, error: duckdb.Error = error, **__: object) -> None:
            raise error

        with monkeypatch.context() as full, closing(LedgerService(settings)) as service:
            full.setattr(refresh, "refresh", fail)
            with pytest.raises(LedgerStalled) as stalled:
                service.catch_up()
            assert remedy in stalled.value.remedy, error
            assert service.ledger.size == 0
            assert service.status().recovered is None
    with closing(caught_up(settings)) as service:
        assert service.ledger.size == 300
        assert service.status().recovered is None


def test_a_ledger_is_closed_once_others_have_read_what_they_are_reading(followed: Settings):
    """DuckDB refuses to close while a cursor is at work: a dashboard that ended so left its
    inbox open."""
    service = LedgerService(followed)
    counted: list[int] = []
    slow = "select count(*) from range(30_000_000) a, range(4)"

    def read() -> None:
        cursor = service.ledger.cursor()
        may_close.set()
        with contextlib.suppress(duckdb.ConnectionException):  # closed before the query had begun
            counted.extend(cursor.execute(slow).fetchone() or ())

    may_close = threading.Event()
    reading = threading.Thread(target=read)
    reading.start()
    assert may_close.wait(60)
    service.close()
    reading.join()
    assert counted in ([120_000_000], [])
    with closing(caught_up(followed)) as again:
        assert again.ledger.size == 300
