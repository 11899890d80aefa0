"""A process that appends to an inbox when it is told to, and says what was acknowledged.

`python -m tests.inbox.appender LOCATION NAME` opens the inbox at its first command. Commands, one a
line: a number of drafts to append in one batch. Answers, one JSON object a line: `{"seqs": [...],
"seconds": ...}` or `{"failed": ..., "seconds": ...}`. Event ids are NAME:1, NAME:2 and so on. With
`TEND_SECONDS` in its environment, whoever tends the file holds it for so long.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.errors import InboxUnavailable
from pipeline.inbox import Inbox, open_inbox
from pipeline.inbox.sqlite import inbox as sqlite_inbox
from tests import fork_server
from tests.inbox.drafts import webhook

ROOT = Path(__file__).parents[2]


class Appender:
    """The test's hold on such a process."""

    def __init__(self, location: str, name: str, environment: Mapping[str, str] | None = None):
        self.name = name
        self.process = fork_server.start(
            [sys.executable, "-m", "tests.inbox.appender", location, name],
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._commands, self._answers = self.process.stdin, self.process.stdout

    def tell(self, count: int) -> None:
        self._commands.write(f"{count}\n")
        self._commands.flush()

    def answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._answers.readline())
        return answer

    def append(self, count: int = 1) -> dict[str, Any]:
        self.tell(count)
        return self.answer()

    def kill(self) -> None:
        self.process.kill()
        self.stop()

    def stop(self) -> None:
        if not self._commands.closed:
            self._commands.close()
            self.process.wait()
            self._answers.close()


@contextmanager
def appenders(
    location: str, *names: str, environment: Mapping[str, str] | None = None
) -> Iterator[list[Appender]]:
    """Some of them, stopped at the end."""
    started = [Appender(location, name, environment) for name in names]
    try:
        yield started
    finally:
        for appender in started:
            appender.stop()


def _main(location: str, name: str) -> None:
    inbox: Inbox | None = None
    if seconds := os.environ.get("TEND_SECONDS"):
        sqlite_inbox.TEND_SECONDS = int(seconds)  # type: ignore[misc]
    count = 0
    for command in sys.stdin:
        drafts = [
            webhook(f"{name}:{number}", process_id=f"p{number % 3}", seller_id="s")
            for number in range(count + 1, count + int(command) + 1)
        ]
        count += len(drafts)
        started = time.monotonic()
        answer: dict[str, Any]
        try:
            inbox = inbox or open_inbox(location)
            answer = {"seqs": [it.entry.seq for it in inbox.append(drafts) if it.entry]}
        except InboxUnavailable as error:
            answer = {"failed": str(error)}
        sys.stdout.write(json.dumps({**answer, "seconds": time.monotonic() - started}) + "\n")
        sys.stdout.flush()
    if inbox is not None:
        inbox.close()


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
