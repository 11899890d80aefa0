"""Works out when the weeks and months that people name begin and end. Pure.

Days begin and end in somebody's time zone; results are naive UTC, as the views write instants.
"""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

Period = tuple[datetime | None, datetime | None]
"""When it begins, and when it is over: that instant is the first beyond it. None: unbounded."""


def period(name: str, now: datetime, zone: ZoneInfo) -> Period:
    """The period this_week, this_month or last_month, in a zone; unbounded for any other name.
    `now`: naive UTC."""
    today = now.replace(tzinfo=UTC).astimezone(zone).date()
    if name == "this_week":
        first = today - timedelta(days=today.weekday())
        beyond = first + timedelta(days=7)
    elif name in ("this_month", "last_month"):
        first = today.replace(day=1)
        if name == "last_month":
            first = (first - timedelta(days=1)).replace(day=1)
        beyond = (first + timedelta(days=31)).replace(day=1)
    else:
        return None, None
    return start_of_day(first, zone), start_of_day(beyond, zone)


def start_of_day(day: date, zone: ZoneInfo) -> datetime:
    """When a day begins in a zone, as naive UTC."""
    return datetime.combine(day, time(), zone).astimezone(UTC).replace(tzinfo=None)


def common(one: Period, other: Period) -> Period:
    """What lies in both periods."""
    firsts, beyonds = (
        [it for it in ends if it is not None] for ends in zip(one, other, strict=True)
    )
    return max(firsts, default=None), min(beyonds, default=None)


def utc_days(first: date, last: date) -> tuple[datetime, datetime]:
    """When the first of these UTC days begins, and when the last ends."""
    return datetime.combine(first, time()), datetime.combine(last + timedelta(days=1), time())
