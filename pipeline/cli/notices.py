"""Commands by which sellers are notified: notices."""

import sys

import click

from pipeline.cli.group import guarded_inbox, main, say, user
from pipeline.errors import WrongUsage
from pipeline.language.codes import SELLER_CHANNELS
from pipeline.settings import Settings
from pipeline.texts import printable

_BAD = ("failed", "uncertain", "refused")


@main.group()
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.pass_context
def notices(context: click.Context, dry_run: bool) -> None:
    """Notify sellers of their open reviews (docs/notices.md).

    Example: prazo notices send sel_123 --channel email --actor Ana
    """
    context.obj = dry_run


@notices.command()
@click.argument("sellers", nargs=-1, required=True)
@click.option(
    "--channel", required=True, type=click.Choice([*SELLER_CHANNELS]), help="By which it goes."
)
@click.option("--language", metavar="pt-BR|en", help="Otherwise the settings'.")
@click.option("--template", metavar="NAME", help="Otherwise the one that fits.")
@click.option("--actor", metavar="NAME", help="Who sends it.")
@click.option("--dry-run", is_flag=True, help="Show what would go, and to whom nothing goes.")
@click.pass_obj
def send(
    before: bool,
    sellers: tuple[str, ...],
    channel: str,
    language: str | None,
    template: str | None,
    actor: str | None,
    dry_run: bool,
) -> None:
    """Send each of SELLERS one message about all of their open reviews; exit 1 where one was not
    accepted.

    Example: prazo notices send sel_123 --channel email --actor Ana
    """
    from pipeline.journey.page_texts import LANGUAGES
    from pipeline.notices.sellers import REFUSALS
    from pipeline.notices.sending import Done, Order, Sending

    is_dry = before or dry_run
    if not is_dry and actor is None:
        raise WrongUsage("Nothing was sent", "a name is needed", "say who sends it: --actor NAME")
    spoken = next((it for it in LANGUAGES if it == language), None)
    if spoken is None and language is not None:
        raise click.UsageError(f"--language: one of {', '.join(LANGUAGES)} is expected")
    order = Order(channel, user(), actor, spoken, template)
    settings = Settings.load()

    def on_done(done: Done) -> None:
        why = REFUSALS.get(done.why or "", done.why) if done.result == "refused" else done.why
        say(f"{printable(done.seller_id)}  {done.result}{f': {why}' if why else ''}")

    with guarded_inbox(settings) as inbox:
        sending = Sending(settings, inbox)
        if not is_dry:
            done = sending.send(sellers, order, on_done)
            sys.exit(1 if any(it.result in _BAD for it in done) else 0)
        for each in dict.fromkeys(sellers):
            preview = sending.preview(each, order)
            if preview.refused is not None:
                on_done(Done(each, "refused", preview.refused))
            elif preview.message is not None:
                say(f"{printable(each)}  {preview.message.subject}", "", preview.message.text, "")
