"""Counts what the receiver turns away: in its metrics, and in the text log and the log itself at
most once a minute and reason, so that no sender can fill them."""

import asyncio
import logging
import math
import time
from collections import Counter
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from pipeline.errors import InboxUnavailable
from pipeline.http.asgi import Request
from pipeline.inbox import Inbox
from pipeline.inbox.group_commit import GroupCommit
from pipeline.log.entries import Draft
from pipeline.log.kinds.rejection import REJECTION
from pipeline.receive.metrics import Metrics
from pipeline.texts import counted, for_anybody, names_person, printable

LOG = logging.getLogger(__name__)

SECONDS_BETWEEN_ENTRIES: Final = 60.0
MAX_PATH_CHARACTERS: Final = 200
"""Of the one path that an entry names."""


class Rejected(NamedTuple):
    """A status and a reason for which requests are turned away. Our code writes the reasons, so
    they are few."""

    status: int
    reason: str


class Rejections:
    """Makes at most one entry per minute and reason, with the count since the last entry."""

    def __init__(self) -> None:
        self._waiting: Counter[Rejected] = Counter()
        self._recorded_at: dict[Rejected, float] = {}

    def note(self, rejected: Rejected, deliveries: int = 1) -> None:
        """Adds to the count of requests that were turned away."""
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


def entry_of(
    rejected: Rejected, deliveries: int, occurred_at: int, asked: str | None = None
) -> Draft:
    """The draft of an entry that states a count; `occurred_at` in microseconds. `asked`: one of the
    requests that it counts, as `asked_of` shows it."""
    reason = rejected.reason if asked is None else f"{rejected.reason}: {asked}"
    return Draft(
        kind=REJECTION,
        occurred_at=occurred_at,
        recorded_by="receiver",
        status=rejected.status,
        particulars={"reason": reason, "deliveries": deliveries},
    )


def asked_of(method: str, raw_path: bytes) -> str:
    """A request as an entry names it: in one line, without what looks like a person's id, its path
    cut to `MAX_PATH_CHARACTERS`. `raw_path`: as it was sent, without a query."""
    path = raw_path.decode("utf-8", "replace")
    decoded = unquote_to_bytes(raw_path).decode("utf-8", "replace")
    if names_person(decoded):  # an id may be hidden by its encoding
        path = decoded
    return f"{method[:20]} {printable(for_anybody(path))[:MAX_PATH_CHARACTERS]}"


class TurnedAwayRequests:
    """Counts every request that is turned away, once it is `open`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._rejections = Rejections()
        self._asked: dict[Rejected, tuple[str, bytes]] = {}
        self._inbox: Inbox
        self._writer: GroupCommit

    def open(self, inbox: Inbox, writer: GroupCommit) -> None:
        """Begins to record counts."""
        self._inbox, self._writer = inbox, writer

    def count(self, status: int) -> None:
        """Counts a request in the metrics alone."""
        self._metrics.rejections.labels(str(status)).inc()

    def note_later(self, status: int, reason: str, request: Request | None = None) -> None:
        """Counts a request, to be recorded within a minute or so. `request`: where the reason does
        not say what was asked for; the entry names the first one of those that it counts."""
        rejected = Rejected(status, reason)
        self.count(status)
        self._rejections.note(rejected)
        if request is not None and rejected not in self._asked:
            self._asked[rejected] = request.method, request.scope.get("raw_path") or b""

    async def note(self, status: int, reason: str, request: Request | None = None) -> None:
        """Counts a request, and has it recorded at once if it is the first for so long."""
        self.note_later(status, reason, request)
        await self._record(time.monotonic())

    async def record_in_time(self) -> None:
        """Records what was turned away, a count a minute for each reason. Runs until cancelled."""
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_ENTRIES / 4)
            await self._record(time.monotonic())

    async def record_last(self, until: float) -> None:
        """Records every count that is left; gives up at `until`, of the monotonic clock."""
        await self._record(math.inf, until)

    async def _record(self, due_by: float, until: float | None = None) -> None:
        due = self._rejections.take_due(due_by)
        await asyncio.gather(*(self._record_count(*it, until) for it in due.items()))

    async def _record_count(self, rejected: Rejected, requests: int, until: float | None) -> None:
        known = self._asked.pop(rejected, None)
        asked = None if known is None else asked_of(*known)
        draft = entry_of(rejected, requests, self._inbox.clock(), asked)
        LOG.warning(
            "%s turned away with %d: %s",
            counted(requests, "request"),
            rejected.status,
            draft.particulars["reason"],
        )
        try:
            await self._writer.record(draft, until=until)
        except InboxUnavailable as error:
            self._rejections.note(rejected, requests)  # for a later entry
            if known is not None:
                self._asked.setdefault(rejected, known)
            LOG.error("a count of requests that were turned away was not recorded: %s", error)
