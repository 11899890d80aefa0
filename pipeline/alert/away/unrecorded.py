"""Tells people while nothing can be recorded: that it is so, and of what is due meanwhile.

Usually an alert is recorded before anybody is told of it. An inbox that is away takes no entry:
once that has lasted a while, people are told all the same, so that no deadline passes unheard. What
is done is remembered here, and recorded once the inbox is back. If the process dies before that,
its steps are lost, and the next process repeats them.
"""

import copy
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.alarms import Alarms
from pipeline.alert.decision import Message, decide
from pipeline.alert.entries import Due, Subject
from pipeline.alert.messages import transport
from pipeline.alert.messages.links import Links
from pipeline.alert.watch import GRACE_SECONDS, due_beside, name_of
from pipeline.alert_rules import AlertRules
from pipeline.errors import InboxUnavailable, OperatorError
from pipeline.inbox import Inbox, Outcome
from pipeline.log.entries import Draft
from pipeline.texts import counted

LOG = logging.getLogger(__name__)

KIND: Final = "inbox_down"
OPEN_AGAIN_SECONDS: Final = 5.0
UNTRIED_SECONDS: Final = 60.0
"""An entry that the inbox refused is tried again within this time, as long as it has a cause."""
AT_ONCE: Final = 32
"""Messages on their way at once, each to another recipient or by another channel."""
AT_A_TIME: Final = 500
"""Drafts in one commit."""
_OCCURRED: Final = "select occurred_at from entries where ingest_key = $1"


class _Step(NamedTuple):
    """What was done about an alert. `tried`: the draft that began the try, where this step ends
    one."""

    draft: Draft
    due: Due
    tried: Draft | None = None


class Unrecorded:
    """What one process did about alerts that its inbox does not have. Safe from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._away_since: float | None = None  # on the monotonic clock
        self._began = 0  # the same by the believed time, in microseconds
        # When it refused entries last, if it has taken none since; on the monotonic clock.
        self._unwritten_at: float | None = None
        self._steps: list[_Step] = []
        # Ingest keys of steps that others had recorded first.
        self._others: set[bytes | None] = set()
        # What this process had recorded, or tried to, and has not read yet, by ingest key.
        self._own: dict[bytes | None, Draft] = {}
        self._under_way: set[tuple[str, str]] = set()
        self._pool: ThreadPoolExecutor | None = None

    # --- whether it is away ---

    @property
    def has_lasted(self) -> bool:
        """Whether the inbox has been away for so long that people have to be told."""
        since = self._away_since
        return since is not None and time.monotonic() - since >= GRACE_SECONDS

    def note(self, now: int, *, is_unwritten: bool = False) -> None:
        """Notes that the inbox failed; `now` in microseconds. `is_unwritten`: it refused entries.
        Then only an entry that it takes ends this, since a disk may have room for a heartbeat and
        for no entry."""
        with self._lock:
            if is_unwritten:
                self._unwritten_at = time.monotonic()
            if self._away_since is None:
                self._away_since, self._began = time.monotonic(), now

    def went_well(self) -> None:
        """Notes that the inbox did all that a turn asked of it."""
        with self._lock:
            at = self._unwritten_at
            if at is not None and time.monotonic() - at > UNTRIED_SECONDS:
                at = self._unwritten_at = None  # nothing is to be written any longer
            if at is None and not self._steps:
                self._away_since = None

    def recorded(self, drafts: Iterable[Draft]) -> None:
        """Notes that the inbox took entries, and remembers them until they are read."""
        self.remember(drafts)
        with self._lock:
            self._unwritten_at = None

    # --- what is known ---

    def remember(self, drafts: Iterable[Draft]) -> None:
        """Remembers what this process did, until it has read it in the log."""
        with self._lock:
            self._own |= {it.ingest_key: it for it in drafts}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """For a block that reads the log on: what was remembered before it is forgotten after it,
        since the log has it."""
        with self._lock:
            before = set(self._own)
        yield
        with self._lock:
            self._own = {key: it for key, it in self._own.items() if key not in before}

    def _known(self, alarms: Alarms) -> Alarms:
        """Every alert as it was read from the log, with what this process did since."""
        known = copy.deepcopy(alarms)
        with self._lock:
            done = [(it, it.process_id) for it in self._own.values()]
            done += [(it.draft, it.due.process_id) for it in self._steps]
        for draft, process_id in done:
            known.take(draft.body, draft.occurred_at or 0, process_id)
        return known

    # --- telling ---

    def tell(
        self,
        dues: Iterable[Due],
        alarms: Alarms,
        rules: AlertRules,
        links: Links,
        now: Callable[[], int],
        stop: threading.Event,
    ) -> None:
        """Tells people that the inbox is away, and of `dues`. `decide` says whom, how often and
        when, as usual. This does not wait for messages on their way.

        `alarms`: as they were read last. `now` gives the believed time; it must not ask the inbox.
        """
        name = name_of(KIND, str(self._began))
        dues = [due_beside(name, KIND, self._began), *dues]
        for due in decide(dues, self._known(alarms), rules, now()).raises:
            self._take(entries.raised(due, Subject(), now()), due)
        plan = decide(dues, self._known(alarms), rules, now())
        for given_up in plan.given_up:
            LOG.error("%s", given_up.said)
            self._take(given_up.draft(Subject(), now()), given_up.due)
        decided = instants.since_boot()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(AT_ONCE, "alerts without the log")
        for way, messages in plan.ways().items():
            with self._lock:
                if way in self._under_way:
                    continue
                self._under_way.add(way)
            self._pool.submit(self._send_all, messages, rules, links, now, stop, decided)

    def _send_all(
        self,
        messages: list[Message],
        rules: AlertRules,
        links: Links,
        now: Callable[[], int],
        stop: threading.Event,
        decided: int,
    ) -> None:
        """Sends one after the other, until a channel refuses one, or so late that others may be due
        instead."""
        first = messages[0]
        try:
            for message in messages:
                if stop.is_set() or transport.is_late(decided, is_first=message is first):
                    break
                if not self._send(message, rules, links, now, stop):
                    break
        except Exception:
            LOG.exception("a message to %s ended in an error of ours", first.to)
        finally:
            with self._lock:
                self._under_way.discard((first.to, first.via))

    def _send(
        self,
        message: Message,
        rules: AlertRules,
        links: Links,
        now: Callable[[], int],
        stop: threading.Event,
    ) -> bool:
        """Sends one message. Whether the channel took it: if not, it gets no other one now."""
        tried = {}
        for item in message.items:
            tried[item] = entries.tried(message.try_of(item), Subject(), now())
            self._take(tried[item], item.due)
        content, faults = transport.made_apart(message, rules, now(), links, {})
        left = message._replace(items=tuple(it for it in message.items if it not in faults))
        fault = None if content is None else transport.send(left, content, rules, now(), stop)
        for item in message.items:
            draft = entries.answered(
                (message if item in faults else left).try_of(item),
                Subject(),
                now(),
                fault=faults.get(item, fault),
                may_have_it=item not in faults and isinstance(fault, transport.Unsure),
            )
            self._take(draft, item.due, tried[item])
        LOG.warning(
            "while nothing can be recorded, %s by %s: %s of %s sent%s",
            message.to,
            message.via,
            0 if fault is not None else len(left.items),
            counted(len(message.items), "alert"),
            "" if fault is None else f": {fault}",
        )
        return fault is None

    def _take(self, draft: Draft, due: Due, tried: Draft | None = None) -> None:
        with self._lock:
            self._steps.append(_Step(draft, due, tried))

    # --- recording ---

    def record(self, inbox: Inbox, subject_of: Callable[[Due], Subject]) -> None:
        """Records what was done, if the inbox takes entries again. `subject_of` gives the true ids.
        Raises `InboxUnavailable` where the inbox takes none; what was recorded by then stays."""
        subjects: dict[str, Subject] = {}
        count = 0
        while steps := self._together():
            for step in steps:
                if step.due.alert not in subjects:
                    subjects[step.due.alert] = subject_of(step.due)
            drafts = [
                draft._replace(**subjects[step.due.alert]._asdict())
                for step in steps
                for draft in self._to_record(step)
            ]
            receipts = inbox.append(drafts)
            self._others |= {
                draft.ingest_key
                for draft, receipt in zip(drafts, receipts, strict=True)
                if receipt.outcome is Outcome.DUPLICATE and not _is_there(inbox, draft)
            }
            self.recorded(drafts)
            with self._lock:
                del self._steps[: len(steps)]
            count += len(steps)
        if count:
            LOG.warning("the inbox is back: %s about alerts recorded", counted(count, "step"))

    def _together(self) -> list[_Step]:
        """The steps that are recorded in the next commit. The end of a try is not in one commit
        with its beginning: others may have recorded that, which changes how the end is recorded."""
        steps = self._steps[:AT_A_TIME]
        keys: set[bytes | None] = set()
        for number, step in enumerate(steps):
            if step.tried is not None and step.tried.ingest_key in keys:
                return steps[:number]
            keys.add(step.draft.ingest_key)
        return steps

    def _to_record(self, step: _Step) -> list[Draft]:
        """The drafts of a step. Where others had recorded the try first, its end is recorded as the
        end of a second try if its message may have arrived, and not at all otherwise."""
        if step.tried is None or step.tried.ingest_key not in self._others:
            return [step.draft]
        if not entries.may_have_arrived(step.draft):
            return []
        return [entries.beside(step.tried), entries.beside(step.draft)]

    def end(self, inbox: Inbox, subject_of: Callable[[Due], Subject]) -> None:
        """Waits for messages on their way, and records for the last time."""
        if self._pool is not None:
            self._pool.shutdown()
        try:
            self.record(inbox, subject_of)
        except OperatorError as error:
            self.say_what_is_lost(error)

    def say_what_is_lost(self, error: OperatorError) -> None:
        """Says in the text log what stays unrecorded as this process ends."""
        if self._steps:
            LOG.error(
                "%s about alerts could not be recorded, so whoever was told is told once more: %s",
                counted(len(self._steps), "step"),
                error,
            )


def _is_there(inbox: Inbox, draft: Draft) -> bool:
    """Whether the entry is this very draft: a commit whose outcome was unknown recorded it."""
    found = inbox.query(_OCCURRED, draft.ingest_key)
    return found == [(draft.occurred_at,)]


def opened(
    open_inbox: Callable[[], Inbox],
    unrecorded: Unrecorded,
    rules: Callable[[], AlertRules],
    now: Callable[[], int],
    stop: threading.Event,
) -> Inbox | None:
    """Opens the inbox, for however long that takes; None once `stop` is set. Meanwhile people are
    told that it is away, and of nothing else: what they were told before stands in the log, which
    cannot be read."""
    failed: InboxUnavailable | None = None
    while not stop.is_set():
        try:
            return open_inbox()
        except InboxUnavailable as error:
            if str(error) != str(failed):
                LOG.error("alerts wait: %s", error)
            failed = error
        unrecorded.note(now())
        if unrecorded.has_lasted and rules().recipients:
            unrecorded.tell((), Alarms(), rules(), Links(None, b""), now, stop)
        stop.wait(OPEN_AGAIN_SECONDS)
    if failed is not None:
        unrecorded.say_what_is_lost(failed)
    return None
