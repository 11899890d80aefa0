"""Which parts use an inbox now, and of which release, on both engines."""

import subprocess
import sys

import pytest

from pipeline import instants
from pipeline.inbox import Inbox, parts, schema
from pipeline.inbox.parts import Running, present, running
from pipeline.release import release
from tests.support.machine import wait_until

STAYS = """
import sys, time
from pipeline.inbox import open_inbox
from pipeline.inbox.parts import present
with present(open_inbox(sys.argv[1]), "receiver"):
    time.sleep(60)
"""


def test_a_part_is_there_for_as_long_as_it_runs(inbox: Inbox) -> None:
    before = inbox.now()
    with present(inbox, "receiver"), present(inbox, "ledger"):
        wait_until(lambda: len(running(inbox)) == 2)
        ledger, receiver = running(inbox)
    assert (ledger.part, receiver.part) == ("ledger", "receiver")
    assert (ledger.release, ledger.version) == (release(), schema.VERSION)
    assert before <= ledger.started_at <= ledger.seen_at <= inbox.now()
    assert running(inbox) == []


def test_one_that_was_killed_is_there_for_some_minutes_and_its_row_for_a_day(
    inbox: Inbox, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = subprocess.Popen([sys.executable, "-c", STAYS, location])
    wait_until(lambda: running(inbox))
    process.kill()
    process.wait()
    [killed] = running(inbox)
    assert killed.process.endswith(f" {process.pid}")
    now = inbox.now()
    for passed, there in ((parts.LATELY - instants.MINUTE, 1), (parts.LATELY + instants.MINUTE, 0)):
        monkeypatch.setattr(inbox, "now", lambda passed=passed: now + passed)
        assert len(running(inbox)) == there
    monkeypatch.setattr(inbox, "now", lambda: now + instants.DAY + instants.MINUTE)
    with present(inbox, "receiver"):
        wait_until(lambda: running(inbox) and inbox.query("select count(*) from parts") == [(1,)])


def test_an_inbox_that_is_closed_keeps_nobody(inbox: Inbox) -> None:
    with present(inbox, "receiver"):
        inbox.close()


def test_people_read_it_in_one_line() -> None:
    one = Running("receiver", "intake-1 17", "1.2.0", 3, 1_772_366_400_000_000, 0)
    assert str(one) == "receiver of Prazo 1.2.0 (intake-1 17, since 2026-03-01T12:00:00Z)"
