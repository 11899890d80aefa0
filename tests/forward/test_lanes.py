"""Which message comes next, in memory alone: any order of answers, any moment of a crash."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from pipeline import instants
from pipeline.forward import pacing
from pipeline.forward.lanes import ENOUGH_STUCK, Lanes, Try
from pipeline.forward.progress import Waiting
from pipeline.log.entries import Entry

HOUR = instants.HOUR


def entry(seq: int, seller: str | None) -> Entry:
    return Entry(
        seq,
        *("webhook", 0, 0, "live", "webhook", None, None, None, seller),
        *(None, None, None, None, None, False, None, b"{}", None, b"leaf %d" % seq),
        *[None] * 4,
    )


class World:
    """The log, an endpoint that answers as it is told, and what was kept at the last save."""

    def __init__(self, log: list[str | None]) -> None:
        self.log = [entry(seq, seller) for seq, seller in enumerate(log, 1)]
        self.row: tuple[int, bytes | None] = (0, None)
        self.rows: dict[str, Waiting] = {}
        self.now = HOUR
        self.taken: list[int] = []
        self.under_way: list[Try] = []
        self.load()

    def load(self) -> None:
        """As after a crash: what was not kept is forgotten, and what was under way is cut off."""
        self.under_way = []
        waiting = [it for it in self.rows.values() if it.dead_at is None]
        self.lanes = Lanes(*self.row, waiting)

    def save(self) -> None:
        self.row = (self.lanes.position, self.lanes.leaf)
        for lane, letter in self.lanes.changed.items():
            self.rows.pop(lane, None)
            if letter is not None:
                self.rows[lane] = letter
        self.lanes.changed.clear()

    def read(self) -> None:
        if self.lanes.wants_more and self.lanes.after < len(self.log):
            self.lanes.read(self.log[self.lanes.after], is_for_it=True)

    def begin(self) -> None:
        if tried := self.lanes.next(self.now, 4):
            self.under_way.append(tried)

    def successor(self, tried: Try) -> Waiting | None:
        if tried.letter is None or tried.lane.startswith("entry"):
            return None
        later = self.log[tried.seq : self.lanes.after]
        seq = next((it.seq for it in later if f"seller {it.seller_id}" == tried.lane), None)
        return None if seq is None else Waiting(tried.lane, seq, 0, None, 0, None)

    def answer(self, number: int, is_taken: bool, dies: bool) -> None:
        if not self.under_way:
            return
        tried = self.under_way.pop(number % len(self.under_way))
        successor = self.successor(tried)
        if is_taken:
            self.taken.append(tried.seq)
            self.lanes.taken(tried, successor, self.now, 0.5)
            return
        letter = self.lanes.failed(tried, "status 500", now=self.now, asked=None, random=0.5)
        if dies:
            self.lanes.bury(letter, successor, self.now)

    def finish(self) -> None:
        """From now on the endpoint takes everything."""
        for _ in range(20 * len(self.log) + 100):
            self.now += HOUR
            self.read()
            self.begin()
            self.answer(0, True, False)
        self.save()


steps = st.lists(
    st.one_of(
        st.sampled_from(["read", "begin", "save", "crash", "later"]),
        st.tuples(
            st.integers(0, 3), st.booleans(), st.integers(0, 4).map(lambda drawn: drawn == 0)
        ),
    ),
    max_size=120,
)


@given(st.lists(st.sampled_from(["a", "b", None]), max_size=25), steps)
def test_nothing_is_left_out_and_each_seller_s_order_holds(log, doing):
    """But for dead letters all come, whatever fails and wherever it crashes; of what was not kept,
    some comes again. A lane has one message under way."""
    world = World(log)
    for step in doing:
        match step:
            case "read":
                world.read()
            case "begin":
                world.begin()
            case "save":
                world.save()
            case "crash":
                world.load()
            case "later":
                world.now += instants.MINUTE
            case number, is_taken, dies:
                world.answer(number, is_taken, dies)
        busy = [it.lane for it in world.under_way]
        assert len(busy) == len(set(busy))
    world.finish()
    dead = {it.seq for it in world.rows.values() if it.dead_at is not None}
    assert set(world.taken) | dead == set(range(1, len(log) + 1))
    first: dict[str, list[int]] = defaultdict(list)
    for seq in dict.fromkeys(world.taken):
        if log[seq - 1] is not None and seq not in dead:
            first[log[seq - 1]].append(seq)
    assert all(seqs == sorted(seqs) for seqs in first.values())
    assert world.lanes.position == world.lanes.settled == len(log)
    assert world.lanes.leaf == (b"leaf %d" % len(log) if log else None)


def test_an_endpoint_that_is_down_gets_one_message_at_a_time_and_few_of_them_begin():
    world = World([f"seller {number}" for number in range(100)])
    for _ in range(1000):
        world.read()
        world.begin()
        assert len(world.under_way) <= 4
        if world.lanes.is_down:
            assert len(world.under_way) <= 4 - 1
        world.answer(0, False, False)
        world.now += instants.SECOND
    assert world.lanes.is_down
    assert world.lanes.stuck <= ENOUGH_STUCK + 4
    assert world.lanes.settled == 0


def test_what_waits_is_tried_soon_once_the_endpoint_is_back():
    world = World(["a", "b", "c", "d"])
    for _ in range(60):
        world.read()
        world.begin()
        world.answer(0, False, False)
        world.now += pacing.LONGEST_PAUSE_OF_ENDPOINT
    assert world.lanes.stuck == 4
    while not world.taken:
        world.now += instants.SECOND
        world.begin()
        world.answer(0, True, False)
    back = world.now
    while len(world.taken) < 4:
        world.now += instants.SECOND
        world.begin()
        world.answer(0, True, False)
    assert world.now - back <= 8 * instants.SECOND


def test_pauses_grow_twofold_to_an_hour_and_half_of_each_is_left_to_chance():
    seconds = [pacing.pause(it, HOUR, 1.0) / instants.SECOND for it in range(1, 15)]
    assert seconds == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600]
    assert pacing.pause(3, HOUR, 0.0) == 2 * instants.SECOND
    assert pacing.due_at(1, 0, 90 * instants.SECOND, 1.0) == 90 * instants.SECOND
    assert pacing.due_at(1, 0, 90 * HOUR, 1.0) == HOUR
    assert pacing.is_due(0, 5)
    assert pacing.is_due(5 + 2 * HOUR, 5), "said by a clock that was wrong"
    assert not pacing.is_due(5 + HOUR, 5)


def test_a_message_is_given_up_after_its_time_and_no_fewer_than_five_tries():
    first = 7
    assert not pacing.is_over(5, first, first + 72 * HOUR - 1, 72)
    assert pacing.is_over(5, first, first + 72 * HOUR, 72)
    assert not pacing.is_over(4, first, first + 900 * HOUR, 72)
