"""What the parts of `alerts.toml` are made of: spans, clock times, and no unknown name."""

import re
from datetime import time
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict

_SPAN: Final = re.compile(r"([1-9][0-9]{0,3})([dh])")
_LONGEST_SPAN: Final = 366 * 24
_CLOCK: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


class Part(BaseModel):
    """A table of the file. A name that it does not know is a fault."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def hours_of(text: object) -> object:
    """The hours of a span such as `15d` or `4h`; ValueError for another text."""
    found = _SPAN.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{text!r} is not a span such as 15d or 4h")
    hours = int(found[1]) * (24 if found[2] == "d" else 1)
    if hours > _LONGEST_SPAN:
        raise ValueError(f"{text!r} is longer than 366d")
    return hours


def _clock_time(text: object) -> object:
    found = _CLOCK.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{text!r} is not a time of day such as 08:00")
    return time(int(found[1]), int(found[2]))


Hours = Annotated[int, BeforeValidator(hours_of)]
"""A span, written like `15d` or `4h`; in hours."""
ClockTime = Annotated[time, BeforeValidator(_clock_time)]
"""A time of day, written like `08:00`."""
