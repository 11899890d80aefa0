"""Remembers what became of each alert, from the log's entries alone."""

import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.alert.entries import Address
from pipeline.alert_rules import LONGEST_SNOOZE_DAYS
from pipeline.conditions import BESIDE_THE_LOG
from pipeline.inbox import Inbox
from pipeline.ledger.facts.remains import work_in
from pipeline.log.entries import LIVE
from pipeline.log.kinds.alert import ALERT

LOG = logging.getLogger(__name__)

MARGIN: Final = instants.DAY
"""An alert is remembered for so much longer than it can be due, since clocks differ."""
READ_AT_ONCE: Final = 10_000

# Alerts that came by a file are history: they begin and end nothing here.
_ENTRIES = f"""
    select seq, occurred_at, process_id, body, leaf from entries
    where kind = '{ALERT}' and origin = '{LIVE}' and seq > $1 order by seq
    limit {READ_AT_ONCE}"""
_BEFORE = "select seq from entries where recorded_at < $1 order by seq desc limit 1"

LASTING: Final = frozenset(kind for kind, it in BESIDE_THE_LOG.items() if it.lasts)
"""Kinds of alerts that only a `cleared` entry ends."""


class Delivery(NamedTuple):
    """How far telling one recipient of one alert by one channel has come.

    `tries_before`: how many of `tries` were made before somebody put the alert off. They count no
    longer: the alert is sent again after that.
    """

    tries: int = 0
    begun_at: int = 0  # the first of them, since somebody put the alert off
    tried_at: int = 0
    ended_at: int | None = None  # of the last try; None: nothing is known of its end
    is_sent: bool = False
    is_given_up: bool = False
    tries_before: int = 0

    @property
    def at(self) -> int:
        """When its last step was."""
        return self.tried_at if self.ended_at is None else self.ended_at


class Snooze(NamedTuple):
    """That somebody put an alert off. Instants in microseconds."""

    at: int
    until: int
    before: Mapping[Address, Delivery]
    """How far it had come with each address."""
    since: list[tuple[str, Mapping[str, Any], int]]
    """The steps of deliveries that were recorded after it, each with when it was taken."""


@dataclass(slots=True)
class Alarm:
    """An alert that was raised. Instants are in microseconds since 1970."""

    raised_at: int
    kind: str
    since: int
    process_id: str | None = None  # the true one, which a view may show masked
    deliveries: dict[Address, Delivery] = field(default_factory=dict)
    acknowledged: set[int] = field(default_factory=set)  # when somebody did
    snoozes: list[Snooze] = field(default_factory=list)
    is_over: bool = False  # cleared, or raised so long ago that nobody is told any more

    @property
    def may_be_forgotten(self) -> bool:
        """Whether it is over by itself, or an entry has ended it."""
        return self.is_over or self.kind not in LASTING

    def is_open(self, now: int) -> bool:
        """Whether nobody has acknowledged it or put it off by now."""
        is_acknowledged = any(it <= now + instants.ALLOWED_AHEAD for it in self.acknowledged)
        return not (is_acknowledged or self.is_over or self.is_snoozed(now))

    def is_snoozed(self, at: int) -> bool:
        """Whether it is put off at an instant."""
        last = self.snoozes[-1] if self.snoozes else None
        return last is not None and last.at <= at + instants.ALLOWED_AHEAD and at < last.until

    def put_off(self, until: int, at: int) -> None:
        """Puts it off until an instant, at which everybody hears of it again."""
        # Views remember no alert for longer.
        until = min(until, self.raised_at + LONGEST_SNOOZE_DAYS * instants.DAY)
        self.snoozes.append(Snooze(at, until, dict(self.deliveries), []))
        for address, known in self.deliveries.items():
            if known.tries:
                self.deliveries[address] = _begun_again(known.tries)

    def take_back(self, of: str, at: int) -> None:
        """Takes back what somebody did at an instant. Of a snooze, those who had heard of it before
        hear nothing again, unless somebody else put the alert off since."""
        if of == "acknowledged":
            self.acknowledged.discard(at)
        elif self.snoozes and self.snoozes[-1].at == at:
            taken = self.snoozes.pop()
            self.deliveries = dict(taken.before)
            for step, said, when in taken.since:
                self.deliver(step, said, when)
        else:
            self.snoozes = [it for it in self.snoozes if it.at != at]

    def deliver(self, step: str, said: Mapping[str, Any], at: int) -> None:
        """Takes a step of a delivery."""
        if self.snoozes:
            self.snoozes[-1].since.append((step, said, at))
        address = Address(said["to"], said["via"], said["level"])
        at_the_time = self.as_of(at) if step == "tried" else self
        known = at_the_time.deliveries.get(address, Delivery())
        if step == "tried" and self.is_snoozed(at):
            # The try was decided on before somebody put the alert off, and recorded after.
            self.deliveries[address] = _begun_again(max(known.tries, said["try"]))
        else:
            self.deliveries[address] = _after(known, step, said, at)

    def as_of(self, now: int) -> "Alarm":
        """The alarm without deliveries that are dated after `now`, which the views do not count
        either. A machine whose clock was ahead may have told of deadlines too early, or given up
        others."""
        ahead = {
            address: _begun_again(known.tries)
            for address, known in self.deliveries.items()
            if known.tries and known.at > now + instants.ALLOWED_AHEAD
        }
        return replace(self, deliveries=self.deliveries | ahead) if ahead else self


class Alarms(dict[str, Alarm]):
    """Alert -> what became of it."""

    def take(self, body: bytes | None, at: int, process_id: str | None = None) -> None:
        """Takes the next entry of the kind `alert`; `process_id`: the process that the entry names.
        An entry whose body was erased, or cannot be read, changes nothing."""
        with contextlib.suppress(ValueError, KeyError, TypeError):
            said = work_in(body)
            if said["step"] == "raised":
                since = instants.parse(said["since"])
                alarm = Alarm(at, said["about"], at if since is None else since, process_id)
                self.setdefault(said["alert"], alarm)
            else:
                self._take(said["alert"], said["step"], said, at)

    def _take(self, alert: str, step: str, said: Mapping[str, Any], at: int) -> None:
        alarm = self.get(alert)
        if alarm is None:
            return
        if step == "acknowledged":
            alarm.acknowledged.add(at)
        elif step == "snoozed":
            until = instants.parse(said["until"])
            if until is None:
                return
            alarm.put_off(until, at)
        elif step == "taken_back":
            taken_at = instants.parse(said["at"])
            if taken_at is not None:
                alarm.take_back(said["of"], taken_at)
        elif step == "cleared":
            alarm.is_over = True
        else:
            alarm.deliver(step, said, at)

    def forget_before(self, at: int) -> None:
        """Forgets alerts that were raised before an instant, since they are not due any longer.
        Kinds that last are kept until an entry ends them."""
        old = [name for name, it in self.items() if it.raised_at < at and it.may_be_forgotten]
        for alert in old:
            del self[alert]


class Recorded:
    """The alerts of the log, which `read_on` brings up to date."""

    def __init__(self, inbox: Inbox) -> None:
        self.alarms = Alarms()
        self._inbox = inbox
        self._after: int | None = None  # seq up to which entries were taken; None: none yet
        self._leaf = b""  # of the alert's entry that was taken last; empty: none yet
        self._forgot_before = 0  # in microseconds; what was raised before then is due no longer

    @property
    def is_read(self) -> bool:
        """Whether it was ever read."""
        return self._after is not None

    def read_on(self, due_from: int, lasting: Callable[[], list[int]]) -> bool:
        """Takes the entries that were recorded since; whether there were any. `due_from`: alerts
        that were raised before that instant are due no longer, except those that last. `lasting`
        gives the seq of each entry that raised one of these. Raises `InboxUnavailable`."""
        was_forgotten, self._forgot_before = self._forgot_before, due_from - MARGIN
        is_another = self._leaf and self._inbox.leaf(self._after or 0) != self._leaf
        # Forgotten alerts may be due after all: a clock was ahead, or other rules are in force.
        if is_another or self._forgot_before < was_forgotten - MARGIN:
            LOG.warning("the inbox, its clock or the rules are others now: alerts are read again")
            self.alarms.clear()
            self._after, self._leaf = None, b""
        if self._after is None:
            before = self._inbox.query(_BEFORE, self._forgot_before)
            self._after = min([before[0][0] if before else 0, *(seq - 1 for seq in lasting())])
        is_new = False
        while True:
            found = self._inbox.query(_ENTRIES, self._after)
            for seq, at, process_id, body, leaf in found:
                self.alarms.take(body, at, process_id)
                self._after, self._leaf = seq, leaf
            is_new = is_new or bool(found)
            if len(found) < READ_AT_ONCE:
                break
        self.alarms.forget_before(self._forgot_before)
        return is_new


def _begun_again(tries: int) -> Delivery:
    """A delivery whose tries so far count for nothing: after a snooze, or a clock that was
    ahead."""
    return Delivery(tries=tries, tries_before=tries)


def _after(known: Delivery, step: str, said: Mapping[str, Any], at: int) -> Delivery:
    match step:
        case "tried":
            tries, begun_at = max(known.tries, said["try"]), known.begun_at or at
            return known._replace(tries=tries, begun_at=begun_at, tried_at=at, ended_at=None)
        case "sent" if said["try"] > known.tries_before:
            return known._replace(ended_at=at, is_sent=True)
        case "failed" if said["try"] == known.tries > known.tries_before:
            return known._replace(ended_at=at)
        case "undelivered":
            return known._replace(ended_at=at, is_given_up=True)
    return known
