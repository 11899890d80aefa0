"""A batch of entries as the ledger writes it, with all that Python has to work out for it.

No I/O, so that one is made while DuckDB still writes the batch before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import pyarrow as pa

from pipeline.errors import LedgerRefused
from pipeline.ledger import arrow, facts
from pipeline.log import tree
from pipeline.log.entries import Entry


class LastEntry(NamedTuple):
    """The last entry: its seq, and its leaf; 0 and nothing while there is none."""

    seq: int
    leaf: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries in order of seq, each leaf's hash, and the rows of each table that has any."""

    entries: Sequence[Entry]
    leaf_hashes: Sequence[bytes]
    rows: Mapping[str, arrow.Rows]

    @classmethod
    def of(
        cls, entries: Sequence[Entry], keys: facts.Keys, schemas: Mapping[str, pa.Schema]
    ) -> Self:
        """`schemas`: of the tables that a ledger has (`arrow.schemas`)."""
        extracted = facts.extract(entries, keys)
        rows: dict[str, Sequence[Sequence[object]]] = {
            "log": [entry[: len(arrow.LOG_COLUMNS)] for entry in entries],
            **{table: extracted[kind] for kind, table in facts.TABLES.items() if extracted[kind]},
        }
        return cls(
            entries,
            [tree.leaf_hash(entry.leaf) for entry in entries],
            {table: arrow.in_columns(schemas[table], found) for table, found in rows.items()},
        )

    @property
    def last_entry(self) -> LastEntry:
        """Of this batch."""
        return LastEntry(self.entries[-1].seq, self.entries[-1].leaf)

    def check_follows(self, size: int) -> None:
        """Raises `LedgerRefused` unless these are the entries after the first `size`."""
        expected = range(size + 1, size + 1 + len(self.entries))
        if any(entry.seq != seq for entry, seq in zip(self.entries, expected, strict=True)):
            raise LedgerRefused(
                "The inbox's entries do not follow the ledger's",
                f"after {size} came {self.entries[0].seq} to {self.entries[-1].seq}"
                f" ({len(self.entries)})",
                "the inbox was changed by hand or replaced: restore it from a backup",
            )
