"""Asks a running product from outside: its ports and its commands."""

import http.client
import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.commands import here


def wait_for(port: int, path: str) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            try:
                connection.request("GET", path)
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
        time.sleep(0.2)
    pytest.fail(f"nothing answered on {port}{path}")


def show(environment: dict[str, str], *arguments: str) -> list[dict]:
    """The rows of a view, once the ledger has them: a busy machine may need a while to follow."""
    until = time.monotonic() + 120
    while True:
        asked = ("show", *arguments, "--format", "json")
        ended = here(*asked, environment=environment, folder=Path.cwd())
        is_behind = "behind the inbox" in ended.stderr
        if not is_behind or time.monotonic() > until:
            break
    assert ended.returncode == 0, (ended.returncode, ended.stderr)
    rows: list[dict] = json.loads(ended.stdout)
    return rows
