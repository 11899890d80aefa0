"""Commands about how it goes over time: trends."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli.group import OutFile, main, say
from pipeline.cli.views import as_of_instant, asked_instant
from pipeline.settings import Settings
from pipeline.texts import counted

if TYPE_CHECKING:
    from pipeline.language.catalogue import Language
    from pipeline.serve.ledger_access import Ledger
    from pipeline.trends.forecast_score import Score


@main.group()
def trends() -> None:
    """Say how it goes over time (docs/analysts.md#trends).

    Example: prazo trends score
    """


@trends.command()
@as_of_instant
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")
def score(as_of: str | None, form: str) -> None:
    """Say how good the forecasts of 30 and 60 days ago were.

    Example: prazo trends score --as-of 2026-10-31 --format json
    """
    import json

    from pipeline.trends import forecast_score

    settings = Settings.load()
    with _up_to_date(settings) as ledger:
        found = ledger.forecast_scores(asked_instant(as_of, settings))
        if form == "json":
            say(*json.dumps(forecast_score.plain(found), indent=2).splitlines())
        else:
            for each in found:
                _say_score(each)


@trends.command()
@as_of_instant
@click.option("--language", type=click.Choice(["en", "pt"]), default="pt", show_default=True)
@click.option("--out", type=OutFile(), required=True, help="A file that ends in .html or .pdf.")
def page(as_of: str | None, language: "Language", out: Path) -> None:
    """Write the page for the boss, an A4: what is late, how it goes, what to expect. A PDF takes
    the browser of PRAZO_JOURNEY_BROWSER.

    Example: prazo trends page --language en --out reviews.html
    """
    from pipeline import browser, instants
    from pipeline.files.disk import check_place, write_whole
    from pipeline.trends import one_page, printed

    settings = Settings.load()
    if out.suffix not in (".html", ".pdf"):
        raise click.UsageError(f"--out: {out.name!r} ends neither in .html nor in .pdf")
    if out.suffix == ".pdf" and settings.journey_browser is None:
        raise click.UsageError("a PDF takes a browser: set PRAZO_JOURNEY_BROWSER, or write .html")
    check_place(out, settings)
    at = asked_instant(as_of, settings)
    with _up_to_date(settings) as ledger:
        of = one_page.read(ledger, instants.now() if at is None else at, settings.marketplace)
        content = printed.document(of, settings.zone, language).encode()
        if out.suffix == ".pdf" and settings.journey_browser is not None:
            content = browser.pdf(settings.journey_browser, content)
        write_whole(out, content)


@contextmanager
def _up_to_date(settings: Settings) -> "Iterator[Ledger]":
    """The ledger, to be asked in the block. Exits with 1 after it where the newest entries are
    lacking."""
    from pipeline.serve.ledger_access import Patience, lacking, open_ledger

    patience = Patience()
    with open_ledger(settings, patience=patience) as ledger:
        lack = lacking(ledger, patience)
        yield ledger
    if lack is not None:
        say(lack, err=True)
        sys.exit(1)


def _say_score(of: "Score") -> None:
    from pipeline.trends import forecast_score

    say(f"{of.days} days ago: {counted(of.forecasts, 'forecast')} whose deadline has passed")
    if of.brier is None or of.brier_of_share is None:
        return
    say(f"  {forecast_score.in_numbers(of, 'en')}")
    say(
        f"  Brier score {of.brier:.3f}"
        f" (0 is perfect, {of.brier_of_share:.3f} is what the average scores)"
    )
    for band in of.bands:
        if band.mean_chance is not None and band.in_time_share is not None:
            said = f"{band.mean_chance:6.1%} forecast, {band.in_time_share:6.1%} in time"
            say(f"  {said}, of {band.forecasts}")
