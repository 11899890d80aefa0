"""Counts the deliveries that are turned away unread, so that nobody can fill the log with them."""

from collections import Counter
from typing import Final, NamedTuple

from pipeline.log.entries import REJECTION, Draft

SECONDS_BETWEEN_ENTRIES: Final = 60.0


class Rejected(NamedTuple):
    """A status and a reason for which deliveries are turned away. Our code writes the reasons, so
    they are few."""

    status: int
    reason: str


class Rejections:
    """Makes at most one entry per minute and reason, with the count since the last entry."""

    def __init__(self) -> None:
        self._waiting: Counter[Rejected] = Counter()
        self._recorded_at: dict[Rejected, float] = {}

    def note(self, rejected: Rejected, deliveries: int = 1) -> None:
        """Adds to the count of deliveries that were turned away."""
        self._waiting[rejected] += deliveries

    def take_due(self, now: float) -> dict[Rejected, int]:
        """Removes the counts that may be recorded now, and returns them.

        `now`: in seconds of a monotonic clock.
        """
        never = -SECONDS_BETWEEN_ENTRIES
        due = {
            rejected: deliveries
            for rejected, deliveries in self._waiting.items()
            if now - self._recorded_at.get(rejected, never) >= SECONDS_BETWEEN_ENTRIES
        }
        for rejected in due:
            self._recorded_at[rejected] = now
            del self._waiting[rejected]
        return due


def entry_of(rejected: Rejected, deliveries: int, occurred_at: int) -> Draft:
    """The draft of an entry that states a count; `occurred_at` in microseconds."""
    return Draft(
        kind=REJECTION,
        occurred_at=occurred_at,
        recorded_by="receiver",
        status=rejected.status,
        particulars={"reason": rejected.reason, "deliveries": deliveries},
    )
