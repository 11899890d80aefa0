"""When attempts fail, what the next one comes to, and how long it takes to the accepted one."""

from datetime import date

import pytest

from tests.support.ledgers import asked
from tests.support.lines import at, finished, started

MARCH, APRIL = date(2026, 3, 1), date(2026, 4, 1)
NOW = "2026-04-20T00:00:00"


def attempts(process_id, *ends, start="2026-03-02T08:00:00Z"):
    """`ends`: status, or None while it is in flight, and the letter that stands for its bytes, or
    None where they are lost; each starts on the hour and takes a minute."""
    lines = []
    day, hour = start[:11], int(start[11:13])
    for number, (status, letter) in enumerate(ends):
        names = {"attempt_id": f"{process_id}-{number}", "process_id": process_id}
        at_hour = f"{day}{hour + number:02}"
        body = None if letter is None else {"is": letter}
        lines.append(started(**names, occurred_at=f"{at_hour}:00:00Z", body=body))
        if status is not None:
            lines.append(finished(**names, status=status, occurred_at=f"{at_hour}:01:00Z"))
    return lines


def table(history, view, as_of=NOW):
    return [tuple(row.values()) for row in asked(history, view, at(as_of))]


def test_what_follows_a_failure_is_counted_by_whether_the_bytes_are_the_same():
    history = [
        *attempts("p1", (500, "a"), (500, "a"), (200, "a")),
        *attempts("p2", (400, "a"), (400, "a"), (200, "b")),
        *attempts("p3", (500, "a"), (400, "b")),
        *attempts("p4", (200, "a"), (500, "a"), (200, "a")),  # after a 200 nothing counts as failed
        *attempts("p5", (500, "a"), (None, "a")),
    ]
    assert table(history, "retries_by_outcome") == [
        # The one in flight has no outcome before its minute is over, and is unknown afterwards.
        ("invalid_payload", 3, 1, 0, 0.0, 1, "p2", 1, 1, 1.0),
        ("platform_error", 4, 3, 1, 1 / 3, 2, "p1", 1, 0, 0.0),
        ("unknown", 1, 0, 0, None, 0, None, 0, 0, None),
    ]
    assert table(history, "retries_by_outcome", "2026-03-02T09:00:30")[1:] == [
        ("platform_error", 3, 0, 0, None, 0, None, 0, 0, None)
    ]


@pytest.mark.parametrize(("earlier", "later"), [(None, None), ("a", None), (None, "a")])
def test_lost_bytes_are_neither_the_same_nor_others(earlier, later):
    history = attempts("p1", (500, earlier), (200, later))
    found = table(history, "retries_by_outcome")
    assert found == [("platform_error", 1, 0, 0, None, 0, None, 0, 0, None)]


def test_time_from_the_first_failure_counts_once_where_several_waited_at_once():
    """`p1` from 8:00 to 10:01, `p2` from 9:00 to 10:01, `p3` from 12:00 to 13:01."""
    history = [
        *attempts("p1", (500, "a"), (400, "a"), (200, "a")),
        *attempts("p2", (500, "a"), (200, "a"), start="2026-03-02T09:00:00Z"),
        *attempts("p3", (500, "a"), (200, "a"), start="2026-03-02T12:00:00Z"),
        *attempts("p4", (500, "a"), (500, "a")),
        *attempts("p5", (400, "a"), start="2026-04-01T00:00:00Z"),
        *attempts("p6", (200, "a"), (500, "a")),
    ]
    hour, minute = 3600.0, 60.0
    assert table(history, "failure_time_by_month") == [
        (
            *(MARCH, "platform_error", 4, 3),
            *(4 * hour + 3 * minute, 3 * hour + 2 * minute, hour + 60),
            *(49 * 24 * hour - 8 * hour, True),  # of `p4`, until now
        ),
        (APRIL, "invalid_payload", 1, 0, None, None, None, 19 * 24 * hour, False),
    ]
    assert [row[0::4] for row in table(history, "failure_times")] == [
        ("p1", 2 * hour + minute),
        ("p2", hour + minute),
        ("p3", hour + minute),
    ]


@pytest.mark.parametrize(
    ("as_of", "hours"),
    [
        ("2026-03-02T08:00:30", [(8, "in_flight", 1, 1.0, 0, None)]),
        (
            "2026-03-30T07:59:59",
            [(8, "platform_error", 1, 1.0, 1, "p1"), (9, "accepted", 1, 1.0, 0, None)],
        ),
        ("2026-03-30T08:00:00", [(9, "accepted", 1, 1.0, 0, None)]),  # 28 days later
    ],
)
def test_an_hour_counts_the_attempts_of_the_last_four_weeks(as_of, hours):
    history = attempts("p1", (500, "a"), (200, "a"))
    assert table(history, "outcomes_by_hour", as_of) == hours


def a_day(day, failed, accepted):
    """Attempts of one process each, at noon."""
    statuses = [500] * failed + [200] * accepted
    return [
        line
        for number, status in enumerate(statuses)
        for line in attempts(f"{day}-{number}", (status, "a"), start=f"2026-{day}T12:00:00Z")
    ]


@pytest.mark.parametrize(
    ("outage", "other", "days"),
    [
        ((28, 2), (2, 18), ["04-10"]),
        ((9, 0), (2, 18), []),  # of so few it says nothing
        ((10, 0), (2, 18), ["04-10"]),
        ((3, 9), (2, 18), []),  # a quarter after a tenth may be chance
        ((28, 2), (0, 0), []),  # beside which others?
    ],
)
def test_a_day_stands_out_by_more_than_chance_and_more_than_a_few(outage, other, days):
    history = [*a_day("04-10", *outage), *a_day("04-12", *other)]
    found = [f"{row[0]:%m-%d}" for row in table(history, "failures_by_day") if row[-1]]
    assert found == days


def test_of_failures_the_process_with_most_of_them_is_named():
    """On 10 April two are of `p1` and two of `p2`, from nine to ten one of each, and a day later
    one of `p0`: the first by id comes first. An accepted attempt is of none."""
    history = [
        *attempts("p1", (500, "a"), (500, "a"), (200, "a"), start="2026-04-10T08:00:00Z"),
        *attempts("p2", (500, "a"), (400, "a"), (200, "b"), start="2026-04-10T09:00:00Z"),
        *attempts("p0", (500, "a"), start="2026-04-11T09:00:00Z"),
    ]
    by_hour = {row[0]: row[-2:] for row in table(history, "outcomes_by_hour")}
    assert by_hour == {8: (1, "p1"), 9: (1, "p0"), 10: (1, "p2"), 11: (0, None)}
    by_day = [row[-3:-1] for row in sorted(table(history, "failures_by_day"))]
    assert by_day == [(2, "p1"), (1, "p0")]


def test_a_week_begins_on_monday():
    """1 March 2026 was a Sunday."""
    history = [
        *attempts("p1", (500, "a"), start="2026-03-01T23:00:00Z"),
        *attempts("p2", (500, "a"), start="2026-03-02T00:00:00Z"),
        *attempts("p3", (500, "a"), start="2026-03-08T23:00:00Z"),
    ]
    assert table(history, "outcomes_by_week") == [
        (date(2026, 2, 23), "platform_error", 1),
        (date(2026, 3, 2), "platform_error", 2),
    ]
