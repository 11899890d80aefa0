"""What is alarming: the ladder of a process and the conditions beside it."""

from itertools import pairwise
from typing import Annotated, Final

from pydantic import Field, GetPydanticSchema, field_validator
from pydantic_core import core_schema

from pipeline import conditions
from pipeline.alert_rules.parts import Hours, Part
from pipeline.contract import review_types
from pipeline.settings_files import PlainUrl

Condition = Annotated[
    str, GetPydanticSchema(lambda *_: core_schema.literal_schema([*conditions.of_log()]))
]

RISK_HOURS: Final = 72
"""With less time left to the deadline, a rung is a risk (docs/alerts.md#what-is-due)."""
AHEAD_HOURS: Final = 72
"""So far ahead whoever sends asks which rungs come (docs/alerts.md#beside-the-log)."""
_NEAR, _FAR, _DAY = 4, 12, 24
"""The most hours between two instants for which that is asked: on the first day, and later."""


class Ladder(Part):
    """The rungs on which a process is an alert (docs/alerts.md#the-ladder)."""

    opened: tuple[review_types.Name, ...] = tuple(sorted(review_types.NAMES))
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

    def ahead(self) -> tuple[int, ...]:
        """Hours from now for which it is asked in advance on which rungs processes stand. On the
        first day they are no further apart than two rungs before the deadline, or the last of them
        and the deadline. Where nobody hears that it passed, no last rung is to be missed later
        either."""
        near = min(
            (earlier - later for earlier, later in pairwise((*self.before, 0))), default=_DAY
        )
        last = _DAY if self.expired else min(self.before, default=_DAY)
        return (
            *_steps(0, _DAY, min(_NEAR, near)),
            *_steps(_DAY, AHEAD_HOURS, min(_FAR, last)),
        )


def _steps(after: int, until: int, most: int) -> range:
    """Equal steps of so many hours at most, of which the last one leads to the end."""
    step = next(it for it in range(most, 0, -1) if (until - after) % it == 0)
    return range(after + step, until + 1, step)


class Watched(Part):
    """What is looked at beside the log (docs/alerts.md#beside-the-log)."""

    receivers: tuple[PlainUrl, ...] | None = None
    """Addresses of receivers; none: the one that the settings describe."""
    lag_minutes: int = Field(10, ge=1, le=1440)
    backup_days: int = Field(2, ge=0, le=3650)
    """Longest time since the last whole backup; 0: nobody is told."""
    rehearsal_days: int = Field(35, ge=0, le=3650)
    """Longest time since a backup was last put back by a rehearsal; 0: nobody is told."""
    certificate_days: tuple[Annotated[int, Field(ge=1, le=3650)], ...] = (30, 7, 1)


def rung(hours: int) -> str:
    """The name of the rung so many hours before the deadline."""
    return f"before_{hours // 24}d" if hours % 24 == 0 else f"before_{hours}h"
