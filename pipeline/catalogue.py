"""Loads `queries/`: what each view is, as its header says, and its SQL, whole or narrowed. No I/O
but reading those files.

A view's file says in its header what one row is, what it reads, its key, its columns and by what it
can be read in part; the loader orders files by what they read, and documentation is made from the
headers alone.
"""

import graphlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

QUERIES: Final = Path(__file__).resolve().parent.parent / "queries"

_NOT_VIEWS: Final = frozenset({"schema.sql", "indexes.sql", "guards.sql", "macros.sql"})
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
    by: tuple[str, ...]  # ids whose rows follow from their own entries alone
    leading: tuple[str, ...]  # the first column of its order, and the value that comes first
    columns: Mapping[str, str]  # name -> meaning
    sql: str

    @property
    def rows(self) -> str:
        """Its SQL without the order: another view over it would sort them for nothing."""
        return self.sql.removesuffix(self._stated_order)

    @property
    def order(self) -> str:
        """The order of its rows: what its SQL states, else by its key."""
        return self._stated_order or f"\norder by {', '.join(self.key)}"

    @property
    def _stated_order(self) -> str:
        found = re.search(r"\norder by.*\Z", self.sql, re.DOTALL)  # indented ones are inner ones
        return found[0] if found else ""

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
    notes = [line for line in paragraph if not re.match(r"(reads|key|by|leading|column):", line)]
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
        by=_names(header, "by:"),
        leading=_names(header, "leading:"),
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


def whole_sql(
    view: View, bodies: Mapping[str, str] = MappingProxyType({}), *, order: str = ""
) -> str:
    """The view's SQL with every view below it as a CTE, so that DuckDB works out each only once.

    As a view of views, `findings` read `process_state` a dozen times over: planning took seconds.
    `bodies` stand in for the SQL of the views that they name, without an order of their own.
    """
    below: dict[str, None] = {}

    def collect(names: Sequence[str]) -> None:
        for name in names:
            if name in catalogue() and name not in below:
                if name not in bodies:
                    collect(catalogue()[name].reads)
                below[name] = None

    sql = bodies.get(view.name, view.rows) + order
    if view.name not in bodies:
        collect(view.reads)
    if not below:
        return sql
    parts = ",\n".join(
        f"{name} as (\n{bodies.get(name, catalogue()[name].rows)}\n)" for name in below
    )
    return f"with {parts}\nselect * from (\n{sql}\n)"


def at_instant(sql: str, instant: str) -> str:
    """Whole SQL with an instant, as an expression, in place of the clock's: a constant is planned
    in half the time."""
    clock = catalogue()["clock"].sql
    return sql.replace("(select as_of from clock)", instant).replace(
        clock, f"select {instant} as as_of"
    )


_TABLE: Final = re.compile(
    r"(?:(?<=from )|(?<=join ))(?P<table>(?:facts|kept)\.\w+|log\b)(?P<alias> as \w+)?"
)


def narrowed(sql: str, rows: Mapping[str, str]) -> str:
    """The SQL over some rows of the tables alone: a query `asked_reviews` stands in for the table
    `facts.reviews`, and so on. A query may read those before it."""

    def narrower(found: re.Match[str]) -> str:
        table = found["table"].rpartition(".")[2]
        if f"asked_{table}" not in rows:
            return found[0]
        return f"asked_{table}{found['alias'] or f' as {table}'}"

    parts = ",\n".join(f"{name} as (\n{query}\n)" for name, query in rows.items())
    return f"with {parts}\nselect * from (\n{_TABLE.sub(narrower, sql)}\n)"
