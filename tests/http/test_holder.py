"""Where the ledger's holder listens is found as long as it holds the ledger."""

from pathlib import Path

import pytest

from pipeline.http import holder
from tests.support.machine import wait_until


def test_an_announcement_that_was_deleted_is_there_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command and whoever sends alerts found nobody to ask until the dashboard was started
    again."""
    monkeypatch.setattr(holder, "LOOK_SECONDS", 0.02)
    ledger = tmp_path / "ledger.duckdb"
    with holder.announced(ledger, "127.0.0.1", 8501) as announcement:
        (file,) = tmp_path.iterdir()
        file.unlink()
        wait_until(lambda: holder.find(ledger) == announcement)
        assert file.stat().st_mode & 0o077 == 0
    assert holder.find(ledger) is None
