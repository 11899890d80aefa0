"""Looks at the clocks while nothing is recorded, and puts into the log what they do."""

import asyncio
import logging
import socket
from typing import Final

import prometheus_client

from pipeline import instants
from pipeline.contract.body import canonical_json
from pipeline.errors import InboxUnavailable
from pipeline.inbox import Inbox, clock
from pipeline.inbox.clock import COMPARE_SECONDS, TOLERANCE, Change
from pipeline.inbox.group_commit import GroupCommit
from pipeline.log.entries import Draft
from pipeline.log.kinds.clock import CLOCK

LOG = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
COMPARED_SECONDS: Final = 5.0
"""The longest wait for the database's answer."""


class ClockWatch:
    """Records each change as an entry of the kind `clock`, by the receiver's writer."""

    def __init__(
        self,
        inbox: Inbox,
        writer: GroupCommit,
        registry: prometheus_client.CollectorRegistry,
    ) -> None:
        """`registry`: where the offsets are shown."""
        self._inbox = inbox
        self._writer = writer
        self._unrecorded: list[Change] = []
        machine = inbox.machine
        for name, meaning, value in (
            (
                "prazo_clock_offset_seconds",
                "This machine's clock, ahead of the time that entries are stamped with",
                lambda: machine.offset / instants.SECOND,
            ),
            (
                "prazo_clock_database_offset_seconds",
                "The database's clock, ahead of the time that entries are stamped with",
                lambda: (machine.database_offset or 0) / instants.SECOND,
            ),
            (
                "prazo_clock_doubted",
                "1 while the clocks do not agree, and entries are marked",
                lambda: 0.0 if machine.doubted is None else 1.0,
            ),
        ):
            prometheus_client.Gauge(name, meaning, registry=registry).set_function(value)

    async def run(self) -> None:
        """Looks until it is cancelled."""
        looks = 0
        while True:
            if looks % (COMPARE_SECONDS / LOOK_SECONDS) == 0:
                await self._compare()
            looks += 1
            await self._record_changes()
            await asyncio.sleep(LOOK_SECONDS)

    async def _compare(self) -> None:
        try:
            async with asyncio.timeout(COMPARED_SECONDS):
                await asyncio.to_thread(self._inbox.compare_clocks)
        except (InboxUnavailable, TimeoutError):
            LOG.debug("the database did not tell its time")  # who delivers hears why

    async def _record_changes(self) -> None:
        self._unrecorded += self._inbox.machine.take_changes()
        while self._unrecorded:
            change = self._unrecorded[0]
            clock_says = change.at + change.offset_after
            try:
                ahead = await asyncio.to_thread(self._inbox.dated_after, clock_says + TOLERANCE)
                await self._writer.record(entry_of(change, ahead))
            except InboxUnavailable as error:
                LOG.error("what a clock did is not recorded yet: %s", error)
                return
            LOG.warning("%s", reason_of(change, ahead))
            self._unrecorded.pop(0)


def reason_of(change: Change, ahead: tuple[int, int] | None = None) -> str:
    """What happened, in words. `ahead`: the entries that are dated after this machine's clock."""
    dated = f"; entries {ahead[0]} to {ahead[1]} are dated ahead of it" if ahead else ""
    return f"{_what_happened(change)}{dated}"


def _what_happened(change: Change) -> str:
    before = f"{change.offset_before / instants.SECOND:+,.1f} s"
    after = f"{change.offset_after / instants.SECOND:+,.1f} s"
    match change.doubted:
        case None:
            return f"the clocks agree again, by the word of: {change.by} (offset {before} before)"
        case clock.DATABASE:
            return f"the database's clock left this machine's; ours stays {after} off"
        case _:
            return f"this machine's clock is {after} off, says: {change.by}; it is not believed"


def entry_of(change: Change, ahead: tuple[int, int] | None = None) -> Draft:
    """The draft of the entry that says what a clock did; `ahead` as for `reason_of`."""
    return Draft(
        kind=CLOCK,
        occurred_at=change.at,
        recorded_by="receiver",
        body=canonical_json({"reason": reason_of(change, ahead)}),
        particulars={**change.particulars(), "machine": socket.gethostname()},
    )
