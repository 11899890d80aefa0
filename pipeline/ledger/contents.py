"""Reads a ledger's own tables: the entries, their facts, and the tree over them."""

import abc
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb

from pipeline.errors import LedgerDamaged
from pipeline.ledger import arrow, facts
from pipeline.log import erasures, tree
from pipeline.log.entries import Entry
from pipeline.log.kinds.erasure import ERASURE

if TYPE_CHECKING:
    import pyarrow as pa

WRITTEN: Final = ("log", "ingest_keys", "tree_heads", "tree_nodes", *facts.TABLES.values())
"""The tables that batches are written to."""
NO_ROW_OF_THEM: Final = f"select 1 from {', '.join(WRITTEN)} limit 0"
"""Fails where one of them is missing, in a tenth of the time in which DuckDB lists its tables."""


class Contents(abc.ABC):
    """What a ledger's tables hold, for any number of threads. Each call has a cursor of its own, so
    two calls may see two states."""

    path: Path | None
    """Of the file; None: the ledger is held in memory."""

    @abc.abstractmethod
    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor for one thread and one call."""

    def _rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self.cursor().execute(sql, parameters).fetchall()

    @functools.cached_property
    def _columns(self) -> Mapping[str, "pa.Schema"]:
        """Of the tables that are written, which a program that only reads need not ask for."""
        return arrow.schemas(self.cursor(), WRITTEN)

    def select(self, condition: str, parameters: Sequence[object]) -> list[Entry]:
        """The entries for which an SQL condition on `log` is true, in order of seq, without their
        ingest keys."""
        return arrow.entries_of(self.cursor(), condition, parameters)

    def erased(self) -> dict[int, bytes]:
        """Of each entry that the log's erasures name, the digest of what stays of it."""
        return erasures.known(self._rows(arrow.ERASURES, [ERASURE]))

    def recorded(self, first: int, last: int) -> list[Entry]:
        """The entries `first` to `last` as an inbox takes them: with their ingest keys."""
        return arrow.recorded_entries(self.cursor(), first, last)

    def seqs(self, condition: str, parameters: Sequence[object]) -> list[int]:
        """The seqs of the entries for which a condition on `log` is true, in order."""
        rows = self._rows(f"select seq from log where {condition} order by seq", parameters)
        return [seq for (seq,) in rows]

    def newest(self, condition: str, parameters: Sequence[object]) -> int | None:
        """The highest seq among these entries; None if there is none."""
        [(seq,)] = self._rows(f"select max(seq) from log where {condition}", parameters)
        return None if seq is None else int(seq)

    def leaves(self, seqs: Sequence[int]) -> list[tuple[int, bytes]]:
        """The leaves of these entries, in order of seq."""
        return self._rows(
            "select seq, leaf from log where seq between ? and ? and seq in (select unnest(?))"
            " order by seq",
            (seqs[0], seqs[-1], seqs),
        )

    def facts_between(self, table: str, first: int, last: int) -> list[tuple[Any, ...]]:
        """Facts of the entries `first` to `last`: instants in microseconds, in order."""
        condition = f"seq between {first} and {last}"
        return arrow.facts_of(self.cursor(), table, self._columns[table], condition)

    def tree_table(self, table: str) -> list[tuple[Any, ...]]:
        """Rows of `tree_nodes` (level, position, hash) or `tree_heads` (size, root, peaks)."""
        columns = {"tree_nodes": "level, position, hash", "tree_heads": "size, root, peaks"}[table]
        return self._rows(f"select {columns} from {table} order by all")

    def root_at(self, size: int) -> bytes:
        """The tree's root when the log had `size` entries (at most the ledger's own size)."""
        return tree.Frontier.at(size, self.subtrees()).root()

    def subtrees(self) -> tree.Subtree:
        """Reads roots of full subtrees, remembering what it read: for many proofs in a row.

        What it gave stays true while the log grows, since a full subtree never changes.
        """
        return tree.subtrees(self._nodes, self._lacks)

    def _nodes(self, level: int, first: int, last: int) -> list[bytes]:
        if level == 0:
            sql = "select leaf from log where seq between ? and ? order by seq"
            return [tree.leaf_hash(leaf) for (leaf,) in self._rows(sql, (first + 1, last + 1))]
        at = "level = ? and position between ? and ?"
        sql = f"select hash from tree_nodes where {at} order by position"
        return [node for (node,) in self._rows(sql, (level, first, last))]

    def _lacks(self, level: int, position: int) -> LedgerDamaged:
        why = f"its tree lacks the node {level}/{position}: entries or nodes are gone"
        return self._damaged("is damaged", why)

    def _damaged(self, how: str, why: str) -> LedgerDamaged:
        remedy = "`prazo rebuild` makes it again from the inbox"
        return LedgerDamaged(f"The ledger {self.path} {how}", why, remedy)
