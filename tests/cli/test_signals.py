"""Signals end each part and each command in one way (docs/operations.md#signals)."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import as_from_a_terminal
from tests.support.machine import free_port, wait_until
from tests.support.stores import environment_in

Start = Callable[..., "subprocess.Popen[bytes]"]
PARTS: dict[str, list[str]] = {
    "receive": ["receive"],
    "follow": ["follow"],
    "dashboard": ["dashboard"],
    "the seller's page": ["journey", "run"],
    "forward": ["forward", "run"],
    "alerts": ["alerts", "run"],
    "resume": ["resume", "--follow"],
    "serve": ["serve"],
}
LEFT_TO_A_LONG_RUN = {"alerts", "follow", "forward", "resume", "the seller's page"}
LISTENS = {
    "receive": "PRAZO_RECEIVER_PORT",
    "follow": "PRAZO_DASHBOARD_PORT",
    "dashboard": "PRAZO_DASHBOARD_PORT",
    "the seller's page": "PRAZO_JOURNEY_PORT",
    "serve": "PRAZO_RECEIVER_PORT",
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "forward.toml").touch()
    (tmp_path / "alerts.toml").touch()
    page = free_port()
    return {
        **os.environ,
        **environment_in(tmp_path),
        "PRAZO_RECEIVER_PORT": str(free_port()),
        "PRAZO_DASHBOARD_PORT": str(free_port()),
        "PRAZO_JOURNEY_PORT": str(page),
        "PRAZO_JOURNEY_URL": f"http://127.0.0.1:{page}",
        "PRAZO_FORWARD_FILE": str(tmp_path / "forward.toml"),
        "PRAZO_ALERTS_FILE": str(tmp_path / "alerts.toml"),
    }


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """`start("receive")` -> the running command, in a group of its own."""
    running = []

    def run(*words: str, nohup: bool = False) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline.cli", *words],
            env=environment,
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=partial(as_from_a_terminal, nohup=nohup),
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def heeds(process: "subprocess.Popen[bytes]", number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal, as Linux tells."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    [caught] = [it.split()[1] for it in lines if it.startswith("SigCgt")]
    return bool(int(caught, 16) >> (number - 1) & 1)


def answers(port: str) -> bool:
    with socket.socket() as asking:
        asking.settimeout(2)
        try:
            asking.connect(("127.0.0.1", int(port)))
            asking.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            return asking.recv(1) == b"H"
        except OSError:
            return False


def is_up(part: str, process: "subprocess.Popen[bytes]", environment: dict[str, str]) -> None:
    if part in LISTENS:
        wait_until(lambda: answers(environment[LISTENS[part]]), pause=0.1)
    wait_until(lambda: heeds(process, signal.SIGHUP))


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which signals are heeded")
@pytest.mark.parametrize(
    "part",
    [pytest.param(it, marks=[pytest.mark.long] * (it in LEFT_TO_A_LONG_RUN)) for it in PARTS],
)
def test_a_terminal_that_is_closed_ends_each_part_as_term_does_with_129(
    part: str, start: Start, environment: dict[str, str]
) -> None:
    """`serve` ended with 0, as if somebody had stopped it; the others died where they were."""
    process = start(*PARTS[part])
    is_up(part, process, environment)
    process.send_signal(signal.SIGHUP)
    _, said = process.communicate(timeout=45)
    assert process.returncode == 129, said.decode()
    if part == "receive":
        assert b"Application shutdown complete" in said
    assert b"Traceback" not in said


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which signals are heeded")
@pytest.mark.parametrize(
    "part",
    [
        *("receive", "dashboard"),
        *(pytest.param(it, marks=pytest.mark.long) for it in ("forward", "serve", "follow")),
    ],
)
def test_where_it_was_ignored_at_the_start_it_does_nothing(
    part: str, start: Start, environment: dict[str, str]
) -> None:
    """As `nohup` has it."""
    process = start(*PARTS[part], nohup=True)
    if part in LISTENS:
        wait_until(lambda: answers(environment[LISTENS[part]]), pause=0.1)
    else:
        assert process.stderr is not None
        while b"deliveries go to nobody" not in process.stderr.readline():
            assert process.poll() is None
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=45)
    assert process.returncode in ((0, -signal.SIGTERM) if part == "dashboard" else (0,))


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which signals are heeded")
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
        (signal.SIGQUIT, -signal.SIGQUIT),  # at once, as a crash: a shell says 131
    ],
)
def test_a_command_that_is_interrupted_ends_with_the_signal_s_code(
    number: signal.Signals, code: int, start: Start
) -> None:
    """Ctrl-C ended it with 1, which is an answer: what `prazo verify` was asked is not true."""
    process = start("ingest", "-")
    assert process.stderr is not None
    while b"a new log" not in process.stderr.readline():  # it waits for lines now
        assert process.poll() is None
    process.send_signal(number)
    _, said = process.communicate(timeout=45)
    assert process.returncode == code
    assert said.strip() == (b"" if number is signal.SIGQUIT else b"Aborted!")


def test_a_command_that_ctrl_c_cannot_reach_ends_by_term(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """What a script starts in the background has Ctrl-C ignored; TERM must still end it."""
    program = "import signal, os, sys; signal.signal(signal.SIGINT, signal.SIG_IGN);"
    program += "os.execv(sys.executable, [sys.executable, '-m', 'pipeline.cli', 'ingest', '-'])"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        while b"a new log" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(45) == -signal.SIGTERM
