"""How often the first attempt was enough and how long a failure lasted, week by week."""

from datetime import date

from tests.support.ledgers import ledger_of, rows
from tests.support.lines import at, finished, started


def attempts(process_id: str, *ends: tuple[str, str, int]) -> list[dict]:
    """`ends`: when an attempt started and finished, and its status."""
    lines = []
    for number, (start, finish, status) in enumerate(ends):
        names = {"attempt_id": f"{process_id}-{number}", "process_id": process_id}
        lines += [
            started(**names, occurred_at=start),
            finished(**names, occurred_at=finish, status=status),
        ]
    return lines


HISTORY = [
    # Of the week that ends on Saturday, 7 March: accepted at once; an hour after its first failure;
    # two days after it, in the next week; never.
    *attempts("p1", ("2026-03-02T08:00:00Z", "2026-03-02T08:00:01Z", 200)),
    *attempts(
        "p2",
        ("2026-03-02T09:00:00Z", "2026-03-02T09:00:02Z", 500),
        ("2026-03-02T09:30:00Z", "2026-03-02T09:30:02Z", 503),
        ("2026-03-02T09:59:59Z", "2026-03-02T10:00:00Z", 200),
    ),
    *attempts(
        "p3",
        ("2026-03-07T23:59:59Z", "2026-03-08T00:00:01Z", 400),
        ("2026-03-09T23:59:58Z", "2026-03-09T23:59:59Z", 200),
    ),
    *attempts("p4", ("2026-03-03T00:00:00Z", "2026-03-03T00:00:01Z", 400)),
    # Of the next: what fails after the 200 counts as no failure.
    *attempts(
        "p5",
        ("2026-03-08T00:00:00Z", "2026-03-08T00:00:01Z", 200),
        ("2026-03-08T00:01:00Z", "2026-03-08T00:01:01Z", 409),
    ),
]


def test_processes_count_in_the_week_of_their_first_attempt_with_what_became_of_them_since() -> (
    None
):
    """An analyst saw one rate over all time, and not whether it was getting better."""
    with ledger_of(HISTORY) as reader:
        weeks = rows(reader, "submission_weeks", at("2026-03-14T12:00:00"))
        before = rows(reader, "submission_weeks", at("2026-03-07T23:59:59.500000"))
        [retries] = rows(reader, "submission_retries", at("2026-03-14T12:00:00"))
        [figures] = rows(reader, "submission_figures", at("2026-03-14T12:00:00"))
    assert len(weeks) == 12
    assert list(weeks[0].values()) == [date(2025, 12, 27), 0, 0, None, 0, 0, 0, 0, None, None]
    assert [list(row.values()) for row in weeks[-2:]] == [
        # 3600 s and 172,800 s: of two the lower one is the median.
        [date(2026, 3, 7), 4, 1, 0.25, 2, 1, 3, 2, 2 / 3, 3600.0],
        [date(2026, 3, 14), 1, 1, 1.0, 0, 0, 0, 0, None, None],
    ]
    # While the attempt of p3 is under way it has not failed.
    assert list(before[-1].values()) == [date(2026, 3, 7), 4, 1, 0.25, 1, 2, 2, 1, 0.5, 3600.0]
    assert list(retries.values()) == [5, 2, 0.4, 3, 2, 2 / 3]
    assert figures["median_seconds_to_acceptance"] == 3600.0
