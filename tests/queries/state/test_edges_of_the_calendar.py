"""Instants at the edges of the calendar are taken, and no view leads out of it."""

import csv
import io
import json
import zipfile
from itertools import product

import pyarrow.parquet as pq
import pytest

from pipeline.ledger.views import formats
from pipeline.ledger.views.catalogue import public
from tests import depth
from tests.support.ledgers import ledger_of
from tests.support.lines import aci, acp, answered, finished, started

FIRST, LAST = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"
MARCH = "2026-03-01T00:00:00Z"
FIRST_AT = -62_135_596_800_000_000  # of the year 1
APRIL_AT, LAST_AT = 1_775_001_600_000_000, 253_402_300_799_999_999  # of 2026; of 9999
HISTORY = [
    acp(deadline_at=FIRST),
    acp("e2", process_id="p2", deadline_at=LAST),
    acp("e3", FIRST, MARCH, process_id="p3", deadline_at=LAST),
    acp("e4", LAST, MARCH, process_id="p4", deadline_at=FIRST),
    aci("e5", FIRST, process_id="p5", deadline_at=FIRST),
    acp("e6", FIRST, process_id="p6", deadline_at=LAST, status="OVERDUE"),
    acp("e7", LAST, MARCH, process_id="p7", deadline_at=LAST, status="EXPIRED"),
    aci("e8", MARCH, process_id="p8", deadline_at=LAST, status="EXPIRED"),
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


@pytest.mark.parametrize(
    ("view", "as_of"),
    depth.few([*product(sorted(public()), [LAST_AT, None, APRIL_AT, FIRST_AT])], 23),
)
def test_every_view_can_be_written_in_every_form(reader, view, as_of):
    rows = reader.read(view, as_of=as_of, limit=1000)
    written = {form: formats.encode(rows, form, {}) for form in formats.FORMATS}
    assert len(json.loads(written["json"])) == rows.num_rows
    assert [json.loads(it) for it in written["ndjson"].splitlines()] == json.loads(written["json"])
    lines = csv.reader(io.StringIO(written["csv"].decode("utf-8-sig"), newline=""))
    assert len(list(lines)) == 1 + rows.num_rows
    assert pq.read_table(io.BytesIO(written["parquet"])).num_rows == rows.num_rows
    assert zipfile.ZipFile(io.BytesIO(written["xlsx"])).testzip() is None


def test_a_deadline_before_its_request_was_overdue_when_it_was_opened(reader):
    [row] = reader.read("process_state", where={"process_id": "p1"}).to_pylist()
    assert row["overdue_at"].isoformat() == "2026-03-01T12:00:00"
    assert row["state"] == "EXPIRED"


def test_the_last_days_of_the_calendar_are_worked_out_without_all_before_them(reader):
    """The Overview took 27 s and 242 MB for an instant at the end of the calendar."""
    days = reader.read("recent_states", as_of=LAST_AT).to_pylist()
    assert [day["day"].isoformat() for day in days[:1] + days[-1:]] == ["9999-12-02", "9999-12-31"]
    assert len(days) == 30
    # Three deadlines fall on the very last microsecond; two more were reported to have passed.
    assert {(day["overdue"], day["expired"]) for day in days[:-1]} == {(3, 5)}
    assert (days[-1]["overdue"], days[-1]["expired"]) == (0, 8)
    whole = reader.read("state_daily", as_of=LAST_AT, order_by="day desc", limit=30).to_pylist()
    assert whole[::-1] == days
