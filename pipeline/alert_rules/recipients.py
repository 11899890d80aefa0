"""Who is told, and when: recipients, routes, escalation and working hours."""

import re
from collections.abc import Container, Iterator
from datetime import date, time
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from pipeline.alert_rules.parts import ClockTime, Hours, Part
from pipeline.hosts import bare, in_ascii
from pipeline.places import Zone
from pipeline.settings_files import PlainUrl

Severity = Literal["breach", "risk", "notice"]
Role = Literal["officer", "admin"]
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Via = Literal["email", "webhook", "apprise"]

ASSIGNEE: Final = "assignee"
ROLE: Final = "role"
_ADDRESS: Final = re.compile(
    r"[^\s@,;:<>()\[\]\"\\]+@[^\s@,;:<>()\[\]\"\\.]+(\.[^\s@,;:<>()\[\]\"\\.]+)*"
)
_NAMED: Final = re.compile(
    r'\s*(?:"(?P<quoted>[^"\\]*)"|(?P<name>[^"\\<>]*))\s*<(?P<at>[^<>]*)>\s*'
)
_HOST: Final = re.compile(r"[A-Za-z0-9_.:-]+")
GROUPS: Final = (ASSIGNEE, ROLE)
"""Words in `to` that stand for recipients, and so are nobody's name."""


def mailbox(text: str) -> str:
    """One address as it is handed to a mail server: its host's letters outside ASCII by IDNA.
    ValueError, with words to put behind the address, for what is none: mail servers read a comma as
    the end of one, and `<>` as its brackets."""
    local, _, host = text.rpartition("@")
    if _ADDRESS.fullmatch(text) is None or not text.isprintable():
        raise ValueError(
            "is not one e-mail address such as ana@market.example"
            ": several people are several recipients"
        )
    if not local.isascii():
        raise ValueError(
            "has letters outside ASCII before the @, which few mail servers take (SMTPUTF8): give"
            " another address of the same person"
        )
    return f"{local}@{in_ascii(host)}"


def sender_of(text: str) -> tuple[str, str]:
    """The name that is shown of a sender such as `Prazo <prazo@market.example>`, empty where there
    is none, and the address. ValueError, with words to put behind the text, for another."""
    found = _NAMED.fullmatch(text)
    name, address = (found["quoted"] or found["name"] or "", found["at"]) if found else ("", text)
    if not name.isprintable():
        raise ValueError("has a name with characters that cannot be shown")
    return name.strip(), mailbox(address)


def _mail_address(text: str) -> str:
    try:
        mailbox(text)
    except ValueError as error:
        raise ValueError(f"{text!r} {error}") from None
    return text  # as it was written: logins and assignments name it so


def _sender(text: str) -> str:
    try:
        sender_of(text)
    except ValueError as error:
        raise ValueError(
            f"{text!r} {error}; a name is written as in Prazo <prazo@market.example>"
        ) from None
    return text


def _user(text: str) -> str:
    if not text.isascii():
        raise ValueError(f"{text!r} has letters outside ASCII, which no login by SMTP takes here")
    return text


def _host(name: str) -> str:
    host = in_ascii(bare(name))
    if not _HOST.fullmatch(host):
        raise ValueError(f"{name!r} is not the name of a host such as mail.market.example")
    return host


MailAddress = Annotated[str, AfterValidator(_mail_address)]


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


class Recipient(Part):
    """A person or a team, and the channels that reach them."""

    email: MailAddress | None = None
    webhook: PlainUrl | None = None
    webhook_secret_file: Path | None = None
    apprise_file: Path | None = None
    """Holds an Apprise URL a line. They hold tokens, so they do not stand in the settings."""
    role: Role = "officer"
    assigned_as: tuple[str, ...] = ()
    """Names under which processes are assigned to them, beside their own."""
    language: Literal["pt", "en"] = "pt"
    zone: Zone | None = None
    digest_at: ClockTime | None = None
    """When a summary of the day is sent, by their own clock; none: never."""
    stand_in: str | None = None
    away: tuple[Away, ...] = ()
    seller_links: bool = False
    """Their messages about a seller who is to be asked hold a fresh link to the seller's page."""

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if not self.channels:
            raise ValueError("cannot be reached: set email, webhook or apprise_file")
        if (self.webhook is None) != (self.webhook_secret_file is None):
            raise ValueError("webhook and webhook_secret_file go together")
        return self

    @property
    def channels(self) -> tuple[Via, ...]:
        """The channels that are set, each of which gets every message."""
        set_up: dict[Via, object] = {
            "email": self.email,
            "webhook": self.webhook,
            "apprise": self.apprise_file,
        }
        return tuple(via for via, value in set_up.items() if value is not None)

    @property
    def read_by_people(self) -> tuple[Via, ...]:
        """Those by which digests and reports go: a program asks the views."""
        return tuple(via for via in self.channels if via != "webhook")

    def names(self, name: str) -> tuple[str, ...]:
        """Every name under which processes are assigned to them. `name`: theirs in the file."""
        return (name, *self.assigned_as, *([self.email] if self.email else []))

    def described(self) -> Iterator[str]:
        """Their role, their channels without the addresses, and what else was set."""
        yield from (self.role, *self.channels, self.language)
        if self.digest_at is not None:
            yield f"digest_at: {self.digest_at:%H:%M}"
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
    review_types: tuple[Literal["ACI", "ACP"], ...] | None = None
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
        """Whether an alert goes this way. An unknown review type counts as an ACI."""
        return (
            (self.kinds is None or kind in self.kinds)
            and (self.severities is None or severity in self.severities)
            and (self.roles is None or role in self.roles)
            and (self.review_types is None or (review_type or "ACI") in self.review_types)
        )


class Mail(Part):
    """The server that takes our e-mail."""

    host: Annotated[str, AfterValidator(_host)]
    port: int = Field(587, ge=1, le=65_535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    sender: Annotated[str, AfterValidator(_sender)]
    user: Annotated[str, AfterValidator(_user)] | None = None
    password_file: Path | None = None
    ca_file: Path | None = None

    @model_validator(mode="after")
    def _safe(self) -> Self:
        if (self.user is None) != (self.password_file is None):
            raise ValueError("user and password_file go together")
        if self.security == "none" and self.host not in ("localhost", "127.0.0.1", "::1"):
            raise ValueError("without TLS only a server on this machine is allowed")
        return self


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
