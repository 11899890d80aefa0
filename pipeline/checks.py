"""Runs `queries/checks/`: what must hold of a ledger, whatever was recorded in it.

A check returns the rows that break its invariant, so a sound ledger gives none.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from pipeline import views
from pipeline.ledger import Ledger

SHOWN_ROWS: Final = 5


class Broken(NamedTuple):
    """A check that found something."""

    check: str
    summary: str  # what one of its rows means
    rows: int
    shown: tuple[str, ...]  # the first `SHOWN_ROWS` of them

    def __str__(self) -> str:
        more = f", the first {SHOWN_ROWS}" if self.rows > SHOWN_ROWS else ""
        return f"{self.check}: {self.rows} rows{more}: {'; '.join(self.shown)}. {self.summary}"


def names() -> tuple[str, ...]:
    """The checks there are."""
    return tuple(sorted(view.name for view in views.catalogue().values() if view.group == "checks"))


def broken(ledger: Ledger) -> Iterator[Broken]:
    """Runs every check, one after the other; each reads the whole ledger."""
    for name in names():
        found = run(name, ledger)
        if found is not None:
            yield found


def run(check: str, ledger: Ledger) -> Broken | None:
    """Runs one check; None where its invariant holds."""
    view = views.catalogue()[check]
    found = ledger.cursor().sql(views.whole_sql(view))
    columns, rows = found.columns, found.fetchall()
    if not rows:
        return None
    shown = tuple(
        ", ".join(f"{column} {it}" for column, it in zip(columns, row, strict=True))
        for row in rows[:SHOWN_ROWS]
    )
    return Broken(check, view.summary, len(rows), shown)
