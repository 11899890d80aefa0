"""Instants: which texts are one, which microsecond they are, and how they are written again."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import instants
from tests.support.oracle import reading

unhurried = settings(deadline=None)  # the machine may be busy

FIRST = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z
LAST = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z
FIRST_OF_MARCH = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z

every_instant = st.integers(FIRST, LAST)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-03-01T00:00:00Z", FIRST_OF_MARCH),
        ("2026-03-01T00:00:00z", FIRST_OF_MARCH),
        ("2026-03-01t00:00:00Z", FIRST_OF_MARCH),
        ("2026-03-01 00:00:00Z", FIRST_OF_MARCH),
        # Without an offset it is UTC.
        ("2026-03-01T00:00:00", FIRST_OF_MARCH),
        ("2026-03-01T00:00", FIRST_OF_MARCH),
        # Offsets, in every spelling.
        ("2026-02-28T21:00:00-03:00", FIRST_OF_MARCH),
        ("2026-02-28T21:00:00-0300", FIRST_OF_MARCH),
        ("2026-02-28T21:00:00-03", FIRST_OF_MARCH),
        ("2026-03-01T05:45:00+05:45", FIRST_OF_MARCH),
        ("2026-03-01T00:00:00+00:00", FIRST_OF_MARCH),
        ("2026-03-01T00:00:00-00:00", FIRST_OF_MARCH),
        ("2026-03-01T23:59:00+23:59", FIRST_OF_MARCH),
        # Fractions: as many digits as there are; past the microsecond they are cut.
        ("2026-03-01T00:00:00.5Z", FIRST_OF_MARCH + 500_000),
        ("2026-03-01T00:00:00,5Z", FIRST_OF_MARCH + 500_000),
        ("2026-03-01T00:00:00.000001Z", FIRST_OF_MARCH + 1),
        ("2026-03-01T00:00:00.0000019Z", FIRST_OF_MARCH + 1),
        ("2026-03-01T00:00:00.999999999Z", FIRST_OF_MARCH + 999_999),
        ("2026-02-28T21:00:00.123-03:00", FIRST_OF_MARCH + 123_000),
        # Cut towards the past also before 1970.
        ("1969-12-31T23:59:59.9999999Z", -1),
        ("1969-12-31T23:59:59.9Z", -100_000),
        # The end of a day is the start of the next, and a leap second the second after 59.
        ("2026-02-28T24:00:00Z", FIRST_OF_MARCH),
        ("2026-02-28T24:00:00.000Z", FIRST_OF_MARCH),
        ("2026-02-28T24:00Z", FIRST_OF_MARCH),
        ("2026-12-31T24:00Z", 1_798_761_600_000_000),
        ("2026-02-28 24:00", FIRST_OF_MARCH),
        ("2026-02-28T23:59:60Z", FIRST_OF_MARCH),
        ("2026-02-28T20:59:60.25-03:00", FIRST_OF_MARCH + 250_000),
        # The basic format, without separators.
        ("20260301T000000Z", FIRST_OF_MARCH),
        ("20260301T0000", FIRST_OF_MARCH),
        ("20260228t210000.5-0300", FIRST_OF_MARCH + 500_000),
        ("20260228T240000Z", FIRST_OF_MARCH),
        # The calendar: leap days, and its two ends.
        ("2024-02-29T00:00:00Z", 1_709_164_800_000_000),
        ("2000-02-29T12:00:00Z", 951_825_600_000_000),
        ("0001-01-01T00:00:00Z", FIRST),
        ("9999-12-31T23:59:59.999999Z", LAST),
        ("0001-01-01T03:00:00+03:00", FIRST),
    ],
)
def test_a_date_and_time_is_read_to_the_microsecond(text: str, instant: int):
    assert instants.parse(text) == instant
    as_the_oracle_reads_it = reading.instant(text).replace(tzinfo=UTC)
    assert as_the_oracle_reads_it == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
        microseconds=instant
    )


def test_no_long_text_is_kept_once_it_is_read():
    """Of 256 deliveries with a megabyte of digits as an instant, the follower kept all for good."""
    instants._remembered.cache_clear()
    assert instants.parse("2026-03-01T00:00:00." + "0" * 10_000 + "Z") == 1_772_323_200_000_000
    assert instants.parse("2026-03-01 " * 10_000) is None
    assert instants._remembered.cache_info().currsize == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-01",  # a date alone is not an instant
        "2026-03-01T",
        "2026-03-01T00",
        "2026-03-01T00:00.5Z",  # a fraction of a minute
        "2026-03-01T00:00:00.Z",
        "2026-03-01T24:00:01Z",
        "2026-03-01T00:60:00Z",
        "2026-03-01T24:00:00.5Z",
        "2026-03-01T24:01Z",
        "9999-12-31T24:00:00Z",  # after the last day
        "2026-03-01T23:59:61Z",
        "2026-02-29T00:00:00Z",
        "2025-13-01T00:00:00Z",
        "2026-00-10T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "-0001-01-01T00:00:00Z",
        "26-03-01T00:00:00Z",
        "2026-3-1T00:00:00Z",
        "20260301",
        "20260301T00Z",
        "20260301T00:00:00Z",  # half basic, half extended
        "2026-03-01T000000Z",
        "2026-W09-7T00:00:00Z",
        "2026-03-01T00:00:00+24:00",
        "2026-03-01T00:00:00+00:60",
        "2026-03-01T00:00:00.000-01:99",
        "2026-03-01T00:00:00+3:00",
        "2026-03-01T00:00:00 Z",
        "2026-03-01T00:00:00 America/Sao_Paulo",
        " 2026-03-01T00:00:00Z",
        "2026-03-01T00:00:00Z\n",
        "2026-03-01T00:00:00Z\0",
        "２０２６-03-01T00:00:00Z",  # digits, but not ASCII
        "1772323200",  # seconds or milliseconds: nothing says which
        "1772323200000",
        "now",
        # A legal local time that its offset pushes out of the calendar.
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
    ],
)
def test_any_other_text_is_not_an_instant(text: str):
    assert instants.parse(text) is None
    assert reading.instant(text) is None


@pytest.mark.parametrize("value", [None, 0, 1_772_323_200, 1.5, True, [], {}, b"2026-03-01T00:00Z"])
def test_only_a_text_is_an_instant(value: object):
    assert instants.parse(value) is None


@unhurried
@given(
    date=st.sampled_from(["0001-01-01", "2026-02-29", "2026-03-01", "9999-12-31", "2026-13-00"]),
    clock=st.lists(
        st.sampled_from(["00", "01", "23", "24", "59", "60", "99"]), min_size=5, max_size=5
    ),
    fraction=st.sampled_from(["", ".5", ".000", ".123", ".999999", ".9999999"]),
    sign=st.sampled_from("+-"),
)
def test_a_text_in_the_usual_spelling_is_the_instant_that_it_is_without_separators(
    date: str, clock: list[str], fraction: str, sign: str
):
    hour, minute, second, *offset = clock
    usual = f"{date}T{hour}:{minute}:{second}{fraction}{sign}{':'.join(offset)}"
    basic = f"{date.replace('-', '')}T{hour}{minute}{second}{fraction}{sign}{''.join(offset)}"
    assert instants.parse(usual) == instants.parse(basic)


@unhurried
@given(text=st.one_of(st.text(), st.from_regex(r"[-0-9Tt :.,+Zz]{0,40}", fullmatch=True)))
def test_any_text_gives_an_instant_of_the_calendar_or_none(text: str):
    instant = instants.parse(text)
    assert instant is None or FIRST <= instant <= LAST


@pytest.mark.parametrize(
    ("instant", "canonical", "readable"),
    [
        (0, "1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
        (1, "1970-01-01T00:00:00.000001Z", "1970-01-01T00:00:00.000001Z"),
        (FIRST_OF_MARCH, "2026-03-01T00:00:00.000000Z", "2026-03-01T00:00:00Z"),
        (FIRST_OF_MARCH + 500_000, "2026-03-01T00:00:00.500000Z", "2026-03-01T00:00:00.5Z"),
        (951_782_400_000_000, "2000-02-29T00:00:00.000000Z", "2000-02-29T00:00:00Z"),
        # Trailing zeros of the clock are not a fraction.
        (FIRST_OF_MARCH + 36_000_000_000, "2026-03-01T10:00:00.000000Z", "2026-03-01T10:00:00Z"),
        (FIRST, "0001-01-01T00:00:00.000000Z", "0001-01-01T00:00:00Z"),
        (LAST, "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_an_instant_has_one_canonical_and_one_readable_spelling(
    instant: int, canonical: str, readable: str
):
    assert instants.canonical(instant) == canonical
    assert instants.readable(instant) == readable


@unhurried
@given(instant=every_instant)
def test_what_is_written_is_read_back(instant: int):
    assert instants.parse(instants.canonical(instant)) == instant
    assert instants.parse(instants.readable(instant)) == instant
    assert instants.from_datetime(instants.of(instant)) == instant


@unhurried
@given(earlier=every_instant, later=every_instant)
def test_canonical_texts_sort_as_their_instants_do(earlier: int, later: int):
    earlier, later = sorted((earlier, later))
    assert instants.canonical(earlier) <= instants.canonical(later)


@pytest.mark.parametrize("instant", [FIRST - 1, LAST + 1])
def test_outside_of_the_calendar_there_is_no_spelling(instant: int):
    with pytest.raises(OverflowError):
        instants.canonical(instant)


def test_a_naive_datetime_is_utc_and_an_aware_one_what_it_says():
    assert instants.from_datetime(datetime(2026, 3, 1)) == FIRST_OF_MARCH  # noqa: DTZ001
    sao_paulo = timezone(timedelta(hours=-3))
    assert instants.from_datetime(datetime(2026, 2, 28, 21, tzinfo=sao_paulo)) == FIRST_OF_MARCH
    assert instants.of(FIRST_OF_MARCH) == datetime(2026, 3, 1, tzinfo=UTC)
    assert instants.naive(FIRST_OF_MARCH) == datetime.fromisoformat("2026-03-01")


SAO_PAULO = ZoneInfo("America/Sao_Paulo")
NOON = instants.parse("2026-09-01T12:00:00Z") or 0


def at(text: str) -> int:
    found = instants.parse(text)
    assert found is not None
    return found


def test_a_day_that_a_person_asks_for_begins_and_ends_in_their_zone() -> None:
    """`prazo export --from 2026-09-01` said that this is not an instant, and a page with
    ?as_of=2026-09-01 showed the present."""
    assert instants.starting("2026-09-01", SAO_PAULO) == at("2026-09-01T03:00:00Z")
    assert instants.starting("2026-09-01", UTC) == at("2026-09-01T00:00:00Z")
    assert instants.ending("2026-08-31", SAO_PAULO, NOON) == at("2026-09-01T02:59:59.999999Z")
    assert instants.ending("2026-09-02", SAO_PAULO, NOON) == at("2026-09-03T02:59:59.999999Z")


def test_a_day_that_is_not_over_ends_now() -> None:
    assert instants.ending("2026-09-01", SAO_PAULO, NOON) == NOON
    assert instants.ending("2026-08-31", SAO_PAULO, at("2026-09-01T02:00:00Z")) == at(
        "2026-09-01T02:00:00Z"
    )


def test_a_day_without_a_midnight_begins_when_its_clocks_do() -> None:
    """In 2018 summer time began in Brazil at midnight, which was one o'clock at once."""
    assert instants.starting("2018-11-04", SAO_PAULO) == at("2018-11-04T03:00:00Z")


def test_an_instant_that_a_person_asks_for_is_read_like_any_other() -> None:
    for text in ("2026-09-01T09:00:00-03:00", "2026-09-01T12:00Z", "2026-09-01T12:00:00"):
        assert instants.starting(text, SAO_PAULO) == instants.ending(text, SAO_PAULO, 0) == NOON


@pytest.mark.parametrize(
    "text",
    ["2026-02-30", "2026-9-1", "20260901", "2026-09", "yesterday", "", "0001-01-01", "9999-12-31"],
)
def test_a_day_that_the_calendar_lacks_is_none(text: str) -> None:
    assert instants.starting(text, ZoneInfo("Asia/Tokyo")) is None
    assert instants.ending(text, ZoneInfo("Asia/Tokyo"), NOON) is None
