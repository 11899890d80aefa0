"""The lists of processes.

Each expected value is written by hand from docs/rules.md, and asked of views and oracle alike.
"""

from datetime import date

from tests.rules.builders import aci, review
from tests.support.ledgers import asked
from tests.support.lines import at, finished, started


def test_the_watchlist_holds_overdue_and_expired_worst_first():
    history = [
        review("e1", process_id="pending"),
        aci("e2", process_id="due later", deadline_at="2026-04-30T00:00:00Z"),
        aci("e3", process_id="due sooner"),
        aci("e4", process_id="late", deadline_at="2026-03-02T00:00:00Z"),
        aci("e5", process_id="reported", deadline_at="2026-05-01T00:00:00Z", status="EXPIRED"),
    ]
    as_of = at("2026-03-03T00:00:00")
    watched = asked(history, "watchlist", as_of)
    assert [row["process_id"] for row in watched] == ["late", "reported", "due sooner", "due later"]
    expired = asked(history, "expired_processes", as_of)
    assert [row["process_id"] for row in expired] == ["late", "reported"]


def test_the_calendar_counts_unfinished_processes_by_utc_day_of_deadline():
    history = [
        review("e1", process_id="p1", deadline_at="2026-04-30T23:59:59.999999Z"),
        aci("e2", process_id="p2", deadline_at="2026-04-30T22:00:00-03:00"),
        aci("e3", process_id="p3", deadline_at="2026-03-02T00:00:00Z", type="SOMETHING_NEW"),
        review("e4", process_id="p4", status="FINISHED"),
    ]
    assert asked(history, "deadline_calendar", at("2026-03-10T00:00:00")) == [
        {"day": date(2026, 3, 2), "due": 1, "due_acp": 0, "due_aci": 0},
        {"day": date(2026, 4, 30), "due": 1, "due_acp": 1, "due_aci": 0},
        {"day": date(2026, 5, 1), "due": 1, "due_acp": 0, "due_aci": 1},
    ]


def test_state_daily_shows_each_day_as_it_stood_at_its_last_microsecond():
    history = [
        aci(occurred_at="2026-03-02T00:00:00Z", deadline_at="2026-03-03T00:00:00Z"),
        started(process_id="p9"),
        finished(process_id="p9"),
    ]
    rows = asked(history, "state_daily", at("2026-03-03T00:00:00"))
    assert rows == [
        {"day": date(2026, 3, 1), "pending": 0, "overdue": 0, "expired": 0, "finished": 0},
        {"day": date(2026, 3, 2), "pending": 0, "overdue": 1, "expired": 0, "finished": 0},
        {"day": date(2026, 3, 3), "pending": 0, "overdue": 0, "expired": 1, "finished": 0},
    ]
    assert asked(history, "state_daily", at("2026-03-01T23:59:59.999999")) == []
