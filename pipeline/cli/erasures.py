"""The command that erases what came of a seller."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from pipeline.cli.group import guarded_inbox, main, say, user
from pipeline.errors import OperatorError
from pipeline.inbox.postgres.remains import STEPS
from pipeline.settings import Settings
from pipeline.texts import MOST_NAMED, counted, printable, some_of

if TYPE_CHECKING:
    from pipeline.erasure.forgetting import Forgotten
    from pipeline.inbox.artifacts.owners import Unnamed


@main.command()
@click.argument("seller")
@click.option("--reason", required=True, metavar="TEXT", help="Why; an entry in the log.")
@click.option("--actor", required=True, metavar="NAME", help="Who asks for it.")
@click.option("--dry-run", is_flag=True, help="Say what would be erased, and erase nothing.")
@click.option(
    "--key-lost", is_flag=True, help="The key of tax ids of earlier erasures is gone for good."
)
@click.option(
    "--sweep", is_flag=True, help="Remove, too, stored bytes that nothing names and are nobody's."
)
def forget(
    seller: str, reason: str, actor: str, dry_run: bool, key_lost: bool, sweep: bool
) -> None:
    """Erase what came of a seller, for good (docs/operations.md#forgetting-a-person).

    Bytes, artifacts and values go; states, dates and proofs stay. Refused while a process of the
    seller is not finished.

    Example: prazo forget sel_123 --reason "request of 3 May" --actor Ana
    """
    from pipeline.erasure.forgetting import forget as erase
    from pipeline.inbox.erased import newest_erasure

    settings = Settings.load()
    with guarded_inbox(settings) as inbox:
        done = erase(
            settings,
            inbox,
            seller,
            reason=reason,
            actor=actor,
            recorded_by=user(),
            is_dry_run=dry_run,
            is_key_lost=key_lost,
            is_sweeping=sweep,
        )
        erased_to = None if dry_run else newest_erasure(inbox)
    _say(printable(seller), done, is_dry_run=dry_run)
    if settings.backup_to is not None:
        _say_copies(settings.backup_to, settings.backup_keep, erased_to)
    if not settings.has_inbox_file:
        say("", "The database holds what was erased until it is emptied. Stop every receiver, and")
        say("have a superuser run this, in psql (docs/operations.md#what-the-database-holds-on):")
        for step in STEPS:
            say(f"  {step}")


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
    for line in unnamed_lines(done.unnamed):
        say(line)
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


def _say_copies(location: str, keep: str, erased_to: int | None) -> None:
    """Names the copies of backups that may hold what was erased up to an entry, each with the day
    on which it goes. None: nothing was erased yet, so each may."""
    from pipeline import instants
    from pipeline.continuity.vault import Keep, copies_of

    try:
        older = copies_of(location, Keep.read(keep), erased_to, instants.now())
    except OperatorError as error:
        say(f"  copies of backups in {location}, which cannot be named: {error.why}")
        return
    for name, at in older.items():
        until = "for two years or more" if at is None else f"until {instants.canonical(at)[:10]}"
        say(f"  {name} in {location}: {until}, if a backup is made each day")
    if older:
        say("  Whoever restores one of these forgets the person again.")


def unnamed_lines(unnamed: "Unnamed") -> Iterator[str]:
    """What is in the store though nothing names it, in words, with the way out."""
    for seller_id, digests in sorted(unnamed.of_sellers.items())[:MOST_NAMED]:
        yield (
            f"{counted(len(digests), 'artifact')} that no entry names came for the seller"
            f" {printable(seller_id)}: under way, or never recorded; `prazo forget` of that seller"
            " removes it"
        )
    if (more := len(unnamed.of_sellers) - MOST_NAMED) > 0:
        yield f"and artifacts that no entry names of {counted(more, 'further seller')}"
    if unnamed.of_nobody:
        yield (
            f"{counted(len(unnamed.of_nobody), 'artifact')} that no entry names, and of which"
            f" nobody knows whose they are ({some_of([it[:12] for it in unnamed.of_nobody])}):"
            " `prazo forget SELLER --sweep` removes them"
        )
    if unnamed.partial:
        yield (
            f"{counted(unnamed.partial, 'artifact')} half written by a process that was killed:"
            " `prazo forget` of any seller removes them"
        )


def _listed(seqs: Sequence[int], one: str, many: str) -> str:
    """Entries by their numbers, with a verb: `entry 7 says`, `entries 7, 9 say`."""
    is_one = len(seqs) == 1
    named = ", ".join(map(str, seqs))
    return f"{'entry' if is_one else 'entries'} {named} {one if is_one else many}"
