"""Writes the rows of a view as JSON, NDJSON, CSV, Parquet or XLSX."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.parquet

from pipeline import instants
from pipeline.errors import CallerError
from pipeline.files import write_whole

Format = Literal["json", "ndjson", "csv", "parquet", "xlsx"]
FORMATS: Final[tuple[Format, ...]] = ("json", "ndjson", "csv", "parquet", "xlsx")
MEDIA_TYPES: Final[Mapping[Format, str]] = {
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
ROWS_PER_BATCH: Final = 4096
XLSX_ROWS: Final = 1_048_575
"""Rows of a sheet under its header; Excel's own limit."""
XLSX_CHARACTERS: Final = 32_767
"""Of a cell; Excel's own limit."""

_FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""The last four are as wide as Chinese characters; some spreadsheets take them for the first."""
_LATER_FORMULA = re.compile(r"([;\t\r\n])(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a spreadsheet of another language, to which `;` separates cells, would see one begin."""


def notes(
    view: str,
    rows: pa.Table,
    *,
    as_of: int,
    where: Mapping[str, object],
    last_seq: int | None = None,
    contains: Mapping[str, str] | None = None,
    between: Mapping[str, tuple[object, object]] | None = None,
    order_by: str | None = None,
) -> dict[str, str]:
    """What a file of these rows answers: it must still say so where it was handed on."""
    context = {"view": view, "as_of": instants.readable(as_of)}
    if last_seq is not None:
        context["last_seq"] = str(last_seq)
    context["rows"] = str(rows.num_rows)
    for column, value in where.items():
        values = value if isinstance(value, list | tuple) else [value]
        context[f"where {column}"] = " or ".join(str(plain(it)) for it in values)
    for column, part in (contains or {}).items():
        context[f"where {column} contains"] = part
    for column, ends in (between or {}).items():
        for name, end in zip(("from", "before"), ends, strict=True):
            if end is not None:
                context[f"where {column} {name}"] = str(plain(end))
    if order_by is not None:
        context["order by"] = order_by
    return context


def encode(rows: pa.Table, form: Format, notes: Mapping[str, str] | None = None) -> bytes:
    """The rows in a format. `notes` (view, as_of, filters) are kept where a format has room."""
    return _WRITERS[form](rows, notes or {})


def write(rows: pa.Table, form: Format, path: Path, notes: Mapping[str, str] | None = None) -> None:
    """Writes the rows to a file, whole or not at all."""
    write_whole(path, encode(rows, form, notes))


def plain(value: Any) -> Any:
    """A value of a row as JSON has it: instants as `2026-03-01T00:00:00Z`, days as `2026-03-01`."""
    match value:
        case datetime():
            return instants.readable(instants.from_datetime(value))
        case date():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            return value.hex()
        case list():
            return [plain(it) for it in value]
        case dict():
            return {name: plain(it) for name, it in value.items()}
        case _:
            return value


def records(rows: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows as dictionaries of JSON values."""
    for batch in rows.to_batches(max_chunksize=ROWS_PER_BATCH):
        for row in batch.to_pylist():
            yield {name: plain(value) for name, value in row.items()}


def cell(value: Any) -> Any:
    """A value as one cell: lists as JSON, and no text that a spreadsheet would run as a formula."""
    value = plain(value)
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value


def csv_cell(value: Any) -> Any:
    """A cell of a CSV file, which a spreadsheet may cut at other characters than we do."""
    value = cell(value)
    return _LATER_FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


def _cells(rows: pa.Table) -> Iterator[list[Any]]:
    for batch in rows.to_batches(max_chunksize=ROWS_PER_BATCH):
        for row in batch.to_pylist():
            yield [cell(value) for value in row.values()]


def _json(rows: pa.Table, _: Mapping[str, str]) -> bytes:
    return _joined("[", (json.dumps(it, ensure_ascii=False) for it in records(rows)), "]\n")


def _joined(start: str, items: Iterable[str], end: str) -> bytes:
    return (start + ",\n ".join(items) + end).encode("utf-8")


def _ndjson(rows: pa.Table, _: Mapping[str, str]) -> bytes:
    lines = (json.dumps(it, ensure_ascii=False) + "\n" for it in records(rows))
    return "".join(lines).encode("utf-8")


def _csv(rows: pa.Table, _: Mapping[str, str]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(rows.column_names)
    for batch in rows.to_batches(max_chunksize=ROWS_PER_BATCH):
        for row in batch.to_pylist():
            writer.writerow([csv_cell(value) for value in row.values()])
    return text.getvalue().encode("utf-8")


def _parquet(rows: pa.Table, notes: Mapping[str, str]) -> bytes:
    """Instants are marked as UTC, so that no notebook takes them for local time."""
    fields = [
        pa.field(field.name, pa.timestamp("us", tz="UTC"))
        if pa.types.is_timestamp(field.type)
        else field
        for field in rows.schema
    ]
    schema = pa.schema(fields, metadata={f"prazo.{name}": it for name, it in notes.items()})
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(rows.cast(schema), buffer)
    return buffer.getvalue()


def _short(value: Any) -> Any:
    """A cell as it is; one that Excel would cut without a word is cut with one."""
    if isinstance(value, str) and len(value) > XLSX_CHARACTERS:
        notice = f" ... [cut: it has {len(value)} characters, csv and parquet have them all]"
        return value[: XLSX_CHARACTERS - len(notice)] + notice
    return value


def _xlsx(rows: pa.Table, notes: Mapping[str, str]) -> bytes:
    if rows.num_rows > XLSX_ROWS:
        raise CallerError(
            f"{rows.num_rows} rows do not fit into a sheet",
            f"Excel takes {XLSX_ROWS}",
            "filter the rows, or take csv or parquet",
        )
    import xlsxwriter  # takes a fifth of a second, and few commands need it

    buffer = io.BytesIO()
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(buffer, options) as book:
        sheet = book.add_worksheet("rows")
        sheet.freeze_panes(1, 0)
        sheet.write_row(0, 0, rows.column_names, book.add_format({"bold": True}))
        for number, values in enumerate(_cells(rows), start=1):
            sheet.write_row(number, 0, [_short(value) for value in values])
        if rows.num_columns:
            sheet.autofilter(0, 0, max(rows.num_rows, 1), rows.num_columns - 1)
        about = book.add_worksheet("about")
        for number, note in enumerate(notes.items()):
            about.write_row(number, 0, note)
    return buffer.getvalue()


_WRITERS: Final[dict[Format, Callable[[pa.Table, Mapping[str, str]], bytes]]] = {
    "json": _json,
    "ndjson": _ndjson,
    "csv": _csv,
    "parquet": _parquet,
    "xlsx": _xlsx,
}
