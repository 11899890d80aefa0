"""A restore that is killed while the new inbox takes its place."""

from contextlib import closing

import pytest

from pipeline.inbox import open_inbox
from pipeline.settings import Settings
from tests import depth
from tests.audit.conftest import at_rest, command, followed, killed, settings

__all__ = ["at_rest", "followed", "settings"]

KILLED = """
import os, signal, sys
from pathlib import Path
from pipeline import files

seen = [0]

def counted(event, given):
    if event in ("os.rename", "os.link") and "inbox.db" in str(given[0]):
        seen[0] += 1
        if seen[0] == {step}:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(counted)
sys.argv = ["prazo", "restore", "--from-ledger"]
from pipeline.cli import run
run()
"""


@pytest.mark.parametrize(
    "step", depth.few([4, 2, 3, 5], 2)
)  # each name that changes; 1 makes the draft
def test_there_is_an_inbox_at_every_moment(settings: Settings, step: int) -> None:
    """Between two names there was none: the restore could not be run again, and said to start
    `prazo receive`, which would have begun another log."""
    killed(settings, KILLED.format(step=step))
    with closing(open_inbox(settings.inbox, create=False)) as inbox:
        assert inbox.last()[0] == 16
    done = command(settings, "restore", "--from-ledger")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "VERIFIED")
