"""Drops from SQL the columns that nothing reads. DuckDB types and plans every column of an inner
query before it finds that nothing reads it. No I/O.

A column is dropped if its name stands in no query above its own and nowhere else in its own. Names
are compared without the query that they belong to, so too much may stay, and never too little. A
column that decides on more than its values stays, and so does all of a statement with a part that
is not known here (docs/decisions/queries.md#columns-that-nothing-reads-are-not-planned).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import cache
from typing import Final

import duckdb

from pipeline.ledger.syntax.tree import Node, nodes, statement_of, text_of

_MAKE_ROWS: Final = frozenset({"unnest", "unlist", "generate_subscripts", "regexp_split_to_table"})
"""Functions in a list of columns that decide on how many rows there are."""
_CLAUSES: Final = ("where_clause", "group_expressions", "having", "qualify", "modifiers", "sample")
_LISTS_IN_A_STAR: Final = (
    "exclude_list",
    "replace_list",
    "qualified_exclude_list",
    "rename_list",
)
"""Where `*` names columns."""


def pruned(sql: str) -> str:
    """The same query, whose inner queries have only the columns that others read. What is not a
    query, or has a part that is not known here, comes back as it is."""
    try:
        statement = statement_of(sql)
        query = statement["node"]
        if any(not _is_named(it) for it in query.get("select_list", ())):
            raise _Unknown  # DuckDB names the column by its text, which may be another afterwards
        _Pruning().query(query, is_whole=True)
    except (ValueError, RecursionError, _Unknown):
        return sql
    return text_of(statement)


class _Unknown(Exception):
    """A part of a statement that could read columns in a way that is not known here."""


class _Pruning:
    """Goes from the query whose rows are wanted down to those that it reads, each after all that
    read it."""

    def __init__(self) -> None:
        self._names_read: set[str] = set()  # in all that was gone through
        self._whole: set[str] = set()  # queries of which every column is read

    def query(self, query: Node, *, is_whole: bool) -> None:
        """`is_whole`: each of its columns is read, or its place among the others."""
        match query["type"]:
            case "SELECT_NODE":
                self._select(query, is_whole=is_whole)
            case "SET_OPERATION_NODE":
                for child in query["children"] or (query["left"], query["right"]):
                    self.query(child, is_whole=True)
                self._go_through(query["modifiers"])
            case _:
                raise _Unknown
        for part in reversed(query["cte_map"]["map"]):
            said = part["value"]
            if "query_node" not in said:
                raise _Unknown
            is_asked_whole = part["key"].lower() in self._whole or bool(said["aliases"])
            self.query(said["query_node"], is_whole=is_asked_whole)

    def _select(self, query: Node, *, is_whole: bool) -> None:
        if not is_whole and _may_lose_columns(query):
            query["select_list"] = self._kept(query)
        parts = [query["select_list"], *(query[it] for it in _CLAUSES)]
        self._go_through(parts)
        source = query["from_table"]
        self._whole.update(_taken_as_struct(source, [*parts, source]))
        stars = [it for it in nodes(_without_queries(parts)[0]) if it.get("class") == "STAR"]
        own = {"", *map(_name_of, _sources(source))}
        if any(it["relation_name"].lower() not in own for it in stars):
            raise _Unknown  # of a query around this one, or of a struct
        is_whole = is_whole or not _may_lose_columns(query)
        self._from(source, is_whole=is_whole and bool(stars))

    def _kept(self, query: Node) -> list[Node]:
        """The columns that something reads, in their order; one at least, as SQL asks for it."""
        columns: list[Node] = query["select_list"]
        parts = [*columns, *(query[it] for it in _CLAUSES)]
        readers = Counter(name for part in parts for name in set(_names(part)))
        kept = []
        for column in columns:
            name = _name_of(column)
            itself = int(name in _names(column))  # an expression may name what it is called
            is_read = name in self._names_read or readers[name] > itself
            if not name or is_read or _decides_on_more(column):
                kept.append(column)
        return kept or columns[:1]

    def _from(self, source: Node, *, is_whole: bool) -> None:
        match source["type"]:
            case "BASE_TABLE":
                if is_whole or source["column_name_alias"]:
                    self._whole.add(source["table_name"].lower())
            case "SUBQUERY":
                whole = is_whole or source["column_name_alias"] or _name_of(source) in self._whole
                self.query(source["subquery"]["node"], is_whole=bool(whole))
            case "JOIN":
                self._names_read.update(it.lower() for it in source["using_columns"])
                self._go_through(source["condition"])
                compares_all = source["ref_type"] not in ("REGULAR", "CROSS", "ASOF", "POSITIONAL")
                for side in (source["right"], source["left"]):  # the right one may read the left
                    self._from(side, is_whole=is_whole or compares_all)
            case "EMPTY":
                pass
            case "EXPRESSION_LIST" | "TABLE_FUNCTION":
                self._go_through(source)
            case _:
                raise _Unknown

    def _go_through(self, part: object) -> None:
        """Remembers the names in expressions, and goes through the queries in them."""
        outside, queries = _without_queries(part)
        self._names_read.update(_names(outside))
        for inner in queries:
            self.query(inner, is_whole=True)


def _is_named(column: Node) -> bool:
    return bool(column["alias"]) or column["class"] in ("COLUMN_REF", "STAR")


def _may_lose_columns(query: Node) -> bool:
    """Whether its rows stay the same without some of its columns. Without groups, to drop the last
    aggregate would make many rows of one; a column that stands alone shows that there is none."""
    if query["modifiers"] or query["aggregate_handling"] != "STANDARD_HANDLING":
        return False  # such as DISTINCT, or GROUP BY ALL
    if any(it["class"] == "CONSTANT" for it in query["group_expressions"]):
        return False  # the number of a column
    names = [_name_of(column) for column in query["select_list"]]
    if len(set(names)) < len(names):
        return False  # DuckDB numbers columns of one name, and another one may read the number
    if not query["group_expressions"] and any(
        part.get("function_name", "").lower() in _aggregates()
        for part in nodes(query["select_list"])
    ):
        return False  # a column beside it is of a query around this one
    return bool(query["group_expressions"]) or any(
        column["class"] in ("COLUMN_REF", "STAR") for column in query["select_list"]
    )


@cache
def _aggregates() -> frozenset[str]:
    sql = "select list(distinct function_name) from duckdb_functions() where function_type = ?"
    with closing(duckdb.connect(config={"threads": 1})) as connection:
        [(names,)] = connection.execute(sql, ["aggregate"]).fetchall()
    return frozenset(names)


def _decides_on_more(column: Node) -> bool:
    """Whether without the column there were other rows, or parameters at other places."""
    return any(
        part.get("class") == "PARAMETER" or part.get("function_name", "").lower() in _MAKE_ROWS
        for part in nodes(column)
    )


def _names(part: object) -> Iterator[str]:
    """Every name in it that could be a column's: of `a.b.c` each of the three."""
    for node in nodes(part):
        if node.get("class") == "POSITIONAL_REFERENCE":
            raise _Unknown
        if node.get("class") == "COLUMN_REF":
            yield from (it.lower() for it in node["column_names"])
        elif node.get("class") == "STAR":
            if node["columns"] or node["expr"]:
                raise _Unknown  # columns by a pattern
            yield from _texts(node[it] for it in _LISTS_IN_A_STAR)


def _texts(values: object) -> Iterator[str]:
    if isinstance(values, str):
        yield values.lower()
    elif isinstance(values, dict):
        yield from _texts(values.values())
    elif isinstance(values, Iterable):
        for value in values:
            yield from _texts(value)


def _name_of(part: Node) -> str:
    """The name, in lower case, by which a column or a source is read; "" for none."""
    if part["alias"]:
        return str(part["alias"]).lower()
    if part.get("class") == "COLUMN_REF":
        return str(part["column_names"][-1]).lower()
    return str(part.get("table_name", "")).lower()


def _sources(source: Node) -> Iterator[Node]:
    """The tables and queries that a join joins."""
    if source["type"] == "JOIN":
        yield from _sources(source["left"])
        yield from _sources(source["right"])
    else:
        yield source


def _taken_as_struct(source: Node, parts: object) -> Iterator[str]:
    """The queries of which the name stands alone, for a struct of all their columns."""
    alone = {
        node["column_names"][0].lower()
        for node in nodes(parts)
        if node.get("class") == "COLUMN_REF" and len(node["column_names"]) == 1
    }
    for table in _sources(source):
        if _name_of(table) in alone:
            yield str(table.get("table_name") or table["alias"]).lower()


def _without_queries(part: object) -> tuple[object, list[Node]]:
    """Expressions without the queries in them; and these queries, without those that they hold."""
    queries: list[Node] = []

    def outside(value: object) -> object:
        if isinstance(value, list):
            return [outside(it) for it in value]
        if not isinstance(value, dict):
            return value
        if value.get("class") == "SUBQUERY":
            queries.append(value["subquery"]["node"])
            value = {name: it for name, it in value.items() if name != "subquery"}
        return {name: outside(it) for name, it in value.items()}

    return outside(part), queries
