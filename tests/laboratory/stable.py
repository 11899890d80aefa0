"""Forks the product's processes: each is a real one, and starting it repeats no imports.

`python -m tests.laboratory.stable` takes commands as JSON, one a line, and answers each with JSON:
`{"start": [argument...], "environment": {...}, "log": path}` -> `{"pid": n}`, and
`{"wait": pid, "seconds": n}` -> `{"code": n}`, negative for a signal, null where it has not ended.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests import fork_server

ROOT = Path(__file__).parents[2]
PRELOADED = (
    "pipeline.continuity.backup",
    "pipeline.audit.reproduce",
    "pipeline.continuity.restore",
    "pipeline.inbox.postgres.inbox",
    "pipeline.inbox.sqlite.inbox",
    "pipeline.receive.receiver",
    "pipeline.serve.api",
    "pipeline.serve.ledger_access",
    "pipeline.submit.gateway",
    "pipeline.submit.resume",
)


class Stable:
    """The test's hold on it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """`environment`: added to that of every process; libraries to preload work only here."""
        self._process = fork_server.start(
            [sys.executable, "-m", "tests.laboratory.stable"],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> int:
        """The process id of `prazo ARGUMENTS`, whose output goes to a file's end."""
        told = self._ask(start=list(arguments), environment=dict(environment), log=str(log))
        return int(told["pid"])

    def wait(self, pid: int, seconds: float) -> int | None:
        """Its exit code, negative for a signal; None where it still runs after so long."""
        code: int | None = self._ask(wait=pid, seconds=seconds)["code"]
        return code

    def _ask(self, **command: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(command)}\n")
        self._process.stdin.flush()
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told

    def close(self) -> None:
        """Ends it, and every process that it has started."""
        self._process.communicate()


# --- in the stable itself ---


def _run(arguments: Sequence[str], environment: Mapping[str, str], log: str) -> None:
    """Becomes that command; never returns."""
    code: object = 70
    try:
        with open(log, "ab") as out, open(os.devnull, "rb") as nothing:  # noqa: PTH123
            for file, number in ((nothing, 0), (out, 1), (out, 2)):
                os.dup2(file.fileno(), number)
        os.environ.update(environment)
        from pipeline.cli import main

        main(arguments, prog_name="prazo")
    except SystemExit as end:
        code = end.code
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _code(pid: int, seconds: float) -> int | None:
    until = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= until:
            return None
        time.sleep(0.01)


def _main() -> None:
    for module in PRELOADED:
        __import__(module)
    running: set[int] = set()
    for line in sys.stdin:
        command = json.loads(line)
        if "start" in command:
            pid = os.fork()
            if pid == 0:
                _run(command["start"], command["environment"], command["log"])
            running.add(pid)
            told: dict[str, object] = {"pid": pid}
        else:
            code = _code(command["wait"], command["seconds"])
            if code is not None:
                running.discard(command["wait"])
            told = {"code": code}
        sys.stdout.write(f"{json.dumps(told)}\n")
        sys.stdout.flush()
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    _main()
