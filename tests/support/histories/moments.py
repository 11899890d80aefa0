"""Instants from one small pool, and their spellings."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from tests.support.oracle.contract import REVIEW_TYPES

START = datetime(2026, 3, 1, 12, tzinfo=UTC).replace(tzinfo=None)
TICK = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

HOT = [START, START + HOUR, START + DAY, START + 30 * DAY, START + 60 * DAY]
OFFSETS = [
    -DAY,
    timedelta(seconds=5),
    timedelta(seconds=60),
    timedelta(seconds=180),
    2 * HOUR,
    12 * HOUR - TICK,  # the last microsecond of the first day
    12 * HOUR,
    25 * HOUR,
    2 * DAY,
    29 * DAY,
    31 * DAY,
    59 * DAY,
    61 * DAY,
]
COLD = [START + offset for offset in OFFSETS]


def moments() -> st.SearchStrategy[datetime]:
    """Mostly one of five instants; sometimes another, or one a microsecond off."""
    near = st.builds(
        lambda moment, ticks: moment + ticks * TICK,
        st.sampled_from(HOT + COLD),
        st.sampled_from([-1, 1]),
    )
    return st.one_of(st.sampled_from(HOT), st.sampled_from(HOT + COLD), near)


def early_moments() -> st.SearchStrategy[datetime]:
    """When processes open: within the first day, so that clocks have time to run."""
    return st.sampled_from([START, START, START + TICK, START + HOUR, START + DAY])


def deadlines() -> st.SearchStrategy[datetime]:
    """At the contract's distance from an opening, at its tolerance of a day, or past either."""
    usual = [it.total for it in REVIEW_TYPES.values()]
    distances = [*usual, *usual, 29 * DAY, 31 * DAY, 61 * DAY, 45 * DAY]
    return st.builds(
        lambda opened, distance, ticks: opened + distance + ticks * TICK,
        early_moments(),
        st.sampled_from(distances),
        st.sampled_from([0, 0, 0, -1, 1]),
    )


def spelled(
    moment: st.SearchStrategy[datetime], with_offset: bool = False
) -> st.SearchStrategy[str]:
    """One instant in one of its spellings; without an offset it is UTC."""
    spellings = [in_zulu, in_zulu, in_zulu, in_utc, in_brasilia, in_kathmandu, in_nine_digits]
    if not with_offset:
        spellings.append(without_offset)
    return st.builds(lambda at, spell: spell(at), moment, st.sampled_from(spellings))


def in_zulu(moment: datetime) -> str:
    return moment.isoformat() + "Z"


def in_utc(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds") + "+00:00"


def in_brasilia(moment: datetime) -> str:
    return (moment - 3 * HOUR).isoformat(timespec="microseconds") + "-03:00"


def in_kathmandu(moment: datetime) -> str:
    return (moment + timedelta(hours=5, minutes=45)).isoformat() + "+05:45"


def in_nine_digits(moment: datetime) -> str:
    """Digits past the microsecond, which are cut and not rounded."""
    return moment.isoformat(timespec="microseconds") + "999Z"


def without_offset(moment: datetime) -> str:
    return moment.isoformat()
