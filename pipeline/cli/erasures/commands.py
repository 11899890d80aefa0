"""The command that erases what came of a seller."""

import contextlib
from typing import TYPE_CHECKING

import click

from pipeline.cli.group import main, say, user
from pipeline.settings import Settings
from pipeline.texts import printable

if TYPE_CHECKING:
    from pipeline.erasure.forgetting import Forgotten


@main.command()
@click.argument("seller")
@click.option("--reason", required=True, metavar="TEXT", help="Why; an entry in the log.")
@click.option("--actor", required=True, metavar="NAME", help="Who asks for it.")
@click.option("--dry-run", is_flag=True, help="Say what would be erased, and erase nothing.")
def forget(seller: str, reason: str, actor: str, dry_run: bool) -> None:
    """Erase what came of a seller, for good (docs/operations.md#forgetting-a-person).

    Bytes, artifacts and values go; states, dates and proofs stay. Refused while a process of the
    seller is not finished.

    Example: prazo forget sel_123 --reason "request of 3 May" --actor Ana
    """
    from pipeline.erasure.forgetting import forget as erase
    from pipeline.inbox.kept_heads import open_guarded

    settings = Settings.load()
    with contextlib.closing(open_guarded(settings, create=False)) as inbox:
        done = erase(
            settings,
            inbox,
            seller,
            reason=reason,
            actor=actor,
            recorded_by=user(),
            is_dry_run=dry_run,
        )
    _say(printable(seller), done, is_dry_run=dry_run)


def _say(seller: str, done: "Forgotten", *, is_dry_run: bool) -> None:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(done.kinds.items()))
    if is_dry_run:
        say(
            f"{seller}: {done.entries} entries would be erased{kinds and f' ({kinds})'}, and up to"
            f" {done.artifacts} artifacts removed; nothing was"
        )
    elif done.seqs:
        named = ", ".join(map(str, done.seqs))
        say(
            f"{seller}: {done.entries} entries erased ({kinds}) and {done.artifacts} artifacts"
            f" removed, as entry {named} says",
            "Each ledger that follows is made again from the inbox, within ten minutes or when it"
            " starts.",
        )
    else:
        say(f"{seller}: nothing was left to erase; {done.artifacts} artifacts removed")
    if done.shared_artifacts:
        say(f"{done.shared_artifacts} artifacts stay: entries of others name the same bytes.")
    if not done.is_cut:
        say(
            "The inbox's WAL still holds pages of before: somebody reads it. Run this again once"
            " that has ended.",
            err=True,
        )
    say("", "What is elsewhere stays there, until somebody removes it:")
    for path in done.former:
        say(f"  {path}: a former file, which nothing opens")
    if done.exports:
        named = ", ".join(map(str, done.exports))
        say(f"  packages that were handed out: entries {named} say to whom, and what is in them")
    say("  backups from before, and packages of a period; a later `prazo backup` into the same")
    say("  folder erases it there, too")
