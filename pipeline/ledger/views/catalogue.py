"""Loads `queries/`: what each view is, as its header says, and its SQL, with all that it reads. No
I/O but reading those files.

A view's file says in its header what one row is, its key, its order where that is another, by what
it can be read in part, and what its columns mean. A column of which it says nothing means what the
one of that name means in the views that it reads, or, where its rows are among those of a list, in
that list. What it reads and what its columns are called is found in its SQL (`sources.py`). Which
views have their rows in a table as well, `kept.py` lists.
"""

import graphlib
import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pipeline import conditions, headers
from pipeline.contract import sql as contract
from pipeline.errors import OperatorError, UnknownView
from pipeline.headers import Header
from pipeline.ledger.views import sources
from pipeline.ledger.views.kept import NO_OTHER, READ, STORED, Reading, Storage
from pipeline.log import kinds as kinds_of_entries
from pipeline.log.kinds import notice_schedule
from pipeline.shipped import QUERIES

_NOT_VIEWS: Final = frozenset(
    {"schema", "indexes", "guards", "macros", "refresh", "narrowed", "held", "earlier"}
)
"""Files at the top, and folders, that hold other SQL."""
_LABELS: Final = frozenset({"open to", "in", "key", "order", "by", "column"})
"""What lines of a header begin with, before a colon, that are not prose."""

KINDS: Final = frozenset(
    {
        "id",  # of the platform or of Prazo; what most columns are whose name ends in `_id`
        "ids",  # a text that is made of ids
        "text",  # whatever somebody wrote, also in the place of a code, or a list of such
        "word",  # one of a few that Prazo itself writes
        "staff",  # who works here, or with whom: often an e-mail address, and shown whole
        "personal",  # of a seller's person: the view itself masks it, by `personal()`
        "digest",  # which tells nobody what it was made of
        "secret",  # a digest that whoever tries all values could find one for
        "filters",  # those of a page, as its address has them
        "path",  # of an address
        "number",  # that somebody else gave, such as a ticket's
    }
)
"""What columns of text hold, as their line in the header says it. What is masked of a column for
readers who gave no reason follows from it alone (`pipeline/serve/identifiers.py`)."""

_INTERNAL: Final = frozenset({"staging", "model", "rules", "checks"})
"""Folders of views for other views alone, and all below them: their personal columns are not
masked."""


class _Misread(ValueError):
    """A line of a header has another form than its label asks for."""


@dataclass(frozen=True, slots=True)
class View:
    """A file under `queries/`, as its header describes it."""

    name: str
    group: str  # its folder under `queries/`, such as `pages/denials`; "" at the top
    summary: str  # what one row is
    reads: tuple[str, ...]  # other views, and tables (`fact_…`, `log`, `tree_…`)
    key: tuple[str, ...]
    order: tuple[str, ...]  # the terms by which its rows are in order; as a rule its key
    by: tuple[str, ...]  # ids whose rows follow from their own entries alone
    columns: Mapping[str, str]  # name -> meaning
    sql: str  # without the order: another view over it would sort its rows for nothing
    kinds: Mapping[str, str] = field(default_factory=dict)  # of columns of text -> one of `KINDS`
    storage: Storage | None = None  # where it is materialized
    reading: Reading = NO_OTHER

    for_analysts: bool = False
    """Whether analysts may read it, as every other role may."""

    lists: tuple[str, ...] = ()
    """The views that its rows are among; each of them reads all that name it, as `found`."""

    @property
    def order_by(self) -> str:
        """The clause that puts its rows in order."""
        return f"\norder by {', '.join(self.order)}"

    @property
    def file(self) -> Path:
        """Where it is written."""
        return QUERIES / self.group / f"{self.name}.sql"

    @property
    def is_public(self) -> bool:
        """Whether people and programs may ask for it."""
        return _INTERNAL.isdisjoint(self.group.split("/"))


@cache
def catalogue() -> Mapping[str, View]:
    """Every view by name, in an order in which each follows what it reads."""
    views = {
        path.stem: read(path)
        for path in sorted(QUERIES.rglob("*.sql"))
        if _within_queries(path).partition("/")[0].removesuffix(".sql") not in _NOT_VIEWS
    }
    for name, parts in _parts(views).items():
        views[name] = _with_parts(views[name], parts)
    graph = {name: [it for it in view.reads if it in views] for name, view in views.items()}
    try:
        order = [*graphlib.TopologicalSorter(graph).static_order()]
    except graphlib.CycleError as error:
        round_ = " reads ".join(reversed(error.args[1]))
        remedy = "let one of these files under queries/ read another view"
        raise OperatorError("The views cannot be put in order", round_, remedy) from None
    return _described({name: views[name] for name in order})


@cache
def public() -> Mapping[str, View]:
    """The views that people and programs may ask for."""
    return {name: view for name, view in sorted(catalogue().items()) if view.is_public}


@cache
def kinds() -> Mapping[str, str]:
    """The kind of each column of text that people may ask for, by the column's name: it is the same
    in every view that has one of that name, but for views where it holds no text."""
    return {column: kind for view in public().values() for column, kind in view.kinds.items()}


def asked_for(name: str) -> View:
    """The view that somebody asks for. Raises `UnknownView`, and `OperatorError` where its header
    names no key, without which its rows cannot be asked for."""
    view = public().get(name)
    if view is None:
        raise UnknownView(
            f"There is no view {name!r}", remedy=f"choose one of: {', '.join(public())}"
        )
    if not view.key:
        raise OperatorError(
            f"The view {name} cannot be shown",
            f"the header of {view.file} has no line `key:`",
            "say there by which columns a row is one of its kind"
            " (CONTRIBUTING.md#findings-views-and-pages)",
        )
    return view


@cache
def script(name: str) -> str:
    """The text of a file under `queries/` that is not a view, such as `refresh/touched`."""
    return (QUERIES / f"{name}.sql").read_text(encoding="utf-8")


def macros() -> str:
    """The statements that make all macros of the views: those of the contract, those that ask for
    facts of kinds of entries and of conditions of alerts, and ours."""
    parts = (
        contract.macros(),
        kinds_of_entries.macros(),
        notice_schedule.macros(),
        conditions.macros(),
        script("macros"),
    )
    return "\n\n".join(parts)


@cache
def scripts(folder: str) -> Mapping[str, str]:
    """The texts of all files in a folder under `queries/`, such as `refresh`, by name."""
    paths = sorted((QUERIES / folder).glob("*.sql"))
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def read(path: Path) -> View:
    """A file of SQL with a header, which need not be a view's, with the columns of which the header
    itself says what they mean. Raises `OperatorError` where a line of it cannot be read."""
    try:
        return _read(path)
    except _Misread as error:
        remedy = (
            "write it as in queries/state/watchlist.sql (CONTRIBUTING.md#findings-views-and-pages)"
        )
        raise OperatorError(f"The header of {path} cannot be read", str(error), remedy) from None


def _within_queries(path: Path) -> str:
    """As `relative_to`, which takes as long as all else that is done with a file."""
    return path.as_posix().removeprefix(f"{QUERIES.as_posix()}/")


def _read(path: Path) -> View:
    header = headers.read(path, _LABELS)
    columns = dict(_columns(header))
    return View(
        name=path.stem,
        group=_within_queries(path).rpartition("/")[0],
        summary=header.summary,
        reads=sources.read_by(sources.bare(header.sql)),
        key=header.names("key"),
        order=tuple(sources.parts(header.first("order") or header.first("key"))),
        by=header.names("by"),
        columns={name: meaning for name, (_, meaning) in columns.items()},
        kinds={name: kind for name, (kind, _) in columns.items() if kind},
        storage=STORED.get(path.stem),
        reading=READ.get(path.stem, NO_OTHER),
        for_analysts=header.first("open to") == "analysts",
        lists=header.names("in"),
        sql=header.sql,
    )


def _parts(views: Mapping[str, View]) -> Mapping[str, list[str]]:
    """List -> the views whose rows are among its rows, as their headers say it by `in:`."""
    parts: dict[str, list[str]] = {}
    for name, view in views.items():
        for listed in view.lists:
            parts.setdefault(listed, []).append(name)
    return parts


def _with_parts(view: View, parts: Sequence[str]) -> View:
    """A view that reads the rows of others as `found`."""
    found = "\nunion all\n".join(f"from {name}" for name in parts)
    statement = [
        line for line in view.sql.splitlines() if line and not line.strip().startswith("--")
    ]
    sql = found  # each CTE takes DuckDB some time to plan
    if statement != ["from found"]:
        indented = found.replace("\n", "\n    ")
        sql = f"with found as (\n    {indented}\n)\n\n{view.sql}"
    return replace(view, reads=sources.read_by(sources.bare(sql)), sql=sql)


def _described(views: Mapping[str, View]) -> Mapping[str, View]:
    """The views, which come in the order of the catalogue, with all of their columns."""
    columns: dict[str, Sequence[str]] = {}
    for name, view in views.items():
        columns[name] = sources.columns_of(sources.bare(view.sql), columns) or tuple(view.columns)

    @cache
    def said(name: str) -> Mapping[str, tuple[str, str]]:
        """Kind and meaning of each column; empty where they are said by nobody, or in two ways."""
        view = views[name]
        found = {it: (view.kinds.get(it, ""), meaning) for it, meaning in view.columns.items()}
        others = [said(it) for it in inherits_from(view, views)]
        for column in columns[name]:
            if column not in found:
                known = {it[column] for it in others if column in it}
                found[column] = known.pop() if len(known) == 1 else ("", "")
        return {column: found[column] for column in columns[name]}

    return {
        name: replace(
            view,
            columns={column: meaning for column, (_, meaning) in said(name).items()},
            kinds={column: kind for column, (kind, _) in said(name).items() if kind},
        )
        for name, view in views.items()
    }


def inherits_from(view: View, views: Mapping[str, View]) -> list[str]:
    """The views whose columns say what a view's mean of which its header says nothing: the list
    that its rows are in, else those that it reads, without its own parts."""
    if view.lists:
        return [view.lists[0]]
    return [it for it in view.reads if it in views and view.name not in views[it].lists]


def _columns(header: Header) -> Iterator[tuple[str, tuple[str, str]]]:
    """Name, and kind and meaning, of each column: `name | meaning`, or `name | kind | meaning` of
    one that holds texts. What is named as ids are needs no kind."""
    for line in header.all("column"):
        name, *described = line.split(" | ")
        if len(described) == 1:
            yield name, ("id" if name.endswith("_id") else "", described[0])
        elif len(described) == 2 and described[0] in KINDS:
            yield name, (described[0], described[1])
        else:
            raise _Misread(
                f"`column: {line}` is neither `name | meaning` nor `name | kind | meaning`,"
                f" whose kind is one of {', '.join(sorted(KINDS))}"
            )


def read_by_several(names: Collection[str]) -> tuple[str, ...]:
    """The views that at least two of these share, and that one of their other views names itself:
    made first, they are all that these have in common. In the order of the catalogue."""
    views = catalogue()
    closures = [{*all_read(views[name]), name} for name in names]
    counts = Counter(itertools.chain.from_iterable(closures))
    alone = {it for it in counts if counts[it] == 1}
    named = {*names, *(read for it in alone for read in views[it].reads)}
    return tuple(it for it in views if counts[it] > 1 and it in named)


def all_read(view: View) -> Iterator[str]:
    """The views below a view, some of them more than once."""
    for name in view.reads:
        if name in catalogue():
            yield name
            yield from all_read(catalogue()[name])


def whole_sql(
    view: View,
    stand_ins: Mapping[str, str] = MappingProxyType({}),
    *,
    order: str = "",
    made: Collection[str] = (),
) -> str:
    """The view's SQL with every view below it as a CTE, so that DuckDB works out each only once.

    As a view of views, `findings` read `process_state` a dozen times over: planning took seconds.
    `stand_ins` give other SQL for the views that they name, without an order of their own. Those
    `made` are there as tables.
    """
    below: dict[str, None] = {}

    def collect(names: Sequence[str]) -> None:
        for name in names:
            if name in catalogue() and name not in below and name not in made:
                view = catalogue()[name]
                collect((view.reading.within,) if name in stand_ins else view.reads)
                below[name] = None

    sql = stand_ins.get(view.name, view.sql) + order
    if view.name not in stand_ins:
        collect(view.reads)
    if not below:
        return sql
    parts = ",\n".join(_part(catalogue()[name], stand_ins) for name in below)
    return f"with {parts}\nselect * from (\n{sql}\n)"


def _part(view: View, stand_ins: Mapping[str, str]) -> str:
    how = "not materialized " if view.reading.scanned and view.name in stand_ins else ""
    return f"{view.name} as {how}(\n{stand_ins.get(view.name, view.sql)}\n)"
