"""Asks the inbox for its newest entry, for callers that must not wait where it hangs.

A database that stands still, or a network that swallows packets, is noticed by the follower after a
minute. How the ledger stands is to be said at once, and after a moment that it is not known.
"""

import threading
import time
from typing import Final

from pipeline.aside import Aside
from pipeline.errors import InboxUnavailable
from pipeline.inbox import Inbox

ANSWER_SECONDS: Final = 1.0
"""For which one who asks waits; commands wait two seconds for a holder that is to say how it is."""
HANGING_SECONDS: Final = 5.0
"""Without an answer for so long, what was known before counts no longer."""


class Newest:
    """The newest entry of an inbox, from several threads. While a question hangs, no other is
    asked."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._lock = threading.Lock()
        self._known: tuple[int, int] | None = None
        self._hanging: Aside[tuple[int, int]] | None = None
        self._silent_since: float | None = None  # on the monotonic clock

    def ask(self) -> tuple[int, int]:
        """Its seq and its receipt, as `Inbox.last` says them, within `ANSWER_SECONDS`: what was
        known before, where the inbox has been silent for a moment only. Raises `InboxUnavailable`
        where it cannot be asked or does not answer."""
        began = time.monotonic()
        with self._lock:
            hanging = self._hanging
        if hanging is not None and not hanging.ends_within(0.0):
            return self._while_silent()
        asked = Aside(self._inbox.last, name="newest entry")
        try:
            newest = asked.outcome(ANSWER_SECONDS)
        except TimeoutError:
            with self._lock:
                self._hanging = asked
                self._silent_since = self._silent_since or began
            return self._while_silent()
        with self._lock:
            self._known, self._hanging, self._silent_since = newest, None, None
        return newest

    def _while_silent(self) -> tuple[int, int]:
        with self._lock:
            known, since = self._known, self._silent_since or time.monotonic()
        silent = time.monotonic() - since
        if known is None or silent >= HANGING_SECONDS:
            raise InboxUnavailable(
                "The inbox cannot be read",
                f"it has not answered for {silent:.0f} s",
                "look at its server or disk, and at the network between",
            )
        return known
