"""What a package says of its entries: their facts, its query, its tables. The exporter makes them,
and whoever verifies makes them again from the package alone and compares.
"""

import csv
import hmac
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from pipeline import facts, instants, tables, views
from pipeline.inbox.store import COUNTED_ONCE
from pipeline.ledger import QUERIES, Copy
from pipeline.occurrences import Entry

FORMAT: Final = "prazo package v1"

QUOTES: Final = "entries.csv"
"""The table that quotes the package's own entries; the others say what the log makes of them."""
TABLES: Final = {
    QUOTES: """
        select * from log_entries
        where list_contains(getvariable('entries'), seq)
        order by seq""",
    "processes.csv": """
        select * from process_state
        where list_contains(getvariable('processes'), process_id)
        order by process_id""",
    "findings.csv": """
        select * from findings
        where list_contains(getvariable('processes'), process_id)
            or list_contains(getvariable('sellers'), seller_id)
            or list_contains(getvariable('entries'), seq)
        order by all""",
    "coverage.csv": """
        select * from evidence_coverage
        where list_contains(getvariable('processes'), process_id)
        order by process_id, path""",
}
BASIS: Final = "basis"
"""Last column of the tables that say what the log makes of the entries: `package` where these
entries alone lead to the row, `log` where it rests on others, or on a body that is withheld."""

_VIEW_OF: Final = {
    QUOTES: "log_entries",
    "processes.csv": "process_state",
    "findings.csv": "findings",
    "coverage.csv": "evidence_coverage",
}
_IDENTIFIERS: Final = frozenset(
    {
        *("event_id", "attempt_id", "process_id", "seller_id", "journey_id"),
        *("bank_account_id", "idempotency_key"),
    }
)
_DIGESTS: Final = frozenset({"body_sha256", "sha256"})
_PUBLIC_KEYS: Final = facts.Keys(values=b"package", taxpayer=b"package")
"""Values that a package discloses may be compared under a key that everybody has."""

Rows = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Selection:
    """What the query's variables select."""

    as_of: int
    entries: Sequence[int]
    processes: Sequence[str]
    sellers: Sequence[str]
    unmask: bool

    @property
    def variables(self) -> dict[str, object]:
        return {
            "as_of": instants.of(self.as_of).replace(tzinfo=None),
            "entries": list(self.entries),
            "processes": list(self.processes),
            "sellers": list(self.sellers),
            "unmask": self.unmask,
        }


@dataclass(frozen=True, slots=True)
class Disclosed:
    """Entries as a package gives them. The body of a withheld one is None; its facts are stated:
    table -> rows of JSON values, instants in microseconds, bytes in hex."""

    entries: Sequence[Entry]
    withheld: frozenset[int] = frozenset()
    stated: Mapping[str, Sequence[Sequence[Any]]] = field(default_factory=dict)


# --- the query and its tables ----------------------------------------------------------------


def script() -> str:
    """The exact SQL of a package's tables, over the tables of schema.sql, with its macros."""
    macros = (QUERIES / "macros.sql").read_text(encoding="utf-8").strip()
    return (
        "-- The tables of this package, each by one query over the facts of its entries.\n"
        "-- The variables as_of, entries, processes, sellers and unmask are in parameters.json.\n\n"
        f"{macros}\n\n{queries()}"
    )


def queries() -> str:
    """One query for each table."""
    parts = []
    catalogue = views.catalogue()
    for table, select in TABLES.items():
        name = _VIEW_OF[table]
        below = views.whole_sql(catalogue[name])
        lines = "\n".join(line.removeprefix("        ") for line in select.strip("\n").splitlines())
        parts.append(f"-- {table}\nwith {name} as (\n{below}\n)\n{lines};")
    return "\n\n".join(parts) + "\n"


def run(source: Any, script: str, selection: Selection) -> dict[str, pa.Table]:
    """The tables that a script gives over a ledger or a copy."""
    return dict(zip(TABLES, source.run(script, selection.variables), strict=True))


def cells(table: pa.Table) -> tuple[list[str], Rows]:
    """Column names and rows, each value as it stands in a CSV file."""
    texts = [[_text(value) for value in column.to_pylist()] for column in table.columns]
    return table.column_names, list(zip(*texts, strict=True))


def _text(value: Any) -> str:
    cell = tables.cell(value)
    return "" if cell is None else str(cell)


def compare(of_log: Rows, of_package: Rows) -> tuple[Rows, int]:
    """Rows of the log with their basis, and how many the package alone would lead to that the
    log does not."""
    unmatched = Counter(of_package)
    rows: Rows = []
    for row in of_log:
        is_derived = unmatched[row] > 0
        unmatched[row] -= is_derived
        rows.append((*row, "package" if is_derived else "log"))
    return rows, sum(unmatched.values())


def csv_bytes(columns: Sequence[str], rows: Rows) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode("utf-8")


def parse_csv(content: bytes) -> list[dict[str, str]]:
    """The rows of a table's file, cell by cell as it stands there."""
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))


def totals(tables_by_name: Mapping[str, Sequence[Mapping[str, str]]]) -> dict[str, dict[str, int]]:
    """Control totals: counts that no row can leave or join unnoticed."""
    return {
        "entries": dict(Counter(it["kind"] for it in tables_by_name[QUOTES])),
        "processes": dict(Counter(it["state"] for it in tables_by_name["processes.csv"])),
        "findings": dict(Counter(it["severity"] for it in tables_by_name["findings.csv"])),
    }


# --- facts -----------------------------------------------------------------------------------


def copy_of(disclosed: Disclosed, *, unmask: bool) -> Copy:
    """A copy in memory that knows what the package tells, and nothing else."""
    copy = Copy()
    entries = list(told_again(disclosed.entries))
    copy.add(entries)
    legible = [it for it in entries if it.seq not in disclosed.withheld]
    for kind, rows in facts.extract(legible, _PUBLIC_KEYS).items():
        copy.add_facts(facts.TABLES[kind], rows, masked=not unmask)
    for table, stated in disclosed.stated.items():
        types = [it.type for it in copy.columns(table)]
        rows_of_facts = [
            [
                bytes.fromhex(it) if pa.types.is_binary(type_) and it is not None else it
                for it, type_ in zip(row, types, strict=True)
            ]
            for row in stated
        ]
        copy.add_facts(table, rows_of_facts, masked=True)
    return copy


def told_again(entries: Sequence[Entry]) -> Iterator[Entry]:
    """The same, each marked by whether its id was told before in the package: what was told
    before outside of it, the package cannot show."""
    seen = set()
    for entry in entries:
        name = (entry.kind, entry.event_id or entry.attempt_id or "")
        yield entry._replace(is_again=entry.kind in COUNTED_ONCE and name in seen)
        seen.add(name)


def state(
    withheld: Sequence[Entry], keys: facts.Keys, names: Mapping[str, str]
) -> dict[str, list[list[Any]]]:
    """The masked facts of entries whose bodies are kept back, as `Disclosed.stated` has them.

    `names`: identifiers -> what stands in their place. Digests of bodies and artifacts become keyed
    ones: a payload that can be guessed must not be found out by its plain digest.
    """
    copy = Copy()
    try:
        stated = {}
        for kind, rows in facts.extract(withheld, keys).items():
            if not rows:
                continue
            table = facts.TABLES[kind]
            copy.add_facts(table, rows, masked=True)
            columns = copy.columns(table).names
            stated[table] = [
                [
                    _stated(name, value, keys, names)
                    for name, value in zip(columns, row, strict=True)
                ]
                for row in copy.facts(table)
            ]
        return stated
    finally:
        copy.close()


def _stated(column: str, value: Any, keys: facts.Keys, names: Mapping[str, str]) -> Any:
    if column in _DIGESTS and value is not None:
        digest = bytes.fromhex(value) if isinstance(value, str) else value
        return hmac.digest(keys.values, digest, "sha256").hex()
    if column in _IDENTIFIERS and value is not None:
        return names.get(value, value)
    return value.hex() if isinstance(value, bytes) else value
