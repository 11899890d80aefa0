"""What the seller's page asks of seller notices, whose room stands above it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from pipeline.inbox import Inbox
from pipeline.journey.links import Journey
from pipeline.log.entries import content_of
from pipeline.log.kinds.seller_notice import COMMITMENT, JOURNEY, SELLER_NOTICE
from pipeline.settings import Settings


class Help(NamedTuple):
    """Where sellers turn, in the marketplace's words."""

    contact: str | None = None
    """Whom they ask."""
    genuine: str | None = None
    """Where they look up that a message or a page is genuine."""


class Notices(Protocol):
    """Sends to sellers."""

    def help(self) -> Help:
        """What the settings say now."""

    def renew(self, journey: Journey) -> None:
        """Sends a new link in place of one that was sent and works no more, to the same address,
        if it may. It blocks, and what came of it is in the log alone."""


MakeNotices = Callable[[Settings, Inbox], Notices]


def message_of(inbox: Inbox, journey: Journey) -> Mapping[str, Any] | None:
    """What the log says of the message that brought a link; None where a person or another program
    brought it, or nobody. Raises `InboxUnavailable`."""
    notices = inbox.find(process_id=journey.process_id, kind=SELLER_NOTICE)
    said = (content_of(it) for it in notices)
    return next(
        (it for it in said if COMMITMENT in it and it.get(JOURNEY) == journey.journey_id), None
    )
