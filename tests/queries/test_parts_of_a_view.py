"""A page of a view, or what a filter leaves of it, is that part of the whole, in its order."""

from datetime import UTC

import pytest

from pipeline import instants
from pipeline.ledger.catalogue import catalogue
from tests.support.ledgers import ledger_of
from tests.support.lines import aci, acp, at

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
        ]
    ) as reader:
        yield reader


def test_the_views_with_rows_that_lead():
    assert {it.name: it.leading for it in catalogue().values() if it.leading} == {
        "watchlist": ("state", "EXPIRED"),
        "open_processes": ("state", "EXPIRED"),
    }


@pytest.mark.parametrize(("view", "known"), [("watchlist", 6), ("open_processes", 7)])
def test_a_page_is_a_part_of_the_whole(reader, view, known):
    whole = reader.read(view, as_of=AS_OF).to_pylist()
    assert [(row["process_id"], row["state"]) for row in whole] == WORST_FIRST[:known]
    for offset in range(known + 1):
        for limit in range(known + 1):
            page = reader.read(view, as_of=AS_OF, limit=limit, offset=offset).to_pylist()
            assert page == whole[offset : offset + limit]


@pytest.mark.parametrize(
    "where", [{"state": "EXPIRED"}, {"state": "OVERDUE"}, {"review_type": "ACP"}]
)
@pytest.mark.parametrize("limit", [None, 1, 3])
@pytest.mark.parametrize("view", ["watchlist", "open_processes", "process_state"])
def test_what_a_filter_leaves_stands_in_the_same_order(reader, view, limit, where):
    [(column, value)] = where.items()
    whole = reader.read(view, as_of=AS_OF).to_pylist()
    found = reader.read(view, as_of=AS_OF, where=where, limit=limit).to_pylist()
    assert found == [row for row in whole if row[column] == value][:limit]
