"""Runs the real command in a folder of its own, or for a marketplace before a running sandbox."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.marketplace import _sandbox, marketplace, platform
from tests.support.stores import environment_in

__all__ = ["_sandbox", "marketplace", "platform"]

Prazo = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return os.environ | environment_in(tmp_path)


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
