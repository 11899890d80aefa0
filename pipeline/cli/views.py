"""The command that shows rows of views: show."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli.group import OutFile, main, printing, say, user
from pipeline.files.disk import check_place, write_whole
from pipeline.settings import Settings

if TYPE_CHECKING:
    from pipeline.log.actions import By

TABLE_ROWS = 50
MAX_LIMIT = 2**63 - 1
"""DuckDB takes no more."""

_BYTES = ("parquet", "xlsx")
"""Formats that are not text: a terminal would obey what is in them."""

as_of_instant = click.option(
    "--as-of",
    help="Instant to look at: ISO 8601, UTC without an offset, or a day, at its end in"
    " PRAZO_TIME_ZONE; now if not given.",
)
as_rows = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "ndjson", "csv"]),
    default="table",
    show_default=True,
)
"""The option of a command that lists the rows of one view."""


@main.command()
@click.argument("view", required=False)
@as_of_instant
@click.option("--where", "filters", multiple=True, metavar="COL=VALUE", help="Only these rows.")
@click.option("--limit", type=click.IntRange(0, MAX_LIMIT), help="At most so many rows.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "ndjson", "csv", "parquet", "xlsx"]),
    default="table",
    show_default=True,
)
@click.option("--out", type=OutFile(), help="Write to a file.")
@click.option("--unmask", metavar="REASON", help="Show personal columns; an entry in the log.")
@click.option("--actor", metavar="NAME", help="Who asks for it.")
def show(
    view: str | None,
    as_of: str | None,
    filters: tuple[str, ...],
    limit: int | None,
    form: str,
    out: Path | None,
    unmask: str | None,
    actor: str | None,
) -> None:
    """Show the rows of VIEW; without one, list the views with what each says.

    Example: prazo show watchlist --where state=EXPIRED --format csv --out expired.csv
    """
    if view is None:
        if as_of or filters or limit is not None or form != "table" or out or unmask or actor:
            raise click.UsageError(
                "options are for the rows of a VIEW; `prazo show` lists the views"
            )
        _list_views()
        return
    if unmask is not None and not actor:
        raise click.UsageError("--unmask needs --actor NAME: who asks for it")
    unmasking = None
    if unmask is not None and actor:
        from pipeline.log.actions import By

        unmasking = By(unmask, actor, user())
    print_view(view, form, as_of=as_of, filters=filters, limit=limit, out=out, unmasking=unmasking)


def _list_views() -> None:
    from pipeline.cli import terminal
    from pipeline.ledger.views.catalogue import public

    terminal.print_views(public())


@main.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "json", "ndjson", "parquet", "xlsx"]),
    default="csv",
    show_default=True,
)
@click.option("--out", type=OutFile(), help="Write to a file.")
def views(form: str, out: Path | None) -> None:
    """Describe every column of every view, with type, meaning and place in the key, for programs.

    Example: prazo views --format parquet --out views.parquet
    """
    from pipeline.serve.ledger_access import Patience, open_ledger

    settings = Settings.load()
    _check_output(form, out, settings)
    with open_ledger(settings, patience=Patience()) as ledger:
        _write(ledger.described(form), out)  # type: ignore[arg-type]


def _check_output(form: str, out: Path | None, settings: Settings) -> None:
    if out is not None:
        check_place(out, settings)  # before it is recorded that personal data was shown
    elif form in _BYTES and sys.stdout.isatty():
        raise click.UsageError(f"no terminal shows {form}: give --out FILE")


def _write(content: bytes, out: Path | None) -> None:
    if out is not None:
        write_whole(out, content)
        return
    with printing():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def asked_instant(as_of: str | None, settings: Settings) -> int | None:
    """What `--as-of` means, in microseconds; None for now. Raises `UsageError`."""
    if as_of is None:
        return None
    from pipeline import instants

    at = instants.ending(as_of, settings.zone, instants.now())
    if at is None:
        raise click.UsageError(
            f"--as-of: {as_of!r} is not an instant like 2026-03-01T09:00:00Z, nor a day"
        )
    return at


def print_view(
    view: str,
    form: str,
    *,
    as_of: str | None = None,
    filters: tuple[str, ...] = (),
    limit: int | None = None,
    out: Path | None = None,
    unmasking: "By | None" = None,
) -> None:
    """Prints the rows of a view in a form, or writes them to `out`. Exits with 1 where the ledger,
    and so the rows, lack the newest entries."""
    from pipeline.cli import terminal
    from pipeline.ledger.views import formats
    from pipeline.serve.ledger_access import Patience, lacking, open_ledger

    settings = Settings.load()
    at = asked_instant(as_of, settings)
    question = formats.Asked(view, at, filters, limit, unmasking)
    _check_output(form, out, settings)
    patience = Patience()
    with open_ledger(settings, patience=patience) as ledger:
        lack = lacking(ledger, patience)
        if form == "table":
            most = TABLE_ROWS if limit is None else limit
            shown = ledger.shown(question._replace(limit=most))
            total = len(shown.rows)
            if total == most:
                total = ledger.count(view, as_of=shown.as_of, filters=filters)
            terminal.print_rows(shown, total, out)
        else:
            look = formats.Look(settings.zone)
            _write(ledger.encoded(question, form, look), out)  # type: ignore[arg-type]
        if lack is not None:
            say(lack, err=True)
            sys.exit(1)
