"""A downloaded list is whole, says what was asked, and runs no formula."""

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import openpyxl
import pandas
import pyarrow as pa
import pyarrow.parquet
import pytest

from app_pages.language import columns
from app_pages.parts import downloads, lists
from pipeline import instants
from pipeline.ledger.views import formats
from pipeline.ledger.views.catalogue import public
from pipeline.ledger.views.formats import Format
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import (
    AS_OF,
    attempt,
    before,
    collected,
    review,
    seller_event,
)

ROOT = Path(__file__).resolve().parents[3]
# More than a page of them, and one whose seller begins like a formula.
HISTORY = [
    *(review(f"prc_{n:02}", before(days=40)) for n in range(70)),
    review("prc_evil", before(days=40), seller="=cmd|' /C calc'!A0"),
    review("prc_acp", before(days=45), kind="ACP"),
]
ASKED = downloads.Question(
    "open_processes",
    instants.parse(AS_OF),
    {"review_type": ["ACI"]},
    {"process_id": "prc"},
    order_by="deadline_at desc",
)
ANA = downloads.Reader("en", ZoneInfo("America/Sao_Paulo"))
BIA = downloads.Reader("pt", ZoneInfo("America/Manaus"))
NOTES = {
    "view": "open_processes",
    "as_of": AS_OF,
    "last_seq": "72",
    "rows": "71",
    "where review_type": "ACI",
    "where process_id contains": "prc",
    "order by": "deadline_at desc",
}


def made(
    form: Format,
    open_log: OpenLog,
    reader: downloads.Reader = ANA,
) -> bytes:
    with open_log(HISTORY):
        return downloads.maker(ASKED, form, reader)().content


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("=1", "'=1"),
        ("\uff1d1", "'\uff1d1"),
        ("\uff0b1", "'\uff0b1"),
        ("x;=1", "x;'=1"),
        ("x; =1", "x;' =1"),
        ("x;\uff201", "x;'\uff201"),
        ("x\n;\n =1\n", "x\n;'\n' =1\n"),
        (["=1"], '["=1"]'),
        ("a-b", "a-b"),
        (-1, -1),
    ],
)
def test_no_cell_of_a_csv_is_a_formula(value: object, shown: object) -> None:
    assert formats.csv_cell(value) == shown


def test_a_cell_of_many_lines_is_written_in_no_time() -> None:
    """A code of a megabyte of line ends, in one delivery, kept a file or a package of it waiting
    for hours."""
    assert formats.csv_cell("a" + "\n" * 500_000) == "a" + "\n" * 500_000


def test_a_grid_shows_what_would_reverse_or_hide_its_text(open_log: OpenLog) -> None:
    rows = [{"a": "x\u202ey", "b": ["\u2066z", "w"], "n": 1}]
    with open_log(HISTORY):
        assert lists.still(rows, ("a", "b", "n")) == [
            {"a": "x\\u202ey", "b": ["\\u2066z", "w"], "n": 1}
        ]


def as_the_page_says(content: bytes) -> pandas.DataFrame:
    """A CSV as docs/analysts.md has pandas read it."""
    page = (ROOT / "docs/analysts.md").read_text(encoding="utf-8")
    [options] = re.findall(r'pandas\.read_csv\("late\.csv", (.*)\)', page)
    names = {"read": pandas.read_csv, "file": io.BytesIO(content)}
    return cast(pandas.DataFrame, eval(f"read(file, {options})", names))


NINE_THIRTY = instants.parse("2026-03-01T09:30:00.000005Z")
MIDNIGHT = instants.parse("2026-03-01T00:00:00Z")


def test_pandas_takes_each_cell_of_a_csv_as_it_stands() -> None:
    """It was said to take the file as it is: an id 00123 became 123, a code NA nothing, and a
    column of ids with one null became 1.0."""
    table = pa.table(
        {
            "id": ["00123", "1e5", "007", "True"],
            "code": ["NA", "null", None, "n/a"],
            "text": ["=1+1", "-", "São Paulo", "a;=b"],
            "at": pa.array([NINE_THIRTY, None, MIDNIGHT, None], pa.timestamp("us")),
            "days": [-3, None, 0, 7],
        }
    )
    content = formats.encode(table, "csv")
    assert not content.startswith(b"\xef\xbb\xbf")
    rows = as_the_page_says(content)
    assert rows["id"].tolist() == ["00123", "1e5", "007", "True"]
    assert rows["code"].fillna("(null)").tolist() == ["NA", "null", "(null)", "n/a"]
    assert rows["text"].tolist() == ["'=1+1", "'-", "São Paulo", "a;'=b"]
    assert rows["days"].fillna("(null)").tolist() == ["-3", "(null)", "0", "7"]
    moments = pandas.to_datetime(rows["at"], format="ISO8601")
    assert moments[0] == pandas.Timestamp("2026-03-01T09:30:00.000005Z")
    assert moments[2] == pandas.Timestamp("2026-03-01T00:00:00Z")


IDS = pa.table(
    {
        "seller_id": ["00123", "=1+1", "1e5", "+5511", "52998224725", "a,=b;=c\t-d"],
        "days": [1.5, -3.0, None, 0.0, 7.0, 2.0],
        "at": pa.array([NINE_THIRTY, None, MIDNIGHT, None, None, None], pa.timestamp("us")),
        "is_late": [True, False, None, True, True, True],
    }
)


def cells_of_sheet(file: Path) -> list[list[Any]]:
    """The cells of a workbook as LibreOffice has them, where it is installed, else as openpyxl
    reads them from the file."""
    if office := shutil.which("soffice"):
        home = f"-env:UserInstallation=file://{file.parent}/office"
        command = [office, home, "--headless", "--convert-to", "csv", "--outdir", str(file.parent)]
        subprocess.run([*command, str(file)], check=True, capture_output=True, timeout=120)
        with file.with_suffix(".csv").open(encoding="utf-8", newline="") as written:
            return [list(row) for row in csv.reader(written)]
    return [list(row) for row in openpyxl.load_workbook(file).worksheets[0].values]


def test_a_spreadsheet_shows_ids_as_they_are_and_runs_none(tmp_path: Path) -> None:
    """An apostrophe stood in the cell, and was copied with the id."""
    file = tmp_path / "ids.xlsx"
    file.write_bytes(formats.encode(IDS, "xlsx"))
    ids = IDS.column("seller_id").to_pylist()
    assert [row[0] for row in cells_of_sheet(file)] == ["seller_id", *ids]
    cells = openpyxl.load_workbook(file)["rows"]["A"][1:]
    assert {(cell.data_type, cell.number_format) for cell in cells} == {("s", "@")}


@pytest.mark.parametrize(
    ("reader", "lines"),
    [
        (
            ANA,
            [
                ["Seller", "days", "at", "is_late"],
                ["00123", "1.5", "2026-03-01 06:30:00", "yes"],
                ["'=1+1", "-3.0", "", "no"],
                ["1e5", "", "2026-02-28 21:00:00", ""],
                ["'+5511", "0.0", "", "yes"],
                ["52998224725", "7.0", "", "yes"],
                ["a,=b;'=c\t'-d", "2.0", "", "yes"],
            ],
        ),
        (
            BIA,
            [
                ["Vendedor", "days", "at", "is_late"],
                ["00123", "1,5", "01/03/2026 05:30:00", "sim"],
                ["'=1+1", "-3,0", "", "não"],
                ["1e5", "", "28/02/2026 20:00:00", ""],
                ["'+5511", "0,0", "", "sim"],
                ["52998224725", "7,0", "", "sim"],
                ["a,'=b;'=c\t'-d", "2,0", "", "sim"],
            ],
        ),
    ],
)
def test_a_csv_for_spreadsheets_is_as_those_of_the_readers_language_expect_it(
    reader: downloads.Reader, lines: list[list[str]]
) -> None:
    content = formats.spreadsheet_csv(IDS, downloads.look(IDS, "open_processes", reader))
    assert content.startswith(b"\xef\xbb\xbf")
    separator = {"en": ",", "pt": ";"}[reader.language]
    read = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=separator)
    assert list(read) == lines


def test_a_csv_holds_every_row(open_log: OpenLog) -> None:
    rows = as_the_page_says(made("csv", open_log))
    assert list(rows.columns) == list(public()["open_processes"].columns)
    assert len(rows) == 71
    evil = rows.set_index("process_id").loc["prc_evil"]
    assert evil["seller_id"] == "'=cmd|' /C calc'!A0"
    assert evil["deadline_at"] == "2026-05-22T12:00:00Z"


def test_parquet_keeps_what_was_asked_in_its_schema(open_log: OpenLog) -> None:
    table = pyarrow.parquet.read_table(io.BytesIO(made("parquet", open_log)))
    notes = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert {name: notes[f"prazo.{name}"] for name in NOTES} == NOTES
    assert table.num_rows == 71


def test_parquet_says_no_id_that_it_was_asked_by(open_log: OpenLog) -> None:
    """The id of a seller whose page shows a mask stood in the file, as the filter."""
    of_one = downloads.Question("open_processes", where={"seller_id": ["52998224725"]})
    with open_log(HISTORY):
        content = downloads.maker(of_one, "parquet", ANA)().content
    metadata = pyarrow.parquet.read_schema(io.BytesIO(content)).metadata
    assert metadata[b"prazo.where seller_id"] == b"***25"


def test_xlsx_says_what_was_asked_in_the_readers_words(open_log: OpenLog) -> None:
    book = openpyxl.load_workbook(io.BytesIO(made("xlsx", open_log)))
    assert {row[0].value: row[1].value for row in book["What was asked"].iter_rows()} == {
        "View": "Unfinished processes",
        "As of": "1 Jun 2026, 09:00:00",
        "Entries of the log": "72",
        "Rows": "71",
        "Personal data": "masked",
        "Type": "Inconsistency (ACI)",
        "Process": "contains prc",
        "Sorted by": "Deadline, the highest first",
        "Time zone of the instants": "America/Sao_Paulo",
    }
    book = openpyxl.load_workbook(io.BytesIO(made("xlsx", open_log, reader=BIA)))
    asked = {row[0].value: row[1].value for row in book["O que foi pedido"].iter_rows()}
    assert asked["Posição em"] == "01/06/2026 08:00:00"
    assert asked["Tipo"] == "Inconsistência (ACI)"


def test_what_is_true_or_not_is_asked_for_in_the_readers_words() -> None:
    """It said `Due in 7 days: True`."""
    asked = downloads.Question("open_processes", None, {"is_due_within_7_days": [True, False]})
    said = [downloads.in_words(asked, reader, at=0, last_seq=1, rows=1) for reader in (ANA, BIA)]
    assert said[0]["Due in 7 days"] == "yes or no"
    assert said[1]["Vencem em 7 dias"] == "sim ou não"


def test_xlsx_is_as_a_person_would_make_it_and_runs_no_formula(open_log: OpenLog) -> None:
    """Dates that sort, in the reader's zone; names and words of their language; a header that
    stays; columns wide enough."""
    sheet = openpyxl.load_workbook(io.BytesIO(made("xlsx", open_log, reader=BIA)))["Linhas"]
    header = [cell.value for cell in sheet[1]]
    assert header[:2] == ["Processo", "Vendedor"]
    rows = {row[0].value: dict(zip(header, row, strict=True)) for row in sheet.iter_rows(min_row=2)}
    assert len(rows) == 71
    evil = rows["prc_evil"]
    assert f"{evil['Prazo'].value:%d/%m %H:%M}" == "22/05 08:00"
    assert evil["Prazo"].number_format == 'dd/mm/yyyy hh"h"mm'
    assert evil["Situação"].value == "EXPIRED · vencido"
    assert {row["Vendedor"].data_type for row in rows.values()} == {"s"}
    assert sheet.freeze_panes == "A2"
    assert sheet.auto_filter.ref.startswith("A1:")
    assert sheet.column_dimensions["A"].width >= len("prc_evil")
    assert evil["Vendedor"].value == "=cmd|' /C calc'!A0"
    assert sheet.column_dimensions["B"].width >= len("=cmd|' /C calc'!A0")


def test_xlsx_says_in_words_what_alerts_changes_and_collections_are_about(
    open_log: OpenLog,
) -> None:
    """It said `officer`, `before_15d`, `expired_unfinished` and `seller`, as programs call them."""
    at = instants.parse(AS_OF)
    assert at is not None
    asked = {
        "alerts": downloads.Question("alerts", at),
        "changes": downloads.Question("changes", at),
        "collections": downloads.Question("collections", at),
        "compared": downloads.Question(
            "alerts", at, compared_with=at - instants.DAY, columns=("kind",)
        ),
    }
    history = [
        *HISTORY,
        review("prc_due", before(days=27, hours=-1)),
        collected("prc_evil", "invited", before(days=39)),
    ]
    found: dict[str, set[object]] = {}
    with open_log(history):
        for name, question in asked.items():
            content = downloads.maker(question, "xlsx", BIA)().content
            first, *rows = openpyxl.load_workbook(io.BytesIO(content))["Linhas"].values
            for place, label in enumerate(first):
                found[f"{name}: {label}"] = {row[place] for row in rows}
    assert found["alerts: De que se trata"] == {"Faltam menos de 15 dias", "Faltam menos de 7 dias"}
    assert found["alerts: Perfil de acesso"] == {"Compliance"}
    assert "Expirado sem conclusão" in found["changes: Código"]
    assert found["collections: Fonte"] == {"o vendedor"}
    assert found["compared: De que se trata"] == {"Faltam menos de 15 dias"}


def test_xlsx_says_in_words_why_sellers_were_denied_and_deliveries_could_not_be_read(
    open_log: OpenLog,
) -> None:
    """The reasons stood there as JSON, with the codes of the contract, and what was wrong with a
    delivery in English."""
    at = instants.parse(AS_OF)
    assert at is not None
    quality = {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}
    reasons = [quality, {"reason": "NEW"}, {"reason": "FRAUD_PREVENTION", "detail": ""}]
    asked = {
        "denials": downloads.Question("denials", at),
        "attempts": downloads.Question("submission_attempts", at),
        "quarantine": downloads.Question("quarantine", at),
        "compared": downloads.Question(
            "denials", at, compared_with=at - 2 * instants.DAY, columns=("reasons",)
        ),
    }
    history = [
        *attempt("prc_00", before(days=9), error="timeout"),
        seller_event("sel_1", "denied", before(days=3), decision_reasons=reasons, retry=True),
        seller_event("sel_2", "denied", before(days=1), decision_reasons=[quality], retry=True),
        {"kind": "webhook", "occurred_at": "2026-05-30T12:00:00Z", "body": "not JSON"},
    ]
    found: dict[str, list[object]] = {}
    with open_log(history):
        for name, question in asked.items():
            content = downloads.maker(question, "xlsx", BIA)().content
            first, *rows = openpyxl.load_workbook(io.BytesIO(content))["Linhas"].values
            for place, label in enumerate(first):
                found[f"{name}: {label}"] = [row[place] for row in rows]
    said = "Documento: qualidade da foto insuficiente"
    assert found["denials: Motivos"] == [said, f"{said}; Prevenção a fraudes; NEW"]
    assert found["compared: Motivos"] == [said]
    assert found["attempts: Erro"] == ["sem resposta a tempo"]
    assert found["quarantine: Origem"] == ["importado"]
    assert found["quarantine: Motivo"] == ["não é JSON: falta um valor (linha 1, coluna 1)"]


def test_a_file_is_named_by_view_filters_and_date(open_log: OpenLog) -> None:
    moment = instants.naive(instants.parse("2026-06-01T01:30:00Z"))
    with open_log(HISTORY):
        asked = {
            "past": ASKED,
            "now": downloads.Question("findings"),
            "tax id": downloads.Question("denials", where={"seller_id": "390.533.447-05"}),
            "hostile": downloads.Question("denials", contains={"detail": "../../a b\n/c:\u202e"}),
            "long": downloads.Question("denials", contains={"detail": "x" * 500}),
        }
        named = {
            what: downloads.file_name(question, "csv", moment, ANA.zone)
            for what, question in asked.items()
        }
        made = downloads.maker(asked["now"], "csv", ANA)().name
    assert named["past"] == (
        "prazo_open_processes_review_type-ACI_process_id~prc_2026-06-01T0130Z.csv"
    )
    assert named["now"] == "prazo_findings_2026-05-31.csv"
    assert "390" not in named["tax id"]
    assert named["hostile"] == "prazo_denials_detail~..-..-a-b-c_2026-05-31.csv"
    assert re.fullmatch(r"prazo_findings_20\d\d-\d\d-\d\d_entry-\d+\.csv", made)
    assert len(named["long"]) < 140
    assert named["long"].endswith("x-etc_2026-05-31.csv")


def test_every_column_of_a_list_has_a_name_for_people() -> None:
    listed = {column for view in columns.VIEWS for column in public()[view].columns}
    unnamed, unused = listed - columns.LABELS.keys(), columns.LABELS.keys() - listed
    assert (unnamed, unused) == (set(), set()), "correct LABELS in app_pages/language/columns.py"


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


def test_every_list_is_there_to_take_away(open_log: OpenLog, visit: Visit) -> None:
    history = [
        *HISTORY[:2],
        *attempt("prc_00", before(days=9), status=500),
        collected("prc_00", "invited", before(days=9)),
        seller_event("sel_1", "denied", before(days=3), decision_reasons=[], retry=True),
        {"kind": "webhook", "occurred_at": "2026-05-30T12:00:00Z", "body": "not JSON"},
    ]
    with open_log(history):
        for page in ("watchlist", "findings", "submissions", "denials", "evidence", "ledger"):
            labels = [it.label for it in visit(page).get("download_button")]
            files = [it for it in labels if it in ("CSV for programs", "Parquet", "XLSX")]
            assert files == ["XLSX", "CSV for programs", "Parquet"], page
            assert "CSV for spreadsheets" in labels, page
