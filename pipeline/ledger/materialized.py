"""Writes the SQL by which materialized rows are made, stored and read, all of it from the views and
from what `views/kept.py` says of them. No I/O.

A rule is written once, in `queries/`. A materialized row is what a view gives once everything in
the log has occurred, so that only the clock can still change it (`refresh.py` brings it up to
date). For reading, a query over the table stands in for the view's own SQL: its *stand-in*. Which
stand-ins may be used depends on the instant that is asked for, and on whether rows wait to be made:

    when_settled      usually: nothing in the log occurs after the instant, and no rows wait
    before_settled    something occurs after it: the rows of processes and sellers with such an
                      entry are those of the instant (`earlier_instants.py`)
    while_behind      rows of processes and sellers wait, or the instant's are not kept: only views
                      that no clock changes have stand-ins. Also for a question about few ids at an
                      earlier instant, which their entries answer sooner
    none              rows of any kind wait, and cannot be made

Rows are made by means of `earlier` and `without_attempts`. `within_few` adds to any of these.
"""

import itertools
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from pipeline.ledger import facts
from pipeline.ledger.narrowing import named, narrowed, rows_of
from pipeline.ledger.views.catalogue import (
    View,
    all_read,
    catalogue,
    macros,
    read,
    script,
    scripts,
    whole_sql,
)
from pipeline.ledger.views.kept import Storage
from pipeline.shipped import QUERIES

StandIns = Mapping[str, str]
"""SQL that stands in for the SQL of views, by their names."""

UNSETTLED: Final = {"process_id": "unsettled_processes", "seller_id": "unsettled_sellers"}
"""The tables of those whose rows at an earlier instant are not the materialized ones."""


_FOLLOWING: Final = ("of_processes", "kept_of_processes")
"""What follows from entries about processes: facts, and rows that are materialized."""


@cache
def views() -> tuple[View, ...]:
    """The views with materialized rows, each after those whose rows it is made from."""
    return tuple(view for view in catalogue().values() if view.storage is not None)


def storage_of(view: View) -> Storage:
    """How the rows of one of `views()` are stored; raises `KeyError` for another view."""
    if view.storage is None:
        raise KeyError(f"{view.name} has no materialized rows")
    return view.storage


def tables() -> tuple[str, ...]:
    """The tables that hold the rows, and the table that says how many entries they cover."""
    return (*map(table_of, views()), "kept_watermark")


def table_of(view: View) -> str:
    """The table of a materialized view."""
    return f"kept_{storage_of(view).table}"


@cache
def definitions() -> str:
    """The DDL of the tables, for a new ledger; a table that `schema.sql` has made stays as it
    is."""
    statements = []
    for view in views():
        rows = stored(view, whole_sql(written_by(view), earlier(view.name)))
        statements.append(f"create table if not exists {table_of(view)} as {rows} limit 0")
        if key := storage_of(view).key:
            statements.append(f"alter table {table_of(view)} add primary key ({key})")
    return ";\n".join(statements)


@cache
def rules() -> str:
    """All SQL that decides what the tables hold, without spaces and comments on lines of their own.
    Where it differs from what a ledger was made by, the ledger is made again."""
    behind = {
        name: None
        for view in views()
        for each in (view, written_by(view))
        for name in (*all_read(each), view.name)
    }
    texts = [
        facts.schema(),
        macros(),
        *(f"{view.storage}\n{view.sql}" for view in map(catalogue().__getitem__, behind)),
        *(text for folder in ("refresh", "narrowed") for text in scripts(folder).values()),
    ]
    lines = (line.strip() for text in texts for line in text.splitlines())
    return " ".join(word for line in lines if not line.startswith("--") for word in line.split())


def written_by(view: View) -> View:
    """What gives the rows of a view's table: the view itself, or the query that its storage names,
    which has more columns."""
    storage = storage_of(view)
    return read(QUERIES / "refresh" / storage.written) if storage.written else view


def stored(view: View, rows: str) -> str:
    """The SQL of rows, which have the columns of `written_by`, with each column as it is stored."""
    storage = storage_of(view)
    written = [f"{how} as {name}" for name, (how, _) in storage.stored.items() if how != name]
    replaced = f" replace ({', '.join(written)})" if written else ""
    return f"select *{replaced} from ({rows})"


def stand_in(view: View, condition: str = "") -> str:
    """The SQL that reads a view's rows from its table; `condition`: only some of them."""
    storage = storage_of(view)
    columns = [
        f"{storage.stored[name][1]} as {name}" if name in storage.stored else name
        for name in view.columns
    ]
    conditions = " and ".join(filter(None, (storage.rows, condition)))
    sql = f"select {', '.join(columns)} from {table_of(view)}"
    return f"{sql} where {conditions}" if conditions else sql


def _stand_ins(view: View) -> StandIns:
    """The stand-ins of a materialized view and of the views whose rows are among its rows."""
    return read_as(view, stand_in(view))


def read_as(view: View, rows: str) -> StandIns:
    """A query stands in for a view, and for the views whose rows are among its rows."""
    return {
        view.name: rows,
        **{
            other.name: f"select {', '.join(other.columns)} from ({rows})"
            for other in catalogue().values()
            if other.reading.among == view.name
        },
    }


@cache
def earlier(name: str) -> StandIns:
    """Stand-ins of the views whose tables are up to date when this view's rows are made: those that
    never wait, and those that come before it in `views`."""
    found = {other: sql for other, sql in while_behind().items() if other != name}
    for view in itertools.takewhile(lambda view: view.name != name, views()):
        if storage_of(view).settled:
            found |= _stand_ins(view)
    return found


def none() -> StandIns:
    """No stand-ins: every view is worked out from the log alone."""
    return {}


@cache
def while_behind() -> StandIns:
    """Stand-ins of the views whose rows no clock changes: they hold at any instant, and while rows
    of processes and sellers wait."""
    return {view.name: stand_in(view) for view in views() if not storage_of(view).settled}


@cache
def without_attempts() -> StandIns:
    """Further stand-ins, for processes without an attempt: views of attempts have no rows then, and
    planning their SQL would take the most time."""
    attempts = catalogue()["attempt_facts"]
    columns = ", ".join(catalogue()["sent_findings"].columns)
    all_rows = {
        **_stand_ins(attempts),
        "attempt_occurrences": f"""
            select process_id, start_seq as seq, ordered_at as occurred_at
            from {table_of(attempts)}""",
        "sent_findings": f"select {columns} from kept_findings",
    }
    return {name: f"{sql} where false" for name, sql in all_rows.items()}


@cache
def when_settled() -> StandIns:
    """Stand-ins for an instant after which nothing occurs, with materialized rows up to date."""
    kept = {name: sql for view in views() for name, sql in _stand_ins(view).items()}
    return _complete(kept, script("narrowed/unsteady_processes"))


def of_held_rows(view: View) -> StandIns:
    """As `when_settled`, for a view where the tables have nothing but rows of few processes or
    sellers (`prepared.py`): what follows from those that went back needs no narrowing of its own,
    and what others decide on has no rows."""
    kept = {name: sql for name, sql in when_settled().items() if name != "unsteady_stays"}
    for name in view.reading.decided_by_others:
        columns = ", ".join(f"null as {column}" for column in catalogue()[name].columns)
        kept[name] = f"select {columns} where false"
    return kept


@cache
def before_settled() -> StandIns:
    """Stand-ins for an earlier instant, whose rows a connection sees (`earlier_instants.py`)."""
    kept = dict(while_behind())
    for view in of_subjects():
        subject = subject_of(view)
        others = stand_in(view, f"{subject} not in (from earlier_{UNSETTLED[subject]})")
        kept |= read_as(view, f"{others} union all by name from earlier_{view.name}")
    unsteady = f"""
        {script("narrowed/unsteady_processes")}
        union
        from earlier_{UNSETTLED["process_id"]}"""
    return _complete(kept, unsteady)


def _complete(kept: StandIns, unsteady: str) -> StandIns:
    """Stand-ins of all views with materialized rows, and those that follow from them. `unsteady`: a
    query of the processes that may have gone back."""
    deleted = f"""
        select seller_id, deleted_at, deletion_seq
        from ({kept["seller_records"]}) where deleted_at is not null"""
    unsteady_stays = of_processes(whole_sql(catalogue()["unsteady_stays"], kept), unsteady)
    return {**kept, "deleted_sellers": deleted, "unsteady_stays": unsteady_stays}


@cache
def of_subjects() -> tuple[View, ...]:
    """The views with materialized rows that entries about one process or seller can change."""
    return tuple(view for view in views() if storage_of(view).settled)


def subject_of(view: View) -> str:
    """The column that says about which process, or else seller, a row is."""
    return "process_id" if "process_id" in view.columns else "seller_id"


@cache
def within_few(stand_ins: Callable[[], StandIns]) -> StandIns:
    """These stand-ins, and those of views with a part `within`, which have another view's rows of
    a few processes: that view is worked out over only what these processes can depend on."""

    def of_few(view: View) -> str:
        sql = whole_sql(catalogue()[view.reads[0]], stand_ins())
        return of_processes(sql, f"select process_id from {view.reading.within}")

    few = {view.name: of_few(view) for view in catalogue().values() if view.reading.within}
    return {**stand_ins(), **few}


def of_processes(sql: str, asked: str) -> str:
    """The SQL of a view, led to what some processes can depend on: it gives right rows of these
    processes, and wrong or no rows of others. `asked` is a query that gives their ids, as
    `process_id`."""
    return _narrowed(sql, named({"asked": asked}), "processes", *_FOLLOWING)


def of_asked_processes(sql: str, asked: str) -> str:
    """As `of_processes`, for a view that is read: materialized rows depend on less."""
    narrowed_by = ["processes", *_FOLLOWING]
    if "scheduled_processes" in sql:  # alone asks for notices about other reviews
        narrowed_by.append("notices_of_sellers")
    return _narrowed(sql, named({"asked": asked}), *narrowed_by)


def of_kept_rows(sql: str, asked: str, rows: str) -> str:
    """The SQL of a view, of whose materialized rows only those of a file in `queries/narrowed/` are
    read. `asked` is a query that gives the ids."""
    return _narrowed(sql, named({"asked": asked}), rows)


def of_many_processes(sql: str, asked: str) -> str:
    """As `of_processes`, for all that a batch has touched, where these are many and its table
    `former` has those that had a row before."""
    return _narrowed(sql, named({"asked": asked}), "many_processes", *_FOLLOWING)


def of_sellers(sql: str, asked: str) -> str:
    """As `of_processes`, for sellers: `asked` gives their ids, as `seller_id`."""
    rows = ("processes_of_sellers", "processes", *_FOLLOWING, "of_sellers")
    return _narrowed(sql, named({"asked_seller_ids": asked}), *rows)


def _narrowed(sql: str, asked: str, *rows: str) -> str:
    return narrowed(sql, asked, *map(rows_of, rows))
