"""SIGKILL, again and again, against a journal of what was acknowledged."""

import random
import time
from typing import Any

from pipeline.inbox import open_inbox
from tests.inbox.appender import Appender
from tests.inbox.soundness import all_entries, assert_sound

KILLS = 12


def test_whatever_was_acknowledged_before_a_kill_is_there_after_it(location: str):
    """Two processes write; one of them is killed, and replaced by a new one, at any moment."""
    chance = random.Random(20261121)
    open_inbox(location).close()
    journal: list[dict[str, Any]] = []
    victims = [_started(location, n) for n in range(2)]
    for kill in range(KILLS):
        successor = _started(location, kill + 2)
        victims[0].answer()  # it writes by now
        time.sleep(chance.uniform(0, 0.1))
        journal += victims.pop(0).kill()
        victims.append(successor)
        _assert_all_there(location, journal)
    for victim in victims:
        journal += victim.kill()
    _assert_all_there(location, journal)
    assert len(journal) > KILLS


def _started(location: str, number: int) -> Appender:
    appender = Appender(location, f"writer-{number}")
    appender.tell("endless")
    return appender


def _assert_all_there(location: str, journal: list[dict[str, Any]]) -> None:
    assert not [it["failed"] for it in journal if "failed" in it]
    acknowledged = [seq for it in journal for seq in it["seqs"]]
    assert len(acknowledged) == len(set(acknowledged))
    inbox = open_inbox(location, create=False)
    entries = all_entries(inbox)
    assert_sound(entries, inbox.log)
    assert set(acknowledged) <= {it.seq for it in entries}
    inbox.close()
