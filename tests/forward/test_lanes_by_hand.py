"""Which message comes next, step by step, from docs/forwarding.md."""

from pipeline import instants
from pipeline.forward.lanes import ENOUGH_STUCK, Lanes, Try
from pipeline.forward.progress import Waiting
from tests.forward.test_lanes import entry

NOW, SECOND, HOUR = 100 * instants.HOUR, instants.SECOND, instants.HOUR


def begun(*sellers: str | None) -> Lanes:
    """An endpoint that gets a log of these sellers' deliveries from the first on."""
    lanes = Lanes(0, b"", ())
    for seq, seller in enumerate(sellers, 1):
        lanes.read(entry(seq, seller), is_for_it=True)
    return lanes


def sent(lanes: Lanes, now: int = NOW, concurrency: int = 8) -> list[int]:
    """The messages that may leave now, in their order."""
    return [it.seq for it in tries(lanes, now, concurrency)]


def tries(lanes: Lanes, now: int = NOW, concurrency: int = 8) -> list[Try]:
    found = []
    while len(found) < 50 and (tried := lanes.next(now, concurrency)) is not None:
        found.append(tried)
    return found


def fails(lanes: Lanes, tried: Try, now: int = NOW, asked: int | None = None) -> Waiting:
    return lanes.failed(tried, "status 500", now=now, asked=asked, random=1.0)


def test_a_seller_s_deliveries_follow_each_other_and_the_position_is_before_what_is_open() -> None:
    lanes = begun("a", "a", "b", None)
    assert lanes.position == 0
    first, third, fourth = tries(lanes)
    assert [first.seq, third.seq, fourth.seq] == [1, 3, 4]
    lanes.taken(third, None, NOW, 0.0)
    lanes.taken(fourth, None, NOW, 0.0)
    assert (lanes.position, lanes.leaf) == (0, b"")
    lanes.taken(first, None, NOW, 0.0)
    assert (lanes.position, lanes.settled, lanes.leaf) == (1, 1, b"leaf 1")
    [second] = tries(lanes)
    assert second.seq == 2
    lanes.taken(second, None, NOW, 0.0)
    assert (lanes.position, lanes.settled, lanes.leaf) == (4, 4, b"leaf 4")


def test_what_follows_a_failure_in_its_lane_waits_behind_it_also_what_is_read_later() -> None:
    lanes = begun("a", "a", "b")
    first, third = tries(lanes)
    fails(lanes, first)
    lanes.read(entry(4, "a"), is_for_it=True)
    assert (lanes.position, lanes.settled) == (2, 0)  # the first and the second wait, and are kept
    assert lanes.changed == {"seller a": Waiting("seller a", 1, 1, NOW, NOW + SECOND, "status 500")}
    lanes.taken(third, None, NOW, 1.0)
    assert (lanes.position, lanes.settled) == (4, 0)
    assert sent(lanes, NOW + SECOND - 1) == []
    [again] = tries(lanes, NOW + SECOND)
    letter = fails(lanes, again, NOW + SECOND)
    assert letter == Waiting("seller a", 1, 2, NOW, NOW + 3 * SECOND, "status 500")
    [again] = tries(lanes, NOW + 3 * SECOND)
    second = Waiting("seller a", 2, 0, None, 0, None)
    lanes.taken(again, second, NOW + 3 * SECOND, 1.0)
    assert lanes.changed == {"seller a": second}
    assert (lanes.settled, sent(lanes, NOW + 3 * SECOND)) == (1, [2])


def test_what_is_given_up_is_kept_by_itself_and_its_lane_goes_on() -> None:
    lanes = begun("a", "a")
    [first] = tries(lanes)
    second = Waiting("seller a", 2, 0, None, 0, None)
    lanes.bury(fails(lanes, first), second, NOW)
    assert lanes.changed["seller a"] == second
    grave = lanes.changed["entry 1"]
    assert grave is not None
    assert (grave.lane, grave.seq, grave.dead_at) == ("entry 1", 1, NOW)
    assert sent(lanes) == [2]


def test_no_more_leave_at_once_than_the_endpoint_wants_and_one_that_waits_always_may() -> None:
    lanes = begun("a", "b", "c")
    [first] = tries(lanes, concurrency=1)
    fails(lanes, first)
    [again] = tries(lanes, NOW + SECOND, concurrency=1)
    assert again.seq == 1
    lanes.taken(again, None, NOW + SECOND, 0.0)
    assert sent(lanes, NOW + SECOND, concurrency=2) == [2, 3]


def test_of_what_waits_the_one_that_is_due_first_comes_first() -> None:
    failed = (("a", 1, 3), ("b", 2, 2), ("c", 3, 2))
    waiting = [
        Waiting(f"seller {seller}", seq, 1, NOW, NOW + due * SECOND, "status 500")
        for seller, seq, due in failed
    ]
    assert sent(Lanes(3, b"", waiting), NOW + 3 * SECOND) == [2, 3, 1]


def test_an_endpoint_that_asks_for_time_gets_nothing_before_and_after_an_hour_at_most() -> None:
    for asked, heard in ((90 * SECOND, 90 * SECOND), (5 * HOUR, HOUR)):
        lanes = begun("a", "b")
        first = lanes.next(NOW, 1)
        assert first is not None
        fails(lanes, first, asked=NOW + asked)
        assert sent(lanes, NOW + heard - 1) == []
        assert sent(lanes, NOW + heard) == [1, 2]


def test_one_that_is_taken_meanwhile_ends_no_time_that_an_endpoint_asks_for() -> None:
    """Of two under way one got a 429: whether the other was answered before or after it decided
    whether `Retry-After` was heeded."""
    lanes = begun("a", "b", "c")
    first, second = tries(lanes, concurrency=2)
    fails(lanes, first, asked=NOW + 90 * SECOND)
    lanes.taken(second, None, NOW, 0.0)
    assert sent(lanes, NOW + 90 * SECOND - 1) == []
    assert sent(lanes, NOW + 90 * SECOND) == [1, 3]


def test_what_could_not_be_sent_through_our_fault_comes_first_once_it_can() -> None:
    lanes = begun("a", "b")
    first = lanes.next(NOW, 1)
    assert first is not None
    lanes.put_off(first, NOW + SECOND)
    assert sent(lanes, NOW + SECOND - 1) == []
    assert sent(lanes, NOW + SECOND) == [1, 2]


def test_an_endpoint_that_is_down_gets_one_at_a_time_and_all_at_once_when_it_is_back() -> None:
    lanes = begun("a", "b", "c", "d", "e")
    for tried in tries(lanes, concurrency=3):
        fails(lanes, tried)
    assert lanes.is_down
    assert sent(lanes, NOW + SECOND - 1) == []  # a second after the third failure
    [fourth] = tries(lanes, NOW + SECOND)
    lanes.taken(fourth, None, NOW + SECOND, 0.0)
    assert not lanes.is_down
    # What was due already is not put off, and the rest does not wait for a pause.
    assert sent(lanes, NOW + SECOND) == [1, 2, 3, 5]


def test_one_that_is_taken_after_three_have_failed_ends_the_pause() -> None:
    lanes = begun("a", "b", "c", "d", "e")
    *failing, fourth = tries(lanes, concurrency=4)
    for tried in failing:
        fails(lanes, tried)
    assert sent(lanes) == []
    lanes.taken(fourth, None, NOW, 0.0)
    assert sent(lanes) == [5]


def test_an_endpoint_that_is_down_has_no_more_read_for_it_once_enough_have_failed() -> None:
    lanes = begun(*(f"s{number}" for number in range(ENOUGH_STUCK)))
    now = NOW
    while lanes.stuck < ENOUGH_STUCK:
        for tried in tries(lanes, now):
            assert tried.letter is None
            fails(lanes, tried, now)
        assert lanes.wants_more == (not lanes.is_down)
        now += instants.MINUTE
    assert not lanes.wants_more


def test_what_a_person_asks_for_comes_once_and_what_is_under_way_is_heard_later() -> None:
    lanes = begun(None)
    [first] = tries(lanes)
    letter = fails(lanes, first)
    lanes.bury(letter, None, NOW)
    wish = Waiting("entry 1", 1, 0, None, 7, None)
    lanes.ask(wish)  # it was given up just now, and that is not kept yet
    assert sent(lanes) == []
    lanes.changed.clear()
    lanes.ask(wish)
    [again] = tries(lanes)
    lanes.ask(wish._replace(due_at=8))  # it is under way
    lanes.taken(again, None, NOW, 0.0)
    lanes.changed.clear()
    lanes.ask(wish)  # the one that was heard
    assert sent(lanes) == []
    lanes.ask(wish._replace(due_at=8))
    assert sent(lanes) == [1]
