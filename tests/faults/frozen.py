"""A process that freezes itself while it holds the lock under which all writers take turns.

`python -m tests.faults.frozen LOCATION lock|copy` stops itself (SIGSTOP) right before it adds its
entries, or in the middle of that; when it is continued, it says what came of them: `recorded` or
`failed`, with the reason.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.errors import InboxUnavailable
from pipeline.inbox import open_inbox
from tests import fork_server
from tests.inbox.drafts import note

ROOT = Path(__file__).parents[2]


@contextmanager
def frozen(location: str, where: str) -> Iterator[subprocess.Popen[str]]:
    """Such a process, frozen already; killed at the end of the block if it still is there."""
    process = fork_server.start(
        [sys.executable, "-m", "tests.faults.frozen", location, where],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        os.waitpid(process.pid, os.WUNTRACED)
        yield process
    finally:
        process.kill()
        process.communicate()


def thawed(process: subprocess.Popen[str]) -> str:
    """Lets it go on; what came of its entries."""
    process.send_signal(signal.SIGCONT)
    said, _ = process.communicate(timeout=60)
    return said


def _freeze() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


class _Freezing(Sequence[Any]):
    """The values of a row, with a stop before the first."""

    def __init__(self, row: Sequence[Any]) -> None:
        self._row = row

    def __len__(self) -> int:
        return len(self._row)

    def __getitem__(self, index: Any) -> Any:
        if index == 0:
            _freeze()
        return self._row[index]


def _freeze_in_copy(inbox: Any) -> None:
    """Some rows are on their way, others are not."""
    rows_of = inbox.rows.to_rows

    def slowed(entries: Any) -> Any:
        *first, last = rows_of(entries)
        return [*first, _Freezing(last)]

    inbox.rows.to_rows = slowed


def _freeze_at_the_lock(inbox: Any) -> None:
    def freeze() -> int:
        _freeze()
        return time.time_ns() // 1000

    inbox.clock = freeze  # asked for between the lock and the entries


def _main(location: str, where: str) -> None:
    inbox = open_inbox(location)
    (_freeze_in_copy if where == "copy" else _freeze_at_the_lock)(inbox)
    try:
        inbox.append([note(body=bytes(50_000)) for _ in range(4)])
    except InboxUnavailable as error:
        sys.stdout.write(f"failed: {error}\n")
    else:
        sys.stdout.write("recorded\n")


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
