"""What only the SQLite inbox has to get right: its file."""

import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest

from pipeline.errors import InboxUnavailable
from pipeline.files import disk
from pipeline.inbox import migrations
from pipeline.inbox.erased import cut
from pipeline.inbox.sqlite import connection, place
from pipeline.inbox.sqlite.file import make_whole
from pipeline.inbox.sqlite.inbox import SqliteInbox
from tests.inbox.drafts import note
from tests.support.sqlite import opened

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "inbox.db"


@pytest.fixture
def looks_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write looks whether the WAL has its name, however soon after the last look."""
    monkeypatch.setattr(place, "BESIDE_SECONDS", 0.0)


def _modes(path: Path) -> dict[str, int]:
    return {it.name: stat.S_IMODE(it.stat().st_mode) for it in path.parent.iterdir()}


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_the_file_its_wal_and_its_index_are_the_owners_alone(path: Path):
    """Bodies hold names and tax ids; with the usual umask everyone could read the WAL."""
    before = os.umask(0)
    try:
        inbox = SqliteInbox(path)
        inbox.append([note()])
        assert _modes(path) == {"inbox.db": 0o600, "inbox.db-wal": 0o600, "inbox.db-shm": 0o600}
        inbox.close()
    finally:
        os.umask(before)


def test_what_is_forgotten_stands_nowhere_in_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether SQLite overwrites what it deletes is a choice of its builders: the address of a
    seller stood in the file for good, on machines where it does not."""

    class AsBuiltElsewhere(apsw.Connection):
        def __init__(self, *of: Any, **how: Any) -> None:
            super().__init__(*of, **how)
            self.execute("pragma secure_delete = off")

    monkeypatch.setattr(apsw, "Connection", AsBuiltElsewhere)
    inbox = SqliteInbox(path)
    for number in range(3):
        added = "insert into journey_flow (ref, at, event, detail) values ($1, 1, 'e', $2)"
        inbox.execute(added, f"r{number}", f"ze{number}@loja.example")
    assert inbox.execute("update journey_flow set detail = null where at <= $1", 1) == 3
    inbox.close()
    assert b"@loja.example" not in path.read_bytes()


def test_a_mode_that_the_operator_chose_later_is_kept(path: Path):
    SqliteInbox(path).close()
    path.chmod(0o640)
    SqliteInbox(path).close()
    assert _modes(path) == {"inbox.db": 0o640}


def test_the_folders_of_a_new_inbox_are_made(tmp_path: Path):
    inbox = SqliteInbox(tmp_path / "of" / "prazo" / "inbox.db")
    assert inbox.append([note()])[0].entry is not None
    inbox.close()


def test_a_path_with_the_characters_of_a_uri_is_only_a_path(tmp_path: Path):
    path = tmp_path / "in?mode=memory&box #1 100%.db"
    inbox = SqliteInbox(path)
    inbox.append([note()])
    inbox.close()
    assert [it.name for it in tmp_path.iterdir()] == [path.name]


def test_a_database_of_another_program_is_left_as_it_is(path: Path):
    other = opened(path)
    other.execute("create table entries (seq integer)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(InboxUnavailable, match="is not an inbox"):
        SqliteInbox(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "it is an empty file"),
        (b"PAR1, say" * 100, "it is a Parquet file"),
        (b"8 bytes.DUCK" + bytes(4096), "it is a DuckDB database"),
        (b"hello\nworld\n", "it is a text"),
        (bytes(100), "it is not an SQLite database, or its beginning is damaged"),
    ],
)
@pytest.mark.parametrize("opened", [SqliteInbox, migrations.migrate])
def test_a_file_that_is_not_a_database_is_named_and_left_as_it_is(
    path: Path, content: bytes, what: str, opened: Callable[[Path], object]
):
    """It said to check the disk's free space and the file's permissions."""
    path.write_bytes(content)
    with pytest.raises(InboxUnavailable) as refused:
        opened(path)
    assert refused.value.why == what
    assert refused.value.remedy.startswith("set PRAZO_INBOX to the inbox's file")
    assert path.read_bytes() == content


def test_an_inbox_of_a_later_version_is_not_opened(path: Path):
    SqliteInbox(path).close()
    later = opened(path)
    later.execute("pragma user_version = 99")
    later.close()
    with pytest.raises(InboxUnavailable, match="version"):
        SqliteInbox(path)


def test_a_folder_that_is_a_file_is_reported_as_unavailable(tmp_path: Path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(InboxUnavailable, match="cannot be opened"):
        SqliteInbox(tmp_path / "taken" / "inbox.db")


def test_a_file_beside_it_that_nobody_here_may_write_is_named_and_a_full_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Who had given the file its rights back looked at it again, and `-shm` had none."""
    path.mkdir()  # as unusable, no matter who runs this
    index = Path(f"{path}-shm")
    index.touch()

    def is_let(at: Path, how: int) -> bool:
        return at.exists() and (how == os.F_OK or at != index)

    monkeypatch.setattr(disk.os, "access", is_let)
    with pytest.raises(InboxUnavailable) as refused:
        SqliteInbox(path)
    assert refused.value.remedy == f"let the user who runs this read and write {index}"
    index.unlink()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4096))
    with pytest.raises(InboxUnavailable) as refused:
        SqliteInbox(path)
    assert refused.value.remedy == f"make room in {path.parent}, on whose disk 4,096 bytes are free"


def test_nothing_is_acknowledged_into_a_file_that_was_moved_away(path: Path):
    """A backup moved into place under a running receiver: it went on writing to the file that no
    longer had a name, and every acknowledged entry was gone with the next restart."""
    inbox = SqliteInbox(path)
    inbox.append([note()])
    path.rename(path.with_name("moved.db"))
    with pytest.raises(InboxUnavailable, match="cannot be written"):
        inbox.append([note()])
    SqliteInbox(path).close()
    with pytest.raises(InboxUnavailable, match="another file took its path"):
        inbox.append([note()])
    inbox.close()
    assert sorted(_modes(path)) == ["inbox.db", "moved.db"]


@pytest.mark.usefixtures("looks_always")
@pytest.mark.parametrize("deleted", [["-wal"], ["-wal", "-shm"], ["-shm"]])
def test_nothing_acknowledged_is_lost_with_a_wal_that_is_deleted_in_use(
    path: Path, deleted: list[str]
):
    """Somebody tidied up under a running receiver: it went on answering 200 into a file without a
    name, and all that it had ever acknowledged was gone with its next kill. `prazo verify` said
    VERIFIED of the empty log."""
    inbox = SqliteInbox(path)
    follower = SqliteInbox(path)  # has it open, so that no WAL is emptied by being closed
    inbox.append([note()])
    assert follower.last()[0] == 1
    for suffix in deleted:
        Path(f"{path}{suffix}").unlink()
    for _ in range(2):
        with pytest.raises(InboxUnavailable, match="its WAL was deleted in use"):
            inbox.append([note()])
    copy = path.with_name("as after a kill.db")
    shutil.copy(path, copy)
    killed = SqliteInbox(copy)
    assert killed.last()[0] == 1
    killed.close()
    follower.close()
    inbox.close()
    again = SqliteInbox(path)
    assert [it.entry.seq for it in again.append([note()]) if it.entry] == [2]
    again.close()


@pytest.mark.usefixtures("looks_always")
def test_a_wal_that_is_deleted_in_use_is_noticed_where_a_link_leads_to_the_inbox(path: Path):
    """SQLite keeps the WAL beside the file, not beside the link."""
    (path.parent / "disk").mkdir()
    place = path.parent / "disk" / "inbox.db"
    SqliteInbox(place).close()
    path.symlink_to(place)
    inbox = SqliteInbox(path)
    inbox.append([note()])
    Path(f"{place}-wal").unlink()
    with pytest.raises(InboxUnavailable, match="its WAL was deleted in use"):
        inbox.append([note()])
    inbox.close()


def test_nothing_is_acknowledged_into_a_file_that_was_cut_in_use(path: Path):
    """What had been moved into the file was gone; this process still had it in its cache, and went
    on answering 200 until it came upon a page that was missing."""
    inbox = SqliteInbox(path)
    for _ in range(20):
        inbox.append([note(body=os.urandom(8000))])
    make_whole(path)
    inbox.append([note()])
    whole = path.read_bytes()
    os.truncate(path, len(whole) // 2)
    for _ in range(2):
        with pytest.raises(InboxUnavailable):
            inbox.append([note()])
    with path.open("r+b") as file:  # the right one is put back
        file.write(whole)
    assert [it.entry.seq for it in inbox.append([note()]) if it.entry] == [22]
    inbox.close()


def test_emptying_the_wal_ends_no_lock_of_the_process_that_does_it(path: Path):
    """`prazo forget` lost its locks when it had cut the file. Where the receiver was started again
    just then, and killed, `prazo forget` took itself for the last one and deleted the WAL with what
    had been acknowledged since."""
    forgetting = SqliteInbox(path)
    forgetting.append([note()])
    assert cut(forgetting, str(path))
    append = (
        "import os, sys; from pathlib import Path\n"
        "from pipeline.inbox.sqlite.inbox import SqliteInbox\n"
        "from tests.inbox.drafts import note\n"
        "inbox = SqliteInbox(Path(sys.argv[1])); inbox.append([note()])\n"
    )
    for end in ("inbox.close()", "os._exit(0)"):
        subprocess.run([sys.executable, "-c", append + end, path], cwd=ROOT, check=True)
    forgetting.close()
    again = SqliteInbox(path)
    assert again.last()[0] == 3
    again.close()


@pytest.mark.usefixtures("looks_always")
def test_a_wal_that_others_have_begun_meanwhile_is_not_written_over(path: Path):
    inbox = SqliteInbox(path)
    inbox.append([note()])
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink()
    begin = (
        "import os, sys; from pathlib import Path\n"
        "from pipeline.inbox.sqlite.inbox import SqliteInbox\n"
        "from tests.inbox.drafts import note\n"
        "SqliteInbox(Path(sys.argv[1])).append([note()]); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", begin, path], cwd=ROOT, check=True)
    theirs = Path(f"{path}-wal").read_bytes()
    before = path.read_bytes()
    with pytest.raises(InboxUnavailable, match="its WAL was deleted in use"):
        inbox.append([note()])
    assert (path.read_bytes(), Path(f"{path}-wal").read_bytes()) == (before, theirs)
    inbox.close()


def test_a_writer_that_waits_too_long_for_another_is_refused_and_may_try_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pipeline.inbox.sqlite.inbox.BUSY_SECONDS", 0.05)
    inbox = SqliteInbox(path)
    other = opened(path)
    other.execute("begin immediate")
    with pytest.raises(InboxUnavailable, match="locked"):
        inbox.append([note()])
    other.execute("rollback")
    other.close()
    assert inbox.append([note()])[0].entry is not None
    inbox.close()


def test_a_writer_that_could_not_be_opened_is_opened_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    inbox = SqliteInbox(path)
    with monkeypatch.context() as broken:
        broken.setattr("pipeline.inbox.sqlite.inbox._LAST", "select broken")
        for _ in range(2):
            with pytest.raises(InboxUnavailable, match="no such column"):
                inbox.append([note()])
    assert inbox.append([note()])[0].entry is not None
    inbox.close()


def test_a_first_write_waits_for_whoever_has_the_file_alone(path: Path):
    """As the last who closes it has: eight programs that began at once found it locked."""
    inbox = SqliteInbox(path)
    with pytest.raises(InboxUnavailable):
        inbox.query("what fails closes its connection, the only one that is open")
    alone = opened(path)
    alone.execute("pragma locking_mode = exclusive")
    alone.execute("begin exclusive")
    release = threading.Timer(0.3, alone.close)
    release.start()
    assert inbox.append([note()])[0].entry is not None
    release.join()
    inbox.close()


def test_a_long_read_of_another_process_holds_no_writer_up(path: Path):
    inbox = SqliteInbox(path)
    inbox.append([note()])
    other = opened(path)
    other.execute("begin")
    assert other.execute("select count(*) from entries").fetchone() == (1,)
    inbox.append([note()])
    assert other.execute("select count(*) from entries").fetchone() == (1,)
    other.close()
    inbox.close()


def test_threads_that_come_and_go_leave_no_open_file_behind(path: Path):
    """Each thread that ever read kept a connection: a dashboard's threads last one page view."""

    def read_in_a_new_thread() -> None:
        thread = threading.Thread(target=inbox.last)
        thread.start()
        thread.join()

    inbox = SqliteInbox(path)
    read_in_a_new_thread()
    before = _open_files()
    for _ in range(20):
        read_in_a_new_thread()
    assert _open_files() == before
    inbox.close()


def test_an_sqlite_that_may_lose_what_was_committed_opens_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "VERSION", "3.51.2")
    with pytest.raises(InboxUnavailable, match=r"SQLite 3\.51\.2 is installed"):
        SqliteInbox(path)
    assert not path.exists()
    monkeypatch.setattr(connection, "VERSION", "3.51.3")
    SqliteInbox(path).close()
