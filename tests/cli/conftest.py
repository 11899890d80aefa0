"""Runs the real command in a folder of its own, or for a marketplace before a running sandbox."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import here
from tests.support.stores import environment_in

Prazo = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return os.environ | environment_in(tmp_path)


@pytest.fixture
def prazo(environment: dict[str, str], tmp_path: Path) -> Prazo:
    """`prazo("show", "watchlist", given="...")` -> what it ended with, and its output."""

    def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return here(*arguments, environment=environment, folder=tmp_path, given=given)

    return run
