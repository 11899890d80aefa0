"""Remembers what became of each alert, from the log's entries alone."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.alert.entries import Address
from pipeline.alert_rules import LONGEST_SNOOZE_DAYS
from pipeline.alert_rules.references import BESIDE_THE_LOG

LASTING: Final = frozenset(BESIDE_THE_LOG) - {"certificate_ends"}
"""Kinds of what begins and ends, and that only a `cleared` entry ends: `lasts` in
`queries/macros.sql` has them, too."""


class Delivery(NamedTuple):
    """How far telling one recipient of one alert in one way has come.

    `tries_before`: those of `tries` before somebody put the alert off; it is sent again after that.
    """

    tries: int = 0
    tried_at: int = 0
    ended_at: int | None = None  # of the last try; None: nothing is known of its end
    is_sent: bool = False
    is_given_up: bool = False
    tries_before: int = 0

    @property
    def at(self) -> int:
        """When its last step was."""
        return self.tried_at if self.ended_at is None else self.ended_at


@dataclass(slots=True)
class Alarm:
    """An alert that was raised. Instants are in microseconds since 1970."""

    raised_at: int
    kind: str
    since: int
    process_id: str | None = None  # the true one, which a view may show masked
    deliveries: dict[Address, Delivery] = field(default_factory=dict)
    acknowledged_at: int | None = None
    snoozed_at: int = 0
    snoozed_until: int = 0
    is_over: bool = False  # cleared, or raised so long ago that nobody is told any more

    @property
    def may_be_forgotten(self) -> bool:
        """Whether it is over by itself, or an entry has ended it."""
        return self.is_over or self.kind not in LASTING

    def is_open(self, now: int) -> bool:
        """Whether nobody has acknowledged it or put it off by now."""
        seen_at = self.acknowledged_at
        is_acknowledged = seen_at is not None and seen_at <= now + instants.ALLOWED_AHEAD
        return not (is_acknowledged or self.is_over or self.is_snoozed(now))

    def is_snoozed(self, at: int) -> bool:
        """Whether it is put off at an instant."""
        return self.snoozed_at <= at + instants.ALLOWED_AHEAD and at < self.snoozed_until

    def as_of(self, now: int) -> "Alarm":
        """Without what was dated after now: that counts for nothing, as in the views. A clock that
        was ahead has told of deadlines that were to come, or failed to tell of others."""
        ahead = {
            address: _begun_again(known.tries)
            for address, known in self.deliveries.items()
            if known.tries and known.at > now + instants.ALLOWED_AHEAD
        }
        return replace(self, deliveries=self.deliveries | ahead) if ahead else self


class Alarms(dict[str, Alarm]):
    """Alert -> what became of it."""

    def take(self, body: bytes | None, at: int, process_id: str | None = None) -> None:
        """Takes the next entry of the kind `alert`, of a process's stream or of none; one whose
        body was erased, or cannot be read, says nothing."""
        with contextlib.suppress(ValueError, KeyError, TypeError):
            said = json.loads(body or b"null")
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
            alarm.acknowledged_at = min(at, alarm.acknowledged_at or at)
        elif step == "snoozed":
            until = instants.parse(said["until"])
            if until is None:
                return
            alarm.snoozed_at = at
            # An older release let it be put off for longer than views remember it.
            alarm.snoozed_until = min(until, alarm.raised_at + LONGEST_SNOOZE_DAYS * instants.DAY)
            for address, known in alarm.deliveries.items():
                if known.tries:
                    alarm.deliveries[address] = _begun_again(known.tries)
        elif step == "cleared":
            alarm.is_over = True
        else:
            address = Address(said["to"], said["via"], said["level"])
            at_the_time = alarm.as_of(at) if step == "tried" else alarm
            known = at_the_time.deliveries.get(address, Delivery())
            if step == "tried" and alarm.is_snoozed(at):
                # Decided on before somebody put it off, and recorded after that.
                alarm.deliveries[address] = _begun_again(max(known.tries, said["try"]))
            else:
                alarm.deliveries[address] = _after(known, step, said, at)

    def forget_before(self, at: int) -> None:
        """Forgets what was raised before an instant: it is not alarming any longer. What lasts
        until an entry ends it is kept until then."""
        old = [name for name, it in self.items() if it.raised_at < at and it.may_be_forgotten]
        for alert in old:
            del self[alert]


def _begun_again(tries: int) -> Delivery:
    """What a snooze leaves, or a clock that was ahead: the tries so far count for nothing."""
    return Delivery(tries=tries, tries_before=tries)


def _after(known: Delivery, step: str, said: Mapping[str, Any], at: int) -> Delivery:
    match step:
        case "tried":
            return known._replace(tries=max(known.tries, said["try"]), tried_at=at, ended_at=None)
        case "sent" if said["try"] > known.tries_before:
            return known._replace(ended_at=at, is_sent=True)
        case "failed" if said["try"] == known.tries > known.tries_before:
            return known._replace(ended_at=at)
        case "undelivered":
            return known._replace(ended_at=at, is_given_up=True)
    return known
