"""Tells people: raises what is due, sends it, repeats what failed, and records all of it.

What was done so far is read from the log alone, so a restart or a second process goes on where the
last one ended. A try is sent by the process whose entry of it is recorded, and by no other.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.alarms import Alarm, Recorded
from pipeline.alert.away.last_said import LastSaid
from pipeline.alert.away.unrecorded import Unrecorded
from pipeline.alert.decision import GivenUp, Message, Plan, decide
from pipeline.alert.delivering import Delivering, Sent
from pipeline.alert.entries import Due
from pipeline.alert.messages import transport
from pipeline.alert.messages.alert_texts import Lists
from pipeline.alert.messages.links import Fresh, Links
from pipeline.alert.recording import Recording
from pipeline.alert.source import Source
from pipeline.alert.summaries import reports
from pipeline.alert.summaries.kept import Summaries
from pipeline.alert.watch import Watch
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.channels import all_channels
from pipeline.conditions import BESIDE_THE_LOG
from pipeline.errors import CopyHeld, InboxUnavailable, LedgerBehind, OperatorError
from pipeline.inbox import Inbox, copies
from pipeline.inbox.heartbeats import Part, beat

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
HELD_SECONDS: Final = 30.0
"""After the inbox was found to be a copy: a person has to say that it is the one in use."""
MAX_AT_ONCE: Final = 8
"""Messages on their way by one channel at a time: a dead server holds no other channel up."""

Deliver = Callable[[list[Message], AlertRules, Lists, int], object]


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
        self._inbox = inbox
        self._source = source
        self._load = load
        self._rules = self._loaded = load()
        self._subscribed: list[dict[str, Any]] = []  # rows of `report_subscriptions`
        self._watch = watch
        self._files = transport.Files()
        self._now = now or inbox.now_or_believed
        self._unrecorded = unrecorded or Unrecorded()
        self.given_up = 0
        """How many times telling somebody was given up."""
        self._recorded = Recorded(inbox)
        self._alarms = self._recorded.alarms
        self._summaries = Summaries(source)
        self._recording = Recording(inbox, source, self._unrecorded, self._now)
        self._delivering = Delivering(
            inbox, self._recording, self._alarms, fresh=fresh, on_sent=on_sent, now=self._now
        )
        self._stop = threading.Event()
        self._looks_again = False  # a message was not sent: what is due is to be decided again
        self._said = LastSaid(source)
        self._is_behind = False  # the ledger was catching up when it was asked last
        self._look_at = 0.0  # on the monotonic clock
        self._whole_look_at = 0.0
        self._subscriptions_at = 0.0
        self._beat_at = 0.0
        self._ended_well = False  # the last turn
        self._is_held = False  # the inbox is a copy, as it was read last

    def run(self, stop: threading.Event) -> None:
        """Runs until `stop` is set; messages on their way then come to their end."""
        self._stop = stop
        self._delivering.run_until(stop)
        with contextlib.ExitStack() as opened:
            pools = {
                via: opened.enter_context(ThreadPoolExecutor(MAX_AT_ONCE, f"alerts by {via}"))
                for via in all_channels()
            }
            while not stop.is_set():
                self._turn_safely(
                    lambda messages, *how: pools[messages[0].via].submit(
                        self._deliver_safely, messages, *how
                    )
                )
                stop.wait(TURN_SECONDS)
        self._unrecorded.end(self._inbox, self._recording.subject)

    def _turn_safely(self, deliver: Deliver) -> None:
        try:
            try:
                self.turn(deliver)
                self._unrecorded.went_well()
            except CopyHeld as error:
                LOG.error("alerts wait: %s", error)
                self._is_held = True
                self._stop.wait(HELD_SECONDS)
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
        recipient by one channel, the most urgent first.

        Only a turn that ends well says that alerts are sent: by its heartbeat, and by that of the
        next turn as it begins, since a turn may last."""
        ended_well, self._ended_well = self._ended_well, False
        if ended_well:
            self._beat()
        else:
            self._inbox.compare_clocks()
        self._act(deliver)
        self._ended_well = True
        self._beat()

    def _act(self, deliver: Deliver) -> None:
        copies.require_in_use(self._inbox)
        self._is_held = False
        self._unrecorded.record(self._inbox, self._recording.subject)
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
            if not self._delivering.claim(way):
                continue
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
            self._recording.append([entries.cleared(name, now) for name in found.over])
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
        """Once the inbox has been away for a while, tells people without it; of a copy, nobody."""
        with contextlib.suppress(InboxUnavailable):  # it may be read all the same
            self._is_held = bool(copies.why_held(self._inbox))
        if self._is_held:
            return
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
        self._recording.append(
            [entries.raised(due, self._recording.subject(due), now) for due in dues]
        )

    def _give_up(self, given_up: Iterable[GivenUp]) -> None:
        now = self._now()
        drafts = [it.draft(self._recording.subject(it.due), now) for it in given_up]
        if drafts:
            for one in given_up:
                LOG.error("%s", one.said)
            self._recording.append(drafts)
            self.given_up += len(drafts)

    # --- messages ---

    def _deliver_safely(self, messages: list[Message], *how: Any) -> None:
        try:
            self._deliver(messages, *how)
        except OperatorError as error:
            LOG.error("a message to %s waits: %s", messages[0].to, error)

    def _deliver(
        self, messages: list[Message], rules: AlertRules, lists: Lists, decided: int
    ) -> None:
        try:
            self._looks_again |= self._delivering.deliver(messages, rules, lists, decided)
        finally:
            self._look_at = 0.0

    def _beat(self) -> None:
        if time.monotonic() >= self._beat_at:
            beat(self._inbox, Part.ALERTS)
            self._beat_at = time.monotonic() + BEAT_SECONDS
