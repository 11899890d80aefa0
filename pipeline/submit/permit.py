"""The right to send for one process: a lease, asked for again right before bytes leave.

What cannot be excluded is in docs/decisions/retries.md#what-the-last-check-cannot-see.
"""

import asyncio
from typing import Final

from pipeline import instants
from pipeline.errors import InboxUnavailable
from pipeline.inbox import Inbox, leases
from pipeline.inbox.leases import Held, Lease, Spent
from pipeline.submit.platform import Withheld

MARGIN: Final = 2 * instants.SECOND
"""How much longer a lease lasts than the request may: for clocks that run apart meanwhile, and for
the end of a request that has run out of time."""
RELEASE_SECONDS: Final = 1.0
"""For a lease to be ended early; where the inbox hangs, its time ends it."""
LEAST_SHARE: Final = 0.1
"""Of the request's time, what must be left: with less, a lost answer would be all that we get."""


class LeasePermit:
    """A permit for a request of at most `timeout_seconds` from the taking of its lease on."""

    def __init__(self, inbox: Inbox, lease: Lease, timeout_seconds: float) -> None:
        self._inbox = inbox
        self._lease = lease
        self._least = round(timeout_seconds * LEAST_SHARE * instants.SECOND)

    @property
    def number(self) -> int:
        """The lease's."""
        return self._lease.number

    @property
    def passed(self) -> int:
        """Microseconds since the lease was taken, also those for which we were paused."""
        return instants.since_boot() - self._lease.taken_at

    @property
    def seconds_left(self) -> float:
        """Of the request's time."""
        return (self._lease.left_here - MARGIN) / instants.SECOND

    async def ask(self) -> None:
        """Reads the lease's row again, and holds what is left against what is needed."""
        try:
            left = await asyncio.to_thread(leases.left, self._inbox, self._lease)
        except InboxUnavailable as error:
            raise Withheld(f"the inbox does not say whether we may still send: {error}") from error
        if left <= 0:
            raise Withheld("another process of ours may send this review by now")
        self._hold_against(left)

    def look(self) -> None:
        """Asks this machine's clock alone, so that a pause since is noticed."""
        self._hold_against(self._lease.left_here)

    async def release(self) -> None:
        """Ends it early, where nothing was started under it."""
        ending = asyncio.to_thread(leases.release, self._inbox, self._lease)
        await asyncio.wait({asyncio.ensure_future(ending)}, timeout=RELEASE_SECONDS)

    def _hold_against(self, left: int) -> None:
        if left - MARGIN < self._least:
            seconds = self.passed / instants.SECOND
            raise Withheld(f"its time was over: {seconds:.1f} s had passed since it was begun")


async def take(
    inbox: Inbox, process_id: str, holder: str, timeout_seconds: float, spent: Spent
) -> LeasePermit | Held:
    """The permit for a process, or for how long another sender has it."""
    length = round(timeout_seconds * instants.SECOND) + MARGIN
    name = f"submission {process_id}"
    taken = await asyncio.to_thread(leases.take, inbox, name, holder, length, spent)
    return taken if isinstance(taken, Held) else LeasePermit(inbox, taken, timeout_seconds)
