"""Programs that ask DuckDB much are started with threads that keep what they free, and no command
starts threads for matrices."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import memory
from tests import depth

THREADS = Path("/proc/self/task")
OURS = "glibc.malloc.tcache_count=2000"
SAID = {
    "": OURS,
    "glibc.malloc.arena_max=1": f"glibc.malloc.arena_max=1:{OURS}",
    "glibc.malloc.tcache_count=50": "glibc.malloc.tcache_count=50",
}
"""With which tunables somebody begins, and with which the ledger's program is started."""
BEGIN = """
import os, sys
from pipeline.cli import main
from pipeline.serve import api

os.execv = api.serve = lambda *_, **__: sys.exit(print(os.environ["GLIBC_TUNABLES"]))
for os.environ["GLIBC_TUNABLES"] in sys.argv[2:]:
    try:
        main([sys.argv[1]])
    except SystemExit:
        pass
"""


@pytest.mark.parametrize("command", depth.few(["follow", "dashboard"], 2))
def test_what_holds_a_ledger_keeps_freed_memory_unless_somebody_says_otherwise(command: str):
    ended = _run(BEGIN, command, *SAID, GLIBC_TUNABLES="")
    said = [it for it in ended.stdout.splitlines() if not it.startswith("Folder ")]
    assert said == [*SAID.values()], ended.stderr


def test_a_ledgers_program_is_started_as_it_was_asked_for():
    """It was started by the words of the program around it, so that a program that called the
    command ran once more instead of it, and ended well. With --debug its log does not go into what
    libraries say of what they send."""
    program = """
import logging, os
from pipeline.cli import main

def shown(program, command):
    print(*command[1:], os.environ["PRAZO_DASHBOARD_HOST"], os.environ["PRAZO_DASHBOARD_PORT"])
    print(logging.getLevelName(logging.root.level))
    raise SystemExit

os.execv = shown
main(["--debug", "follow", "--without-bodies", "--host", "127.0.0.2", "--port", "8599"])
"""
    ended = _run(program, GLIBC_TUNABLES="")
    asked = "-P -m pipeline.cli --debug follow --without-bodies 127.0.0.2 8599"
    assert ended.stdout.splitlines() == [asked, "INFO"], ended.stderr


@pytest.mark.skipif(not THREADS.exists(), reason="needs /proc, where threads are listed")
@pytest.mark.parametrize(("said", "expected"), [(None, 1), ("2", 2)])
def test_no_command_starts_threads_for_matrices_unless_somebody_says_so(
    said: str | None, expected: int
):
    program = f"""
import os
from pipeline.cli import main

main(["show", "--help"], standalone_mode=False)
import numpy
raise SystemExit(len(os.listdir({str(THREADS)!r})))
"""
    environment = {it: os.environ[it] for it in os.environ if it != memory.BLAS_THREADS}
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=environment if said is None else {**environment, memory.BLAS_THREADS: said},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == min(expected, len(os.sched_getaffinity(0))), ended.stderr


def _run(program: str, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
