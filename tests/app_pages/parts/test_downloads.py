"""A downloaded list is whole, says what was asked, and runs no formula."""

import csv
import io
import re
from collections.abc import Callable

import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest

from app_pages.parts import downloads, lists
from pipeline import instants
from pipeline.errors import CallerError
from pipeline.ledger import formats
from pipeline.ledger.formats import Format
from pipeline.serve.roles import LOCAL, Person, Role
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import (
    AS_OF,
    attempt,
    before,
    collected,
    review,
    seller_event,
)

# More than a page of them, and one whose seller begins like a formula.
HISTORY = [
    *(review(f"prc_{n:02}", before(days=40)) for n in range(70)),
    review("prc_evil", before(days=40), seller="=cmd|' /C calc'!A0"),
    review("prc_acp", before(days=45), kind="ACP"),
]
NOTES = {
    "view": "open_processes",
    "as_of": AS_OF,
    "last_seq": "72",
    "rows": "71",
    "where review_type": "ACI",
    "where process_id contains": "prc",
}


def made(
    form: Format, open_log: OpenLog, session: Callable[[], Person | None] = lambda: LOCAL
) -> bytes:
    with open_log(HISTORY):
        return downloads.maker(
            "open_processes",
            form,
            instants.parse(AS_OF),
            {"review_type": ["ACI"]},
            {"process_id": "prc"},
            session,
        )()


def test_a_note_on_top_of_a_csv_begins_no_formula_either() -> None:
    """A reader's own filter stands there, and a link may hold it; `;` ends a cell in Portuguese."""
    notes = {"where seller_id": "x;=cmd|'/C calc'!A0\n=1", "where a": "\uff1d1"}
    content = downloads.written(b"a\r\n", "csv", notes).decode()
    assert content == "# where seller_id: x;'=cmd|'/C calc'!A0\\n=1\r\n# where a: \uff1d1\r\na\r\n"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("=1", "'=1"),
        ("\uff1d1", "'\uff1d1"),
        ("\uff0b1", "'\uff0b1"),
        ("x;=1", "x;'=1"),
        ("x; =1", "x;' =1"),
        ("x;\uff201", "x;'\uff201"),
        (["=1"], '["=1"]'),
        ("a-b", "a-b"),
        (-1, -1),
    ],
)
def test_no_cell_of_a_csv_is_a_formula(value: object, shown: object) -> None:
    assert formats.csv_cell(value) == shown


def test_a_grid_shows_what_would_reverse_or_hide_its_text() -> None:
    rows = [{"a": "x\u202ey", "b": ["\u2066z", "w"], "n": 1}]
    assert lists.still(rows) == [{"a": "x\\u202ey", "b": ["\\u2066z", "w"], "n": 1}]


def test_csv_begins_with_what_was_asked_and_holds_every_row(open_log: OpenLog) -> None:
    lines = list(csv.reader(io.StringIO(made("csv", open_log).decode())))
    assert [line[0] for line in lines[:6]] == [f"# {name}: {it}" for name, it in NOTES.items()]
    header, rows = lines[6], lines[7:]
    assert header[:2] == ["process_id", "seller_id"]
    assert len(rows) == 71
    assert ["prc_evil", "'=cmd|' /C calc'!A0"] in [row[:2] for row in rows]


def test_parquet_keeps_what_was_asked_in_its_schema(open_log: OpenLog) -> None:
    table = pyarrow.parquet.read_table(io.BytesIO(made("parquet", open_log)))
    notes = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert {name: notes[f"prazo.{name}"] for name in NOTES} == NOTES
    assert table.num_rows == 71


def test_xlsx_keeps_what_was_asked_on_a_sheet_and_runs_no_formula(open_log: OpenLog) -> None:
    book = openpyxl.load_workbook(io.BytesIO(made("xlsx", open_log)))
    assert {row[0].value: row[1].value for row in book["about"].iter_rows()} == NOTES
    sellers = [row[1] for row in book["rows"].iter_rows(min_row=2)]
    assert len(sellers) == 71
    assert {cell.data_type for cell in sellers} == {"s"}


@pytest.mark.parametrize(
    "whoever", [None, Person("bia", frozenset({Role.ANALYST}))], ids=["nobody", "analyst"]
)
def test_a_button_that_outlived_its_session_or_role_hands_nothing_out(
    whoever: Person | None, open_log: OpenLog
) -> None:
    """The button is pressed on a page that was drawn long ago."""
    with pytest.raises(CallerError, match="the session is over, or the role gone"):
        made("csv", open_log, lambda: whoever)


@pytest.mark.parametrize("evil", ['abc;=HYPERLINK("http://x")', "a\n=1+1", "b\t@x", "c;+1"])
def test_no_formula_begins_where_another_spreadsheet_would_separate(evil: str) -> None:
    """To a Portuguese one `;` separates, and a quote inside of a field begins none."""
    content = formats.encode(pa.table({"id": [evil]}), "csv").decode()
    assert not re.search(r"[;\t\n](?=[=+@-])", content)
    assert evil[:1] in content


def test_a_cell_that_excel_would_cut_says_that_it_is_cut() -> None:
    rows = pa.table({"note": ["short", "x" * 32_768]})
    sheet = openpyxl.load_workbook(io.BytesIO(formats.encode(rows, "xlsx")))["rows"]
    cut = sheet.cell(3, 1).value
    assert len(cut) == 32_767
    assert cut.endswith(" ... [cut: it has 32768 characters, csv and parquet have them all]")
    assert b"x" * 32_768 in formats.encode(rows, "csv")


@pytest.mark.parametrize(
    "page", ["watchlist", "findings", "submissions", "denials", "evidence", "ledger"]
)
def test_every_list_is_there_to_take_away(page: str, open_log: OpenLog, visit: Visit) -> None:
    history = [
        *HISTORY[:2],
        *attempt("prc_00", before(days=9), status=500),
        collected("prc_00", "invited", before(days=9)),
        seller_event("sel_1", "denied", before(days=3), decision_reasons=[], retry=True),
        {"kind": "webhook", "occurred_at": "2026-05-30T12:00:00Z", "body": "not JSON"},
    ]
    with open_log(history):
        labels = [it.label for it in visit(page).get("download_button")]
    assert [it for it in labels if it in ("CSV", "Parquet", "XLSX")] == ["CSV", "Parquet", "XLSX"]
