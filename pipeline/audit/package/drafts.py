"""Makes drafts of a package's tables in a folder, from entries as they are read batch by batch."""

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.audit.package import tables
from pipeline.audit.package.disclosure import Artifacts, Disclosure
from pipeline.audit.package.tables import Selection
from pipeline.continuity.service import LedgerService
from pipeline.contract.body import canonical_json
from pipeline.ledger import facts
from pipeline.log.entries import Entry


class Reading:
    """Takes the entries of a package, batch by batch, and remembers what the rest needs of them."""

    def __init__(
        self,
        service: LedgerService,
        disclosure: Disclosure,
        artifacts: Artifacts,
        facts: tables.Facts,
        files: "TableFiles",
    ) -> None:
        self._disclosure, self._artifacts = disclosure, artifacts
        self._facts, self._files = facts, files
        self._stating = tables.Stating(
            service.keys,
            lambda value: disclosure.new_name(value) or "",
            disclosure.new_word,
            disclosure.new_path,
        )
        self._again = tables.Again()
        self.taken = 0
        self.processes: set[str | None] = set()
        self.last_process_n: int | None = None
        self._withheld: Counter[tuple[str, str]] = Counter()
        self._without_record: Counter[str] = Counter()

    def take(self, batch: Sequence[Entry]) -> None:
        """The next entries of the package, in order."""
        marked = [self._again.marked(it) for it in batch]
        self._disclosure.take_records(marked, self._stating)
        withheld: list[Entry] = []
        for entry in marked:
            has_record = entry.seq not in self._disclosure.without_record
            if why := self._disclosure.why_withheld(entry):
                self._withheld[entry.kind, why] += 1
            if why or not has_record:
                withheld.append(entry)
            self._without_record[entry.kind] += not has_record
            self.processes.add(entry.process_id)
            if entry.process_id is not None:  # what names none is in no process's stream
                self.last_process_n = entry.process_n
        shown = [self._disclosure.shown(it) for it in marked]
        for entry in shown:
            self._artifacts.add(entry)
        self._facts.add(shown, {it.seq for it in withheld})
        for table, rows in self._stating.of(withheld):
            self._facts.state(table, rows)
            self._files.state(table, rows)
        self.taken += len(batch)

    def reworded(self) -> dict[str, str]:
        """Code or path of withheld entries -> what stands for it in this package."""
        return self._stating.reworded

    def replaced(self) -> dict[str, str]:
        """Identifier, or what findings say of an artifact that only withheld entries name -> what
        stands for it in this package."""
        shown = self._artifacts.names.keys() | self._artifacts.missing.keys()
        stated = {it: name for it, name in self._stating.replaced.items() if it not in shown}
        return {**self._disclosure.replaced, **stated}

    def withheld_by_kind(self) -> dict[str, dict[str, int]]:
        """How many bodies of each kind are withheld, by reason."""
        counted: dict[str, dict[str, int]] = {}
        for (kind, why), count in self._withheld.items():
            counted.setdefault(kind, {})[why] = count
        return counted

    def without_record_by_kind(self) -> dict[str, int]:
        """How many records of each kind are withheld."""
        return dict(+self._without_record)

    def close(self) -> None:
        """Closes what it works in."""
        self._stating.close()


class TableFiles:
    """The tables of a package and what is stated of withheld entries, as files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.paths: dict[str, bytes | Path] = {}
        """Path in the package -> where it is."""
        self.rows: dict[str, int] = {}
        self.totals: dict[str, dict[str, int]] = {}
        for name in folder.glob("*.ndjson"):
            name.unlink()  # of an earlier try

    def state(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Adds facts that are stated of withheld bodies and records."""
        path = self._folder / f"{facts.recorded_name(table)}.ndjson"
        self.paths[f"data/stated/{path.name}"] = path
        with path.open("ab") as file:
            file.writelines(canonical_json(list(it)) + b"\n" for it in rows)

    def write(
        self,
        service: LedgerService,
        replaced: Mapping[str, str],
        reworded: Mapping[str, str],
        of_package: Mapping[str, Any],
        selection: Selection,
    ) -> dict[str, int]:
        """Writes the tables; for each that is derived, how many rows follow from the package's
        entries but not from the whole log. `replaced`, `reworded`: as `Reading` says them."""
        originals = {name: it for it, name in replaced.items()}
        of_log = tables.of_log(
            service.ledger,
            replace(
                selection,
                processes=[originals.get(it, it) for it in selection.processes],
                sellers=[originals.get(it, it) for it in selection.sellers],
            ),
        )
        counts: dict[str, int] = {}
        for name, table in of_package.items():
            columns, batches = table.column_names, tables.rows_of(table)
            if name != tables.QUOTES:
                columns = [*columns, tables.BASIS]
                expected = _renamed(of_log[name], tables.kinds_of(name), replaced, reworded)
                if table.equals(expected):
                    # Mostly they are, and comparing columns costs a hundredth of comparing rows.
                    counts[name] = 0
                    batches = ([(*row, tables.OF_PACKAGE) for row in rows] for rows in batches)
                else:
                    batches, counts[name] = _compared(expected, batches)
            self.paths[f"data/{name}"] = self._folder / name
            with self.open(name, "w") as file:
                tables.write_csv(file, columns, self._counted(name, columns, batches))
        return counts

    def _counted(
        self, name: str, columns: Sequence[str], batches: Iterable[tables.Rows]
    ) -> Iterator[tables.Rows]:
        """The rows of a table as they are, which are counted as they pass."""
        total, column = tables.TOTALS.get(name, ("", ""))
        value = itemgetter(columns.index(column)) if total else None
        counted: Counter[str] = Counter()
        self.rows[name] = 0
        for rows in batches:
            self.rows[name] += len(rows)
            if value is not None:
                counted.update(map(value, rows))
            yield rows
        if total:
            self.totals[total] = dict(counted)

    def open(self, name: str, mode: str = "r") -> io.TextIOWrapper:
        """A table's file."""
        return (self._folder / name).open(mode, encoding="utf-8", newline="")  # type: ignore[return-value]


def _renamed(
    table: pa.Table,
    kinds: Mapping[str, str],
    replaced: Mapping[str, str],
    reworded: Mapping[str, str],
) -> pa.Table:
    """The rows of the log with what stands for each identifier: in columns of these and in
    `detail`, since a number may be somebody's identifier and is none in any other column; and for
    each code and path, in columns of what others write and in `detail`. `kinds`: of the columns, as
    the header of their view declares them."""

    def renamed(column: str, value: Any) -> Any:
        if isinstance(value, list):
            return [reworded.get(it, it) for it in value]
        if column == "detail":
            new = replaced.get(value, value)
            return _detail(value, reworded) if new == value else new
        return stands_for[kinds[column]].get(value, value)

    stands_for = {"id": replaced, "text": reworded}
    for at, field in enumerate(table.schema):
        is_detail = field.name == "detail" and (replaced or reworded)
        if is_detail or stands_for.get(kinds.get(field.name, "")):
            values = [renamed(field.name, it) for it in table.column(at).to_pylist()]
            table = table.set_column(at, field, pa.array(values, type=field.type))
    return table


def _detail(detail: str, reworded: Mapping[str, str]) -> str:
    """What a finding says: a code or a path, or a code after what it is, or paths in order."""
    if detail in reworded:
        return reworded[detail]
    kind, colon, code = detail.partition(": ")
    if code in reworded:
        return f"{kind}{colon}{reworded[code]}"
    paths = detail.split(", ")
    if reworded.keys().isdisjoint(paths):
        return detail
    return ", ".join(sorted(reworded.get(it, it) for it in paths))


def _compared(
    of_log: pa.Table, batches: Iterable[tables.Rows]
) -> tuple[Iterator[tables.Rows], int]:
    """The rows with their basis, and how many rows follow from the package alone."""
    rows = [row for some in tables.rows_of(of_log) for row in some]
    compared, outside = tables.compare(rows, [row for some in batches for row in some])
    return iter([compared]), outside
