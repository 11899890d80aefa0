"""Commands for auditors: export, verify, checkpoint."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline import plain
from pipeline.cli.group import Folder, OutFile, Port, guarded_inbox, main, say, user
from pipeline.errors import CallerError, WrongUsage
from pipeline.files.disk import check_place
from pipeline.files.locks import locked
from pipeline.settings import Settings
from pipeline.texts import counted, printable, shell
from pipeline.written import read_given

if TYPE_CHECKING:
    from pipeline.audit.export import Exported
    from pipeline.verify import Verdict


@main.command()
@click.option("--process", metavar="ID", help="One review process.")
@click.option("--seller", metavar="ID", help="One seller, with all its processes.")
@click.option(
    "--from",
    "since",
    metavar="T",
    help="A period's start: ISO 8601, UTC without an offset, or a day, in PRAZO_TIME_ZONE.",
)
@click.option("--to", "until", metavar="T", help="Its end, not included: of September, 2026-10-01.")
@click.option(
    "--sample",
    type=int,
    metavar="N",
    help="N processes of the period, drawn so that nobody chooses.",
)
@click.option("--number", metavar="DIGITS", help="What an auditor gives to be drawn with.")
@click.option(
    "--checkpoint",
    type=int,
    metavar="ENTRIES",
    help="The size of the signed checkpoint to be drawn with (default: the newest).",
)
@click.option("--out", type=OutFile(), required=True)
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
    help="An earlier checkpoint; the package will show that the log continues it.",
)
def export(
    process: str | None,
    seller: str | None,
    since: str | None,
    until: str | None,
    sample: int | None,
    number: str | None,
    checkpoint: int | None,
    out: Path,
    reason: str,
    actor: str,
    profile: str,
    withhold: tuple[int, ...],
    against: Path | None,
) -> None:
    """Write an audit package: a process, a seller or a period, with the proof of each entry.

    With --seller, a period is that seller's alone; with --sample, of its processes some are drawn.
    Example: prazo export --process prc_123 --out prc_123.zip --reason "yearly audit" --actor Ana
    """
    from pipeline.audit import request as export_request
    from pipeline.cli import terminal
    from pipeline.serve.ledger_access import ENDLESS, open_ledger

    is_period = since is not None or until is not None
    if (process is not None) == (seller is not None or is_period) or (
        is_period and (since is None or until is None)
    ):
        raise click.UsageError(
            "give a seller with a period, or one of --process ID, --seller ID,"
            " or --from T with --to T"
        )
    settings = Settings.load()
    request = export_request.from_json(
        {
            "process_id": process,
            "seller_id": seller,
            "from": since,
            "to": until,
            "sample": sample,
            "number": number,
            "checkpoint": checkpoint,
            "reason": reason,
            "actor": actor,
            "profile": profile,
            "withhold": list(withhold),
            "against": None if against is None else _checkpoint_in(against),
        },
        actor=actor,
        recorded_by=user(),
        zone=settings.zone,
    )
    # Else it is recorded first, and uses up a second person's word. What would be lost may be the
    # only package that shows how things stood then.
    check_place(out, settings, may_replace=False)
    # Of two at once the later would replace the earlier one's package.
    busy = WrongUsage(
        "Nothing was written",
        f"another `prazo export` is about to write {out}",
        "choose another file",
    )
    with locked(out.with_name(f".{out.name}.lock"), busy):
        check_place(out, settings, may_replace=False)  # of one that has just ended
        with open_ledger(settings, patience=ENDLESS) as ledger, terminal.progress() as on_progress:
            exported = ledger.export(request, out, on_progress)
    _say_what_it_holds(exported, out)
    if settings.witnesses_file is not None and not _is_cosigned(out, settings.witnesses_file):
        say(
            f"NOT COSIGNED as {settings.witnesses_file} asks: the process that holds the ledger"
            " made the package, by its own settings.",
            "  To fix it: set PRAZO_WITNESSES_FILE for that process, restart it, and export again",
            err=True,
        )
    _say_what_it_lacks(exported)
    if exported.artifacts_lost:
        sys.exit(1)


def _say_what_it_holds(exported: "Exported", out: Path) -> None:
    say(
        f"{out}: {counted(exported.entries, 'entry')}, {counted(exported.withheld, 'body')}"
        f" withheld; the export is entry {exported.seq}",
        f"sha256  {exported.sha256}",
        f"verify  {shell('prazo', 'verify', out, '--key', exported.key)}",
    )


def _say_what_it_lacks(exported: "Exported") -> None:
    if elsewhere := exported.artifacts_left_out - exported.artifacts_lost:
        say(
            f"{counted(elsewhere, 'artifact is', 'artifacts are')} not in it:"
            " their entries say that another system keeps them.",
            err=True,
        )
    if exported.artifacts_lost:
        say(
            f"NOT WHOLE: our store lacks {counted(exported.artifacts_lost, 'artifact')} that should"
            " be there, or has other bytes. The package says so and does not verify; `prazo verify`"
            " names each.",
            err=True,
        )


def _is_cosigned(package: Path, policy_file: Path) -> bool:
    """Whether a package's checkpoint has what a policy of witnesses asks for."""
    from zipfile import ZipFile

    from pipeline.audit.witness.cosigned import read_policy
    from pipeline.verify import cosigned_at

    policy = read_policy(policy_file)
    with ZipFile(package) as opened:
        note = opened.read("data/checkpoint.note")
    return policy.holds({it for it, key in policy.witnesses.items() if cosigned_at(note, key)})


@main.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--key", metavar="VKEY", help="The log's verification key.")
@click.option(
    "--against",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="An earlier signed checkpoint, kept elsewhere.",
)
@click.option(
    "--policy",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The witnesses that must have cosigned the package's checkpoint.",
)
@click.option(
    "--archive",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="A later timestamp over the package; of several, the oldest first.",
)
@click.option(
    "--authority",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Certificates of the timestamp authority, PEM.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="How long a package may take (default: 3600).",
)
def verify(
    file: Path | None,
    key: str | None,
    against: Path | None,
    policy: Path | None,
    archive: tuple[Path, ...],
    authority: Path | None,
    seconds: float | None,
) -> None:
    """Verify an audit package FILE; without one, the ledger and the inbox themselves.

    Says what was checked and what was not. Exit 1 with each fault named; exit 3 where it cannot be
    decided, as where the checkpoint is newer than the package; each question that is open is named.
    Example: prazo verify prc_123.zip --against 2026-03-01.note
    """
    earlier = None if against is None else _checkpoint_in(against)
    if file is None:
        if archive or any(it is not None for it in (key, authority, policy, seconds)):
            raise click.UsageError(
                "--key, --policy, --authority, --archive and --seconds are for a package FILE"
            )
        verdict = _verdict_on_stores(earlier)
    else:
        verdict = _verdict_on_package(file, key, earlier, policy, archive, authority, seconds)
    for line in verdict.lines():
        say(line)
    sys.exit(verdict.exit_code)


def _checkpoint_in(path: Path) -> str:
    """The signed checkpoint in a file that `--against` names, whoever signed it."""
    from pipeline.verify import Unusable, stated_by

    try:
        note = read_given(path)
        if not note.strip():
            raise click.UsageError(f"--against: {path} is empty")
        stated_by(note.encode())
    except WrongUsage as error:
        raise click.UsageError(
            f"--against is not a checkpoint that can be read: {path}: {error.why}"
        ) from None
    except Unusable as error:
        raise click.UsageError(str(error)) from None
    return note


def _verdict_on_stores(earlier: str | None) -> "Verdict":
    """`earlier`: a signed checkpoint that was kept elsewhere."""
    from pipeline.cli import terminal
    from pipeline.serve import ledger_access

    with terminal.progress() as on_progress:
        return ledger_access.audit(
            Settings.load(), earlier, lambda done, all_: on_progress("entries", done, all_)
        )


def _verdict_on_package(
    file: Path,
    key: str | None,
    earlier: str | None,
    policy: Path | None,
    archive: tuple[Path, ...],
    authority: Path | None,
    seconds: float | None,
) -> "Verdict":
    """The options as `verify` has them, but for what is in the file of an `earlier` checkpoint."""
    from pipeline.audit.reproduce import verify_package
    from pipeline.verify import MAX_SECONDS, Unusable

    if not file.is_file():
        raise click.UsageError(f"there is no file {file}")
    try:
        return verify_package(
            file,
            key=key,
            against=None if earlier is None else earlier.encode(),
            authority=None if authority is None else str(authority),
            policy=None if policy is None else read_given(policy).encode(),
            archives=[plain.read(it) for it in archive],
            seconds=MAX_SECONDS if seconds is None else seconds,
        )
    except Unusable as error:
        raise click.UsageError(printable(error)) from None


@main.command()
@click.option("--key", is_flag=True, help="Print the verification key instead.")
def checkpoint(key: bool) -> None:
    """Print the newest signed checkpoint. Kept elsewhere, it shows whether the log was rewritten.

    Example: prazo checkpoint > 2026-03-01.note
    """
    from pipeline.serve.ledger_access import Patience, lacking, open_ledger

    patience = Patience()
    with open_ledger(Settings.load(), patience=patience) as ledger:
        lack = lacking(ledger, patience)
        signed = ledger.checkpoint()
    say(*[signed.key] if key else signed.note.removesuffix("\n").split("\n"))
    for number, earlier in enumerate(signed.earlier_keys if key else (), start=1):
        say(f"key {number} of the log was {earlier}", err=True)
    if lack is not None:
        say(lack, err=True)
        sys.exit(1)


@main.command()
@click.argument("seq", type=click.IntRange(1))
@click.option("--out", type=Folder(), required=True)
def receipt(seq: int, out: Path) -> None:
    """Prove that entry SEQ stands in the log: its leaf, a tlog-proof and a COSE receipt.

    Where the ledger is not held by another process: stop that first. Example:
    prazo receipt 17 --out receipts
    """
    from pipeline.audit.receipts import prove
    from pipeline.continuity.service import unheld_ledger
    from pipeline.errors import LedgerInUse
    from pipeline.files.disk import write_whole

    try:
        with unheld_ledger(Settings.load()) as service:
            proof = prove(service, seq)
    except LedgerInUse as error:
        raise LedgerInUse(
            error.what,
            "this command opens it itself, and another process holds it",
            "stop `prazo serve`, `prazo dashboard` or `prazo follow`, then run it again",
        ) from None
    out.mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("leaf.json", proof.leaf),
        ("tlog-proof", proof.tlog_proof.encode()),
        ("cose", proof.cose),
    ):
        write_whole(out / f"{seq}.{name}", content)
    say(f"{out}: {seq}.leaf.json, {seq}.tlog-proof, {seq}.cose")


@main.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--archive",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="A stamp that FILE has already; of several, the oldest first.",
)
@click.option("--out", type=OutFile(), required=True)
def stamp(file: Path, archive: tuple[Path, ...], out: Path) -> None:
    """Have the timestamp authority stamp package FILE again, before its certificates end.

    Give all stamps to `prazo verify --archive`. Example: prazo stamp q1.zip --out q1.2030.tsr
    """
    from pipeline.audit import timestamps
    from pipeline.files.disk import write_whole

    url = Settings.load().timestamp_url
    if url is None:
        raise click.UsageError("PRAZO_TIMESTAMP_URL names no authority")
    token = timestamps.archive(url, file, [plain.read(it) for it in archive])
    write_whole(out, token, may_replace=False)
    say(f"{out}: stamped over {file} and {len(archive)} earlier stamps")


@main.command()
@click.option("--name", required=True, metavar="NAME", help="Yours: a URL without its scheme.")
@click.option(
    "--log",
    "logs",
    multiple=True,
    required=True,
    metavar="VKEY",
    help="To follow; of several keys of a log, the oldest first.",
)
@click.option("--folder", type=Folder(), required=True)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8601, show_default=True, type=Port())
def witness(name: str, logs: tuple[str, ...], folder: Path, host: str, port: int) -> None:
    """Follow logs of others, and cosign each checkpoint that continues what was seen before.

    For a partner or an auditor to run, not for whoever keeps the log. The key and what was seen
    are in the folder: keep it. The first line printed is the witness's key, for policies.
    Example: prazo witness --name audit.example/w1 --log "$VKEY" --folder witness
    """
    from contextlib import closing

    from pipeline.audit.witness.app import app
    from pipeline.audit.witness.service import Witness
    from pipeline.http import server
    from pipeline.log.checkpoints import Cosigner, VerificationKey

    try:
        keys = [VerificationKey.parse(it) for it in logs]
    except CallerError as error:
        raise click.UsageError(f"--log: {error.in_one_line}") from None
    folder.mkdir(parents=True, exist_ok=True)
    cosigner = Cosigner(name, folder / "witness.key")
    with closing(Witness(cosigner, keys, folder)) as following:
        say(str(cosigner.key))
        server.run(app(following), host, port, chosen_by="--port")


@main.command()
@click.option("--actor", required=True, metavar="NAME", help="Who asks for it.")
@click.option("--reason", required=True, help="Why; an entry in the log.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
def rotate_key(actor: str, reason: str, dry_run: bool) -> None:
    """Let a new key sign the log; the present one hands over to it in an entry that both sign.

    Whatever runs goes on. Whoever has the earlier key can still verify packages with it. Run it
    again if it was cut off. Example: prazo rotate-key --actor Ana --reason "yearly"
    """
    from pipeline.inbox.signing_keys import SigningKeys

    settings = Settings.load()
    with guarded_inbox(settings) as inbox:
        signing = SigningKeys(inbox, settings.signing_key_file, keeper_url=settings.keeper_url)
        if dry_run:
            present = signing.present()
            say(
                f"would retire {present}",
                f"A new key would take its place at {settings.signing_key_file}; nothing was done.",
            )
            return
        keys = signing.rotate(actor=actor, reason=reason, recorded_by=user())
    path = settings.signing_key_file
    say(
        f"{keys.current}",
        f"is key {len(keys)} of the log: publish it. The former private key was kept as"
        f" {path}.{len(keys) - 1}: back up {path}, then destroy the former one.",
    )
