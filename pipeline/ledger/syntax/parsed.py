"""Remembers SQL that is run again and again as DuckDB has parsed it: to parse a statement takes a
third of the time of a look-up."""

from functools import lru_cache
from typing import Final

import duckdb

_REMEMBERED: Final = 128
"""Statements, of some 250 kB each, and scripts, of some five statements."""


class Parsed:
    """SQL of one statement or several, parsed by the connection that runs it first: DuckDB would
    open a database of its own for that, which takes longer than a look-up. Each run plans a copy,
    so threads and connections share it."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._statements: tuple[duckdb.Statement, ...] = ()

    def statements(self, connection: duckdb.DuckDBPyConnection) -> tuple[duckdb.Statement, ...]:
        """The statements, in their order."""
        if not self._statements:
            self._statements = tuple(connection.extract_statements(self._sql))
        return self._statements

    def statement(self, connection: duckdb.DuckDBPyConnection) -> duckdb.Statement:
        """The one statement."""
        [statement] = self.statements(connection)
        return statement


@lru_cache(maxsize=_REMEMBERED)
def parsed(sql: str) -> Parsed:
    """The same statements for the same SQL."""
    return Parsed(sql)
