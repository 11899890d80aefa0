"""A process that forks writers, so that a test can kill many of them: a fork repeats no imports.

`python -m tests.faults.writers LOCATION` takes commands, one a line: `start` forks a writer that
appends until it is killed, `wait PID` waits for its end. It answers with JSON, one object per line:
`{"started": pid}`; `{"writer": pid, "seqs": [...]}` or `{"writer": pid, "failed": ...}` after each
append; and `{"ended": pid}`, behind everything that this writer has said.
"""

import json
import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

from pipeline.errors import InboxUnavailable
from pipeline.inbox import open_inbox
from pipeline.inbox.postgres import inbox as postgres
from pipeline.inbox.sqlite import inbox as sqlite
from tests import fork_server
from tests.inbox.drafts import webhook

ROOT = Path(__file__).parents[2]
ENGINES = (postgres, sqlite)  # imported before any fork, which `open_inbox` leaves for later


class Writers:
    """The test's hold on them, and the journal of what they were acknowledged."""

    def __init__(self, location: str) -> None:
        self.acknowledged: list[int] = []
        self.failures: list[str] = []
        self._process = fork_server.start(
            [sys.executable, "-m", "tests.faults.writers", location],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self) -> int:
        """A new writer's process id, once it has been acknowledged something."""
        pid: int = self._ask("start", "started")
        is_writing = False
        while not is_writing:
            said = self._answer()
            self._note(said)
            is_writing = said["writer"] == pid
        return pid

    def kill(self, pid: int) -> None:
        """SIGKILL; afterwards the journal holds all that the writer was acknowledged."""
        os.kill(pid, signal.SIGKILL)
        self._ask(f"wait {pid}", "ended")

    def _ask(self, command: str, answer: str) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        while answer not in (said := self._answer()):
            self._note(said)
        return said[answer]

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        said: dict[str, Any] = json.loads(self._process.stdout.readline())
        return said

    def _note(self, said: dict[str, Any]) -> None:
        self.acknowledged += said.get("seqs", [])
        if "failed" in said:
            self.failures.append(said["failed"])

    def close(self) -> None:
        self._process.communicate()


def _say(**said: object) -> None:
    """In one write of less than a pipe's atomic 4096 bytes: it arrives whole or not at all."""
    os.write(1, f"{json.dumps(said)}\n".encode())


def _write_for_ever(location: str) -> None:
    inbox = open_inbox(location)
    for turn in count():
        drafts = [
            webhook(f"{os.getpid()}:{turn}:{number}", process_id=f"p{number}", seller_id="s")
            for number in range(1 + turn % 3)
        ]
        try:
            seqs = [it.entry.seq for it in inbox.append(drafts) if it.entry]
        except InboxUnavailable as error:
            _say(writer=os.getpid(), failed=str(error))
        else:
            _say(writer=os.getpid(), seqs=seqs)


def _main(location: str) -> None:
    writers: set[int] = set()
    for command in sys.stdin:
        match command.split():
            case ["start"]:
                pid = os.fork()
                if pid == 0:
                    _write_for_ever(location)
                writers.add(pid)
                _say(started=pid)
            case ["wait", pid_text]:
                os.waitpid(int(pid_text), 0)
                writers.discard(int(pid_text))
                _say(ended=int(pid_text))
    for pid in writers:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    _main(sys.argv[1])
