"""What tests of the ledger start and kill, or let fail: programs that follow a log or reconcile it.

A test starts one by `started`, forked from a process that has imported everything already.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pipeline.continuity import follower, reconcile
from pipeline.continuity.service import LedgerService
from pipeline.files import databases
from pipeline.inbox import store
from pipeline.settings import Settings
from tests import fork_server

ROOT = Path(__file__).parents[3]


def started(name: str, settings: Settings, *more: str, **options: Any) -> subprocess.Popen[str]:
    """The program of that name, over the stores of the settings."""
    given = settings.model_dump_json(exclude_none=True)
    command = [sys.executable, "-m", __name__, name, given, *more]
    return fork_server.start(command, cwd=ROOT, text=True, **options)


def follow_until_killed(settings: Settings) -> None:
    service = LedgerService(settings)
    service.start()
    sys.stdout.write("following\n")
    sys.stdout.flush()
    time.sleep(60)


def catch_up_and_die(settings: Settings) -> None:
    LedgerService(settings).catch_up()
    os.kill(os.getpid(), signal.SIGKILL)


def open_the_ledger(settings: Settings) -> None:
    LedgerService(settings)


def reconcile_until_killed(settings: Settings, step: str, call: str) -> None:
    """Killed before the so manyth call of a step."""
    owner = {"append": store.Inbox, "swap_in": databases, "write_whole": follower}[step]
    do, left = getattr(owner, step), int(call)

    def killing(*given: Any, **more: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return do(*given, **more)

    setattr(owner, step, killing)
    reconcile.ENTRIES_PER_COMMIT = 3
    reconcile.reconcile(settings, reason="r", actor="ana", recorded_by="user:ana")


if __name__ == "__main__":
    _, program, stores, *more = sys.argv
    globals()[program](Settings(**json.loads(stores)), *more)
