"""Remembers queries that are asked again and again, in the form that DuckDB plans soonest."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import duckdb

from pipeline.ledger.syntax.parsed import Parsed
from pipeline.ledger.syntax.pruning import pruned

_REMEMBERED: Final = 128
"""Questions, of some 250 kB each."""

PRUNED_AT: Final = 8
"""The asking at which the columns that nothing reads are looked for. To find them takes as long as
some seven askings are shorter without them, so it has paid off by twice as many."""


class Question:
    """A query, parsed once, and after some askings without the columns that nothing reads."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._parsed = Parsed(sql)
        self._times_asked = 0

    def run(
        self, connection: duckdb.DuckDBPyConnection, parameters: Sequence[object]
    ) -> duckdb.DuckDBPyConnection:
        """Has a connection run the query, and gives that connection, which has its rows."""
        return connection.execute(self._parsed.statement(connection), parameters)

    def counted(self) -> "Question":
        """The question itself, asked once more."""
        times = self._times_asked + 1  # its own: another thread may count meanwhile
        self._times_asked = times
        if times == PRUNED_AT:
            sql = pruned(self.sql)
            self.sql, self._parsed = sql, Parsed(sql)
        return self


@lru_cache(maxsize=_REMEMBERED)
def question(sql: str) -> Question:
    """The same question for the same SQL."""
    return Question(sql)
