"""Tells people while nothing can be recorded: that it is so, and of what is due meanwhile.

An alert is an entry before anybody is told of it, and an inbox that is away takes none. Once that
has lasted, no deadline may pass unheard for it. What is done is remembered here, and recorded once
the inbox is back. What a process did that died before that, nobody knows, so it is done again.
"""

import copy
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, NamedTuple

from pipeline.alert import channels, entries
from pipeline.alert.alarms import Alarms
from pipeline.alert.decision import Message, decide
from pipeline.alert.entries import Due, Subject
from pipeline.alert.links import Links
from pipeline.alert.watch import GRACE_SECONDS, name_of
from pipeline.alert_rules import AlertRules
from pipeline.errors import InboxUnavailable, OperatorError
from pipeline.inbox import Inbox
from pipeline.log.entries import Draft
from pipeline.texts import counted

LOG = logging.getLogger(__name__)

KIND: Final = "inbox_down"
OPEN_AGAIN_SECONDS: Final = 5.0
AT_ONCE: Final = 500
"""Drafts in one commit."""


class _Step(NamedTuple):
    """What was done about an alert."""

    draft: Draft
    due: Due


class Unrecorded:
    """What one process did about alerts since its inbox went away. Safe from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._away_since: float | None = None  # on the monotonic clock
        self._began = 0  # the same by the believed time, in microseconds
        self._alarms: Alarms | None = None  # as they are, with what is not recorded; None: all is
        self._steps: list[_Step] = []
        # What this process had recorded, or tried to, and has not read yet, by ingest key.
        self._own: dict[bytes | None, Draft] = {}

    @property
    def has_lasted(self) -> bool:
        """Whether it is away for so long that people have to be told."""
        since = self._away_since
        return since is not None and time.monotonic() - since >= GRACE_SECONDS

    def note(self, now: int) -> None:
        """Notes that the inbox cannot be read or written; `now`: in microseconds."""
        with self._lock:
            if self._away_since is None:
                self._away_since, self._began = time.monotonic(), now

    def remember(self, drafts: Iterable[Draft]) -> None:
        """Remembers what this process did, until it has read what stands in the log."""
        with self._lock:
            self._own |= {it.ingest_key: it for it in drafts}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The log is read on in the block: what was recorded before is then known from it."""
        with self._lock:
            before = set(self._own)
        yield
        with self._lock:
            self._own = {key: it for key, it in self._own.items() if key not in before}

    def _begin(self, alarms: Alarms) -> Alarms:
        """Every alert as it is, with what this process did since it has read the log."""
        known = copy.deepcopy(alarms)
        with self._lock:
            for draft in self._own.values():
                known.take(draft.body, draft.occurred_at or 0, draft.process_id)
        return known

    def tell(
        self,
        dues: Iterable[Due],
        alarms: Alarms,
        rules: AlertRules,
        links: Links,
        now: Callable[[], int],
        stop: threading.Event,
    ) -> None:
        """Tells of the inbox, and of what else is due: whom, how often and when, as ever.

        `alarms`: as they were recorded. `now`: the believed time, which must not ask the inbox.
        """
        if self._alarms is None:
            self._alarms = self._begin(alarms)
        name = name_of(KIND, str(self._began))
        dues = [Due(name, KIND, "breach", "admin", self._began), *dues]
        for due in decide(dues, self._alarms, rules, now()).raises:
            self._take(entries.raised(due, Subject(), now()), due)
        plan = decide(dues, self._alarms, rules, now())
        for due, address, why, before in plan.given_up:
            LOG.error("%s is not told of alert %s: %s", address.to or "nobody", due.alert, why)
            draft = entries.undelivered(
                due.alert, address, why, Subject(), now(), tries_before=before
            )
            self._take(draft, due)
        ways: dict[tuple[str, str], list[Message]] = {}
        for message in plan.messages:
            ways.setdefault((message.to, message.via), []).append(message)

        def send_all(messages: list[Message]) -> None:
            for message in messages:
                if stop.is_set() or not self._send(message, rules, links, now, stop):
                    break

        with ThreadPoolExecutor(len(ways) or 1, "alerts without the log") as pool:
            list(pool.map(send_all, ways.values()))

    def _send(
        self,
        message: Message,
        rules: AlertRules,
        links: Links,
        now: Callable[[], int],
        stop: threading.Event,
    ) -> bool:
        """Whether the next message may be tried: a channel that took none is left alone."""
        how = message.to, message.via, message.name
        for item in message.items:
            self._take(entries.tried(item, *how, Subject(), now()), item.due)
        content, faults = channels.made_apart(message, rules, now(), links, {})
        left = message._replace(items=tuple(it for it in message.items if it not in faults))
        fault = None if content is None else channels.send(left, content, rules, now(), stop)
        for item in message.items:
            draft = entries.answered(
                item,
                *how,
                Subject(),
                now(),
                fault=faults.get(item, fault),
                may_have_it=item not in faults and isinstance(fault, channels.Unsure),
            )
            self._take(draft, item.due)
        LOG.warning(
            "%s about %s by %s, which nothing could record: %s",
            message.to,
            counted(len(message.items), "alert"),
            message.via,
            fault or "told",
        )
        return fault is None

    def _take(self, draft: Draft, due: Due) -> None:
        assert self._alarms is not None
        assert draft.occurred_at is not None
        with self._lock:
            self._steps.append(_Step(draft, due))
            self._alarms.take(draft.body, draft.occurred_at, due.process_id)

    def record(self, inbox: Inbox, subject_of: Callable[[Due], Subject]) -> None:
        """Records what was done, if the inbox was away and takes entries again. `subject_of`: by
        true ids. Raises `InboxUnavailable` where it does not; what is recorded by then stays so."""
        if self._away_since is None:
            return
        inbox.prove()
        inbox.probe()
        count = len(self._steps)
        subjects: dict[str, Subject] = {}
        while self._steps:
            steps = self._steps[:AT_ONCE]
            for _, due in steps:
                if due.alert not in subjects:
                    subjects[due.alert] = subject_of(due)
            inbox.append([it._replace(**subjects[due.alert]._asdict()) for it, due in steps])
            del self._steps[: len(steps)]
        with self._lock:
            self._away_since = self._alarms = None
        LOG.warning("the inbox is back: %s about alerts recorded", counted(count, "step"))

    def end(self, inbox: Inbox, subject_of: Callable[[Due], Subject]) -> None:
        """The same for the last time: says what this process leaves unrecorded."""
        try:
            self.record(inbox, subject_of)
        except OperatorError as error:
            LOG.error(
                "%s about alerts could not be recorded, so whoever was told is told once more: %s",
                counted(len(self._steps), "step"),
                error,
            )


def opened(
    open_inbox: Callable[[], Inbox],
    unrecorded: Unrecorded,
    rules: Callable[[], AlertRules],
    now: Callable[[], int],
    stop: threading.Event,
) -> Inbox | None:
    """The inbox, however long it cannot be opened; None once `stop` is set. People are told of that
    meanwhile, and of nothing else: what they know already stands in the log."""
    said = ""
    while not stop.is_set():
        try:
            return open_inbox()
        except InboxUnavailable as error:
            if str(error) != said:
                said = str(error)
                LOG.error("alerts wait: %s", said)
        unrecorded.note(now())
        if unrecorded.has_lasted and rules().recipients:
            unrecorded.tell((), Alarms(), rules(), Links(None, b""), now, stop)
        stop.wait(OPEN_AGAIN_SECONDS)
    return None
