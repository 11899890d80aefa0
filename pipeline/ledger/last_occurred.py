"""Remembers which entry was the last to tell of a time."""

from bisect import bisect_right
from operator import itemgetter
from typing import Final

from pipeline import instants

MOST_STEPS: Final = 1000
"""Hours of which an entry is remembered: the last six weeks of them."""


class LastOccurred:
    """Which entry was the last that occurred by an instant: by this a reader tells without a
    question whether an answer about an earlier instant still holds.

    Entries mostly occur in the order in which they are recorded, so what is remembered are steps:
    each is later than the one before, both in time and in the log. Those of an hour are one, and an
    entry that occurred before others stands from then on for all of them: their steps go.
    """

    def __init__(self, size: int) -> None:
        self._forgotten = size  # up to here, any entry may have occurred by any instant
        self._steps: tuple[tuple[int, int], ...] = ()  # when it begins, and its last entry

    def add(self, occurred_at: int, seq: int) -> None:
        """Takes note of entries that were appended: the earliest occurrence among them, in
        microseconds, and the last of them."""
        steps = self._steps[: bisect_right(self._steps, occurred_at - 1, key=itemgetter(0))]
        if steps and steps[-1][0] // instants.HOUR == occurred_at // instants.HOUR:
            occurred_at = steps[-1][0]
            steps = steps[:-1]
        if len(steps) == MOST_STEPS:
            self._forgotten = steps[0][1]  # first: nobody may be given an earlier entry
        self._steps = (*steps, (occurred_at, seq))[-MOST_STEPS:]

    def by(self, at: int) -> int:
        """No entry after this one occurred by then. 0 or more; safe to ask from any thread."""
        steps = self._steps
        found = bisect_right(steps, at, key=itemgetter(0))
        return steps[found - 1][1] if found else self._forgotten
