"""What a command says and leaves on a full disk: one error, its remedy, and nothing half-made.
And a disk that nobody may write to."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.continuity import backup, restore
from pipeline.continuity.service import LedgerService
from pipeline.errors import NotRestored
from pipeline.inbox import open_inbox
from pipeline.ledger.scratch import Copy
from pipeline.settings import Settings
from tests.audit.conftest import command, environment
from tests.forward.conftest import deliver
from tests.support import events
from tests.support.commands import here
from tests.support.stores import environment_in, settings_in


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Stores with a process that can be exported."""
    made = settings_in(tmp_path)
    with closing(LedgerService(made)) as service:
        deliver(service.inbox, events.review())
        service.catch_up()
        service.checkpoint()
    return made


def fill(small_disk: Path, but: int) -> None:
    """Leaves so many bytes."""
    ballast = small_disk / "ballast"
    ballast.unlink(missing_ok=True)
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - but))


def test_rows_or_a_package_for_which_there_is_no_room_say_so_in_one_error_and_are_not_left_by_half(
    settings: Settings, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback of the zip stood beneath it, and the remedy was to check the path."""
    fill(small_disk, but=0)
    out = small_disk / "rows.csv"
    refused = command(settings, "show", "process_state", "--format", "csv", "--out", str(out))
    assert refused.returncode == 1
    words = f"Error: `prazo show` was not done: no room is left in {small_disk} ("
    assert words in refused.stderr
    assert [it.name for it in small_disk.iterdir()] == ["ballast"]
    # A spreadsheet is put together in temporary files. It left them, with what the rows hold.
    for copy in [Copy.taken() for _ in range(2)]:
        copy.give_back()  # packages are worked out in them, and this process keeps them
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    refused = command(settings, "show", "process_state", "--format", "xlsx", "--out", "rows.xlsx")
    assert refused.returncode == 1
    assert "Error: The spreadsheet was not made: No space left on device" in refused.stderr
    assert "let TMPDIR name another folder" in refused.stderr
    assert [it.name for it in small_disk.iterdir()] == ["ballast"]
    asked = ("--process", "prc_1", "--reason", "audit", "--actor", "Ana")
    fill(small_disk, but=40_000)
    refused = command(settings, "export", *asked, "--out", str(small_disk / "p.zip"))
    assert refused.returncode == 1
    assert [it for it in refused.stderr.splitlines() if it.strip()] == [
        f"Error: The package was not made: there is no room left in {small_disk}",
        "  To fix it: make room there and ask for it again; nothing was left there. The log has the"
        " entry of this export already: where a second person had approved it, it has to be"
        " approved again",
    ]
    fill(small_disk, but=0)
    refused = command(settings, "export", *asked, "--out", str(small_disk / "p.zip"))
    assert refused.returncode == 1
    # Before there was an entry it named no folder: "no room is left in what it writes to".
    assert [it for it in refused.stderr.splitlines() if it.strip()] == [
        f"Error: The package was not made: there is no room left in {small_disk}",
        "  To fix it: make room there, then ask for it again; nothing was left there",
    ]
    assert [it.name for it in small_disk.iterdir()] == ["ballast"]
    (small_disk / "ballast").unlink()
    assert command(settings, "export", *asked, "--out", str(small_disk / "p.zip")).returncode == 0


def test_a_ledger_without_room_for_more_shows_and_tells_what_it_holds(
    small_disk: Path, tmp_path: Path
) -> None:
    """Where nobody else held it, not a row was shown, and `prazo alerts send` told nobody of a
    deadline that stood in it."""
    (tmp_path / "alerts.toml").write_text(
        '[recipients.ana]\nwebhook = "http://127.0.0.1:1/"\nwebhook_secret_file = "secret"\n'
        '[[routes]]\nto = ["ana"]\nseverities = ["breach"]\n'
    )
    (tmp_path / "secret").write_text("whsec_" + "QUFB" * 8)
    soon = instants.canonical(instants.now() + instants.DAY // 2)
    made = settings_in(tmp_path, ledger=small_disk / "ledger.duckdb")
    with closing(LedgerService(made)) as service:
        deliver(service.inbox, events.review(deadline_at=soon))
        service.catch_up()
        deliver(service.inbox, events.review(process_id="prc_2"))
    fill(small_disk, but=0)
    asked = environment_in(tmp_path) | {"PRAZO_ALERTS_FILE": str(tmp_path / "alerts.toml")}
    elsewhere = {"PRAZO_LEDGER": str(shutil.copy(made.ledger, tmp_path))}
    for asking, full, found, why in (
        (
            ("alerts", "send"),
            {"PRAZO_LEDGER": str(made.ledger)},
            "nobody is told of alert",
            "did not take entries 2 to 2",
        ),
        (
            ("show", "process_state", "--format", "csv"),
            elsewhere | {"PRAZO_HEAD_FILE": f"{small_disk}/head"},
            "prc_2",
            "The newest head could not be kept in",
        ),
    ):
        done = here(*asking, environment=os.environ | asked | full, folder=tmp_path)
        assert done.returncode == 1
        assert found in done.stdout + done.stderr
        assert "The ledger does not follow its inbox" in done.stderr
        assert why in done.stderr
        assert "make room" in done.stderr


def test_a_full_disk_is_not_a_wrong_setting(settings: Settings, small_disk: Path) -> None:
    """An artifact ended with 2, and so did a key, whose remedy was to take it from a backup."""
    folder = settings.ledger.parent
    (folder / "screen.png").write_bytes(b"a screen" * 1000)
    said = {
        "occurred_at": "2026-03-01T12:00:00Z",
        "process_id": "prc_1",
        "seller_id": "sel_1",
        "journey_id": "jrn_1",
        "step": "answered",
        "channel": "web_form",
        "source": "seller",
        "fields": {"revenue": "1000_to_5000"},
        "artifacts": [{"name": "s", "media_type": "image/png", "path": "screen.png"}],
    }
    (folder / "c.json").write_text(json.dumps(said))
    (small_disk / "keys").mkdir()
    for key in ("signing.key", "taxpayer.key"):
        shutil.copy(folder / "keys" / key, small_disk / "keys")
    fill(small_disk, but=0)
    artifacts = {**environment(settings), "PRAZO_ARTIFACTS": str(small_disk / "artifacts")}
    keys = {**environment(settings), "PRAZO_SIGNING_KEY_FILE": f"{small_disk}/keys/signing.key"}
    for asked, where, what in (
        (("collect", "c.json"), artifacts, "Error: The artifact was not kept: there is no room"),
        (("rotate-key", "--actor", "Ana", "--reason", "r"), keys, "signing.key.next was not made"),
    ):
        refused = here(*asked, environment=where, folder=folder)
        assert refused.returncode == 1, refused.stderr
        assert what in refused.stderr
        assert "make room there" in refused.stderr


def test_a_backup_on_a_disk_that_is_mounted_read_only_is_read(
    small_disk: Path, tmp_path: Path
) -> None:
    """It was refused as one that cannot be read, "unable to open database file", and the remedy was
    to try another backup. Snapshots, and disks that are kept from harm, are mounted like that."""
    made, elsewhere = settings_in(tmp_path), settings_in(tmp_path / "elsewhere")
    with closing(open_inbox(made.inbox)) as inbox:
        deliver(inbox, events.review())
    backup.backup(made, small_disk)
    with read_only(small_disk):
        with backup.opened_inbox(str(small_disk / "inbox.db"), is_at_rest=True) as inbox:
            assert inbox.last()[0] == 1
        with pytest.raises(NotRestored, match="no key of the log is known here"):
            restore.restore(elsewhere, small_disk, against="no note")
    (small_disk / "inbox.db-wal").write_bytes(b"what a killed backup may have left")
    with read_only(small_disk), pytest.raises(NotRestored) as refused:
        restore.restore(elsewhere, small_disk)
    assert refused.value.remedy.startswith("copy it to where you may write, and restore the copy")


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """As which it is mounted during the block."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
