"""Which of three clocks is believed, and what is said about the others."""

import socket
import threading
from contextlib import closing
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.inbox import open_inbox
from pipeline.inbox.clock import STEADY_FOR, TOLERANCE, Change, Clock, judge
from pipeline.instants import DAY, HOUR, MINUTE, SECOND
from pipeline.receive.clock_watch import entry_of, reason_of
from tests.inbox.drafts import note

NOON = 1_772_366_400_000_000  # 2026-03-01T12:00:00Z


class Clocks:
    """A wall clock and a steady one that a test moves; the machine has been up for an hour."""

    def __init__(self, wall: int = NOON) -> None:
        self.wall, self.steady, self.is_synchronised = wall, HOUR, False
        self.clock = Clock(
            wall=lambda: self.wall,
            steady=lambda: self.steady,
            is_synchronised=lambda: self.is_synchronised,
        )

    def pass_(self, microseconds: int) -> None:
        self.wall += microseconds
        self.steady += microseconds

    def jump(self, microseconds: int) -> None:
        self.wall += microseconds

    def database_says(self, now: int) -> None:
        self.clock.hear_database(self.steady, now)


@pytest.mark.parametrize(
    ("believed", "wall", "database", "expected"),
    [
        (100, 100, None, (100, None)),
        (100, 100 + TOLERANCE, None, (100 + TOLERANCE, None)),
        (100, 101 + TOLERANCE, None, (100, "machine")),
        (100, 100 - DAY, None, (100, "machine")),
        (100, 100, 100, (100, None)),
        (100, 100 + DAY, 100, (100, "machine")),
        (100, 100 + DAY, 200, (200, "machine")),
        (100, 100 + DAY, 100 + DAY, (100 + DAY, None)),  # our own reckoning was interrupted
        (100, 100, 100 + DAY, (100, "database")),
        (100, 100 - DAY, 100 + DAY, (100, "machine")),  # no two agree
    ],
)
def test_two_clocks_that_agree_are_believed(
    believed: int, wall: int, database: int | None, expected: tuple[int, str | None]
):
    assert judge(believed, wall, database) == expected


def test_a_clock_that_jumps_a_day_ahead_is_not_believed_and_says_so_once():
    clocks = Clocks()
    assert clocks.clock.now() == NOON
    clocks.jump(DAY)
    clocks.pass_(SECOND)
    assert clocks.clock.now() == NOON + SECOND
    assert clocks.clock.offset == DAY
    assert clocks.clock.marks == {"clock": "suspect", "clock_offset_us": DAY}
    clocks.pass_(SECOND)
    assert clocks.clock.now() == NOON + 2 * SECOND
    assert clocks.clock.take_changes() == [
        Change(NOON + SECOND, "machine", "steady", DAY, DAY, HOUR + SECOND)
    ]
    assert clocks.clock.take_changes() == []


def test_a_clock_that_jumps_back_is_not_believed_either():
    clocks = Clocks()
    clocks.jump(-DAY)
    assert clocks.clock.now() == NOON
    assert clocks.clock.doubted == "machine"


def test_a_clock_that_is_put_right_is_believed_again():
    clocks = Clocks()
    clocks.jump(DAY)
    clocks.pass_(HOUR)
    clocks.clock.take_changes()
    clocks.jump(-DAY + SECOND)
    assert clocks.clock.now() == NOON + HOUR + SECOND
    assert clocks.clock.marks == {}
    [change] = clocks.clock.take_changes()
    assert (change.doubted, change.by, change.offset_after) == (None, "steady", 0)


def test_a_clock_that_is_corrected_bit_by_bit_raises_nothing():
    """A time service moves it by up to 500 millionths; small steps count as well."""
    clocks = Clocks()
    for _ in range(1000):
        clocks.pass_(10 * SECOND)
        clocks.jump(5000)
        assert clocks.clock.now() == clocks.wall
    assert clocks.clock.take_changes() == []


def test_a_machine_that_slept_raises_nothing():
    """Both clocks count on meanwhile."""
    clocks = Clocks()
    clocks.pass_(3 * DAY)
    assert clocks.clock.now() == NOON + 3 * DAY
    assert clocks.clock.take_changes() == []


def test_without_a_database_the_kernels_word_counts_after_a_steady_minute():
    """A virtual machine that was paused: its steady clock stood still, and a time service then set
    the wall clock right."""
    clocks = Clocks()
    clocks.jump(DAY)
    clocks.is_synchronised = True
    assert clocks.clock.now() == NOON
    clocks.pass_(STEADY_FOR - 1)
    assert clocks.clock.now() == NOON + STEADY_FOR - 1
    clocks.pass_(1)
    assert clocks.clock.now() == NOON + DAY + STEADY_FOR
    assert [(it.doubted, it.by) for it in clocks.clock.take_changes()] == [
        ("machine", "steady"),
        (None, "kernel"),
    ]


def test_without_a_database_and_a_time_service_it_stays_doubted_until_a_person_speaks():
    clocks = Clocks()
    clocks.jump(DAY)
    clocks.clock.now()
    clocks.pass_(30 * DAY)
    assert clocks.clock.now() == NOON + 30 * DAY
    clocks.clock.believe()
    assert clocks.clock.now() == NOON + 31 * DAY
    assert clocks.clock.take_changes()[-1].by == "operator"


def test_the_databases_clock_decides_at_once_about_one_that_was_wrong_from_the_start():
    clocks = Clocks(wall=NOON + DAY)
    clocks.database_says(NOON)
    assert clocks.clock.now() == NOON
    assert clocks.clock.database_offset == 0
    clocks.pass_(SECOND)
    clocks.database_says(NOON + SECOND)
    assert clocks.clock.now() == NOON + SECOND
    clocks.jump(-DAY)
    clocks.database_says(NOON + SECOND)
    assert (clocks.clock.now(), clocks.clock.doubted) == (NOON + SECOND, None)


def test_the_databases_clock_lets_one_be_believed_that_was_set_right():
    clocks = Clocks()
    clocks.database_says(NOON)
    clocks.jump(DAY)
    assert clocks.clock.now() == NOON
    clocks.database_says(NOON + DAY)  # it is the same day for both, and we stood still
    assert (clocks.clock.now(), clocks.clock.doubted) == (NOON + DAY, None)


def test_a_database_whose_clock_jumps_moves_nobody():
    clocks = Clocks()
    clocks.database_says(NOON)
    clocks.pass_(SECOND)
    clocks.database_says(NOON + DAY)
    assert (clocks.clock.now(), clocks.clock.doubted) == (NOON + SECOND, "database")
    assert clocks.clock.database_offset == DAY - SECOND


def test_a_database_that_took_its_time_to_answer_is_not_heard():
    clocks = Clocks()
    asked = clocks.steady
    clocks.pass_(10 * SECOND)  # we were frozen in between
    clocks.clock.hear_database(asked, NOON)
    assert (clocks.clock.doubted, clocks.clock.database_offset) == (None, None)


@pytest.mark.parametrize(
    ("is_synchronised", "now"), [(False, NOON + HOUR), (True, NOON)], ids=["alone", "kept"]
)
def test_a_clock_far_behind_the_newest_entry_is_believed_only_if_a_time_service_keeps_it(
    is_synchronised: bool, now: int
):
    """A machine whose battery is empty starts years ago."""
    clocks = Clocks()
    clocks.is_synchronised = is_synchronised
    clocks.clock.hear_log(NOON + HOUR, {})
    assert clocks.clock.now() == now


def test_a_clock_far_ahead_of_the_newest_entry_is_believed_at_a_start():
    """Nothing came for a month."""
    clocks = Clocks()
    clocks.clock.hear_log(NOON - 30 * DAY, {})
    assert (clocks.clock.now(), clocks.clock.doubted) == (NOON, None)


def test_a_process_that_starts_after_the_jump_goes_on_with_the_time_of_the_one_before():
    before = Clocks()
    before.jump(DAY)
    before.clock.now()
    [change] = before.clock.take_changes()
    after = Clocks(wall=NOON + DAY)
    after.pass_(HOUR)
    after.clock.hear_log(NOON, change.particulars())
    assert after.clock.now() == NOON + HOUR
    elsewhere = Clocks(wall=NOON + DAY)
    elsewhere.clock.hear_log(NOON, {**change.particulars(), "boot": "another start"})
    assert elsewhere.clock.now() == NOON + DAY


def test_what_a_receiver_knows_of_the_machine_s_clock_the_other_processes_hear_from_the_log():
    """The operator's word came to the receiver alone: alerts, retries and the seller's page went on
    hours behind until each was started again. Nor did who started right after a jump hear of it."""
    receiver, other, late = Clocks(), Clocks(), Clocks(wall=NOON + DAY)
    for clocks in (receiver, other):
        clocks.jump(DAY)
        clocks.pass_(SECOND)
        clocks.clock.now()
    [jumped] = receiver.clock.take_changes()
    late.pass_(SECOND)
    assert late.clock.now() == NOON + DAY + SECOND
    late.clock.hear_news(jumped.particulars())
    assert (late.clock.now(), late.clock.doubted) == (NOON + SECOND, "machine")
    for clocks in (receiver, other, late):
        clocks.pass_(HOUR)
    receiver.clock.believe()
    [believed] = receiver.clock.take_changes()
    for clocks in (other, late):
        clocks.clock.hear_news(jumped.particulars())
        assert clocks.clock.now() == NOON + HOUR + SECOND
        clocks.clock.hear_news({**believed.particulars(), "boot": "another machine's"})
        assert clocks.clock.doubted == "machine"
        clocks.clock.hear_news(believed.particulars())
        assert (clocks.clock.now(), clocks.clock.doubted) == (NOON + DAY + HOUR + SECOND, None)
        clocks.jump(-DAY)  # its end is newer than what the log says
        clocks.pass_(SECOND)
        clocks.clock.now()
        clocks.clock.hear_news(believed.particulars())
        assert clocks.clock.doubted == "machine"


def test_who_starts_before_the_receiver_has_recorded_what_it_knows_hears_of_it_too():
    """`prazo serve` starts all parts at once: until they were started again, those that had opened
    the log a moment too early went on with what stood there before the operator's word."""
    receiver, beside = Clocks(), Clocks()
    receiver.clock.hear_log(NOON + 400 * DAY, {})
    receiver.clock.believe()
    beside.pass_(SECOND)
    beside.clock.hear_log(NOON + 400 * DAY, {})
    _, believed = receiver.clock.take_changes()
    beside.clock.hear_news(believed.particulars())
    assert (beside.clock.now(), beside.clock.doubted) == (NOON + SECOND, None)
    receiver.jump(DAY)
    [jumped] = receiver.clock.take_changes()
    late = Clocks(wall=NOON + DAY)
    late.pass_(SECOND)
    late.clock.hear_log(NOON, {})
    late.clock.hear_news(jumped.particulars())
    assert (late.clock.now(), late.clock.doubted) == (NOON + SECOND, "machine")


def test_no_doubt_from_before_the_operators_word_is_heard_after_it():
    """Another receiver had decided on it, and recorded it only then: the word counted for nothing
    where it confirmed a clock that was believed."""
    beside, told = Clocks(), Clocks(wall=NOON + DAY)
    beside.jump(DAY)
    [doubt] = beside.clock.take_changes()
    told.pass_(SECOND)
    told.clock.hear_log(NOON, {})
    told.clock.believe()
    told.clock.hear_news(doubt.particulars())
    assert (told.clock.now(), told.clock.doubted) == (NOON + DAY + SECOND, None)


def test_the_operators_word_outlasts_the_process_that_heard_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """`recorded_at` stands still after a clock that was ahead, and each process that started went
    on with it: reviews with weeks to go were expired again, and deliveries stamped so."""
    monkeypatch.setitem(Clock.__init__.__kwdefaults__ or {}, "is_synchronised", lambda: False)
    location = tmp_path / "inbox.db"
    with closing(open_inbox(location)) as ahead:
        ahead.clock = lambda: instants.now() + 400 * DAY
        ahead.append([note()])
    with closing(open_inbox(location)) as told:
        assert (told.machine.doubted, told.clock() - instants.now() > 399 * DAY) == (
            "machine",
            True,
        )
        told.machine.believe()
        told.append([entry_of(it) for it in told.machine.take_changes()])
        told.append([note()])
    with closing(open_inbox(location)) as later:
        assert abs(later.clock() - instants.now()) < MINUTE
        assert later.machine.doubted is None


def test_that_a_clock_was_put_right_while_no_process_ran_is_recorded_by_the_next():
    before = Clocks()
    before.jump(DAY)
    before.clock.now()
    [jumped] = before.clock.take_changes()
    recorded = {**jumped.particulars(), "machine": socket.gethostname()}
    for last in (recorded, {**recorded, "boot": "an earlier start"}):
        after = Clocks()
        after.clock.hear_log(NOON, last)
        [change] = after.clock.take_changes()
        assert (change.doubted, change.by) == (None, "log")
        assert (change.offset_before, change.offset_after) == (DAY, 0)
        assert after.clock.now() == NOON
    other = Clocks()
    other.clock.hear_log(NOON, {**recorded, "machine": "another", "boot": "another's start"})
    assert other.clock.take_changes() == []


def test_what_the_database_says_between_two_looks_at_the_clock_is_not_undone():
    """One thread has found the clocks to agree; before it says so, another hears otherwise."""
    clocks = Clocks()
    heard = []

    class Interrupted:
        """The clock's lock, which another thread takes first."""

        def __init__(self) -> None:
            self.inner = threading.Lock()

        def __enter__(self) -> None:
            if not heard:
                heard.append(True)
                clocks.clock._lock = self.inner
                clocks.clock.hear_database(clocks.steady, NOON + 4000 * SECOND)
            self.inner.acquire()

        def __exit__(self, *_: object) -> None:
            self.inner.release()

    clocks.clock._lock = Interrupted()  # type: ignore[assignment]
    assert clocks.clock.now() == NOON + 4000 * SECOND
    assert clocks.clock.doubted == "machine"


def test_a_clock_that_nothing_vouches_for_is_named_where_it_is_far_ahead_at_a_start():
    """A clock that was a day ahead when the machine started was believed, and nothing said that
    only itself spoke for it."""
    clocks = Clocks()
    assert clocks.clock.unvouched(NOON - DAY) == (
        "nothing vouches for this machine's clock: no time service keeps it, and it is 24.0 h ahead"
        " of the newest entry"
    )
    assert clocks.clock.unvouched(NOON - HOUR) is None
    assert clocks.clock.unvouched(0) is None  # an empty log tells nothing
    clocks.is_synchronised = True
    assert clocks.clock.unvouched(NOON - DAY) is None
    with_database = Clocks()
    with_database.database_says(NOON)
    assert with_database.clock.unvouched(NOON - DAY) is None


@pytest.mark.parametrize("service_has_it", [True, False])
def test_entries_that_were_dated_ahead_are_named_when_the_clock_steps_back(
    tmp_path: Path, service_has_it: bool
) -> None:
    """Whether somebody vouches for the clock as it is then, or it is doubted: who looks into it has
    to know which entries a wrong clock has dated."""
    clocks = Clocks(wall=NOON - 2 * DAY)
    with closing(open_inbox(tmp_path / "inbox.db")) as inbox:
        inbox.clock = clocks.clock.now
        inbox.append([note()])
    ahead = Clocks(wall=NOON)  # the machine starts a day after that, and its clock is a day ahead
    with closing(open_inbox(tmp_path / "inbox.db")) as inbox:
        inbox.clock = ahead.clock.now
        for _ in range(3):
            ahead.pass_(SECOND)
            inbox.append([note()])
        ahead.jump(-DAY)
        ahead.is_synchronised = service_has_it
        ahead.clock.now()
        ahead.pass_(STEADY_FOR + SECOND)
        *_, change = ahead.clock.take_changes()
        assert change.doubted == (None if service_has_it else "machine")
        named = inbox.dated_after(change.at + change.offset_after + TOLERANCE)
        assert named == (2, 4)
        assert reason_of(change, named).endswith("; entries 2 to 4 are dated ahead of it")
        assert inbox.dated_after(NOON + DAY) is None
        [said] = inbox.append([entry_of(change, named)])
        assert said.entry is not None
        assert b"entries 2 to 4 are dated ahead" in (said.entry.body or b"")
