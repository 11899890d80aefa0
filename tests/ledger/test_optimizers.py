"""A ledger leaves out optimizers of DuckDB that find nothing in our queries, or wrong rows."""

import pytest

from pipeline.ledger import file
from pipeline.ledger.store import Ledger
from tests.support.ledgers import KEYS


def left_out() -> set[str]:
    ledger = Ledger(None, log="tests", keys=KEYS, threads=1)
    try:
        asked = ledger.cursor().execute("select current_setting('disabled_optimizers')")
        [(names,)] = asked.fetchall()
        return {name.strip() for name in names.split(",")}
    finally:
        ledger.close()


def test_whoever_asks_the_ledger_does_without_them() -> None:
    assert left_out() == {
        "aggregate_reuse",
        "common_subplan",
        "duplicate_groups",
        "join_elimination",
        "outer_join_simplification",
        "projection_placement",
        "projection_pullup",
        "row_group_pruner",
    }


def test_a_name_that_duckdb_does_not_know_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another release may have given it up: the ledger is opened all the same."""
    names = frozenset({"projection_pullup", "of_an_earlier_duckdb"})
    monkeypatch.setattr(file, "NOT_WORTH_THEIR_TIME", names)
    assert left_out() == {"projection_pullup", "row_group_pruner"}


def test_the_first_rows_are_right_where_others_were_deleted() -> None:
    """DuckDB 2.0.1 looked first where the greatest value had been, and nowhere else then."""
    ledger = Ledger(None, log="tests", keys=KEYS, threads=1)
    try:
        cursor = ledger.cursor()
        cursor.execute("create table t as select i from range(122880) as r (i)")  # a row group
        cursor.execute("insert into t values (5000)")
        cursor.execute("delete from t where i > 1000 and i <> 5000 or rowid = 5000")
        first = cursor.execute("select i from t order by i desc limit 1").fetchall()
        assert first == cursor.execute("select max(i) from t").fetchall() == [(5000,)]
    finally:
        ledger.close()
