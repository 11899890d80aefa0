"""Commands that read: show, doctor."""

import sys
from pathlib import Path
from typing import Any

import click

from pipeline.cli.group import main, user
from pipeline.settings import Settings

TABLE_ROWS = 50


@main.command()
@click.argument("view", required=False)
@click.option("--as-of", help="Instant to look at, ISO 8601; now if not given.")
@click.option("--where", "filters", multiple=True, metavar="COL=VALUE", help="Only these rows.")
@click.option("--limit", type=click.IntRange(0), help="At most so many rows.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "ndjson", "csv", "parquet", "xlsx"]),
    default="table",
    show_default=True,
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file.")
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
        _list_views()
        return
    if unmask is not None and not actor:
        raise click.UsageError("--unmask needs --actor NAME: who asks for it")
    unmasking = None
    if unmask is not None and actor:
        from pipeline.reading import Unmasking

        unmasking = Unmasking(unmask, actor, user())
    print_view(view, as_of, filters, limit, form, out, unmasking)


def _list_views() -> None:
    from pipeline import terminal, views

    terminal.print_views(views.public())


def print_view(
    view: str,
    as_of: str | None,
    filters: tuple[str, ...],
    limit: int | None,
    form: str,
    out: Path | None,
    unmasking: Any,
) -> None:
    from pipeline import instants, reading, tables, terminal, views

    asked = None if as_of is None else instants.parse(as_of)
    if as_of is not None and asked is None:
        raise click.UsageError(f"--as-of: {as_of!r} is no instant, such as 2026-03-01T09:00:00Z")
    with reading.source(Settings.load()) as source:
        instant = instants.now() if asked is None else asked
        most = TABLE_ROWS if form == "table" and limit is None else limit
        rows = source.read(view, as_of=instant, filters=filters, limit=most, unmask=unmasking)
        if form == "table":
            total = (
                source.count(view, as_of=instant, filters=filters)
                if rows.num_rows == most
                else rows.num_rows
            )
            terminal.print_rows(rows, total, out)
        else:
            where = views.parse_filters(filters)
            notes = tables.notes(view, rows, as_of=instant, where=where)
            if out is None:
                sys.stdout.buffer.write(tables.encode(rows, form, notes))  # type: ignore[arg-type]
            else:
                tables.write(rows, form, out, notes)  # type: ignore[arg-type]
        if source.behind:
            click.echo(f"The ledger is still {source.behind} entries behind.", err=True)
            sys.exit(1)


@main.command()
def doctor() -> None:
    """Check settings, keys, disk, clock, inbox and ledger; each fault with a remedy.

    Example: prazo doctor
    """
    from pipeline import doctor as doctors

    is_well = True
    for it in doctors.examine(Settings.load()):
        is_well = is_well and it.verdict != "fault"
        click.echo(f"{it.verdict:8} {it.check}: {it.found}")
        if it.remedy:
            click.echo(f"{'':8} to do: {it.remedy}")
    sys.exit(0 if is_well else 1)
