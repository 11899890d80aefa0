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
from pipeline.log.entries import CLOCK, WEBHOOK, Entry
from tests.faults.shim import ClockShim
from tests.support.events import event, review
from tests.support.machine import wait_until
from tests.support.receiver import RunningReceiver, receiver
from tests.support.soundness import all_entries, assert_sound

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


def _prazo(folder: Path, location: str, shim: ClockShim, *arguments: str) -> str:
    """What a command says in a process of the machine whose clock has jumped."""
    places = {"PRAZO_INBOX": location, "PRAZO_LEDGER": str(folder / "ledger.duckdb")}
    return subprocess.run(
        [sys.executable, "-m", "pipeline.cli", *arguments],
        env={**os.environ, **shim.env, **places},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def _assert_now(instant: int) -> None:
    assert abs(instant - time.time() * instants.SECOND) < NEAR


def test_a_clock_that_jumps_a_day_ahead_moves_no_stamp_and_is_an_entry(
    location: str, tmp_path: Path, clock_shim: ClockShim
):
    with receiver(tmp_path, INBOX=location, environment=clock_shim.env) as running:
        assert running.deliver(event()).status == 200
        clock_shim.jump(DAY_SECONDS)
        assert running.deliver(event()).status == 200
        assert _gauge(running, "prazo_clock_offset_seconds") == pytest.approx(DAY_SECONDS, abs=5)
        assert _gauge(running, "prazo_clock_doubted") == 1
        wait_until(lambda: len(_clock_entries(location)) == 1)
        clock_shim.jump(0)
        wait_until(lambda: len(_clock_entries(location)) == 2)
        assert running.deliver(event()).status == 200
        assert _gauge(running, "prazo_clock_doubted") == 0
    entries = _entries(location)
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


def test_views_and_acts_go_by_the_believed_time_whatever_the_clock_of_their_machine(
    location: str, tmp_path: Path, clock_shim: ClockShim
):
    """A review that was due in half a day was shown as expired; and what a person did was dated a
    day ahead, where no view of now counts it."""
    deadline = instants.canonical(instants.now() + instants.DAY // 2)
    of_aci = {"type": "INCONSISTENT_DATA_UPDATE_REQUIRED", "deadline_at": deadline}
    with receiver(tmp_path, INBOX=location, environment=clock_shim.env) as running:
        assert running.deliver(review(**of_aci)).status == 200
        clock_shim.jump(DAY_SECONDS)
        wait_until(lambda: len(_clock_entries(location)) == 1)
        asked = (tmp_path, location, clock_shim)
        _prazo(*asked, "ticket", "prc_1", "--opened", "7", "--actor", "ana")
        shown = _prazo(*asked, "show", "process_state", "--format", "csv")
        [row] = csv.DictReader(io.StringIO(shown))
        assert (row["state"], row["days_to_deadline"]) == ("OVERDUE", "0")
    for entry in _entries(location):
        _assert_now(entry.occurred_at)


def test_a_receiver_that_starts_after_the_jump_stamps_as_before_it(
    tmp_path: Path, clock_shim: ClockShim
):
    """A restart is the first thing that people try."""
    location = str(tmp_path / "inbox.db")
    with receiver(tmp_path, environment=clock_shim.env) as running:
        clock_shim.jump(DAY_SECONDS)
        wait_until(lambda: len(_clock_entries(location)) == 1)
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
