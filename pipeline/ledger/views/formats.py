"""Writes the rows of a view as JSON, NDJSON, CSV, Parquet or XLSX."""

import contextlib
import csv
import io
import json
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from pipeline import instants
from pipeline.errors import CallerError, NoRoom, OperatorError
from pipeline.files.disk import is_full
from pipeline.files.temporary import OwnFolder

if TYPE_CHECKING:
    import pyarrow as pa
    from xlsxwriter import Workbook

    from pipeline.log.actions import By

Format = Literal["json", "ndjson", "csv", "parquet", "xlsx"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
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

_FIRST_EXCEL_YEAR: Final = 1900
"""Excel knows no earlier day, so these are written as text."""
_WIDTHS: Final = (8, 48)
"""Of a column of a sheet, in characters: the least and the most."""
_ROWS_TO_MEASURE: Final = 1000
_XLSX_OPTIONS: Final = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
}

_FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""The last four are as wide as Chinese characters; some spreadsheets take them for the first."""
_BEFORE_FORMULA = re.compile(r"(?:;|(?<!\s)\s)\s*+(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a spreadsheet of another language, to which `;` separates cells, would see one begin. Read
from its start alone: from each of its blanks on, a million of them would take hours."""
_BEFORE_FORMULA_OR_COMMA = re.compile(_BEFORE_FORMULA.pattern.replace("(?:;", "(?:[;,]"))
"""The same in a file that `;` separates, which an English spreadsheet cuts at commas."""
_ENDS_CELL: Final = {ord(it): f"{it}'" for it in ";,\t\r\n"}


def notes(
    view: str,
    rows: "pa.Table",
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


class Asked(NamedTuple):
    """Which rows of a view somebody asks for."""

    view: str
    as_of: int | None = None  # microseconds; None: now
    filters: Sequence[str] = ()  # `COLUMN=VALUE`
    limit: int | None = None
    unmask: "By | None" = None  # None: personal columns are masked


class Shown(NamedTuple):
    """Rows of a view as people see them, and of which instant they are."""

    as_of: int  # microseconds
    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]  # column -> a value as JSON has it


class Look(NamedTuple):
    """How a spreadsheet shows its rows to people: what stands for columns and codes, and when."""

    zone: tzinfo = UTC  # of its instants
    labels: Mapping[str, str] = {}  # column -> its header, where that is not its name
    words: Mapping[str, Mapping[str, str]] = {}  # column -> code -> what stands for it
    sentences: Mapping[str, Callable[[Any], str]] = {}  # column -> what says its values
    minute: str = "yyyy-mm-dd hh:mm"
    day: str = "yyyy-mm-dd"
    rows: str = "rows"  # the names of its two sheets
    about: str = "about"
    zone_label: str = "time_zone"  # what stands beside the zone on the second of them
    separator: str = ","  # of the cells of a CSV, as spreadsheets of that language expect it
    decimal_mark: str = "."
    csv_day: str = "%Y-%m-%d"
    yes_no: tuple[str, str] = ("yes", "no")


def encode(
    rows: "pa.Table", form: Format, notes: Mapping[str, str] | None = None, look: Look | None = None
) -> bytes:
    """The rows in a format. `notes` (view, as_of, filters) are kept where a format has room;
    `look` is for a spreadsheet, whose instants are in UTC without it, and which is put together in
    temporary files: raises `OperatorError` where these cannot be written."""
    if form == "xlsx":
        return _xlsx(rows, notes or {}, look or Look())
    return _WRITERS[form](rows, notes or {})


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


def records(rows: "pa.Table") -> Iterator[dict[str, Any]]:
    """The rows as dictionaries of JSON values."""
    for row in _rows(rows):
        yield {name: plain(value) for name, value in row.items()}


def cell(value: Any) -> Any:
    """A value as one cell: lists as JSON."""
    value = plain(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def csv_cell(value: Any, separator: str = ",") -> Any:
    """A cell of a CSV file, with no text that a spreadsheet would run as a formula, also one that
    cuts the file at other characters than we do."""
    value = cell(value)
    if not isinstance(value, str):
        return value
    if value.startswith(_FORMULA_STARTS):
        value = f"'{value}"
    ends = _BEFORE_FORMULA if separator == "," else _BEFORE_FORMULA_OR_COMMA
    return ends.sub(lambda blanks: blanks[0].translate(_ENDS_CELL), value)


def _json(rows: "pa.Table", _: Mapping[str, str]) -> bytes:
    return _joined("[", (json.dumps(it, ensure_ascii=False) for it in records(rows)), "]\n")


def _joined(start: str, items: Iterable[str], end: str) -> bytes:
    return (start + ",\n ".join(items) + end).encode("utf-8")


def _ndjson(rows: "pa.Table", _: Mapping[str, str]) -> bytes:
    lines = (json.dumps(it, ensure_ascii=False) + "\n" for it in records(rows))
    return "".join(lines).encode("utf-8")


def _csv(rows: "pa.Table", _: Mapping[str, str]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(rows.column_names)
    for row in _rows(rows):
        writer.writerow([csv_cell(value) for value in row.values()])
    return text.getvalue().encode("utf-8")


def spreadsheet_csv(rows: "pa.Table", look: Look) -> bytes:
    """The rows as a CSV for a spreadsheet of the reader's language: with its separator, a byte
    order mark, and words and local dates as `look` has them for XLSX."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=look.separator)
    writer.writerow(csv_cell(look.labels.get(it, it), look.separator) for it in rows.column_names)
    for row in _rows(rows):
        writer.writerow(
            _spreadsheet_cell(_sheet_value(column, raw, look), look) for column, raw in row.items()
        )
    return text.getvalue().encode("utf-8-sig")


def _spreadsheet_cell(value: Any, look: Look) -> Any:
    match value:
        case bool():
            return look.yes_no[0 if value else 1]
        case float():
            return str(value).replace(".", look.decimal_mark)
        case datetime():
            return f"{value:{look.csv_day} %H:%M:%S}"
        case date():
            return f"{value:{look.csv_day}}"
        case _:
            return csv_cell(value, look.separator)


def _parquet(rows: "pa.Table", notes: Mapping[str, str]) -> bytes:
    """Instants are marked as UTC, so that no notebook takes them for local time."""
    import pyarrow as pa
    import pyarrow.parquet  # with its file systems, which no other format needs

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


def _xlsx(rows: "pa.Table", notes: Mapping[str, str], look: Look) -> bytes:
    if rows.num_rows > XLSX_ROWS:
        raise CallerError(
            f"{rows.num_rows} rows do not fit into a sheet",
            f"Excel takes {XLSX_ROWS}",
            "filter the rows, or take csv or parquet",
        )
    import xlsxwriter  # takes a fifth of a second, and few commands need it

    try:
        # Its parts hold what the rows do, and it leaves them where it fails.
        with OwnFolder("prazo-sheet-") as folder:
            buffer = io.BytesIO()
            book = xlsxwriter.Workbook(buffer, {**_XLSX_OPTIONS, "tmpdir": str(folder)})
            try:
                with book:
                    _write_sheets(book, rows, notes, look)
            finally:
                for sheet in book.worksheets():  # an open file would keep its room
                    with contextlib.suppress(OSError):
                        sheet.row_data_fh.close()
            return buffer.getvalue()
    except (OSError, xlsxwriter.exceptions.FileCreateError) as error:
        cause = error if isinstance(error, OSError) else error.args[0]
        # Lets its zip go before what that is written to: else it complains on standard error.
        traceback.clear_frames(cause.__traceback__)
        raise (NoRoom if is_full(cause) else OperatorError)(
            "The spreadsheet was not made",
            cause.strerror or str(cause),
            "make room for temporary files, or let TMPDIR name another folder; csv and parquet"
            " need none",
        ) from error


def _write_sheets(book: "Workbook", rows: "pa.Table", notes: Mapping[str, str], look: Look) -> None:
    sheet = book.add_worksheet(look.rows)
    sheet.freeze_panes(1, 0)
    head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
    # Also once somebody edits the cell: an id stays `00123`, and what looks like a formula a text.
    text = book.add_format({"num_format": "@"})
    instant = book.add_format({"num_format": look.minute, "align": "left"})
    day = book.add_format({"num_format": look.day, "align": "left"})
    labels = [look.labels.get(name, name) for name in rows.column_names]
    sheet.write_row(0, 0, labels, head)
    widths = [len(max(label.split(), key=len, default="")) + 3 for label in labels]
    for number, row in enumerate(_rows(rows), start=1):
        for place, (column, raw) in enumerate(row.items()):
            value = _short(_sheet_value(column, raw, look))
            if isinstance(value, datetime):
                sheet.write_datetime(number, place, value, instant)
            elif isinstance(value, date):
                sheet.write_datetime(number, place, value, day)
            elif isinstance(value, str) and value:
                sheet.write_string(number, place, value, text)
            else:
                sheet.write(number, place, value)
            if number <= _ROWS_TO_MEASURE:
                widths[place] = max(widths[place], _width(value))
    for place, width in enumerate(widths):
        sheet.set_column(place, place, min(max(width, _WIDTHS[0]), _WIDTHS[1]))
    if rows.num_columns:
        sheet.autofilter(0, 0, max(rows.num_rows, 1), rows.num_columns - 1)
    about = book.add_worksheet(look.about)
    about.set_column(0, 0, 28, book.add_format({"bold": True}))
    about.set_column(1, 1, 90)
    said = {**notes, look.zone_label: str(look.zone)}
    for number, note in enumerate(said.items()):
        about.write_row(number, 0, [_short(it) for it in note])


def _rows(rows: "pa.Table") -> Iterator[dict[str, Any]]:
    for batch in rows.to_batches(max_chunksize=ROWS_PER_BATCH):
        yield from batch.to_pylist()


def _sheet_value(column: str, value: Any, look: Look) -> Any:
    """A value as a cell of a sheet: a date that a spreadsheet can sort, what says it in words where
    something does, and anything else as `cell` writes it."""
    if value is not None and (say := look.sentences.get(column)):
        value = say(value)
    if isinstance(value, date) and value.year > _FIRST_EXCEL_YEAR:
        if not isinstance(value, datetime):
            return value
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        try:
            return aware.astimezone(look.zone).replace(tzinfo=None)
        except OverflowError:  # the last day of the calendar, further east
            return cell(value)
    if isinstance(value, str):
        value = look.words.get(column, {}).get(value, value)
    if isinstance(value, list) and all(isinstance(it, str) for it in value):
        value = ", ".join(value)
    return cell(value)


def _width(value: Any) -> int:
    """How many characters wide a cell is; an instant as wide as the longest way to write one."""
    return 20 if isinstance(value, date) else len(str(value)) + 2


_WRITERS: Final[dict[str, Callable[["pa.Table", Mapping[str, str]], bytes]]] = {
    "json": _json,
    "ndjson": _ndjson,
    "csv": _csv,
    "parquet": _parquet,
}
