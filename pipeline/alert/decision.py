"""Decides who is to be told of what now. Pure: the same alerts, log and instant give the same plan.

The views work out what is due; here it is only routed, repeated, given up and escalated
(docs/alerts.md#who-is-told).
"""

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.alert import entries, hours
from pipeline.alert.alarms import Alarm, Delivery
from pipeline.alert.entries import DIGEST, NOBODY, REPORT, Address, Due, Item, Subject, Try
from pipeline.alert.watch import name_of
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.ladder import RISK_HOURS
from pipeline.alert_rules.recipients import ASSIGNEE, ROLE, Recipient, Route, Via
from pipeline.language.codes import INFO, SEVERITIES
from pipeline.log.entries import Draft

BACKOFF: Final = tuple(
    seconds * instants.SECOND for seconds in (60, 300, 900, 3600, 10_800, 21_600, 43_200)
)
"""Between a try that failed and the next. After the last of these repetitions it is given up."""
HELD: Final = BACKOFF[0]
"""For so long after a message failed, nothing less urgent goes to the same recipient by the same
channel: once a channel that limits messages takes one again, it gets the gravest."""
LATER: Final = 6 * instants.HOUR
"""Between further tries of what was given up, for as long as nobody has been told of the alert: a
server that refuses messages on Friday may take them on Monday."""
NEAR: Final = RISK_HOURS * instants.HOUR
"""Whoever was told within this time before a deadline gets no message at night when it passes."""
UNANSWERED: Final = 5 * instants.MINUTE
"""After this time a try without a recorded end counts as failed: the process that made it is gone.
Its message may have arrived, so the next may be a second one."""
FIRST_APART: Final = 4
"""From this try on, alerts that failed in one message are tried in parts. One of them may be what
the channel does not take; nobody knows which, and it must not hold the others back."""
PARTS: Final = 7
"""The most parts, unless a part would hold more than a message may. So once a channel works again,
fifty alerts come in seven messages, not in fifty."""
MAX_ITEMS: Final = 50
"""Alerts in one message; the others come in further messages."""
MAX_LISTED: Final = 1000
"""The same of alerts that are listed, a line each, and hold no links of their own."""
_SEVERITIES: Final = tuple(SEVERITIES)


class Wait(IntEnum):
    """For what an alert waits before it is sent, the least patient first."""

    NOTHING = 0
    WORK = 1
    """That the recipient works."""
    DIGEST = 2
    """The hour of the recipient's digest."""


class Message(NamedTuple):
    """Alerts of which one recipient is told at once, by one channel."""

    to: str
    via: Via
    items: tuple[Item, ...]

    @property
    def name(self) -> str:
        """Its name, which is the same for the same alerts, however often they are tried."""
        parts = sorted(
            f"{item.due.alert}/{item.level}"
            + (f"/{item.tries_before}" if item.tries_before else "")
            for item in self.items
        )
        return hashlib.sha256("\n".join([self.to, self.via, *parts]).encode()).hexdigest()[:32]

    def try_of(self, item: Item) -> Try:
        """The try that this message is for one of its alerts."""
        return Try(item, self.to, self.via, self.name)


class GivenUp(NamedTuple):
    """An alert of which somebody cannot be told."""

    due: Due
    address: Address
    why: str
    tries_before: int = 0  # somebody put the alert off

    @property
    def said(self) -> str:
        """This, as a line of the text log."""
        whom = f"{self.address.to} is not told" if self.address.to else "nobody is told"
        return f"{whom} of alert {self.due.alert}: {self.why}"

    def draft(self, subject: Subject, now: int) -> Draft:
        """The draft of the entry that records it, at an instant."""
        return entries.undelivered(
            self.due.alert, self.address, self.why, subject, now, tries_before=self.tries_before
        )


@dataclass(slots=True)
class Plan:
    """What is to be done now."""

    raises: list[Due] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    given_up: list[GivenUp] = field(default_factory=list)

    @property
    def told(self) -> set[str]:
        """The alerts that messages of this plan tell of, or that it gives up."""
        sent = {item.due.alert for message in self.messages for item in message.items}
        return sent | {it.due.alert for it in self.given_up}

    def ways(self) -> dict[tuple[str, Via], list[Message]]:
        """The messages to each recipient by each channel, the most urgent first."""
        found: dict[tuple[str, Via], list[Message]] = {}
        for message in self.messages:
            found.setdefault((message.to, message.via), []).append(message)
        return found


def decide(dues: Iterable[Due], alarms: Mapping[str, Alarm], rules: AlertRules, now: int) -> Plan:
    """What is to be done about the alerts that are due at an instant."""
    plan, alarms = Plan(), {name: it.as_of(now) for name, it in alarms.items()}
    waiting: dict[tuple[str, Via], list[Item]] = {}
    failed: dict[tuple[str, Via], list[Item]] = {}  # less than `HELD` ago
    for due in dues:
        alarm = alarms.get(due.alert)
        if alarm is None:
            plan.raises.append(due)
            continue
        if not alarm.is_open(now):
            continue
        for address, delivery, wait in _unreached(due, alarm, rules, now):
            number, before = delivery.tries, delivery.tries_before
            if address.via == "":
                plan.given_up.append(GivenUp(due, address, "no route takes it"))
            elif _is_tried_out(delivery, now):
                why = f"given up after {_tries(delivery)} tries"
                plan.given_up.append(GivenUp(due, address, why, before))
            elif _may_try(delivery, now) and _is_time(wait, due, address.to, alarms, rules, now):
                item = Item(due, address.level, number + 1, before)
                waiting.setdefault((address.to, address.via), []).append(item)
            elif _has_just_failed(delivery, now):
                item = Item(due, address.level, number, before)
                failed.setdefault((address.to, address.via), []).append(item)
    for (to, via), items in waiting.items():
        is_listed = via in rules.recipients[to].read_by_people and lists_info(rules.recipients[to])
        parts = _parts_of_messages(items, failed.get((to, via), []), is_listed=is_listed)
        plan.messages += [Message(to, via, part) for part in parts]
    plan.messages.sort(key=lambda message: _urgency(message.items[0]))
    return plan


class Untold(NamedTuple):
    """That a recipient was not told of an open alert of which they are to be told by now."""

    to: str
    alert: str
    is_time: bool  # else for their working hours, or their digest


def untold(
    dues: Collection[Due], alarms: Mapping[str, Alarm], rules: AlertRules, now: int
) -> set[Untold]:
    """Who would be told at an instant of what is due, whether or not a message has failed. An alert
    that is not in `alarms` is raised first."""
    fresh = {it.alert: Alarm(now, it.kind, it.since, it.process_id) for it in dues}
    known = fresh | {name: it.as_of(now) for name, it in alarms.items()}
    found: dict[tuple[str, str], bool] = {}
    for due in dues if rules.recipients else ():
        if not known[due.alert].is_open(now):
            continue
        for address, _delivery, wait in _unreached(due, known[due.alert], rules, now):
            if address != NOBODY:
                is_time = _is_time(wait, due, address.to, known, rules, now)
                which = address.to, due.alert
                found[which] = found.get(which, False) or is_time
    return {Untold(*which, is_time) for which, is_time in found.items()}


def _unreached(
    due: Due, alarm: Alarm, rules: AlertRules, now: int
) -> Iterator[tuple[Address, Delivery, Wait]]:
    """Every address that is to be told by now and was not, with how far telling it has come, and
    for what it waits. One that was given up is among them only while nobody was told."""
    # Whoever is no longer among the recipients may have left: reaching them counts for nothing.
    reached = {
        (to, via)
        for (to, via, _), known in alarm.deliveries.items()
        if known.is_sent and to in rules.recipients
    }
    for address, wait in _addresses(due, alarm, rules, now):
        delivery = alarm.deliveries.get(address, Delivery())
        is_over = delivery.is_given_up and (reached or address == NOBODY)
        if (address.to, address.via) not in reached and not is_over:
            yield address, delivery, wait


def lists_info(recipient: Recipient) -> bool:
    """Whether what a recipient is only to know is listed for them, a line each."""
    return not recipient.seller_links


def _parts_of_messages(
    items: list[Item], failed: list[Item], *, is_listed: bool
) -> list[tuple[Item, ...]]:
    """The alerts of each message that is to leave now for one recipient by one channel, of those
    that wait for it. `failed`: what the channel has just not taken. `is_listed`: what is only to be
    known is, in messages of its own."""
    held = min(map(_urgency, failed), default=None)
    items = sorted((it for it in items if held is None or _urgency(it) < held), key=_urgency)
    failing = [it for it in items if it.number - it.tries_before >= FIRST_APART]
    others = [it for it in items if it.number - it.tries_before < FIRST_APART]
    found: list[tuple[Item, ...]] = []
    for is_info, most in ((False, MAX_ITEMS), (True, MAX_LISTED)):
        whole, apart = (
            [it for it in some if is_info is (is_listed and it.due.severity == INFO)]
            for some in (others, failing)
        )
        found += _parted(whole, most)
        found += _parted(apart, min(most, math.ceil(len(apart) / PARTS)))
    return found


def _parted(items: list[Item], most: int) -> Iterator[tuple[Item, ...]]:
    for first in range(0, len(items), max(1, most)):
        yield tuple(items[first : first + most])


def _urgency(item: Item) -> tuple[int, float, str]:
    due = item.due
    deadline = float("inf") if due.deadline_at is None else due.deadline_at
    if due.kind == DIGEST:  # what gathered follows it
        deadline = -deadline
    return _SEVERITIES.index(due.severity), deadline, due.alert


def _is_time(
    wait: Wait, due: Due, name: str, alarms: Mapping[str, Alarm], rules: AlertRules, now: int
) -> bool:
    """Whether a recipient is told now of an alert. One that can wait for their working hours:
    during these, and outside of them if the deadline passes before they work again, unless they
    were told shortly before it. What gathers: not before the hour of their digest, unless its
    deadline passes sooner, and then until the end of that day, whenever they work."""
    if wait is Wait.NOTHING:
        return True
    recipient, deadline = rules.recipients[name], due.deadline_at
    if wait is Wait.DIGEST:
        gathers_until = hours.next_digest(rules.hours, recipient, _raised(alarms[due.alert], now))
        if now < gathers_until and (deadline is None or gathers_until < deadline):
            return False
        if now >= gathers_until and hours.is_digest_time(rules.hours, recipient, now):
            return True
    if hours.is_open(rules.hours, recipient, now):
        return True
    if deadline is None or deadline <= now or due.state == "FINISHED":
        return False
    if deadline > hours.next_opening(rules.hours, recipient, now):
        return False
    process_id = alarms[due.alert].process_id or due.process_id
    rungs = {name_of(rung, f"{deadline}:{process_id}") for rung in rules.rungs()}
    return not any(
        address.to == name and delivery.is_sent and (delivery.ended_at or 0) >= deadline - NEAR
        for alert in rungs & alarms.keys()
        for address, delivery in alarms[alert].deliveries.items()
    )


def _raised(alarm: Alarm, now: int) -> int:
    """When an alert was raised; since when it is due, where a clock that was ahead says that."""
    return alarm.since if alarm.raised_at > now + instants.ALLOWED_AHEAD else alarm.raised_at


def _may_try(delivery: Delivery, now: int) -> bool:
    if _tries(delivery) == 0 and not delivery.is_given_up:
        return True
    if delivery.ended_at is None:
        return _is_over(delivery, now, UNANSWERED)
    pause = LATER if delivery.is_given_up else BACKOFF[_tries(delivery) - 1]
    return now >= delivery.ended_at + pause


def _has_just_failed(delivery: Delivery, now: int) -> bool:
    """Whether one of its first tries failed less than `HELD` ago. Later tries hold nothing back:
    this alert may be what the channel does not take."""
    is_one = 0 < _tries(delivery) < FIRST_APART and delivery.ended_at is not None
    return is_one and now < (delivery.ended_at or 0) + HELD


def _is_tried_out(delivery: Delivery, now: int) -> bool:
    """Whether it is to be given up now."""
    is_last = _tries(delivery) > len(BACKOFF) and not delivery.is_given_up
    return is_last and _is_over(delivery, now, UNANSWERED)


def _tries(delivery: Delivery) -> int:
    """The tries so far; since somebody put the alert off, if they did."""
    return delivery.tries - delivery.tries_before


def _is_over(delivery: Delivery, now: int, patience: int) -> bool:
    return delivery.ended_at is not None or now >= delivery.tried_at + patience


def _addresses(
    due: Due, alarm: Alarm, rules: AlertRules, now: int
) -> Iterator[tuple[Address, Wait]]:
    """Every address that is to be told by now, each at its lowest level, and for what telling it
    waits."""
    if due.kind in (DIGEST, REPORT) and due.assignee is not None:
        for via in rules.recipients[due.assignee].read_by_people:
            yield Address(due.assignee, via, 0), Wait.NOTHING
        return
    addresses: dict[tuple[str, Via], tuple[int, Wait]] = {}
    for route in rules.routes:
        if not route.takes(due.kind, due.severity, due.role, due.review_type):
            continue
        for level, names in _levels(route, due, alarm, rules, now):
            for name in names:
                for via in rules.recipients[name].channels:
                    wait = _wait(route, due.severity, rules.recipients[name], via)
                    lower, least = addresses.get((name, via), (level, wait))
                    addresses[name, via] = min(lower, level), min(least, wait)
    if not addresses:
        yield NOBODY, Wait.NOTHING
    for (name, via), (level, wait) in addresses.items():
        yield Address(name, via, level), wait


def _wait(route: Route, severity: str, recipient: Recipient, via: Via) -> Wait:
    if severity in route.at_any_hour:
        return Wait.NOTHING
    return Wait.DIGEST if severity == INFO and recipient.gathers(via) else Wait.WORK


def _levels(
    route: Route, due: Due, alarm: Alarm, rules: AlertRules, now: int
) -> Iterator[tuple[int, list[str]]]:
    """The recipients of a route, level by level, as far as the alert has been escalated by now."""
    named = _named(route.to, due, rules)
    names = _present(named, rules, now)
    yield 0, names
    for level, escalation in enumerate(route.escalate, 1):
        # Recipients who are away count, too: they may have been told before that.
        first_at = _first_heard(alarm, [*named, *names])
        is_over = first_at is not None and now >= first_at + escalation.after * instants.HOUR
        if not is_over and not _all_given_up(alarm, names, rules):
            return
        named = _named(escalation.to, due, rules)
        names = _present(named, rules, now)
        yield level, names


def _first_heard(alarm: Alarm, names: list[str]) -> int | None:
    """When the first of these recipients was told, at whatever level. Where none was, when the
    first try to one of them began: a mailbox that is dead delays the next level no longer than one
    that is not read. Any level counts, so that a recipient who was told at another level before
    they were assigned gets no second message."""
    known = [it for address, it in alarm.deliveries.items() if address.to in names]
    ended = [it.ended_at for it in known if it.is_sent and it.ended_at is not None]
    return min(ended or [it.begun_at for it in known if it.begun_at], default=None)


def _all_given_up(alarm: Alarm, names: list[str], rules: AlertRules) -> bool:
    """Whether none of them can be reached, in any way."""
    ways = [
        (name, via, alarm.deliveries) for name in names for via in rules.recipients[name].channels
    ]
    return all(
        any(
            (address.to, address.via) == (name, via)
            and delivery.is_given_up
            and not delivery.is_sent
            for address, delivery in deliveries.items()
        )
        for name, via, deliveries in ways
    )


def _named(names: Iterable[str], due: Due, rules: AlertRules) -> list[str]:
    """The recipients that a list of names and groups stands for, each once."""
    found: dict[str, None] = {}
    for name in names:
        if name == ASSIGNEE:
            assigned = [] if due.assignee is None else rules.assigned(due.assignee)
            found |= dict.fromkeys(assigned or of_role(due.role, rules))
        elif name == ROLE:
            found |= dict.fromkeys(of_role(due.role, rules))
        else:
            found[name] = None
    return list(found)


def _present(names: Iterable[str], rules: AlertRules, now: int) -> list[str]:
    """Who is told for these names, each once: see `present`."""
    return list(dict.fromkeys(present(name, rules, now) for name in names))


def of_role(role: str, rules: AlertRules) -> list[str]:
    """Everybody of a role; everybody at all where nobody has it, so that somebody is told."""
    found = [name for name, it in rules.recipients.items() if it.role == role]
    return found or list(rules.recipients)


def present(name: str, rules: AlertRules, now: int) -> str:
    """Who is told in place of a recipient: themselves, unless they are away and have a stand-in.
    Where all of the chain are away, the recipient is told: an alert is never dropped."""
    seen: list[str] = []
    at = name
    while at not in seen:
        recipient = rules.recipients[at]
        if not recipient.is_away(hours.local_time(rules.hours, recipient, now).date()):
            return at
        seen.append(at)
        if recipient.stand_in is None:
            break
        at = recipient.stand_in
    return name
