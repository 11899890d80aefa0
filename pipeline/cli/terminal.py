"""Shows views and progress to people at a terminal."""

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from pipeline.cli.group import bars, printing
from pipeline.files.disk import write_whole
from pipeline.ledger.views.catalogue import View
from pipeline.ledger.views.formats import Shown
from pipeline.texts import printable

if TYPE_CHECKING:
    from rich.progress import TaskID

PIPE_WIDTH = 200
"""Columns where the output is not a terminal: wide enough to keep most rows on one line."""


OnProgress = Callable[[str, int, int], None]
"""(what is being done, how many of it are done, how many there are)"""


@contextmanager
def progress() -> Iterator[OnProgress]:
    """A bar on standard error for each thing that is done, where somebody is looking."""
    tasks: dict[str, TaskID] = {}
    with bars() as shown:

        def show(what: str, done: int, all_: int) -> None:
            if what not in tasks:
                for task in tasks.values():
                    shown.stop_task(task)
                tasks[what] = shown.add_task(what, total=all_)
            shown.update(tasks[what], completed=done, total=all_)

        yield show


def print_views(views: Mapping[str, View]) -> None:
    """Their names, and what each says."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for view in views.values():
        table.add_row(view.name, view.summary)
    with printing():
        _console(None).print(table)


def print_rows(rows: Shown, total: int, out: Path | None) -> None:
    """The rows, and how many they are where they are not all.

    As a table where it fits, else each row as a list of its columns: folded into narrow columns,
    a wide view cannot be read.
    """
    if out is None:
        with printing():
            _print(_console(None), rows, total)
        return
    text = io.StringIO()
    _print(Console(file=text, width=PIPE_WIDTH, markup=False, highlight=False), rows, total)
    write_whole(out, text.getvalue().encode("utf-8"))


def _print(console: Console, rows: Shown, total: int) -> None:
    names = rows.columns
    lines = [
        ["" if value is None else _text(value) for value in record.values()] for record in rows.rows
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
    shown = len(rows.rows)
    noun = "row" if total == 1 else "rows"
    console.print(f"{total} {noun}" if shown == total else f"{shown} of {total} {noun}")


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_text(it) for it in value)
    if isinstance(value, dict):
        return " ".join(_text(it) for it in value.values() if it is not None)
    return printable(str(value).lower() if isinstance(value, bool) else value)


class _Output(Console):
    """Standard output, which leaves it to `printing` what becomes of a command whose reader has
    seen enough; a console of its own accord would end it with 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _console(width: int | None) -> Console:
    console = _Output(width=width, markup=False, highlight=False)
    return (
        console if console.is_terminal else _Output(width=PIPE_WIDTH, markup=False, highlight=False)
    )
