"""A restore that is killed while the new inbox takes its place."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.inbox import open_inbox
from pipeline.settings import Settings
from tests import depth, fork_server
from tests.audit.conftest import at_rest, command, environment, followed, settings

__all__ = ["at_rest", "followed", "settings"]

ROOT = Path(__file__).parents[2]


def restore_and_die(step: int) -> None:
    """`prazo restore`, killed as it changes so many names."""
    seen = [0]

    def count(event: str, given: tuple[object, ...]) -> None:
        if event in ("os.rename", "os.link") and "inbox.db" in str(given[0]):
            seen[0] += 1
            if seen[0] == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    main(["restore", "--from-ledger"])


STEPS = depth.few([4, 2, 3, 5], 2)
"""Each name that changes; the first makes the draft."""


@pytest.mark.parametrize("steps", [[it] for it in STEPS] if depth.is_long() else [STEPS])
def test_there_is_an_inbox_at_every_moment(settings: Settings, steps: list[int]) -> None:
    """Between two names there was none: the restore could not be run again, and said to start
    `prazo receive`, which would have begun another log."""
    for step in steps:
        program = [sys.executable, "-m", "tests.faults.test_restore_killed", str(step)]
        killed = fork_server.start(
            program, cwd=ROOT, env=environment(settings), stderr=subprocess.PIPE, text=True
        )
        _, said = killed.communicate(timeout=60)
        assert killed.returncode == -signal.SIGKILL, said
        with closing(open_inbox(settings.inbox, create=False)) as inbox:
            assert inbox.last()[0] == 16
    done = command(settings, "restore", "--from-ledger")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "VERIFIED")


if __name__ == "__main__":
    restore_and_die(int(sys.argv[1]))
