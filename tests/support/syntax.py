"""SQL as DuckDB's own parser reads it."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import duckdb


@cache
def tree_of(sql: str) -> Any:
    """The syntax tree of a query, or what is wrong with it."""
    [(text,)] = duckdb.execute("select json_serialize_sql(?::varchar)", [sql]).fetchall()
    return json.loads(text)


def nodes_of(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of a syntax tree."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from nodes_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from nodes_of(inner)


def named_in(sql: str) -> set[str]:
    """The names of the queries in its WITH clauses."""
    return {
        entry["key"]
        for node in nodes_of(tree_of(sql))
        for entry in node.get("cte_map", {}).get("map", [])
    }


def read_in(sql: str) -> set[str]:
    """Tables, views and queries that it reads, each with the schema that stands before it."""
    return {
        f"{node['schema_name']}.{node['table_name']}".lstrip(".")
        for node in nodes_of(tree_of(sql))
        if node.get("type") == "BASE_TABLE"
    }
