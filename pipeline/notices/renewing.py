"""Sends a seller a new link where the one that they have works no more, because they ask for it.

It goes by the channel of the message that brought the dead one, and only to the address to which
that message went: whoever holds an old link, and has the mailbox no more, changes nothing by it.
"""

import logging
from collections.abc import Sequence
from typing import Final

from pipeline import instants
from pipeline.alert_rules import AlertsFile
from pipeline.errors import PrazoError
from pipeline.inbox import Inbox
from pipeline.journey.evidence import RECORDED_BY
from pipeline.journey.links import Journey
from pipeline.journey.notifying import Help, message_of
from pipeline.log.entries import Entry, content_of
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE, wish_in
from pipeline.log.kinds.seller_notice import ADDRESS, BY_HAND, SELLER_NOTICE
from pipeline.notices.rules import NoticesFile
from pipeline.notices.sending import Order, Sending
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

PAUSE: Final = 10 * instants.MINUTE
"""After a message about the review that may have arrived: its link may not have been seen yet."""
MOST_A_DAY: Final = 5


class Renewing:
    """Sends new links and knows whom sellers ask, as `pipeline.journey.notifying.Notices` says."""

    def __init__(self, settings: Settings, inbox: Inbox) -> None:
        """Raises `SettingsError` where a file of the settings cannot be used."""
        self._inbox = inbox
        self._notices = NoticesFile(settings.notices_file)
        self._alerts = AlertsFile(settings.alerts_file)
        self._sending = Sending(
            settings, inbox, rules=self._notices.get(), mail=self._alerts.get().mail
        )

    def help(self) -> Help:
        """What the settings say of where sellers turn."""
        rules = self._notices.get()
        return Help(rules.contact, rules.genuine)

    def renew(self, journey: Journey) -> None:
        """Sends, if it may."""
        try:
            if (order := self._order(journey)) is None:
                return
            self._sending.rules, self._sending.mail = self._notices.get(), self._alerts.get().mail
            self._sending.check(order)
            done = self._sending.send_one(journey.seller_id, order)
        except PrazoError as error:
            LOG.error("no new link for journey %s: %s", journey.ref, error.in_one_line)
            return
        if done.result != "accepted":
            LOG.warning("a new link for journey %s: %s, %s", journey.ref, done.result, done.why)

    def _order(self, journey: Journey) -> Order | None:
        """What is to be sent; None where it was sent a moment ago, or often enough."""
        said = message_of(self._inbox, journey)
        now = self._inbox.now()
        sent = self._inbox.find(process_id=journey.process_id, kind=SELLER_NOTICE)
        of_today = [it for it in sent if it.recorded_at > now - instants.DAY]
        asked_for = sum(it.recorded_by == RECORDED_BY for it in of_today)
        fresh = [it for it in of_today if it.recorded_at > now - PAUSE]
        if said is None or asked_for >= MOST_A_DAY or self._may_bring_one(fresh):
            return None
        if ADDRESS not in said and self._needs_address(said["channel"]):
            return None  # nobody knows where the first went
        steps = self._inbox.find(seller_id=journey.seller_id, kind=NOTICE_SCHEDULE)
        if wish_in(steps) == "not_me":
            return None
        return Order(
            said["channel"],
            RECORDED_BY,
            language=said.get("language"),
            once=f"a new link for {journey.process_id} after {len(sent)}",
            only_to=said.get(ADDRESS),
            despite={"stop_writing", "held", "just_sent"},  # they ask for it themselves
        )

    def _may_bring_one(self, notices: Sequence[Entry]) -> bool:
        """Whether one of these notices about the review brought a link, or may have: no call or
        letter does, nor what was not sent."""
        results = self._sending.results
        return any(
            content_of(each).get("channel") not in BY_HAND and not results.has_failed(each)
            for each in notices
        )

    def _needs_address(self, channel: str) -> bool:
        webhook = self._notices.get().channels.get(channel)
        return webhook is None or webhook.address
