"""Remembers queries that are asked again and again, in the form that DuckDB plans soonest."""

from functools import lru_cache
from typing import Final

import duckdb

from pipeline.ledger.syntax.pruning import pruned

_REMEMBERED: Final = 128
"""Questions, of some 250 kB each."""


class Question:
    """A query, parsed once, and from its second time on without the columns that nothing reads: to
    find these takes as long as planning it, so it is not done for what is asked only once."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self.statement = _parsed(sql)
        """Each run plans a copy of its own, so threads and connections share it."""
        self._times_asked = 0

    def asked(self) -> "Question":
        """The question itself, counted."""
        self._times_asked += 1
        if self._times_asked == 2:
            self.sql = pruned(self.sql)
            self.statement = _parsed(self.sql)
        return self


@lru_cache(maxsize=_REMEMBERED)
def question(sql: str) -> Question:
    """The same question for the same SQL."""
    return Question(sql)


def _parsed(sql: str) -> duckdb.Statement:
    [statement] = duckdb.extract_statements(sql)
    return statement
