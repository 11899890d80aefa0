"""Records what one process does about alerts; what the inbox does not take is remembered."""

import itertools
import logging
import threading
from collections.abc import Callable
from typing import Final

from pipeline import instants
from pipeline.alert.away.unrecorded import Unrecorded
from pipeline.alert.entries import Due, Subject
from pipeline.alert.source import Source
from pipeline.errors import InboxUnavailable
from pipeline.inbox import Inbox
from pipeline.inbox.store import Receipt
from pipeline.log.entries import Draft

LOG = logging.getLogger(__name__)

PAUSES: Final = (0.2, 1.0, 5.0, 20.0)
"""Between tries to record what came of a message. The last one repeats until we are stopped."""


class Recording:
    """Writes entries about alerts. Safe from several threads."""

    def __init__(
        self, inbox: Inbox, source: Source, unrecorded: Unrecorded, now: Callable[[], int]
    ) -> None:
        self._inbox = inbox
        self._source = source
        self._unrecorded = unrecorded
        self._now = now

    def append(self, drafts: list[Draft]) -> list[Receipt]:
        """Records them in one commit. Raises `InboxUnavailable`, and has noted that then."""
        try:
            receipts = self._inbox.append(drafts)
        except InboxUnavailable:
            self._unrecorded.note(self._inbox.clock(), is_unwritten=True)
            raise
        self._unrecorded.recorded(drafts)
        return receipts

    def append_at_last(
        self, made: Callable[[int], list[Draft]], stop: threading.Event, *, is_patient: bool
    ) -> None:
        """Records what came of a try just now; `made` gives the drafts as of an instant.

        Unrecorded, the message would be sent again, so this waits for an inbox that is away: until
        `stop` is set, or only a short while where it is not patient. Raises `InboxUnavailable`
        after that.
        """
        ended = instants.since_boot()

        def drafts() -> list[Draft]:
            now = self._now()
            waited = instants.since_boot() - ended
            return made(now - waited if waited > instants.SECOND else now)

        lasting = itertools.repeat(PAUSES[-1]) if is_patient else ()
        for pause in itertools.chain(PAUSES, lasting):
            try:
                self.append(drafts())
            except InboxUnavailable as error:
                LOG.error("what came of a message waits to be recorded: %s", error)
                self._unrecorded.remember(drafts())
                if stop.wait(pause):
                    break
            else:
                return
        self.append(drafts())

    def subject(self, due: Due) -> Subject:
        """The true ids of what an alert is about: views may show them masked."""
        if due.seq is None or (due.process_id is None and due.seller_id is None):
            return Subject()
        found = self._inbox.entry(due.seq)
        return Subject() if found is None else Subject.of(due, found, self._source.is_mask)
