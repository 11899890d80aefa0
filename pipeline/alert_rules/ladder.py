"""What is alarming: the ladder of a process and the conditions beside it."""

from typing import Annotated, Final, Literal

from pydantic import Field, field_validator

from pipeline.alert_rules.parts import Hours, Part
from pipeline.settings_files import PlainUrl

Condition = Literal[
    "breach",
    "unauthorized",
    "tls_refused",
    "ticket_due",
    "retries_exhausted",
    "quarantined",
    "silence",
]

RISK_HOURS: Final = 72
"""With less time left to the deadline, a rung is a risk (docs/alerts.md#what-is-due)."""


class Ladder(Part):
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

    def rungs(self) -> dict[str, int | None]:
        """The rungs in their order, with hours before the deadline."""
        return {
            **({"opened": None} if self.opened else {}),
            **({"overdue": None} if self.overdue else {}),
            **{rung(hours): hours for hours in self.before},
            **({"expired": None} if self.expired else {}),
        }


class Watched(Part):
    """What is looked at beside the log (docs/alerts.md#beside-the-log)."""

    receivers: tuple[PlainUrl, ...] | None = None
    """Addresses of receivers; none: the one that the settings describe."""
    lag_minutes: int = Field(10, ge=1, le=1440)
    certificate_days: tuple[Annotated[int, Field(ge=1, le=3650)], ...] = (30, 7, 1)


def rung(hours: int) -> str:
    """The name of the rung so many hours before the deadline."""
    return f"before_{hours // 24}d" if hours % 24 == 0 else f"before_{hours}h"
