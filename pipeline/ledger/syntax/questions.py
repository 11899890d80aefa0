"""Remembers queries that are asked again and again, in the form that DuckDB plans soonest."""

from functools import lru_cache
from typing import Final

import duckdb

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
        self.statement = _parsed(sql)
        """Each run plans a copy of its own, so threads and connections share it."""
        self._times_asked = 0

    def asked(self) -> "Question":
        """The question itself, counted."""
        times = self._times_asked + 1  # its own: another thread may count meanwhile
        self._times_asked = times
        if times == PRUNED_AT:
            sql = pruned(self.sql)
            self.sql, self.statement = sql, _parsed(sql)
        return self


@lru_cache(maxsize=_REMEMBERED)
def question(sql: str) -> Question:
    """The same question for the same SQL."""
    return Question(sql)


def _parsed(sql: str) -> duckdb.Statement:
    [statement] = duckdb.extract_statements(sql)
    return statement
