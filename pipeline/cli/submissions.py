"""Commands on the way to an answered review: submit, resume, ticket, remind."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline import instants, plain
from pipeline.cli.group import Number, guarded_inbox, main, say, user
from pipeline.cli.outcomes import (
    ANSWERED_NO,
    DONE,
    FINAL_ANSWERS,
    NOT_REACHED,
    busy,
    conclude,
    log_result,
    print_result,
    say_what_would_happen,
)
from pipeline.errors import CallerError, Unreadable
from pipeline.language.codes import CALL_OUTCOMES
from pipeline.log.kinds.seller_notice import BY_HAND, PHONE
from pipeline.names import RESUMER
from pipeline.settings import Settings
from pipeline.texts import is_blank, typed
from pipeline.written import in_utf_8

if TYPE_CHECKING:
    from pipeline.log.entries import Draft, Entry
    from pipeline.submit.attempt import Sent
    from pipeline.submit.decision import Approval
    from pipeline.submit.ready import Ready

MAX_PAYLOAD_BYTES = 2**20
PATIENCE_SECONDS = 30.0
MOST_TIMES = 5
"""A ticket is tried to be recorded while other entries of its process keep coming in."""

_wait = click.option(
    "--wait",
    type=Number(0, 86_400),
    default=PATIENCE_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Send retries that are due within this time; later ones are left to `prazo serve`.",
)


@main.command()
@click.argument("process", required=False)
@click.option(
    "--payload",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="File with the JSON body; its bytes are sent as they are.",
)
@click.option(
    "--ready", is_flag=True, help="Everything that is fully answered, each from its answers."
)
@click.option("--dry-run", is_flag=True, help="Say what would be refused; send and record nothing.")
@click.option("--seller", metavar="ID", help="The seller, where the log does not name one.")
@click.option("--override", metavar="REASON", help="Send without evidence; an entry in the log.")
@click.option("--replace", metavar="REASON", help="Send instead of a payload that waits; an entry.")
@click.option("--actor", metavar="NAME", help="Who answers for --override or --replace.")
@_wait
def submit(
    process: str | None,
    payload: Path | None,
    ready: bool,
    dry_run: bool,
    seller: str | None,
    override: str | None,
    replace: str | None,
    actor: str | None,
    wait: float,
) -> None:
    """Submit the review of PROCESS: rules, then the PUT, with retries.

    With --ready, all reviews that are fully answered, or PROCESS from its answers; what is held is
    named with the reason. Exit 1: refused or held. Exit 3: no answer yet; a retry waits.
    Example: prazo submit prc_123 --payload answer.json
    """
    from pipeline.submit import resume as sending

    settings = Settings.load()
    if ready:
        if payload or seller or override or replace or actor:
            raise click.UsageError(
                "--ready builds each payload from the answers, and only --dry-run goes with it"
            )
        sys.exit(_submit_ready(settings, process, dry_run=dry_run))
    if process is None or payload is None:
        raise click.UsageError("give PROCESS and --payload FILE, or --ready")
    content = _read(payload)
    overriding = _approval(override, actor, "override")
    replacement = _approval(replace, actor, "replace")
    if dry_run:
        decision = sending.dry_run(
            settings,
            process,
            content,
            seller_id=seller,
            override=overriding,
            replacement=replacement,
        )
        sys.exit(say_what_would_happen(settings, process, decision))
    ended = sending.submit(
        settings,
        process,
        content,
        recorded_by=user(),
        via="cli",
        seller_id=seller,
        override=overriding,
        replacement=replacement,
        patience_seconds=wait,
        on_attempt=print_result,
    )
    sys.exit(conclude(process, ended, settings))


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
    from pipeline.submit import resume as sending

    settings = Settings.load()
    if process is not None:
        ended = sending.resume(
            settings, process, recorded_by=user(), patience_seconds=wait, on_attempt=print_result
        )
        sys.exit(conclude(process, ended, settings))
    if follow:
        sending.resume_for_ever(settings, recorded_by=RESUMER, on_attempt=log_result)
        sys.exit(DONE)
    waiting = sending.resume_all(
        settings, recorded_by=user(), patience_seconds=wait, on_attempt=print_result
    )
    for process_id, until in waiting:
        say(f"{process_id}: still waits, until {instants.readable(until)}", err=True)
    sys.exit(NOT_REACHED if waiting else DONE)


_who = click.option("--actor", metavar="NAME", required=True, help="Who did it.")


@main.command()
@click.argument("process")
@click.option("--opened", metavar="NUMBER", help="A ticket was opened with the platform.")
@click.option("--closed", is_flag=True, help="The open ticket was closed.")
@_who
def ticket(process: str, opened: str | None, closed: bool, actor: str) -> None:
    """Record a support ticket about PROCESS, which the platform keeps failing.

    Example: prazo ticket prc_123 --opened 4711 --actor maria
    """
    from pipeline.log.kinds.ticket import ticket as ticket_draft

    if (opened is None) is not closed:
        raise click.UsageError("give --opened NUMBER or --closed, one of them")
    _record(
        process,
        lambda seller_id: ticket_draft(
            "closed" if closed else "opened",
            number=opened,
            actor=actor,
            recorded_by=user(),
            process_id=process,
            seller_id=seller_id,
        ),
        lambda known: _ticket_in_the_way(process, known, is_closed=closed),
    )


def _ticket_in_the_way(
    process: str, known: "Sequence[Entry]", *, is_closed: bool
) -> CallerError | None:
    """Why a ticket is not opened, as another one is open, or not closed, as none is. Of a second
    one that takes the place of the first nobody would see that the first was never closed."""
    from pipeline.log.kinds.ticket import TICKET

    of_tickets = [it for it in known if it.kind == TICKET]
    tickets = [(it, json.loads(it.body or b"{}") | {"actor": it.name}) for it in of_tickets]
    # As `queries/pages/actions/tickets.sql` has them: at one instant, closed comes last.
    tickets.sort(
        key=lambda each: (each[0].occurred_at, each[1].get("step") == "closed", each[0].seq)
    )
    latest = tickets[-1][1] if tickets else {}
    is_open = latest.get("step") == "opened"
    if is_open is is_closed:
        return None
    if is_closed:
        return CallerError(f"No ticket of {process} is open", "", "look at its page")
    return CallerError(
        f"Ticket {latest.get('number')} of {process} is open",
        f"{latest.get('actor')} opened it and nobody has closed it",
        f"{typed('prazo', 'ticket', process, '--closed')} closes it first",
    )


@main.command()
@click.argument("process")
@click.option(
    "--channel", type=click.Choice(BY_HAND), default=PHONE, show_default=True, help="How."
)
@click.option("--outcome", type=click.Choice([*CALL_OUTCOMES]), help="What came of the call.")
@click.option("--promised-for", metavar="DATE", help="For when the seller promised to answer.")
@click.option("--note", metavar="TEXT", help="What was said.")
@click.option("--at", metavar="T", help="When it was; now where it is left out.")
@_who
def remind(
    process: str,
    channel: str,
    outcome: str | None,
    promised_for: str | None,
    note: str | None,
    at: str | None,
    actor: str,
) -> None:
    """Record that the seller of PROCESS was called, or written a letter; nothing is sent.

    Example: prazo remind prc_123 --outcome reached --promised-for 2026-03-20 --actor maria
    """
    from pipeline.log.kinds.seller_notice import by_hand, new_message_id

    if (outcome is None) is (channel == PHONE):
        raise click.UsageError("say the --outcome of a call, and of nothing else")
    happened_at = None if at is None else instants.parse(at)
    if at is not None and (happened_at is None or happened_at > instants.now()):
        raise click.UsageError("--at: an instant that has passed, such as 2026-03-01T09:00:00Z")
    message_id = new_message_id()
    _record(
        process,
        lambda seller_id: by_hand(
            message_id,
            channel,
            outcome=outcome,
            promised_for=promised_for,
            note=note,
            occurred_at=happened_at,
            actor=actor,
            recorded_by=user(),
            process_id=process,
            seller_id=seller_id,
        ),
    )


def _record(
    process: str,
    drafted: "Callable[[str | None], Draft]",
    in_the_way: "Callable[[Sequence[Entry]], CallerError | None] | None" = None,
) -> None:
    """Records what a person did about a process that the log knows, and says which entry it is.

    `in_the_way` says what keeps it from being recorded. Between that look and the entry nothing
    else is recorded of the process: of two people who open a ticket at once, one is refused.
    """

    with guarded_inbox(Settings.load()) as inbox:
        for _time in range(MOST_TIMES):
            known = inbox.find(process_id=process)
            if not known:
                from pipeline.submit.resume import unknown_process

                raise unknown_process(process)
            seller_id = next((it.seller_id for it in known if it.seller_id is not None), None)
            draft = drafted(seller_id)
            if in_the_way is not None:
                if (error := in_the_way(known)) is not None:
                    raise error
                draft = draft._replace(expected_process_n=max(it.process_n or 0 for it in known))
            [receipt] = inbox.append([draft])
            if receipt.entry is not None:
                say(f"recorded, entry {receipt.entry.seq}")
                return
    raise CallerError(
        f"Nothing was recorded of {process}", "other entries of it keep coming in", "try again"
    )


def _submit_ready(settings: Settings, process: str | None, *, dry_run: bool) -> int:
    """Sends, or with `dry_run` names, what is fully answered; the exit code."""
    from pipeline.submit import ready, resume

    found = {process: process} if process is not None else _answered(settings)
    if not found:
        say("No unfinished review is fully answered.")
        return DONE
    if dry_run:
        looked = ready.look(settings, found)
        if process is not None and looked[0].is_unknown:
            raise resume.unknown_process(process)
        for each in looked:
            if not each.is_held:
                say(f"{found[each.process_id]}: would be sent")
        return _say_what_is_held(looked, found)
    outcomes: set[str] = set()

    def on_sent(process_id: str, sent: "Sent") -> None:
        outcomes.add(sent.outcome)
        print_result(found[process_id], sent)

    held = ready.send(
        settings,
        found,
        via="cli",
        recorded_by=user(),
        is_listed=process is None,
        on_sent=on_sent,
    )
    if process is not None and held and held[0].is_unknown:
        raise resume.unknown_process(process)
    if _say_what_is_held(held, found) != DONE or not outcomes.isdisjoint(FINAL_ANSWERS):
        return ANSWERED_NO
    return NOT_REACHED if outcomes - {"accepted"} else DONE


def _answered(settings: Settings) -> Mapping[str, str]:
    """The processes whose next action is to submit, the nearest deadline first, each with its id as
    the terminal shows it."""
    from pipeline.inbox import open_inbox
    from pipeline.ledger.views.formats import Asked
    from pipeline.serve import identifiers, ledger_access

    patience = ledger_access.Patience()
    with ledger_access.open_ledger(settings, patience=patience) as ledger:
        if (lack := ledger_access.lacking(ledger, patience)) is not None:
            say(lack, err=True)
        rows = ledger.shown(Asked("open_processes", filters=["next_action=submit"])).rows
    with closing(open_inbox(settings.inbox, create=False)) as inbox:
        return identifiers.as_recorded([row["process_id"] for row in rows], inbox)


def _say_what_is_held(looked: "list[Ready]", shown: Mapping[str, str]) -> int:
    held = [it for it in looked if it.is_held]
    for each in held:
        name = shown[each.process_id]
        if each.busy_until is not None:
            say(f"{name}: held: {busy(each.busy_until)}", err=True)
        if each.is_over:
            say(f"{name}: not ready any more: it was sent, or has finished, meanwhile", err=True)
        for violation in each.held:
            say(f"{name}: held: {violation}", err=True)
    return ANSWERED_NO if held else DONE


def _read(path: Path) -> bytes:
    """The payload in a file: its bytes as they are, but for how an editor saved them."""
    with plain.opened(path) as file:
        content = file.read(MAX_PAYLOAD_BYTES + 1)
    if len(content) > MAX_PAYLOAD_BYTES:
        raise CallerError(f"{path} is over {MAX_PAYLOAD_BYTES} bytes")
    try:
        return in_utf_8(content)
    except Unreadable as unreadable:
        raise CallerError(f"The payload in {path} cannot be read", unreadable.what) from None


def _approval(reason: str | None, actor: str | None, option: str) -> "Approval | None":
    from pipeline.submit.decision import Approval

    if reason is None:
        return None
    if is_blank(reason) or is_blank(actor):
        raise click.UsageError(f"--{option} needs a reason, and --actor NAME: who answers for it")
    return Approval(reason, actor or "")
