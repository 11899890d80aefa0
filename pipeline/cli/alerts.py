"""The command of alerts: what is due, and by which settings."""

import click

from pipeline.cli.group import main, say
from pipeline.settings import Settings


@main.command()
@click.argument("what", type=click.Choice(["due", "routes"]), default="due")
@click.option("--as-of", help="Instant to look at, ISO 8601; now if not given.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "ndjson", "csv"]),
    default="table",
    show_default=True,
)
def alerts(what: str, as_of: str | None, form: str) -> None:
    """List what is alarming now (due), or the ladder and the conditions that are set (routes).

    Example: prazo alerts due --format json
    """
    if what == "routes":
        _say_routes()
        return
    from pipeline.cli.views import print_view

    print_view("alerts", as_of, (), None, form, None, None)


def _say_routes() -> None:
    from pipeline import alert_rules

    path = Settings.load().alerts_file
    rules = alert_rules.load(path)
    say(f"Settings    {path or 'the defaults: PRAZO_ALERTS_FILE is not set'}")
    say(f"Ladder      {', '.join(rules.rungs()) or 'no rung'}")
    say(f"Conditions  {', '.join(rules.conditions) or 'none'}")
    say(f"Look back   {rules.look_back_days} days")
    hours = rules.silence_hours
    say(f"Silence     {'worked out from the log' if hours is None else f'after {hours} hours'}")
