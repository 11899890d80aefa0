"""A ledger leaves out optimizers of DuckDB that find nothing in our queries."""

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
    }


def test_a_name_that_duckdb_does_not_know_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another release may have given it up: the ledger is opened all the same."""
    names = frozenset({"projection_pullup", "of_an_earlier_duckdb"})
    monkeypatch.setattr(file, "NOT_WORTH_THEIR_TIME", names)
    assert left_out() == {"projection_pullup"}
