"""What one transaction asks and writes of the log's entries in SQLite."""

import functools
import itertools
from collections.abc import Collection, Sequence
from typing import Any, Final

import apsw
from pydantic_core import from_json, to_json

from pipeline.inbox.schema.rows import BODY, LEAF, Rows
from pipeline.inbox.sqlite.connection import changed, one_row
from pipeline.inbox.sqlite.file import tables_of
from pipeline.inbox.store import Asked, Known, Statement, Tail, people_of
from pipeline.log.actors import Actor
from pipeline.log.entries import Entry

ROWS_PER_INSERT: Final = 64


@functools.cache
def _insert(columns: tuple[str, ...], rows: int) -> str:
    """While a statement runs, the event loop has the interpreter. With many rows in a statement,
    the writer waits for its turn once, not after every row."""
    row = f"({', '.join('?' * len(columns))})"
    return f"insert into entries ({', '.join(columns)}) values {', '.join([row] * rows)}"


def _tails(stream: str) -> str:
    return f"""
        select json_group_array(json_array(asked.value, tail.{stream}_n, tail.seq))
        from json_each(?) asked
        join entries tail on tail.seq = (
            select seq from entries
            where {stream}_id = asked.value
            order by {stream}_n desc limit 1
        )"""


_PROCESS_TAILS, _SELLER_TAILS = _tails("process"), _tails("seller")
_SEEN_EVENTS = """
    select json_group_array(value) from json_each(?)
    where exists (select 1 from entries where event_id = value)"""
_SEEN_ATTEMPTS = """
    select json_group_array(distinct json_array(kind, attempt_id)) from entries
    where attempt_id in (select value from json_each(?))"""
_NAMED = "select pseudonym, name, salt from actors where name = ? order by pseudonym"
_REGISTER = "insert into actors (pseudonym, name, salt) values (?, ?, ?) on conflict do nothing"
_SEEN_INGEST_KEY = "select ingest_key from entries where ingest_key = ?"


class SqliteTransaction:
    """The store's `Transaction`, over a connection that has begun one."""

    def __init__(self, connection: apsw.Connection, rows: Rows) -> None:
        self._connection, self._in_table = connection, rows
        self.inserted_bytes = 0

    def look_up(self, asked: Asked) -> Known:
        """What the log holds about these identifiers."""
        leaf = f"leaf, {self._in_table.is_compressed}"
        last = f"select seq, recorded_at, {leaf} from entries order by seq desc limit 1"
        seq, recorded_at, *found = self._connection.execute(last).fetchone() or (0, 0)
        if asked.seq != seq:  # the newest is not one that was written from here
            of = f"select {leaf} from entries where seq = ?"
            found = self._connection.execute(of, (asked.seq,)).fetchone()
        return Known(
            tables=tables_of(self._connection),
            seq=seq,
            recorded_at=recorded_at,
            processes=self._tails(_PROCESS_TAILS, asked.processes),
            sellers=self._tails(_SELLER_TAILS, asked.sellers),
            events={*self._found(_SEEN_EVENTS, asked.events)},
            attempts={(kind, name) for kind, name in self._found(_SEEN_ATTEMPTS, asked.attempts)},
            ingest_keys={key for key in asked.ingest_keys if self._is_ingested(key)},
            leaf=self._in_table.leaf(found or None),
        )

    def _found(self, query: str, ids: Collection[str]) -> list[Any]:
        """What a query gives as one row of JSON: for each row the interpreter would be given to the
        event loop, and waited for."""
        if not ids:
            return []
        [found] = one_row(self._connection, query, (to_json(ids).decode(),))
        rows: list[Any] = from_json(found)
        return rows

    def _tails(self, query: str, ids: Collection[str]) -> dict[str, Tail]:
        return {name: Tail(n, seq) for name, n, seq in self._found(query, ids)}

    def _is_ingested(self, key: bytes) -> bool:
        return self._connection.execute(_SEEN_INGEST_KEY, (key,)).fetchone() is not None

    def insert(self, entries: Sequence[Entry]) -> None:
        """Adds entries at the end of the log."""
        for person in people_of(entries):
            self._connection.execute(_REGISTER, person)
        rows, columns = self._in_table.to_rows(entries), self._in_table.columns
        for at in range(0, len(rows), ROWS_PER_INSERT):
            some = rows[at : at + ROWS_PER_INSERT]
            values = [*itertools.chain.from_iterable(some)]
            self.inserted_bytes += sum(len(row[BODY] or b"") + len(row[LEAF]) for row in some)
            self._connection.execute(_insert(columns, len(some)), values)

    def execute(self, statement: Statement) -> int:
        """Runs a statement in the same commit; how many rows it changed."""
        return changed(self._connection, statement.sql, numbered(statement.values))

    def actors_named(self, name: bytes) -> list[Actor]:
        """The rows of the map of people that have a name."""
        return [Actor._make(row) for row in self._connection.execute(_NAMED, (name,))]


def numbered(values: Sequence[object]) -> dict[str, object]:
    """The values of a statement by the names that its `$1`, `$2` ... have for SQLite."""
    return {str(number): value for number, value in enumerate(values, 1)}
