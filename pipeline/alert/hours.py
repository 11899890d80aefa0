"""Says when a recipient works: by days, hours, holidays and their own zone."""

import functools
import math
from collections.abc import Container
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from pipeline import instants
from pipeline.alert_rules.recipients import Recipient, WorkingHours, holidays_in

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def is_open(hours: WorkingHours, recipient: Recipient | None, at: int) -> bool:
    """Whether the recipient works at an instant, in microseconds; None: whether anybody does, in
    the hours' own zone. Their zone decides what time it is for them, the marketplace's hours and
    holidays whether that is working time."""
    local = local_time(hours, recipient, at)
    is_time = hours.start <= local.time() < hours.end
    return is_time and is_working_day(hours, local.date())


def next_opening(hours: WorkingHours, recipient: Recipient | None, at: int) -> float:
    """When the recipient begins to work next, after an instant, both in microseconds; None: when
    anybody does. Infinite where nobody works within a year."""
    return _next(hours.start, hours, recipient, at)


def next_digest(hours: WorkingHours, recipient: Recipient, at: int) -> float:
    """When what gathers is sent to the recipient next, after an instant: at the hour of their
    digest on a working day. Infinite where nobody works within a year."""
    return _next(_digest_hour(hours, recipient), hours, recipient, at)


def next_monday(hours: WorkingHours, at: int) -> int:
    """When work begins on the next Monday after an instant, in the hours' own zone, whether that
    Monday is worked on or not."""
    today = local_time(hours, None, at)
    for ahead in range(8):
        day = today.date() + timedelta(days=ahead)
        begins = datetime.combine(day, hours.start, today.tzinfo).astimezone(UTC)
        if day.weekday() == 0 and instants.from_datetime(begins) > at:
            break
    return instants.from_datetime(begins)


def is_digest_time(hours: WorkingHours, recipient: Recipient, at: int) -> bool:
    """Whether the hour of the recipient's digest has come on a working day that is not over."""
    local = local_time(hours, recipient, at)
    has_come = local.time() >= _digest_hour(hours, recipient)
    return has_come and is_working_day(hours, local.date())


def _digest_hour(hours: WorkingHours, recipient: Recipient) -> time:
    return hours.start if recipient.digest_at is None else recipient.digest_at


def _next(clock: time, hours: WorkingHours, recipient: Recipient | None, at: int) -> float:
    """The next working day's instant of a time of day, after an instant."""
    today = local_time(hours, recipient, at)
    for ahead in range(366):
        day = today.date() + timedelta(days=ahead)
        begins = datetime.combine(day, clock, today.tzinfo).astimezone(UTC)
        found = instants.from_datetime(begins)
        if found > at and is_working_day(hours, day):
            return found
    return math.inf


def is_working_day(hours: WorkingHours, day: date) -> bool:
    """Whether the marketplace works on a day."""
    return DAYS[day.weekday()] in hours.days and not _is_holiday(hours.holidays, day)


def local_time(hours: WorkingHours, recipient: Recipient | None, at: int) -> datetime:
    """An instant as the recipient's clock shows it; None: the hours' own."""
    zone = ZoneInfo((recipient and recipient.zone) or hours.zone)
    return datetime.fromtimestamp(at / instants.SECOND, zone)


@functools.lru_cache(maxsize=4096)
def _is_holiday(place: str, day: date) -> bool:
    return bool(place) and day in _calendar(place)


@functools.lru_cache(maxsize=8)
def _calendar(place: str) -> Container[date]:
    return holidays_in(place)
