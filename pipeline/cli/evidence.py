"""Commands for auditors, and for what must not be lost: export, verify, checkpoint, backup,
restore."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from pipeline.cli.group import main, user
from pipeline.settings import Settings

Progress = Callable[[str, int, int], None]


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on standard error for each thing that is done, where somebody is looking."""
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    tasks: dict[str, TaskID] = {}
    with Bars(console=Console(stderr=True), transient=True) as bars:

        def show(what: str, done: int, all_: int) -> None:
            if what not in tasks:
                for task in tasks.values():
                    bars.stop_task(task)
                tasks[what] = bars.add_task(what, total=all_)
            bars.update(tasks[what], completed=done, total=all_)

        yield show


@main.command()
@click.option("--process", metavar="ID", help="One review process.")
@click.option("--seller", metavar="ID", help="One seller, with all its processes.")
@click.option("--from", "since", metavar="T", help="A period's start, ISO 8601.")
@click.option("--to", "until", metavar="T", help="Its end, not included.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
@click.option("--reason", required=True, help="Why; an entry in the log.")
@click.option("--actor", required=True, metavar="NAME", help="Who asks for it.")
@click.option(
    "--profile",
    type=click.Choice(["full", "masked"]),
    default="full",
    show_default=True,
    help="full: for the platform. masked: without bodies that may hold personal data.",
)
@click.option(
    "--withhold", type=int, multiple=True, metavar="SEQ", help="Leave out this entry's body."
)
@click.option(
    "--against",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="An earlier checkpoint that the package has to be shown to continue.",
)
def export(
    process: str | None,
    seller: str | None,
    since: str | None,
    until: str | None,
    out: Path,
    reason: str,
    actor: str,
    profile: str,
    withhold: tuple[int, ...],
    against: Path | None,
) -> None:
    """Write an audit package: a process, a seller or a period, with the proof of each entry.

    Example: prazo export --process prc_123 --out prc_123.zip --reason "yearly audit" --actor Ana
    """
    from pipeline import export_request, holding

    is_period = since is not None or until is not None
    if [process is not None, seller is not None, is_period].count(True) != 1 or (
        is_period and (since is None or until is None)
    ):
        raise click.UsageError("give one of --process ID, --seller ID, or --from T with --to T")
    request = export_request.from_json(
        {
            "process_id": process,
            "seller_id": seller,
            "from": since,
            "to": until,
            "reason": reason,
            "actor": actor,
            "profile": profile,
            "withhold": list(withhold),
            "against": None if against is None else against.read_text(encoding="utf-8"),
        },
        actor=actor,
        recorded_by=user(),
    )
    with _progress() as progress:
        exported = holding.export(Settings.load(), request, out, progress)
    click.echo(
        f"{out}: {exported.entries} entries, {exported.withheld} bodies withheld; the export is"
        f" entry {exported.seq}\nsha256  {exported.sha256}\nverify  prazo verify {out} --key"
        f" '{exported.key}'"
    )


@main.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--key", metavar="VKEY", help="The log's verification key.")
@click.option(
    "--against",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="An earlier signed checkpoint, kept elsewhere.",
)
@click.option(
    "--authority",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Certificates of the timestamp authority, PEM.",
)
def verify(
    file: Path | None, key: str | None, against: Path | None, authority: Path | None
) -> None:
    """Verify an audit package FILE; without one, the ledger and the inbox themselves.

    Exit 1 with each fault named. Example: prazo verify prc_123.zip --against 2026-03-01.note
    """
    from pipeline import holding
    from pipeline.reproduction import verify_package
    from pipeline.verify import Unusable

    earlier = None if against is None else against.read_bytes()
    if earlier is not None and not earlier.strip():
        raise click.UsageError(f"--against: {against} is empty")
    if file is None:
        if key is not None or authority is not None:
            raise click.UsageError("--key and --authority are for a package FILE")
        with _progress() as progress:
            verdict = holding.verify_stores(
                Settings.load(),
                None if earlier is None else earlier.decode("utf-8", "replace"),
                lambda done, all_: progress("entries", done, all_),
            )
    else:
        if not file.is_file():
            raise click.UsageError(f"there is no file {file}")
        try:
            verdict = verify_package(
                file,
                key=key,
                against=earlier,
                authority=None if authority is None else str(authority),
            )
        except Unusable as error:
            raise click.UsageError(str(error)) from None
    for line in verdict.lines():
        click.echo(line)
    sys.exit(1 if verdict.faults else 0)


@main.command()
@click.option("--key", is_flag=True, help="Print the verification key instead.")
def checkpoint(key: bool) -> None:
    """Print the latest signed checkpoint: keep it elsewhere, and the log cannot be rewritten.

    Example: prazo checkpoint > 2026-03-01.note
    """
    from pipeline import holding

    note, verification_key = holding.checkpoint(Settings.load())
    click.echo(f"{verification_key}\n" if key else note, nl=False)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--with-keys", is_flag=True, help="Copy the signing key and the tax id key as well.")
def backup(folder: Path, with_keys: bool) -> None:
    """Copy inbox and artifacts to FOLDER while everything runs; again, to add what is new.

    Example: prazo backup /mnt/backup/prazo --with-keys
    """
    from pipeline import backup as backups

    with _progress() as progress:
        done = backups.backup(Settings.load(), folder, with_keys=with_keys, progress=progress)
    click.echo(
        f"{folder}: {done.entries} entries of {done.log}, {done.new_entries} of them new;"
        f" {done.new_artifacts} new artifacts; keys: {len(done.keys)}"
    )
    if not with_keys:
        click.echo("The keys were not copied: keep them apart, or use --with-keys.", err=True)


@main.command()
@click.argument(
    "folder", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@click.option("--from-ledger", is_flag=True, help="Make the inbox anew out of the ledger instead.")
def restore(folder: Path | None, from_ledger: bool) -> None:
    """Put a backup in FOLDER back where the settings say, make the ledger, and verify both.

    Stop `prazo serve` first. What lies there is set aside, never removed. Exit 1 with each fault
    named. Example: prazo restore /mnt/backup/prazo
    """
    from pipeline import backup as backups

    if (folder is not None) == from_ledger:
        raise click.UsageError("give a backup's FOLDER, or --from-ledger")
    with _progress() as progress:
        done = (
            backups.restore_from_ledger(Settings.load(), progress=progress)
            if folder is None
            else backups.restore(Settings.load(), folder, progress=progress)
        )
    click.echo(f"{done.entries} entries of {done.log}, {done.artifacts} artifacts put back")
    for note in done.notes:
        click.echo(f"  note     {note}")
    for line in done.verdict.lines():
        click.echo(line)
    sys.exit(1 if done.verdict.faults else 0)
