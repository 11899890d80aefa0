"""Reads the entries that this machine's ledger holds, for an inbox that is put back from them.

What a ledger's other tables say may be of another release, or made under another key of tax ids, so
they must not be served. Its entries are those of the log all the same, and the newest of them may
be nowhere else.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import duckdb

from pipeline.ledger import arrow, file
from pipeline.log import tree
from pipeline.log.entries import Entry
from pipeline.log.kinds.key_rotation import KEY_ROTATION
from pipeline.settings import Settings

_LEAVES_AT_ONCE: Final = 100_000

T = TypeVar("T")


class HeldEntries:
    """The entries in a ledger's file, from the first one on; none where there is no file."""

    def __init__(self, settings: Settings, log: str) -> None:
        """Raises as `file.connected_to_entries` does."""
        self.size = 0
        self._path: Path = settings.ledger
        self._connection: duckdb.DuckDBPyConnection | None = None
        if self._path.exists():
            memory, threads = settings.ledger_memory, settings.ledger_threads
            self._connection = file.connected_to_entries(
                self._path, log, memory=memory, threads=threads
            )
            with file.closed_on_error(self._connection, self._path):
                sizes = self._connection.execute("select coalesce(max(seq), 0) from log")
                [(self.size,)] = sizes.fetchall()

    def recorded(self, first: int, last: int) -> list[Entry]:
        """The entries `first` to `last`, as an inbox takes them."""
        return self._asked(lambda held: arrow.entries_of_former(held, first, last))

    def erased(self) -> list[Entry]:
        """The entries whose bytes are erased."""
        return self._asked(lambda held: arrow.entries_of(held, arrow.IS_ERASED, []))

    def rotations(self, after: int) -> list[tuple[int, bytes]]:
        """The (seq, body) of the rotations of the log's key after so many entries."""
        rotations = "kind = ? and seq > ? and body is not null"
        asked = [KEY_ROTATION, after]
        found = self._asked(lambda held: arrow.entries_of(held, rotations, asked))
        return [(it.seq, it.body or b"") for it in found]

    def root_at(self, size: int) -> bytes:
        """The root over the leaves of the first entries, as many as `size`."""
        frontier = tree.Frontier()
        if self._connection is not None:
            sql = "select leaf from log where seq <= ? order by seq"
            with file.closed_on_error(self._connection, self._path):
                leaves = self._connection.execute(sql, [size])
                while some := leaves.fetchmany(_LEAVES_AT_ONCE):
                    frontier.extend([tree.leaf_hash(leaf) for (leaf,) in some])
        return frontier.root()

    def _asked(self, ask: Callable[[duckdb.DuckDBPyConnection], list[T]]) -> list[T]:
        """What the file answers; nothing where there is none."""
        if self._connection is None:
            return []
        with file.closed_on_error(self._connection, self._path):
            return ask(self._connection)

    def close(self) -> None:
        """Lets others open the file."""
        if self._connection is not None:
            self._connection.close()
