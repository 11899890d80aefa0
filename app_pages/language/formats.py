"""Writes values the reader's way: instants in their zone, numbers in their language, safe text."""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import streamlit as st
from babel import dates, numbers

from app_pages.language.i18n import _, language, locale, ngettext
from pipeline.continuity import service
from pipeline.language import figures, states
from pipeline.language.catalogue import Language
from pipeline.texts import printable

_DAY: Mapping[Language, str] = {"en": "d MMM y", "pt": "dd/MM/y"}
_UTC: Final = ZoneInfo("UTC")
_CLOCK: Mapping[Language, str] = {"en": "HH:mm", "pt": "HH'h'mm"}
_SECOND: Mapping[Language, str] = {"en": "d MMM y, HH:mm:ss", "pt": "dd/MM/y HH:mm:ss"}
GRID_MINUTE = {"en": "D MMM YYYY, HH:mm", "pt": "DD/MM/YYYY HH[h]mm"}
"""The grid writes instants in the browser, by a pattern of its own dialect."""
SHEET_MINUTE = {"en": "d mmm yyyy, hh:mm", "pt": 'dd/mm/yyyy hh"h"mm'}
SHEET_DAY = {"en": "d mmm yyyy", "pt": "dd/mm/yyyy"}
"""A spreadsheet has a dialect of its own, too."""
CSV_DAY = {"en": "%Y-%m-%d", "pt": "%d/%m/%Y"}
"""What a spreadsheet of that language takes for a day, as Python writes it: no other is one to
British and American ones alike."""

_ADDRESS = re.compile(
    r"https?(?=://)|www(?=\.)|mailto(?=:)|xmpp(?=:)|(?<=\S)@(?=\S)", re.IGNORECASE
)
_MARKUP = re.compile(r"((?<![A-Za-z0-9])[_-]|[_-](?![A-Za-z0-9])|[\\`*{}\[\]()<>#+.!|~$:^=/&\"'@])")
"""What may be Markdown. Between letters and digits, `_` and `-` are not; and Streamlit gives the
label of an input to screen readers as it was written, with each backslash."""


def zone() -> ZoneInfo:
    """The zone that the reader chose, else that of the settings; no state depends on it."""
    try:
        return ZoneInfo(st.session_state.get("tz") or st.query_params.get("tz", ""))
    except (KeyError, ValueError, OSError):
        return service.current().settings.zone


def minute(instant: datetime | None) -> str:
    """An instant of a view (naive UTC) to the minute."""
    return _instant(instant, figures.MINUTE)


def span(first: datetime, last: datetime) -> str:
    """From when to when; once where that is one and the same minute."""
    return " – ".join(dict.fromkeys((minute(first), minute(last))))


def second(instant: datetime | None) -> str:
    """An instant of a view (naive UTC) to the second."""
    return _instant(instant, _SECOND)


def local_day(instant: datetime | None) -> str:
    """The day of an instant in the reader's zone."""
    return _instant(instant, _DAY)


def local_short_day(instant: datetime) -> str:
    return _instant(instant, figures.DAY_OF_YEAR)


def clock_time(instant: datetime | None) -> str:
    return _instant(instant, _CLOCK)


def hours_ahead(first: datetime, last: datetime) -> int | None:
    """By how many hours the reader's zone was ahead of UTC between two instants of views; None
    where that changed in between, or by a part of an hour: hours of UTC cannot be shown there."""
    days = [first + timedelta(it) for it in range((last - first).days + 1)]
    ahead, *changed = {local(it).utcoffset() for it in (*days, last)}
    if ahead is None or changed or ahead % timedelta(hours=1):
        return None
    return ahead // timedelta(hours=1)


def hour(hour: int) -> str:
    """When an hour of a day begins, 0 to 23."""
    begins = datetime(2000, 1, 1, hour, tzinfo=_UTC).replace(tzinfo=None)
    return figures.instant(begins, _CLOCK[language()], _UTC, language())


def day(when: date | None) -> str:
    """A day of a view: a UTC day, so no zone is applied."""
    return figures.NONE if when is None else figures.day(when, _DAY[language()], language())


def short_day(when: date) -> str:
    return figures.day(when, figures.DAY_OF_YEAR[language()], language())


def weekday(number: int) -> str:
    """A day of the week, of which Monday is 0."""
    name: str = dates.get_day_names("wide", locale=locale())[number]
    return name


def month(when: date) -> str:
    """The month of a day of a view, with its year."""
    return figures.month(when, language())


def _instant(instant: datetime | None, patterns: Mapping[Language, str]) -> str:
    if instant is None:
        return figures.NONE
    return figures.instant(instant, patterns[language()], zone(), language())


def second_in(instant: datetime, into: Language, where: ZoneInfo) -> str:
    """An instant to the second, for a file whose reader's language and zone are known."""
    return figures.instant(instant, _SECOND[into], where, into)


def local(instant: datetime) -> datetime:
    """An instant of a view in the reader's zone. At the ends of the calendar, where that zone would
    show a day that does not exist, it is left in UTC."""
    return figures.local(instant, zone())


def number(value: float | None) -> str:
    return figures.number(value, language())


def processes(count: int) -> str:
    """How many review processes, in words."""
    return ngettext("{n} process", "{n} processes", count, n=number(count))


def money(value: float) -> str:
    """An amount of the platform's record, which has decimals and names no currency; the platform's
    is the real."""
    written: str = numbers.format_currency(value, "BRL", locale=locale())
    return written


def separators() -> str:
    """Of numbers that Plotly writes: the decimal point, then what stands between thousands."""
    return numbers.get_decimal_symbol(locale()) + numbers.get_group_symbol(locale())


def share(value: float | None) -> str:
    """A share of one as a percentage with one digit after the comma; a dash for none."""
    return figures.share(value, language())


def change(value: int) -> str:
    """By how much a number went up or down, with its sign."""
    return figures.change(value, language())


def points(change: float | None) -> str | None:
    """A change of a share in percentage points, with its sign; None for none."""
    if change is None:
        return None
    tenths = round(change * 1000)
    written = numbers.format_decimal(tenths / 10, "+0.0;-0.0" if tenths else "0", locale=locale())
    # English has one point and 1.9 points, Portuguese `1,9 ponto`: its many begin at two.
    size = 1 if abs(tenths) == 10 else 2 if abs(tenths) >= 20 else 0
    return ngettext("{n} point", "{n} points", size, n=written)


def seconds(value: float) -> str:
    """A duration, as short as it can be written: 0.4 s, 12 s, 1 min 24 s, 34 min, 2 h, 5 days."""
    whole = round(value)
    if whole < 60:
        amount = numbers.format_decimal(value, "0.#" if value < 10 else "0", locale=locale())
        return f"{amount} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10 and rest:
        return f"{minutes} min {rest} s"
    if value >= 48 * 3600:
        days = numbers.format_decimal(value / 86400, "0", locale=locale())
        return ngettext("{n} day", "{n} days", 2, n=days)
    size, unit = (value / 60, "min") if value < 5400 else (value / 3600, "h")
    return f"{numbers.format_decimal(size, '0', locale=locale())} {unit}"


def time_left(seconds: int | None) -> str:
    """Seconds to a deadline in words, as `pipeline.language.states` says them; a dash for none."""
    return "–" if seconds is None else states.time_left(seconds, language())


def time_badge(seconds: int | None) -> str:
    """The same as a badge: red once it is late."""
    return badge(time_left(seconds), "red" if seconds is not None and seconds <= 0 else "gray")


def value(raw: object) -> str:
    """A value of the platform's record, as plain text."""
    if isinstance(raw, bool):
        return _("yes") if raw else _("no")
    if isinstance(raw, int | float):
        return number(raw)
    # An address that people copy is in fixed width: in code nothing becomes a link.
    return code(raw) if "@" in str(raw) else plain(raw)


def badge(text: str, colour: str, icon: str = "") -> str:
    """Our own words as a chip; text from outside goes through `plain` first."""
    return f":{colour}-badge[{icon} {text}]" if icon else f":{colour}-badge[{text}]"


def muted(text: str) -> str:
    """Our own words, less loud; a caption would be too pale to read (WCAG 1.4.3)."""
    return f":gray[{text}]"


def plain(text: object) -> str:
    """Text from outside, as Markdown that shows it: no link, image or directive in it.

    An address in it, of a page or a person, would be made a link whatever is escaped; an invisible
    joiner breaks it.
    """
    shown = printable(" ".join(str(text).split()))
    still = _ADDRESS.sub(lambda found: f"{found[0]}\N{WORD JOINER}", shown)
    return _MARKUP.sub(r"\\\1", still)


def spoken(markdown: str) -> str:
    """What `plain` was made of, where no Markdown is read; `<` would begin a tag of Plotly's."""
    return re.sub(r"\\(.)", r"\1", markdown).replace("<", "‹")


def code(text: object) -> str:
    """An id from outside in fixed width; its backticks cannot end the span. Streamlit writes what
    begins like the name of an icon otherwise, there too: such a text has the width of others."""
    if ":material/" in str(text):
        return plain(text)
    body = printable(" ".join(str(text).split()))
    fence = "`" * (max((len(run) for run in re.findall(r"`+", body)), default=0) + 1)
    edge = " " if body.startswith("`") or body.endswith("`") else ""
    return f"{fence}{edge}{body}{edge}{fence}"
