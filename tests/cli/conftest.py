"""Runs the real command in a folder of its own, or for a marketplace before a running sandbox."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.commands import here
from tests.support.machine import free_port, wait_until
from tests.support.stores import environment_in

Prazo = Callable[..., subprocess.CompletedProcess[str]]


def as_from_a_terminal(*, nohup: bool = False) -> None:
    """For a program that is about to start: heeds what a shell's background ignores."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if nohup:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """With ports of its own: at the usual ones parts of another run may answer."""
    ports = {f"PRAZO_{it}_PORT": str(free_port()) for it in ("RECEIVER", "DASHBOARD")}
    return os.environ | environment_in(tmp_path) | ports


@pytest.fixture
def prazo(environment: dict[str, str], tmp_path: Path) -> Prazo:
    """`prazo("show", "watchlist", given="...")` -> what it ended with, and its output."""

    def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return here(*arguments, environment=environment, folder=tmp_path, given=given)

    return run


@pytest.fixture
def follower(environment: dict[str, str]) -> Iterator[str]:
    """`prazo follow`, which holds the ledger: where it listens."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", "follow", "--port", str(port)],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=url, trust_env=False) as client:

            def answers() -> bool:
                try:
                    return client.get("/api/status").status_code == 200
                except httpx.HTTPError:
                    return False

            wait_until(answers, pause=0.05)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
