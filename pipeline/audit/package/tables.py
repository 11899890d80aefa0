"""Makes a package's facts, query and tables.

The exporter makes them from the log; a verifier makes them again from the package, and compares.
Both take the entries batch by batch, so that their number costs no memory here.
"""

import csv
import hashlib
import hmac
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TextIO

import pyarrow as pa

from pipeline import instants, texts
from pipeline.contract.body import canonical_json, parse_json
from pipeline.inbox.store import COUNTED_ONCE
from pipeline.ledger import facts
from pipeline.ledger.scratch import MAX_SCRIPT_SECONDS, Copy
from pipeline.ledger.store import Ledger
from pipeline.ledger.views import formats
from pipeline.ledger.views.catalogue import catalogue, macros, read_by_several, whole_sql
from pipeline.ledger.views.reader import Reader
from pipeline.log.artifacts import is_digest
from pipeline.log.entries import Entry
from pipeline.release import release
from pipeline.verify import may_lack_record

LARGEST_CELL: Final = 1 << 27
"""Characters; Python's own limit is 131,072, and a recorded body may name more fields than that."""
ROWS_PER_BATCH: Final = 4096

QUOTES: Final = "entries.csv"
"""The table that quotes the package's own entries; the others say what follows from the log."""
TABLES: Final = {
    QUOTES: """
        select * from log_entries
        where seq in (select unnest(getvariable('entries')))
        order by seq""",
    "processes.csv": """
        select * from process_state
        where process_id in (select unnest(getvariable('processes')))
        order by process_id""",
    "findings.csv": """
        select * from findings
        where process_id in (select unnest(getvariable('processes')))
            or seller_id in (select unnest(getvariable('sellers')))
            or seq in (select unnest(getvariable('entries')))
        order by all""",
    "coverage.csv": """
        select * from evidence_coverage
        where process_id in (select unnest(getvariable('processes')))
        order by process_id, path""",
}
TOTALS: Final = {
    QUOTES: ("entries", "kind"),
    "processes.csv": ("processes", "state"),
    "findings.csv": ("findings", "severity"),
}
"""Control totals, by table: their name, and the column whose values are counted. They change when a
row is added or removed."""
BASIS: Final = "basis"
"""The last column of every table but `QUOTES`: `package` if the row follows from the package's
entries, and what is stated of withheld ones, alone; `log` if it also rests on others."""

OF_PACKAGE: Final = "package"
OF_LOG: Final = "log"
_VIEW_OF: Final = {
    QUOTES: "log_entries",
    "processes.csv": "process_state",
    "findings.csv": "findings",
    "coverage.csv": "evidence_coverage",
}
_OF_ANY_SUBJECT: Final = "findings.csv"
_OF_LEAVES: Final = frozenset({"event_id", "attempt_id", "process_id", "seller_id"})
_DIGESTS: Final = frozenset({"body_sha256", "content_sha256", "sha256"})
_WORDS: Final = frozenset(
    {
        *("bank_account_id", "channel", "idempotency_key", "journey_id", "marketplace_id"),
        "message_id",
        *("object_type", "payload_type", "source", "status", "step", "type", "via"),
    }
)
"""What is stated as it came where it is an id or a code: who writes one may name the person."""
_PATHS: Final = frozenset({"event_type", "media_type", "part", "path", "paths", "requested_fields"})
"""Likewise, part by part."""
_UNSTATED: Final = frozenset(
    {"account_balance", "current_balance", "mcc", "resource", "revenue", "uri"}
)
"""Of a seller's record: no table of a package rests on them, and an address may end in a tax id."""
WORDS_OF_RECORDS: Final = ("idempotency_key", "marketplace_id")
"""Those among them that stand in records."""
_ERROR: Final = ("fact_attempt_finishes", "error")
PUBLIC_KEYS: Final = facts.Keys(values=b"package", taxpayer=b"package")
"""Everybody may know this key, since it only compares values that a package discloses."""

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
        """The variables of the query in DuckDB: name -> value."""
        return {
            "as_of": instants.naive(self.as_of),
            "entries": list(self.entries),
            "processes": list(self.processes),
            "sellers": list(self.sellers),
            "unmask": self.unmask,
        }


@lru_cache(maxsize=1)
def software() -> str:
    """This release and what in it makes tables and reports, and masks: another one may do it
    otherwise."""
    digest = hashlib.sha256(query_file().encode())
    here = Path(__file__).parent
    for file in sorted([*here.glob("templates/*"), *here.glob("*.py"), Path(texts.__file__)]):
        digest.update(file.read_bytes())
    return f"prazo {release()} ({digest.hexdigest()[:12]})"


# --- the query and its tables ----------------------------------------------------------------


def query_file() -> str:
    """The exact SQL of a package's tables, over the tables of schema.sql, with its macros."""
    return (
        "-- The tables of this package, each by one query over the facts of its entries, and\n"
        "-- before them what several of these follow from.\n"
        "-- The variables as_of, entries, processes, sellers and unmask are in parameters.json.\n\n"
        f"{macros().strip()}\n\n{queries()}"
    )


def queries() -> str:
    """What several tables follow from, each as a table of its own: planned for each of them, it
    took half of the time again. Then one query for each table."""
    views, made, parts = catalogue(), list[str](), list[str]()
    for name in read_by_several([_VIEW_OF[table] for table in TABLES]):
        rows = whole_sql(views[name], made=made)
        parts.append(f"create or replace temporary table {name} as\n{rows};")
        made.append(name)
    for table, select in TABLES.items():
        lines = textwrap.dedent(select).strip("\n")
        if (name := _VIEW_OF[table]) not in made:
            lines = f"with {name} as (\n{whole_sql(views[name], made=made)}\n)\n{lines}"
        parts.append(f"-- {table}\n{lines};")
    return "\n\n".join(parts) + "\n"


def of_log(ledger: Ledger, selection: Selection) -> dict[str, pa.Table]:
    """The tables that say what follows from the whole log, by name: by the same queries, but over
    materialized rows, so that the package of one process does not wait for all the others."""
    reader, variables = Reader(ledger), selection.variables
    of_processes = {"process_id": selection.processes}
    return {
        name: reader.ask(
            _VIEW_OF[name],
            select,
            {it: value for it, value in variables.items() if it not in ("as_of", "unmask")},
            as_of=selection.as_of,
            of={} if name == _OF_ANY_SUBJECT else of_processes,
            unmask=selection.unmask,
        )
        for name, select in TABLES.items()
        if name != QUOTES
    }


def kinds_of(name: str) -> Mapping[str, str]:
    """What the columns of a table hold, as the header of its view declares it."""
    return catalogue()[_VIEW_OF[name]].kinds


def rows_of(table: pa.Table) -> Iterator[Rows]:
    """The rows of a table batch by batch, each value as it stands in a CSV file."""
    for batch in table.to_batches(max_chunksize=ROWS_PER_BATCH):
        yield list(zip(*map(_texts, batch.columns), strict=True))


_HARMLESS = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9_.:-]*)?", re.ASCII)
_instant: Final = lru_cache(maxsize=65_536)(instants.readable)


def _texts(column: pa.Array) -> list[str]:
    """What `formats.csv_cell` makes of each value, in a fifth of its time for the usual types."""
    if pa.types.is_integer(column.type):
        return ["" if it is None else str(it) for it in column.to_pylist()]
    if pa.types.is_timestamp(column.type) and column.type.unit == "us":
        return ["" if it is None else _instant(it) for it in column.cast(pa.int64()).to_pylist()]
    values = column.to_pylist()
    if pa.types.is_string(column.type) or pa.types.is_boolean(column.type):
        texts = {it: _text(it) for it in {*values}}  # most columns say the same again and again
        return [texts[it] for it in values]
    if pa.types.is_list(column.type) and pa.types.is_string(column.type.value_type):
        keys = [None if it is None else tuple(it) for it in values]
        texts = {it: _text(None if it is None else list(it)) for it in {*keys}}
        return [texts[it] for it in keys]
    return [_text(it) for it in values]


def _text(value: Any) -> str:
    if value is None or (isinstance(value, str) and _HARMLESS.fullmatch(value)):
        return value or ""
    return str(formats.csv_cell(value))


def compare(of_log: Rows, of_package: Rows) -> tuple[Rows, int]:
    """The log's rows with their basis; and how many rows follow from the package but not from the
    whole log."""
    unmatched = Counter(of_package)
    rows: Rows = []
    for row in of_log:
        is_derived = unmatched[row] > 0
        unmatched[row] -= is_derived
        rows.append((*row, OF_PACKAGE if is_derived else OF_LOG))
    return rows, sum(unmatched.values())


def write_csv(file: TextIO, columns: Sequence[str], batches: Iterable[Rows]) -> None:
    """A table as CSV (RFC 4180) with a header line."""
    writer = csv.writer(file)
    writer.writerow(columns)
    for rows in batches:
        writer.writerows(rows)


def read_csv(file: Iterable[str]) -> Iterator[dict[str, str]]:
    """The rows of a table's CSV file: column -> cell, as text."""
    csv.field_size_limit(LARGEST_CELL)
    rows = csv.reader(file)
    columns = next(rows, [])
    return (dict(zip(columns, row, strict=True)) for row in rows)


# --- facts -----------------------------------------------------------------------------------


class Facts:
    """A database in memory that holds what a package says, and nothing else."""

    def __init__(self, *, unmask: bool) -> None:
        self._copy, self._unmask = Copy.taken(), unmask

    def add(self, entries: Sequence[Entry], withheld: Collection[int] = frozenset()) -> None:
        """Adds entries as the package shows them, and the facts in their bodies. Of those that are
        `withheld` there is no body; what is stated of them comes by `state`."""
        self._copy.add(entries)
        legible = [it for it in entries if it.seq not in withheld]
        for kind, rows in facts.extract(legible, PUBLIC_KEYS).items():
            self._copy.add_facts(facts.TABLES[kind], rows, masked=not self._unmask)

    def state(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Adds facts of entries whose bodies are withheld: JSON values, with instants in
        microseconds and bytes in hex."""
        self._copy.add_facts(table, _typed(self._copy.columns(table), rows), masked=True)

    def stated_errors(self, errors: Collection[str]) -> dict[str, str]:
        """Why an attempt had no answer -> what is stated of that."""
        return self._copy.masked(*_ERROR, errors)

    def tables(
        self, selection: Selection, seconds: float = MAX_SCRIPT_SECONDS
    ) -> dict[str, pa.Table]:
        """The package's tables by name, as they follow from these facts alone. Raises
        `duckdb.InterruptException` if that takes more than `seconds`."""
        made = self._copy.run(query_file(), selection.variables, seconds)
        return dict(zip(TABLES, made, strict=True))

    def close(self) -> None:
        """Gives the database back, emptied."""
        self._copy.give_back()


def _typed(columns: pa.Schema, rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Rows that a package states, as their table takes them."""
    binary = [pa.types.is_binary(it.type) for it in columns]
    return [
        [
            bytes.fromhex(value) if is_binary and value is not None else value
            for value, is_binary in zip(row, binary, strict=True)
        ]
        for row in rows
    ]


class Again:
    """Marks entries that repeat an earlier entry of the package. The package cannot show whether
    an entry outside it has the same id."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()

    def marked(self, entry: Entry) -> Entry:
        """The same entry, with `is_again` set if one before it has its id."""
        if entry.kind not in COUNTED_ONCE:
            return entry._replace(is_again=False)
        name = (entry.kind, entry.event_id or entry.attempt_id or "")
        is_again = name in self._seen
        self._seen.add(name)
        return entry._replace(is_again=is_again)


def _but_for_a_digest(column: str, value: Any) -> Any:
    """What is stated, or of a digest that there is one."""
    return "" if column in _DIGESTS and is_digest(value) else value


class Stating:
    """The masked facts of entries whose bodies or records are withheld, as `Facts.state` takes
    them."""

    def __init__(
        self,
        keys: facts.Keys,
        name: Callable[[str], str],
        word: Callable[[str], str],
        path: Callable[[str], str],
    ) -> None:
        """`name`, `word`, `path`: give what stands in the place of an identifier that a leaf holds,
        of any other or a code, and of a path."""
        self._copy, self._keys, self._name = Copy.taken(), keys, name
        self._word, self._path = word, path
        self.replaced: dict[str, str] = {}
        """What findings say of an artifact -> what is stated in its place."""
        self.reworded: dict[str, str] = {}
        """Code or path -> likewise."""

    def of(self, withheld: Sequence[Entry]) -> Iterator[tuple[str, list[list[Any]]]]:
        """(table, rows). Digests of bodies and artifacts become keyed ones, so that nobody can
        confirm a guessed payload by its plain digest."""
        self._copy.clear()
        for kind, rows in facts.extract(withheld, self._keys).items():
            if rows:
                table = facts.TABLES[kind]
                self._copy.add_facts(table, rows, masked=True)
                columns = self._copy.columns(table).names
                yield (
                    table,
                    [
                        [self._stated(it, value) for it, value in zip(columns, row, strict=True)]
                        for row in self._copy.facts(table)
                    ],
                )

    def hides_more_of(self, table: str, rows: Sequence[Sequence[Any]]) -> list[int]:
        """The entries among rows that a package states, as `Facts.state` takes them, that it would
        state otherwise. Of a digest nobody can tell more than that it is one."""
        schema = self._copy.columns(table)
        self._copy.clear()
        self._copy.add_facts(table, _typed(schema, rows), masked=True)

        def compared(row: Iterable[Any]) -> bytes:
            cells = zip(schema.names, row, strict=True)
            return canonical_json([_but_for_a_digest(name, value) for name, value in cells])

        again = Counter(
            compared(map(self._stated, schema.names, row)) for row in self._copy.facts(table)
        )
        again.subtract(map(compared, rows))
        return sorted({row[0] for row in rows if again[compared(row)] < 0})

    def hides_of_records(self, entries: Iterable[Entry]) -> set[int]:
        """The entries of attempts whose records, which may be left out, say what it would state
        otherwise."""
        hidden, errors = set[int](), dict[int, str]()
        for entry in entries:
            if entry.record is None or not may_lack_record(entry.kind, entry.origin):
                continue
            said = entry.particulars
            if any(self._stated(it, said.get(it)) != said.get(it) for it in WORDS_OF_RECORDS):
                hidden.add(entry.seq)
            if said.get("error") is not None:
                errors[entry.seq] = said["error"]
        masked = self._copy.masked(*_ERROR, errors.values())
        return hidden | {seq for seq, error in errors.items() if masked[error] != error}

    def _stated(self, column: str, value: Any) -> Any:
        if column in _UNSTATED:
            return None
        if column in _DIGESTS and value is not None:
            digest = bytes.fromhex(value) if isinstance(value, str) else value
            keyed = hmac.digest(self._keys.values, digest, "sha256").hex()
            if isinstance(value, str):
                self.replaced[value] = keyed
            return keyed
        if column in _OF_LEAVES and value is not None:
            return self._name(value)
        if column in _WORDS or column in _PATHS:
            return self._reworded(value, self._path if column in _PATHS else self._word)
        if column == "reasons" and value is not None:  # one in its own words may name the person
            pairs = parse_json(value.encode())
            return canonical_json(
                [
                    {it: self._reworded(text, self._word) for it, text in pair.items()}
                    for pair in pairs
                ]
            ).decode()
        return value.hex() if isinstance(value, bytes) else value

    def _reworded(self, value: Any, word: Callable[[str], str]) -> Any:
        """A text, or each text of a list; a number of HTTP and null stay."""
        if isinstance(value, list):
            return [self._reworded(it, word) for it in value]
        if not isinstance(value, str) or (stated := word(value)) == value:
            return value
        self.reworded[value] = stated
        return stated

    def close(self) -> None:
        """Gives back what it works in."""
        self._copy.give_back()
