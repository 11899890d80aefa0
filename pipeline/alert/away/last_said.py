"""Remembers what the ledger said last: what is due, and which rungs come next.

The sender asks it for both while it answers. While nobody holds the ledger, its last answer is
used, without the alerts that an entry of the inbox has ended since.
"""

import contextlib
from collections.abc import Iterable
from typing import Final

from pipeline.alert.entries import Due
from pipeline.alert.source import Source
from pipeline.errors import OperatorError


class LastSaid:
    """What one ledger said, for one caller at a time."""

    def __init__(self, source: Source) -> None:
        self._source: Final = source
        self.dues: dict[str, Due] = {}
        """Alert -> the alert as it was last known to be due."""
        self.answered_at = 0
        """The instant of the ledger's last answer, in microseconds. A rung that was reached by then
        is due only if that answer has it."""
        self._coming: dict[str, Due] = {}

    def look_ahead(self) -> None:
        """Asks which rungs come next. Where the ledger does not answer, its last answer stays."""
        with contextlib.suppress(OperatorError):
            self._coming = {due.alert: due for due in self._source.coming()}

    def standing(self, now: int) -> dict[str, Due]:
        """Alert -> what was due, and the rungs that were to come and are reached by now. Where a
        process has reached such a rung, its earlier rungs are left out."""
        coming = self._coming.items()
        reached = {it: due for it, due in coming if self.answered_at < due.since <= now}
        since = dict[str | None, int]()
        for due in reached.values():
            since[due.process_id] = max(due.since, since.get(due.process_id, due.since))
        return {
            alert: due
            for alert, due in (self.dues | reached).items()
            if not due.is_rung or due.since >= since.get(due.process_id, due.since)
        }

    def is_foreseen(self, alert: str) -> bool:
        """Whether the ledger's last answer had this rung as one to come."""
        return alert in self._coming

    def hold_against_the_inbox(self, alerts: Iterable[str]) -> None:
        """Leaves out those of these alerts that an entry of the inbox has ended."""
        for said in (self.dues, self._coming):
            asked = [said.pop(it) for it in alerts if it in said]
            said |= {due.alert: due for due in self._source.lasting(asked)}
