"""A batch of entries as the ledger writes it, with all that Python has to work out for it.

No I/O, so that one is made while DuckDB still writes the batch before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from pipeline.ledger import arrow, facts
from pipeline.log import tree
from pipeline.log.entries import Entry


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
