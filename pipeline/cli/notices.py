"""Commands by which sellers are notified: notices."""

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline import signals
from pipeline.cli.group import guarded_inbox, main, say, user
from pipeline.cli.views import as_of_instant, asked_instant
from pipeline.errors import WrongUsage
from pipeline.language.codes import SELLER_CHANNELS
from pipeline.settings import Settings
from pipeline.texts import counted, printable

if TYPE_CHECKING:
    from pipeline.inbox import Inbox
    from pipeline.notices.dispatcher import NoticeDispatcher
    from pipeline.notices.ladders import Ladders
    from pipeline.notices.replay import Past
    from pipeline.notices.sellers import Refused

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
@click.option(
    "--despite",
    multiple=True,
    type=click.Choice(["not_me", "stop_writing", "held", "just_sent"]),
    help="Send to this one seller all the same.",
)
@click.option("--dry-run", is_flag=True, help="Show what would go, and to whom nothing goes.")
@click.pass_obj
def send(
    before: bool,
    sellers: tuple[str, ...],
    channel: str,
    language: str | None,
    template: str | None,
    actor: str | None,
    despite: tuple["Refused", ...],
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
    order = Order(channel, user(), actor, spoken, template, despite={*despite})
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
            preview = sending.preview(sending.sellers.look(each), order)
            if preview.refused is not None:
                on_done(Done(each, "refused", preview.refused))
            elif preview.message is not None:
                say(f"{printable(each)}  {preview.message.subject}", "", preview.message.text, "")


@notices.command()
def status() -> None:
    """Say whether the schedule runs here, and what it would send now.

    Example: prazo notices status
    """
    settings = Settings.load()
    with guarded_inbox(settings) as inbox:
        from pipeline.log.entries import content_of
        from pipeline.notices.started import is_started, kept_back

        runs = is_started(inbox)
        say("The schedule runs here." if runs else "The schedule does not run here.")
        sends = _dispatcher(settings, inbox)
        sends.scope.read_on()
        if runs and sends.scope.ladders != _in_file(settings):
            say("The file has other rungs: they count once somebody starts it again.")
        for name in sends.lacking():
            gone = f"The file has no words of the template {printable(name)}: rungs that name it"
            say(f"{gone} send nothing, and the next ones count.")
        _say_plan(sends, inbox)
        for entry in kept_back(inbox):
            said = content_of(entry)
            why = "".join(f": {it}" for it in [said.get("reason")] if it)
            by = entry.name or "the seller"
            about = printable(entry.seller_id or entry.process_id or "")
            say(printable(f"{about}  {said['step']} by {by}{why}"))
        _say_if_nothing_runs_it(settings, inbox)


@notices.command()
@click.option("--backlog", is_flag=True, help="Also for reviews that came before.")
@click.option("--actor", metavar="NAME", help="Who starts it.")
@click.option("--dry-run", is_flag=True, help="Only say who would get what.")
@click.pass_obj
def start(before: bool, backlog: bool, actor: str | None, dry_run: bool) -> None:
    """Say who would get what now, and have the schedule send from now on, about reviews that are
    received from now on; with --backlog about all.

    Example: prazo notices start --actor Ana
    """
    from pipeline.notices import started

    settings = Settings.load()
    with guarded_inbox(settings) as inbox:
        sends = _dispatcher(settings, inbox)
        sends.scope.read_on()
        rungs = _in_file(settings)
        sends.scope.foresee(rungs, backlog=backlog)
        _say_plan(sends, inbox)
        if before or dry_run:
            return
        seq = started.start(inbox, rungs, actor=actor, recorded_by=user(), backlog=backlog)
        _say_if_nothing_runs_it(settings, inbox)
    say(f"started, entry {seq}")


@notices.command()
@click.option("--actor", metavar="NAME", required=True, help="Who stops it.")
@click.pass_obj
def stop(before: bool, actor: str) -> None:
    """Stop the schedule for all sellers.

    Example: prazo notices stop --actor Ana
    """
    from pipeline.notices import started

    if before:
        say("the schedule would be stopped for all sellers")
        return
    with guarded_inbox(Settings.load()) as inbox:
        say(f"stopped, entry {started.stop(inbox, actor=actor, recorded_by=user())}")


@notices.command()
@click.option("--seller", required=True, metavar="ID", help="To whom nothing goes.")
@click.option("--actor", metavar="NAME", required=True, help="Who holds it.")
@click.option("--reason", metavar="TEXT", help="Why.")
@click.pass_obj
def hold(before: bool, seller: str, actor: str, reason: str | None) -> None:
    """Hold the schedule for one seller, as in a dispute.

    Example: prazo notices hold --seller sel_123 --actor Ana --reason "in dispute"
    """
    _hold(seller, actor, reason, is_held=True, is_dry=before)


@notices.command()
@click.option("--seller", required=True, metavar="ID", help="Who is written to again.")
@click.option("--actor", metavar="NAME", required=True, help="Who releases it.")
@click.option("--reason", metavar="TEXT", help="Why; needed where the seller ended it.")
@click.pass_obj
def release(before: bool, seller: str, actor: str, reason: str | None) -> None:
    """Let the schedule write to a seller again.

    Example: prazo notices release --seller sel_123 --actor Ana --reason "they called"
    """
    _hold(seller, actor, reason, is_held=False, is_dry=before)


@notices.command()
@click.option(
    "--settings",
    "other",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file as PRAZO_NOTICES_FILE, with another schedule.",
)
@as_of_instant
@click.option("--days", type=click.IntRange(1, 3650), default=90, show_default=True)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")
def replay(other: Path, as_of: str | None, days: int, form: str) -> None:
    """Say of the reviews that were opened in so many days, up to 60 before now, about how many a
    first, second or further message would have gone by when: under another schedule, and under
    yours. It says nothing of what sellers would have done; nothing is sent or recorded.

    Example: prazo notices replay --settings other.toml --days 180
    """
    import json

    from pipeline import instants
    from pipeline.cli import terminal
    from pipeline.ledger.views.formats import Shown
    from pipeline.notices import replay as past
    from pipeline.notices.rules import load

    settings = Settings.load()
    at = asked_instant(as_of, settings)
    now = instants.now() if at is None else at
    ours = "defaults" if settings.notices_file is None else settings.notices_file.name
    compared = [(ours, load(settings.notices_file)), (other.name, load(other))]
    reviews, is_cut = _opened(settings, now, days)
    found = [
        row
        for name, rules in compared
        for row in past.counted(name, [past.replayed(it, rules) for it in reviews])
    ]
    if form == "json":
        say(*json.dumps(found, indent=2).splitlines())
    elif found:
        terminal.print_rows(Shown(now, [*found[0]], found), len(found), None)
    say(
        f"{counted(len(reviews), 'review')}; none of it says what sellers would have done", err=True
    )
    if is_cut:
        say(f"Only the newest {past.MOST} were looked at.", err=True)


def _opened(settings: Settings, now: int, days: int) -> "tuple[list[Past], bool]":
    """The reviews of a replay, and whether some were left out."""
    from pipeline import instants
    from pipeline.notices import replay as past
    from pipeline.serve.ledger_access import Patience, lacking, open_ledger

    last = now - past.FOLLOWED_DAYS * instants.DAY
    patience = Patience()
    with guarded_inbox(settings) as inbox, open_ledger(settings, patience=patience) as ledger:
        lack = lacking(ledger, patience)
        rows = [
            row
            for row in ledger.read("process_state", as_of=now).to_pylist()
            if row["opened_at"] is not None
            and last - days * instants.DAY < instants.from_datetime(row["opened_at"]) <= last
        ]
        rows.sort(key=lambda row: row["opened_at"])
        found = [*past.pasts(inbox, rows[-past.MOST :], now)]
    if lack is not None:
        say(lack, err=True)
    return found, len(rows) > past.MOST


@notices.command()
@click.pass_obj
def run(before: bool) -> None:
    """Send by the schedule until SIGTERM, once somebody has started it, and read the mailbox of
    reports where the settings name one; `prazo serve` does so.

    Example: prazo notices run
    """
    from pipeline.alert_rules import AlertsFile
    from pipeline.inbox.heartbeats import Part
    from pipeline.inbox.parts import present
    from pipeline.notices import bounces
    from pipeline.notices.dispatcher import NoticeDispatcher
    from pipeline.notices.rules import NoticesFile

    if before:
        raise click.UsageError("--dry-run: `prazo notices status` says what is due")
    settings = Settings.load()
    rules, alerts = NoticesFile(settings.notices_file), AlertsFile(settings.alerts_file)
    ends = threading.Event()
    signals.stop_by_signals(ends.set)
    with guarded_inbox(settings, create=True) as inbox, present(inbox, Part.NOTICES):
        reader = threading.Thread(
            target=bounces.Reader(inbox, rules.get).run, args=(ends,), name="bounces", daemon=True
        )
        reader.start()
        NoticeDispatcher(settings, inbox, rules.get, lambda: alerts.get().mail).run(ends)
        reader.join(bounces.SECONDS)


def _say_if_nothing_runs_it(settings: Settings, inbox: "Inbox") -> None:
    from pipeline.cli.doctor.notices import schedule

    for found in schedule(settings, inbox):
        if found.verdict != "ok":
            say(f"{found.found}; {found.remedy}", err=True)


def _hold(seller: str, actor: str, reason: str | None, *, is_held: bool, is_dry: bool) -> None:
    from pipeline.notices import started

    done = "held" if is_held else "released"
    if is_dry:
        say(f"the schedule would be {done} for {seller}")
        return
    with guarded_inbox(Settings.load()) as inbox:
        seq = started.hold(
            inbox, seller, is_held=is_held, actor=actor, recorded_by=user(), reason=reason
        )
    say(f"{done}, entry {seq}")


def _in_file(settings: Settings) -> "Ladders":
    """The rungs of the settings' file."""
    from pipeline.notices import ladders, rules

    return ladders.of_rules(rules.load(settings.notices_file))


def _dispatcher(settings: Settings, inbox: "Inbox") -> "NoticeDispatcher":
    from pipeline import alert_rules
    from pipeline.notices import rules
    from pipeline.notices.dispatcher import NoticeDispatcher

    known, mail = rules.load(settings.notices_file), alert_rules.load(settings.alerts_file).mail
    return NoticeDispatcher(settings, inbox, lambda: known, lambda: mail)


def _say_plan(sends: "NoticeDispatcher", inbox: "Inbox") -> None:
    """One line for each thing that would be done now, or cannot be."""
    from pipeline.log.kinds.seller_notice import PHONE
    from pipeline.notices.sellers import REFUSALS

    written, called, none = set[str](), set[str](), set[str]()
    for each in sends.planned(inbox.now()):
        if each.refused is not None:
            none.add(each.seller_id)
            say(f"{printable(each.seller_id)}  nothing: {REFUSALS[each.refused]}")
            continue
        (called if each.channel == PHONE else written).add(each.seller_id)
        named = ", ".join(f"{process_id} {rung}" for process_id, rung in each.rungs.items())
        say(f"{printable(each.seller_id)}  {each.channel}: {printable(named)}")
    would = f"{counted(len(written), 'seller')} would be written to now"
    would += f"; {counted(len(none), 'seller')} cannot be" if none else ""
    say(would + (f"; {counted(len(called), 'call')} would be asked for" if called else ""))
