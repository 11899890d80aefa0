"""The commands of alerts and calendars: what is due, by which settings, and feeds of deadlines."""

from contextlib import closing

import click

from pipeline.cli.group import main, say, user
from pipeline.errors import CallerError
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


# --- calendars -----------------------------------------------------------------------------------


@main.group()
def calendar() -> None:
    """Make, list and revoke feeds of deadlines for programs such as Outlook or Google Calendar."""


@calendar.command()
@click.option("--for", "assignee", metavar="NAME", help="The deadlines of this assignee.")
@click.option("--all", "is_for_all", is_flag=True, help="Every deadline.")
@click.option("--actor", metavar="NAME", required=True, help="Who makes it.")
def new(assignee: str | None, is_for_all: bool, actor: str) -> None:
    """Make a feed and print its secret address, which nobody can print again.

    Example: prazo calendar new --for maria --actor maria
    """
    from pipeline.http import addresses
    from pipeline.inbox.kept_heads import open_guarded
    from pipeline.log import actions
    from pipeline.serve import calendar as calendars

    if (assignee is None) is not is_for_all:
        raise click.UsageError("give --for NAME or --all, one of them")
    settings = Settings.load()
    secret = calendars.new_secret()
    made = actions.calendar_made(
        secret.feed_id,
        token_sha256=secret.token_sha256,
        assignee=assignee,
        actor=actor,
        recorded_by=user(),
    )
    with closing(open_guarded(settings)) as inbox:
        inbox.append([made])
    base = addresses.local(settings.dashboard_host, settings.dashboard_port)
    say(
        calendars.address(base, secret.token),
        f"{secret.feed_id}: whoever has this address reads the calendar. Behind a proxy, put your"
        f" own in front of {calendars.PATH}. `prazo calendar revoke {secret.feed_id}` ends it.",
    )


@calendar.command("list")
def list_feeds() -> None:
    """List the feeds, with who made and who revoked them.

    Example: prazo calendar list
    """
    from pipeline.cli.views import print_view

    print_view("calendar_feeds", None, (), None, "table", None, None)


@calendar.command()
@click.argument("feed")
@click.option("--actor", metavar="NAME", required=True, help="Who revokes it.")
def revoke(feed: str, actor: str) -> None:
    """End FEED: its address is wrong from then on, for good.

    Example: prazo calendar revoke cal_0123456789ab --actor maria
    """
    from pipeline.inbox.kept_heads import open_guarded
    from pipeline.log import actions
    from pipeline.serve.commands import CATCH_UP_SECONDS, open_ledger

    settings = Settings.load()
    with open_ledger(settings) as ledger:
        ledger.catch_up(CATCH_UP_SECONDS)
        found = ledger.read("calendar_feeds", filters=[f"feed_id={feed}"]).to_pylist()
    if not found or found[0]["revoked_at"] is not None:
        raise CallerError(
            f"The calendar {feed} was not revoked",
            "it has been revoked already" if found else "there is none of that name",
            "`prazo calendar list` says which there are",
        )
    with closing(open_guarded(settings)) as inbox:
        [receipt] = inbox.append([actions.calendar_revoked(feed, actor=actor, recorded_by=user())])
    assert receipt.entry is not None  # nothing keeps a draft of a person's from being recorded
    say(f"revoked, entry {receipt.entry.seq}")
