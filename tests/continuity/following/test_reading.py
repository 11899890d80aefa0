"""Batches are read ahead in order, and no more of them than may be in memory."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace

import pytest

from pipeline.continuity import reading
from pipeline.continuity.reading import ReadAhead
from pipeline.ledger.batch import LastEntry
from tests.support.machine import wait_until

START = LastEntry(0, b"")


class Log:
    """A hundred batches of ten entries, each of so many bytes."""

    def __init__(self, size_bytes: int = 1) -> None:
        self.size_bytes = size_bytes
        self.read: list[int] = []
        self.turns: set[float] = set()  # of threads that wait for Python's lock, in seconds
        self.failing_at: int | None = None

    def __call__(self, after: LastEntry, end: int) -> SimpleNamespace | None:
        self.read.append(after.seq)
        self.turns.add(sys.getswitchinterval())
        if after.seq == self.failing_at:
            raise OSError("the disk")
        last = min(after.seq + 10, end, 1000)
        if last == after.seq:
            return None
        return SimpleNamespace(last_entry=LastEntry(last, b"%d" % last), size_bytes=self.size_bytes)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def ahead(log: Log) -> Iterator[ReadAhead]:
    with closing(ReadAhead(log)) as opened:
        yield opened


def taken(ahead: ReadAhead) -> list[int]:
    return [batch.last_entry.seq for batch in iter(ahead.take, None)]


def until_it_rests(log: Log, *expected: int) -> list[int]:
    """What was read, once that is all that is expected, and nothing more is for a while."""
    wait_until(lambda: len(log.read) >= len(expected))
    time.sleep(0.2)
    return log.read


def test_all_is_taken_once_and_in_order(log, ahead):
    ahead.begin(START)
    ahead.begin(LastEntry(500, b"500"))  # it reads already
    assert taken(ahead) == list(range(10, 1001, 10))
    assert ahead.take() is None


def test_it_reads_to_the_entry_that_was_named(log, ahead):
    ahead.begin(START, 25)
    assert taken(ahead) == [10, 20, 25]
    assert log.read == [0, 10, 20, 25]


def test_no_more_batches_are_held_than_may_be(log, ahead, monkeypatch):
    monkeypatch.setattr(reading, "MOST_AHEAD", 3)
    ahead.begin(START)
    assert until_it_rests(log, 0, 10, 20) == [0, 10, 20]
    ahead.take()
    assert until_it_rests(log, 0, 10, 20, 30) == [0, 10, 20, 30]


def test_no_more_bytes_are_held_than_may_be_and_one_batch_more(log, ahead, monkeypatch):
    monkeypatch.setattr(reading, "BYTES_AHEAD", 100)
    log.size_bytes = 60
    ahead.begin(START)
    assert until_it_rests(log, 0, 10) == [0, 10]  # the second was read while 60 were held


def test_a_failure_ends_it_and_it_can_begin_again(log, ahead):
    log.failing_at = 20
    ahead.begin(START)
    assert taken(ahead) == [10, 20]
    log.failing_at = None
    ahead.begin(LastEntry(20, b"20"), 40)
    assert taken(ahead) == [30, 40]


def test_who_may_not_wait_gets_nothing_and_finds_it_later(log, ahead):
    may_read = threading.Event()
    read = log.__call__
    ahead._read = lambda after, end: may_read.wait(10) and read(after, end)
    ahead.begin(START, 10)
    looks = iter([True, True, False])
    assert ahead.take(lambda: next(looks)) is None
    may_read.set()
    assert taken(ahead) == [10]


def test_what_was_dropped_is_not_taken(log, ahead, monkeypatch):
    monkeypatch.setattr(reading, "MOST_AHEAD", 3)
    ahead.begin(START)
    until_it_rests(log, 0, 10, 20)
    ahead.drop()
    assert ahead.take() is None
    ahead.begin(LastEntry(500, b"500"), 520)
    assert taken(ahead) == [510, 520]


@pytest.mark.parametrize("failing_at", [None, 30])
def test_turns_at_the_lock_of_python_are_short_while_batches_are_read(log, ahead, failing_at):
    """Whoever writes waited 5 ms for it at each of five tables of a batch, and a fifth of its time
    for the thread that reads."""
    usual = sys.getswitchinterval()
    log.failing_at = failing_at
    ahead.begin(START)
    taken(ahead)
    ahead.close()
    assert log.turns == {0.0003}
    assert usual == sys.getswitchinterval() == 0.005
