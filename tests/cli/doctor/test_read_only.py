"""`prazo doctor` on a disk that the system has mounted read-only, as it does after an error."""

import subprocess
from pathlib import Path

from pipeline.cli.doctor import examine
from pipeline.ledger.service import LedgerService
from pipeline.settings import Settings
from tests.support.stores import settings_in


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
