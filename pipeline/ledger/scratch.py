"""Builds databases in memory: of a package's entries, for queries that others wrote (`Copy`), and
of the facts that one decision needs (`Excerpt`).
"""

import contextlib
import threading
import weakref
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

import duckdb
import pyarrow as pa

from pipeline.files.temporary import OwnFolder
from pipeline.ledger import arrow, facts
from pipeline.ledger.file import leave_out_optimizers
from pipeline.ledger.views.catalogue import macros
from pipeline.log.entries import Entry

MOST_ROWS_KEPT: Final = 20_000
"""In a copy that somebody else may take once it is emptied; of ten times as many it would keep some
400 MB."""
MAX_SCRIPT_SECONDS: Final = 900.0
"""For a query that somebody else wrote, over a copy in memory."""


class Copy:
    """Entries of a log in memory, without a tree, for queries that others wrote: once it is
    closed off, no statement reaches a file or the network.

    All that is done with it is one transaction, which is never committed.
    """

    def __init__(self) -> None:
        folder = OwnFolder("prazo-rows-")  # for rows that do not fit; else it is the present one
        self._leave = weakref.finalize(self, folder.remove)
        spilled = str(folder.path / "spilled")
        self._connection = duckdb.connect(
            ":memory:",
            config={"threads": "2", "memory_limit": "2GB", "temp_directory": spilled},
        )
        self._connection.execute("set global TimeZone = 'UTC'")
        leave_out_optimizers(self._connection)
        self._connection.execute(facts.schema())
        self._connection.execute(macros())
        self._columns = arrow.schemas(self._connection, ("log", *facts.TABLES.values()))
        self._connection.execute("set enable_external_access = false")
        self._connection.execute("set lock_configuration = true")
        self._connection.execute("begin")
        self._is_taken = False
        self._rows = 0  # that were added since it was taken

    @classmethod
    def taken(cls) -> "Copy":
        """An empty one: one that somebody has given back, where there is one, since making it
        takes a third as long as the tables of a small package."""
        try:
            copy = _UNUSED.pop()
        except IndexError:
            copy = cls()
        copy._is_taken, copy._rows = True, 0
        return copy

    def give_back(self) -> None:
        """Empties it for its next user; one that held much is closed, since it would not
        give all of its memory back. Given back twice, it is still lent to one user only."""
        if not self._is_taken:
            return
        self._is_taken = False
        if self._rows <= MOST_ROWS_KEPT:
            with contextlib.suppress(duckdb.Error):
                self.clear()
                _UNUSED.append(self)
                return
        self._connection.close()
        self._leave()

    def clear(self) -> None:
        """Undoes all that was done with it."""
        self._connection.execute("rollback")
        self._connection.execute("begin")

    def add(self, entries: Sequence[Entry]) -> None:
        """Entries alone, without the facts that stand in their bodies."""
        rows = [entry[: len(arrow.LOG_COLUMNS)] for entry in entries]
        self._rows += len(rows)
        arrow.insert(self._connection, self._columns, {"log": rows})

    def add_facts(self, table: str, rows: Sequence[Sequence[object]], *, masked: bool) -> None:
        """Facts of a table, instants in microseconds; `masked`: as a ledger without bodies has
        them."""
        masks = arrow.MASKED_COLUMNS if masked else {}
        self._rows += len(rows)
        arrow.insert(self._connection, self._columns, {table: rows}, masks)

    def facts(self, table: str) -> list[tuple[Any, ...]]:
        """Rows of a table as `add_facts` takes them, in order."""
        return arrow.facts_of(self._connection, table, self._columns[table])

    def masked(self, table: str, column: str, values: Collection[str]) -> dict[str, str]:
        """Value -> what a ledger without bodies has in its place, in a column that it masks."""
        if not values:
            return {}
        mask = arrow.MASKED_COLUMNS[table][column]
        sql = f"select {column}, {mask} from (select distinct unnest(?) as {column})"
        return dict(self._connection.execute(sql, [list(values)]).fetchall())

    def columns(self, table: str) -> pa.Schema:
        """The columns of a table, in order."""
        return self._columns[table]

    def run(
        self, script: str, variables: Mapping[str, object], seconds: float = MAX_SCRIPT_SECONDS
    ) -> list[pa.Table]:
        """What each query of a script gives, in its order; raises `duckdb.Error`, also for one
        that takes too long."""
        patience = threading.Timer(min(seconds, MAX_SCRIPT_SECONDS), self._connection.interrupt)
        patience.start()
        try:
            return arrow.run_script(self._connection, script, variables)
        finally:
            patience.cancel()
            patience.join()  # it would interrupt whoever takes the copy next


_UNUSED: Final[deque[Copy]] = deque(maxlen=2)
"""The others are closed: more are seldom needed at once."""


class Excerpt:
    """The facts of a few entries in memory, without log and tree: what one decision needs.

    Made once and filled again and again, since making it takes longer than anything it is asked.
    For one thread at a time.
    """

    def __init__(
        self,
        views: Iterable[tuple[str, str]],
        tables: Iterable[str],
        questions: Mapping[str, str],
        shared: Mapping[str, Set[str]],
    ) -> None:
        """`views`: name and SQL, each after those it reads; `tables`: the facts that they read;
        `questions`: what will be asked of them, by name; `shared`: the views that several questions
        read, whose rows are worked out once for all of them. Each is given the tables of which at
        least one must have a row where the view has any: else nothing is worked out."""
        self._tables = frozenset(tables)
        self._connection = duckdb.connect(":memory:", config={"threads": "1"})
        self._connection.execute("set global TimeZone = 'UTC'")
        self._connection.execute(facts.schema())
        self._connection.execute(macros())
        # The instant is a row here, not a variable: DuckDB binds a statement that reads a variable
        # again for every question, and binding takes longer than answering.
        self._connection.execute("create table clock (as_of timestamp not null)")
        self._connection.execute("create or replace macro as_of() as (select as_of from clock)")
        fillings = {}
        for name, sql in views:
            if name in shared:
                self._connection.execute(f"create table {name} as from ({sql}) limit 0")
                fillings[name] = sql
            else:
                self._connection.execute(f"create view {name} as {sql}")
        self._columns = arrow.schemas(self._connection, self._tables)
        # For a handful of rows, looking for a better plan takes longer than a worse one.
        self._connection.execute("pragma disable_optimizer")
        self._fillings = {f"fill_{name}": shared[name] for name in fillings}
        for name, sql in fillings.items():
            self._connection.execute(f"prepare fill_{name} as insert into {name} {sql}")
        for name, sql in questions.items():
            self._connection.execute(f"prepare {name} as {sql}")

    @contextlib.contextmanager
    def of(
        self, entries: Iterable[Entry], keys: facts.Keys, as_of: int
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """The views over these entries alone, as of an instant in microseconds."""
        connection = self._connection
        connection.execute("begin")
        try:
            connection.execute("insert into clock values (make_timestamp(?::bigint))", (as_of,))
            found = facts.extract(entries, keys)
            rows = {facts.TABLES[kind]: of_kind for kind, of_kind in found.items() if of_kind}
            arrow.insert(connection, self._columns, {it: rows.get(it, ()) for it in self._tables})
            for filling, needed in self._fillings.items():
                if not needed.isdisjoint(rows):
                    connection.execute(f"execute {filling}")
            yield connection
        finally:
            connection.execute("rollback")  # and it is empty again

    def close(self) -> None:
        """Closes the database in memory, which is gone with it."""
        self._connection.close()
