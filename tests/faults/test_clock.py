"""A wall clock that jumps under a running receiver: what it stamps, says and shows."""

import csv
import io
import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.inbox import open_inbox
from pipeline.log.entries import Entry
from pipeline.log.kinds.clock import CLOCK
from pipeline.log.kinds.ticket import TICKET
from pipeline.log.kinds.webhook import WEBHOOK
from tests import depth
from tests.faults.shim import ClockShim
from tests.support.events import event, review
from tests.support.machine import wait_until
from tests.support.receiver import RunningReceiver, receiver
from tests.support.soundness import all_entries, assert_sound
from tests.support.stores import environment_in

DAY_SECONDS = 86_400
NEAR = instants.MINUTE


def _entries(location: str) -> list[Entry]:
    with closing(open_inbox(location, create=False)) as inbox:
        entries = all_entries(inbox)
        assert_sound(entries, inbox.log)
        return entries


def _clock_entries(location: str) -> list[dict[str, Any]]:
    return [it.particulars for it in _entries(location) if it.kind == CLOCK]


def _gauge(running: RunningReceiver, name: str) -> float:
    lines = running.ask("GET", "/metrics").body.decode().splitlines()
    return float(next(it.split()[1] for it in lines if it.startswith(f"{name} ")))


COMMANDS = """
import shlex, sys
from pipeline.cli import main
for command in sys.argv[1:]:
    main(shlex.split(command), standalone_mode=False)
"""


def _prazo(folder: Path, location: str, shim: ClockShim, *commands: str) -> None:
    """Commands in one process of the machine whose clock has jumped."""
    subprocess.run(
        [sys.executable, "-c", COMMANDS, *commands],
        env={**os.environ, **shim.env, **environment_in(folder), "PRAZO_INBOX": location},
        cwd=folder,
        check=True,
    )


def _assert_now(instant: int) -> None:
    assert abs(instant - time.time() * instants.SECOND) < NEAR


def test_a_clock_that_jumps_a_day_ahead_moves_no_stamp_view_or_act_and_is_an_entry(
    location: str, tmp_path: Path, clock_shim: ClockShim
):
    """A review that was due in half a day was shown as expired; and what a person did was dated a
    day ahead, where no view of now counts it."""
    deadline = instants.canonical(instants.now() + instants.DAY // 2)
    of_aci = {"type": "INCONSISTENT_DATA_UPDATE_REQUIRED", "deadline_at": deadline}
    with receiver(tmp_path, INBOX=location, environment=clock_shim.env) as running:
        assert running.deliver(review(**of_aci)).status == 200
        clock_shim.jump(DAY_SECONDS)
        assert running.deliver(event()).status == 200
        assert _gauge(running, "prazo_clock_offset_seconds") == pytest.approx(DAY_SECONDS, abs=5)
        assert _gauge(running, "prazo_clock_doubted") == 1
        wait_until(lambda: len(_clock_entries(location)) == 1, pause=0.3)
        commands = ["ticket prc_1 --opened 7 --actor ana"]
        if depth.is_whole() or location.endswith(".db"):  # a view takes a new process two seconds
            commands.append("show process_state --format csv --out rows.csv")
        _prazo(tmp_path, location, clock_shim, *commands)
        clock_shim.jump(0)
        wait_until(lambda: len(_clock_entries(location)) == 2, pause=0.3)
        assert running.deliver(event()).status == 200
        assert _gauge(running, "prazo_clock_doubted") == 0
    if len(commands) == 2:
        [row] = csv.DictReader(io.StringIO((tmp_path / "rows.csv").read_text()))
        assert (row["state"], row["days_to_deadline"]) == ("OVERDUE", "0")
    entries = _entries(location)
    assert [it.kind for it in entries].count(TICKET) == 1
    for entry in entries:
        _assert_now(entry.occurred_at)
        _assert_now(entry.recorded_at)
    jumped, agreed = [it.particulars for it in entries if it.kind == CLOCK]
    assert jumped["clock"] == "machine doubted"
    assert jumped["offset_after_us"] == pytest.approx(DAY_SECONDS * 1e6, abs=5e6)
    assert agreed["clock"] == "believed"
    before, during, after = [it.particulars for it in entries if it.kind == WEBHOOK]
    assert (before, after) == ({}, {})
    assert during["clock"] == "suspect"
    assert during["clock_offset_us"] == pytest.approx(DAY_SECONDS * 1e6, abs=5e6)


def test_a_receiver_that_starts_after_the_jump_stamps_as_before_it(
    tmp_path: Path, clock_shim: ClockShim
):
    """A restart is the first thing that people try."""
    location = str(tmp_path / "inbox.db")
    with receiver(tmp_path, environment=clock_shim.env) as running:
        clock_shim.jump(DAY_SECONDS)
        wait_until(lambda: len(_clock_entries(location)) == 1, pause=0.3)
    with receiver(tmp_path, environment=clock_shim.env) as running:
        assert running.deliver(event()).status == 200
        _assert_now(_entries(location)[-1].recorded_at)
    with receiver(tmp_path, environment=clock_shim.env, BELIEVE_CLOCK="true") as running:
        wait_until(lambda: _clock_entries(location)[-1]["by"] == "operator")
        assert running.deliver(event()).status == 200
        _assert_now(_entries(location)[-1].recorded_at - instants.DAY)


def test_a_machine_whose_clock_is_wrong_from_the_start_stamps_with_the_databases(
    database: str, tmp_path: Path, clock_shim: ClockShim
):
    clock_shim.jump(-DAY_SECONDS)
    with receiver(tmp_path, INBOX=database, environment=clock_shim.env) as running:
        assert running.deliver(event()).status == 200
        wait_until(lambda: len(_clock_entries(database)) == 1)
        assert _gauge(running, "prazo_clock_offset_seconds") == pytest.approx(-DAY_SECONDS, abs=5)
    [delivery] = [it for it in _entries(database) if it.kind == WEBHOOK]
    _assert_now(delivery.recorded_at)
    assert _clock_entries(database)[0]["by"] == "database"
