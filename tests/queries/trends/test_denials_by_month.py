"""What became of the sellers denied in a month, each given the same 60 days."""

from datetime import date

import pytest

from tests.support.ledgers import asked
from tests.support.lines import at, seller

JANUARY, FEBRUARY = date(2026, 1, 1), date(2026, 2, 1)
A, B = {"reason": "A", "detail": "X"}, {"reason": "B"}
DENIED = "2026-01-10T12:00:00Z"
OVER = "2026-03-11T12:00:00"
"""Sixty days later."""


def denied(event_id, instant=DENIED, seller_id="s1", pairs=(A,), **record):
    record = {"taxpayer_id": "1-1", **record}
    return seller("denied", event_id, instant, seller_id, decision_reasons=[*pairs], **record)


def created(instant, seller_id="t1", taxpayer_id="11"):
    line = seller("created", f"c-{seller_id}", instant, seller_id, taxpayer_id=taxpayer_id)
    line["body"]["payload"]["object"]["created_at"] = instant
    return line


def enabled(instant, seller_id="t1", event="v"):
    return seller("enabled", f"{event}-{seller_id}", instant, seller_id)


def months(history, as_of=OVER):
    return [tuple(row.values()) for row in asked(history, "denials_by_month", at(as_of))]


def fared(history, as_of=OVER):
    """Followed, re-onboarded, cured, and the seconds that took, of the first row."""
    return months(history, as_of)[0][6:10]


def test_a_denial_counts_once_for_each_of_its_reasons_and_a_seller_once_a_month():
    history = [
        denied("d1", pairs=[A, B, A], retry=True),
        denied("d2", "2026-01-31T23:59:59.999999Z", retry=False),
        denied("d3", "2026-01-12T00:00:00Z", "s2", retry=True),
        denied("d4", "2026-02-01T00:00:00Z", "s2"),
        denied("d5", "2026-02-02T00:00:00Z", "s3", pairs=[]),
    ]
    assert [row[:6] for row in months(history)] == [
        (JANUARY, "A", "X", 3, 2, 2),
        (JANUARY, "B", None, 1, 1, 1),
        (FEBRUARY, "A", "X", 1, 0, 1),
    ]


BACK, CURED = "2026-01-20T12:00:00Z", "2026-01-25T12:00:00Z"
LAST = "2026-03-11T12:00:00Z"
TOO_LATE = "2026-03-11T12:00:00.000001Z"
DAY = 86400.0

FATES = {
    "gone": ([], (1, 0, 0, None)),
    "back": ([created(BACK)], (1, 1, 0, None)),
    "cured": ([created(BACK), enabled(CURED)], (1, 1, 1, 15 * DAY)),
    "at the very denial": ([created(DENIED), enabled(CURED)], (1, 0, 0, None)),
    "on the last instant": ([created(LAST), enabled(LAST)], (1, 1, 1, 60 * DAY)),
    "too late": ([created(TOO_LATE)], (1, 0, 0, None)),
    "cured too late": ([created(BACK), enabled(TOO_LATE)], (1, 1, 0, None)),
    "another tax id": ([created(BACK, taxpayer_id="12"), enabled(CURED)], (1, 0, 0, None)),
    "enabled itself": ([enabled(CURED, "s1")], (1, 0, 0, None)),
    "one enabled, another created in time": (
        [created(BACK), created(TOO_LATE, "t2"), enabled(CURED, "t2")],
        (1, 1, 0, None),
    ),
    "by the first of several": (
        [created(BACK), created(CURED, "t2"), enabled(LAST), enabled("2026-01-26T12:00:00Z", "t2")],
        (1, 1, 1, 16 * DAY),
    ),
    "by the first time after the denial": (
        [created(BACK), enabled(DENIED), enabled(CURED, event="w")],
        (1, 1, 1, 15 * DAY),
    ),
    "from its first denial in the month": (
        [denied("d0", "2026-01-15T00:00:00Z"), created("2026-01-12T00:00:00Z"), enabled(CURED)],
        (1, 1, 1, 15 * DAY),
    ),
}


@pytest.mark.parametrize(("lines", "expected"), FATES.values(), ids=FATES)
def test_sellers_are_followed_for_sixty_days(lines, expected):
    assert fared([denied("d1"), *lines], "2026-06-01T00:00:00") == expected


def test_nobody_is_followed_before_the_sixty_days_are_over_or_without_a_tax_id():
    history = [denied("d1"), created(BACK), enabled(CURED)]
    assert fared(history, "2026-03-11T11:59:59.999999") == (0, 0, 0, None)
    assert fared(history) == (1, 1, 1, 15 * DAY)
    assert fared([denied("d1", taxpayer_id="-"), created(BACK, taxpayer_id="-")]) == (
        *(0, 0, 0, None),
    )


def test_each_month_follows_from_its_own_first_denial():
    history = [
        denied("d1"),
        denied("d2", "2026-02-10T12:00:00Z"),
        created("2026-02-05T12:00:00Z"),
        enabled("2026-02-20T12:00:00Z"),
    ]
    found = months(history, "2026-06-01T00:00:00")
    assert [row[6:] for row in found] == [
        (1, 1, 1, 41 * DAY, 1.0, 1.0),
        (1, 0, 0, None, 0.0, None),
    ]


def test_rates_count_sellers_and_the_median_is_the_lower_of_two():
    history = [
        *(denied(f"d{it}", seller_id=f"s{it}", taxpayer_id=f"{it}") for it in range(4)),
        denied("d9", seller_id="s0", taxpayer_id="0"),
        *(created(BACK, f"t{it}", taxpayer_id=f"{it}") for it in range(3)),
        enabled("2026-01-22T12:00:00Z", "t0"),
        enabled("2026-01-24T12:00:00Z", "t1"),
    ]
    assert months(history) == [
        (JANUARY, "A", "X", 5, 0, 4, 4, 3, 2, 12 * DAY, 3 / 4, 2 / 3),
    ]
