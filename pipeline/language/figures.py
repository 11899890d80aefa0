"""Writes numbers, shares, days and months in a language, for whoever has no page of their own."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from math import ceil, floor
from typing import Final
from zoneinfo import ZoneInfo

from babel import Locale, dates, numbers

from pipeline.language.catalogue import N_, Language, said_in

REMEMBERED: Final = 10_000
"""Written numbers and instants that are kept: a page writes three hundred, nearly all of them the
same as the run before, and Babel takes 30 to 100 µs for each."""
NUMBERS: Final[Mapping[Language, Locale]] = {"en": Locale("en", "GB"), "pt": Locale("pt", "BR")}
_NAMES: Final[Mapping[Language, Locale]] = {**NUMBERS, "en": Locale("en")}
"""Who names months. Babel's British English writes `Sept`, where a grid, a spreadsheet and the
seller's page write `Sep`."""
DAY_OF_YEAR: Final[Mapping[Language, str]] = {"en": "d MMM", "pt": "dd/MM"}
MINUTE: Final[Mapping[Language, str]] = {"en": "d MMM y, HH:mm", "pt": "dd/MM/y HH'h'mm"}
NONE: Final = "–"
"""For what there is not."""
_BETWEEN: Final = N_("{n} (between {low} and {high})")
_UNDER_ONE: Final = N_("fewer than 1")


def number(value: float | None, into: Language) -> str:
    """A number; a dash for none."""
    return NONE if value is None else _decimal(value, into)


@lru_cache(maxsize=REMEMBERED, typed=True)
def _decimal(value: float, into: Language) -> str:
    written: str = numbers.format_decimal(value, locale=NUMBERS[into])
    return written


def share(value: float | None, into: Language) -> str:
    """A share of one as a percentage with one digit after the comma; a dash for none."""
    if value is None:
        return NONE
    written: str = numbers.format_percent(value, "#,##0.0%", locale=NUMBERS[into])
    return written


def change(value: int, into: Language) -> str:
    """By how much a number went up or down, with its sign."""
    pattern = "+#,##0;-#,##0" if value else "0"
    written: str = numbers.format_decimal(value, pattern, locale=NUMBERS[into])
    return written


def expected(week: Mapping[str, float | None], into: Language, of: str = "expected") -> str:
    """Of a row of `forecast_weeks`: how many are expected to expire, and between which numbers; a
    dash where nothing is known. `of`: `expected_by_then` for all weeks up to that one."""
    if week[of] is None:
        return NONE
    n, low, high = expiries(week, into, of)
    return n if low == high else said_in(into, _BETWEEN, n=n, low=low, high=high)


def expiries(
    week: Mapping[str, float | None], into: Language, of: str = "expected"
) -> tuple[str, str, str]:
    """How many are expected to expire, and the ends of the interval, rounded outwards: no part of a
    review expires."""
    n, low, high = (round(week[f"{of}{end}"] or 0, 6) for end in ("", "_low", "_high"))
    is_part = 0 < n < 0.5
    said = said_in(into, _UNDER_ONE) if is_part else number(floor(n + 0.5), into)
    return said, number(floor(low), into), number(ceil(high), into)


def day(when: date, pattern: str, into: Language) -> str:
    """A day of a view by a pattern of Babel's: a UTC day, so no zone is applied."""
    return dates.format_date(when, pattern, locale=_NAMES[into])


def month(when: date, into: Language) -> str:
    """The month of a day of a view, with its year."""
    return day(when, "MMM y", into)


@lru_cache(maxsize=REMEMBERED)
def instant(moment: datetime, pattern: str, zone: ZoneInfo, into: Language) -> str:
    """An instant of a view (naive UTC) by a pattern of Babel's, in a zone."""
    return dates.format_datetime(local(moment, zone), pattern, tzinfo=zone, locale=_NAMES[into])


def clock(there: datetime, locale: Locale) -> str:
    """Whose clock an aware instant is on: its zone's letters, or its name where it has none, as in
    Brazil, whose `-03` is nobody's word."""
    letters = f"{there:%Z}"
    if letters.isalpha():
        return letters
    named = dates.get_timezone_name(there.tzinfo, locale=locale)
    return named if locale.language == "en" else named[:1].lower() + named[1:]


def local(moment: datetime, zone: ZoneInfo) -> datetime:
    """An instant of a view in a zone. At the ends of the calendar, where the zone would show a day
    that does not exist, it is left in UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        return aware.astimezone(zone)
    except OverflowError:
        return aware.replace(tzinfo=zone)
