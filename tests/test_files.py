"""Small files that are read again when they change, and what a killed process leaves."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline import places
from pipeline.cli.doctor.erasures import drafts_left
from pipeline.continuity.service import ledger_service
from pipeline.errors import SettingsError
from pipeline.files import reread, temporary
from pipeline.files.disk import try_to_write, written_whole
from pipeline.files.reread import RereadFile
from pipeline.files.temporary import OwnFolder
from pipeline.inbox import open_inbox
from tests.support.machine import killed
from tests.support.stores import settings_in

Advance = Callable[[float], None]


@pytest.fixture
def advance(monkeypatch: pytest.MonkeyPatch) -> Advance:
    """Moves the clock by which a file is looked at again."""
    passed = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: passed[0])

    def move(seconds: float) -> None:
        passed[0] += seconds

    return move


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SettingsError("no number") from None


def test_a_file_that_may_not_grow_so_far_has_no_room(tmp_path: Path) -> None:
    """`[Errno 27] File too large` named neither the file nor its folder."""
    program = (
        "import pathlib, resource, signal, sys\n"
        "from pipeline.files import disk\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    disk.write_whole(pathlib.Path(sys.argv[1]), bytes(5000))\n"
        "except OSError as error:\n"
        "    print(disk.is_full(error), error.filename)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"True {tmp_path}\n"
    assert [*tmp_path.iterdir()] == []


def test_what_settings_name_is_known_by_its_place_and_by_what_belongs_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = settings_in(Path("stores"))
    Path("stores").mkdir()
    Path("link").symlink_to("stores")
    Path("elsewhere.db").touch()
    Path("stores/inbox.db").symlink_to("../elsewhere.db")
    for path, setting in {
        "stores/inbox.db": "PRAZO_INBOX",
        "elsewhere.db-wal": "PRAZO_INBOX",
        "link/../link/ledger.duckdb": "PRAZO_LEDGER",
        "stores/ledger.duckdb.head": "PRAZO_LEDGER",
        str(tmp_path / "stores/ledger.duckdb"): "PRAZO_LEDGER",
    }.items():
        assert places.named_by(settings, Path(path)) == setting, path
    assert places.named_by(settings, Path("inbox.db")) is None
    assert places.named_by(settings, Path("stores/rows.csv")) is None


def test_a_change_is_seen_after_a_second(tmp_path: Path, advance: Advance):
    file = tmp_path / "number"
    file.write_text("1")
    number = RereadFile(file, _number)
    file.write_text("22")
    advance(0.9)
    assert number.get() == 1
    advance(0.1)
    assert number.get() == 22


def test_a_change_of_the_same_size_and_time_is_seen_when_the_file_is_another(
    tmp_path: Path, advance: Advance
):
    file, draft = tmp_path / "number", tmp_path / "draft"
    for name, text in ((file, "1"), (draft, "2")):
        name.write_text(text)
        os.utime(name, ns=(10**18, 10**18))
    number = RereadFile(file, _number)
    draft.rename(file)
    advance(1)
    assert number.get() == 2


@pytest.mark.parametrize("content", [b"none", b"\xff\xfe", b"1" * 2_000_000, None])
def test_what_was_read_before_stays_in_force_until_there_is_something_better(
    tmp_path: Path, advance: Advance, caplog: pytest.LogCaptureFixture, content: bytes | None
):
    file = tmp_path / "number"
    file.write_text("1")
    number = RereadFile(file, _number)
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    for _ in range(3):
        advance(1)
        assert number.get() == 1
    assert caplog.text.count("what was read before stays in force") == 1
    assert number.fault() is not None
    file.write_text("2")
    advance(1)
    assert number.get() == 2
    assert number.fault() is None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file"),
        (b"7\n\xe9", "line 2 is not UTF-8: it holds the byte E9"),
        (b"1" * 2_000_000, "over 1,048,576 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_at_the_start(
    tmp_path: Path, content: bytes | None, why: str
):
    file = tmp_path / "number"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError, match=why):
        RereadFile(file, _number)


@pytest.fixture
def hanging_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """No file is read until the event is set: a pipe, which would wait by itself, is refused."""
    goes_on, read = threading.Event(), reread.read_small

    def wait(path: Path) -> str:
        content = read(path)
        goes_on.wait()
        return content

    monkeypatch.setattr(reread, "read_small", wait)
    yield goes_on
    goes_on.set()


def test_a_disk_that_hangs_leaves_in_force_what_was_read_and_then_is_read_again(
    tmp_path: Path,
    advance: Advance,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    hanging_disk: threading.Event,
) -> None:
    """Before: whoever looked at `alerts.toml` on such a disk, the process that tells people among
    them, waited for it for ever."""
    monkeypatch.setattr(reread, "LOOK_SECONDS", 0.05)
    file = tmp_path / "number"
    file.write_text("1")
    hanging_disk.set()
    number = RereadFile(file, _number)
    hanging_disk.clear()
    file.write_text("33")
    for _ in range(3):
        advance(1)
        assert number.get() == 1
    assert "was not read within" in str(number.fault())
    assert caplog.text.count("what was read before stays in force") == 1
    [hung] = [it for it in threading.enumerate() if it.name == "reads number"]
    file.write_text("2")
    hanging_disk.set()
    hung.join()
    assert number.get() == 1  # 33 came too late
    monkeypatch.setattr(reread, "LOOK_SECONDS", 60.0)  # of a disk that is only busy
    advance(1)
    assert number.get() == 2
    assert number.fault() is None


def test_a_disk_that_hangs_is_waited_for_no_longer_than_so_long_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hanging_disk: threading.Event
) -> None:
    monkeypatch.setattr(reread, "READ_SECONDS", 0.05)
    (tmp_path / "number").write_text("1")
    with pytest.raises(SettingsError, match="was not read within"):
        RereadFile(tmp_path / "number", _number)


def test_a_pipe_in_the_place_of_a_file_is_waited_for_by_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "number")
    with pytest.raises(SettingsError, match="it is not a plain file"):
        RereadFile(tmp_path / "number", _number)


def _leave(parent: Path, out: Path) -> None:
    OwnFolder("prazo-x-", parent).path.joinpath("package.zip").write_bytes(b"personal")
    with written_whole(out):
        os.kill(os.getpid(), signal.SIGKILL)


def test_what_a_killed_process_left_goes_with_the_next_and_nothing_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(temporary, "LEFT_SECONDS", 0.0)
    out = tmp_path / "x"
    in_use = OwnFolder("prazo-x-", tmp_path)
    for name in ("prazo-x-of-somebody", "prazo-y-12345678"):
        (tmp_path / name).mkdir()
    killed(lambda: _leave(tmp_path, out))
    assert len([*tmp_path.iterdir()]) == 5
    with OwnFolder("prazo-x-", tmp_path) as own, OwnFolder(".x.", tmp_path) as beside:
        kept = {own, beside, in_use.path, *tmp_path.glob("*somebody"), *tmp_path.glob("*-y-*")}
        assert {*tmp_path.iterdir()} == kept
        assert stat.S_IMODE(own.stat().st_mode) == 0o700
    in_use.remove()
    assert len([*tmp_path.iterdir()]) == 2


def _leave_all(parent: Path, inbox: Path) -> None:
    OwnFolder("prazo-rows-").path.joinpath("spilled").write_bytes(b"Mariana")
    tempfile.mkdtemp(prefix="prazo-sheet-", suffix=".new")  # killed before it was locked
    OwnFolder(f".{inbox.name}.", parent)
    with written_whole(parent / "alerts.kept"):
        os.kill(os.getpid(), signal.SIGKILL)


def test_whoever_starts_removes_what_any_killed_process_left_and_doctor_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only drafts of the same name went, with the next of that name, if one ever came; a half-made
    inbox stayed for good."""
    monkeypatch.setattr(temporary, "LEFT_SECONDS", 0.0)
    system = tmp_path / "tmp"
    system.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(system))
    settings = settings_in(tmp_path)
    (tmp_path / ".env.template").write_text("of somebody")
    (tmp_path / ".inbox.db.00000000").write_text("of somebody")
    (system / "prazo-other-12345678").mkdir()
    mine = {tmp_path / ".env.template", tmp_path / ".inbox.db.00000000"}
    mine.add(system / "prazo-other-12345678")
    with OwnFolder("prazo-rows-") as living, written_whole(tmp_path / "x") as draft:
        killed(lambda: _leave_all(tmp_path, Path(settings.inbox)))
        [said] = drafts_left(settings)
        with closing(open_inbox(settings.inbox)), ledger_service(settings):
            assert list(drafts_left(settings)) == []
            assert {*system.iterdir()} == {living, *(it for it in mine if it.parent == system)}
            assert Path(draft.name).exists()
            assert [*tmp_path.glob(".*.partial")] == [Path(draft.name)]
            assert all(it.exists() for it in mine)
            assert len([*tmp_path.glob(".inbox.db.*")]) == 1
    assert "left by a process that was killed" in said.found
    for name in ("prazo-rows-", "prazo-sheet-", ".inbox.db.", ".alerts.kept."):
        assert name in said.found


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path):
    file = tmp_path / "number"
    file.write_bytes(b"\xef\xbb\xbf7")
    assert RereadFile(file, str).get() == "7"


def test_a_trial_has_no_name_that_a_killed_process_could_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver that was killed while it tried its disk left a MiB in the folder of temporary
    files, each time."""
    seen: list[list[Path]] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.append([*tmp_path.iterdir()]))
    try_to_write(tmp_path, 2**20)
    assert seen == [[]]
