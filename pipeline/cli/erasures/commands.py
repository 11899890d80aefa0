"""The command that erases what came of a seller."""

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pipeline.cli.group import main, say, user
from pipeline.settings import Settings
from pipeline.texts import counted, printable

if TYPE_CHECKING:
    from pipeline.erasure.forgetting import Forgotten


@main.command()
@click.argument("seller")
@click.option("--reason", required=True, metavar="TEXT", help="Why; an entry in the log.")
@click.option("--actor", required=True, metavar="NAME", help="Who asks for it.")
@click.option("--dry-run", is_flag=True, help="Say what would be erased, and erase nothing.")
@click.option(
    "--key-lost", is_flag=True, help="The key of tax ids of earlier erasures is gone for good."
)
def forget(seller: str, reason: str, actor: str, dry_run: bool, key_lost: bool) -> None:
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
            is_key_lost=key_lost,
        )
    _say(printable(seller), done, is_dry_run=dry_run)


def _say(seller: str, done: "Forgotten", *, is_dry_run: bool) -> None:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(done.kinds.items()))
    entries, artifacts = counted(done.entries, "entry"), counted(done.artifacts, "artifact")
    if is_dry_run:
        say(
            f"{seller}: {entries} would be erased{kinds and f' ({kinds})'}, and up to"
            f" {artifacts} removed; nothing was"
        )
    elif done.seqs:
        say(
            f"{seller}: {entries} erased ({kinds}) and {artifacts} removed, as"
            f" {_listed(done.seqs, 'says', 'say')}",
            "Each ledger that follows is made again from the inbox, within ten minutes or when it"
            " starts.",
        )
    else:
        say(f"{seller}: nothing was left to erase; {artifacts} removed")
    if done.shared_artifacts:
        shared = counted(done.shared_artifacts, "artifact stays", "artifacts stay")
        say(f"{shared}: entries of others name the same bytes.")
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
        named = _listed(done.exports, "says", "say")
        say(f"  packages that were handed out: {named} to whom, and what is in them")
    say("  backups from before, and packages of a period; a later `prazo backup` into the same")
    say("  folder erases it there, too")


def _listed(seqs: Sequence[int], one: str, many: str) -> str:
    """Entries by their numbers, with a verb: `entry 7 says`, `entries 7, 9 say`."""
    is_one = len(seqs) == 1
    named = ", ".join(map(str, seqs))
    return f"{'entry' if is_one else 'entries'} {named} {one if is_one else many}"
