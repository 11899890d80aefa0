"""A few rows go into a table as values, more of them by column, and either way as the same rows."""

import duckdb
import pytest

from pipeline.ledger import arrow

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
    schema = arrow.schemas(connection, ["seen"])["seen"]
    arrow.insert(connection, "seen", schema, rows(count))
    return arrow.facts_of(connection, "seen", schema)


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
    monkeypatch.setattr(arrow, "_insert_few", lambda *given: as_values.append(len(given[-1])))
    for count in (1, 4, 5, 300):
        insert(connection, count)
    assert as_values == [1, 4]
    assert connection.execute("select count(*) from seen").fetchall() == [(305,)]


def test_nothing_is_asked_of_the_database_for_no_rows(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    schema = arrow.schemas(connection, ["seen"])["seen"]
    connection.close()
    arrow.insert(connection, "seen", schema, [])
