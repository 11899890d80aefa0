"""Counts deliveries turned away unread: nobody outside may fill the log with them."""

from collections import Counter
from typing import Final, NamedTuple

from pipeline.occurrences import REJECTION, Draft

SECONDS_BETWEEN_ENTRIES: Final = 60.0


class Rejected(NamedTuple):
    """Deliveries turned away with one status for one reason. Reasons are few and ours."""

    status: int
    reason: str


class Rejections:
    """Each reason becomes at most one entry a minute, with the count since the one before."""

    def __init__(self) -> None:
        self._waiting: Counter[Rejected] = Counter()
        self._recorded_at: dict[Rejected, float] = {}

    def note(self, rejected: Rejected, deliveries: int = 1) -> None:
        self._waiting[rejected] += deliveries

    def take_due(self, now: float) -> dict[Rejected, int]:
        """Counts that may be recorded now, once; `now` in seconds of a monotonic clock."""
        due = {
            it: deliveries
            for it, deliveries in self._waiting.items()
            if now - self._recorded_at.get(it, -SECONDS_BETWEEN_ENTRIES) >= SECONDS_BETWEEN_ENTRIES
        }
        for it in due:
            self._recorded_at[it] = now
            del self._waiting[it]
        return due


def entry_of(rejected: Rejected, deliveries: int, occurred_at: int) -> Draft:
    """The entry of a count."""
    return Draft(
        kind=REJECTION,
        occurred_at=occurred_at,
        recorded_by="receiver",
        status=rejected.status,
        particulars={"reason": rejected.reason, "deliveries": deliveries},
    )
