"""A `Retry-After` is read as RFC 9110 writes it, and anything else names no instant."""

import pytest

from pipeline import instants
from pipeline.http.outgoing.retry_after import retry_after


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7),
        (" 0 ", 0),
        ("0" * 20 + "7", 7),
        ("5, 7,6", 7),
        ("7,", 7),
        ("7, soon", 7),
        ("7, Sun, 01 Mar 2026 12:00:30 GMT", 30),
        ("Sun, 01 Mar 2026 12:00:30 GMT, 40", 40),
        ("Sun, 01 Mar 2026 12:00:20 GMT, Sun, 01 Mar 2026 12:00:30 GMT", 30),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30),
        ("Sun, 01 Mar 2026 12:00:60 GMT", 60),
        ("Sunday, 01-Mar-26 12:00:60 GMT", 60),
        ("Sun Mar  1 12:00:60 2026", 60),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str | None, seconds: int | None) -> None:
    noon = 1_772_366_400_000_000  # 2026-03-01T12:00:00Z
    expected = None if seconds is None else noon + seconds * 1_000_000
    assert retry_after(text, noon) == expected


@pytest.mark.parametrize(
    "text",
    ["9" * 40, "Fri, 31 Dec 9999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 -0100"],
)
def test_a_retry_after_beyond_reason_stays_an_instant(text: str) -> None:
    """A date whose offset led out of the calendar could not be written into the log."""
    asked = retry_after(text, 0)
    assert asked == 10 * 366 * 86_400 * 1_000_000
    assert instants.parse(instants.canonical(asked)) == asked
