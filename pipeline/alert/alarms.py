"""Remembers what became of each alert, from the log's entries alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pipeline import instants
from pipeline.alert.entries import Address


class Delivery(NamedTuple):
    """How far telling one recipient of one alert in one way has come."""

    tries: int = 0
    tried_at: int = 0
    ended_at: int | None = None  # of the last try; None: nothing is known of its end
    is_sent: bool = False
    is_given_up: bool = False


@dataclass(slots=True)
class Alarm:
    """An alert that was raised. Instants are in microseconds since 1970."""

    raised_at: int
    kind: str
    since: int
    deliveries: dict[Address, Delivery] = field(default_factory=dict)
    is_acknowledged: bool = False
    snoozed_until: int = 0
    is_cleared: bool = False

    def is_open(self, now: int) -> bool:
        """Whether nobody has acknowledged it or put it off."""
        return not self.is_acknowledged and now >= self.snoozed_until


class Alarms(dict[str, Alarm]):
    """Alert -> what became of it."""

    def take(self, body: bytes | None, at: int) -> None:
        """Takes the next entry of the kind `alert`; one whose body was erased says nothing."""
        try:
            said = json.loads(body or b"null")
            alert, step = said["alert"], said["step"]
        except (ValueError, KeyError, TypeError):
            return
        if step == "raised":
            since = instants.parse(said["since"])
            self.setdefault(alert, Alarm(at, said["about"], at if since is None else since))
            return
        alarm = self.get(alert)
        if alarm is None:
            return
        if step == "acknowledged":
            alarm.is_acknowledged = True
        elif step == "snoozed":
            alarm.snoozed_until = instants.parse(said["until"]) or 0
        elif step == "cleared":
            alarm.is_cleared = True
        else:
            address = Address(said["to"], said["via"], said["level"])
            known = alarm.deliveries.get(address, Delivery())
            alarm.deliveries[address] = _after(known, step, said, at)

    def forget_before(self, at: int) -> None:
        """Forgets what was raised before an instant: it is not alarming any longer."""
        for alert in [name for name, alarm in self.items() if alarm.raised_at < at]:
            del self[alert]


def _after(known: Delivery, step: str, said: Mapping[str, Any], at: int) -> Delivery:
    match step:
        case "tried":
            return known._replace(tries=max(known.tries, said["try"]), tried_at=at, ended_at=None)
        case "sent":
            return known._replace(ended_at=at, is_sent=True)
        case "failed" if said["try"] == known.tries:
            return known._replace(ended_at=at)
        case "undelivered":
            return known._replace(ended_at=at, is_given_up=True)
    return known
