"""Instants at the edges of the calendar are taken, and no view leads out of it."""

import pytest

from pipeline import tables, views
from tests.ledgers import ledger_of
from tests.views.lines import aci, acp, answered, finished, started

FIRST, LAST = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"
MARCH = "2026-03-01T00:00:00Z"
APRIL_AT, LAST_AT = 1_775_001_600_000_000, 253_402_300_799_999_999  # of 2026; of 9999
HISTORY = [
    acp(deadline_at=FIRST),
    acp("e2", process_id="p2", deadline_at=LAST),
    acp("e3", FIRST, MARCH, process_id="p3", deadline_at=LAST),
    acp("e4", LAST, MARCH, process_id="p4", deadline_at=FIRST),
    aci("e5", FIRST, process_id="p5", deadline_at=FIRST),
    answered(FIRST),
    started("a1", FIRST),
    finished("a1", 500, FIRST),
    started("a2", LAST, process_id="p2"),
    finished("a3", 500, LAST, process_id="p3"),
]


@pytest.fixture(scope="module")
def reader():
    with ledger_of(HISTORY) as reader:
        yield reader


@pytest.mark.parametrize("view", sorted(views.public()))
@pytest.mark.parametrize("as_of", [None, APRIL_AT, LAST_AT])
def test_every_view_can_be_written_in_every_form(reader, view, as_of):
    if view == "state_daily" and as_of == LAST_AT:
        pytest.skip("eight thousand years of days")
    rows = reader.read(view, as_of=as_of, limit=1000)
    for form in tables.FORMATS:
        tables.encode(rows, form, {})


def test_a_deadline_on_the_first_day_was_overdue_on_the_first_day(reader):
    [row] = reader.read("process_state", where={"process_id": "p1"}).to_pylist()
    assert row["overdue_at"].isoformat() == "0001-01-01T00:00:00"
    assert row["state"] == "EXPIRED"
