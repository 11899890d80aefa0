"""Commands that write: ingest, quarantine, rebuild."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from pipeline.cli.group import main, user
from pipeline.cli.reading import print_view
from pipeline.errors import CallerError
from pipeline.settings import Settings


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
def ingest(files: Sequence[Path]) -> None:
    """Take NDJSON FILES of occurrences into the inbox (-: standard input).

    Taking a file twice adds nothing. Bad lines are named and the others taken; exit 1 if any
    was bad or went to quarantine. Example: prazo ingest history.ndjson
    """
    from rich.console import Console
    from rich.progress import Progress

    from pipeline import ingest as ingestion
    from pipeline.artifacts import ArtifactStore
    from pipeline.inbox import open_inbox

    settings = Settings.load()
    artifacts = ArtifactStore(settings.artifacts)
    inbox = open_inbox(settings.inbox)
    are_clean = True
    try:
        with Progress(console=Console(stderr=True), transient=True) as bar:
            for path in files:
                size = None if str(path) == "-" or not path.exists() else path.stat().st_size
                task = bar.add_task(path.name, total=size)
                outcomes = ingestion.ingest(
                    path,
                    inbox,
                    lambda n, t=task: bar.advance(t, n),  # type: ignore[misc]
                    artifacts,
                )
                for number, reason in outcomes.bad:
                    click.echo(f"{path}:{number}: not taken: {reason}", err=True)
                for number, reason in outcomes.quarantined:
                    click.echo(f"{path}:{number}: in quarantine: {reason}", err=True)
                click.echo(
                    f"{path}: {outcomes.recorded} recorded, {outcomes.already_there} already"
                    f" there, {len(outcomes.quarantined)} of them in quarantine,"
                    f" {len(outcomes.bad)} bad"
                )
                are_clean = are_clean and outcomes.are_clean
    finally:
        inbox.close()
    sys.exit(0 if are_clean else 1)


@main.command()
@click.option("--replay", is_flag=True, help="Read them again, after a fix.")
def quarantine(replay: bool) -> None:
    """Show deliveries that could not be read; --replay reads them again.

    Example: prazo quarantine --replay
    """
    from pipeline import occurrences
    from pipeline.inbox import Outcome, open_inbox

    inbox = open_inbox(Settings.load().inbox)
    try:
        held = inbox.find(kind=occurrences.QUARANTINE)
        replays = [occurrences.replay(it, recorded_by=user()) for it in held] if replay else []
        receipts = inbox.append([it for it in replays if it is not None])
    finally:
        inbox.close()
    if not replay:
        print_view("quarantine", None, (), None, "table", None, None)
        return
    readable = sum(it.outcome is Outcome.RECORDED for it in receipts)
    still = sum(it is None for it in replays)
    click.echo(f"{readable} replayed, {still} still cannot be read")
    sys.exit(1 if still else 0)


@main.command()
def rebuild() -> None:
    """Make the ledger anew from the inbox, and prove that it has the same root.

    Example: prazo rebuild
    """
    from pipeline import views
    from pipeline.service import LedgerService

    service = LedgerService(Settings.load())
    try:
        service.catch_up()
        before = service.ledger.frontier.root()
        service.rebuild()
        views.install(service.ledger)
        after = service.ledger.frontier.root()
        click.echo(f"{service.ledger.size} entries, root {after.hex()}")
        if after != before:
            raise CallerError(
                "The rebuilt ledger has another root",
                f"it was {before.hex()}",
                "the inbox or the former ledger was changed: compare both with a backup",
            )
    finally:
        service.close()
