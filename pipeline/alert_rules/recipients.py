"""Who is told, and when: recipients, routes, escalation and working hours."""

import itertools
from collections.abc import Container, Iterator
from datetime import date, time
from typing import TYPE_CHECKING, Final, Literal, Self

from pydantic import Field, create_model, field_validator, model_validator

from pipeline.alert_rules.channels import all_channels
from pipeline.alert_rules.parts import ClockTime, Hours, Part
from pipeline.conditions import Role
from pipeline.contract.review_types import Name, named
from pipeline.language.codes import SEVERITIES
from pipeline.places import Zone

if TYPE_CHECKING:
    Severity = str
else:
    Severity = Literal[tuple(SEVERITIES)]
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Via = str
"""One of `all_channels()`."""

ASSIGNEE: Final = "assignee"
ROLE: Final = "role"
GROUPS: Final = (ASSIGNEE, ROLE)
"""Words in `to` that stand for recipients, and so are nobody's name."""


class WorkingHours(Part):
    """When recipients work: alerts that can wait are sent then (docs/alerts.md#hours)."""

    zone: Zone = "America/Sao_Paulo"
    days: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri")
    start: ClockTime = time(8)
    end: ClockTime = time(18)
    holidays: str = "BR"
    """A country, or a country and its state like `BR-SP`; empty: none."""

    @field_validator("holidays")
    @classmethod
    def _known_country(cls, place: str) -> str:
        if place:
            holidays_in(place)
        return place

    @model_validator(mode="after")
    def _some_time(self) -> Self:
        if not self.days or self.start >= self.end:
            raise ValueError("leaves no working time: name days, and a start before the end")
        return self


class Away(Part):
    """Days on which somebody is away, the first and the last included."""

    first: date
    last: date

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.last < self.first:
            raise ValueError("ends before it begins")
        return self


if TYPE_CHECKING:
    _Reached = Part
else:  # a table has the keys of every channel
    _Reached = create_model(
        "_Reached", __base__=tuple(it.keys for it in reversed(all_channels().values()))
    )


class Recipient(_Reached):
    """A person or a team, and the channels that reach them."""

    role: Role = "officer"
    assigned_as: tuple[str, ...] = ()
    """Names under which processes are assigned to them, beside their own."""
    language: Literal["pt", "en"] = "pt"
    zone: Zone | None = None
    digest_at: ClockTime | None = None
    """When a summary of the day is sent, by their own clock; none: never."""
    info_at_once: bool = False
    """Alerts of the severity `notice` do not gather until the hour of the digest."""
    stand_in: str | None = None
    away: tuple[Away, ...] = ()
    seller_links: bool = False
    """Their messages about a seller who is to be asked hold a fresh link to the seller's page."""

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if not self.channels:
            *others, last = (it.key for it in all_channels().values())
            raise ValueError(f"cannot be reached: set {', '.join(others)} or {last}")
        for channel in all_channels().values():
            if (fault := channel.unfit(self)) is not None:
                raise ValueError(fault)
        return self

    @property
    def channels(self) -> tuple[Via, ...]:
        """The channels that are set, each of which gets every message."""
        return tuple(via for via, it in all_channels().items() if getattr(self, it.key) is not None)

    @property
    def read_by_people(self) -> tuple[Via, ...]:
        """Those by which digests and reports go: a program asks the views."""
        return tuple(via for via in self.channels if not all_channels()[via].is_for_programs)

    def gathers(self, via: Via) -> bool:
        """Whether what is only to be known waits for the hour of the digest by a channel. A program
        gathers by itself."""
        return not self.info_at_once and via in self.read_by_people

    def names(self, name: str) -> tuple[str, ...]:
        """Every name under which processes are assigned to them. `name`: theirs in the file."""
        known = (all_channels()[via].names(self) for via in self.channels)
        return (name, *self.assigned_as, *itertools.chain.from_iterable(known))

    def described(self) -> Iterator[str]:
        """Their role, their channels without the addresses, and what else was set."""
        yield from (self.role, *self.channels, self.language)
        if self.digest_at is not None:
            yield f"digest_at: {self.digest_at:%H:%M}"
        if self.info_at_once:
            yield "info_at_once"
        if self.stand_in is not None:
            yield f"stand_in: {self.stand_in}"
        if self.zone is not None:
            yield f"zone: {self.zone}"
        if self.assigned_as:
            yield f"assigned_as: {' / '.join(self.assigned_as)}"
        if self.seller_links:
            yield "seller_links"
        for absence in self.away:
            yield f"away: {absence.first} {absence.last}"

    def is_away(self, day: date) -> bool:
        """Whether they are away on a day."""
        return any(it.first <= day <= it.last for it in self.away)


class Escalation(Part):
    """Who is told next, once nobody has acknowledged for so long after the step before."""

    after: Hours
    to: tuple[str, ...] = Field(min_length=1)


class Route(Part):
    """Who is told of which alerts. A condition that is left out holds for every alert."""

    to: tuple[str, ...] = Field(min_length=1)
    kinds: tuple[str, ...] | None = None
    severities: tuple[Severity, ...] | None = None
    roles: tuple[Role, ...] | None = None
    review_types: tuple[Name, ...] | None = None
    at_any_hour: tuple[Severity, ...] = ("breach",)
    """Severities that do not wait for working hours."""
    escalate: tuple[Escalation, ...] = ()

    def described(self) -> Iterator[str]:
        """Its conditions, whom it leads to, and what follows, in the form of the file."""
        for name in ("kinds", "severities", "roles", "review_types"):
            chosen = getattr(self, name)
            if chosen is not None:
                yield f"{name}: {' '.join(chosen)}"
        yield f"to: {' '.join(self.to)}"
        yield f"at_any_hour: {' '.join(self.at_any_hour) or '-'}"
        for step in self.escalate:
            yield f"after {step.after}h: {' '.join(step.to)}"

    def takes(self, kind: str, severity: str, role: str, review_type: str | None) -> bool:
        """Whether an alert goes this way. No review type counts as `UNLISTED`."""
        return (
            (self.kinds is None or kind in self.kinds)
            and (self.severities is None or severity in self.severities)
            and (self.roles is None or role in self.roles)
            and (self.review_types is None or named(review_type).name in self.review_types)
        )


def holidays_in(place: str) -> Container[date]:
    """The holidays of a country, or of a country's state as in `BR-SP`; ValueError for others."""
    import holidays  # takes a moment, and only who names a place or sends alerts needs it

    country, dash, state = place.partition("-")
    try:
        if dash and not state:
            raise NotImplementedError
        return holidays.country_holidays(country, subdiv=state or None)
    except (NotImplementedError, TypeError):  # such as a function of the library
        raise ValueError(f"the holidays of {place!r} are not known: write BR, or BR-SP") from None
