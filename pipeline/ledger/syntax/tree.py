"""SQL as DuckDB's own syntax tree, and back. No I/O."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import duckdb

Node = dict[str, Any]
"""A part of the tree as DuckDB's `json_serialize_sql` shows it."""


def statement_of(sql: str) -> Node:
    """The one statement of the SQL. Raises `ValueError` for what DuckDB cannot read, or is not a
    query."""
    tree: Node = json.loads(_asked("select json_serialize_sql(?::varchar)", sql))
    if tree["error"]:
        raise ValueError(f"{tree['error_message']}: {sql}")
    [statement] = tree["statements"]
    return dict(statement)


def text_of(statement: Node) -> str:
    """The SQL of a statement."""
    tree = json.dumps({"error": False, "statements": [statement]})
    return _asked("select json_deserialize_sql(?::json)", tree)


def nodes(tree: object) -> Iterator[Node]:
    """Every node of a tree, in no order."""
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _asked(question: str, value: str) -> str:
    [(answer,)] = _parser().cursor().execute(question, (value,)).fetchall()
    return str(answer)


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config={"threads": 1})
