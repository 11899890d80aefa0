"""Reads `alerts.toml`: what is alarming, who is told, when and how. Each fault is named.

What is alarming is worked out by the views, which get their part as JSON (`for_views`).
"""

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from pipeline import settings_files
from pipeline.alert_rules.channels import all_channels
from pipeline.alert_rules.ladder import RISK_HOURS, Condition, Ladder, Watched, rung
from pipeline.alert_rules.parts import Part
from pipeline.alert_rules.recipients import (
    ASSIGNEE,
    GROUPS,
    Recipient,
    Route,
    WorkingHours,
)
from pipeline.alert_rules.references import unknown_kinds, unknown_recipients
from pipeline.alert_rules.reports import NOT_IN_MESSAGES, Report
from pipeline.alert_rules.untold import untold
from pipeline.conditions import of_log as every_condition
from pipeline.contract.body import canonical_json
from pipeline.errors import SettingsError
from pipeline.files.reread import RereadFile
from pipeline.http.outgoing.mail_server import Mail
from pipeline.settings_files import PlainUrl
from pipeline.texts import names_person

DEFAULT_ROUTES: Final = (Route(to=(ASSIGNEE,)),)
"""Whoever is assigned; where nobody is, everybody of the alert's role; where nobody has it, all."""
LONGEST_SNOOZE_DAYS: Final = 60
"""From when an alert was raised: an ACP's whole time. What can wait for longer is acknowledged."""
HELD_DAYS: Final = 14
"""For so long an alert that was raised, or that is put off no longer, stays due: over the longest
holidays, and over all repetitions after them."""
SECRETS: Final = ("password_file", *(key for it in all_channels().values() for key in it.secrets))
"""Names of files that nobody but whoever sends may read."""
_WHAT: Final = "The alerts' settings"
_PAGE: Final = "docs/alerts.md"


class AlertRules(Part):
    """All of `alerts.toml`, with a default for each part (docs/alerts.md#settings)."""

    look_back_days: int = Field(7, ge=1, le=366)
    silence_hours: int | None = Field(None, ge=1, le=504)
    conditions: tuple[Condition, ...] = tuple(
        code for code, condition in every_condition().items() if condition.is_default
    )
    ladder: Ladder = Ladder()
    watch: Watched = Watched.model_validate({})
    dashboard_url: PlainUrl | None = None
    """Where recipients reach the dashboard; none: messages hold no links."""
    hours: WorkingHours = WorkingHours()
    mail: Mail | None = None
    recipients: dict[str, Recipient] = Field(default_factory=dict)
    routes: tuple[Route, ...] = DEFAULT_ROUTES
    reports: dict[str, Report] = Field(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _with_every_fault(cls, said: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """All faults at once: what does not fit together is looked for in the tables as they stand,
        also where one of them has a fault of its own."""
        found: list[InitErrorDetails] = []
        rules, rungs = None, None
        try:
            rules = handler(said)
        except ValidationError as error:
            found = [_fault(each["msg"], each["loc"]) for each in error.errors()]
        else:
            said, rungs = rules.model_dump(), rules.rungs()
        tables = said if isinstance(said, Mapping) else {}
        faults = [*unknown_recipients(tables, GROUPS), *unknown_kinds(tables, rungs)]
        if rules is not None:
            faults += rules._unfit()
        if rules is not None and not faults:
            return rules
        found += [_fault(fault, ()) for fault in faults]
        raise ValidationError.from_exception_data(cls.__name__, found)

    def _unfit(self) -> Iterable[str]:
        for channel in all_channels().values():
            if (lack := channel.lacks(self.recipients.values(), self.mail)) is not None:
                yield lack
        for name, report in self.reports.items():
            if names_person(name):
                yield f"reports.{name}: this name looks like {NOT_IN_MESSAGES}"
            for each in report.to:
                known = self.recipients.get(each)
                if known is not None and not known.read_by_people:
                    yield f"reports.{name}: {each!r} has neither an e-mail address nor Apprise"

    def secret_files(self) -> list[Path]:
        """The files that whoever sends has to read, and nobody else may."""
        parts = (self.mail, *self.recipients.values())
        named = [getattr(part, name, None) for part in parts for name in SECRETS]
        return list(dict.fromkeys(path for path in named if path is not None))

    def assigned(self, assignee: str) -> list[str]:
        """The recipients to whom a process is assigned under a name: their own, another that the
        file gives them, or the e-mail address by which they log in."""
        return [*self.assigned_by_name.get(assignee.strip().casefold(), ())]

    @functools.cached_property
    def assigned_by_name(self) -> dict[str, list[str]]:
        """The same for every name, in lower case. Digests ask for each recipient and process: of 50
        and 20,000, to go through all recipients each time kept alerts waiting for minutes."""
        found: dict[str, list[str]] = {}
        for name, recipient in self.recipients.items():
            for known in {it.casefold() for it in recipient.names(name)}:
                found.setdefault(known, []).append(name)
        return found

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Another one, with other values for some fields."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("assigned_by_name", None)  # of recipients that may be others by now
        return copied

    def names_of(self, person: str) -> set[str]:
        """The names under which processes are assigned to a person, in lower case: their own, and
        those of the recipient whom they are."""
        known = (self.recipients[it].names(it) for it in self.assigned(person))
        return {person.strip().casefold(), *(it.casefold() for names in known for it in names)}

    def described(self) -> dict[str, list[str]]:
        """Every rung, threshold, route and recipient by its name in the file, without addresses."""
        at, watched = self.hours, self.watch
        silence = "by the log" if self.silence_hours is None else f"{self.silence_hours}h"
        return {
            "look_back_days": [str(self.look_back_days)],
            "conditions": list(self.conditions),
            "silence_hours": [silence],
            "ladder": list(self.rungs()),
            "ladder.even_while_awaiting": [f"{self.ladder.even_while_awaiting}h"],
            "watch.receivers": list(watched.receivers or ()),
            "watch.lag_minutes": [str(watched.lag_minutes)],
            "watch.backup_days": [str(watched.backup_days)],
            "watch.rehearsal_days": [str(watched.rehearsal_days)],
            "watch.certificate_days": [str(it) for it in watched.certificate_days],
            "hours": [f"{at.start:%H:%M}-{at.end:%H:%M}", at.zone, at.holidays or "-", *at.days],
            **{f"routes.{n}": [*route.described()] for n, route in enumerate(self.routes, 1)},
            **{f"reports.{it}": [*report.described()] for it, report in self.reports.items()},
            **{f"recipients.{it}": [*who.described()] for it, who in self.recipients.items()},
        }

    @property
    def held_hours(self) -> int:
        """For how long an alert stays due once it was raised, or is put off no longer: never less
        than the look-back, and until the last recipient to whom it is escalated was told."""
        escalated = (sum(it.after for it in route.escalate) for route in self.routes)
        return max(self.look_back_days * 24, HELD_DAYS * 24 + max(escalated, default=0))

    @property
    def remembered_hours(self) -> int:
        """After how long no alert is due any longer, counted from when it was raised. Whatever
        lasts until an entry ends it is not meant."""
        return LONGEST_SNOOZE_DAYS * 24 + self.held_hours

    def rungs(self) -> dict[str, int | None]:
        """The rungs of the ladder in their order, with hours before the deadline."""
        return self.ladder.rungs()

    def untold(self) -> list[str]:
        """The alerts that would lead to nobody, each in a few words."""
        return untold(self.routes, self.ladder, self.conditions)

    def for_views(self) -> str:
        """The variable `alert_rules` of the views, as `queries/macros.sql` has its default."""
        ladder = self.ladder
        return canonical_json(
            {
                "look_back": self.look_back_days * 24,
                "held": self.held_hours,
                "longest_snooze": LONGEST_SNOOZE_DAYS * 24,
                "reach": self.look_back_days * 24 + self.remembered_hours,
                "opened": list(ladder.opened),
                "overdue": ladder.overdue,
                "expired": ladder.expired,
                "before": [{"rung": rung(it), "hours": it} for it in ladder.before],
                "risk": RISK_HOURS,
                "even_while_awaiting": ladder.even_while_awaiting,
                "silence": self.silence_hours,
                "conditions": list(self.conditions),
            }
        ).decode()


def _fault(said: str, place: tuple[int | str, ...]) -> InitErrorDetails:
    error = PydanticCustomError("fault", "{said}", {"said": said})
    return InitErrorDetails(type=error, loc=place, input=None)


def load(path: Path | None) -> AlertRules:
    """The rules of a file, or the defaults without one. A file that it names may be missing: that
    is the channel's own (`pipeline.alert.messages.transport.Files`). Raises `SettingsError`, which
    names every fault."""
    if path is None:
        return AlertRules.model_validate({})
    return settings_files.read(path, AlertRules, what=_WHAT, page=_PAGE)


def read_text(text: str, path: Path) -> AlertRules:
    """The rules of a text that is to stand in a file. Raises `SettingsError`, which names every
    fault."""
    return settings_files.parsed(text, path, AlertRules, what=_WHAT, page=_PAGE)


def with_recipients(rules: AlertRules) -> AlertRules:
    """The rules themselves. Raises `SettingsError` where they name nobody to tell."""
    if not rules.recipients:
        raise SettingsError(
            "There is nobody to tell",
            "the alerts' settings name no recipient",
            "name recipients in the file of PRAZO_ALERTS_FILE (docs/alerts.md#who-is-told)",
        )
    return rules


class AlertsFile:
    """The rules of a file, which is read again when it changes. A file with a fault leaves those in
    force that were read before, and so does one that names nobody any more where somebody is told.
    """

    def __init__(self, path: Path | None, *, tells_people: bool = False) -> None:
        """`tells_people`: for whoever does so; a file may name its first recipient later. Raises
        `SettingsError`, which names every fault; for anybody else defaults are in force then, as a
        slip in this file must take no page away."""
        names_somebody = False

        def parsed(text: str) -> AlertRules:
            nonlocal names_somebody
            assert path is not None
            rules = read_text(text, path)
            if tells_people and names_somebody:
                with_recipients(rules)
            names_somebody = bool(rules.recipients)
            return rules

        self._defaults = load(None)
        otherwise = None if tells_people else self._defaults
        self._file = None if path is None else RereadFile(path, parsed, otherwise)
        if path is None and tells_people:
            with_recipients(self._defaults)

    def get(self) -> AlertRules:
        """The rules in force."""
        return self._defaults if self._file is None else self._file.get()

    def for_views(self) -> str:
        """What the views get of them."""
        return self.get().for_views()

    def fault(self) -> SettingsError | None:
        """Why the file as it stands now is not in force; None where it is."""
        return None if self._file is None else self._file.fault()
