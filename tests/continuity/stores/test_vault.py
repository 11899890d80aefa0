"""An encrypted copy of a backup is whole or there is none, in a folder and in a store that speaks
S3; and it comes back, whatever happened to the machine."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyrage
import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from pipeline import instants
from pipeline.cli.backups import again_and_again
from pipeline.continuity import backup as backups
from pipeline.continuity import vault as vaults
from pipeline.continuity.vault import Keep, Kept, Vault
from pipeline.errors import NoRoom, NotRestored, OperatorError
from pipeline.settings import Settings
from tests import depth, fork_server
from tests.audit.conftest import environment
from tests.faults.shim import disk
from tests.support.commands import here
from tests.support.machine import free_port, wait_until
from tests.support.stores import environment_in

KEY = pyrage.x25519.Identity.generate()
NOW = 1_780_000_000_000_000
CUT, EXCHANGED = "its end is cut off", "two of its chunks are exchanged"


@pytest.fixture(params=["a folder", "a store that speaks S3"])
def location(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    if request.param == "a folder":
        yield str(tmp_path / "elsewhere")
        return
    with store_of_s3(monkeypatch) as (url, _):
        yield url


@contextmanager
def store_of_s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, ThreadedMotoServer]]:
    """The URL of a store that is empty, and its server, which may be stopped and started again."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "prazo")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=free_port(), verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    store = fs.S3FileSystem(
        endpoint_override=f"{host}:{port}", scheme="http", region="x", allow_bucket_creation=True
    )
    bucket = f"kept-{port}"  # what a server holds outlives it, in this process
    store.create_dir(bucket)
    yield f"s3://{bucket}/prazo?endpoint_override={host}:{port}&scheme=http&region=x", server
    server.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What looks like a backup, of some chunks of age."""
    made = tmp_path / "backup"
    (made / "artifacts").mkdir(parents=True)
    (made / "inbox.db").write_bytes(os.urandom(300_000))
    (made / "artifacts" / "a").write_bytes(b"a")
    return made


def put(vault: Vault, folder: Path, now: int = NOW) -> Kept:
    return vault.put(folder, str(KEY.to_public()), "prazo/0", 5, now)


def test_a_machine_is_put_back_from_a_copy_elsewhere_and_it_can_be_rehearsed(
    settings: Settings, location: str, tmp_path: Path
) -> None:
    identity = tmp_path / "backup.key"
    identity.write_text(f"# made for a test\n{KEY}\n")
    ours = environment(settings) | {
        "PRAZO_BACKUP_TO": location,
        "PRAZO_BACKUP_RECIPIENT": str(KEY.to_public()),
    }
    saved = str(tmp_path / "saved")
    done = here("backup", saved, "--with-keys", environment=ours, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"prazo-[0-9]{8}T[0-9]{6}Z, [0-9.]+ MiB, encrypted", done.stdout)
    newest = ("restore", "--stored", "newest", "--identity", str(identity))
    done = here(*newest, "--rehearse", environment=ours, folder=tmp_path)
    assert (done.returncode, "put back elsewhere and verified" in done.stdout) == (0, True)
    new = tmp_path / "new"
    there = ours | environment_in(new)
    done = here(*newest, environment=there, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("VERIFIED\n")
    assert "16 entries of prazo/" in done.stdout
    assert not list(new.glob(".stored.*"))


def test_what_was_sent_comes_back_and_the_store_cannot_read_it(
    location: str, folder: Path, tmp_path: Path
) -> None:
    (folder / "inbox.db").write_bytes(b"Maria da Silva " * 50_000)
    vault = Vault(location)
    kept = put(vault, folder)
    assert vault.copies() == [kept]
    with vault._store.open_input_stream(f"{vault._at}/{kept.name}.tar.age") as stream:
        content = stream.read()
    assert len(content) == kept.size
    assert content.startswith(b"age-encryption.org/v1\n")
    assert b"Maria" not in content
    assert vault.take(None, str(KEY), tmp_path / "taken") == kept
    assert _contents(tmp_path / "taken") == _contents(folder)


@pytest.mark.parametrize("what", depth.few(["another key", CUT, EXCHANGED], 2))
def test_what_is_not_as_it_was_sent_is_not_taken_for_a_backup(
    location: str, folder: Path, tmp_path: Path, what: str
) -> None:
    vault = Vault(location)
    kept = put(vault, folder)
    data = f"{vault._at}/{kept.name}.tar.age"
    with vault._store.open_input_stream(data) as stream:
        content = stream.read()
    key = KEY
    if what == CUT:
        _write(vault, data, content[: -(65_536 + 16)])
        assert vault.copies() == []
        _write(vault, f"{vault._at}/{kept.name}.json", _note(kept, size=len(content) - 65_552))
        assert len(vault.copies()) == 1
    elif what == EXCHANGED:
        begin = content.index(b"\n--- ") + 5 + 43 + 1 + 16
        chunk = 65_536 + 16
        first, second = content[begin : begin + chunk], content[begin + chunk : begin + 2 * chunk]
        _write(vault, data, content[:begin] + second + first + content[begin + 2 * chunk :])
    else:
        key = pyrage.x25519.Identity.generate()
    with pytest.raises(NotRestored, match="cannot be decrypted"):
        vault.take(None, str(key), tmp_path / "taken")


def test_a_store_that_is_full_or_goes_away_has_no_half_copy(
    location: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = Vault(location)
    whole = put(vault, folder)
    sent = 0
    real = vaults._Measured.__init__

    class Full:
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def write(self, some: bytes) -> None:
            nonlocal sent
            sent += len(some)
            if sent > 100_000:
                raise OSError(28, "No space left on device")
            self._stream.write(some)

    monkeypatch.setattr(vaults._Measured, "__init__", lambda self, stream: real(self, Full(stream)))
    with pytest.raises(NoRoom, match="cannot be written"):
        put(vault, folder, NOW + instants.HOUR)
    assert vault.copies() == [whole]
    vault.tidy(Keep(1, 0, 0), NOW + 3 * instants.DAY)
    assert len(vault._names()) == 2
    assert threading.active_count() < 20


def test_a_disk_that_is_full_midway_keeps_the_room_for_the_next_copy(
    folder: Path, tmp_path: Path
) -> None:
    """Before: what was cut off filled it for a day, and no copy could be made meanwhile."""
    with disk(tmp_path / "elsewhere", 2_000_000) as place:
        vault = Vault(str(place / "copies"))
        whole = put(vault, folder)
        ballast = place / "ballast"
        ballast.write_bytes(bytes(shutil.disk_usage(place).free - 150_000))
        with pytest.raises(NoRoom, match=r"cannot be written: .*No space left"):
            put(vault, folder, NOW + instants.HOUR)
        assert vault.copies() == [whole]
        assert len(vault._names()) == 2
        assert shutil.disk_usage(place).free >= 140_000
        ballast.unlink()
        again = put(vault, folder, NOW + 2 * instants.HOUR)
        assert vault.copies() == [whole, again]


@pytest.mark.long  # Arrow tries three times, for six seconds each
def test_a_store_that_goes_away_midway_has_no_half_copy_once_it_is_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that speaks S3, with a part of the copy: parts are of ten megabytes."""
    (folder / "artifacts" / "large").write_bytes(os.urandom(12_000_000))
    with store_of_s3(monkeypatch) as (location, server):
        vault = Vault(location)
        whole = put(vault, folder)
        real = vaults._Measured.write

        def write(self: vaults._Measured, some: bytes) -> int:
            if self.size > 11_000_000:
                server.stop()
            return real(self, some)

        with monkeypatch.context() as patch:
            patch.setattr(vaults._Measured, "write", write)
            with pytest.raises(OperatorError, match=r"cannot be written: .*connect to server"):
                put(vault, folder, NOW + instants.HOUR)
        server.start()
        assert vault.copies() == [whole]
        again = put(vault, folder, NOW + 2 * instants.HOUR)
        assert vault.copies() == [whole, again]


def test_a_backup_that_could_not_be_sent_does_not_count_as_made(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "barred").write_text("a file, and no folder")
    ours = environment(settings) | {
        "PRAZO_BACKUP_TO": str(tmp_path / "barred" / "x"),
        "PRAZO_BACKUP_RECIPIENT": str(KEY.to_public()),
    }
    done = here("backup", str(tmp_path / "saved"), environment=ours, folder=tmp_path)
    assert (done.returncode, "cannot be reached" in done.stderr) == (2, True)
    with backups.opened_inbox(settings.inbox) as inbox:
        assert inbox.query("select name from heartbeats where name = 'backup'") == []


def test_a_sender_that_is_killed_leaves_no_half_copy(location: str, folder: Path) -> None:
    vault = Vault(location)
    whole = put(vault, folder)
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from pipeline.continuity import vault\n"
        "real, sent = vault._Measured.write, []\n"
        "def write(self, some):\n"
        "    sent.append(some)\n"
        "    if sum(map(len, sent)) > 100_000: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(self, some)\n"
        "vault._Measured.write = write\n"
        f"vault.Vault({location!r}).put(Path({str(folder)!r}), {str(KEY.to_public())!r},"
        f" 'prazo/0', 5, {NOW + instants.HOUR})\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    assert vault.copies() == [whole]


def test_a_copy_that_goes_while_the_store_is_read_is_none(
    location: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may tidy meanwhile. Before: the store could not be read."""
    vault = Vault(location)
    gone, stays = put(vault, folder), put(vault, folder, NOW + instants.DAY)
    listed = vault._names()
    Vault(location).tidy(Keep(1, 0, 0), NOW + instants.DAY)
    monkeypatch.setattr(vault, "_names", lambda: listed)
    assert gone.name in [name for name, _ in listed]
    assert vault.copies() == [stays]


@pytest.mark.long
def test_by_schedule_one_follows_another(settings: Settings, tmp_path: Path) -> None:
    ours = environment(settings) | {
        "PRAZO_BACKUP_TO": str(tmp_path / "elsewhere"),
        "PRAZO_BACKUP_RECIPIENT": str(KEY.to_public()),
        "PRAZO_BACKUP_KEEP": "1,0,0",
    }
    process = fork_server.start(
        [
            sys.executable,
            "-m",
            "pipeline.cli",
            "backup",
            str(tmp_path / "saved"),
            "--every",
            "0.001",
        ],
        env=ours,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    vault = Vault(str(tmp_path / "elsewhere"))
    wait_until(vault.copies)
    first = vault.copies()[0]
    wait_until(lambda: vault.copies() and vault.copies()[-1].name > first.name)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "was removed" in out


def test_a_backup_that_failed_does_not_wait_for_the_next_day() -> None:
    """The first one of a new log, which has no entry yet, or one while the store was away."""
    waited: list[float | None] = []

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout)
            if len(waited) == 3:
                self.set()
            return self.is_set()

    outcomes = iter([OperatorError("Nothing was copied", "the store is away"), None])

    def once() -> None:
        if (error := next(outcomes, None)) is not None:
            raise error

    again_and_again(once, 24.0, Stop())
    assert waited == [3600, 86400, 86400]


def test_the_newest_of_each_day_week_and_month_stay() -> None:
    def at(text: str) -> Kept:
        return Kept(text, instants.parse(f"{text}:00Z") or 0, 1, "prazo/0", 1)

    days = ["2026-01-31T03:00", "2026-02-20T03:00", "2026-03-02T03:00", "2026-03-03T03:00"]
    copies = [at(it) for it in [*days, "2026-03-03T09:00", "2026-03-04T03:00"]]

    def stay(*keep: int) -> set[str]:
        return Keep(*keep).of(copies)

    assert stay(0, 0, 0) == {"2026-03-04T03:00"}
    assert stay(2, 0, 0) == {"2026-03-04T03:00", "2026-03-03T09:00"}
    assert stay(0, 2, 0) == {"2026-03-04T03:00", "2026-02-20T03:00"}
    assert stay(1, 0, 3) == {"2026-03-04T03:00", "2026-02-20T03:00", "2026-01-31T03:00"}
    assert stay(9, 9, 9) == {it.name for it in copies} - {"2026-03-03T03:00"}


def test_it_is_known_when_a_copy_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    def at(text: str) -> Kept:
        return Kept(text, instants.parse(f"{text}T03:00:00Z") or 0, 1, "prazo/0", 1)

    copies, now = [at("2026-02-28"), at("2026-03-03"), at("2026-03-04")], at("2026-03-04").made_at
    ends = Keep(3, 0, 2).ends(copies, now)
    assert {name: instants.canonical(it)[:10] for name, it in ends.items()} == {
        "2026-02-28": "2026-04-01",  # the newest of the month before
        "2026-03-03": "2026-03-06",
        "2026-03-04": "2026-03-07",
    }
    monkeypatch.setattr(vaults, "_MOST_DAYS", 30)
    assert Keep(99, 0, 0).ends(copies, now) == {}


def _contents(folder: Path) -> dict[str, bytes]:
    files = (it for it in folder.rglob("*") if it.is_file())
    return {str(it.relative_to(folder)): it.read_bytes() for it in files}


def _write(vault: Vault, path: str, content: bytes) -> None:
    with vault._store.open_output_stream(path) as stream:
        stream.write(content)


def _note(kept: Kept, size: int) -> bytes:
    return json.dumps({**kept._asdict(), "size": size}).encode()
