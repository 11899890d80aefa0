"""Asks a running product from outside: its ports and its commands."""

import http.client
import json
import socket
import subprocess
import sys
import time
from contextlib import closing

import pytest


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int, path: str) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            try:
                connection.request("GET", path)
                if connection.getresponse().status == 200:
                    return
            except OSError:
                time.sleep(0.2)
    pytest.fail(f"nothing answered on {port}{path}")


def show(environment: dict[str, str], *arguments: str) -> list[dict]:
    ended = subprocess.run(
        [sys.executable, "-m", "pipeline.cli", "show", *arguments, "--format", "json"],
        env=environment,
        capture_output=True,
        timeout=120,
    )
    assert ended.returncode == 0, (ended.returncode, ended.stderr.decode())
    rows: list[dict] = json.loads(ended.stdout)
    return rows
