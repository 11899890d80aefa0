"""Sends messages about alerts: each try is recorded before it leaves, and what came of it after."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from pipeline import instants, traces
from pipeline.alert import entries
from pipeline.alert.alarms import Alarms
from pipeline.alert.decision import Message
from pipeline.alert.entries import Item, Subject
from pipeline.alert.messages import transport
from pipeline.alert.messages.alert_texts import Lists
from pipeline.alert.messages.links import Fresh, Links, Unsent, asking
from pipeline.alert.recording import Recording
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.recipients import Via
from pipeline.errors import OperatorError
from pipeline.inbox import Inbox
from pipeline.inbox.store import Outcome

LOG = logging.getLogger(__name__)

Way = tuple[str, Via]
"""A recipient, and the channel by which they are told."""


class Sent(NamedTuple):
    """What was sent, for its operator to see."""

    message: Message
    fault: str | None


class Delivering:
    """Sends what is decided, for one process. Safe from several threads, each on ways of its own
    that it has claimed."""

    def __init__(
        self,
        inbox: Inbox,
        recording: Recording,
        alarms: Alarms,
        *,
        fresh: Fresh | None,
        on_sent: Callable[[Sent], None],
        now: Callable[[], int],
    ) -> None:
        """`alarms`: what is known of those that were raised. `fresh`: see `Dispatcher`."""
        self._inbox = inbox
        self._recording = recording
        self._alarms = alarms
        self._fresh = fresh
        self._on_sent = on_sent
        self._now = now
        # For each way, by process: links for sellers that no message has sent.
        self._unsent: dict[Way, dict[str, Unsent]] = {}
        self._under_way: set[Way] = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._is_patient = False

    def run_until(self, stop: threading.Event) -> None:
        """From now on no message is begun once `stop` is set, and what came of one waits for the
        inbox until then."""
        self._stop, self._is_patient = stop, True

    def claim(self, way: Way) -> bool:
        """Whether no message is on this way; `deliver` ends the claim."""
        with self._lock:
            is_free = way not in self._under_way
            self._under_way.add(way)
            return is_free

    def deliver(
        self, messages: list[Message], rules: AlertRules, lists: Lists, decided: int
    ) -> bool:
        """Tries the messages of one way one after the other, until one fails, or so late that
        others may be more urgent. `decided`: when they were decided on, on the clock `since_boot`,
        and `rules`: by which; other rules may be in force by now. Whether some were left, about
        which is to be decided again. Raises `OperatorError`."""
        first = messages[0]
        try:
            for message in messages:
                comes_late = transport.is_late(decided, is_first=message is first)
                if comes_late or not self._try_safely(message, rules, lists):
                    return comes_late or message is not messages[-1]
                if self._stop.is_set():
                    break
            return False
        finally:
            with self._lock:
                self._under_way.discard((first.to, first.via))

    def _try_safely(self, message: Message, rules: AlertRules, lists: Lists) -> bool:
        """Whether the next one may be tried now. An error of our own code ends this one alone."""
        try:
            return self._try(message, rules, lists)
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
        content, faults = transport.made_apart(message, rules, now, links, lists)
        unsent |= {process: made for process, made in links.made.items() if made is not None}
        if faults:
            lost = message._replace(items=tuple(faults))
            self._answer(lost, ours, faults)
            message = message._replace(items=tuple(it for it in ours if it not in faults))
        if content is None:
            return True
        if transport.is_late(began):
            LOG.warning("a message to %s was not sent: it would come late", message.to)
            return False
        leaves = time.monotonic()
        fault = transport.send(message, content, rules, now, self._stop)
        about = [it.due.seq for it in message.items]
        traces.alerted(self._inbox, about, leaves, message.via, is_sent=fault is None)
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
        subjects = [self._recording.subject(it.due) for it in message.items]
        about = list(zip(message.items, subjects, strict=True))
        receipts = self._recording.append(
            [entries.tried(message.try_of(it), of, self._now()) for it, of in about]
        )
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
        self._recording.append_at_last(
            lambda now: [
                entries.answered(
                    message.try_of(item),
                    subjects[item],
                    now,
                    fault=fault,
                    may_have_it=isinstance(fault, transport.Unsure),
                )
                for item, fault in faults.items()
            ],
            self._stop,
            is_patient=self._is_patient,
        )
        self._on_sent(Sent(message, next(iter(faults.values()))))
