"""Runs the checks: what must hold of a ledger, whatever was recorded in it.

A check returns the rows that break its invariant, so a sound ledger gives none. Those in
`queries/checks/` stand on their own; every view with materialized rows has one more, which compares
its table with its own SQL over the log.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from pipeline.ledger import materialized
from pipeline.ledger.store import Ledger
from pipeline.ledger.syntax.parsed import parsed
from pipeline.ledger.views.catalogue import View, catalogue, whole_sql
from pipeline.texts import counted

SHOWN_ROWS: Final = 5


class Broken(NamedTuple):
    """A check that found something."""

    check: str
    summary: str  # what one of its rows means
    rows: int
    shown: tuple[str, ...]  # the first `SHOWN_ROWS` of them

    def __str__(self) -> str:
        more = f", the first {SHOWN_ROWS}" if self.rows > SHOWN_ROWS else ""
        found = f"{counted(self.rows, 'row')}{more}: {'; '.join(self.shown)}"
        return f"{self.check}: {found}. {self.summary}"


def names() -> tuple[str, ...]:
    """The checks there are."""
    return tuple(sorted(_checks()))


@cache
def _comparisons() -> Mapping[str, View]:
    return {check.name: check for check in map(_comparison, materialized.views())}


def _checks() -> Mapping[str, View]:
    written = {view.name: view for view in catalogue().values() if view.group == "checks"}
    return {**written, **_comparisons()}


def _comparison(view: View) -> View:
    """The check that a view's table has the rows that the view gives, each as often. Rows that may
    wait are compared once none does, and where the table says what the view says at the instant."""
    storage = materialized.storage_of(view)
    key, columns = ", ".join(view.key), ", ".join(view.columns)
    compared = storage.settled or "true"
    is_due = "select materialized_entries = entries from kept_watermark"
    return View(
        name=f"materialized_{storage.table}_disagree",
        group="checks",
        summary=f"One row per row, and side of the comparison, that `{view.name}` over the log and"
        f" `{materialized.table_of(view)}` do not share.",
        reads=(view.name,),
        key=(*view.key, "side"),
        order=(),
        by=(),
        columns={
            **{name: view.columns[name] for name in view.key},
            "side": "log or materialized: which of the two has this row and the other has not",
        },
        sql=f"""
            with by_log as (
                select {columns} from {view.name} where {compared}
            ),
            by_table as (
                select {columns} from ({materialized.stand_in(view)}) where {compared}
            )
            select {key}, side
            from (
                select *, 'log' as side from (from by_log except all from by_table)
                union all
                select *, 'materialized' as side from (from by_table except all from by_log)
            )
            where {f"({is_due})" if storage.settled else "true"}""",
    )


def broken(ledger: Ledger) -> Iterator[Broken]:
    """Runs every check, one after the other; each reads the whole ledger."""
    for name in names():
        found = run(name, ledger)
        if found is not None:
            yield found


def run(check: str, ledger: Ledger) -> Broken | None:
    """Runs one check; None where its invariant holds."""
    view = _checks()[check]
    ledger.settle(is_asked=False)
    cursor = ledger.cursor()
    with ledger.snapshot(cursor):
        found = cursor.execute(parsed(whole_sql(view)).statement(cursor))
        columns, rows = [column[0] for column in found.description or ()], found.fetchall()
    if not rows:
        return None
    shown = tuple(
        ", ".join(f"{column} {it}" for column, it in zip(columns, row, strict=True))
        for row in rows[:SHOWN_ROWS]
    )
    return Broken(check, view.summary, len(rows), shown)
