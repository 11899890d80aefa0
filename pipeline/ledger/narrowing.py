"""Leads SQL to a few rows of the tables that it reads. No I/O.

Tables and views share no name, and SQL reads both by their names alone. So a query of a table's
name, in a WITH clause before the SQL, stands in for that table in all that is nested in it.
"""

from collections.abc import Mapping

from pipeline.ledger.views.catalogue import script


def narrowed(sql: str, *clauses: str) -> str:
    """The SQL over what WITH clauses say of the tables. Each may read what those before it name."""
    for clause in reversed(clauses):
        sql = f"{clause}\nselect * from (\n{sql}\n)"
    return sql


def rows_of(name: str) -> str:
    """The WITH clause of `queries/narrowed/<name>.sql`."""
    return script(f"narrowed/{name}").rstrip()


def named(queries: Mapping[str, str]) -> str:
    """A WITH clause of queries by name."""
    return "with " + ",\n".join(f"{name} as (\n{query}\n)" for name, query in queries.items())


def needs_narrowing(sql: str) -> bool:
    """Whether DuckDB would read whole tables for the rows of one id. It finds kept rows by their
    key itself, but leads no condition below a window function."""
    return "fact_" in sql or " over (" in sql
