"""Process-years of the schedule: crashes at every step, services that fail, people who step in.

It is looked at only when the decision before said so, when something came about the review, or
after a restart, as the dispatcher does."""

import random
from dataclasses import dataclass, field

import pytest

from pipeline import instants
from pipeline.notices.dispatcher import HELD
from pipeline.notices.rules import RUNGS
from pipeline.notices.schedule import APART, Decision, due
from pipeline.notices.unanswered import UNANSWERED
from tests.notices.test_schedule import OPENED, World, at, result

DAYS = 45
PEOPLE = ("hold", "release", "ticket", "closed", "by hand", "answer")
CRASHES = ("no claim", "claim", "entry", "taken")
FAILURES = ("failed", "refused")


@dataclass
class Life(World):
    """One review from its opening on. A service takes a message's id twice as once."""

    fate: random.Random = field(default_factory=random.Random)
    calm: int = 0
    """From then on nobody dies, fails or steps in."""

    def decision(self) -> Decision:
        return due(self.times, self.log, self.now, RUNGS)

    def live(self) -> None:
        steps = sorted(
            self.fate.randrange(OPENED, self.calm) for _ in range(self.fate.randrange(5))
        )
        crash_rate = self.fate.choice((0.0, 0.1, 0.5))
        look_at: int | None = OPENED
        while (now := self._next(look_at, steps)) is not None and now < at(DAYS):
            self.now = now
            if steps and steps[0] <= now:
                steps.pop(0)
                self.act(self.fate.choice(PEOPLE))
            look_at = self._look(crash_rate)

    def _next(self, look_at: int | None, steps: list[int]) -> int | None:
        """When it is looked at again: a result that is missing wakes the sender, too."""
        open_ones = [it.at + UNANSWERED for it in self.log if self._lacks_result(it.content)]
        found = [it for it in (look_at, *steps[:1], *open_ones) if it is not None]
        return None if not found else max(min(found), self.now)

    def _lacks_result(self, said: object) -> bool:
        assert isinstance(said, dict)
        message = said.get("message_id")
        known = {it.content.get("message_id") for it in self.log if "result" in it.content}
        return message is not None and "result" not in said and message not in known

    def _look(self, crash_rate: float) -> int | None:
        before = len(self.log)
        is_calm = self.now >= self.calm
        how = "turn"
        if not is_calm and self.fate.random() < crash_rate:
            how = self.fate.choice(CRASHES + FAILURES)
        self.sweep()
        found = self.decision()
        if found.rung is None and found.again is not None and self.is_asked:
            self.log.append(result(found.again, "accepted", self.now))  # it came once all the same
            if found.again not in {message for message, _ in self.taken}:
                self.taken.append((found.again, self._rung_of(found.again)))
        else:
            self.turn(how)
        if how in CRASHES:
            return self.now + self.fate.randrange(1, 12) * instants.MINUTE
        return self.now + HELD if len(self.log) > before else self.decision().look_at

    def _rung_of(self, message: str) -> str | None:
        return next(
            entry.content["rung"]
            for entry in self.log
            if entry.content.get("message_id") == message and "rung" in entry.content
        )


def check(seed: int) -> int:
    """Lives through one review; how many messages were taken."""
    fate = random.Random(seed)
    life = Life(fate=fate, calm=at(fate.uniform(0.1, 36)))
    life.live()
    rungs = [it for _, it in life.taken if it is not None]
    assert len(rungs) == len(set(rungs)), (seed, "doubled")
    if life.is_asked and not life.is_kept:
        for days, name in ((7, "after_7d"), (14, "after_14d"), (25, "after_25d"), (33, "late_3d")):
            if at(days) >= life.calm + APART:
                assert name in rungs, (seed, "missed", name)
    return len(life.taken)


@pytest.mark.parametrize(
    "years", [300, pytest.param(10_000, marks=pytest.mark.long)], ids="{} process-years".format
)
def test_over_process_years_no_rung_is_missed_none_doubled_and_none_sent_for_what_is_over(
    years: int,
) -> None:
    reviews = years * 365 // DAYS
    assert sum(check(seed) for seed in range(reviews)) > reviews
