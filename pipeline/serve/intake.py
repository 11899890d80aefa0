"""Says how the intake is: when the last delivery came, and whether a receiver could record now."""

from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.aside import Aside
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxUnavailable
from pipeline.http import addresses
from pipeline.http.outgoing import receivers
from pipeline.http.outgoing.looks import Looks
from pipeline.http.outgoing.receivers import READY, READY_SECONDS, Answer
from pipeline.inbox import copies
from pipeline.inbox.heartbeats import Part, heartbeats
from pipeline.settings import Settings

LOOK_SECONDS: Final = 10.0
"""Between two looks, however many people have a page open: each makes a receiver try a write."""
STALE_SECONDS: Final = 30.0
"""What was found before that is not shown any more, and a receiver elsewhere is not there without
a heartbeat within this time."""


class Intake(NamedTuple):
    """The intake as it was found. Instants are naive UTC, as in views."""

    last_at: datetime | None  # the last delivery; None before the first
    silent_since: datetime | None  # None while deliveries come as usual
    receiver: Answer
    why_held: str = ""  # why nothing is sent from here; empty where it is sent


def ask(settings: Settings) -> Answer:
    """What the receiver of the settings says, asked from its own machine."""
    return receivers.ask(addresses.local(settings.receiver_host, settings.receiver_port))


class _Receivers:
    """The receiver of the settings, else any that shares the inbox from another machine."""

    def __init__(self, service: LedgerService) -> None:
        self._service = service
        self._asking: Aside[Answer] | None = None

    def answer(self) -> Answer:
        """What they say, within `READY_SECONDS`; a question that hangs is not asked twice."""
        settings = self._service.settings
        self._asking = self._asking or Aside(lambda: ask(settings), name="receiver")
        try:
            answer = self._asking.outcome(READY_SECONDS)
            self._asking = None
        except TimeoutError as error:
            answer = Answer(False, False, str(error))
        return answer if answer.is_there or not self._one_is_elsewhere() else READY

    def _one_is_elsewhere(self) -> bool:
        if self._service.settings.has_inbox_file:
            return False
        inbox = self._service.inbox
        try:
            at = heartbeats(inbox).get(Part.RECEIVER)
            # One that is yet to come is of a clock that was ahead, and says nothing of now.
            return at is not None and abs(inbox.now() - at) < STALE_SECONDS * instants.SECOND
        except InboxUnavailable:
            return False


@lru_cache(maxsize=1)
def watch(service: LedgerService) -> Looks[Intake]:
    """The looks at the intake of this process's ledger, which everybody who asks shares."""
    asked = _Receivers(service)

    def look() -> Intake:
        answer = asked.answer()
        held = copies.why_held(service.inbox)
        [row] = service.reader.read("intake").to_pylist()
        return Intake(row["last_at"], row["silent_since"], answer, held)

    return Looks(look, name="intake", every_seconds=LOOK_SECONDS)


def current(service: LedgerService) -> Intake | None:
    """What was found a moment ago; None while nobody knows. Never waits."""
    looked = watch(service).last()
    if looked is None or looked.seconds_ago > STALE_SECONDS:
        return None
    return looked.found
