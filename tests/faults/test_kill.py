"""SIGKILL, again and again, against a journal of what was acknowledged."""

import random
import time
from collections.abc import Iterator

import pytest

from pipeline.inbox import open_inbox
from tests import depth
from tests.faults.writers import Writers
from tests.support.soundness import all_entries, assert_sound

KILLS = depth.rounds(5, 60)


@pytest.fixture
def writers(location: str) -> Iterator[Writers]:
    writers = Writers(location)
    yield writers
    writers.close()


def test_whatever_was_acknowledged_before_a_kill_is_there_after_it(location: str, writers: Writers):
    """Two processes write; one of them is killed, and replaced by a new one, at any moment."""
    chance = random.Random(20261121)
    alive = [writers.start()]
    for _ in range(KILLS):
        alive.append(writers.start())
        time.sleep(chance.uniform(0, 0.05))
        writers.kill(alive.pop(0))
        _assert_all_there(location, writers)
    assert len(writers.acknowledged) > KILLS


def _assert_all_there(location: str, writers: Writers) -> None:
    assert writers.failures == []
    assert len(writers.acknowledged) == len(set(writers.acknowledged))
    inbox = open_inbox(location, create=False)
    entries = all_entries(inbox)
    inbox.close()
    assert_sound(entries, inbox.log)
    assert set(writers.acknowledged) <= {it.seq for it in entries}
