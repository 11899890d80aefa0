"""The commands of what needs a second person: which requests there are, approving and refusing."""

from typing import TYPE_CHECKING

import click

from pipeline.cli.group import guarded_inbox, main, say, user
from pipeline.cli.views import as_rows, print_view
from pipeline.settings import Settings

if TYPE_CHECKING:
    from pipeline.clearance.clearances import Decision

_why = click.option("--reason", required=True, metavar="TEXT", help="Why; an entry in the log.")
_who = click.option("--actor", required=True, metavar="NAME", help="Who decides.")


@main.group(invoke_without_command=True)
@as_rows
@click.pass_context
def clearances(context: click.Context, form: str) -> None:
    """List what waits for a second person, approve or refuse it (docs/operations.md#four-eyes).

    Without a command it lists all requests. Example: prazo clearances
    """
    if context.invoked_subcommand is None:
        print_view("clearances", form)
    elif form != "table":
        raise click.UsageError("--format is for the list of all requests")


@clearances.command()
@click.argument("request")
@_why
@_who
def approve(request: str, reason: str, actor: str) -> None:
    """Let the act of REQUEST begin, once and exactly as it was asked for.

    Example: prazo clearances approve clr_0123456789abcdef01234567 --reason "I read it" --actor bia
    """
    _decide(request, "approved", reason, actor)


@clearances.command()
@click.argument("request")
@_why
@_who
def refuse(request: str, reason: str, actor: str) -> None:
    """Say no to REQUEST: its act does not begin.

    Example: prazo clearances refuse clr_0123456789abcdef01234567 --reason "no need" --actor bia
    """
    _decide(request, "refused", reason, actor)


def _decide(request: str, decision: "Decision", reason: str, actor: str) -> None:
    from pipeline.clearance import acts
    from pipeline.clearance.clearances import decide
    from pipeline.log.actions import By

    settings = Settings.load()
    with guarded_inbox(settings) as inbox:
        decide(
            inbox,
            acts.Terms.of(settings),
            request,
            decision,
            By(reason, actor, user()),
            is_proved=False,
        )
    say(f"{request}: {decision}")
