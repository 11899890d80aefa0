"""Leads SQL to a few rows of the tables that it reads, through DuckDB's own syntax tree: a table's
name is replaced where DuckDB reads a table, and nothing else is. No I/O.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

import duckdb

from pipeline.ledger.catalogue import script

_SCHEMAS: Final = frozenset({"facts", "materialized"})

_Node = dict[str, Any]


def narrowed(sql: str, rows: Mapping[str, str]) -> str:
    """The SQL over some rows of the tables alone: a query `asked_reviews` stands in for the table
    `facts.reviews`, `asked_log` for `log`, and so on. A query may read those before it."""
    parts = ",\n".join(f"{name} as (\n{query}\n)" for name, query in rows.items())
    return f"with {parts}\nselect * from (\n{_over(sql, frozenset(rows))}\n)"


def stand_in(table: str) -> str:
    """The name of the query that stands in for a table."""
    return f"asked_{table.rpartition('.')[2]}"


@cache
def rows_of(name: str) -> Mapping[str, str]:
    """The queries of the WITH clause of `queries/narrowed/<name>.sql`, by name, in their order."""
    tree = _tree(script(f"narrowed/{name}"))
    [statement] = tree["statements"]
    return MappingProxyType(
        {
            query["key"]: _text(statement | {"node": query["value"]["query_node"]})
            for query in statement["node"]["cte_map"]["map"]
        }
    )


def tables(sql: str) -> frozenset[str]:
    """The tables of the log, its facts and materialized rows that the SQL reads."""
    return frozenset(_name(node) for node in _tables(_tree(sql)))


@cache
def _over(sql: str, names: frozenset[str]) -> str:
    tree = _tree(sql)
    for node in _tables(tree):
        name = stand_in(_name(node))
        if name in names:
            node["alias"] = node["alias"] or node["table_name"]
            node.update(schema_name="", table_name=name, qualified_name={"path": [name]})
    [statement] = tree["statements"]
    return _text(statement)


def _tables(tree: _Node) -> Iterator[_Node]:
    """Where the tree reads a table; names that stand for a query or a view have no schema."""
    nodes = list(_nodes(tree))
    queries = {it["key"].lower() for node in nodes for it in node.get("cte_map", {}).get("map", ())}
    for node in nodes:
        if node.get("type") == "BASE_TABLE" and (
            node["schema_name"].lower() in _SCHEMAS or _name(node) in {"log"} - queries
        ):
            yield node


def _name(node: _Node) -> str:
    return ".".join(filter(None, (node["schema_name"], node["table_name"]))).lower()


def _nodes(tree: _Node) -> Iterator[_Node]:
    waiting: list[Any] = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _tree(sql: str) -> _Node:
    """Raises `ValueError` for what DuckDB cannot read, or is not a query."""
    tree: _Node = json.loads(_asked("select json_serialize_sql(?::varchar)", sql))
    if tree["error"]:
        raise ValueError(f"{tree['error_message']}: {sql}")
    return tree


def _text(statement: _Node) -> str:
    tree = json.dumps({"error": False, "statements": [statement]})
    return _asked("select json_deserialize_sql(?::json)", tree)


def _asked(question: str, value: str) -> str:
    [(answer,)] = _parser().cursor().execute(question, (value,)).fetchall()
    return str(answer)


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config={"threads": 1})
