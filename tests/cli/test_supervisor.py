"""What falls is started again, what refuses its settings is not, and a signal stops all."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.cli.services import serve
from pipeline.cli.supervisor import Supervisor, _Child
from tests.cli.conftest import as_from_a_terminal
from tests.support.machine import free_port, wait_until

SUPERVISE = """
import sys
from pipeline.cli.supervisor import Supervisor
supervisor = Supervisor()
for number, program in enumerate(sys.argv[1:]):
    is_vital = not program.startswith("# not vital")
    supervisor.add(str(number), [sys.executable, "-c", program], is_vital=is_vital)
sys.exit(supervisor.run())
"""

Supervise = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def supervise(tmp_path: Path):
    started = []

    def run(*programs: str) -> subprocess.Popen[bytes]:
        running = subprocess.Popen(
            [sys.executable, "-c", SUPERVISE, *programs],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            start_new_session=True,  # as in a terminal of its own
            preexec_fn=as_from_a_terminal,
        )
        started.append(running)
        return running

    yield run
    for process in started:
        process.kill()
        process.communicate()


def ending(code: int, *, later: int | None = None, notes: str = "starts") -> str:
    """A program that notes its start, ends with a code, and with another from the second on."""
    then = code if later is None else later
    return (
        f"import os, sys; open('{notes}', 'a').write('.');"
        f"sys.exit({code} if os.path.getsize('{notes}') == 1 else {then})"
    )


STAYING = "import time; open('alive', 'w').close(); time.sleep(600)"


def starts(folder: Path, at_least: int, notes: str = "starts") -> int:
    path = folder / notes
    wait_until(lambda: path.exists() and len(path.read_text()) >= at_least)
    return len(path.read_text())


def test_what_ends_by_itself_is_started_again_and_what_it_said_last_and_how_it_ended_is_logged(
    supervise: Supervise, tmp_path: Path
):
    """It said `ended with code 1`, and which of three parts failed for what was for the reader."""
    killed = "import os; open('killed', 'a').write('.'); os.kill(os.getpid(), 9)"
    failing = "import sys; open('failing', 'a').write('.'); sys.exit('the disk is full')"
    of_codes = {f"ends with {code}": code for code in (0, 1, -9 % 256)}
    programs = [ending(code, notes=notes) for notes, code in of_codes.items()]
    running = supervise(killed, failing, *programs)
    for notes in ("killed", "failing", *of_codes):
        assert starts(tmp_path, 2, notes) >= 2
    running.send_signal(signal.SIGTERM)
    said = running.communicate(timeout=60)[1].decode()
    assert running.returncode == 0
    assert "the 0 ended by SIGKILL after" in said
    assert re.search("the 1 ended with code 1 after [0-9]+ s; started again in 1 s", said)
    assert 'it said last: "the disk is full"' in said


def test_settings_that_are_refused_at_the_start_stop_everything(
    supervise: Supervise, tmp_path: Path
):
    running = supervise(STAYING, ending(2))
    assert running.wait(60) == 2
    assert starts(tmp_path, 1) == 1


def test_settings_that_a_part_refuses_at_its_start_or_are_refused_later_leave_the_others_alone(
    supervise: Supervise, tmp_path: Path
):
    """A machine came up before the disk with the mail server's password: `prazo serve` ended, and
    nobody answered the platform."""
    later = ending(1, later=2, notes="later")
    running = supervise(STAYING, f"# not vital\n{ending(2)}", later)
    assert starts(tmp_path, 2) >= 2
    assert starts(tmp_path, 3, "later") >= 3
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 0


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGHUP, 129)], ids=["Ctrl-C", "closed"]
)
def test_what_a_terminal_sends_to_all_ends_each_process_as_sigterm_does(
    supervise: Supervise, tmp_path: Path, number: signal.Signals, code: int
):
    """At Ctrl-C each part that was still loading showed a traceback; when a terminal was closed,
    each died where it was, and a message or an attempt under way was sent again."""
    noting = f"""
import os, signal
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda number, _: open('heard', 'a').write(f'{{number}} '))
{STAYING.replace("600", "0.1")}
while not os.path.exists('heard'):
    time.sleep(0.1)
"""
    running = supervise(noting)
    wait_until((tmp_path / "alive").exists)
    os.killpg(running.pid, number)
    assert running.wait(60) == code
    assert (tmp_path / "heard").read_text() == f"{signal.SIGTERM:d} "


def test_of_what_serve_starts_the_receiver_alone_is_vital(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    added = {}

    def add(self: Supervisor, name: str, *_: object, is_vital: bool = True) -> None:
        added[name] = is_vital

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRAZO_ALERTS_FILE", "gone.toml")
    monkeypatch.setenv("PRAZO_RECEIVER_PORT", str(free_port()))
    monkeypatch.setattr(Supervisor, "add", add)
    monkeypatch.setattr(Supervisor, "run", lambda self: 0)
    assert CliRunner().invoke(serve).exit_code == 0
    assert added == {"receive": True, "alerts": False, "dashboard": False}


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells a process of its parent's end"
)
def test_nothing_goes_on_without_its_supervisor(supervise: Supervise, tmp_path: Path):
    """Killed, it left the receiver on its port and the dashboard on the ledger: the next one could
    start neither."""
    staying = (
        "import os, time; open('draft', 'w').write(str(os.getpid()));"
        "os.rename('draft', 'pid'); time.sleep(600)"
    )
    running = supervise(staying)
    wait_until((tmp_path / "pid").exists)
    pid = int((tmp_path / "pid").read_text())
    running.kill()
    wait_until(lambda: not is_alive(pid))


def test_a_part_that_the_machine_cannot_start_again_is_tried_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without memory for one of them all ended, the receiver too."""

    def no_memory(*_: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(Supervisor, "_start", no_memory)
    child = _Child("dashboard", [], None, is_vital=False, start_again_at=0.0)
    assert Supervisor()._watch(child) is None
    assert child.start_again_at is not None
    assert child.start_again_at > time.monotonic()
    assert "the dashboard cannot be started: [Errno 12] Cannot allocate memory" in caplog.text


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
