"""A few rows go into a table as values, more of them by column, and either way as the same rows."""

from pathlib import Path

import duckdb
import pytest

from pipeline.errors import LedgerStalled
from pipeline.ledger import arrow, file

NOON = 1_772_366_400_000_000  # 2026-03-01T12:00:00Z
TABLE = """
    create table seen (seq bigint, seen_at timestamp, paths varchar[], digest blob, share double)"""


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute(TABLE)
    return made


def rows(count: int) -> list[tuple[object, ...]]:
    return [
        (seq, NOON + seq if seq % 2 else None, ("revenue", "address"), b"\0\xff", seq / 4)
        for seq in range(1, count + 1)
    ]


def insert(connection: duckdb.DuckDBPyConnection, count: int) -> list[tuple[object, ...]]:
    schemas = arrow.schemas(connection, ["seen"])
    arrow.insert(connection, schemas, {"seen": rows(count)})
    return arrow.facts_of(connection, "seen", schemas["seen"])


@pytest.mark.parametrize("count", [1, 4, 5, 300])
def test_rows_are_the_same_whether_they_go_in_as_values_or_by_column(
    count: int, connection: duckdb.DuckDBPyConnection
) -> None:
    wanted = [(*row[:2], list(row[2]), *row[3:]) for row in rows(count)]  # type: ignore[call-overload]
    assert insert(connection, count) == wanted


def test_the_fifth_row_makes_all_of_them_go_in_by_column(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_values: list[int] = []
    few = lambda *given: as_values.append(len(given[-1]["seen"]))  # noqa: E731
    monkeypatch.setattr(arrow, "_insert_few", few)
    for count in (1, 4, 5, 300):
        insert(connection, count)
    assert as_values == [1, 4]
    assert connection.execute("select count(*) from seen").fetchall() == [(305,)]


def test_nothing_is_asked_of_the_database_for_no_rows(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    schemas = arrow.schemas(connection, ["seen"])
    connection.close()
    arrow.insert(connection, schemas, {"seen": []})


def test_a_few_rows_of_several_tables_are_one_statement_which_takes_all_or_none(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    connection.execute("create table keyed (seq bigint primary key, seen_at timestamp)")
    connection.execute("create table others (name varchar)")
    schemas = arrow.schemas(connection, ["seen", "keyed", "others"])
    tables = {"keyed": [(1, NOON)], "seen": rows(2), "others": [], "log": []}
    arrow.insert(connection, schemas, tables)
    with pytest.raises(duckdb.ConstraintException):
        arrow.insert(connection, schemas, {**tables, "others": [("a",)]})
    counts = (
        "select (select count(*) from keyed), (select count(*) from seen), count(*) from others"
    )
    assert connection.execute(counts).fetchall() == [(1, 2, 0)]
    # The same tables with one row each, in turn with a table of many.
    for seq in (2, 3):
        alike = {"keyed": [(seq, None)], "seen": rows(1), "others": [(f"{seq}",)] * 9}
        arrow.insert(connection, schemas, alike)
    assert connection.execute(counts).fetchall() == [(3, 4, 18)]
    instants = "select epoch_us(seen_at), seq from keyed order by seq"
    assert connection.execute(instants).fetchall() == [(NOON, 1), (None, 2), (None, 3)]


def test_within_a_transaction_it_is_said_why_rows_did_not_go_in(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """That it was aborted, or could not be rolled back, was said instead: too little memory was
    taken for a damaged ledger."""
    connection.execute("create table once (seq bigint primary key)")
    schemas = arrow.schemas(connection, ["once"])
    connection.execute("begin")
    with pytest.raises(duckdb.ConstraintException):
        arrow.insert(connection, schemas, {"once": [(1,)] * 9})
    connection.execute("rollback")
    arrow.insert(connection, schemas, {"once": [(it,) for it in range(9)]})
    assert connection.execute("select count(*) from once").fetchall() == [(9,)]
    short = "Out of Memory Error: failed to pin block"
    said = (
        f"FATAL Error: Failed to rollback transaction.\nOriginal Error: {short}\nRollback Error: x"
    )
    stalled = file.fault(Path("ledger"), duckdb.FatalException(said), "did not take entries 1 to 9")
    assert isinstance(stalled, LedgerStalled)
    assert (stalled.why, stalled.remedy) == (short, "give it more with PRAZO_LEDGER_MEMORY")
    for given, shown in (
        ('Duplicate key "seller_id: ana@x.example" violates', 'Duplicate key "***" violates'),
        ('Duplicate key "process_id: ana@x.example\np1" violates', 'Duplicate key "***" violates'),
        ("Could not convert string '529.982.247-25' to INT32", "Could not convert string '***' to"),
    ):
        known = duckdb.ConstraintException(f"Constraint Error: {given}")
        assert shown in file.fault(Path("ledger"), known, "did not take entries 1 to 9").why
