"""Moves rows between Python and DuckDB through Arrow, says which columns a masked ledger or package
hides (`MASKED_COLUMNS`), runs scripts of several queries, and remembers what was planned only to
find columns.
"""

import contextlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import duckdb

from pipeline.contract import seller_record
from pipeline.ledger.syntax.parsed import parsed
from pipeline.log.entries import Entry

if TYPE_CHECKING:  # 0.1 s of a command, and one that reads a few rows makes no table
    import pyarrow as pa

# A relation is planned twice. Of a few rows a copy costs less, which is what DuckDB warns of.
warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)

LOG_COLUMNS: Final = tuple(name for name in Entry._fields if name != "ingest_key")

_SAID_OF_END: Final = "(json_extract_string(decode(record), '$.error'))"
_MASKED_RECORD: Final = (
    "case when kind = 'submission_finished'"
    f" then case when mask_error({_SAID_OF_END}) <> {_SAID_OF_END} then null else record end"
    " else record end"
)
"""Of what another system wrote of an attempt's end, no part can be taken out of its record."""

MASKED_COLUMNS: Final = {
    "log": {
        **dict.fromkeys(("body", "salt", "person", "person_salt"), "null"),
        "record": _MASKED_RECORD,
    },
    "fact_seller_events": seller_record.MASKS,
    "fact_unreadable_parts": {"found": "mask_found(part, found)"},
    "fact_attempt_finishes": {"error": "mask_error(error)"},
    "fact_collections": {"actor": "mask_text(actor)"},
    "fact_artifacts": {"name": "mask_text(name)"},
    "fact_notices": {"promised_for": "mask_text(promised_for)"},
    "fact_actions": {"content": "null"},
}
"""What a ledger without bodies, and a masked package, keep in place of personal values. Views mask
for themselves, by `personal()`, so a new personal column is named there as well."""

ERASURES: Final = "select seq, record from log where kind = ? order by seq"
"""Gives the rows that `erasures.known` reads; in a former ledger's file, too."""
IS_ERASED: Final = "salt is null and body is not null"
"""Of entries in the log whose bytes are erased; true of none in a ledger without bodies."""

FEW_ROWS: Final = 4
"""Up to so many, DuckDB takes values sooner than columns. Of each value it plans an expression:
10 ms for a dozen sellers' events, where columns take 2."""


_SCHEMAS: Final[dict[str, "pa.Schema"]] = {}
"""Of tables: they are the same in every ledger of a release."""


def schemas(connection: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> dict[str, "pa.Schema"]:
    """Types of each table's columns, as DuckDB made them; once a process, since to ask for
    all of them takes half as long as to connect."""
    found = {}
    for table in tables:
        if table not in _SCHEMAS:
            rows: pa.Table = connection.execute(f"from {table} limit 0").to_arrow_table()
            _SCHEMAS[table] = rows.schema
        found[table] = _SCHEMAS[table]
    return found


_MADE: Final[dict[str, str]] = {}
"""DDL that makes tables from queries -> the same with the columns that were found for them."""


def make_tables(connection: duckdb.DuckDBPyConnection, definitions: str) -> None:
    """Makes tables by DDL of the form `create table if not exists ... as`.

    To find their columns DuckDB plans each query whole, which takes longer than the rest of a new
    ledger. A process therefore finds them once.
    """
    if definitions in _MADE:
        connection.execute(_MADE[definitions])
        return
    tables = "select {} from duckdb_tables() order by table_oid"
    before = connection.execute(tables.format("table_name")).fetchall()
    connection.execute(definitions)
    now = connection.execute(tables.format("table_name, sql")).fetchall()
    _MADE[definitions] = "\n".join(sql for name, sql in now if (name,) not in before)


Rows: TypeAlias = "pa.Table | Sequence[Sequence[object]]"
"""Rows of a table: a few one by one, or all of them column by column."""


def in_columns(schema: "pa.Schema", rows: Sequence[Sequence[object]]) -> Rows:
    """Rows as DuckDB takes them soonest."""
    return rows if len(rows) <= FEW_ROWS else _columns(schema, rows)


def _columns(schema: "pa.Schema", rows: Sequence[Sequence[object]]) -> "pa.Table":
    import pyarrow as pa

    return pa.Table.from_arrays(
        [
            pa.array(values, type=column.type)
            for values, column in zip(zip(*rows, strict=True), schema, strict=True)
        ],
        schema=schema,
    )


def insert(
    connection: duckdb.DuckDBPyConnection,
    schemas: Mapping[str, "pa.Schema"],
    rows: Mapping[str, Rows],
    masks: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> None:
    """Adds rows to tables, those of several tables in no order. `masks`: of each table, expressions
    that stand in for columns."""
    few = {}
    for table, found in rows.items():
        if len(found) == 0:
            continue
        schema, hidden = schemas[table], masks.get(table, {})
        if isinstance(found, Sequence):
            found = _columns(schema, found) if hidden else in_columns(schema, found)
        if isinstance(found, Sequence):
            few[table] = found
        else:
            _insert_columns(connection, table, found, hidden)
    if few:
        _insert_few(connection, schemas, few)


def _insert_columns(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    rows: "pa.Table",
    masks: Mapping[str, str],
) -> None:
    columns = ", ".join(f"{masks.get(name, name)} as {name}" for name in rows.schema.names)
    connection.register("batch", rows)
    try:
        connection.execute(f"insert into {table} select {columns} from batch")
    except BaseException:
        with contextlib.suppress(duckdb.Error):  # the transaction is aborted: why says more
            connection.unregister("batch")
        raise
    connection.unregister("batch")


def _insert_few(
    connection: duckdb.DuckDBPyConnection,
    schemas: Mapping[str, "pa.Schema"],
    rows: Mapping[str, Sequence[Sequence[object]]],
) -> None:
    """Values one by one, of all tables in one statement: for a handful of rows, making Arrow tables
    takes several times longer, and a statement for each table half as long again.

    Instants are microseconds, as everywhere outside of DuckDB.
    """
    inserts = [_insert_sql(table, schemas[table], len(found)) for table, found in rows.items()]
    others = [f"insert_{number} as ({sql})" for number, sql in enumerate(inserts[:-1])]
    sql = f"with {', '.join(others)} {inserts[-1]}" if others else inserts[-1]
    values = [it for found in rows.values() for row in found for it in row]
    is_usual = all(len(found) == 1 for found in rows.values())
    connection.execute(parsed(sql).statement(connection) if is_usual else sql, values)


def _insert_sql(table: str, schema: "pa.Schema", count: int) -> str:
    places = ", ".join(
        "make_timestamp(?::bigint)" if _is_instant(column) else "?" for column in schema
    )
    return f"insert into {table} values {', '.join([f'({places})'] * count)}"


def _is_instant(column: "pa.Field") -> bool:
    return str(column.type).startswith("timestamp")


def facts_of(
    connection: duckdb.DuckDBPyConnection, table: str, schema: "pa.Schema", condition: str = "true"
) -> list[tuple[Any, ...]]:
    """The rows of a table in a fixed order, instants in microseconds."""
    columns = ", ".join(
        f"epoch_us({field.name})" if _is_instant(field) else field.name for field in schema
    )
    sql = f"select {columns} from {table} where {condition} order by all"
    return connection.execute(sql).fetchall()


def entries_of(
    connection: duckdb.DuckDBPyConnection, condition: str, parameters: Sequence[object]
) -> list[Entry]:
    """The entries for which an SQL condition on `log` is true, in order of seq, without their
    ingest keys."""
    instants = ("occurred_at", "recorded_at")
    columns = ", ".join(f"epoch_us({it})" if it in instants else it for it in LOG_COLUMNS)
    sql = f"select {columns} from log where {condition} order by seq"
    rows = connection.execute(sql, parameters).fetchall()
    return [Entry._make((*row, None)) for row in rows]


def recorded_entries(connection: duckdb.DuckDBPyConnection, first: int, last: int) -> list[Entry]:
    """The entries `first` to `last` with their ingest keys. A ledger that was made from the file of
    a release that kept none lacks them."""
    sql = "select seq, key from ingest_keys where seq between ? and ?"
    keys: dict[int, bytes] = dict(connection.execute(sql, [first, last]).fetchall())
    entries = entries_of(connection, "seq between ? and ?", [first, last])
    return [it._replace(ingest_key=keys.get(it.seq)) for it in entries]


def entries_of_former(former: duckdb.DuckDBPyConnection, first: int, last: int) -> list[Entry]:
    """Entries of a former ledger's file, whose columns have been the same in every release; with
    their ingest keys, where that release kept them."""
    try:
        return recorded_entries(former, first, last)
    except duckdb.CatalogException:
        return entries_of(former, "seq between ? and ?", [first, last])


def run_script(
    connection: duckdb.DuckDBPyConnection, script: str, variables: Mapping[str, object]
) -> "list[pa.Table]":
    """Runs a script of several statements; the results of its queries, in order."""
    for name, value in variables.items():
        connection.execute(f"set variable {name} = ?", (value,))
    results = []
    for statement in parsed(script).statements(connection):
        if statement.type == duckdb.StatementType.SELECT:
            results.append(connection.execute(statement).to_arrow_table())
        else:
            connection.execute(statement)
    return results
