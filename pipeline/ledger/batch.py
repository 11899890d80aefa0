"""A batch of entries as the ledger writes it, with all that Python has to work out for it.

No I/O, so that several are made while DuckDB still writes those before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

from pipeline.errors import LedgerRefused
from pipeline.ledger import arrow, facts
from pipeline.ledger.last_named import named_in
from pipeline.log import tree
from pipeline.log.entries import Entry
from pipeline.log.kinds.erasure import ERASURE

if TYPE_CHECKING:
    import pyarrow as pa


class LastEntry(NamedTuple):
    """The last entry: its seq, and its leaf; 0 and nothing while there is none."""

    seq: int
    leaf: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """What the ledger writes of entries in order of seq. It does not keep the entries themselves,
    which take three times the memory: several batches wait for DuckDB at once."""

    size: int
    """How many entries they are."""
    first_seq: int
    last_entry: LastEntry
    recorded_at: int  # of the last
    has_gaps: bool
    size_bytes: int
    """Of the entries' bodies and leaves."""
    erasure: int
    """The seq of the newest erasure among them; 0 where there is none."""
    named: Mapping[str, int]
    """As `last_named.named_in` says it."""
    occurred_at: int  # of the earliest
    leaf_hashes: Sequence[bytes]
    rows: Mapping[str, arrow.Rows]
    """Of each table that has any."""

    @classmethod
    def of(
        cls, entries: Sequence[Entry], keys: facts.Keys, schemas: Mapping[str, "pa.Schema"]
    ) -> Self:
        """`entries`: one at least. `schemas`: of the tables that a ledger has (`arrow.schemas`)."""
        extracted = facts.extract(entries, keys)
        rows: dict[str, Sequence[Sequence[object]]] = {
            "log": [entry[: len(arrow.LOG_COLUMNS)] for entry in entries],
            **{table: extracted[kind] for kind, table in facts.TABLES.items() if extracted[kind]},
        }
        if keys_of := [(it.seq, it.ingest_key) for it in entries if it.ingest_key is not None]:
            rows["ingest_keys"] = keys_of
        first, last = entries[0], entries[-1]
        return cls(
            size=len(entries),
            first_seq=first.seq,
            last_entry=LastEntry(last.seq, last.leaf),
            recorded_at=last.recorded_at,
            has_gaps=[it.seq for it in entries] != [*range(first.seq, first.seq + len(entries))],
            size_bytes=sum(len(it.body or b"") + len(it.leaf) for it in entries),
            erasure=max((it.seq for it in entries if it.kind == ERASURE), default=0),
            named=named_in(entries),
            occurred_at=min(it.occurred_at for it in entries),
            leaf_hashes=[tree.leaf_hash(entry.leaf) for entry in entries],
            rows={table: arrow.in_columns(schemas[table], found) for table, found in rows.items()},
        )

    def check_follows(self, size: int) -> None:
        """Raises `LedgerRefused` unless these are the entries after the first `size`."""
        if self.first_seq != size + 1 or self.has_gaps:
            raise LedgerRefused(
                "The inbox's entries do not follow the ledger's",
                f"after {size} came {self.first_seq} to {self.last_entry.seq} ({self.size})",
                "the inbox was changed by hand or replaced: restore it from a backup",
            )
