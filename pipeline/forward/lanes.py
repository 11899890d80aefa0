"""Decides which message an endpoint gets next. Pure: no I/O, and `now` is passed in.

A lane is what must keep its order: a seller's deliveries, or one delivery that names no seller. A
lane has one message under way at a time. When that fails, it waits, and what follows in its lane
waits behind it; other lanes go on. Instants are in microseconds.
"""

from collections import deque
from collections.abc import Collection
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.forward import pacing
from pipeline.forward.messages import alone, lane_of
from pipeline.forward.progress import Waiting
from pipeline.log.entries import Entry

WINDOW: Final = 256
"""Deliveries that are read and not settled yet."""
LONGEST_REACH: Final = 20_000
"""Entries that are read beyond the first delivery that is not settled."""
MOST_STUCK: Final = 500
"""Lanes that wait for another try. With so many nothing more is read."""
ENOUGH_STUCK: Final = 16
"""So many lanes that failed one after the other say that the endpoint is down, not that their
messages are at fault: then no other message's time begins to run."""
SPREAD: Final = 5 * instants.SECOND
"""Within which what waits is tried again once an endpoint is back."""


class Try(NamedTuple):
    """One message under way: of a lane that waits (`letter`), or read just now (`entry`)."""

    lane: str
    seq: int
    entry: Entry | None
    letter: Waiting | None


class Lanes:
    """What one endpoint has still to get, after a position."""

    def __init__(self, position: int, leaf: bytes | None, waiting: Collection[Waiting]) -> None:
        """`waiting`: what was tried before, up to the position or beyond."""
        self.after = position
        """Up to where the log was read."""
        self.changed: dict[str, Waiting | None] = {}
        """What waits otherwise than was saved; None: no longer. Whoever saves it empties it."""
        self.wishes = {it.lane: it.due_at for it in waiting if _is_wish(it)}
        """What persons want sent once more, by the numbers of their wishes; those that were saved
        are taken out."""
        self.failures = 0
        """Since the last success, of whatever message."""
        self._not_before = 0
        self._asked_until = 0  # by a `Retry-After`; no success before then ends it
        self._leaves: dict[int, bytes | None] = {position: leaf}
        self._fresh: dict[str, deque[Entry]] = {}
        self._ready: deque[str] = deque()  # lanes of `_fresh` with nothing under way
        self._stuck = {it.lane: it for it in waiting}
        self._busy: dict[str, Try] = {}
        self._open: dict[int, None] = {}  # seqs that are read and not settled, in order

    # --- where it stands ---

    @property
    def position(self) -> int:
        """Up to there all is settled, or waits as `waiting` and `changed` say."""
        return next(iter(self._open)) - 1 if self._open else self.after

    @property
    def leaf(self) -> bytes | None:
        """Of the entry at the position; those before it are forgotten."""
        position = self.position
        for seq in [it for it in self._leaves if it < position]:
            del self._leaves[seq]
        return self._leaves[position]

    @property
    def leaf_after(self) -> bytes | None:
        """Of the entry up to which the log was read."""
        return self._leaves[self.after]

    @property
    def settled(self) -> int:
        """Up to there nothing waits."""
        return min([self.position, *(it.seq - 1 for it in self._stuck.values())])

    @property
    def stuck(self) -> int:
        """How many lanes wait for another try."""
        return len(self._stuck)

    @property
    def is_down(self) -> bool:
        """Whether the endpoint takes nothing at present."""
        return self.failures >= pacing.DOWN_AFTER

    @property
    def wants_more(self) -> bool:
        """Whether the log is to be read on."""
        if self.is_down and (self._ready or len(self._stuck) >= ENOUGH_STUCK):
            return False
        return (
            len(self._open) < WINDOW
            and self.after - self.position < LONGEST_REACH
            and len(self._stuck) < MOST_STUCK
        )

    # --- what comes in ---

    def read(self, entry: Entry, *, is_for_it: bool) -> None:
        """Takes in the next entry of the log."""
        self.after = entry.seq
        self._leaves[entry.seq] = entry.leaf
        lane = lane_of(entry)
        if not is_for_it or lane in self._stuck:  # then it waits behind what is stuck there
            return
        self._open[entry.seq] = None
        if lane in self._fresh:
            self._fresh[lane].append(entry)
        else:
            self._fresh[lane] = deque([entry])
            self._ready.append(lane)

    def ask(self, letter: Waiting) -> None:
        """Takes in a delivery that a person wants sent once more. What is under way, or was and is
        not saved, may be what they saw fail: then they are heard at a later look."""
        lane = letter.lane
        is_under_way = lane in self._busy or lane in self._fresh or lane in self.changed
        if not is_under_way and self.wishes.get(lane) != letter.due_at:
            self.wishes[lane] = letter.due_at
            self._stuck[lane] = letter

    # --- what goes out ---

    def next(self, now: int, concurrency: int) -> Try | None:
        """The message to send now, if there is one; it is under way then."""
        if not all(pacing.is_due(it, now) for it in (self._not_before, self._asked_until)):
            return None
        if self.is_down:
            return None if self._busy else self._probe(now)
        if len(self._busy) >= concurrency:
            return None
        trying = sum(it.letter is not None for it in self._busy.values())
        if trying < max(1, concurrency // 2) and (again := self._due(now)):
            return again
        return self._newest()

    def _probe(self, now: int) -> Try | None:
        """Another message than the one that failed, if few have: it may be the message's fault."""
        if len(self._stuck) < ENOUGH_STUCK and (fresh := self._newest()):
            return fresh
        return self._due(now, in_time=False) or self._newest()

    def _newest(self) -> Try | None:
        if not self._ready:
            return None
        lane = self._ready.popleft()
        entry = self._fresh[lane][0]
        return self._begin(Try(lane, entry.seq, entry, None))

    def _due(self, now: int, *, in_time: bool = True) -> Try | None:
        letters = [it for it in self._stuck.values() if it.lane not in self._busy]
        if in_time:
            letters = [it for it in letters if pacing.is_due(it.due_at, now)]
        if not letters:
            return None
        letter = min(letters, key=lambda letter: (letter.due_at, letter.seq))
        return self._begin(Try(letter.lane, letter.seq, None, letter))

    def _begin(self, tried: Try) -> Try:
        self._busy[tried.lane] = tried
        return tried

    # --- what came of it ---

    def taken(self, tried: Try, successor: Waiting | None, now: int, random: float) -> None:
        """The endpoint has it. `successor`: what comes next in a lane that waits, up to `after`."""
        self.drop(tried, successor)
        if self.is_down:
            for lane, letter in self._stuck.items():
                soon = now + round(SPREAD * ((random + letter.seq * 0.618) % 1))
                self._stuck[lane] = letter._replace(due_at=min(letter.due_at, soon))
        self.failures, self._not_before = 0, 0

    def drop(self, tried: Try, successor: Waiting | None) -> None:
        """Settles a message of which nothing is heard: what follows in its lane goes on."""
        self._busy.pop(tried.lane)
        if tried.letter is not None:
            self._follow(tried.lane, successor)
            return
        waiting = self._fresh[tried.lane]
        del self._open[waiting.popleft().seq]
        if waiting:
            self._ready.append(tried.lane)
        else:
            del self._fresh[tried.lane]

    def failed(
        self, tried: Try, error: str, *, now: int, asked: int | None, random: float
    ) -> Waiting:
        """It is tried again; how it waits. `asked`: the instant that a `Retry-After` named, before
        which the endpoint gets nothing at all."""
        self._busy.pop(tried.lane)
        self.failures += 1
        tries = 1 if tried.letter is None else tried.letter.tries + 1
        first = now if tried.letter is None else tried.letter.first_tried_at or now
        due = pacing.due_at(tries, now, asked, random)
        letter = Waiting(tried.lane, tried.seq, tries, first, due, error)
        for entry in self._fresh.pop(tried.lane, ()):
            del self._open[entry.seq]
        self._stuck[tried.lane] = self.changed[tried.lane] = letter
        if asked is not None:
            self._asked_until = max(self._asked_until, min(asked, now + pacing.LONGEST_PAUSE))
        if self.is_down:
            beyond = self.failures - pacing.DOWN_AFTER + 1
            pause = pacing.pause(beyond, pacing.LONGEST_PAUSE_OF_ENDPOINT, random)
            self._not_before = max(self._not_before, now + pause)
        return letter

    def bury(self, letter: Waiting, successor: Waiting | None, now: int) -> None:
        """Gives up a message that has just failed; its lane goes on with `successor`."""
        self._follow(letter.lane, successor)
        grave = alone(letter.seq)
        self.changed[grave] = letter._replace(lane=grave, dead_at=now)

    def put_off(self, tried: Try, until: int) -> None:
        """Nothing was sent, through no fault of the endpoint's: nothing is, until then."""
        self._busy.pop(tried.lane)
        self._not_before = max(self._not_before, until)
        if tried.letter is None:
            self._ready.appendleft(tried.lane)

    def _follow(self, lane: str, successor: Waiting | None) -> None:
        if successor is None:
            del self._stuck[lane]
        else:
            self._stuck[lane] = successor
        self.changed[lane] = successor


def _is_wish(letter: Waiting) -> bool:
    return letter.first_tried_at is None and letter.lane == alone(letter.seq)
