"""Loads `queries/` and reads its views: the only reader of the ledger.

A view's file says in its header what one row is, what it reads, its key and its columns; the
loader orders files by what they read, and documentation is made from the headers alone.
"""

import contextlib
import graphlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from pipeline import instants
from pipeline.errors import CallerError, UnknownView
from pipeline.ledger import QUERIES, Ledger

_NOT_VIEWS: Final = frozenset({"schema.sql", "guards.sql", "macros.sql"})
_INTERNAL: Final = frozenset({"occurrences", "rules", "checks"})
"""Folders of views for other views alone: their personal columns are not masked."""


@dataclass(frozen=True, slots=True)
class View:
    """A file under `queries/`, as its header describes it."""

    name: str
    group: str  # its folder
    summary: str  # what one row is
    reads: tuple[str, ...]  # other views, and tables (`facts.…`, `log`, `tree_…`)
    key: tuple[str, ...]
    columns: Mapping[str, str]  # name -> meaning
    sql: str

    @property
    def order(self) -> str:
        """The order of its rows where its SQL states none: by its key."""
        has_order = re.search(r"^order by", self.sql, re.MULTILINE)  # indented ones are inner ones
        return "" if has_order else f" order by {', '.join(self.key)}"

    @property
    def is_public(self) -> bool:
        return self.group not in _INTERNAL


@cache
def catalogue() -> Mapping[str, View]:
    """Every view by name, in an order in which each follows what it reads."""
    views = {
        path.stem: _read(path)
        for path in sorted(QUERIES.rglob("*.sql"))
        if path.name not in _NOT_VIEWS
    }
    graph = {name: [it for it in view.reads if it in views] for name, view in views.items()}
    return {name: views[name] for name in graphlib.TopologicalSorter(graph).static_order()}


def public() -> Mapping[str, View]:
    """The views that people and programs may ask for."""
    return {name: view for name, view in sorted(catalogue().items()) if view.is_public}


def _read(path: Path) -> View:
    lines = path.read_text(encoding="utf-8").splitlines()
    header = list(_header(lines))
    paragraph = itertools.takewhile(bool, header)
    notes = [line for line in paragraph if not re.match(r"(reads|key|column):", line)]
    columns = {}
    for line in header:
        if line.startswith("column:"):
            name, _, meaning = line.removeprefix("column:").partition("|")
            columns[name.strip()] = meaning.strip()
    return View(
        name=path.stem,
        group=path.parent.name if path.parent != QUERIES else "",
        summary=" ".join(notes).strip(),
        reads=_names(header, "reads:"),
        key=_names(header, "key:"),
        columns=columns,
        sql="\n".join(lines[len(header) :]).strip(),
    )


def _header(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith("--"):
            return
        yield line.removeprefix("--").strip()


def _names(header: Sequence[str], label: str) -> tuple[str, ...]:
    text = next((it.removeprefix(label) for it in header if it.startswith(label)), "")
    return tuple(name.strip() for name in text.split(",") if name.strip())


def install(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes every view; safe to repeat, so that a newer release's views replace an older's."""
    for view in catalogue().values():
        connection.execute(f"create or replace view {view.name} as {whole_sql(view)}")


def whole_sql(view: View) -> str:
    """The view's SQL with every view below it as a CTE, so that DuckDB works out each only once.

    As a view of views, `findings` read `process_state` a dozen times over: planning took seconds.
    """
    below: dict[str, None] = {}

    def collect(names: Sequence[str]) -> None:
        for name in names:
            if name in catalogue() and name not in below:
                collect(catalogue()[name].reads)
                below[name] = None

    collect(view.reads)
    if not below:
        return view.sql
    parts = ",\n".join(f"{name} as (\n{catalogue()[name].sql}\n)" for name in below)
    return f"with {parts}\nselect * from (\n{view.sql}\n)"


class Reader:
    """Reads views of one ledger, each call at its own instant, from any thread."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        install(ledger.cursor())

    def read(
        self,
        view: str,
        *,
        as_of: int | None = None,
        where: Mapping[str, object] | None = None,
        contains: Mapping[str, str] | None = None,
        order_by: str | None = None,
        limit: int | None = None,
        offset: int = 0,
        unmask: bool = False,
    ) -> pa.Table:
        """Rows of a view, in its own order, as an Arrow table; instants are naive UTC.

        `as_of` in microseconds (None: now). `where`: column -> value, or a list of values, any of
        which may match. `contains`: column -> part of its text, whatever the case. `order_by`:
        `column` or `column desc`. `unmask` shows personal columns: the caller has recorded why.
        Raises `UnknownView`.
        """
        condition, parameters = _condition(_public(view), where, contains)
        order = _order(_public(view), order_by)
        window = f" limit {int(limit)}" if limit is not None else ""
        window += f" offset {int(offset)}" if offset else ""
        cursor = self._cursor(as_of, unmask)
        with _told_plainly(view):
            rows = cursor.sql(f"select * from {view}{condition}{order}{window}", params=parameters)
            return rows.to_arrow_table()

    def count(
        self,
        view: str,
        *,
        as_of: int | None = None,
        where: Mapping[str, object] | None = None,
        contains: Mapping[str, str] | None = None,
    ) -> int:
        """Rows that `read` would give without a limit."""
        condition, parameters = _condition(_public(view), where, contains)
        cursor = self._cursor(as_of, unmask=False)
        [(rows,)] = cursor.execute(f"select count(*) from {view}{condition}", parameters).fetchall()
        return int(rows)

    def _cursor(self, as_of: int | None, unmask: bool) -> duckdb.DuckDBPyConnection:
        """Its variables are its own: no other cursor sees or inherits them."""
        cursor = self._ledger.cursor()
        if as_of is not None:
            cursor.execute("set variable as_of = make_timestamp(?::bigint)", (as_of,))
        if unmask:
            cursor.execute("set variable unmask = true")
        return cursor


@contextlib.contextmanager
def _told_plainly(view: str) -> Iterator[None]:
    """A filter whose value has another type than its column is the caller's error."""
    try:
        yield
    except (duckdb.ConversionException, duckdb.BinderException) as error:
        raise CallerError(
            f"The filter does not fit the view {view}",
            str(error).splitlines()[0],
            "compare a column with a value of its own type",
        ) from None


def _public(name: str) -> View:
    view = public().get(name)
    if view is None:
        raise UnknownView(
            f"There is no view {name!r}", remedy=f"choose one of: {', '.join(public())}"
        )
    return view


def _column(view: View, name: str) -> str:
    if name not in view.columns:
        raise UnknownView(
            f"The view {view.name} has no column {name!r}",
            remedy=f"choose one of: {', '.join(view.columns)}",
        )
    return name


def _condition(
    view: View, where: Mapping[str, object] | None, contains: Mapping[str, str] | None
) -> tuple[str, list[object]]:
    terms: list[str] = []
    parameters: list[object] = []
    for name, value in (where or {}).items():
        column = _column(view, name)
        if value is None:
            terms.append(f"{column} is null")
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            terms.append(f"{column} in ({', '.join('?' * len(value)) or 'null'})")
            parameters.extend(value)
        else:
            terms.append(f"{column} = ?")
            parameters.append(value)
    for name, part in (contains or {}).items():
        terms.append(f"contains(lower(cast({_column(view, name)} as varchar)), lower(?))")
        parameters.append(part)
    return (f" where {' and '.join(terms)}" if terms else "", parameters)


def _order(view: View, order_by: str | None) -> str:
    if order_by is None:
        return view.order
    name, _, direction = order_by.partition(" ")
    if direction not in ("", "asc", "desc"):
        raise UnknownView(f"{order_by!r} is no order", remedy="`column` or `column desc`")
    return f" order by {_column(view, name)} {direction}".rstrip()


def parse_filters(texts: Sequence[str]) -> dict[str, object]:
    """Filters written as `COL=VALUE`; an instant, true, false and null are read as such.

    The same column twice means either value. Raises `CallerError` for what is no filter.
    """
    filters: dict[str, object] = {}
    for text in texts:
        column, equals, value = text.partition("=")
        if not column or not equals:
            raise CallerError(f"{text!r} is no filter", remedy="write it as COLUMN=VALUE")
        if column in filters:
            former = filters[column]
            either = former if isinstance(former, list) else [former]
            filters[column] = [*either, _value(value)]
        else:
            filters[column] = _value(value)
    return filters


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text == "null":
        return None
    instant = instants.parse(text)
    return text if instant is None else instants.of(instant).replace(tzinfo=None)
