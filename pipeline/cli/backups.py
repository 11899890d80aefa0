"""What must not be lost: backup, restore, reconcile, artifacts, migrate, rebuild."""

import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pipeline import signals
from pipeline.cli.group import Folder, Number, guarded_inbox, main, name_first, say, user
from pipeline.errors import CallerError, OperatorError, PrazoError, WrongUsage
from pipeline.files import disk
from pipeline.files.disk import GIVE_WRITE, not_writable
from pipeline.settings import Settings
from pipeline.texts import counted
from pipeline.written import read_given

AGAIN_HOURS: Final = 1.0
"""After a backup that failed: of a store that was away, or a log that had no entry yet."""

if TYPE_CHECKING:
    from pipeline.continuity.backup import BackedUp
    from pipeline.continuity.reconcile import Missed
    from pipeline.inbox.artifacts import Lacking


@main.command()
@click.argument("folder", type=Folder())
@click.option("--with-keys", is_flag=True, help="Copy the signing key and the tax id key as well.")
@click.option("--as-it-stands", is_flag=True, help="Copy changed entries, too; to an empty FOLDER.")
@click.option("--every", type=Number(0.001, 8760), metavar="HOURS", help="Again and again.")
def backup(folder: Path, with_keys: bool, as_it_stands: bool, every: float | None) -> None:
    """Copy inbox and artifacts to FOLDER while everything runs; run it again to add what is new.

    With PRAZO_BACKUP_TO an encrypted copy of FOLDER goes there, too. With --every it goes on until
    it is stopped; what fails is said, and tried again within an hour.

    Exit 1 where the backup is not whole: each artifact that it lacks is named. Entries that are not
    as they were recorded are named, and nothing is copied.
    Example: prazo backup /mnt/backup/prazo --with-keys
    """
    settings = Settings.load()
    if every is None:
        sys.exit(0 if _back_up(settings, folder, with_keys, as_it_stands) else 1)
    stop = threading.Event()
    signals.stop_by_signals(stop.set)
    again_and_again(lambda: _back_up(settings, folder, with_keys, as_it_stands=False), every, stop)


def again_and_again(once: Callable[[], object], every: float, stop: threading.Event) -> None:
    """Does it every so many hours until it is to stop; after a failure, which is said, earlier."""
    while not stop.is_set():
        hours = every
        try:
            once()
        except PrazoError as error:
            say(str(error), err=True)
            hours = min(every, AGAIN_HOURS)
        stop.wait(hours * 3600)


def _back_up(settings: Settings, folder: Path, with_keys: bool, as_it_stands: bool) -> bool:
    """Whether the backup is whole."""
    from pipeline.cli import terminal, uncopied
    from pipeline.continuity import backup as backups

    if (barred := not_writable(folder)) is not None:
        raise OperatorError("Nothing was copied", barred, GIVE_WRITE)
    lacks = uncopied.Uncopied.of(settings, folder, with_keys=with_keys)
    with terminal.progress() as on_progress:
        done = backups.backup(
            settings,
            folder,
            with_keys=with_keys,
            as_it_stands=as_it_stands,
            beside={uncopied.FILE: lacks.content()},
            sign=lambda: _sign(settings),
            send=lambda copied: _send(settings, folder, copied),
            on_progress=on_progress,
        )
    say(
        f"{folder}: {counted(done.entries, 'entry')} of {done.log}, {done.new_entries} of them new;"
        f" {counted(done.new_artifacts, 'new artifact')}; keys: {len(done.keys)}"
    )
    if not with_keys:
        say("The keys were not copied: keep them apart, or use --with-keys.", err=True)
    if said := lacks.said():
        say(said, err=True)
    _say_what_a_restore_would_miss(done)
    return not (done.lacking or done.changed)


def _send(settings: Settings, folder: Path, copied: "BackedUp") -> None:
    """Sends a copy to the store of the settings, and removes those that need not stay."""
    if settings.backup_to is None or settings.backup_recipient is None:
        return
    from pipeline import instants
    from pipeline.continuity.vault import Keep, Vault

    vault, now = Vault(settings.backup_to), instants.now()
    kept = vault.put(folder, settings.backup_recipient, copied.log, copied.entries, now)
    say(f"{vault.location}: {kept.name}, {kept.size / 2**20:,.1f} MiB, encrypted")
    for name in vault.tidy(Keep.read(settings.backup_keep), now):
        say(f"{vault.location}: {name} was removed")


def _say_what_a_restore_would_miss(done: "BackedUp") -> None:
    if done.lacks_key:
        say(
            "The log's signing key is not in it, since it is not on this machine: run `prazo backup"
            " --with-keys` where the ledger is that signs, too. Without any copy of it nobody can"
            " sign again.",
            err=True,
        )
    if done.unsigned:
        say(
            f"No signature covers the newest {counted(done.unsigned, 'entry')} yet: a restore will"
            " ask you to insist. Run `prazo backup` where the ledger is that signs, or once it has"
            " signed.",
            err=True,
        )
    if done.unnoted:
        say(
            f"The backup is whole, but `prazo doctor` and the metrics do not know: {done.unnoted}",
            err=True,
        )
    if done.lacking:
        _name(done.lacking)
        say(
            f"NOT WHOLE: {counted(len(done.lacking), 'artifact')} could not be copied",
            err=True,
        )
    if done.changed:
        say(f"NO BACKUP, but a copy of what stands: {done.changed}", err=True)


def _sign(settings: Settings) -> None:
    """Lets the ledger's holder sign what the inbox holds now, however long it follows that; a
    backup does without, too."""
    from pipeline.errors import PrazoError
    from pipeline.serve.ledger_access import CATCH_UP_SECONDS, ENDLESS, open_ledger

    try:
        with open_ledger(settings, patience=ENDLESS) as ledger:
            behind = ledger.catch_up(CATCH_UP_SECONDS)
            while behind and (left := ledger.catch_up(CATCH_UP_SECONDS)) < behind:
                behind = left
            ledger.checkpoint()
    except (PrazoError, OSError) as error:
        why = error.what if isinstance(error, PrazoError) else error
        say(f"nothing could be signed now: {why}", err=True)


@main.command()
@click.argument(
    "folder", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@click.option("--stored", metavar="NAME", help="A copy of PRAZO_BACKUP_TO; `newest`: the newest.")
@click.option(
    "--identity",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The private key of age for --stored.",
)
@click.option("--from-ledger", is_flag=True, help="Build the inbox from the ledger instead.")
@click.option(
    "--against",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A signed checkpoint that was kept elsewhere, which the entries must continue.",
)
@click.option(
    "--accept-unsigned", metavar="REASON", help="Put back what no signature covers; an entry."
)
@click.option("--actor", metavar="NAME", help="Who insists, or confirms.")
@click.option("--rehearse", is_flag=True, help="Put it back elsewhere, verify it, remove it.")
@click.option("--undo", is_flag=True, help="Take back what a restore that was cut off has put.")
@click.option("--confirm", metavar="REASON", help="Say that this copy is the one in use; an entry.")
def restore(
    folder: Path | None,
    stored: str | None,
    identity: Path | None,
    from_ledger: bool,
    rehearse: bool,
    undo: bool,
    confirm: str | None,
    against: Path | None,
    accept_unsigned: str | None,
    actor: str | None,
) -> None:
    """Put the backup in FOLDER back where the settings say, build the ledger, and verify both.

    Stop `prazo serve` first. What is there now is set aside, never deleted. Entries that no
    signature covers are left out or refused. Cut off, nothing is started here until it was run
    again to its end, or undone (--undo). What was put back records, and sends nothing until
    somebody says that it is the one in use (--confirm). With --rehearse nothing is stopped, set
    aside or changed here: it is tried in a folder beside the ledger, and timed. Exit 1
    with each fault named.
    Example: prazo restore /mnt/backup/prazo --against 2026-03-01.note
    """
    from pipeline.cli import terminal
    from pipeline.cli.uncopied import Uncopied
    from pipeline.continuity import restore as restores
    from pipeline.continuity import restoring
    from pipeline.inbox import copies
    from pipeline.log.actions import By

    ways = [folder is not None, stored is not None, from_ledger, undo, confirm is not None]
    if ways.count(True) != 1:
        raise click.UsageError(
            "give a backup's FOLDER, or --stored, or --from-ledger, or --undo, or --confirm"
        )
    if (stored is None) != (identity is None):
        raise click.UsageError("--stored NAME and --identity FILE go together")
    if confirm is not None:
        _confirm(confirm, actor)
        return
    if rehearse:
        if from_ledger or accept_unsigned is not None:
            raise click.UsageError("--rehearse takes a backup, and no --accept-unsigned")
        with _backup_at(Settings.load(), folder, stored, identity) as taken:
            sys.exit(_rehearse(taken, None if against is None else read_given(against)))
    if undo:
        for line in restoring.undo(Settings.load()):
            say(f"  note     {line}")
        say("Nothing of the restore that was cut off is in place any more.")
        return
    if (accept_unsigned is None) != (actor is None):
        raise click.UsageError("--accept-unsigned REASON and --actor NAME go together")
    insisted = None
    if accept_unsigned is not None and actor is not None:
        insisted = By(accept_unsigned, actor, user())
    note = None if against is None else read_given(against)
    lacking: list[str] = []
    with terminal.progress() as on_progress:
        settings = Settings.load()
        if from_ledger:
            done = restores.restore_from_ledger(
                settings, against=note, insisted=insisted, on_progress=on_progress
            )
        else:
            with _backup_at(settings, folder, stored, identity) as taken:
                if (uncopied := Uncopied.read(taken)) is not None:
                    lacking = [*uncopied.not_here(settings)]
                done = restores.restore(
                    settings, taken, against=note, insisted=insisted, on_progress=on_progress
                )
    say(
        f"{counted(done.entries, 'entry')} of {done.log},"
        f" {counted(done.artifacts, 'artifact')} put back"
    )
    for note in (*done.notes, *lacking):
        say(f"  note     {note}")
    say(f"  note     nothing is sent from here yet: {copies.REMEDY}")
    for line in done.verdict.lines():
        say(line)
    sys.exit(done.verdict.exit_code)


@contextmanager
def _backup_at(
    settings: Settings, folder: Path | None, stored: str | None, identity: Path | None
) -> Iterator[Path]:
    """The backup's folder: the one that was given, or one with a copy of the store for as long as
    the block lasts."""
    if folder is not None:
        yield folder
        return
    assert stored is not None
    assert identity is not None
    if settings.backup_to is None:
        raise WrongUsage(
            "Nothing was restored", "no store is set", "set PRAZO_BACKUP_TO to where the copies are"
        )
    from pipeline.continuity.vault import Vault
    from pipeline.files.temporary import OwnFolder

    disk.make_folder(settings.ledger.parent)
    with OwnFolder(".stored.", settings.ledger.parent) as at:
        name = None if stored == "newest" else stored
        kept = Vault(settings.backup_to).take(name, read_given(identity), at)
        say(f"{settings.backup_to}: {kept.name}, {counted(kept.entries, 'entry')} of {kept.log}")
        yield at


def _rehearse(folder: Path, against: str | None) -> int:
    from pipeline.cli import terminal
    from pipeline.continuity import rehearsal

    with terminal.progress() as on_progress:
        done, seconds = rehearsal.rehearse(
            Settings.load(), folder, against=against, on_progress=on_progress
        )
    say(
        f"{counted(done.entries, 'entry')} of {done.log}, {counted(done.artifacts, 'artifact')}"
        f" put back elsewhere and verified in {seconds:.1f} s; nothing here was changed"
    )
    for note in done.notes:
        say(f"  note     {note}")
    for line in done.verdict.lines():
        say(line)
    return done.verdict.exit_code


def _confirm(reason: str, actor: str | None) -> None:
    from pipeline.inbox import copies
    from pipeline.log.actions import By

    with guarded_inbox(Settings.load()) as inbox:
        seq = copies.confirm(inbox, By(reason, actor, user()))
    say(f"This copy is the one in use: it sends. Entry {seq} says who said so.")


@main.command()
@click.argument(
    "folder", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False)
)
def artifacts(folder: Path | None) -> None:
    """Look for the bytes of every artifact that entries name; take those that lack from FOLDER.

    FOLDER may be a backup's, another machine's, or any other: files are known by their digest.
    Where artifacts are in the database, it is PRAZO_ARTIFACTS unless given: what was collected
    before is put into the database. Exit 1 with each that is still lacking.
    Example: prazo artifacts /mnt/backup/prazo/artifacts
    """
    from pipeline.continuity.kept_heads import open_shared
    from pipeline.inbox.artifacts import artifact_store, look, take_in
    from pipeline.log.artifacts import FolderArtifacts

    settings = Settings.load()
    inbox = open_shared(settings, create=False)
    try:
        store = artifact_store(settings, inbox)
        if folder is None and not isinstance(store, FolderArtifacts):
            folder = settings.artifacts
        if folder is not None:
            say(f"{counted(take_in(inbox, store, folder), 'artifact')} taken in from {folder}")
        held = look(inbox, store)
    finally:
        inbox.close()
    _name(held.lacking)
    say(
        f"{counted(held.named, 'artifact')} should be in {store.place}:"
        f" {counted(len(held.lacking), 'is', 'are')} lacking"
    )
    sys.exit(1 if held.lacking else 0)


def _name(lacking: Sequence["Lacking"]) -> None:
    name_first(lacking, lambda artifact: f"  {artifact}", others="  ")


@main.command()
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option(
    "--backup",
    "folder",
    type=Folder(),
    help="Where the inbox is copied to first; default: beside the ledger.",
)
def migrate(dry_run: bool, folder: Path | None) -> None:
    """Bring the inbox of an earlier release to this one's version, after a backup of it.

    --dry-run says whether what uses it has to be stopped first. Run it again if it was cut off.
    Example: prazo migrate --dry-run
    """
    from pipeline.cli import terminal
    from pipeline.continuity import backup as backups
    from pipeline.inbox import migrations, parts, schema

    settings = Settings.load()
    steps = migrations.missing(settings.inbox)
    version = steps.start - 1
    if not steps:
        say(f"The inbox has version {version} already: nothing to do.")
        return
    folder = folder or settings.ledger.parent / f"inbox-of-version-{version}"
    size = migrations.size_of(settings.inbox)
    backups.require_its_own(settings, folder)
    if dry_run:
        say(
            f"The inbox has version {version}, this release has {schema.VERSION}: it would be"
            f" copied to {folder} ({size / 2**20:,.1f} MiB), then steps {version + 1} to"
            f" {schema.VERSION} would be taken. Nothing was done."
        )
        with backups.opened_inbox(settings.inbox, version=version) as inbox:
            entries, seconds = backups.time_of_migration(inbox, steps)
            now_run = parts.running(inbox)
        say(
            f"It takes about {max(1.0, seconds):,.0f} s, by what reading some of its"
            f" {counted(entries, 'entry')} took just now; on a slow disk longer."
        )
        if schema.only_add(steps):
            say(
                "Whatever runs may go on: these steps only add. Entries wait while a step is taken;"
                " a delivery that waits for 15 s is answered 503, and comes again."
            )
        else:
            say("Stop everything that uses it first, on every machine.")
        for part in now_run:
            say(f"  runs now: {part}")
        return
    with terminal.progress() as on_progress:
        copied = backups.backup_before_migration(settings, folder, on_progress=on_progress)
    kept = migrations.version_of(folder / backups.INBOX)
    say(f"{folder}: a copy of version {kept}, {counted(copied.entries, 'entry')} of {copied.log}")
    taken = migrations.migrate(settings.inbox)
    say(
        f"The inbox has version {schema.VERSION} now; steps taken: "
        f"{', '.join(map(str, taken)) or 'none, another process took them'}"
    )


@main.command()
def rebuild() -> None:
    """Build the ledger again from the inbox, and prove that it has the same root.

    Refused where the inbox was changed and the present ledger is right. Example: prazo rebuild
    """
    from pipeline.continuity.service import as_made
    from pipeline.continuity.stores import changed_in_inbox
    from pipeline.ledger.views.installed import install

    service = as_made(Settings.load(), may_create=False)
    try:
        service.catch_up()
        if changed := changed_in_inbox(service):
            raise CallerError(
                "The ledger was not rebuilt",
                f"entries {', '.join(map(str, changed))} of the inbox were changed, and the present"
                " ledger has them as they were recorded",
                "put the inbox right first: `prazo restore --from-ledger`, or a backup",
            )
        before = service.ledger.frontier.root()
        service.rebuild()
        install(service.ledger)
        after = service.ledger.frontier.root()
        say(f"{counted(service.ledger.size, 'entry')}, root {after.hex()}")
        if after != before:
            raise CallerError(
                "The rebuilt ledger has another root",
                f"it was {before.hex()}",
                "the inbox or the former ledger was changed: compare both with a backup",
            )
    finally:
        service.close()


def _missed(span: str) -> "Missed":
    """Reads FIRST-LAST; `WrongUsage` for anything else."""
    from pipeline.continuity.reconcile import Missed

    named = re.fullmatch("([0-9]{1,15})-([0-9]{1,15})", span)
    missed = None if named is None else Missed(int(named[1]), int(named[2]))
    if missed is None or not 1 <= missed.first <= missed.last:
        raise WrongUsage(
            f"--lost {span} names no entries",
            "two numbers are expected, the first and the last",
            "take what the receiver's /readyz says, such as 14-17",
        )
    return missed


@main.command()
@click.option("--reason", required=True, help="How the inbox came to lose entries.")
@click.option("--actor", required=True, help="Who answers for it.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--accept-loss", is_flag=True, help="Go on though some entries are nowhere.")
@click.option("--lost", metavar="FIRST-LAST", help="What a receiver's /readyz says that it misses.")
def reconcile(reason: str, actor: str, dry_run: bool, accept_loss: bool, lost: str | None) -> None:
    """Record again what an inbox lost that was put back from an older copy, from the ledger.

    Stop the ledger's holder first; receivers may run. Killed and started again, it adds nothing
    twice. Example: prazo reconcile --reason "the standby that took over lagged" --actor ana
    """
    from pipeline.cli import terminal
    from pipeline.continuity import reconcile as reconciling

    with terminal.progress() as on_progress:
        done = reconciling.reconcile(
            Settings.load(),
            reason=reason,
            actor=actor,
            recorded_by=user(),
            accepts_loss=accept_loss,
            missed=None if lost is None else _missed(lost),
            is_dry_run=dry_run,
            on_progress=on_progress,
        )
    if done.fork is None:
        say(done.note or "There is nothing to reconcile: the inbox has what the ledger has.")
        say("If a receiver goes on answering 503, give what its /readyz misses with --lost.")
        return
    fork = done.fork
    again = fork.lost - fork.beyond_help
    say(
        f"Ledger and inbox share {counted(fork.at, 'entry')}. The inbox lost {fork.lost}"
        f" and holds {counted(fork.others, 'other')}."
    )
    if fork.beyond_help:
        say(f"{fork.beyond_help} of those that it lost are in the ledger neither.")
    if done.seq is None:
        say(f"{again} would be recorded again; nothing was changed.")
        return
    say(
        f"{again} were recorded again after entry {done.seq}, which says why. The ledger was built"
        " again; `prazo verify` checks both."
    )
