"""Sends notices to sellers: for each the links, the entry that it is about to go, the message, and
what came of it, in this order.

    1. the links, each with its `invited` entry: a crash leaves links that nobody has
    2. one `seller_notice` a process, all in one commit, if the processes are still as they were
       read and nobody else writes to the seller: a crash leaves them without a result
    3. the message is handed over: a crash leaves them without a result, too
    4. the result; without one it becomes `uncertain` after a while
    5. all other links that were sent end

Nothing is said to be sent before the service has taken it, and nothing is sent that no entry names.
"""

import hashlib
import hmac
import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from pipeline import instants
from pipeline.alert_rules import AlertsFile
from pipeline.contract.body import JsonValue
from pipeline.errors import CallerError, InboxUnavailable, PrazoError, WrongUsage
from pipeline.http.outgoing.mail_server import Mail
from pipeline.inbox import Inbox, copies
from pipeline.inbox.artifacts import artifact_store
from pipeline.inbox.artifacts.owners import Owned
from pipeline.inbox.leases import Lease, Spent, left, release, take
from pipeline.inbox.store import Outcome, Statement
from pipeline.journey import links
from pipeline.journey.links import Journey, Minted
from pipeline.journey.notifying import messages_about
from pipeline.journey.page_texts import Language
from pipeline.journey.reviews import Reviews
from pipeline.language.codes import CHANNELS
from pipeline.log.actors import SALT_BYTES
from pipeline.log.artifacts import described
from pipeline.log.entries import Entry, commitment, content_of
from pipeline.log.kinds import notice_schedule, seller_notice, seller_notice_result
from pipeline.log.kinds.seller_notice import (
    ADDRESS,
    ARTIFACTS,
    COMMITMENT,
    DEADLINE,
    JOURNEY,
    ONCE,
    SELLER_NOTICE,
)
from pipeline.notices import channels, started, texts, unanswered
from pipeline.notices.channels import Came, Envelope
from pipeline.notices.news import news_in
from pipeline.notices.results import Results
from pipeline.notices.rules import (
    ACCEPTED,
    ADDRESSED,
    CORRECT,
    EMAIL,
    FIRST,
    OURS,
    REMINDER,
    NoticeRules,
    load,
)
from pipeline.notices.schedule import ALONG
from pipeline.notices.sellers import Open, Refused, Seller, Sellers, is_mailbox
from pipeline.notices.texts import LINK, Asked, Message, Sender
from pipeline.settings import Settings
from pipeline.texts import names_person

LOG = logging.getLogger(__name__)

AT_ONCE: Final = 8
"""Messages on their way at a time, of many."""
LEASE: Final = 5 * instants.MINUTE
"""For so long nobody else writes to a seller: longer than any message is on its way."""
ROUNDS: Final = 3
"""Readings of a seller. In between, something came about one of the processes each time."""
RECENTLY: Final = instants.HOUR
"""For so long after a message, another by hand goes only where whoever sends it knows of that."""
PAUSES: Final = (0.2, 1.0, 5.0)
"""In seconds, between tries to record what came of a message."""
CHAT: Final = "chat"

TAKEN: Final = ("accepted", "delivered", "opened")
"""Results of a message that went out for sure."""

_CLAIM: Final = """
    update leases set holder = holder
    where name = $1 and number = $2 and held_until = $3"""
_IS_STARTED: Final = """
        and exists (select 1 from leases as other where other.name = ${} and other.holder = ${})"""
_IS_AS_READ: Final = """
        and (select coalesce(max(process_n), 0) from entries where process_id = ${}) = ${}"""


class Order(NamedTuple):
    """What is to be sent, by whom."""

    channel: str
    recorded_by: str
    actor: str | None = None
    """The name of who sends it; None for the schedule."""
    language: Language | None = None
    """None: the settings'."""
    template: str | None = None
    """None: the one that fits, whether the seller was asked before or not."""
    once: str | None = None
    """A text by which sending the same again, as after a crash, sends nothing again. Of what a
    person sends it stands in the entries."""
    only_to: str | None = None
    """The keyed digest of an address: it goes to no other one."""
    despite: Set[Refused] = frozenset()
    """What keeps messages back from this one seller, and whoever sends it knows of."""


Decide = Callable[[Seller], Mapping[str, str]]
"""Says of a seller, just read, which rung of the schedule is due for which process."""


class Done(NamedTuple):
    """What became of the notice to one seller."""

    seller_id: str
    result: Literal["accepted", "failed", "uncertain", "refused"]
    why: str | None = None
    """Of what was refused a key of `sellers.REFUSALS`; else what the service said."""
    message_id: str | None = None
    process_ids: tuple[str, ...] = ()
    is_refused: bool = False
    """The service will never take it."""


class Preview(NamedTuple):
    """What would be sent to a seller; nothing is recorded."""

    seller: Seller
    refused: Refused | None
    message: Message | None
    to: str | None
    """The address, where the channel needs one."""
    warned: Refused | None = None
    """What keeps messages back, unless the order says that whoever sends it knows of it."""


class _Refused(Exception):
    """A seller to whom nothing is sent."""

    def __init__(self, why: Refused) -> None:
        super().__init__(why)
        self.why: Refused = why


class _Changed(Exception):
    """Something came about a process meanwhile."""


class Sending:
    """Sends notices for one process of ours. Safe from several threads."""

    def __init__(
        self,
        settings: Settings,
        inbox: Inbox,
        *,
        rules: NoticeRules | None = None,
        mail: Mail | None = None,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        """`rules`, `mail`: in place of those in the files that the settings name. Raises
        `SettingsError` for a file that cannot be used."""
        self._settings = settings
        self._inbox = inbox
        self.rules = load(settings.notices_file) if rules is None else rules
        self.mail = AlertsFile(settings.alerts_file).get().mail if mail is None else mail
        self.sellers = Sellers(inbox, Reviews(inbox))
        self.results = Results(inbox)
        self._store = artifact_store(settings, inbox)
        self._stop = threading.Event()
        self._wait = wait or self._stop.wait

    # --- what a page asks first ---

    def ways(self) -> tuple[str, ...]:
        """The channels by which something can be sent."""
        return self.rules.ways(has_mail=self.mail is not None)

    def way_to(self, sellers: Sequence[Seller]) -> str | None:
        """The first of the channels by which most of these sellers are reached; None without
        a channel."""

        def left_out(channel: str) -> int:
            return sum(self.refusal(it, channel) is not None for it in sellers)

        return min(self.ways(), key=left_out, default=None)

    def check(self, order: Order) -> None:
        """Raises `SettingsError` or `WrongUsage` where nothing at all can be sent so."""
        channels.check(self.rules, self.mail, order.channel)
        if self._settings.journey_url is None:
            raise links.no_page()
        if order.template is not None and order.template not in texts.templates(self.rules):
            raise WrongUsage(
                f"There is no template {order.template}",
                f"there are {', '.join(texts.templates(self.rules))}",
                "choose one of them, or write it into the file of PRAZO_NOTICES_FILE",
            )
        if not self.has_words(order.template, order.language):
            raise WrongUsage(
                f"The template {order.template} has no words in {self._language(order)}",
                "nothing else can be said in their place",
                "write them into the file of PRAZO_NOTICES_FILE, or choose another language",
            )

    def has_words(self, template: str | None, language: Language | None = None) -> bool:
        """Whether a template is there, with words in a language; None: as in an `Order`."""
        named = template or FIRST
        return named in OURS or self.rules.words(named, language or self.rules.language) is not None

    def preview(self, seller: Seller, order: Order) -> Preview:
        """What would go to a seller, with `[link]` for each link. Raises as `check` does, and
        `InboxUnavailable`."""
        self.check(order)
        to, refused = self._reached(seller, order)
        warned = self._warned(seller)
        if warned not in order.despite:
            refused = refused or warned
        if not seller.to_ask or seller.is_deleted:
            return Preview(seller, refused, None, to)
        template = order.template or self._fitting(seller.to_ask)
        message = self._written(seller, order, template, [LINK] * len(seller.to_ask), {})
        return Preview(seller, refused, message, to, warned)

    def refusals(self, sellers: Iterable[Seller], order: Order) -> dict[str, Refused]:
        """Those of the sellers to whom nothing would go, and why. Raises `InboxUnavailable`."""
        found = {}
        for seller in sellers:
            _, refused = self._reached(seller, order)
            if refused := refused or self._warned(seller):
                found[seller.seller_id] = refused
        return found

    def _reached(self, seller: Seller, order: Order) -> tuple[str | None, Refused | None]:
        """The address that the channel needs, or why nothing goes to the seller."""
        try:
            return self._to(seller, order), None
        except _Refused as error:
            return None, error.why

    def refusal(self, seller: Seller, channel: str) -> Refused | None:
        """Why nothing goes to a seller by a channel; None where something may."""
        return self._reached(seller, Order(channel, ""))[1]

    # --- sending ---

    def send(
        self,
        seller_ids: Sequence[str],
        order: Order,
        on_done: Callable[[Done], None] = lambda done: None,
    ) -> list[Done]:
        """Sends one notice to each seller, several at once; what became of each, in the order of
        the ids. `on_done` hears of each as it ends, on any thread.

        Raises as `check` does before anything is sent, and `InboxUnavailable`: then no other
        seller is taken up, and `on_done` has heard of every message that was handed over.
        """
        self.check(order)
        wanted = list(dict.fromkeys(seller_ids))
        if order.despite and len(wanted) > 1:
            raise WrongUsage(
                "Nothing was sent",
                "what keeps messages back can be set aside for one seller at a time",
                "send to that seller alone",
            )
        failed: list[Exception] = []
        unanswered.mark_of(self._inbox, wanted)

        def one(seller_id: str) -> Done | None:
            if failed:
                return None
            try:
                done = self.send_one(seller_id, order)
            except Exception as error:  # raised once those under way have ended
                failed.append(error)
                return None
            on_done(done)
            return done

        with ThreadPoolExecutor(AT_ONCE, "seller notices") as pool:
            found = [*pool.map(one, wanted)]
        if failed:
            raise failed[0]
        return [it for it in found if it is not None]

    def send_one(
        self,
        seller_id: str,
        order: Order,
        message_id: str | None = None,
        decide: Decide | None = None,
    ) -> Done:
        """Sends one notice to a seller; `check` has let the order pass. `message_id`: of a message
        that may have gone already, which is then repeated under it. `decide`: for the schedule,
        which then sends nothing where nothing is due. Raises `InboxUnavailable`, and `CopyHeld`
        where the inbox is a copy that nobody has confirmed."""
        copies.require_in_use(self._inbox)
        is_again = message_id is not None
        message_id = message_id or _message_id(seller_id, order)
        try:
            if names_person(seller_id):  # before it stands in the name of a lease
                raise _Refused("personal_id")
            name = f"seller notice {seller_id}"
            lease = take(self._inbox, name, message_id, LEASE, Spent())
            if not isinstance(lease, Lease):
                raise _Refused("busy")
            try:
                for _ in range(ROUNDS):
                    try:
                        return self._send(
                            seller_id, order, message_id, lease, decide, is_again=is_again
                        )
                    except _Changed:
                        continue
                raise _Refused("busy")
            finally:
                release(self._inbox, lease)
        except _Refused as refused:
            return Done(seller_id, "refused", refused.why)

    def _send(
        self,
        seller_id: str,
        order: Order,
        message_id: str,
        lease: Lease,
        decide: Decide | None,
        *,
        is_again: bool,
    ) -> Done:
        seller = self.sellers.look(seller_id)
        to = self._to(seller, order)
        if is_again:
            seller = self._of_message(seller, message_id)
        rungs = None if decide is None else decide(seller)
        if rungs is not None:
            if not rungs:
                raise _Refused("not_due")
            if not is_again:
                self._claim(seller, rungs, order, message_id, lease)
        reviews = seller.to_ask
        if not is_again and (before := self._before(reviews, message_id)) is not None:
            raise _Refused(before)
        is_by_hand = decide is None and not is_again  # the schedule looks at this itself
        why = self._warned(seller) if is_by_hand else None
        if why is not None and why not in order.despite:
            raise _Refused(why)
        made = self._links(reviews, seller, order)
        try:
            template = order.template or self._fitting(reviews)
            urls = [it.url for it in made]
            message = self._written(seller, order, template, urls, rungs or {})
            envelope = Envelope(
                message_id=message_id,
                seller_id=seller_id,
                process_ids=tuple(it.process_id for it in reviews),
                channel=order.channel,
                language=self._language(order),
                message=message,
                link=made[0].url,
                deadline_at=reviews[0].deadline_at,
                to=to,
                at=self._inbox.now(),
            )
            if not is_again:
                self._record(seller, order, template, envelope, made, lease, rungs)
            elif rungs is not None:
                repeats = self._repeats(seller, order, template, envelope, made)
                self._claim(seller, rungs, order, message_id, lease, repeats)
            if left(self._inbox, lease) <= 0:
                raise _Changed
        except BaseException:
            self._end(it.journey.ref for it in made)
            raise
        came = channels.hand_over(envelope, self.rules, self.mail, self._inbox.now, self._wait)
        if is_again and came.result == "failed":  # the first time it may have come
            came = came._replace(result="uncertain")
        self._answer(envelope, came, order)
        if came.result == "failed":
            self._end(it.journey.ref for it in made)
        elif came.result == "accepted":
            # Of a message that is repeated, nobody knows which of its links the seller has.
            self._end(
                link.ref
                for each in reviews
                for link, named in self._sent_links(each.process_id)
                if named != message_id
            )
        return Done(
            seller_id, came.result, came.detail, message_id, envelope.process_ids, came.is_refused
        )

    def _of_message(self, seller: Seller, message_id: str) -> Seller:
        """The seller with the reviews alone of which a message speaks that is to be repeated: no
        entry says that others were written about. Raises `_Refused` where none is left to ask."""
        spoken = {
            each.process_id
            for each in self._inbox.find(seller_id=seller.seller_id, kind=SELLER_NOTICE)
            if content_of(each).get("message_id") == message_id
        }
        found = replace(
            seller, reviews=tuple(it for it in seller.reviews if it.process_id in spoken)
        )
        if not found.to_ask:
            raise _Refused("not_due")
        return found

    def _before(self, reviews: Sequence[Open], message_id: str) -> Refused | None:
        """What is known of the same message where it went already, or may have; None where it did
        not. A press that goes on after a crash meets those whose message failed, too."""
        of_message = [
            entry
            for each in reviews
            for entry in self._notices(each.process_id)
            if content_of(entry).get("message_id") == message_id
        ]
        if not of_message:
            return None
        if all(map(self.results.has_failed, of_message)):
            return "again_failed"
        is_taken = any(self.results.is_any(it, TAKEN) for it in of_message)
        return "again" if is_taken else "again_unknown"

    def thank(self, seller_id: str, process_id: str, review_type: str | None, order: Order) -> Done:
        """Says to a seller once that the platform has accepted their answers. The entry that it is
        about to go is the claim: a crash after it leaves the message uncertain. Raises as `check`
        and `send_one` do."""
        copies.require_in_use(self._inbox)
        message_id = _message_id(process_id, order._replace(once=ACCEPTED))
        seller = self.sellers.look(seller_id)
        try:
            if names_person(seller_id) or seller.is_deleted:
                raise _Refused("personal_id" if names_person(seller_id) else "deleted")
            channels.check(self.rules, self.mail, order.channel)
            language = self._language(order)
            envelope = Envelope(
                message_id=message_id,
                seller_id=seller_id,
                process_ids=(process_id,),
                channel=order.channel,
                language=language,
                message=texts.accepted(review_type, language, self._from()),
                link=None,
                deadline_at=None,
                to=self._address(seller, order),
                at=self._inbox.now(),
            )
            draft = seller_notice.handed_over(
                message_id,
                order.channel,
                {
                    **self._shared(order, ACCEPTED, envelope, (), secrets.token_bytes(SALT_BYTES)),
                    "rung": ACCEPTED,
                },
                actor=order.actor,
                recorded_by=order.recorded_by,
                process_id=process_id,
                seller_id=seller_id,
            )
            claim = started.while_started(self._inbox)
            [receipt] = self._inbox.append([draft], claim=claim)
            if receipt.outcome is Outcome.CONFLICT:
                raise _Refused("not_due")
            if receipt.outcome is Outcome.DUPLICATE:
                raise _Refused("again")
        except _Refused as refused:
            return Done(seller_id, "refused", refused.why)
        came = channels.hand_over(envelope, self.rules, self.mail, self._inbox.now, self._wait)
        self._answer(envelope, came, order)
        return Done(seller_id, came.result, came.detail, message_id, (process_id,), came.is_refused)

    def _warned(self, seller: Seller) -> Refused | None:
        """What keeps messages back from a seller unless whoever sends them knows of it: the wish or
        the hold first."""
        return seller.kept_back or ("just_sent" if self._is_just_sent(seller) else None)

    def _is_just_sent(self, seller: Seller) -> bool:
        """Whether a message of ours went out a moment ago, or may have."""
        since = self._inbox.now() - RECENTLY
        return any(
            entry.recorded_at > since
            and COMMITMENT in content_of(entry)
            and not self.results.has_failed(entry)
            for each in seller.to_ask
            for entry in self._notices(each.process_id)
        )

    def _to(self, seller: Seller, order: Order) -> str | None:
        """The address that the channel needs; None where it needs none. Raises `_Refused`."""
        if (why := seller.refused) is not None:
            raise _Refused(why)
        return self._address(seller, order)

    def _address(self, seller: Seller, order: Order) -> str | None:
        """The same, whatever the seller is asked for."""
        webhook = self.rules.channels.get(order.channel)
        if webhook is not None and not webhook.address:
            if order.only_to is not None:  # only the marketplace knows where it would go
                raise _Refused("other_address")
            return None
        what = ADDRESSED[order.channel]
        to = seller.addresses.get(what)
        if to is None:
            raise _Refused("no_address")
        if what == EMAIL and not is_mailbox(to):
            raise _Refused("unusable_address")
        if order.only_to not in (None, address_digest(self._inbox.log_key, to)):
            raise _Refused("other_address")
        return to

    def digest(self, seller: Seller, channel: str) -> str | None:
        """By which the address of a channel is known in entries; None where it has none."""
        webhook = self.rules.channels.get(channel)
        if channel not in ADDRESSED or (webhook is not None and not webhook.address):
            return None
        to = seller.addresses.get(ADDRESSED[channel])
        return None if to is None else address_digest(self._inbox.log_key, to)

    def _language(self, order: Order) -> Language:
        return order.language or self.rules.language

    def _fitting(self, reviews: Sequence[Open]) -> str:
        """Which of our templates fits: whether the platform refused fields of all of the reviews,
        or a message about one of them was taken."""
        if all(it.refused_at is not None for it in reviews):
            return CORRECT
        return REMINDER if any(self._was_asked(it.process_id) for it in reviews) else FIRST

    def _was_asked(self, process_id: str) -> bool:
        return any(self.results.is_any(it, TAKEN) for it in self._notices(process_id))

    def _written(
        self,
        seller: Seller,
        order: Order,
        template: str,
        urls: Sequence[str],
        rungs: Mapping[str, str],
    ) -> Message:
        asked = [
            Asked(
                each.review_type,
                each.deadline_at,
                each.is_late,
                each.missing,
                each.is_begun,
                url,
                len(each.needed),
                _news(each, rungs),
            )
            for each, url in zip(seller.to_ask, urls, strict=True)
        ]
        comes_along = order.channel == EMAIL and self._code_to(seller) is not None
        return texts.written(
            template, asked, self._language(order), self._from(), code_comes_along=comes_along
        )

    def _from(self) -> Sender:
        settings = self._settings
        return Sender(settings.journey_name, settings.journey_url or "", self.rules, settings.zone)

    def _code_to(self, seller: Seller) -> str | None:
        """Where a code of the page goes by e-mail; None where it goes by the marketplace's own
        endpoint, or nowhere."""
        email = seller.addresses.get(EMAIL)
        is_ours = self._settings.journey_code_url is None and self.mail is not None
        return email if is_ours and email is not None and is_mailbox(email) else None

    def _links(self, reviews: Sequence[Open], seller: Seller, order: Order) -> list[Minted]:
        """A fresh link for each review. Raises `_Refused`; then none of them is left."""
        made: list[Minted] = []
        try:
            for each in reviews:
                self._make_room(each.process_id)
                minted = links.mint(
                    self._settings,
                    self._inbox,
                    each.process_id,
                    recorded_by=order.recorded_by,
                    made_by=order.actor,
                    channel=order.channel if order.channel in CHANNELS else CHAT,
                    email=self._code_to(seller),
                    reviews=self.sellers.reviews,
                    is_sent=True,
                )
                made.append(minted)
        except CallerError as error:
            self._end(it.journey.ref for it in made)
            LOG.warning("no notice to a seller: %s", error.why)
            is_full = links.is_full(self._inbox, each.process_id)
            raise _Refused("links_enough" if is_full else "unanswerable") from None
        return made

    def _sent_links(self, process_id: str) -> list[tuple[Journey, str | None]]:
        """The links of a process that we sent and that work, each with the id of the message that
        brought it; None where no entry names one, as after a crash."""
        now = self._inbox.now()
        said = messages_about(self._inbox, process_id)
        message_of = {str(it.get(JOURNEY)): str(it["message_id"]) for it in said}
        return [
            (link, message_of.get(link.journey_id))
            for link in links.of_process(self._inbox, process_id)
            if link.is_live(now) and (link.is_sent or link.journey_id in message_of)
        ]

    def _make_room(self, process_id: str) -> None:
        """Where as many links of a process work as may, ends one that we sent: the oldest of which
        nobody knows that the seller has it, else the oldest. Those would keep messages back for
        years."""
        if not links.is_full(self._inbox, process_id):
            return
        sure = [it for it in self._notices(process_id) if self.results.is_any(it, TAKEN)]
        came = {content_of(it).get("message_id") for it in sure}
        by_age = sorted(
            (link.opened_at is not None or named in came, link.minted_at, link.ref)
            for link, named in self._sent_links(process_id)
        )
        self._end(ref for _, _, ref in by_age[:1])

    def _claim(
        self,
        seller: Seller,
        rungs: Mapping[str, str],
        order: Order,
        message_id: str,
        lease: Lease,
        repeats: Mapping[str, Mapping[str, JsonValue]] = MappingProxyType({}),
    ) -> None:
        """Records which rungs are about to be sent. `repeats`: process -> what is known of the
        message that goes once more. Raises `_Changed` as `_record` does."""
        drafts = [
            notice_schedule.claimed(
                rung,
                message_id,
                repeats.get(process_id, {}),
                recorded_by=order.recorded_by,
                process_id=process_id,
                seller_id=seller.seller_id,
            )
            for process_id, rung in rungs.items()
        ]
        # Since they were read, those of a repeat have got the invitation of its link.
        by_process = {it.process_id: it.process_n + bool(repeats) for it in seller.to_ask}
        schedule = started.row(self._inbox)
        receipts = self._inbox.append(drafts, claim=_claim(lease, by_process, schedule))
        if any(it.outcome is Outcome.CONFLICT for it in receipts):
            raise _Changed

    def _record(
        self,
        seller: Seller,
        order: Order,
        template: str,
        envelope: Envelope,
        made: Sequence[Minted],
        lease: Lease,
        rungs: Mapping[str, str] | None,
    ) -> None:
        """Records that the message is about to go. Raises `_Changed` where a process is no longer
        as it was read, or the lease is somebody else's."""
        shared = self._shared(order, template, envelope, made, secrets.token_bytes(SALT_BYTES))
        own = _of_each(seller, made)
        drafts = [
            seller_notice.handed_over(
                envelope.message_id,
                order.channel,
                {
                    **shared,
                    **_rung(rungs, process_id),
                    **parts,
                },
                actor=order.actor,
                recorded_by=order.recorded_by,
                process_id=process_id,
                seller_id=seller.seller_id,
            )
            for process_id, parts in own.items()
        ]
        # Since they were read, each has got the invitation of its link, and the claim of its rung.
        by_process = {
            each.process_id: each.process_n + 1 + (each.process_id in (rungs or {}))
            for each in seller.to_ask
        }
        schedule = None if rungs is None else started.row(self._inbox)
        receipts = self._inbox.append(drafts, claim=_claim(lease, by_process, schedule))
        if any(it.outcome is Outcome.CONFLICT for it in receipts):
            raise _Changed
        if any(it.outcome is Outcome.DUPLICATE for it in receipts):
            raise _Refused("again")

    def _repeats(
        self,
        seller: Seller,
        order: Order,
        template: str,
        envelope: Envelope,
        made: Sequence[Minted],
    ) -> dict[str, dict[str, JsonValue]]:
        """Process -> what its entry says of a message that goes once more. Its salt is the first
        one's, in whose entry it is forgotten."""
        notices = map(content_of, self._notices(made[0].journey.process_id))
        first = next(it for it in notices if it.get("message_id") == envelope.message_id)
        salt = bytes.fromhex(first[COMMITMENT]["salt"])
        shared = self._shared(order, template, envelope, made, salt)
        shared[COMMITMENT] = {"sha256": shared[COMMITMENT]["sha256"]}
        own = _of_each(seller, made)
        return {process_id: {**shared, **parts} for process_id, parts in own.items()}

    def _shared(
        self,
        order: Order,
        template: str,
        envelope: Envelope,
        made: Sequence[Minted],
        salt: bytes,
    ) -> dict[str, Any]:
        """What the entries of a message have in common; its words are in the store by then."""
        is_webhook = order.channel in self.rules.channels
        first = envelope.process_ids[0]
        owned = Owned(self._inbox, self._store, envelope.seller_id, first)
        kept = described(
            {"name": "notice.txt", "media_type": "text/plain"},
            _without_secrets(envelope, made).encode(),
            owned,
        )
        version = self.rules.version(template, envelope.language)
        shared: dict[str, Any] = {
            "template": f"{template}@{version}",
            "language": envelope.language,
            COMMITMENT: {
                "salt": salt.hex(),
                "sha256": commitment(salt, envelope.content(is_webhook=is_webhook)),
            },
            ARTIFACTS: [kept],
        }
        if order.once is not None and order.actor is not None:
            shared[ONCE] = order.once
        if envelope.to is not None:
            shared[ADDRESS] = address_digest(self._inbox.log_key, envelope.to)
        return shared

    def _answer(self, envelope: Envelope, came: Came, order: Order) -> None:
        """Records what came of a message. An inbox that is away is waited for a little; then the
        entry stays without a result. Raises `InboxUnavailable`."""
        drafts = [
            seller_notice_result.came_of(
                envelope.message_id,
                came.result,
                came.detail,
                is_refused=came.is_refused,
                recorded_by=order.recorded_by,
                process_id=process_id,
                seller_id=envelope.seller_id,
            )
            for process_id in envelope.process_ids
        ]
        for pause in PAUSES:
            try:
                self._inbox.append(drafts)
            except InboxUnavailable as error:
                LOG.error("what came of a seller notice waits to be recorded: %s", error)
                self._wait(pause)
            else:
                return
        self._inbox.append(drafts)

    def _notices(self, process_id: str) -> list[Entry]:
        return self._inbox.find(process_id=process_id, kind=SELLER_NOTICE)

    def _end(self, refs: Any) -> None:
        """Ends links that nobody is to use; where that fails, the next message that is taken does
        so."""
        for ref in refs:
            try:
                links.revoke(self._inbox, ref=ref)
            except PrazoError as error:
                LOG.warning("a link of a seller notice was not ended: %s", error)


def _of_each(seller: Seller, made: Sequence[Minted]) -> dict[str, dict[str, JsonValue]]:
    """Process -> what the entry of a message says of it alone: its link, and the deadline."""
    deadlines: dict[str, JsonValue] = {
        each.process_id: at if (at := each.deadline_at) is None else instants.canonical(at)
        for each in seller.to_ask
    }
    links_of = {each.journey.process_id: each.journey.journey_id for each in made}
    return {it: {JOURNEY: link, DEADLINE: deadlines[it]} for it, link in links_of.items()}


def _rung(rungs: Mapping[str, str] | None, process_id: str) -> dict[str, JsonValue]:
    """What an entry says of the schedule; nothing of a message by hand."""
    return {} if rungs is None else {"rung": rungs.get(process_id, ALONG)}


def _message_id(seller_id: str, order: Order) -> str:
    if order.once is None:
        return seller_notice.new_message_id()
    named = hashlib.sha256(f"{order.once}\n{seller_id}".encode()).hexdigest()
    return f"msg_{named[:24]}"


def _claim(lease: Lease, by_process: dict[str, int], schedule: tuple[str, str] | None) -> Statement:
    """What changes a row only while the lease is ours and each process has so many entries.
    `schedule`: the row that stands while the schedule runs; None for a message by hand."""
    sql, values = _CLAIM, [lease.name, lease.number, lease.until]
    if schedule is not None:  # whoever stopped it was answered: nothing more goes out
        sql += _IS_STARTED.format(len(values) + 1, len(values) + 2)
        values += schedule
    for process_id, process_n in by_process.items():
        sql += _IS_AS_READ.format(len(values) + 1, len(values) + 2)
        values += [process_id, process_n]
    return Statement(sql, tuple(values))


def _news(review: Open, rungs: Mapping[str, str]) -> str | None:
    """The news that a message brings of a review: what its rung is; by hand, what the platform
    refused."""
    if rungs:
        return news_in(rungs.get(review.process_id))
    return None if review.refused_at is None else CORRECT


def _without_secrets(envelope: Envelope, made: Sequence[Minted]) -> str:
    """The message as it is kept: whoever reads it can neither answer as the seller nor learn where
    they are reached."""
    text = f"{envelope.message.subject}\n\n{envelope.message.text}\n"
    for minted in made:
        text = text.replace(minted.url, LINK)
        text = text.replace(minted.url.rpartition("/")[2], "***")
    return text if envelope.to is None else text.replace(envelope.to, "***")


def address_digest(log_key: bytes, address: str) -> str:
    """By which two messages to one address are known, and nobody learns the address."""
    folded = address.strip().casefold().encode()
    return hmac.digest(log_key, b"address of a seller notice: " + folded, "sha256").hex()
