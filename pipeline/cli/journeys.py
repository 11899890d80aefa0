"""Commands of the seller's own page: journey."""

from typing import TYPE_CHECKING

import click

from pipeline.cli.group import Port, guarded_inbox, main, say, user
from pipeline.errors import CallerError
from pipeline.language.codes import CHANNELS
from pipeline.settings import Settings

if TYPE_CHECKING:
    from pipeline.journey.links import Journey

MAX_SHOWN = 50


@main.group()
def journey() -> None:
    """Have sellers answer on a page of their own (docs/journey.md).

    Example: prazo journey mint prc_123 --channel sms
    """


@journey.command()
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=Port(), help="Port to listen on.")
def run(host: str | None, port: int | None) -> None:
    """Run the seller's page until SIGTERM; `prazo serve` does it where PRAZO_JOURNEY_URL is set.

    Example: prazo journey run --port 8600
    """
    from pipeline.journey import app
    from pipeline.notices.renewing import Renewing

    app.serve(Settings.load(journey_host=host, journey_port=port), Renewing)


@journey.command()
@click.argument("process")
@click.option(
    "--channel",
    type=click.Choice(CHANNELS),
    default="web_form",
    show_default=True,
    help="By which you bring the link to the seller.",
)
@click.option("--email", metavar="ADDRESS", help="Where a code is sent, if one is needed.")
@click.option("--return-url", metavar="URL", help="Where the seller is led at the end.")
def mint(process: str, channel: str, email: str | None, return_url: str | None) -> None:
    """Make a link for the seller of PROCESS. It is shown once; the log says that they were invited.

    Example: prazo journey mint prc_123 --channel sms
    """
    from pipeline import instants
    from pipeline.journey import links

    settings = Settings.load()
    with guarded_inbox(settings) as inbox:
        minted = links.mint(
            settings,
            inbox,
            process,
            recorded_by=user(),
            channel=channel,
            email=email,
            return_url=return_url,
        )
    say(minted.url)
    number = links.shown_ref(minted.journey.ref)
    until = instants.readable(minted.journey.expires_at)
    say(f"journey {number}, entry {minted.seq}; the link works until {until}", err=True)


@journey.command(name="list")
@click.argument("process")
def list_(process: str) -> None:
    """List the links that were made for PROCESS, and what became of each. Exit 1 where none was.

    Example: prazo journey list prc_123
    """
    from pipeline.journey import links

    with guarded_inbox(Settings.load()) as inbox:
        now, made = inbox.now(), links.of_process(inbox, process)
    for each in made:
        say(f"{links.shown_ref(each.ref)}  {_state(each, now)}")
    if not made:
        raise CallerError(
            "No link was listed",
            f"none is known of a process {process}",
            "look whether its id is right, or the links are gone: no backup brings them back;"
            " `prazo journey mint PROCESS` makes one",
        )


@journey.command()
@click.option("--number", metavar="NUMBER", help="The journey's number, as `list` shows it.")
@click.option("--process", metavar="ID", help="Every link of this process.")
def revoke(number: str | None, process: str | None) -> None:
    """End a link, or all of a process, before its time. Exit 1 where there was none to end.

    Example: prazo journey revoke --number K7QM-2XTR-9DHV
    """
    from pipeline.journey import links

    if (number is None) is (process is None):
        raise click.UsageError("give --number NUMBER or --process ID, one of them")
    with guarded_inbox(Settings.load()) as inbox:
        ref = None if number is None else number.replace("-", "").upper()
        ended = links.revoke(inbox, ref=ref, process_id=process)
    if not ended:
        raise CallerError(
            "No link was ended",
            f"none that is not ended yet has the number {number}"
            if process is None
            else f"process {process} has none that is not ended yet",
            "`prazo journey list PROCESS` shows the links of a process, with their numbers",
        )
    say(f"links ended: {ended}")


@journey.command()
def refusals() -> None:
    """Show what was turned away at the seller's page in the last day, by hour and reason.

    Example: prazo journey refusals
    """
    from pipeline import instants
    from pipeline.journey.entrance import door

    with guarded_inbox(Settings.load()) as inbox:
        counted = door.counted(inbox, inbox.now() - instants.DAY)
    for hour, reason, count in counted[-MAX_SHOWN:]:
        say(f"{instants.readable(hour)}  {reason}  {count}")
    if not counted:
        say("Nothing was turned away.")


def _state(each: "Journey", now: int) -> str:
    from pipeline import instants

    for word, at in (
        ("confirmed", each.confirmed_at),
        ("revoked", each.revoked_at),
        ("expired", each.expires_at if each.expires_at <= now else None),
        ("opened", each.opened_at),
    ):
        if at is not None:
            return f"{word} {instants.readable(at)}"
    return f"not opened yet, works until {instants.readable(each.expires_at)}"
