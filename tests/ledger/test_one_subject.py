"""A question about one subject reads its entries alone, and says what the whole view says of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings

from pipeline import instants
from pipeline.ledger import prepared
from pipeline.ledger.store import Ledger
from pipeline.ledger.views.catalogue import catalogue
from pipeline.ledger.views.reader import Reader
from tests import depth
from tests.benchmarks import queries
from tests.support.histories import histories_and_as_of
from tests.support.ledgers import ledger_of, rows
from tests.support.lines import aci, action, answered, at, finished, started, webhook
from tests.support.rich import MOVED, RICH

END = at("2200-01-01T00:00:00")

OF_NOBODY = [
    webhook({"id": "b9", "type": "bank_account.deleted", "payload": {}}, "2026-03-01T12:00:00Z"),
    aci("e13", process_id="p11", customer_id=None),
    started("d3", "2026-03-10T00:00:00Z", process_id="p24", seller_id=None),
    finished("d3", 500, "2026-03-10T00:00:01Z", process_id="p25", seller_id="s7"),
    started("d4", "2026-03-10T00:00:00Z", process_id="p26", seller_id="s8"),
    finished("d4", 500, "2026-03-10T00:00:01Z", process_id="p27"),
]
"""Entries that name no seller, and attempts of which one end alone does, of another process."""

OF_DELETED = {
    "p21": started("d1", "2026-03-10T00:00:00Z", process_id="p21", seller_id="s5"),
    "p22": finished("d2", 500, "2026-03-10T00:00:00Z", process_id="p22", seller_id="s5"),
    "p23": answered("2026-03-10T00:00:00Z", process_id="p23", seller_id="s5", journey_id="j23"),
}
"""Processes of a seller that the platform has deleted, each known by this one entry."""

HELD = action(
    "notice_schedule", "2026-03-10T00:00:00Z", process_id=None, seller_id="s2", step="held"
)
"""A seller whom the schedule had left alone at both instants."""

HELD_UNKNOWN = {**HELD, "seller_id": "s8"}
"""One of whom the platform has sent no event of their own."""

NARROWED = [
    (view.name, column)
    for view in catalogue().values()
    if view.is_public
    for column in (*view.by, *view.reading.led)
]
"""Views that are asked for a few ids over the entries, or the kept rows, of these alone."""


OF_EACH = ("process_state", "submission_attempts", "evidence_coverage", "findings", "seller_state")
"""Views of which each subject is asked: the others read the same tables of it."""


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with ledger_of([*RICH, *MOVED, *OF_NOBODY, *OF_DELETED.values(), HELD, HELD_UNKNOWN]) as opened:
        yield opened


@pytest.mark.parametrize(("view", "column"), depth.few(NARROWED, 2))
@pytest.mark.parametrize("as_of", depth.few([at("2026-05-15T00:00:00"), END], 2))
def test_what_is_asked_of_one_subject_is_what_the_whole_view_says_of_it(
    reader: Reader, view: str, column: str, as_of: datetime
) -> None:
    whole = rows(reader, view, as_of)
    subjects = _subjects(whole, column)
    assert subjects
    every = 1 if view in OF_EACH else 9
    asked = depth.few(subjects, every)
    _are_answered_alike(reader, view, column, as_of, asked, whole)
    if any(row[column] is None for row in whole):
        instant = instants.from_datetime(as_of.replace(tzinfo=UTC))
        found = reader.read(view, as_of=instant, where={column: [asked[-1], None]}).to_pylist()
        assert found == [row for row in whole if row[column] in (asked[-1], None)]


@pytest.mark.parametrize(("view", "column"), NARROWED)
def test_each_subject_is_answered_by_prepared_statements_as_by_the_whole_view(
    reader: Reader, view: str, column: str
) -> None:
    """After the last entry; a seller of whom only a person had said something was left out."""
    whole = rows(reader, view, END)
    _are_answered_alike(reader, view, column, END, _subjects(whole, column), whole)


@pytest.mark.long
@settings(max_examples=depth.rounds(20, 300))
@given(histories_and_as_of())
def test_subjects_of_any_history_are_answered_as_by_the_whole_view(case) -> None:
    history, _ = case
    with ledger_of(history) as reader:
        for view, column in NARROWED:
            whole = rows(reader, view, END)
            _are_answered_alike(reader, view, column, END, _subjects(whole, column)[:6], whole)


def _subjects(whole: Sequence[Mapping[str, Any]], column: str) -> list[str]:
    return sorted({row[column] for row in whole if row[column] is not None})


def _are_answered_alike(
    reader: Reader,
    view: str,
    column: str,
    as_of: datetime,
    subjects: Sequence[str],
    whole: Sequence[Mapping[str, Any]],
) -> None:
    instant = instants.from_datetime(as_of.replace(tzinfo=UTC))
    for subject in subjects:
        found = reader.read(view, as_of=instant, where={column: subject}).to_pylist()
        assert found == [row for row in whole if row[column] == subject], subject


def test_that_its_seller_was_deleted_is_known_whichever_entry_names_the_seller(
    reader: Reader,
) -> None:
    as_of = at("2026-05-15T00:00:00")  # more has occurred since: what is asked follows from the log
    for process in OF_DELETED:
        instant = instants.from_datetime(as_of.replace(tzinfo=UTC))
        where = {"process_id": process}
        [found] = reader.read("process_state", as_of=instant, where=where).to_pylist()
        assert found["seller_deleted_at"] == at("2026-03-20T12:00:00"), process


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    ledger = queries.make(tmp_path_factory.mktemp("many") / "ledger.duckdb", 20_000)
    yield ledger
    ledger.close()


@pytest.mark.parametrize(
    ("column", "subject", "rows"), [("process_id", "prc", 100), ("seller_id", "sel", 500)]
)
def test_few_rows_are_read_for_one_subject_however_many_there_are(
    many: Ledger, tmp_path: Path, column: str, subject: str, rows: int
) -> None:
    """Attempts had no index by process, and were all looked through: one process took 9 ms at a
    million entries, and 23 at five. While ids were in their order, DuckDB knew where each is. It
    took a seller's processes for thousands, and read all attempts and collections for them."""
    cursor, profile = _profiled(many.cursor(), tmp_path)
    number = {"prc": 2_000, "sel": 1_330}[subject]
    cursor.execute(
        f"set variable {column}_asked = $1::varchar[]", [[queries.named(subject, number)]]
    )
    read = {}
    for name, reading in prepared._readings(
        column, tuple(prepared._queries(prepared._ROWS[column]))
    ):
        cursor.execute(reading)
        [scanned] = re.findall(r'"total_rows_scanned": *(\d+)', profile.read_text("utf-8"))
        read[name] = int(scanned)
    del read["fact_actions"]  # what is decided about all sellers is looked for in all actions
    del read["fact_answered_fields"]  # in order of their seq: of these the groups with ours
    assert max(read.values()) < rows, read
    assert sum(read.values()) > 0


def test_findings_of_one_process_find_its_row_by_an_index(
    many: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They follow from facts of all, but copied the rows of all processes: 84 ms for 32."""
    made = prepared.Prepared(many.cursor(), prepared.Settings(False, None, None))
    _, profile = _profiled(made.cursor, tmp_path)
    monkeypatch.setattr(made, "answer", lambda *_: None)  # as where others decide on them
    monkeypatch.setattr(many._prepared, "_free", [made])
    found = Reader(many).read(
        "findings", as_of=queries.AS_OF, where={"process_id": queries.named("prc", 2_000)}
    )
    assert found.num_rows > 0
    how = re.findall(r'main\.kept_processes",\s*"Type": *"([^"]+)"', profile.read_text("utf-8"))
    assert set(how) == {"Index Scan"}


def _profiled(
    cursor: duckdb.DuckDBPyConnection, folder: Path
) -> tuple[duckdb.DuckDBPyConnection, Path]:
    """The cursor, and the file into which it writes what DuckDB says of its last statement."""
    profile = folder / "profile.json"
    cursor.execute("set enable_profiling = 'json'")
    cursor.execute(f"set profiling_output = '{profile}'")
    cursor.execute("set profiling_mode = 'detailed'")
    return cursor, profile
