"""Answers questions about few processes or sellers by prepared statements over their rows.

DuckDB plans a view of views for 5 to 50 ms and works it out over few rows in 1 to 10. It keeps the
plan of a prepared statement that reads neither a table nor a variable. So the rows that the ids
need are read first, once for all questions about them (`queries/held/`), and a statement is
executed with these, and with the instant, as its parameters.
"""

import functools
import itertools
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import duckdb

from pipeline.ledger import materialized
from pipeline.ledger.narrowing import named, narrowed
from pipeline.ledger.refresh import Watermark
from pipeline.ledger.syntax.parsed import parsed
from pipeline.ledger.views.catalogue import View, catalogue, script, whole_sql
from pipeline.ledger.views.sources import bare

MOST_IDS: Final = 8
"""That are few: each is a parameter of its own, and with fifty a question takes twice as long as
one that is narrowed."""

MOST_ENTRIES: Final = 200
"""About the ids or their sellers: DuckDB holds a row as a value in 0.1 ms and 70 kB."""

MOST_CONNECTIONS: Final = 3
"""At once: each plans every statement for itself, for 0.3 s in all, and waiting for one takes less.
Thirty people who opened more had each new one plan again, and a process took 1.7 times."""

MOST_STATEMENTS: Final = 128
"""That a connection keeps."""

_ROWS: Final = {"process_id": "held/processes", "seller_id": "held/sellers"}
"""Column -> the file under `queries/` that says which rows its ids need."""

_DECIDED: Final = "decided_by_others"
"""What of such a file has rows where a view needs rows of others, too (`Reading`)."""

_QUERY: Final = re.compile(
    r"^(?:with )?(\w+) as (?:materialized )?\(\n(.*?)\n\)", re.DOTALL | re.MULTILINE
)
_VARIABLE: Final = re.compile(r"getvariable\('(?!as_of')(\w+)'\)")
_INSTANT: Final = re.compile(r"\bas_of\(\)")
_PARAMETER: Final = re.compile(r"\$((?:as_of|value)_\d+)\b")

_END: Final = r"(?=\s*(?:\)|union\b|$))"
"""After the name of a table that is read without a condition."""


class Few(NamedTuple):
    """The few ids that a question asks for."""

    column: str
    ids: Sequence[object]


class Settings(NamedTuple):
    """What views depend on beside rows and instant: other variables of `queries/macros.sql`."""

    unmask: bool
    await_seller_hours: int | None
    alert_rules: str | None

    def variables(self) -> Mapping[str, str]:
        """Variable -> its value as SQL writes it, of those that are not null."""
        found = {}
        if self.unmask:
            found["unmask"] = "true"
        if self.await_seller_hours is not None:
            found["await_seller_hours"] = str(self.await_seller_hours)
        if self.alert_rules is not None:
            found["alert_rules"] = "'{}'".format(self.alert_rules.replace("'", "''"))
        return found

    def set_on(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Has a cursor read views by them."""
        for name, value in self.variables().items():
            cursor.execute(f"set variable {name} = {value}")


class Clauses(NamedTuple):
    """A question about a view's rows: its clauses, with `?` for each value, and these values."""

    view: View
    own_order: str
    condition: str
    rest: str
    values: Sequence[object]


class _Rows(NamedTuple):
    few: Few
    state: Watermark | None
    are_few: bool
    held: set[str]  # what of the file of their column is in variables


class _Statement(NamedTuple):
    name: str
    tables: Sequence[str]  # whose held rows it is executed with
    execute: duckdb.Statement


class Prepared:
    """A connection that holds the rows of few processes or sellers as values, and statements that
    are prepared over such rows. For one thread at a time."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, settings: Settings) -> None:
        self.cursor = cursor
        self.settings = settings
        self._types = _types(cursor)
        self._rows: dict[str, _Rows] = {}  # by the column whose ids they are of
        self._values: dict[int, object] = {}  # of the last questions, by their place in these
        self._statements: OrderedDict[tuple[str, ...], _Statement | None] = OrderedDict()
        self._numbers = itertools.count()
        settings.set_on(cursor)
        cursor.execute(_constants(settings))

    def holds(self, few: Few) -> bool:
        """Whether it was asked about these ids last, of those of their column."""
        return few.column in self._rows and self._rows[few.column].few == few

    def answer(
        self, few: Few, asked: Clauses, state: Watermark | None
    ) -> duckdb.DuckDBPyConnection | None:
        """The connection, with the rows of a question; None where these ids have many, or where
        its view needs more than their rows. The variable `as_of` is set. Rows that were read in one
        `state` serve again in it; in None they do not."""
        statement = self._statement(few.column, asked)
        if statement is None or not self._holds_few(few, state):
            return None
        if asked.view.reading.decided_by_others and self._are_decided_by_others(few.column):
            return None
        for number, value in enumerate(asked.values):
            if not (isinstance(value, str) and self._values.get(number) == value):
                self._run(f"set variable value_{number} = $1", value)
                self._values[number] = value
        self._hold(few.column, statement.tables)
        return self.cursor.execute(statement.execute)

    def _run(self, sql: str, *values: object) -> duckdb.DuckDBPyConnection:
        return self.cursor.execute(parsed(sql).statement(self.cursor), values)

    def _holds_few(self, few: Few, state: Watermark | None) -> bool:
        """Has the ids as a variable; false where many entries are about them."""
        rows = self._rows.get(few.column)
        if rows is None or state is None or rows.state is not state or rows.few != few:
            self._run(f"set variable {few.column}_asked = $1::varchar[]", few.ids)
            [(entries,)] = self._run(_entries(few.column)).fetchall()
            rows = _Rows(few, state, entries <= MOST_ENTRIES, set())
            self._rows[few.column] = rows
        return rows.are_few

    def _hold(self, column: str, names: Sequence[str]) -> None:
        held = self._rows[column].held
        for name, reading in _readings(column, tuple(names)):
            if name not in held:
                self._run(reading)
                held.add(name)

    def _are_decided_by_others(self, column: str) -> bool:
        self._hold(column, [_DECIDED])
        [(found,)] = self._run(f"select getvariable('{column}_{_DECIDED}') is not null").fetchall()
        return bool(found)

    def _statement(self, column: str, asked: Clauses) -> _Statement | None:
        """The question's statement, which is prepared the first time."""
        key = (column, asked.view.name, asked.own_order, asked.condition, asked.rest)
        if key not in self._statements:
            self._statements[key] = self._prepare(column, asked)
            if len(self._statements) > MOST_STATEMENTS:
                _, oldest = self._statements.popitem(last=False)
                if oldest is not None:
                    self.cursor.execute(f"deallocate {oldest.name}")
        self._statements.move_to_end(key)
        return self._statements[key]

    def _prepare(self, column: str, asked: Clauses) -> _Statement | None:
        sql = whole_sql(asked.view, materialized.of_held_rows(asked.view), order=asked.own_order)
        words = {*re.findall(r"\w+", bare(sql))}
        tables = [it for it in self._types if it in words]
        if not _complete(asked.view.name, column).issuperset(tables):
            return None
        whole = f"select * from ({sql}){_numbered(asked.condition)}{asked.rest}"
        # A statement that has one parameter twice is planned again each time.
        numbers = itertools.count()
        whole = _INSTANT.sub(lambda _: f"$as_of_{next(numbers)}::timestamp", whole)
        rows = {it: f"select unnest(${it}::{self._types[it]}, max_depth := 2)" for it in tables}
        name = f"question_{next(self._numbers)}"
        self.cursor.execute(f"prepare {name} as {narrowed(whole, named(rows))}")
        values = {it: f"{column}_{it}" for it in tables}
        for parameter in _PARAMETER.findall(whole):
            values[parameter] = "as_of" if parameter.startswith("as_of") else parameter
        given = (f"{parameter} := getvariable('{value}')" for parameter, value in values.items())
        [execute] = self.cursor.extract_statements(f"execute {name}({', '.join(given)})")
        return _Statement(name, tables, execute)


class Connections:
    """Connections to one open ledger, each `Prepared`, that questions take and give back."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._change = threading.Condition()
        self._free: list[Prepared] = []  # the one that was used last at the end
        self._open = 0  # the free ones, and those that are taken

    def take(self, few: Few, settings: Settings) -> Prepared | None:
        """One that was asked about these ids last, else the one that was used last, else another;
        None where all stay taken for a second. Whoever takes it gives it back, or lets it go where
        a question failed."""
        with self._change:
            if not self._change.wait_for(lambda: self._free or self._open < MOST_CONNECTIONS, 1.0):
                return None
            fitting = [it for it in reversed(self._free) if it.settings == settings]
            fitting.sort(key=lambda free: not free.holds(few))
            if fitting:
                self._free.remove(fitting[0])
                return fitting[0]
            if self._open >= MOST_CONNECTIONS:  # in place of the one that was used longest ago
                self._free.pop(0).cursor.close()
                self._open -= 1
            self._open += 1
        try:
            return Prepared(self._connection.cursor(), settings)
        except BaseException:
            self._closed()
            raise

    def give_back(self, prepared: Prepared) -> None:
        """For the next question."""
        with self._change:
            self._free.append(prepared)
            self._change.notify()

    def let_go(self, prepared: Prepared) -> None:
        """Closes one for good."""
        prepared.cursor.close()
        self._closed()

    def _closed(self) -> None:
        with self._change:
            self._open -= 1
            self._change.notify()


def _types(cursor: duckdb.DuckDBPyConnection) -> Mapping[str, str]:
    """Each table of the ledger, and the type of a list of its rows."""
    columns = """
        select table_name, string_agg(
            '"' || column_name || '" ' || data_type, ', ' order by column_index
        )
        from duckdb_columns()
        where database_name = current_database() and schema_name = 'main' and not internal
            and table_oid in (select table_oid from duckdb_tables())
        group by table_name
    """
    return {table: f"struct({of})[]" for table, of in cursor.execute(columns).fetchall()}


def _numbered(condition: str) -> str:
    """A condition with numbered parameters in place of `?`."""
    numbers = itertools.count()
    return re.sub(r"\?", lambda _: f"$value_{next(numbers)}", condition)


@functools.cache
def _queries(file: str) -> Mapping[str, str]:
    """Table, or what stands between tables -> the query of its rows in a file of WITH clauses."""
    return dict(_QUERY.findall(script(file)))


@functools.lru_cache(maxsize=1000)
def _readings(column: str, names: Sequence[str]) -> Sequence[tuple[str, str]]:
    """What is read for some names of a file, tables mostly, and the statement that reads it into a
    variable, in order."""
    queries = _queries(_ROWS[column])
    needed = dict[str, str]()

    def add(name: str) -> None:
        query = queries[name]
        from_others = [it for it in queries if re.search(rf"(?<!main\.)\b{it}\b", query)]
        for other in from_others:
            add(other)
        rows = f"select list(held) from (\n{_given(query, column, from_others)}\n) as held"
        needed[name] = f"set variable {column}_{name} = (\n{rows}\n)"

    for name in names:
        add(name)
    return [*needed.items()]


@functools.cache
def _entries(column: str) -> str:
    """The statement that counts the entries about the ids and, of processes, about their sellers:
    one beyond the most at most."""
    entries = f"select seq from main.kept_timeline where {column} in (from asked)"
    if column == "process_id":
        sellers = "select seller_id from main.kept_processes where process_id in (from asked)"
        entries += f" union select seq from main.kept_timeline where seller_id in ({sellers})"
    return f"select count(*) from ({_given(entries, column)} limit {MOST_ENTRIES + 1})"


def _given(query: str, column: str, names: Sequence[str] = ()) -> str:
    """A query with variables in place of `asked` and of the rows of these names. A column is taken
    out of each row: binding them all, or a WITH clause of them, takes half as long as reading."""
    for name in ("asked", *names):
        rows = f"getvariable('{column}_{name}')"
        query = re.sub(rf"\bselect (\w+) from {name}{_END}", rf"select unnest({rows}).\1", query)
        all_columns = f"select unnest({rows}, max_depth := 2)"
        query = re.sub(rf"\bfrom {name}{_END}", all_columns, query)
        query = re.sub(rf"\bfrom {name}\b", f"from ({all_columns})", query)
    return query


@functools.cache
def _complete(view: str, column: str) -> frozenset[str]:
    """The tables of which a view needs no other rows for ids than the held ones."""
    found = catalogue()[view]
    led = found.reading.led.get(column)
    if led and not found.reading.decided_by_others:
        return frozenset(_queries(f"narrowed/{led}"))
    return frozenset(_queries(_ROWS[column]) if led or column in found.by else ())


def _constants(settings: Settings) -> str:
    """The macros of `queries/macros.sql` that read a variable, with its value in its place; but for
    the instant, which is a parameter."""
    values = settings.variables()

    def constant(macro: str) -> str:
        return _VARIABLE.sub(lambda found: values.get(found[1], "null"), macro)

    macros = ((it, constant(it)) for it in script("macros").split(";\n"))
    made = (it.replace("replace macro", "replace temp macro") for was, it in macros if it != was)
    return ";\n".join(made)
