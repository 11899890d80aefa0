"""Converts instants: ISO 8601 text <-> whole microseconds, UTC (docs/rules.md#instants-and-days).

Inside the product an instant is an `int`, the microseconds since 1970. It is compared, hashed,
stored and passed to Arrow without a conversion, and nobody can forget its time zone.
"""

import contextlib
import re
import time
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as clock_time
from functools import lru_cache

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

ALLOWED_AHEAD = 5 * MINUTE
"""How far another machine's clock may be ahead of ours (docs/rules.md#collection-evidence). What is
dated further ahead does not count yet."""

_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = -62_135_596_800 * SECOND, 253_402_300_799 * SECOND  # years 1 to 9999
_MICROSECOND = timedelta(microseconds=1)
_USUAL = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{3}|\.[0-9]{6})?"
    r"(?:Z|[+-][0-9]{2}:[0-5][0-9])"
)
"""The usual spellings, which `datetime.fromisoformat` reads as they are meant. It also takes
others, some of which are not instants, such as an offset of 60 minutes."""
_REMEMBERED_CHARACTERS = 64
_ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]((?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?)"
    r"(?:[.,]([0-9]+))?(?:([Zz])|([+-](?:[01][0-9]|2[0-3]))(?::?([0-5][0-9]))?)?"
)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BASIC = re.compile(
    r"([0-9]{4})([0-9]{2})([0-9]{2})[Tt]([0-9]{2})([0-9]{2})([0-9]{2})?((?![0-9:]).*)?"
)
_MIDNIGHT_AFTER = re.compile(r"(?<=[0-9][Tt ])24:00(:00(?:[.,]0+)?)?(?![0-9:.,])")
_SECOND_AFTER = re.compile(r"(?<=:[0-5][0-9]):60")


def now() -> int:
    """The wall clock, in microseconds. Only the edges call it; rules take `now` as a value."""
    return time.time_ns() // 1000


def since_boot() -> int:
    """A clock of this machine that nobody sets, in microseconds, for spans. It goes on while the
    machine sleeps, and all processes of the machine read the same."""
    return time.clock_gettime_ns(_STEADY) // 1000


def parse(text: object) -> int | None:
    """Microseconds of an ISO 8601 date and time, or None if `text` is not one.

    Without an offset it is UTC. Digits past the microsecond are cut, not rounded. 24:00:00 is the
    next midnight, and second 60 is the second after 59. A date alone is not an instant: to read it
    as midnight could move a deadline by up to a day. Nor is a number: nothing says whether it
    counts seconds or milliseconds.
    """
    if not isinstance(text, str):
        return None
    return _remembered(text) if len(text) <= _REMEMBERED_CHARACTERS else _parsed(text)


@lru_cache(maxsize=256)
def _remembered(text: str) -> int | None:
    """As `_parsed`, and remembered: a reader that takes an event part by part parses each instant
    twice. Longer texts are not remembered: a megabyte of digits would stay in memory."""
    return _parsed(text)


def _parsed(text: str) -> int | None:
    if _USUAL.fullmatch(text):
        with contextlib.suppress(ValueError):
            whole = from_datetime(datetime.fromisoformat(text))
            return whole if _FIRST <= whole < _LAST + SECOND else None
    if match := _ISO.fullmatch(text):
        return _instant(match)
    ordinary, later = _ordinary(text)
    if not (match := _ISO.fullmatch(ordinary)) or (instant := _instant(match)) is None:
        return None
    return instant + later if instant + later <= _LAST else None


def _ordinary(text: str) -> tuple[str, int]:
    """A rarer spelling as the usual one, and how much later than that it is."""
    if basic := _BASIC.fullmatch(text):
        year, month, day, hour, minute, second, rest = basic.groups(default="")
        text = f"{year}-{month}-{day}T{hour}:{minute}{second and ':'}{second}{rest}"
    text, midnights = _MIDNIGHT_AFTER.subn("00:00", text, count=1)
    if midnights:
        return text, DAY
    text, seconds = _SECOND_AFTER.subn(":59", text, count=1)
    return text, SECOND if seconds else 0


def _instant(match: re.Match[str]) -> int | None:
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


def starting(text: object, zone: tzinfo) -> int | None:
    """The instant that a person asks for: as `parse` reads it, or the start of a day in their zone.
    None for any other text."""
    days = _day(text, zone)
    return parse(text) if days is None else days[0]


def ending(text: object, zone: tzinfo, now: int) -> int | None:
    """The instant at which a person looks: as `parse` reads it, or the last microsecond of a day in
    their zone; of the day that is not over, `now`. None for any other text."""
    days = _day(text, zone)
    if days is None:
        return parse(text)
    first, beyond = days
    return now if first <= now < beyond else beyond - 1


def _day(text: object, zone: tzinfo) -> tuple[int, int] | None:
    """When a day begins and the next one does; None for what is not a day like 2026-03-01."""
    if not isinstance(text, str) or not _DAY.fullmatch(text):
        return None
    try:
        day = date.fromisoformat(text)
        first, beyond = _midnight(day, zone), _midnight(day + timedelta(days=1), zone)
    except (ValueError, OverflowError):
        return None
    return (first, beyond) if _FIRST <= first < beyond <= _LAST else None


def _midnight(day: date, zone: tzinfo) -> int:
    return from_datetime(datetime.combine(day, clock_time(), zone))


def of(instant: int) -> datetime:
    """The aware UTC datetime of an instant; OverflowError outside the years 1 to 9999."""
    return _EPOCH + timedelta(microseconds=instant)


def naive(instant: int) -> datetime:
    """As `of`, naive: as views write instants, and DuckDB takes them."""
    return of(instant).replace(tzinfo=None)


def from_datetime(moment: datetime) -> int:
    """Microseconds of a datetime; a naive one is UTC."""
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def canonical(instant: int) -> str:
    """`2026-03-01T00:00:00.000000Z`: the form used in leaves, where the bytes must be fixed."""
    second, microseconds = divmod(instant, SECOND)
    return f"{_second(second)}.{microseconds:06d}Z"


@lru_cache(maxsize=64)
def _second(second: int) -> str:
    """The text of a whole second. It is cached, since live entries share their seconds: leaves take
    a fifth less time."""
    return of(second * SECOND).isoformat(timespec="seconds")[:19]


def readable(instant: int) -> str:
    """`2026-03-01T00:00:00Z`, with a fraction only if it is not zero."""
    text = canonical(instant).removesuffix("Z")
    return text.rstrip("0").rstrip(".") + "Z"
