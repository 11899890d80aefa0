"""Names what inbox and ledger define otherwise than a new one of this release.

Rows can be right and still be read or kept wrongly: by a macro in the ledger that says something
else than ours, by a trigger in the inbox that removes what was just recorded, by an index that
lacks some of them, beside rows that are not entries. What is asked here calls nothing but DuckDB's
own lists, by their full names, since a macro can have any other name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import cache
from typing import Any, Final, NamedTuple

from pipeline.inbox import Inbox, schema
from pipeline.inbox.sqlite.foreign import OBJECTS, objects_of
from pipeline.inbox.sqlite.inbox import SqliteInbox
from pipeline.ledger import facts
from pipeline.ledger.store import Ledger


class Named(NamedTuple):
    """What is defined."""

    kind: str
    name: str


Definitions = Mapping[Named, tuple[Any, ...]]

_IN_DUCKDB: Final = {  # (database, schema, name, how it is defined ...) of each kind
    "schema": "database_name, schema_name, '' from system.main.duckdb_schemas()",
    "table": "database_name, schema_name, table_name, sql from system.main.duckdb_tables()",
    "index": "database_name, schema_name, index_name, sql from system.main.duckdb_indexes()",
    "trigger": "database_name, schema_name, trigger_name, sql from system.main.duckdb_triggers()",
    "sequence": "database_name, schema_name, sequence_name, sql"
    " from system.main.duckdb_sequences()",
    "type": "database_name, schema_name, type_name from system.main.duckdb_types()"
    " where not internal",
    "macro": "database_name, schema_name, function_name, function_type, parameters,"
    " macro_definition from system.main.duckdb_functions() where not internal",
}
_WHOLE: Final = "pragma integrity_check(20)"
"""Whether each index has the rows that it says it has: what was erased, and which artifacts are
named, is asked by one. It takes 1.1 s for 300,000 entries, where an audit takes minutes."""
_ROWS: Final = "select count(*), coalesce(max(seq), 0) from entries"
"""Entries are numbered from 1, without a gap. A row more is below the first, or has the number of
another, as a table that inherits from this one can: nothing that follows the log reads it, and
whatever asks for entries of a kind, a process or a seller may."""
_IN_POSTGRES: Final = {
    "view": "c.relname, c.relkind::text from pg_catalog.pg_class c"
    " join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
    " where n.nspname = 'prazo' and c.relkind in ('v', 'm', 'f')"
    " and c.relname in (select pg_catalog.unnest($1::text[]))",
    "policy": "c.relname, c.relforcerowsecurity::text from pg_catalog.pg_class c"
    " join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
    " where n.nspname = 'prazo' and c.relrowsecurity",
    "rule": "r.rulename, c.relname from pg_catalog.pg_rewrite r"
    " join pg_catalog.pg_class c on c.oid = r.ev_class"
    " join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
    " where n.nspname = 'prazo' and c.relkind in ('r', 'p')",
    "trigger": "t.tgname, c.relname, p.proname, t.tgenabled::text from pg_catalog.pg_trigger t"
    " join pg_catalog.pg_class c on c.oid = t.tgrelid"
    " join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
    " join pg_catalog.pg_proc p on p.oid = t.tgfoid"
    " where n.nspname = 'prazo' and not t.tgisinternal",
    "function": "p.proname, p.prosrc from pg_catalog.pg_proc p"
    " join pg_catalog.pg_namespace n on n.oid = p.pronamespace where n.nspname = 'prazo'",
}
_POSTGRES_TABLE: Final = re.compile(r"create table if not exists prazo\.(\w+)")
_POSTGRES_TRIGGER: Final = re.compile(
    r"trigger (\w+)\s[^;]* on prazo\.(\w+)\s[^;]* execute function prazo\.(\w+)\(\);"
)
_POSTGRES_FUNCTION: Final = re.compile(
    r"create or replace function prazo\.(\w+)\(\)[^$]*\$\$(.*?)\$\$", re.DOTALL
)


def altered_in_ledger(ledger: Ledger) -> list[str]:
    """What the ledger's file has beyond a new one, lacks, or defines otherwise. Its views are left
    out: nothing of ours reads them."""
    return list(_compared(_of_duckdb(ledger), _new_ledger()))


def altered_in_inbox(inbox: Inbox) -> list[str]:
    """The same of the inbox; in PostgreSQL, of what can change, hide or divert its rows. Of a file
    of SQLite also what is damaged in it; of both, whether rows stand beside the entries."""
    [(rows, last)] = inbox.query(_ROWS)
    beside = [f"has {rows} rows of entries, and the newest is {last}"] if rows > last else []
    if isinstance(inbox, SqliteInbox):
        altered = _compared(_of_rows(inbox.query(OBJECTS)), _of_rows(objects_of(inbox.version)))
        damaged = (f"is damaged: {said}" for (said,) in inbox.query(_WHOLE) if said != "ok")
        return [*altered, *damaged, *beside]
    tables = _POSTGRES_TABLE.findall(schema.steps("postgres", until=inbox.version))
    found = {
        Named(kind, name): tuple(definition)
        for kind, query in _IN_POSTGRES.items()
        for name, *definition in inbox.query(
            f"select {query}", *([tables] if "$1" in query else [])
        )
    }
    return [*_compared(found, _new_postgres(inbox.version)), *beside]


def _compared(found: Definitions, expected: Definitions) -> Iterator[str]:
    for named in sorted(found.keys() | expected.keys()):
        if named not in expected:
            yield f"has a {named.kind} {named.name} that none has"
        elif named not in found:
            yield f"lacks the {named.kind} {named.name}"
        elif found[named] != expected[named]:
            yield f"defines the {named.kind} {named.name} otherwise than this release"


def _of_duckdb(ledger: Ledger) -> Definitions:
    found: dict[Named, tuple[Any, ...]] = {}
    cursor = ledger.cursor()
    # Beside it are databases in memory, with what was asked for.
    [(own,)] = cursor.execute("select system.main.current_database()").fetchall()
    for kind, query in _IN_DUCKDB.items():
        for database, of, name, *definition in cursor.execute(f"select {query}").fetchall():
            if database == own:
                named = Named(kind, f"{of}.{name}".strip("."))
                # A macro may be there once for each number of arguments.
                found[named] = (*found.get(named, ()), *map(str, definition))
    return found


@cache
def _new_ledger() -> Definitions:
    keys = facts.Keys(values=b"none", taxpayer=b"none")
    with closing(Ledger(None, log="new", keys=keys, memory="256MB", threads=1)) as ledger:
        return _of_duckdb(ledger)


def _of_rows(rows: Iterable[Any]) -> Definitions:
    return {Named(kind, name): tuple(definition) for kind, name, *definition in rows}


@cache
def _new_postgres(version: int) -> Definitions:
    steps = schema.steps("postgres", until=version)
    triggers = _POSTGRES_TRIGGER.findall(steps)
    return {
        **{Named("trigger", name): (table, does, "A") for name, table, does in triggers},
        **{Named("function", name): (does,) for name, does in _POSTGRES_FUNCTION.findall(steps)},
    }
