"""What falls is started again, what refuses its settings is not, and a signal stops all."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

SUPERVISE = """
import sys
from pipeline.supervisor import Supervisor
supervisor = Supervisor()
for number, program in enumerate(sys.argv[1:]):
    supervisor.add(str(number), [sys.executable, "-c", program])
sys.exit(supervisor.run())
"""

Supervise = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def supervise(tmp_path: Path):
    started = []

    def run(*programs: str) -> subprocess.Popen[bytes]:
        running = subprocess.Popen([sys.executable, "-c", SUPERVISE, *programs], cwd=tmp_path)
        started.append(running)
        return running

    yield run
    for it in started:
        it.kill()
        it.wait()


def ending(code: int, *, later: int | None = None) -> str:
    """A program that notes its start, ends with a code, and with another from the second on."""
    then = code if later is None else later
    return (
        "import os, sys; open('starts', 'a').write('.');"
        f"sys.exit({code} if os.path.getsize('starts') == 1 else {then})"
    )


STAYING = "import time; open('alive', 'w').close(); time.sleep(60)"


def starts(folder: Path, at_least: int) -> int:
    until = time.monotonic() + 20
    path = folder / "starts"
    while time.monotonic() < until:
        if path.exists() and len(path.read_text()) >= at_least:
            return len(path.read_text())
        time.sleep(0.05)
    return len(path.read_text()) if path.exists() else 0


@pytest.mark.parametrize("code", [0, 1, -9 % 256])
def test_what_ends_by_itself_is_started_again(supervise: Supervise, tmp_path: Path, code: int):
    running = supervise(ending(code))
    assert starts(tmp_path, 2) >= 2
    running.send_signal(signal.SIGTERM)
    assert running.wait(20) == 0


def test_settings_that_are_refused_at_the_start_stop_everything(
    supervise: Supervise, tmp_path: Path
):
    running = supervise(STAYING, ending(2))
    assert running.wait(20) == 2
    assert starts(tmp_path, 1) == 1


def test_settings_that_are_refused_later_leave_the_others_alone(
    supervise: Supervise, tmp_path: Path
):
    running = supervise(STAYING, ending(1, later=2))
    assert starts(tmp_path, 3) >= 3
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    assert running.wait(20) == 0
