"""`prazo doctor` on disks that have little room, or that the system has mounted read-only."""

import json
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.cli.doctor import examine
from pipeline.cli.doctor.stores import disk
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxUnavailable
from pipeline.inbox import migrations, open_inbox
from pipeline.log.ndjson import read_line
from pipeline.settings import Settings
from tests.support.commands import here
from tests.support.lines import acp
from tests.support.stores import environment_in, settings_in


def read_only(settings: Settings) -> list[str]:
    return [it.found for it in examine(settings) if it.found.endswith("is mounted read-only")]


def test_a_ledger_on_a_disk_that_is_mounted_read_only_is_a_fault(
    small_disk: Path, tmp_path: Path
) -> None:
    """It could be read, so all was well, while no dashboard could start: nobody saw or was told of
    a deadline. What is on another disk is well, and what is never written to is not asked for."""
    own = settings_in(tmp_path)
    settings = own.model_copy(update={"ledger": small_disk / "ledger.duckdb"})
    LedgerService(settings).close()
    assert read_only(settings) == []
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert read_only(settings) == [f"{small_disk} is mounted read-only"]
    assert read_only(own) == []
    away = "postgresql://prazo@127.0.0.1:9/inbox"
    unused = {"inbox": away, "artifacts": small_disk / "artifacts"}
    assert read_only(own.model_copy(update=unused)) == []


def test_what_a_full_disk_holds_up_is_said_of_each(small_disk: Path, tmp_path: Path) -> None:
    """Of each disk it said that deliveries are answered 503, though the inbox was on another."""
    own = settings_in(tmp_path)
    held_up = {
        "ledger": "make room: when the ledger cannot be written, pages, alerts and packages stand"
        " still",
        "artifacts": "make room: when artifacts cannot be kept, collections with files are answered"
        " 503",
        "inbox": "make room: when the inbox cannot be written, deliveries are answered 503",
    }
    paths = {
        "ledger": small_disk / "ledger.duckdb",
        "artifacts": small_disk,
        "inbox": str(small_disk / "inbox.db"),
    }
    for name, remedy in held_up.items():
        settings = own.model_copy(update={name: paths[name]})
        assert [it.remedy for it in disk(settings) if str(small_disk) in it.found] == [remedy]
    together = own.model_copy(update=paths)
    assert [it.remedy for it in disk(together)] == [held_up["inbox"]]


def test_a_backup_onto_a_disk_that_is_mounted_read_only_says_so(
    small_disk: Path, tmp_path: Path
) -> None:
    """It said that the inbox cannot be migrated, and to stop every process that uses it. A first
    backup there named a file that nobody knows."""
    with closing(open_inbox(tmp_path / "inbox.db")) as inbox:
        inbox.append([read_line(json.dumps(acp()).encode(), recorded_by="file")])
    LedgerService(settings_in(tmp_path)).close()
    saved = small_disk / "saved"
    first = here("backup", str(saved), environment=environment_in(tmp_path), folder=tmp_path)
    assert first.returncode == 0, first.stderr
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for folder, barred in ((saved, saved), (small_disk / "other" / "one", small_disk)):
        done = here("backup", str(folder), environment=environment_in(tmp_path), folder=tmp_path)
        assert done.returncode == 2
        assert done.stderr == (
            f"Error: Nothing was copied: {barred} is mounted read-only\n"
            "  To fix it: mount it for writing, or give the right to whoever runs this; or choose"
            " another\n"
        )
    with pytest.raises(InboxUnavailable, match="is mounted read-only") as refused:
        migrations.migrate(saved / "inbox.db")
    assert "stop every process" not in refused.value.remedy
