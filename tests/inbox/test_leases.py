"""A lease is its holder's alone until its time, its release or the log's word ends it."""

import threading
import time
from collections.abc import Callable

import pytest

from pipeline import instants
from pipeline.inbox import Inbox, leases, open_inbox
from pipeline.inbox.leases import Held, Lease, Spent, take
from tests import depth

MINUTE = instants.MINUTE
UNSPENT = Spent()


def taken(inbox: Inbox, length: int = MINUTE, spent: Spent = UNSPENT, name: str = "x") -> Lease:
    lease = take(inbox, name, "somebody", length, spent)
    assert isinstance(lease, Lease)
    return lease


def is_held(inbox: Inbox, spent: Spent = UNSPENT) -> bool:
    return isinstance(take(inbox, "x", "somebody else", MINUTE, spent), Held)


@pytest.fixture
def clock(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Moves the inbox's clock for leases on, and ours with it."""
    beyond = [0]
    steady, since_boot = inbox.steady, instants.since_boot
    monkeypatch.setattr(inbox, "steady", lambda: steady() + beyond[0])
    monkeypatch.setattr(instants, "since_boot", lambda: since_boot() + beyond[0])

    def move(microseconds: int) -> None:
        beyond[0] += microseconds

    return move


def test_a_lease_is_held_by_one_alone_and_other_names_are_free(inbox: Inbox) -> None:
    first = taken(inbox)
    assert first.number == 1
    held = take(inbox, "x", "somebody else", MINUTE, UNSPENT)
    assert isinstance(held, Held)
    assert 50 * instants.SECOND < held.left <= MINUTE
    assert taken(inbox, name="y").number == 1
    assert 50 * instants.SECOND < leases.left(inbox, first) <= MINUTE


def test_its_time_ends_it_and_the_next_has_a_higher_number(
    inbox: Inbox, clock: Callable[[int], None]
) -> None:
    first = taken(inbox)
    clock(MINUTE)
    assert leases.left(inbox, first) <= 0
    assert taken(inbox).number == 2
    assert leases.left(inbox, first) == 0


def test_its_holder_ends_it_by_releasing_it(inbox: Inbox) -> None:
    first = taken(inbox)
    leases.release(inbox, first)
    second = taken(inbox)
    assert second.number == 2
    leases.release(inbox, first)  # by the number: it is no longer the first's to release
    assert is_held(inbox)


def test_the_log_ends_it_where_what_it_was_taken_for_is_over(inbox: Inbox) -> None:
    first = taken(inbox)
    assert is_held(inbox, Spent(first.number, is_over=False))
    assert taken(inbox, spent=Spent(first.number, is_over=True)).number == 2
    assert is_held(inbox, Spent(first.number, is_over=True)), "the log says nothing of the second"


def test_a_row_that_is_older_than_the_log_holds_nobody_up_and_no_number_comes_twice(
    inbox: Inbox,
) -> None:
    """As after a restore: entries come back, leases do not."""
    assert taken(inbox, spent=Spent(7, is_over=False)).number == 8
    assert taken(inbox, spent=Spent(11, is_over=True)).number == 12


def test_a_row_from_before_the_machine_was_last_started_holds_nobody_up(
    inbox: Inbox, clock: Callable[[int], None]
) -> None:
    """The clock that nobody sets begins at nothing then."""
    taken(inbox)
    clock(-leases.LONGEST - 1)
    assert taken(inbox).number == 2


def test_a_holder_that_was_paused_knows_it_without_the_inbox(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = taken(inbox)
    later = instants.since_boot() + MINUTE
    monkeypatch.setattr(instants, "since_boot", lambda: later)
    assert lease.left_here <= 0
    assert leases.left(inbox, lease) <= 0


def test_a_lease_that_somebody_else_has_by_now_is_lost_whatever_our_own_clock_says(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's clock was set ahead: ours knows nothing of it."""
    lease = taken(inbox)
    steady = inbox.steady
    monkeypatch.setattr(inbox, "steady", lambda: steady() + MINUTE)
    taken(inbox)
    assert lease.left_here > 0
    assert leases.left(inbox, lease) == 0


def test_no_lease_is_longer_than_a_row_is_believed(inbox: Inbox) -> None:
    with pytest.raises(ValueError, match="a lease of"):
        take(inbox, "x", "somebody", leases.LONGEST + 1, UNSPENT)


def test_of_many_who_take_it_at_once_one_has_it_at_a_time(location: str) -> None:
    holders: list[int] = []
    numbers: list[int] = []
    faults: list[object] = []
    until = time.monotonic() + depth.rounds(3, 10) / 10
    latest = until + 30  # on a busy machine it takes longer until a second one has it

    def contend(number: int) -> None:
        inbox = open_inbox(location)
        try:
            while time.monotonic() < until or (len(numbers) < 2 and time.monotonic() < latest):
                lease = take(inbox, "x", f"{number}", MINUTE, UNSPENT)
                if isinstance(lease, Held):
                    continue
                holders.append(number)
                faults.extend(holders[:-1])
                numbers.append(lease.number)
                time.sleep(0.001)
                holders.remove(number)
                leases.release(inbox, lease)
        finally:
            inbox.close()

    open_inbox(location).close()
    contenders = [threading.Thread(target=contend, args=(number,)) for number in range(4)]
    for contender in contenders:
        contender.start()
    for contender in contenders:
        contender.join()
    assert faults == []
    assert len(numbers) > 1
    assert numbers == list(range(1, len(numbers) + 1))
