"""Tells people: raises what is due, sends it, repeats what failed, and records all of it.

What was done so far is read from the log alone, so a restart or a second process goes on where the
last one ended. A try is sent by the process whose entry of it is recorded, and by no other.
"""

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, get_args

from pipeline import instants
from pipeline.alert import channels, entries
from pipeline.alert.alarms import Alarm, Recorded
from pipeline.alert.away.last_said import LastSaid
from pipeline.alert.away.unrecorded import Unrecorded
from pipeline.alert.decision import GivenUp, Message, Plan, decide
from pipeline.alert.entries import Due, Item, Subject
from pipeline.alert.lateness import is_late
from pipeline.alert.links import Fresh, Links, Unsent, asking
from pipeline.alert.source import Source
from pipeline.alert.summaries import reports
from pipeline.alert.summaries.kept import Summaries
from pipeline.alert.watch import Watch
from pipeline.alert.words import Lists
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.recipients import Via
from pipeline.alert_rules.references import BESIDE_THE_LOG
from pipeline.errors import InboxUnavailable, LedgerBehind, OperatorError
from pipeline.inbox import Inbox
from pipeline.inbox.heartbeats import Part, beat
from pipeline.inbox.store import Outcome, Receipt
from pipeline.log.entries import Draft

LOG = logging.getLogger(__name__)

TURN_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 15.0
"""Between two looks at what is due, while nothing new is in the log."""
WHOLE_LOOK_SECONDS: Final = 300.0
"""Between two looks at all that is due. The others ask only for what nobody has raised yet, which
takes a fraction of the time. Before a message about what was raised before, all is looked at."""
SUBSCRIPTIONS_SECONDS: Final = 30.0
"""Between two looks at the reports that people subscribed to."""
BEAT_SECONDS: Final = 15.0
MAX_AT_ONCE: Final = 8
"""Messages on their way by one channel at a time: a dead server holds no other channel up."""
RECORD_PAUSES: Final = (0.2, 1.0, 5.0, 20.0)
"""Between tries to record what came of a message. The last one repeats until we are stopped."""

Deliver = Callable[[list[Message], AlertRules, Lists, int], object]


class Sent(NamedTuple):
    """What was sent, for whoever runs this to see."""

    message: Message
    fault: str | None


class Dispatcher:
    """Sends alerts until it is stopped. One per process; several processes may run."""

    def __init__(
        self,
        inbox: Inbox,
        source: Source,
        load: Callable[[], AlertRules],
        watch: Watch | None = None,
        *,
        on_sent: Callable[[Sent], None] = lambda sent: None,
        now: Callable[[], int] | None = None,
        fresh: Fresh | None = None,
        unrecorded: Unrecorded | None = None,
    ) -> None:
        """`load` gives the rules in force; every turn calls it. `fresh` makes a link by which the
        seller of a process answers, where sellers have a page. `unrecorded`: what was done before
        the inbox could be opened."""
        self._fresh = fresh
        self._inbox = inbox
        self._source = source
        self._load = load
        self._rules = self._loaded = load()
        self._subscribed: list[dict[str, Any]] = []  # rows of `report_subscriptions`
        self._watch = watch
        self._files = channels.Files()
        self._on_sent = on_sent
        self._now = now or inbox.now_or_believed
        self._unrecorded = unrecorded or Unrecorded()
        self.given_up = 0
        """How many times telling somebody was given up."""
        self._recorded = Recorded(inbox)
        self._alarms = self._recorded.alarms
        self._summaries = Summaries(source)
        # For each recipient and channel, by process: links for sellers that no message has sent.
        self._unsent: dict[tuple[str, Via], dict[str, Unsent]] = {}
        self._under_way: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._runs_on = False  # False: `run_once` was called, not `run`
        self._looks_again = False  # a message was not sent: what is due is to be decided again
        self._said = LastSaid(source)
        self._is_behind = False  # the ledger was catching up when it was asked last
        self._look_at = 0.0  # on the monotonic clock
        self._whole_look_at = 0.0
        self._subscriptions_at = 0.0
        self._beat_at = 0.0

    def run(self, stop: threading.Event) -> None:
        """Runs until `stop` is set; messages on their way then come to their end."""
        self._stop, self._runs_on = stop, True
        with contextlib.ExitStack() as opened:
            pools = {
                via: opened.enter_context(ThreadPoolExecutor(MAX_AT_ONCE, f"alerts by {via}"))
                for via in get_args(Via)
            }
            while not stop.is_set():
                self._turn_safely(
                    lambda messages, *how: pools[messages[0].via].submit(
                        self._deliver_safely, messages, *how
                    )
                )
                stop.wait(TURN_SECONDS)
        self._unrecorded.end(self._inbox, self._subject)

    def _turn_safely(self, deliver: Deliver) -> None:
        try:
            try:
                self.turn(deliver)
                self._unrecorded.went_well()
            except InboxUnavailable as error:
                LOG.error("alerts wait: %s", error)
                self._do_without_the_log()
            # People come first: this may take long, where the ledger's holder is slow or hangs.
            self._said.look_ahead(self._rules.ladder.ahead())
        except OperatorError as error:
            LOG.error("alerts wait: %s", error)

    def run_once(self) -> None:
        """Raises and sends what is due now, one message after the other. Raises `OperatorError`."""
        self._looks_again = True
        while self._looks_again:
            self._looks_again = False
            self._look_at = self._whole_look_at = self._subscriptions_at = 0.0
            self.turn(self._deliver)

    def turn(self, deliver: Deliver) -> None:
        """Reads on, decides, and acts on that. `deliver` is called with the messages to one
        recipient by one channel, the most urgent first."""
        self._unrecorded.record(self._inbox, self._subject)
        self._beat()
        loaded = self._load()
        subscribed = self._subscriptions() if loaded.recipients else self._subscribed
        if loaded is not self._loaded or subscribed != self._subscribed:
            self._loaded, self._subscribed, self._whole_look_at = loaded, subscribed, 0.0
            self._rules = reports.with_subscriptions(loaded, subscribed)
        if not self._rules.recipients:
            return  # where nobody could be told, nothing is raised
        is_new = self._read_on()
        if not is_new and time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_SECONDS
        dues, plan = self._look(is_whole=self._is_whole_due())
        if plan.raises:
            self._raise(plan.raises)
            self._read_on()
            for due in plan.raises:
                # Its entries were not read, so it was raised long ago: it is over.
                self._alarms.setdefault(
                    due.alert, Alarm(self._now(), due.kind, due.since, is_over=True)
                )
            plan = decide(dues, self._alarms, self._rules, self._now())
        decided = instants.since_boot()
        self._give_up(plan.given_up)
        for way, messages in plan.ways().items():
            with self._lock:
                if way in self._under_way:
                    continue
                self._under_way.add(way)
            deliver(messages, self._rules, self._summaries.of(messages), decided)

    def _is_whole_due(self) -> bool:
        """Whether this look is at all that is due: every few minutes, after a change of the rules,
        and for a digest or a report."""
        is_missing = self._summaries.is_missing(self._rules, self._alarms, self._now())
        return is_missing or time.monotonic() >= self._whole_look_at

    def _look(self, *, is_whole: bool) -> tuple[list[Due], Plan]:
        """What is due, by the ledger and by what we see ourselves, and the plan for it. A look that
        is not whole takes the alerts that were raised before as they were last known; where the
        plan has something for one of them, all is looked at."""
        status = None if self._watch is None else self._source.status()
        if self._watch is None or status is not None:
            found = self._ask_ledger(is_whole=is_whole)
        else:
            found, self._is_behind = None, False
        # A ledger that is catching up gives its status, though not what is due.
        seen = self._look_beside_the_log(status if found is not None or self._is_behind else None)
        if found is None:
            return self._without_the_ledger(seen)
        dues, plan = self._plan_with_known(found, seen, is_whole=is_whole)
        unasked = self._said.dues.keys() - {it.alert for it in [*seen, *found]}
        if not is_whole and plan.told & unasked:
            found = self._ask_ledger(is_whole=True)
            if found is None:
                return self._without_the_ledger(seen)
            dues, plan = self._plan_with_known(found, seen, is_whole=True)
        return dues, plan

    def _plan_with_known(
        self, found: list[Due], seen: list[Due], *, is_whole: bool
    ) -> tuple[list[Due], Plan]:
        """Remembers what was found; unless that is all, beside what was known of raised alerts."""
        said = self._said
        known = {} if is_whole else {it: due for it, due in said.dues.items() if it in self._alarms}
        # What we see comes last: the ledger's row about the same alert does not name files.
        said.dues = known | {due.alert: due for due in [*found, *seen]}
        return self._plan_with_summaries(said.dues.values())

    def _without_the_ledger(self, seen: list[Due]) -> tuple[list[Due], Plan]:
        """What is due while the ledger does not say it: what we see ourselves, and, once that has
        `ledger_down` or it has been silent for as long as it may lag, also the alerts of its last
        answer that were raised, and the rungs that are reached meanwhile. What an entry of the
        inbox has ended since is left out."""
        self._whole_look_at = 0.0
        is_down = any(it.kind == "ledger_down" for it in seen)
        if not is_down and not self._said.is_silent(self._rules.watch.lag_minutes * 60):
            return self._plan_with_summaries(seen)
        said, ours, held = self._said, {it.alert: it for it in seen}, set[str]()
        summaries = self._summaries_due([*said.dues.values(), *seen])
        while True:
            standing = {
                alert: due
                for alert, due in said.standing(self._now()).items()
                if (alert in self._alarms or said.is_foreseen(alert))
                and due.kind not in BESIDE_THE_LOG
            }
            dues = [*(standing | ours).values(), *summaries]
            plan = decide(dues, self._alarms, self._rules, self._now())
            concerned = plan.told | {it.alert for it in plan.raises}
            asked = concerned & standing.keys() - held
            if not asked:
                return dues, plan
            said.hold_against_the_inbox(asked)
            held |= asked

    def _plan_with_summaries(self, of: Iterable[Due]) -> tuple[list[Due], Plan]:
        dues = [*of]
        dues += self._summaries_due(dues)
        return dues, decide(dues, self._alarms, self._rules, self._now())

    def _summaries_due(self, dues: list[Due]) -> list[Due]:
        """The digests and reports that are to be sent now."""
        now, alarms = self._now(), self._alarms
        digests = self._summaries.digests(self._rules, alarms, dues, now)
        return digests + self._summaries.reports(self._rules, alarms, now)

    def _ask_ledger(self, *, is_whole: bool) -> list[Due] | None:
        """What is due by the ledger: all, or what nobody has raised; None where it is silent."""
        self._is_behind, at = False, self._now()
        try:
            found = self._source.due() if is_whole else self._source.new()
        except OperatorError as error:
            if self._watch is None:
                raise
            self._is_behind = isinstance(error, LedgerBehind)
            LOG.error("the ledger does not say what is due: %s", error)
            return None
        self._said.answered(at, is_whole=is_whole)
        if is_whole:
            self._whole_look_at = time.monotonic() + WHOLE_LOOK_SECONDS
        # The view also has older alerts: those that are held, which were raised, though perhaps
        # only in a file (docs/alerts.md#what-is-due), and pressing ones that nobody has raised.
        raised_from = self._now() - self._rules.look_back_days * instants.DAY
        return [
            due
            for due in found
            if due.alert in self._alarms or due.since > raised_from or due.raised_at is None
        ]

    def _look_beside_the_log(self, status: Mapping[str, object] | None) -> list[Due]:
        """What is alarming beside the log. What is over is recorded."""
        if self._watch is None:
            return []
        now = self._now()
        unusable = self._files.unusable(self._rules)
        found = self._watch.look(status, self._alarms, self._rules.watch, unusable, now)
        if found.over:
            self._append([entries.cleared(name, now) for name in found.over])
        return found.dues

    def _subscriptions(self) -> list[dict[str, Any]]:
        """The reports that people subscribed to, as the ledger said them not long ago."""
        if time.monotonic() < self._subscriptions_at:
            return self._subscribed
        try:
            found = self._source.subscriptions()
        except OperatorError:
            return self._subscribed
        self._subscriptions_at = time.monotonic() + SUBSCRIPTIONS_SECONDS
        return found

    # --- while there is no log ---

    def _do_without_the_log(self) -> None:
        """Once the inbox has been away for a while, tells people without it."""
        self._unrecorded.note(self._inbox.clock())
        rules = self._load()
        if not self._unrecorded.has_lasted or not rules.recipients:
            return
        with contextlib.suppress(InboxUnavailable):  # it may be read, and others may write to it
            self._read_on()
        # With a log that was never read, nobody knows who was told: only of what was never raised.
        is_read = self._recorded.is_read
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_SECONDS
            found = self._ask_ledger(is_whole=is_read)
            if found is not None:
                self._said.dues = {it.alert: it for it in found}
        standing = self._said.standing(self._inbox.clock()).values()
        dues = [it for it in standing if is_read or it.raised_at is None]
        links, now = Links(rules.dashboard_url, self._inbox.log_key), self._inbox.clock
        self._unrecorded.tell(dues, self._alarms, rules, links, now, self._stop)

    # --- the log ---

    def _read_on(self) -> bool:
        """Takes what was recorded about alerts; whether there was anything."""
        remembered = self._rules.remembered_hours * instants.HOUR
        lasting = list if self._watch is None else self._watch.lasting
        with self._unrecorded.reading():
            return self._recorded.read_on(self._now() - remembered, lasting)

    def _raise(self, dues: Iterable[Due]) -> None:
        now = self._now()
        self._append([entries.raised(due, self._subject(due), now) for due in dues])

    def _append(self, drafts: list[Draft]) -> list[Receipt]:
        try:
            receipts = self._inbox.append(drafts)
        except InboxUnavailable:
            self._unrecorded.note(self._inbox.clock(), is_unwritten=True)
            raise
        self._unrecorded.recorded(drafts)
        return receipts

    def _give_up(self, given_up: Iterable[GivenUp]) -> None:
        now = self._now()
        drafts = [it.draft(self._subject(it.due), now) for it in given_up]
        if drafts:
            for one in given_up:
                LOG.error("%s", one.said)
            self._append(drafts)
            self.given_up += len(drafts)

    def _subject(self, due: Due) -> Subject:
        """The true ids of what an alert is about: views may show them masked."""
        if due.seq is None or (due.process_id is None and due.seller_id is None):
            return Subject()
        found = self._inbox.entry(due.seq)
        return Subject() if found is None else Subject.of(due, found, self._source.is_mask)

    # --- messages ---

    def _deliver_safely(self, messages: list[Message], *how: Any) -> None:
        try:
            self._deliver(messages, *how)
        except OperatorError as error:
            LOG.error("a message to %s waits: %s", messages[0].to, error)

    def _deliver(
        self, messages: list[Message], rules: AlertRules, lists: Lists, decided: int
    ) -> None:
        """Tries the messages one after the other, until one fails, or so late that others may be
        more urgent. `decided`: when they were decided on, on the clock `since_boot`, and `rules`:
        by which; other rules may be in force by now."""
        first = messages[0]
        try:
            for message in messages:
                comes_late = is_late(decided, is_first=message is first)
                if comes_late or not self._try_safely(message, rules, lists):
                    self._looks_again |= comes_late or message is not messages[-1]
                    break
                if self._stop.is_set():
                    break
        finally:
            with self._lock:
                self._under_way.discard((first.to, first.via))
            self._look_at = 0.0

    def _try_safely(self, message: Message, *how: Any) -> bool:
        """Whether the next one may be tried now. An error of our own code ends this one alone."""
        try:
            return self._try(message, *how)
        except OperatorError:
            raise
        except Exception as error:
            LOG.exception("a message to %s ended in an error of ours", message.to)
            self._on_sent(Sent(message, type(error).__name__))
            return True

    def _try(self, message: Message, rules: AlertRules, lists: Lists) -> bool:
        began = instants.since_boot()
        # The message may have waited for others: somebody may have seen to its alerts by now.
        open_ones = [it for it in message.items if self._is_open(it)]
        unsent = self._unsent.setdefault((message.to, message.via), {})
        message = message._replace(items=tuple(asking(it, unsent) for it in open_ones))
        ours = self._begin(message) if open_ones else {}
        if not ours:
            return True
        message = message._replace(items=tuple(ours))
        fresh = self._fresh if rules.recipients[message.to].seller_links else None
        links = Links(rules.dashboard_url, self._inbox.log_key, fresh, unsent)
        now = self._now()
        content, faults = channels.made_apart(message, rules, now, links, lists)
        unsent |= {process: made for process, made in links.made.items() if made is not None}
        if faults:
            lost = message._replace(items=tuple(faults))
            self._answer(lost, ours, faults)
            message = message._replace(items=tuple(it for it in ours if it not in faults))
        if content is None:
            return True
        if is_late(began):
            LOG.warning("a message to %s was not sent: it would come late", message.to)
            return False
        fault = channels.send(message, content, rules, now, self._stop)
        if fault is not None:
            LOG.warning("a message to %s by %s failed: %s", message.to, message.via, fault)
        else:
            for process_id in links.made:
                unsent.pop(process_id, None)
        self._answer(message, ours, dict.fromkeys(message.items, fault))
        return fault is None

    def _begin(self, message: Message) -> dict[Item, Subject]:
        """Records that a message is about to leave. Which of its alerts are ours to send, with what
        each is about: of the others, another process has recorded this try."""
        subjects = [self._subject(it.due) for it in message.items]
        about = list(zip(message.items, subjects, strict=True))
        now = self._now
        receipts = self._append([entries.tried(message.try_of(it), of, now()) for it, of in about])
        return {
            item: subject
            for (item, subject), receipt in zip(about, receipts, strict=True)
            if receipt.outcome is Outcome.RECORDED
        }

    def _is_open(self, item: Item) -> bool:
        alarm = self._alarms.get(item.due.alert)
        return alarm is not None and alarm.is_open(self._now())

    def _answer(
        self, message: Message, subjects: Mapping[Item, Subject], faults: Mapping[Item, str | None]
    ) -> None:
        """Records what came of a message, alert by alert."""
        self._record(
            lambda now: [
                entries.answered(
                    message.try_of(item),
                    subjects[item],
                    now,
                    fault=fault,
                    may_have_it=isinstance(fault, channels.Unsure),
                )
                for item, fault in faults.items()
            ]
        )
        self._on_sent(Sent(message, next(iter(faults.values()))))

    def _record(self, made: Callable[[int], list[Draft]]) -> None:
        """Records what came of a try just now. Unrecorded, the message would be sent again, so this
        waits for an inbox that is away; a process that takes only one turn waits a short while."""
        ended = instants.since_boot()

        def drafts() -> list[Draft]:
            now = self._now()
            waited = instants.since_boot() - ended
            return made(now - waited if waited > instants.SECOND else now)

        lasting = itertools.repeat(RECORD_PAUSES[-1]) if self._runs_on else ()
        for pause in itertools.chain(RECORD_PAUSES, lasting):
            try:
                self._append(drafts())
            except InboxUnavailable as error:
                LOG.error("what came of a message waits to be recorded: %s", error)
                self._unrecorded.remember(drafts())
                if self._stop.wait(pause):
                    break
            else:
                return
        self._append(drafts())

    def _beat(self) -> None:
        if time.monotonic() >= self._beat_at:
            beat(self._inbox, Part.ALERTS)
            self._beat_at = time.monotonic() + BEAT_SECONDS
