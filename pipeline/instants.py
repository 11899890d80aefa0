"""Instants: ISO 8601 text <-> whole microseconds since the epoch, UTC (rules.md, preamble).

Inside the product an instant is an `int`: it compares, hashes, stores and crosses into Arrow
without a conversion, and nobody can forget its time zone.
"""

import re
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = -62_135_596_800 * SECOND, 253_402_300_799 * SECOND  # years 1 to 9999
_ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]((?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?)"
    r"(?:[.,]([0-9]+))?(?:([Zz])|([+-](?:[01][0-9]|2[0-3]))(?::?([0-5][0-9]))?)?"
)


def now() -> int:
    """The wall clock, in microseconds. Called at the edges only; rules take `now` as a value."""
    return time.time_ns() // 1000


def parse(text: object) -> int | None:
    """Microseconds of an ISO 8601 date and time, or None where `text` is not one.

    Without an offset it is UTC; digits past the microsecond are cut, not rounded (rules.md).
    A date alone is no instant: reading it as midnight would move a deadline by up to a day.
    """
    if not isinstance(text, str) or not (match := _ISO.fullmatch(text)):
        return None
    date, clock, fraction, _, hours, minutes = match.groups()
    if fraction and len(clock) == 5:
        return None  # a fraction of a minute
    zone = f"{hours}:{minutes or '00'}" if hours else "+00:00"
    try:
        whole = from_datetime(datetime.fromisoformat(f"{date}T{clock}{zone}"))
    except ValueError:
        return None
    if not _FIRST <= whole <= _LAST:  # an offset may push a legal local time out of the calendar
        return None
    return whole + int(fraction[:6].ljust(6, "0")) if fraction else whole


def of(instant: int) -> datetime:
    """The aware UTC datetime of an instant; OverflowError outside the years 1 to 9999."""
    return _EPOCH + timedelta(microseconds=instant)


def from_datetime(moment: datetime) -> int:
    """Microseconds of a datetime; a naive one is UTC."""
    delta = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * SECOND + delta.microseconds


def canonical(instant: int) -> str:
    """Six fraction digits and Z: the one spelling used in leaves, so that bytes are fixed."""
    second, microseconds = divmod(instant, SECOND)
    return f"{_second(second)}.{microseconds:06d}Z"


@lru_cache(maxsize=64)
def _second(second: int) -> str:
    """Live entries share their seconds: spelled once each, leaves take a fifth less time."""
    return of(second * SECOND).isoformat(timespec="seconds")[:19]


def readable(instant: int) -> str:
    """`2026-03-01T00:00:00Z`, with a fraction only where there is one (interfaces.md)."""
    text = canonical(instant).removesuffix("Z")
    return text.rstrip("0").rstrip(".") + "Z"
