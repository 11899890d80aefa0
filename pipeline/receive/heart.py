"""Says in an inbox that several machines share that a receiver is well, for pages elsewhere."""

import asyncio
import logging
from typing import Final

from pipeline.aside import Aside
from pipeline.errors import InboxUnavailable
from pipeline.inbox import Inbox
from pipeline.inbox.heartbeats import Part, beat

LOG = logging.getLogger(__name__)

BEAT_SECONDS: Final = 10.0


async def beat_for_ever(inbox: Inbox) -> None:
    """Beats at once, and on until it is cancelled. A beat is as durable as an entry, so a receiver
    that could not record misses it. One that hangs does so on a thread that nothing waits for."""
    beating: Aside[None] | None = None
    while True:
        if beating is None or _is_over(beating):
            beating = Aside(lambda: beat(inbox, Part.RECEIVER), name="heartbeat")
        await asyncio.sleep(BEAT_SECONDS)


def _is_over(beating: Aside[None]) -> bool:
    try:
        beating.outcome(0.0)
    except TimeoutError:
        return False
    except InboxUnavailable as error:
        LOG.error("the receiver cannot say that it is well: %s", error)
    return True
