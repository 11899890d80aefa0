"""Denials of the last thirty days beside those of the thirty before, and what may be chance."""

import pytest

from tests.support.ledgers import asked
from tests.support.lines import at, seller

NOW = "2026-03-02T00:00:00"
PAIR = {"reason": "A", "detail": "X"}


def denied(instant, *others):
    name = f"{instant}-{others}"
    return seller("denied", f"d{name}", instant, f"s{name}", decision_reasons=[PAIR])


def changes(history):
    [row] = asked(history, "denial_changes", at(NOW))
    return row


def some(before, now):
    return [
        *(denied("2026-01-15T00:00:00Z", number) for number in range(before)),
        *(denied("2026-02-15T00:00:00Z", number) for number in range(now)),
    ]


def test_each_instant_is_in_one_of_the_two_spans_or_in_none():
    row = changes(
        [
            denied("2026-01-01T00:00:00Z"),  # sixty days before
            denied("2026-01-01T00:00:00.000001Z"),
            denied("2026-01-31T00:00:00Z"),  # thirty
            denied("2026-01-31T00:00:00.000001Z"),
            denied("2026-03-02T00:00:00Z"),
        ]
    )
    assert (row["denials_now"], row["denials_before"], row["times"]) == (2, 2, 1.0)


@pytest.mark.parametrize(
    ("before", "now", "is_more"),
    [(10, 20, False), (10, 22, True), (20, 10, False), (22, 10, True), (0, 3, False), (0, 4, True)],
)
def test_what_is_more_than_chance_has_no_1_in_its_interval(before, now, is_more):
    assert changes(some(before, now))["is_more_than_chance"] is is_more


def test_the_interval_is_that_of_the_part_that_came_last():
    """By hand: of 30 denials 20 came last; Wilson's interval of 2/3 is 0.4878 to 0.8077."""
    row = changes(some(10, 20))
    assert row["times"] == 2.0
    assert row["times_low"] == pytest.approx(0.9523, abs=1e-3)
    assert row["times_high"] == pytest.approx(4.2002, abs=1e-2)
    new = changes(some(0, 4))
    assert (new["times"], new["times_high"]) == (None, None)
    gone = changes(some(4, 0))
    assert (gone["times"], gone["times_low"]) == (0.0, 0.0)
