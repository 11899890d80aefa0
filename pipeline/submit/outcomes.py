"""Says what the end of an attempt means (docs/rules.md#outcomes), by the macro of the views.

A caller hears it before any view knows of the attempt, so the sender asks the macro itself.
"""

from functools import cache

import duckdb

from pipeline.ledger.views.catalogue import macros


@cache
def outcome_of(status: int | None, error: str | None) -> str:
    """The outcome of an attempt that ended with an HTTP status, or without one in an error."""
    [(outcome,)] = (
        _macros().cursor().execute("select outcome_of(?::integer, ?)", (status, error)).fetchall()
    )
    return str(outcome)


@cache
def _macros() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"threads": "1"})
    connection.execute(macros())
    return connection
