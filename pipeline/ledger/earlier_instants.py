"""Keeps rows of earlier instants: of the processes and sellers of which something occurs later, as
they stood then. All others are as their materialized rows say.

An instant's rows are made once, by the views' own SQL over what these processes and sellers can
depend on, and brought forward by what new entries touch. They are tables of a database in memory
beside the ledger's file; `materialized.before_settled` reads them.
"""

import itertools
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from typing import Final

import duckdb

from pipeline import instants
from pipeline.ledger import file, materialized
from pipeline.ledger.narrowing import narrowed, rows_of
from pipeline.ledger.refresh import Watermark, related_to
from pipeline.ledger.syntax.parsed import parsed
from pipeline.ledger.views.catalogue import catalogue, script, whole_sql

LOG = logging.getLogger(__name__)

MOST_ROWS: Final = 500_000
"""Processes, or sellers, whose rows are kept for an instant, of some 130 bytes each. An instant
with more is worked out from the log."""

ROWS_IN_ALL: Final = 3 * MOST_ROWS
"""Of both, of all instants that are kept: those that were asked for last."""

LEAST_ROWS: Final = ROWS_IN_ALL // 12
"""As many as which an instant of few rows counts, since its tables alone take room."""

_TOUCHED: Final = {"process_id": "touched", "seller_id": "touched_sellers"}
"""The tables of those whose rows are made."""

_NOW: Final = None
"""The place of now among the instants."""

_NUMBERS: Final = itertools.count()
"""By which the databases are named."""

Made = Callable[[str, str], int]
"""Makes a table of one connection alone, of a query's rows; gives how many there are."""


class StateMoved(Exception):
    """The ledger grew while an instant's rows were made: the question is to be asked again."""


class _Instant:
    """One instant, and the database that holds its rows."""

    def __init__(self, key: int | None, at: int) -> None:
        self.key = key
        self.at = at
        self.database = f"earlier_{next(_NUMBERS)}"
        self.lock = threading.Lock()  # held while its rows are made, or begin to be read
        self.entries = -1  # that its rows count; -1 before they are made
        self.rows = 0
        self.is_kept = True  # false where its rows are too many, and once it made room for another


class EarlierInstants:
    """The instants of one open ledger whose rows are kept. Safe to use from any thread."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._instants: OrderedDict[int | None, _Instant] = OrderedDict()

    def show(
        self,
        cursor: duckdb.DuckDBPyConnection,
        at: int,
        entries: int,
        *,
        is_now: bool,
        is_worth_making: bool,
    ) -> bool:
        """Has a cursor see the rows of an instant, in microseconds; false where they are not kept,
        since they are too many, could not be made, or are not worth making. Now is an earlier
        instant where an entry is dated ahead of it; it has one place of its own.

        The cursor is in a transaction that sees so many entries, all with their materialized rows.
        Raises `StateMoved` where rows of that state cannot be had any more.
        """
        key = _NOW if is_now else at
        if not is_worth_making and key not in self._instants:
            return False
        instant = self._of(key, at)
        with instant.lock:
            if instant.is_kept and instant.entries < entries:
                self._bring_forward(instant)
            if not instant.is_kept:
                return False
            if instant.entries != entries:
                raise StateMoved
            # From here on the cursor's transaction sees these rows, whoever writes others.
            cursor.execute(_shown(instant.database))
            return True

    def _of(self, key: int | None, at: int) -> _Instant:
        too_old = []
        with self._lock:
            instant = self._instants.get(key)
            if instant is None or instant.at != at:
                too_old = [instant] if instant else []
                instant = self._instants[key] = _Instant(key, at)
            self._instants.move_to_end(key)
            too_old += [self._instants.pop(it.key) for it in self._too_many()]
        for each in too_old:
            with each.lock:
                self._let_go(each)
        return instant

    def _too_many(self) -> list[_Instant]:
        """Those for which the ones that were asked for later leave no room."""
        last_first = [it for it in reversed(self._instants.values()) if it.key != _NOW]
        rows = itertools.accumulate(max(it.rows, LEAST_ROWS) for it in last_first)
        return [it for it, in_all in zip(last_first, rows, strict=True) if in_all > ROWS_IN_ALL]

    def _let_go(self, instant: _Instant) -> None:
        """Drops its rows. Those who are reading them read on."""
        instant.is_kept = False
        self._connection.cursor().execute(f"detach database if exists {instant.database}")

    def _bring_forward(self, instant: _Instant) -> None:
        """Makes the rows that new entries change; at first all that there are. Where memory does
        not suffice, say, they are let go, and the next question tries again. Raises `StateMoved`
        where entries of the newest state wait for their materialized rows."""
        try:
            with closing(self._connection.cursor()) as cursor:
                cursor.execute(f"attach if not exists ':memory:' as {instant.database}")
                with file.transaction(cursor):
                    watermark = Watermark.of(cursor)
                    if not watermark.has_all_rows:  # what waits is in the facts already
                        raise StateMoved
                    are_few = _make(cursor, instant)
                    instant.rows = _count(cursor, instant.database)
            instant.entries = watermark.entries
        except duckdb.Error as error:
            LOG.warning("rows of an earlier instant could not be kept: %s", type(error).__name__)
            with self._lock:
                self._instants.pop(instant.key, None)
            are_few = False
        if not are_few:
            self._let_go(instant)


def _make(cursor: duckdb.DuckDBPyConnection, instant: _Instant) -> bool:
    """Writes the rows that entries after those of the instant can change; false where they are too
    many."""

    def made(table: str, rows: str) -> int:
        statement = parsed(f"create or replace temp table {table} as {rows}").statement(cursor)
        [(count,)] = cursor.execute(statement).fetchall()
        return int(count)

    cursor.execute("set variable as_of = ?", [instants.naive(instant.at)])
    cursor.execute(f"set variable covered = {instant.entries}")
    is_first = instant.entries < 0
    if is_first:
        cursor.execute(_empty(instant.database))
    cursor.execute(_shown(instant.database))
    touched = {
        "process_id": _touched_processes(made, is_first=is_first),
        "seller_id": _touched_sellers(made, is_first=is_first),
    }
    if max(touched.values()) > MOST_ROWS:
        return False
    for view in materialized.of_subjects():
        subject = materialized.subject_of(view)
        if touched[subject]:
            made(f"new_{view.name}", _rows(view.name))
            _replace(cursor, f"{instant.database}.{view.name}", f"new_{view.name}", subject)
    for subject, table in materialized.UNSETTLED.items():
        _replace(cursor, f"{instant.database}.{table}", _TOUCHED[subject], subject)
    return True


def _count(cursor: duckdb.DuckDBPyConnection, database: str) -> int:
    """The processes and sellers that have rows of their own."""
    counts = (f"(select count(*) from {database}.{it})" for it in materialized.UNSETTLED.values())
    [(rows,)] = cursor.execute(f"select {' + '.join(counts)}").fetchall()
    return int(rows)


def _touched_processes(made: Made, *, is_first: bool) -> int:
    """Makes the table `touched`, of processes of which something occurs after the instant, and of
    those on which these decide; and `deciding`, of all that decide on them."""
    if not is_first:
        made("named", script("refresh/touched_processes"))
    made("unsettled", _unsettled("process_id", None if is_first else _with_related("named")))
    touched = made("touched", _with_related("unsettled"))
    if touched:
        made("deciding", _with_related("touched"))
    return touched


def _touched_sellers(made: Made, *, is_first: bool) -> int:
    """Makes the table `touched_sellers`, of those whom something after the instant names."""
    named = None if is_first else script("refresh/named_sellers")
    made("named_sellers", _unsettled("seller_id", named))
    touched = made("touched_sellers", script("refresh/touched_sellers"))
    if touched:
        made("their_entries", script("refresh/their_entries"))
    return touched


def _with_related(table: str) -> str:
    """The processes of a table, and those that share what was sent with them."""
    return f"{related_to(table)} union from {table}"


def _unsettled(subject: str, named: str | None) -> str:
    """Those of which something occurs after the instant, or did when their rows were made. `named`:
    a query of those that new entries name; None: every entry is new."""
    unsettled = script(f"earlier/{materialized.UNSETTLED[subject]}")
    if named is None:
        return unsettled
    return f"select * from (\n{unsettled}\n) semi join (\n{named}\n) using ({subject})"


@cache
def _rows(name: str) -> str:
    """The rows of a view at the instant, of those that were touched and of what decides on them.
    They are made of rows of the instant that were made before."""
    view, stand_ins = catalogue()[name], dict(materialized.while_behind())
    subject = materialized.subject_of(view)
    for other in itertools.takewhile(lambda other: other.name != name, materialized.of_subjects()):
        if materialized.subject_of(other) == subject:
            stand_ins |= materialized.read_as(other, f"from new_{other.name}")
    sql = whole_sql(view, stand_ins)
    if subject == "seller_id":
        return narrowed(sql, rows_of("touched_sellers"))
    rows = materialized.of_processes(sql, "from deciding")
    return f"select * from ({rows}) where process_id in (from deciding)"


def _replace(cursor: duckdb.DuckDBPyConnection, table: str, rows: str, subject: str) -> None:
    """Puts rows of those that were touched in place of their former ones."""
    touched = f"{subject} in (from {_TOUCHED[subject]})"
    cursor.execute(f"delete from {table} where {touched}")
    cursor.execute(f"insert into {table} by name from {rows} where {touched}")


def _kept() -> Iterator[str]:
    """The tables of an instant's database."""
    yield from (view.name for view in materialized.of_subjects())
    yield from materialized.UNSETTLED.values()


def _empty(database: str) -> str:
    """The statements that make the tables of an instant."""
    tables = {view.name: materialized.stand_in(view) for view in materialized.of_subjects()}
    ids = {table: f"select '' as {subject}" for subject, table in materialized.UNSETTLED.items()}
    return "; ".join(
        f"create table {database}.{name} as {rows} limit 0" for name, rows in (tables | ids).items()
    )


def _shown(database: str) -> str:
    """The statements that let a connection read them by the names that stand-ins have for them."""
    return "; ".join(
        f"create or replace temp view earlier_{name} as from {database}.{name}" for name in _kept()
    )
