"""What the seller's page asks of seller notices, whose room stands above it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from pipeline.inbox import Inbox
from pipeline.journey.links import Journey
from pipeline.log.entries import content_of
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE
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


def messages_about(inbox: Inbox, process_id: str) -> list[Mapping[str, Any]]:
    """What the log says of each message of ours about a process, the oldest first, and then of each
    that was repeated: a repeat has a link and words of its own. Raises `InboxUnavailable`."""
    notices = (content_of(it) for it in inbox.find(process_id=process_id, kind=SELLER_NOTICE))
    ours = {it["message_id"]: it for it in notices if COMMITMENT in it}
    claims = (content_of(it) for it in inbox.find(process_id=process_id, kind=NOTICE_SCHEDULE))
    repeats = [it for it in claims if COMMITMENT in it and it.get("message_id") in ours]
    return [*ours.values(), *({**ours[it["message_id"]], **it} for it in repeats)]


def message_of(inbox: Inbox, journey: Journey) -> Mapping[str, Any] | None:
    """What the log says of the message that brought a link; None where a person or another program
    brought it, or nobody. Raises `InboxUnavailable`."""
    messages = messages_about(inbox, journey.process_id)
    return next((it for it in messages if it.get(JOURNEY) == journey.journey_id), None)
