"""Remembers what the ledger said last: what is due, and which rungs come next.

The sender asks it for both while it answers. While no process holds the ledger, or it is built
again, its last answer is used, without the alerts that an entry of the inbox has ended since.
"""

import logging
import time
from collections.abc import Iterable
from typing import Final

from pipeline import instants
from pipeline.alert.entries import Due
from pipeline.alert.source import Coming, Source
from pipeline.errors import LedgerBehind, PrazoError

LOG = logging.getLogger(__name__)


class LastSaid:
    """What one ledger said, for one caller at a time."""

    def __init__(self, source: Source) -> None:
        self._source: Final = source
        self.dues: dict[str, Due] = {}
        """Alert -> the alert as it was last known to be due."""
        # The instant of the ledger's last answer, in microseconds. A rung that was to be due by
        # then is due only if that answer has it.
        self._answered_at = 0
        # The same on the monotonic clock; this process has not waited for an answer before.
        self._answered_on = time.monotonic()
        self._coming: dict[str, Coming] = {}
        if (said := source.remembered()) is not None:
            self._answered_at = said.at
            # The process that was told so may have raised each since.
            self.dues = {due.alert: due._replace(raised_at=said.at) for due in said.dues}
            self._coming = {it.due.alert: it for it in said.coming}
        self._looks_ahead = False

    def answered(self, at: int, *, is_whole: bool) -> None:
        """Notes that the ledger said what is due at an instant. `is_whole`: all of it."""
        self._answered_at, self._answered_on = at, time.monotonic()
        self._looks_ahead = self._looks_ahead or is_whole

    def is_silent(self, seconds: float) -> bool:
        """Whether the ledger has not said for so long what is due."""
        return time.monotonic() - self._answered_on >= seconds

    def look_ahead(self, hours: Iterable[int]) -> None:
        """Asks which rungs come in so many hours each, once after each answer with all that is due.
        Where that is not said, the last answer stays."""
        if not self._looks_ahead:
            return
        self._looks_ahead = False
        try:
            coming = self._source.coming(self._answered_at, hours)
            self._coming = {it.due.alert: it for it in coming}
        except LedgerBehind:
            self._looks_ahead = True  # it lacks what was just recorded, and only for a moment
        except PrazoError as error:
            LOG.error("the ledger does not say which rungs come next: %s", error)

    def standing(self, now: int) -> dict[str, Due]:
        """Alert -> what was due, and the rungs that were to come and are reached by now. Where a
        process has reached such a rung, its earlier rungs are left out; so is what is yet to come,
        since it was due by a clock that was ahead."""
        coming = self._coming.items()
        reached = {name: it.due for name, it in coming if self._answered_at < it.at <= now}
        since = dict[str | None, int]()
        for due in reached.values():
            since[due.process_id] = max(due.since, since.get(due.process_id, due.since))
        return {
            alert: due
            for alert, due in (self.dues | reached).items()
            if due.since <= now + instants.ALLOWED_AHEAD
            and (not due.is_rung or due.since >= since.get(due.process_id, due.since))
        }

    def is_foreseen(self, alert: str) -> bool:
        """Whether the ledger's last answer had this rung as one to come."""
        return alert in self._coming

    def hold_against_the_inbox(self, alerts: Iterable[str]) -> None:
        """Leaves out those of these alerts that an entry of the inbox has ended."""
        asked = [*alerts]
        dues = [self.dues.pop(it) for it in asked if it in self.dues]
        self.dues |= {due.alert: due for due in self._source.lasting(dues)}
        coming = {it: self._coming.pop(it) for it in asked if it in self._coming}
        for due in self._source.lasting(it.due for it in coming.values()):
            self._coming[due.alert] = coming[due.alert]._replace(due=due)
