"""Describes the public views for other programs: one row per column, with its type and meaning."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipeline.ledger.views.catalogue import View, public

if TYPE_CHECKING:  # whoever opens a ledger needs none of it
    import pyarrow as pa

    from pipeline.ledger.views.reader import Reader


def described(reader: "Reader") -> "pa.Table":
    """A row for each column of each public view, in their order. The types are those of its SQL."""
    import pyarrow as pa

    columns = pa.schema(
        {
            "view": pa.string(),
            "column": pa.string(),
            "place": pa.int64(),  # among the columns of the view, from 1
            "type": pa.string(),  # as Arrow names it
            "kind": pa.string(),  # what a text holds; null of a column without texts
            "meaning": pa.string(),
            "is_key": pa.bool_(),
            "view_meaning": pa.string(),  # what one row is
            "view_key": pa.list_(pa.string()),
            "view_order": pa.list_(pa.string()),  # terms of SQL
            "for_analysts": pa.bool_(),
        }
    )
    rows = [row for view in public().values() for row in _rows(view, reader)]
    return pa.Table.from_pylist(rows, schema=columns)


def _rows(view: View, reader: "Reader") -> Iterator[dict[str, object]]:
    types = reader.read(view.name, limit=0).schema
    for place, (column, meaning) in enumerate(view.columns.items(), 1):
        yield {
            "view": view.name,
            "column": column,
            "place": place,
            "type": str(types.field(column).type),
            "kind": view.kinds.get(column),
            "meaning": meaning,
            "is_key": column in view.key,
            "view_meaning": view.summary,
            "view_key": list(view.key),
            "view_order": list(view.order),
            "for_analysts": view.for_analysts,
        }


def comments(view: View) -> Iterator[str]:
    """The statements by which a view in a DuckDB file says what it and its columns mean."""
    yield f"comment on view {view.name} is {_quoted(view.summary)}"
    for column, meaning in view.columns.items():
        yield f'comment on column {view.name}."{column}" is {_quoted(meaning)}'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
