"""Prints views for people at a terminal."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from pipeline import tables
from pipeline.views import View

PIPE_WIDTH = 200
"""Columns where the output is no terminal: wide enough to keep most rows on one line."""


def print_views(views: Mapping[str, View]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for view in views.values():
        table.add_row(view.name, view.summary)
    _console(None).print(table)


def print_rows(rows: pa.Table, total: int, out: Path | None) -> None:
    """The rows, and how many they are where they are not all.

    As a table where it fits, else each row as a list of its columns: folded into narrow columns,
    a wide view cannot be read.
    """
    if out is None:
        _print(_console(None), rows, total)
        return
    with out.open("w", encoding="utf-8") as file:
        _print(Console(file=file, width=PIPE_WIDTH, markup=False, highlight=False), rows, total)


def _print(console: Console, rows: pa.Table, total: int) -> None:
    names = rows.column_names
    lines = [
        ["" if value is None else _text(value) for value in record.values()]
        for record in tables.records(rows)
    ]
    widths = [max(map(len, column)) for column in zip(names, *lines, strict=True)]
    if sum(widths) + len(widths) <= console.width:
        table = Table(box=SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0))
        for name in names:
            table.add_column(name, overflow="fold")  # an id that is cut cannot be copied
        for line in lines:
            table.add_row(*line)
        console.print(table)
    else:
        for line in lines:
            record = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
            for name, value in zip(names, line, strict=True):
                if value:
                    record.add_row(name, value)
            console.print(record)
            console.print()
    shown = rows.num_rows
    noun = "row" if total == 1 else "rows"
    console.print(f"{total} {noun}" if shown == total else f"{shown} of {total} {noun}")


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_text(it) for it in value)
    if isinstance(value, dict):
        return " ".join(_text(it) for it in value.values() if it is not None)
    # Control characters of a stranger's text must not reach the terminal.
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "".join(it if it.isprintable() else "\N{REPLACEMENT CHARACTER}" for it in text)


def _console(width: int | None) -> Console:
    console = Console(width=width, markup=False, highlight=False)
    return (
        console if console.is_terminal else Console(width=PIPE_WIDTH, markup=False, highlight=False)
    )
