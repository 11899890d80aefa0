"""Reads `alerts.toml`: the ladder and the conditions, each fault named.

What is alarming is worked out by the views, which get this as JSON (`AlertRules.for_views`).
"""

import re
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
)

from pipeline import settings_files
from pipeline.contract.body import canonical_json

Condition = Literal[
    "breach",
    "unauthorized",
    "tls_refused",
    "ticket_due",
    "retries_exhausted",
    "quarantined",
    "silence",
]

_SPAN: Final = re.compile(r"([1-9][0-9]{0,3})([dh])")
_LONGEST_SPAN: Final = 366 * 24


def _hours(text: object) -> object:
    """`15d` or `4h` in hours; what is neither is left to the type's own message."""
    found = _SPAN.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{text!r} is not a span such as 15d or 4h")
    hours = int(found[1]) * (24 if found[2] == "d" else 1)
    if hours > _LONGEST_SPAN:
        raise ValueError(f"{text!r} is longer than 366d")
    return hours


Hours = Annotated[int, BeforeValidator(_hours)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ladder(_Part):
    """The rungs on which a process is an alert (docs/alerts.md#the-ladder)."""

    opened: tuple[Literal["ACI", "ACP"], ...] = ("ACI", "ACP")
    overdue: bool = True
    before: tuple[Hours, ...] = (360, 168, 72, 24, 4)
    expired: bool = True
    even_while_awaiting: Hours = 72

    @field_validator("before")
    @classmethod
    def _each_once(cls, before: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(before)) < len(before):
            raise ValueError("names one span twice")
        if len(before) > 20:
            raise ValueError("names more than 20 spans")
        return tuple(sorted(before, reverse=True))


class AlertRules(_Part):
    """All of `alerts.toml`, with a default for each part (docs/alerts.md#settings)."""

    look_back_days: int = Field(7, ge=1, le=366)
    silence_hours: int | None = Field(None, ge=1, le=504)
    conditions: tuple[Condition, ...] = (
        *("breach", "unauthorized", "tls_refused", "ticket_due", "retries_exhausted"),
        *("quarantined", "silence"),
    )
    ladder: Ladder = Ladder()

    def rungs(self) -> dict[str, int | None]:
        """The rungs of the ladder in their order, with hours before the deadline."""
        ladder = self.ladder
        return {
            **({"opened": None} if ladder.opened else {}),
            **({"overdue": None} if ladder.overdue else {}),
            **{_rung(hours): hours for hours in ladder.before},
            **({"expired": None} if ladder.expired else {}),
        }

    def for_views(self) -> str:
        """The variable `alert_rules` of the views, as `queries/macros.sql` has its default."""
        ladder = self.ladder
        return canonical_json(
            {
                "look_back": self.look_back_days * 24,
                "opened": list(ladder.opened),
                "overdue": ladder.overdue,
                "expired": ladder.expired,
                "before": [{"rung": _rung(it), "hours": it} for it in ladder.before],
                "even_while_awaiting": ladder.even_while_awaiting,
                "silence": self.silence_hours,
                "conditions": list(self.conditions),
            }
        ).decode()


def _rung(hours: int) -> str:
    return f"before_{hours // 24}d" if hours % 24 == 0 else f"before_{hours}h"


def load(path: Path | None) -> AlertRules:
    """The rules of a file, or the defaults without one. Raises `SettingsError`, which names every
    fault."""
    if path is None:
        return AlertRules.model_validate({})
    return settings_files.read(path, AlertRules, what="The alerts' settings", page="docs/alerts.md")
