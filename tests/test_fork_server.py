"""A program that was forked does what one does that was started by itself, and is a child of
the one that started it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import depth, fork_server
from tests.inbox import appender
from tests.support import commands
from tests.support.children import Child
from tests.support.machine import free_port
from tests.support.stores import environment_in

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
PRAZO = (sys.executable, "-m", "pipeline.cli")


@pytest.mark.parametrize(
    "arguments",
    depth.few([("--help",), ("nothing",), ("show", "no_such_view"), ("show",)], 2),
)
def test_it_prints_and_ends_as_one_that_was_started_by_itself(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    environment = os.environ | environment_in(tmp_path)
    forked = fork_server.start(
        [*PRAZO, *arguments],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert isinstance(forked, Child)
    alone = commands.apart(*arguments, environment=environment, folder=tmp_path)
    assert commands.end(forked) == (alone.returncode, alone.stdout, alone.stderr)


@pytest.mark.parametrize("program", [("-m", "tests.inbox.appender"), (appender.__file__,)])
def test_a_program_of_the_tests_is_forked_as_a_module_and_as_a_file(
    program: tuple[str, ...], tmp_path: Path
) -> None:
    location = str(tmp_path / "inbox.db")
    started = fork_server.start(
        [sys.executable, *program, location, "a"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert isinstance(started, Child)
    said, _ = started.communicate("2\n", timeout=60)
    assert json.loads(said)["seqs"] == [1, 2]


def test_it_is_killed_and_waited_for_as_a_child_of_its_own(tmp_path: Path) -> None:
    environment = os.environ | environment_in(tmp_path)
    command = [*PRAZO, "receive", "--port", str(free_port())]
    running = fork_server.start(command, env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        parent = Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()[1]
        assert int(parent) == os.getpid()
    finally:
        running.kill()
    assert running.wait(100) == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.kill(running.pid, 0)


@pytest.mark.parametrize(
    ("command", "environment"),
    [
        ((*PRAZO, "show"), {"PYTHONHASHSEED": "7"}),
        ((*PRAZO, "show"), {"TZ": "Asia/Tokyo"}),
        ((*PRAZO, "dashboard", "--help"), {}),
        ((sys.executable, "-m", "json.tool", "--help"), {}),
        ((sys.executable, "-c", "pass"), {}),
    ],
)
def test_what_has_to_begin_by_itself_does(
    command: tuple[str, ...], environment: dict[str, str], tmp_path: Path
) -> None:
    begun = fork_server.start(
        command, env=os.environ | environment, cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    begun.kill()
    begun.wait(100)
    assert type(begun) is subprocess.Popen
