"""Leads SQL to a few rows of the tables that it reads: a table's name is replaced where DuckDB
reads a table, and nothing else is. No I/O.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from pipeline.ledger.syntax.tree import Node, nodes, statement_of, text_of
from pipeline.ledger.views.catalogue import script

_SCHEMAS: Final = frozenset({"facts", "materialized"})


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
    statement = statement_of(script(f"narrowed/{name}"))
    return MappingProxyType(
        {
            query["key"]: text_of(statement | {"node": query["value"]["query_node"]})
            for query in statement["node"]["cte_map"]["map"]
        }
    )


def tables(sql: str) -> frozenset[str]:
    """The tables of the log, its facts and materialized rows that the SQL reads."""
    return frozenset(_name(node) for node in _tables(statement_of(sql)))


def needs_narrowing(sql: str) -> bool:
    """Whether DuckDB would read whole tables for the rows of one id. It finds materialized rows by
    their key itself, but leads no condition below a window function."""
    statement = statement_of(sql)
    has_windows = any(node.get("class") == "WINDOW" for node in nodes(statement))
    return has_windows or any(_name(node).startswith("facts.") for node in _tables(statement))


@cache
def _over(sql: str, names: frozenset[str]) -> str:
    statement = statement_of(sql)
    for node in _tables(statement):
        name = stand_in(_name(node))
        if name in names:
            node["alias"] = node["alias"] or node["table_name"]
            node.update(schema_name="", table_name=name, qualified_name={"path": [name]})
    return text_of(statement)


def _tables(statement: Node) -> Iterator[Node]:
    """Where a statement reads a table; names that stand for a query or a view have no schema."""
    found = list(nodes(statement))
    queries = {it["key"].lower() for node in found for it in node.get("cte_map", {}).get("map", ())}
    for node in found:
        if node.get("type") == "BASE_TABLE" and (
            node["schema_name"].lower() in _SCHEMAS or _name(node) in {"log"} - queries
        ):
            yield node


def _name(node: Node) -> str:
    return ".".join(filter(None, (node["schema_name"], node["table_name"]))).lower()
