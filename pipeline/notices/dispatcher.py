"""Sends notices by the schedule: for each seller, what is due of their reviews, in one message.

What was done so far is read from the log alone, so a restart goes on where the last process ended.
A rung is claimed in the inbox before its message is made, so of several processes one sends it.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.alert import hours
from pipeline.errors import OperatorError, PrazoError
from pipeline.http.outgoing.mail_server import Mail
from pipeline.inbox import Inbox, copies
from pipeline.inbox.heartbeats import Part, beat
from pipeline.log.entries import LIVE, Entry, content_of
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE, to_call
from pipeline.log.kinds.restoration import RESTORATION
from pipeline.log.kinds.seller_notice import PHONE, SELLER_NOTICE
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.notices import ladders
from pipeline.notices.ladders import Ladders, rungs_of
from pipeline.notices.news import news_of, to_thank
from pipeline.notices.rules import ACCEPTED, News, NoticeRules, Rung
from pipeline.notices.schedule import READ, STALE, Decision, Said, Times, due, ended_channels
from pipeline.notices.sellers import Open, Refused, Seller, accepted_type
from pipeline.notices.sending import Done, Order, Sending
from pipeline.notices.started import is_started
from pipeline.notices.texts import templates
from pipeline.notices.unanswered import mark_all
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

TURN_SECONDS: Final = 5.0
BEAT_SECONDS: Final = 15.0
"""Between the heartbeats by which others see that the schedule is run."""
SWEEP_SECONDS: Final = 60.0
"""Between two looks for messages without a result."""
AT_ONCE: Final = 4
MOST_A_TURN: Final = 200
"""Sellers who are looked at in one turn."""
HELD: Final = 5 * instants.MINUTE
"""For so long nothing goes by a channel that did not take a message: a server that is away is tried
with one message, not with all."""
LATER: Final = instants.HOUR
"""After this time a seller is looked at again to whom nothing could be sent."""
RECORDED_BY: Final = "notices"
SINCE: Final = (WEBHOOK, SUBMISSION_FINISHED, RESTORATION, *READ)
"""Kinds of entries that may change what is due."""
_KINDS: Final = ", ".join(f"'{it}'" for it in SINCE)
_NEXT: Final = f"""
    select seq, kind, process_id, seller_id, origin from entries
    where seq > $1 and kind in ({_KINDS}) order by seq limit 5000"""


class Planned(NamedTuple):
    """What the schedule would do about a seller now."""

    seller: Seller
    rungs: Mapping[str, Rung]
    """Process -> the rung that is due."""
    calls: Mapping[str, Rung]
    """Process -> the rung by which a person is to be asked to call."""
    ended: frozenset[str] = frozenset()
    """The channels by which nothing is sent any more."""
    again: str | None = None
    """The id of a message to repeat."""
    look_at: int | None = None
    """When something may be due next."""


class Thanks(NamedTuple):
    """A seller is to hear that the platform accepted their answers about a review."""

    process_id: str
    review_type: str | None
    channel: str


class Foreseen(NamedTuple):
    """One thing that the schedule would do about a seller now, or cannot do."""

    seller_id: str
    rungs: Mapping[str, str]
    """Process -> its rung."""
    channel: str | None
    """By which it goes, `phone` where a person is to be asked to call; None: by none."""
    refused: Refused | None = None
    """Why it goes by none."""


class Scope:
    """The processes for which the schedule counts: those received live while it ran, and with the
    backlog those that came before; and their rungs. Read from the log, entry by entry."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._read = 0
        self._is_running = False
        self.started_at = 0
        """When it was started last, in microseconds: nobody hears of what was accepted before."""
        self.ladders: Ladders | None = None
        """As it was started; None while it does not run."""
        self._seller_of: dict[str, str] = {}
        self.processes: set[str] = set()

    def read_on(self) -> set[str]:
        """Takes what was recorded since; the sellers about whom there was something. Raises
        `InboxUnavailable`."""
        touched: set[str] = set()
        while rows := self._inbox.query(_NEXT, self._read):
            for seq, kind, process_id, seller_id, origin in rows:
                is_of_all = process_id is None and seller_id is None
                if kind in (NOTICE_SCHEDULE, RESTORATION) and is_of_all:
                    if origin == LIVE:  # another log's schedule decides nothing here
                        touched |= self._take_step(seq)
                elif kind == WEBHOOK and process_id is not None and seller_id is not None:
                    self._take_process(process_id, seller_id, is_live=origin == LIVE)
                seller_id = seller_id or self._seller_of.get(process_id or "")
                if seller_id is not None:
                    touched.add(seller_id)
            self._read = rows[-1][0]
        return touched

    def _take_step(self, seq: int) -> set[str]:
        entry = self._inbox.entry(seq)
        said = {} if entry is None else content_of(entry)
        self._is_running = said.get("step") == "started"
        if entry is not None and self._is_running:
            self.started_at = entry.recorded_at
        self.ladders = ladders.read(said.get("schedules")) if self._is_running else None
        if self._is_running and said.get("backlog") is True:
            self.processes |= self._seller_of.keys()
        return {*self._seller_of.values()}

    def _take_process(self, process_id: str, seller_id: str, *, is_live: bool) -> None:
        if process_id not in self._seller_of and self._is_running and is_live:
            self.processes.add(process_id)
        self._seller_of[process_id] = seller_id

    def sellers(self) -> set[str]:
        """The sellers for whom the schedule counts."""
        return {self._seller_of[it] for it in self.processes}

    def foresee(self, rungs: Ladders, *, backlog: bool) -> None:
        """Takes what a start would take now."""
        self.ladders = rungs
        self.started_at = self._inbox.now()
        if backlog:
            self.processes |= self._seller_of.keys()


class NoticeDispatcher:
    """Sends by the schedule until it is stopped. Several processes may run."""

    def __init__(
        self,
        settings: Settings,
        inbox: Inbox,
        load: Callable[[], NoticeRules],
        mail: Callable[[], Mail | None],
        *,
        now: Callable[[], int] | None = None,
        on_done: Callable[[Done], None] = lambda done: None,
    ) -> None:
        """`load`, `mail`: what is in force; every turn asks. Raises `SettingsError`."""
        self._inbox = inbox
        self._load = load
        self._mail = mail
        self._now = now or inbox.now
        self._on_done = on_done
        self.scope = Scope(inbox)
        self._agenda: dict[str, int] = {}  # seller -> when to look
        self._held: dict[str, int] = {}  # channel -> until when
        self._sending = Sending(settings, inbox, rules=load(), mail=mail())
        self._swept_at = self._beat_at = 0.0

    def run(self, stop: threading.Event) -> None:
        """Runs until `stop` is set; messages on their way then come to their end."""
        while not stop.is_set():
            try:
                self._beat()
                self.turn(stop)
            except OperatorError as error:
                LOG.error("seller notices wait: %s", error)
            stop.wait(TURN_SECONDS)

    def turn(self, stop: threading.Event | None = None) -> int:
        """Sends what is due now, and marks what nobody heard the end of; how many messages were
        sent. Raises `OperatorError`."""
        now = self._now()
        if time.monotonic() >= self._swept_at:
            self._swept_at = time.monotonic() + SWEEP_SECONDS
            mark_all(self._inbox, now=now)
        self._agenda |= dict.fromkeys(self.scope.read_on(), 0)
        if not is_started(self._inbox) or self.scope.ladders is None:
            return 0
        self._sending.rules, self._sending.mail = self._load(), self._mail()
        if not self._may_send():
            return 0
        wanted = self.scope.sellers()
        waiting = [it for it, at in self._agenda.items() if at <= now]
        for seller_id in {*waiting} - wanted:
            del self._agenda[seller_id]
        chosen = [it for it in waiting if it in wanted][:MOST_A_TURN]
        with ThreadPoolExecutor(AT_ONCE, "seller notices") as pool:
            return sum(pool.map(lambda seller_id: self._one(seller_id, now, stop), chosen))

    def _one(self, seller_id: str, now: int, stop: threading.Event | None) -> int:
        """Whether a message was sent to a seller."""
        if (stop is not None and stop.is_set()) or not self._may_send():
            return 0
        self._beat()
        seller = self._sending.sellers.look(seller_id)
        if (thanked := self._thank(seller, now)) is not None:
            return thanked
        plan = self.plan(seller, now)
        self._ask_to_call(plan.seller, plan.calls, None)
        if plan.seller.refused is not None or (not plan.rungs and plan.again is None):
            self._look_at(seller_id, plan.look_at)
            return 0
        first, why = self._first(plan)
        if why is not None:
            if why != "no_template":  # the next rung says it
                self._ask_to_call(plan.seller, plan.rungs, why)
            self._look_at(seller_id, now + LATER)
            return 0
        channel = self._channel_of(plan) if first is None else first.channel
        if channel is None or self._held.get(channel, 0) > now:
            self._look_at(seller_id, now + HELD)
            return 0
        template = self._template_of(plan) if first is None else first.template
        order = Order(channel, RECORDED_BY, template=template)
        try:
            self._sending.check(order)
        except PrazoError as error:
            LOG.error("a seller notice waits: %s", error)
            self._held[channel] = now + HELD
            self._look_at(seller_id, now + HELD)
            return 0
        again = None if plan.rungs else plan.again
        done = self._sending.send_one(seller_id, order, again, self._decide)
        self._on_done(done)
        if done.result == "failed" and not done.is_refused:
            self._held[channel] = now + HELD
        is_sent = done.result != "refused"
        self._look_at(seller_id, now + (HELD if is_sent else LATER))
        return int(is_sent)

    def _may_send(self) -> bool:
        """Whether it is time and the schedule runs here. A turn takes minutes, so each message
        asks."""
        is_time = hours.is_open(self._sending.rules.hours, None, self._now())
        return is_time and is_started(self._inbox)

    def _thank(self, seller: Seller, now: int) -> int | None:
        """Says to a seller that the platform has accepted their answers, once for each review: it
        is not tried again. None where there is nothing to say."""
        seller_id = seller.seller_id
        if (found := next(self._thanks(seller, now), None)) is None:
            return None
        if self._held.get(found.channel, 0) > now:
            self._look_at(seller_id, now + HELD)
            return 0
        order = Order(found.channel, RECORDED_BY, template=ACCEPTED)
        try:
            done = self._sending.thank(seller_id, found.process_id, found.review_type, order)
        except PrazoError as error:
            LOG.error("a seller notice waits: %s", error)
            self._held[found.channel] = now + HELD
            self._look_at(seller_id, now + HELD)
            return 0
        self._on_done(done)
        self._look_at(seller_id, now + (HELD if done.result != "refused" else LATER))
        return int(done.result != "refused")

    def _thanks(self, seller: Seller, now: int) -> Iterator[Thanks]:
        """What a seller is to hear of reviews that were accepted lately, since the start."""
        if seller.is_deleted:
            return
        entries = self._inbox.find(seller_id=seller.seller_id)
        named = {it.process_id for it in entries if it.process_id in self.scope.processes}
        for process_id in sorted(named - {it.process_id for it in seller.reviews} - {None}):
            channel = to_thank([*self._said(self._entries(process_id, entries))])
            if channel is None:
                continue
            review, case = self._sending.sellers.reviews.look_whole(process_id)
            is_accepted, review_type = accepted_type(review, case)
            since = max(now - STALE, self.scope.started_at)
            if is_accepted and (review.accepted_at or 0) > since:
                yield Thanks(process_id, review_type, channel)

    def _entries(self, process_id: str, of_seller: list[Entry]) -> dict[int, Entry]:
        """Those about a process or its seller, by their seq."""
        own = {it.seq: it for it in self._inbox.find(process_id=process_id)}
        return own | {it.seq: it for it in of_seller if it.process_id in (None, process_id)}

    def _beat(self) -> None:
        """A turn beats at each seller, since one with many may take minutes."""
        if time.monotonic() >= self._beat_at:
            self._beat_at = time.monotonic() + BEAT_SECONDS
            beat(self._inbox, Part.NOTICES)

    def _first(self, plan: Planned) -> tuple[Rung | None, Refused | None]:
        """The rung by whose channel the message goes, news before others, and why it goes by
        none."""
        why: Refused | None = None
        for rung in sorted(plan.rungs.values(), key=lambda rung: not isinstance(rung, News)):
            why = self._refusal(plan.seller, plan.ended, rung)
            if why is None:
                return rung, None
        return None, why

    def _refusal(self, seller: Seller, ended: Set[str], rung: Rung) -> Refused | None:
        """Why nothing goes to a seller by a rung; None where something may."""
        if rung.channel in ended:
            return "came_back"
        why = self._sending.refusal(seller, rung.channel)
        is_said = self._sending.has_words(rung.template)
        return "no_template" if why is None and not is_said else why

    def lacking(self) -> list[str]:
        """The templates that rungs of the schedule name, as it was started, and the settings no
        longer have."""
        named = {it.template for rungs in (self.scope.ladders or {}).values() for it in rungs}
        return sorted(it for it in named if it is not None and not self._sending.has_words(it))

    def _ask_to_call(self, seller: Seller, rungs: Mapping[str, Rung], why: Refused | None) -> None:
        """Records that a person is to call, once for each rung. Two senders at once may ask twice,
        for one call."""
        drafts = [
            to_call(
                rung.name,
                why,
                recorded_by=RECORDED_BY,
                process_id=process_id,
                seller_id=seller.seller_id,
            )
            for process_id, rung in (rungs if why is None else self._not_asked(rungs)).items()
        ]
        if drafts:
            copies.require_in_use(self._inbox)
            self._inbox.append(drafts)

    def _not_asked(self, rungs: Mapping[str, Rung]) -> dict[str, Rung]:
        """Those for which nobody was asked to call yet."""
        return {it: rung for it, rung in rungs.items() if not self._was_asked(it, rung)}

    def _was_asked(self, process_id: str, rung: Rung) -> bool:
        claims = self._inbox.find(process_id=process_id, kind=NOTICE_SCHEDULE)
        said = (content_of(it) for it in claims)
        return any(it.get("rung") == rung.name and it.get("channel") == PHONE for it in said)

    def _look_at(self, seller_id: str, at: int | None) -> None:
        if at is None:
            self._agenda.pop(seller_id, None)
        else:
            self._agenda[seller_id] = at

    def _decide(self, seller: Seller) -> Mapping[str, str]:
        if not self._may_send():
            return {}
        return self._rungs(self.plan(seller, self._now()))

    def _rungs(self, plan: Planned) -> Mapping[str, str]:
        """Process -> the rung of the message that is to be sent, or repeated."""
        if not plan.rungs and plan.again is not None:
            return {each: self._rung_of(each, plan.again) for each in self._of(plan)}
        return {process_id: rung.name for process_id, rung in plan.rungs.items()}

    def plan(self, seller: Seller, now: int) -> Planned:
        """What is to be done about a seller at an instant. Raises `InboxUnavailable`."""
        rungs, calls = dict[str, Rung](), dict[str, Rung]()
        again, looks = None, []
        of_seller = self._inbox.find(seller_id=seller.seller_id)
        said = [*self._said({it.seq: it for it in of_seller})]
        ended = ended_channels(said, lambda channel: self._sending.digest(seller, channel))

        def is_left(process_id: str, news: News) -> bool:
            """Whether it cannot go, and is left to a call: then it keeps no rung back."""
            is_refused = self._refusal(seller, ended, news) is not None
            return is_refused and self._was_asked(process_id, news)

        for each in seller.reviews:
            if each.process_id not in self.scope.processes:
                continue
            decision = self._of_review(each, of_seller, now, is_left)
            if decision.rung is not None:
                rungs[each.process_id] = decision.rung
            if decision.call is not None:
                calls[each.process_id] = decision.call
            if decision.again is not None and self._takes_twice(each, decision.again):
                again = again or decision.again
            looks += [] if decision.look_at is None else [decision.look_at]
        look_at = min(looks, default=None)
        return Planned(seller, rungs, calls, frozenset(ended), again, look_at)

    def planned(self, now: int) -> Iterator[Foreseen]:
        """What would be done now, seller by seller. Raises `InboxUnavailable`."""
        for seller_id in sorted(self.scope.sellers()):
            seller = self._sending.sellers.look(seller_id)
            for each in self._thanks(seller, now):
                yield Foreseen(seller_id, {each.process_id: ACCEPTED}, each.channel)
            plan = self.plan(seller, now)
            first, why = self._first(plan)
            calls = dict(plan.calls)
            if why not in (None, "no_template") and seller.refused is None:
                calls |= self._not_asked(plan.rungs)
            if rungs := self._rungs(plan):
                why = why or seller.refused
                channel = self._channel_of(plan) if first is None else first.channel
                yield Foreseen(seller_id, rungs, None if why is not None else channel, why)
            if calls:
                yield Foreseen(seller_id, {it: rung.name for it, rung in calls.items()}, PHONE)

    def _of_review(
        self,
        review: Open,
        of_seller: list[Entry],
        now: int,
        is_left: Callable[[str, News], bool],
    ) -> Decision:
        own = self._entries(review.process_id, of_seller)
        is_asked = not review.is_done and review.unanswerable is None
        times = Times(review.opened_at, review.deadline_at, is_asked)
        known = self.scope.ladders or ladders.of_rules(self._sending.rules)
        said = [*self._said(own)]
        heard_at = max((it.recorded_at for it in own.values() if it.kind == WEBHOOK), default=None)
        came = news_of(review, said, heard_at, now)
        news = [it for it in came if not is_left(review.process_id, it[1])]
        return due(times, said, now, rungs_of(known, review.review_type), news)

    def _takes_twice(self, review: Open, message_id: str) -> bool:
        """Whether the channel of a message takes its id twice as once."""
        return self._channel(review.process_id, message_id) in self._sending.rules.channels

    def _channel(self, process_id: str, message_id: str) -> str | None:
        found = self._message(process_id, message_id)
        return None if found is None else str(found.get("channel"))

    def _channel_of(self, plan: Planned) -> str | None:
        return next((self._channel(it, plan.again or "") for it in self._of(plan)), None)

    def _template_of(self, plan: Planned) -> str | None:
        """The template of the message that is to be repeated; None where there is none by that
        name any more."""
        found = (self._message(it, plan.again or "") or {} for it in self._of(plan))
        name = next((str(it.get("template")).partition("@")[0] for it in found), None)
        return name if name in templates(self._sending.rules) else None

    def _of(self, plan: Planned) -> list[str]:
        """The processes of the message that is to be repeated."""
        reviews = (it.process_id for it in plan.seller.to_ask)
        return [it for it in reviews if self._message(it, plan.again or "") is not None]

    def _rung_of(self, process_id: str, message_id: str) -> str:
        return str((self._message(process_id, message_id) or {}).get("rung"))

    def _message(self, process_id: str, message_id: str) -> Mapping[str, Any] | None:
        notices = self._inbox.find(process_id=process_id, kind=SELLER_NOTICE)
        said = (content_of(it) for it in notices)
        return next((it for it in said if it.get("message_id") == message_id), None)

    def _said(self, by_seq: Mapping[int, Entry]) -> Iterator[Said]:
        """What entries say, in their order, and then what services reported of their messages."""
        notices = dict[str, Entry]()
        for seq in sorted(by_seq):
            entry = by_seq[seq]
            if entry.kind not in READ:
                continue
            said = Said(entry.kind, entry.occurred_at, content_of(entry), entry.origin == LIVE)
            yield said
            if entry.kind == SELLER_NOTICE:
                notices.setdefault(said.content.get("message_id", ""), entry)
        for message, entry in notices.items():
            for result in self._sending.results.reported(entry):
                content = {"message_id": message, "result": result.word}
                yield Said(SELLER_NOTICE_RESULT, result.at, content)
