"""A thread asks for short turns for itself alone, and all else about it stays as it was. A process
that shows pages gives way to others."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.short_turns import NICENESS, TURN_NANOSECONDS, short_in_python, take_short_turns
from tests import depth
from tests.support.machine import free_port

SHOWN = Path("/proc/self/sched")


class Turns(NamedTuple):
    """Of one thread: nanoseconds at a time, as the kernel shows them, and its share."""

    nanoseconds: int
    nice: int

    @classmethod
    def now(cls) -> "Turns":
        own = threading.get_native_id()
        lines = Path(f"/proc/self/task/{own}/sched").read_text().splitlines()
        [shown] = [line.split()[-1] for line in lines if line.startswith("se.slice ")]
        return cls(int(shown), os.getpriority(os.PRIO_PROCESS, own))


def test_a_thread_asks_for_itself_alone():
    if not SHOWN.exists() or "se.slice " not in SHOWN.read_text():
        pytest.skip("this kernel does not show the turns of a thread")
    mine, did, of_thread, of_its_child, of_another = Turns.now(), [], [], [], []
    another = threading.Thread(target=lambda: of_another.append(Turns.now()))
    another.start()
    another.join()
    [before] = of_another  # the first thread may have asked for short turns in another test

    def work() -> None:
        did.append(take_short_turns())
        child = threading.Thread(target=lambda: of_its_child.append(Turns.now()))
        child.start()
        child.join()
        of_thread.append(Turns.now())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if did == [False]:
        pytest.skip("this kernel gives nobody short turns")
    assert of_thread == [Turns(TURN_NANOSECONDS, before.nice)]
    assert of_its_child == [before]
    assert Turns.now() == mine


def test_where_there_are_no_such_turns_nothing_happens(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("platform.machine", lambda: "sparc")
    assert take_short_turns() is False


def test_turns_at_the_lock_of_python_are_short_until_the_last_block_that_wants_them_ends():
    """Before: where one ledger had read ahead to its end, the turns of all others were long."""
    begun, ends = threading.Event(), threading.Event()
    seen = [sys.getswitchinterval()]

    def other() -> None:
        with short_in_python():
            begun.set()
            ends.wait(60)

    def failing() -> None:
        with short_in_python():
            thread.start()
            assert begun.wait(60)
            with short_in_python():
                seen.append(sys.getswitchinterval())
            seen.append(sys.getswitchinterval())
            raise OSError("the disk")

    thread = threading.Thread(target=other)
    with pytest.raises(OSError, match="the disk"):
        failing()
    seen.append(sys.getswitchinterval())
    ends.set()
    thread.join()
    seen.append(sys.getswitchinterval())
    assert seen == [0.005, 0.0003, 0.0003, 0.0003, 0.005]


SAYS = "lambda *_, **__: print(os.nice(0))"
INSTEAD = {
    "receive": f"from pipeline.receive import receiver; receiver.serve = {SAYS}",
    "follow": f"from pipeline.serve import api; api.serve = {SAYS}",
    "dashboard": f"os.execv = {SAYS}",
}


@pytest.mark.parametrize("command", INSTEAD)
@pytest.mark.parametrize("further", depth.few([9, 0], 2))
def test_pages_give_way_and_the_receiver_does_not(command: str, further: int):
    """`further`: by how much the process gives way already, beyond this one."""
    program = (
        f"import os; from pipeline.cli import main; {INSTEAD[command]};"
        f" os.nice({further}); main(['{command}', '--port', '{free_port()}'])"
    )
    # With it, `prazo follow` does not begin once more, and give way once more.
    environment = os.environ | {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=2000"}
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    given = os.nice(0) + further
    expected = given if command == "receive" else max(given, NICENESS)
    assert ended.stdout.splitlines()[-1] == str(expected), ended.stderr
