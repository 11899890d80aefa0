"""A page of a view, or what a filter leaves of it, is that part of the whole, in its order."""

from datetime import UTC
from functools import cache

import pytest

from pipeline import instants
from pipeline.ledger.views import reader as reading
from pipeline.ledger.views.catalogue import catalogue
from tests import depth
from tests.support.ledgers import ledger_of
from tests.support.lines import aci, acp, at, finished, started

AS_OF = instants.from_datetime(at("2026-04-15T00:00:00").replace(tzinfo=UTC))
APRIL = {"deadline_at": "2026-04-10T12:00:00Z"}
JUNE = {"deadline_at": "2026-06-10T12:00:00Z"}

WORST_FIRST = [
    ("p7", "EXPIRED"),  # due on 31 March
    ("p8", "EXPIRED"),
    ("p3", "EXPIRED"),  # due on 10 April
    ("p9", "EXPIRED"),  # due on 10 June, and reported as expired
    ("p1", "OVERDUE"),  # due on 30 April
    ("p2", "OVERDUE"),
    ("p4", "PENDING"),  # due on 10 June
]
SAVABLE_FIRST = [
    ("p1", "OVERDUE"),  # due on 30 April, in 15 days
    ("p2", "OVERDUE"),
    ("p4", "PENDING"),  # due on 10 June
    ("p9", "EXPIRED"),  # likewise: what was reported moves no deadline
    ("p3", "EXPIRED"),  # due on 10 April, 5 days ago
    ("p7", "EXPIRED"),  # due on 31 March
    ("p8", "EXPIRED"),
]


@pytest.fixture(scope="module")
def reader():
    with ledger_of(
        [
            acp("e1", process_id="p1"),
            acp("e2", process_id="p2"),
            aci("e3", "2026-03-11T12:00:00Z", process_id="p3", **APRIL),
            acp("e4", "2026-04-11T12:00:00Z", process_id="p4", **JUNE),
            aci("e7", process_id="p7"),
            aci("e8", process_id="p8"),
            acp("e9", "2026-04-11T12:00:00Z", process_id="p9", status="EXPIRED", **JUNE),
            started("a1", "2026-04-12T12:00:00Z", process_id="p1"),
            finished("a1", 500, "2026-04-12T12:00:01Z", process_id="p1"),
            started("a3", "2026-04-12T12:00:00Z", process_id="p3"),
            finished("a3", 400, "2026-04-12T12:00:01Z", process_id="p3"),
            started("a9", "2026-04-14T23:59:59Z", process_id="p9"),
        ]
    ) as reader:
        yield reader


@pytest.fixture(scope="module")
def whole(reader):
    """All rows of a view."""
    return cache(lambda view: reader.read(view, as_of=AS_OF).to_pylist())


@pytest.mark.parametrize(
    ("view", "listed"), [("watchlist", WORST_FIRST[:6]), ("open_processes", SAVABLE_FIRST)]
)
def test_a_page_is_a_part_of_the_whole(reader, view, listed):
    whole = reader.read(view, as_of=AS_OF).to_pylist()
    assert [(row["process_id"], row["state"]) for row in whole] == listed
    for offset in depth.few(range(len(listed) + 1), 2):
        for limit in depth.few(range(len(listed) + 1), 3):
            page = reader.read(view, as_of=AS_OF, limit=limit, offset=offset).to_pylist()
            assert page == whole[offset : offset + limit]


@pytest.mark.parametrize(
    "where", [{"state": "EXPIRED"}, {"state": "OVERDUE"}, {"review_type": "ACP"}]
)
@pytest.mark.parametrize("limit", [None, 1, 3])
@pytest.mark.parametrize("view", ["watchlist", "open_processes", "process_state"])
def test_what_a_filter_leaves_stands_in_the_same_order(reader, whole, view, limit, where):
    [(column, value)] = where.items()
    found = reader.read(view, as_of=AS_OF, where=where, limit=limit).to_pylist()
    assert found == [row for row in whole(view) if row[column] == value][:limit]


def test_the_views_whose_rows_another_finds():
    assert {it.name: it.reading.found_by for it in catalogue().values() if it.reading.found_by} == {
        "open_processes": "unfinished_states",
        "waiting_submissions": "tried_processes",
    }, "name the view here, and try its pages below"


def test_a_page_of_waiting_submissions_is_the_part_of_the_whole(reader):
    rows = reader.read("waiting_submissions", as_of=AS_OF).to_pylist()
    assert [(row["process_id"], row["last_outcome"]) for row in rows] == [
        ("p3", "invalid_payload"),  # due on 10 April
        ("p1", "platform_error"),  # due on 30 April
        ("p9", "in_flight"),  # due on 10 June
    ]
    assert_pages_are_parts(reader, "waiting_submissions", {})


@pytest.mark.parametrize(
    "asked",
    depth.few(
        [
            {"where": {"state": ["EXPIRED", "OVERDUE"]}},
            {"where": {"state": "EXPIRED"}},
            {"where": {"state": "EXPIRED", "next_action": "start_collection"}},
            {"where": {"is_due_within_7_days": True}},
            {"where": {"process_id": ["p1", "p9"]}},
            {"where": {"review_type": "none"}},
            {"contains": {"process_id": "P"}, "order_by": "deadline_at desc"},
            {"where": {"review_type": "ACP"}, "order_by": "state"},
            {"order_by": "next_action desc"},
            {"between": {"deadline_at": (at("2026-04-10T12:00:00"), None)}},
        ],
        3,
    ),
)
def test_a_page_that_another_view_found_is_the_part_of_the_whole(reader, asked):
    assert_pages_are_parts(reader, "open_processes", asked)


@pytest.mark.parametrize(
    ("then", "unfinished", "waiting"),
    depth.few(
        [
            ("2026-04-12T12:00:00", ["p1", "p2", "p3", "p4", "p7", "p8", "p9"], ["p1", "p3"]),
            ("2026-02-28T12:00:00", [], []),
            ("2026-03-11T12:00:00", ["p1", "p2", "p3", "p7", "p8"], []),
            ("2027-01-01T00:00:00", ["p1", "p2", "p3", "p4", "p7", "p8", "p9"], ["p1", "p3", "p9"]),
        ],
        4,
    ),
)
def test_a_page_at_an_earlier_or_a_later_instant_is_the_part_of_the_whole(
    reader, then, unfinished, waiting
):
    """Materialized rows hold what is so at the end of the log; what had not happened at an earlier
    instant must not find a row then."""
    as_of = instants.from_datetime(at(then).replace(tzinfo=UTC))
    for view, known in [("open_processes", unfinished), ("waiting_submissions", waiting)]:
        rows = reader.read(view, as_of=as_of).to_pylist()
        assert sorted(row["process_id"] for row in rows) == known
        assert_pages_are_parts(reader, view, {}, as_of)


def assert_pages_are_parts(reader, view, asked, as_of=AS_OF):
    every_row = reader.read(view, as_of=as_of, **asked)
    whole = every_row.to_pylist()
    filters = {name: it for name, it in asked.items() if name != "order_by"}
    assert reader.count(view, as_of=as_of, **filters) == len(whole)
    last = max(len(whole) - 1, 0)
    pages = [(3, 0), (0, 0), (1, 0), (2, 1), (9, 0), (1, 9), (9, last), (9, 3)]
    for limit, offset in depth.few(pages, 3):
        page = reader.read(view, as_of=as_of, **asked, limit=limit, offset=offset)
        assert page.to_pylist() == whole[offset : offset + limit]
        assert page.schema == every_row.schema


def test_more_rows_than_are_found_by_their_ids_are_read_as_a_whole(reader, monkeypatch):
    """A statement that named a hundred thousand ids would take longer to plan than all to read."""
    read: list[str] = []
    sql_of = reading._sql

    def noted(snapshot, name, *given):
        read.append(name)
        return sql_of(snapshot, name, *given)

    monkeypatch.setattr(reading, "_sql", noted)
    for limit in (1000, 1001):
        assert reader.read("open_processes", as_of=AS_OF, limit=limit).num_rows == 7
    assert read == ["unfinished_states", "open_processes", "open_processes"]


@pytest.mark.parametrize(
    "asked", [{"where": {"state": "NOPE"}, "limit": 50}, {"limit": 0}, {"limit": 9, "offset": 99}]
)
def test_an_empty_page_is_not_looked_for_among_all_rows(asked, reader, monkeypatch):
    """It took longer than a full one: no id was taken for a question about everything."""
    subjects: list[object] = []
    subject_of = reading._subject

    def noted(view, where):
        subjects.append(subject_of(view, where))
        return subjects[-1]

    monkeypatch.setattr(reading, "_subject", noted)
    page = reader.read("open_processes", as_of=AS_OF, **asked)
    assert (page.num_rows, page.column_names) == (0, list(catalogue()["open_processes"].columns))
    assert subjects[-1] == ("process_id", [])


def test_a_range_takes_its_first_value_and_not_the_first_beyond(reader):
    april = at("2026-04-10T12:00:00"), at("2026-04-30T00:00:00")
    ranges = {"deadline_at": april}
    rows = reader.read("open_processes", as_of=AS_OF, between=ranges).to_pylist()
    assert [row["process_id"] for row in rows] == ["p3"]
    assert reader.count("open_processes", as_of=AS_OF, between=ranges) == 1
    from_june = {"deadline_at": (at("2026-06-10T12:00:00"), None)}
    rows = reader.read("open_processes", as_of=AS_OF, between=from_june, limit=9).to_pylist()
    assert [row["process_id"] for row in rows] == ["p4", "p9"]


def test_rows_that_are_equal_in_what_they_are_sorted_by_are_in_the_order_of_their_key(reader):
    def named(order, offset):
        asked = {"order_by": order, "limit": 2, "offset": offset}
        rows = reader.read("open_processes", as_of=AS_OF, **asked).to_pylist()
        return [row["process_id"] for row in rows]

    pages = [named("state desc", offset) for offset in (0, 2, 4, 6)]
    assert pages == [["p4", "p1"], ["p2", "p3"], ["p7", "p8"], ["p9"]]


def test_groups_count_the_rows_of_each_combination(reader):
    rows = reader.groups("open_processes", ["state", "review_type"], as_of=AS_OF).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("EXPIRED", "ACI", 3),
        ("EXPIRED", "ACP", 1),
        ("OVERDUE", "ACP", 2),
        ("PENDING", "ACP", 1),
    ]
    late = {"where": {"state": ["EXPIRED"]}, "contains": {"process_id": "P9"}}
    rows = reader.groups("open_processes", ["review_type"], as_of=AS_OF, **late).to_pylist()
    assert rows == [{"review_type": "ACP", "rows": 1}]


def test_a_list_of_values_may_hold_that_there_is_none(reader):
    rows = reader.read("open_processes", as_of=AS_OF, where={"assignee": [None, "Ana"]})
    assert rows.num_rows == 7
    rows = reader.read("open_processes", as_of=AS_OF, where={"assignee": ["Ana"]})
    assert rows.num_rows == 0
