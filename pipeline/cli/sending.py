"""Commands that send and collect: submit, resume, collect."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from pipeline.cli.group import main, user
from pipeline.errors import CallerError
from pipeline.settings import Settings

if TYPE_CHECKING:
    from pipeline.sending import Ended
    from pipeline.submission import Objection, Permission, Result

DONE, ANSWERED_NO, NOT_REACHED = 0, 1, 3
MAX_PAYLOAD_BYTES = 2**20
PATIENCE_SECONDS = 30.0

EXPECTED_ACTIONS = {
    "invalid_payload": (
        "the platform found the payload invalid: a field is missing, has a wrong format or a value"
        " outside the rules",
        "fix the payload and submit it again; the platform's answer stands on the process's page",
    ),
    "unauthorized": (
        "the platform did not authenticate us: the credentials or the mTLS set-up are wrong",
        "check both with `prazo doctor`, then `prazo resume --process {process}`",
    ),
    "not_found": (
        "the platform does not know this process, or not for this seller",
        "compare the ids with the webhook: `prazo show process_state --where process_id={process}`",
    ),
    "conflict": (
        "the process is concluded already, or its state allows no submission",
        "check its status before sending again:"
        " `prazo show process_state --where process_id={process}`",
    ),
    "unexpected_status": (
        "the platform answered with a status that the contract does not show",
        "read its answer on the process's page before sending again",
    ),
}
"""After each final answer but 200: why, and what to do (contract, "Errors", "Expected action")."""

_wait = click.option(
    "--wait",
    type=click.FloatRange(0, 86_400),
    default=PATIENCE_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Send retries that are due within this time; later ones are left to `prazo serve`.",
)


@main.command()
@click.argument("process")
@click.option(
    "--payload",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    help="File with the JSON body; its bytes are sent as they are.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be refused; send and record nothing.")
@click.option("--seller", metavar="ID", help="The seller, where the log does not name one.")
@click.option("--override", metavar="REASON", help="Send without evidence; an entry in the log.")
@click.option("--replace", metavar="REASON", help="Send instead of a payload that waits; an entry.")
@click.option("--actor", metavar="NAME", help="Who answers for --override or --replace.")
@_wait
def submit(
    process: str,
    payload: Path,
    dry_run: bool,
    seller: str | None,
    override: str | None,
    replace: str | None,
    actor: str | None,
    wait: float,
) -> None:
    """Submit the review of PROCESS: rules, then the PUT, with retries.

    Exit 1: refused by our rules or by the platform. Exit 3: no answer yet; a retry waits.
    Example: prazo submit prc_123 --payload answer.json
    """
    from pipeline import sending

    settings = Settings.load()
    content = _read(payload)
    permissions = (_permission(override, actor, "override"), _permission(replace, actor, "replace"))
    if dry_run:
        _say_what_would_happen(settings, process, content, seller, permissions)
    ended = sending.submit(
        settings,
        process,
        content,
        recorded_by=user(),
        via="cli",
        seller_id=seller,
        override=permissions[0],
        replacement=permissions[1],
        patience_seconds=wait,
        tell=_print_result,
    )
    sys.exit(_conclude(process, ended))


@main.command()
@click.option("--process", metavar="ID", help="This one, also a gateway's or one after a 401.")
@click.option(
    "--follow", is_flag=True, hidden=True, help="Go on for ever: a part of `prazo serve`."
)
@_wait
def resume(process: str | None, follow: bool, wait: float) -> None:
    """Send what is waiting for a retry: the same bytes under the same idempotency key.

    With --process at once, whoever sent it before; `prazo serve` does the rest by itself.
    Example: prazo resume --process prc_123
    """
    from pipeline import sending

    settings = Settings.load()
    if process is not None:
        ended = sending.resume(
            settings, process, recorded_by=user(), patience_seconds=wait, tell=_print_result
        )
        sys.exit(_conclude(process, ended))
    if follow:
        sending.resume_for_ever(settings, recorded_by="resume", tell=_log_result)
        sys.exit(DONE)
    waiting = sending.resume_all(
        settings, recorded_by=user(), patience_seconds=wait, tell=_print_result
    )
    for process_id, until in waiting:
        click.echo(f"{process_id}: still waits, until {_readable(until)}", err=True)
    sys.exit(NOT_REACHED if waiting else DONE)


@main.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def collect(file: Path) -> None:
    """Record one collection occurrence: FILE is JSON, its artifacts are named by path beside it.

    Example: prazo collect answered.json
    """
    from pipeline import collecting

    seq, recorded = collecting.collect_file(file, Settings.load(), recorded_by=user())
    click.echo(f"{recorded}, entry {seq}")


# --- what the terminal shows -----------------------------------------------------------------


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(MAX_PAYLOAD_BYTES + 1)
    if len(content) > MAX_PAYLOAD_BYTES:
        raise CallerError(f"{path} is over {MAX_PAYLOAD_BYTES} bytes")
    return content


def _permission(reason: str | None, actor: str | None, option: str) -> "Permission | None":
    from pipeline.submission import Permission

    if reason is None:
        return None
    if not reason.strip() or not (actor or "").strip():
        raise click.UsageError(f"--{option} needs a reason, and --actor NAME: who answers for it")
    return Permission(reason, actor or "")


def _say_what_would_happen(
    settings: Settings,
    process: str,
    content: bytes,
    seller: str | None,
    permissions: "tuple[Permission | None, Permission | None]",
) -> NoReturn:
    from pipeline import sending
    from pipeline.submission import Busy, Go, Refused

    decision = sending.dry_run(
        settings,
        process,
        content,
        seller_id=seller,
        override=permissions[0],
        replacement=permissions[1],
    )
    match decision:
        case Go(warnings=warnings):
            _print_objections(warnings, "warning")
            click.echo(f"{process}: would be sent")
            sys.exit(DONE)
        case Refused(objections=objections):
            _print_objections(objections, "refused")
            click.echo(f"{process}: would be refused", err=True)
        case Busy(until=until):
            click.echo(f"{process}: {_busy(until)}", err=True)
    sys.exit(ANSWERED_NO)


def _print_result(process_id: str, result: "Result") -> None:
    from pipeline.submission import Refused, Sent

    match result:
        case Sent(answer=answer):
            _print_objections(result.warnings, "warning")
            shown = result.outcome if answer.status is None else f"{answer.status} {result.outcome}"
            click.echo(f"{process_id}: {result.attempt_id}: {shown}")
            if answer.is_truncated or (answer.status is None and answer.detail):
                click.echo(f"{process_id}: {answer.detail}", err=True)
            if not result.is_recorded:
                click.echo(
                    f"{process_id}: the answer is not in the log yet, which cannot be written;"
                    " it is tried again until this command ends",
                    err=True,
                )
        case Refused(objections=objections):
            _print_objections(objections, "refused")


def _log_result(process_id: str, result: "Result") -> None:
    """Ids and outcomes alone: text logs hold nothing personal."""
    import logging

    from pipeline.submission import Sent

    shown = result.outcome if isinstance(result, Sent) else "refused"
    logging.getLogger(__name__).info("retry of %s: %s", process_id, shown)


def _print_objections(objections: "tuple[Objection, ...]", kind: str) -> None:
    for it in objections:
        click.echo(f"{kind}: {it}", err=True)


def _conclude(process: str, ended: "Ended") -> int:
    """Says what follows, and the exit code."""
    from pipeline.submission import Busy, NotDue, Refused, Sent
    from pipeline.tries import GivenUp, Waiting

    if isinstance(ended.result, Refused):
        click.echo(f"{process}: refused; nothing was sent", err=True)
        return ANSWERED_NO
    if ended.is_finished:
        click.echo(f"{process}: FINISHED")
        return DONE
    match ended.standing:
        case Waiting(due_at=due_at, is_held=False):
            click.echo(
                f"{process}: not answered yet; the next retry is due {_readable(due_at)}."
                " `prazo serve` or `prazo resume` sends it",
                err=True,
            )
            return NOT_REACHED
        case Waiting(is_held=True):
            click.echo(
                f"{process}: our rules refuse by now what waits to be sent again: mend what they"
                " name and resume it, or submit another payload with --replace",
                err=True,
            )
            return ANSWERED_NO
        case GivenUp():
            click.echo(
                f"{process}: given up after 24 hours or 30 attempts: open a support ticket",
                err=True,
            )
            return NOT_REACHED
    match ended.result:
        case Busy(until=until):
            click.echo(f"{process}: {_busy(until)}", err=True)
        case Sent(outcome=outcome) if outcome in EXPECTED_ACTIONS:
            why, action = EXPECTED_ACTIONS[outcome]
            click.echo(
                f"{process}: {why}\n  To mend it: {action.format(process=process)}", err=True
            )
        case NotDue():
            click.echo(f"{process}: nothing waits to be sent again", err=True)
    return ANSWERED_NO


def _busy(until: int) -> str:
    return f"another attempt is under way, until {_readable(until)} at the latest"


def _readable(instant: int) -> str:
    from pipeline import instants

    return instants.readable(instant)
