"""Works out the instants that people name: the end of yesterday, last Friday, a month's end. Pure.

Days are those on the reader's wall; what is given back is UTC, as the views write instants.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from app_pages.language.i18n import N_
from pipeline.periods import start_of_day

FRIDAY: Final = 4

ENDS: Final[Mapping[str, str]] = {
    "yesterday": N_("End of yesterday"),
    "friday": N_("Last Friday"),
    "month": N_("End of last month"),
}
STARTS: Final[Mapping[str, str]] = {
    "yesterday": N_("Yesterday"),
    "friday": N_("Friday"),
    "visit": N_("My last visit"),
}


def end_of(name: str, now: datetime, zone: ZoneInfo) -> datetime:
    """The last microsecond of one of the days of `ENDS`."""
    after = start_of_day(_day(name, now, zone) + timedelta(days=1), zone)
    return after - timedelta(microseconds=1)


def start_of(name: str, now: datetime, zone: ZoneInfo) -> datetime:
    """The first microsecond of yesterday or of last Friday."""
    return start_of_day(_day(name, now, zone), zone)


PERIODS: Final[Mapping[str, str]] = {
    "all": N_("Any time"),
    "this_week": N_("This week"),
    "this_month": N_("This month"),
    "last_month": N_("Last month"),
}


def _day(name: str, now: datetime, zone: ZoneInfo) -> date:
    """`now`: naive UTC. A Friday's last Friday is a week ago."""
    today = now.replace(tzinfo=UTC).astimezone(zone).date()
    if name == "month":
        return today.replace(day=1) - timedelta(days=1)
    back = 1 if name == "yesterday" else (today.weekday() - FRIDAY - 1) % 7 + 1
    return today - timedelta(days=back)
