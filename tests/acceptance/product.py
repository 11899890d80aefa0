"""Asks a running product from outside: its ports and its commands."""

import http.client
import json
import time
from contextlib import closing
from pathlib import Path

from tests.support.commands import here
from tests.support.machine import wait_until


def wait_for(port: int, path: str) -> None:
    def answers() -> bool:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            try:
                connection.request("GET", path)
                return connection.getresponse().status == 200
            except OSError:
                return False

    wait_until(answers, seconds=90, pause=0.2)


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
