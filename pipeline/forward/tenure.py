"""Sees to it that one process alone passes deliveries on, of all that share an inbox.

It holds a lease and renews it. A message may be sent only if the lease outlasts it, so two
forwarders never have the same seller's messages under way; a paused one notices by its own clock.
"""

import logging
import os
import socket
from typing import Final

from pipeline import instants
from pipeline.inbox import Inbox, leases
from pipeline.inbox.leases import Held, Lease, Spent

LOG = logging.getLogger(__name__)

NAME: Final = "forwarding"
MARGIN: Final = 3 * instants.SECOND
"""How much longer the lease lasts than a message may take. After a forwarder was killed, the next
one waits for that long."""
RENEWED_AFTER: Final = instants.SECOND


class Tenure:
    """The lease, from its taking to its end. Its methods that ask the inbox raise
    `InboxUnavailable`."""

    def __init__(self, inbox: Inbox, lease: Lease, longest: int) -> None:
        self._inbox = inbox
        self._lease = lease
        self._longest = longest

    @property
    def may_begin(self) -> bool:
        """Whether a message may be begun: the lease outlasts it."""
        return self._lease.left_here > self._longest

    @property
    def may_send(self) -> bool:
        """Whether one that was begun may be written, by this machine's clock."""
        return self._lease.left_here > 0

    def keep(self) -> bool:
        """Renews the lease in time; false once somebody else has it."""
        lease = self._lease
        if lease.length - lease.left_here < RENEWED_AFTER:
            return True
        renewed = leases.renew(self._inbox, lease)
        if renewed is None:
            return False
        self._lease = renewed
        return True

    def end(self) -> None:
        """Lets the next one begin at once."""
        leases.release(self._inbox, self._lease)


def begin(inbox: Inbox, longest_seconds: float) -> Tenure | Held:
    """The right to pass on, or for how long another process has it at most. `longest_seconds`: that
    a message may take."""
    longest = round(longest_seconds * instants.SECOND)
    holder = f"{socket.gethostname()} {os.getpid()}"
    taken = leases.take(inbox, NAME, holder, longest + MARGIN, Spent())
    return taken if isinstance(taken, Held) else Tenure(inbox, taken, longest)
