"""Runs the real command in a folder of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Prazo = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    inherited = {name: it for name, it in os.environ.items() if not name.startswith("PRAZO_")}
    return inherited | {
        "PRAZO_INBOX": str(tmp_path / "inbox.db"),
        "PRAZO_LEDGER": str(tmp_path / "ledger.duckdb"),
        "PRAZO_ARTIFACTS": str(tmp_path / "artifacts"),
        "PRAZO_SIGNING_KEY_FILE": str(tmp_path / "keys" / "signing.key"),
        "PRAZO_TAXPAYER_KEY_FILE": str(tmp_path / "keys" / "taxpayer.key"),
    }


@pytest.fixture
def prazo(environment: dict[str, str], tmp_path: Path) -> Prazo:
    """`prazo("show", "watchlist", given="...")` -> the finished process, with its output."""

    def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pipeline.cli", *arguments],
            input=given,
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            timeout=60,
            check=False,
        )

    return run
