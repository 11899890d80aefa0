"""What takes long is looked at aside, and anyone who asks gets what was found last."""

import logging
import threading

import pytest

from pipeline.errors import InboxUnavailable
from pipeline.http.outgoing.looks import Looks
from tests.support.machine import wait_until


def test_nobody_waits_for_a_look_and_everybody_gets_what_the_last_one_found() -> None:
    may_end, made = threading.Event(), []

    def look() -> int:
        made.append(None)
        assert may_end.wait(60)
        return len(made)

    looks = Looks(look, name="clock tower", every_seconds=0.0)
    assert [looks.last() for _ in range(20)] == [None] * 20
    may_end.set()
    wait_until(lambda: (last := looks.last()) is not None and last.found >= 1)
    may_end.clear()
    before = len(made)
    wait_until(lambda: looks.last() is not None and len(made) > before)  # one that cannot end
    last = looks.last()
    assert last is not None
    assert looks.last() == last
    assert last.seconds_ago >= 0
    may_end.set()
    wait_until(lambda: (newer := looks.last()) is not None and newer.found > last.found)


def test_one_look_is_made_in_its_time() -> None:
    made: list[None] = []
    looks = Looks(lambda: made.append(None), name="clock tower", every_seconds=3600.0)
    wait_until(lambda: looks.last() is not None)
    assert [looks.last() for _ in range(20)] == [looks.last()] * 20
    assert made == [None]


@pytest.mark.parametrize("error", [InboxUnavailable("The inbox cannot be read"), KeyError("a bug")])
def test_a_look_that_fails_is_logged_and_what_was_found_before_stays(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    outcomes: list[int | Exception] = [7, error, 8]

    def look() -> int:
        outcome = outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    found: set[int] = set()
    looks = Looks(look, name="clock tower", every_seconds=0.0)
    with caplog.at_level(logging.ERROR):
        while 8 not in found:
            last = looks.last()
            found |= set() if last is None else {last.found}
    assert found == {7, 8}
    assert [it.getMessage().partition(":")[0] for it in caplog.records] == [
        "the look at the clock tower failed"
    ]


def test_the_first_look_is_waited_for_where_that_was_asked() -> None:
    looks = Looks(lambda: "well", name="clock tower", every_seconds=3600.0, first_seconds=60.0)
    last = looks.last()
    assert last is not None
    assert last.found == "well"
