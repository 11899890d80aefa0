"""Commands about how it goes over time: trends."""

import sys
from typing import TYPE_CHECKING

import click

from pipeline.cli.group import main, say
from pipeline.cli.views import as_of_instant, asked_instant
from pipeline.settings import Settings
from pipeline.texts import counted

if TYPE_CHECKING:
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

    from pipeline.serve.ledger_access import Patience, lacking, open_ledger
    from pipeline.trends import forecast_score

    settings = Settings.load()
    at = asked_instant(as_of, settings)
    patience = Patience()
    with open_ledger(settings, patience=patience) as ledger:
        lack = lacking(ledger, patience)
        found = ledger.forecast_scores(at)
    if form == "json":
        say(*json.dumps(forecast_score.plain(found), indent=2).splitlines())
    else:
        for each in found:
            _say_score(each)
    if lack is not None:
        say(lack, err=True)
        sys.exit(1)


def _say_score(of: "Score") -> None:
    say(f"{of.days} days ago: {counted(of.forecasts, 'forecast')} whose deadline has passed")
    if of.brier is None:
        return
    say(f"  Brier score {of.brier:.3f} (0 is perfect, 0.25 is what a coin scores)")
    for band in of.bands:
        if band.mean_chance is not None and band.in_time_share is not None:
            said = f"{band.mean_chance:6.1%} forecast, {band.in_time_share:6.1%} in time"
            say(f"  {said}, of {band.forecasts}")
