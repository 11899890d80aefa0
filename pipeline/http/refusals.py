"""Counts what a process could not take, by the way in which it came, for monitoring."""

import time
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Final, Literal

from prometheus_client.core import CounterMetricFamily, Metric

from pipeline.errors import (
    InboxUnavailable,
    LedgerBehind,
    LedgerClosed,
    LedgerMadeAgain,
    NoRoom,
    PrazoError,
)

Reason = Literal["store", "busy", "fault"]
"""Why something was not taken: a store could not take it (inbox, artifacts, temporary files), too
much is under way at once, the ledger is being caught up or made again, or a fault of ours."""
REASONS: Final[tuple[Reason, ...]] = ("store", "busy", "fault")


class Refusals:
    """Counts per way, each from 0 on: a counter that appears with its first count is one that
    Prometheus does not see grow."""

    def __init__(self, ways: Sequence[str]) -> None:
        """`ways`: all in which something may come to this process."""
        self._created = time.time()
        self._lock = Lock()
        self._counts: dict[tuple[str, Reason], int] = {
            (way, reason): 0 for way in ways for reason in REASONS
        }

    def note(self, way: str, reason: Reason = "store") -> None:
        """Counts one."""
        with self._lock:
            self._counts[way, reason] += 1

    def collect(self) -> Iterator[Metric]:
        """The counts as prometheus_client asks for them."""
        counts = dict(self._counts)
        unavailable = sum(count for (_, reason), count in counts.items() if reason != "busy")
        yield CounterMetricFamily(
            "prazo_inbox_unavailable",
            "What was answered 503 because it could not be recorded, in whatever way it came",
            value=unavailable,
            created=self._created,
        )
        refused = CounterMetricFamily(
            "prazo_refused", "What was not taken, and why", labels=["way", "reason"]
        )
        for labels, count in counts.items():
            refused.add_metric(labels, count, created=self._created)
        yield refused


def reason_of(error: PrazoError) -> Reason:
    """Why something was not taken, by the error with which that failed."""
    if isinstance(error, InboxUnavailable | NoRoom):
        return "store"
    is_catching_up = isinstance(error, LedgerBehind | LedgerClosed | LedgerMadeAgain)
    return "busy" if is_catching_up else "fault"
