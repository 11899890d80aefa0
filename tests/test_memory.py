"""Programs that ask DuckDB much are started with threads that keep what they free."""

import os
import subprocess
import sys

import pytest

OURS = "glibc.malloc.tcache_count=2000"
SHOWS = "lambda *_, **__: print(os.environ['GLIBC_TUNABLES'])"
INSTEAD = {
    "follow": f"from pipeline.serve import api; api.serve = {SHOWS}",
    "dashboard": f"os.execv = {SHOWS}",
}


@pytest.mark.parametrize("command", INSTEAD)
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", OURS),
        ("glibc.malloc.arena_max=1", f"glibc.malloc.arena_max=1:{OURS}"),
        ("glibc.malloc.tcache_count=50", "glibc.malloc.tcache_count=50"),
    ],
)
def test_what_holds_a_ledger_keeps_freed_memory_unless_somebody_says_otherwise(
    command: str, said: str, expected: str
):
    program = f"import os; from pipeline.cli import main; {INSTEAD[command]}; main(['{command}'])"
    environment = os.environ | {"GLIBC_TUNABLES": said}
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert ended.stdout.strip() == expected, ended.stderr
