"""The commands of alerts and calendars: what is due, who is told and was told, acknowledging and
putting off; and feeds of deadlines."""

import contextlib
import sys
import threading
from typing import TYPE_CHECKING, Final

import click

from pipeline import signals
from pipeline.cli.group import guarded_inbox, main, say, user
from pipeline.cli.views import as_of_instant, as_rows, print_view
from pipeline.errors import CallerError, InboxMissing, PrazoError
from pipeline.settings import Settings
from pipeline.texts import counted, typed

if TYPE_CHECKING:
    from pipeline.alert.messages.links import Fresh
    from pipeline.alert_rules import AlertRules
    from pipeline.inbox import Inbox


@main.group(invoke_without_command=True)
@click.pass_context
def alerts(context: click.Context) -> None:
    """List what is alarming, tell people of it, and record who sees to it (docs/alerts.md).

    Without a command it lists what is due now. Example: prazo alerts
    """
    if context.invoked_subcommand is None:
        context.invoke(due)


@alerts.command()
@as_of_instant
@as_rows
def due(as_of: str | None, form: str) -> None:
    """List what is alarming now, for whom, and since when.

    Example: prazo alerts due --format json
    """
    print_view("alerts", form, as_of=as_of)


@alerts.command()
@as_rows
def sent(form: str) -> None:
    """List who was notified of what, when, and what the channel answered.

    Example: prazo alerts sent --format csv
    """
    print_view("alerts_sent", form)


@alerts.command()
def routes() -> None:
    """Show the escalation, the conditions and who is notified, as they are set; exit 1 where a file
    that a channel needs cannot be used, or a report has no list. A file that only whoever sends may
    read is named, and not looked at.

    Example: prazo alerts routes
    """
    from pipeline import alert_rules
    from pipeline.alert.messages import transport

    settings = Settings.load()
    path = settings.alerts_file
    rules = alert_rules.load(path)
    say(f"{'settings':<26}  {path or 'the defaults: PRAZO_ALERTS_FILE is not set'}")
    for name, values in rules.described().items():
        say(f"{name:<26}  {', '.join(values) or '-'}")
    if not rules.recipients:
        say("Nobody is notified: name recipients (docs/alerts.md#who-is-told).")
    elif lost := rules.untold():
        say(f"{'to nobody':<26}  {', '.join(lost)}")
    unusable = transport.Files().unusable(rules)
    for place, fault in unusable.items():
        if isinstance(fault, transport.Barred):
            why = f"{fault}. Whoever sends alerts needs it: run this command as that user"
            say(f"not looked at, {place}: {why}", err=True)
        else:
            say(f"nobody is told by {place}: {fault}", err=True)
    lost_lists = _lost_lists(settings, rules)
    for report in lost_lists:
        view = rules.reports[report].saved
        why = "gone, or names a seller by a tax id or an e-mail address"
        say(f"reports.{report} has no list: the saved view {view!r} is {why}", err=True)
    is_usable = all(isinstance(it, transport.Barred) for it in unusable.values())
    sys.exit(0 if is_usable and not lost_lists else 1)


def _lost_lists(settings: Settings, rules: "AlertRules") -> list[str]:
    """The reports whose saved view the ledger does not have, or that no message may show. Where no
    ledger says it, as before the first start, none is."""
    names = {it.saved for it in rules.reports.values() if it.saved is not None}
    if not names:
        return []
    from pipeline.alert.summaries.reports import filters_of
    from pipeline.serve.due_alerts import DueByLedger
    from pipeline.serve.ledger_access import Patience, open_ledger

    try:
        with (
            guarded_inbox(settings) as inbox,
            open_ledger(settings, is_keeper=False, patience=Patience()) as ledger,
        ):
            saved = DueByLedger(ledger, inbox).saved_views(names)
    except PrazoError as error:
        say(f"not looked at, saved views of reports: {error.finding}", err=True)
        return []
    return [name for name, it in rules.reports.items() if filters_of(it, saved) is None]


@alerts.command()
def run() -> None:
    """Tell people until SIGTERM, as soon as the file of PRAZO_ALERTS_FILE names somebody; `prazo
    serve` does the same.

    Example: prazo alerts run
    """
    from pipeline import instants
    from pipeline.alert.away import unrecorded
    from pipeline.alert.dispatcher import Dispatcher
    from pipeline.alert.watch import Watch
    from pipeline.alert_rules import AlertsFile
    from pipeline.continuity.kept_heads import open_guarded
    from pipeline.inbox.heartbeats import Part
    from pipeline.inbox.parts import present
    from pipeline.serve.due_alerts import DueByHolder

    settings = Settings.load()
    rules = AlertsFile(settings.alerts_file, tells_people=True)
    stop = threading.Event()
    signals.stop_by_signals(stop.set)
    done = unrecorded.Unrecorded()
    inbox = unrecorded.opened(lambda: open_guarded(settings), done, rules.get, instants.now, stop)
    if inbox is None:
        return
    with contextlib.closing(inbox), present(inbox, Part.ALERTS):
        source = DueByHolder(settings, inbox, lambda: rules.get().watch.lag_minutes * 60)
        fresh, watch = _fresh_links(settings, inbox), Watch(settings, inbox)
        Dispatcher(inbox, source, rules.get, watch, fresh=fresh, unrecorded=done).run(stop)


@alerts.command()
def send() -> None:
    """Tell people once of what is due now, and end; exit 1 where somebody could not be notified, or
    the ledger that says what is due lacks the newest entries.

    Example: prazo alerts send
    """
    from pipeline import alert_rules
    from pipeline.alert.delivering import Sent
    from pipeline.alert.dispatcher import Dispatcher
    from pipeline.serve.due_alerts import DueByLedger
    from pipeline.serve.ledger_access import Patience, not_following, open_ledger

    settings = Settings.load()
    rules = alert_rules.with_recipients(alert_rules.load(settings.alerts_file))
    faults = 0

    def on_sent(done: Sent) -> None:
        nonlocal faults
        faults += done.fault is not None
        to, how_many = done.message.to, len(done.message.items)
        said = "sent" if done.fault is None else f"not sent: {done.fault}"
        say(f"{to} by {done.message.via}: {counted(how_many, 'alert')} {said}")

    with (
        guarded_inbox(settings) as inbox,
        open_ledger(settings, patience=Patience()) as ledger,
    ):
        fresh = _fresh_links(settings, inbox)
        source = DueByLedger(ledger, inbox, settings.marketplace)
        sends = Dispatcher(inbox, source, lambda: rules, on_sent=on_sent, fresh=fresh)
        sends.run_once()
        if (stuck := not_following(ledger)) is not None:
            say(stuck, err=True)
    sys.exit(1 if faults or sends.given_up or stuck else 0)


def _fresh_links(settings: Settings, inbox: "Inbox") -> "Fresh | None":
    """What makes links to the seller's page for messages; None where there is no such page."""
    if settings.journey_url is None:
        return None
    from pipeline.journey import links

    return links.for_messages(settings, inbox, "alerts")


@alerts.command()
@click.argument("recipient")
def test(recipient: str) -> None:
    """Send RECIPIENT a test message by every channel of theirs; nothing is recorded. A copy of an
    inbox sends none.

    Example: prazo alerts test ana
    """
    from pipeline import alert_rules
    from pipeline.alert.messages.trial import try_channels
    from pipeline.alert_rules.channels import all_channels
    from pipeline.continuity.kept_heads import open_shared
    from pipeline.inbox import copies

    settings = Settings.load()
    rules = alert_rules.with_recipients(alert_rules.load(settings.alerts_file))
    with (
        contextlib.suppress(InboxMissing),
        contextlib.closing(open_shared(settings, create=False)) as inbox,
    ):
        copies.require_in_use(inbox)
    found = try_channels(rules, recipient)
    for via, fault in found.items():
        say(f"{via}: {'sent' if fault is None else f'not sent: {fault}'}")
        if fault is not None:
            say(
                f"  To fix it: check {all_channels()[via].leads(rules.mail)} in the file of"
                " PRAZO_ALERTS_FILE",
                err=True,
            )
    sys.exit(1 if any(found.values()) else 0)


@alerts.command()
@click.argument("alert")
@click.option("--actor", required=True, metavar="NAME", help="Who sees to it.")
@click.option("--reason", metavar="TEXT", help="What they will do.")
def acknowledge(alert: str, actor: str, reason: str | None) -> None:
    """Record that somebody sees to ALERT: nobody else is notified of it.

    Example: prazo alerts acknowledge 5f0c... --actor "Ana Lima"
    """
    from pipeline.alert import acting

    with guarded_inbox(Settings.load()) as inbox:
        acting.acknowledge(inbox, alert, actor=actor, recorded_by=user(), reason=reason)
    say(f"{actor} sees to alert {alert}.")


_UNTIL: Final = "ISO 8601, UTC without an offset; of a day, its start in PRAZO_TIME_ZONE."


@alerts.command()
@click.argument("alert")
@click.option("--until", required=True, metavar="T", help=_UNTIL)
@click.option("--reason", required=True, metavar="TEXT", help="Why it can wait.")
@click.option("--actor", required=True, metavar="NAME", help="Who puts it off.")
def snooze(alert: str, until: str, reason: str, actor: str) -> None:
    """Put ALERT off until an instant.

    Example: prazo alerts snooze 5f0c... --until 2026-03-02T09:00Z --reason "ill" --actor Ana
    """
    from pipeline import instants
    from pipeline.alert import acting

    settings = Settings.load()
    at = instants.starting(until, settings.zone)
    if at is None:
        raise click.UsageError(
            f"--until: {until!r} is not an instant like 2026-03-01T09:00:00Z, nor a day"
        )
    with guarded_inbox(settings) as inbox:
        acting.snooze(inbox, alert, until=at, reason=reason, actor=actor, recorded_by=user())
    say(f"Alert {alert} waits until {instants.readable(at)}.")


# --- calendars -----------------------------------------------------------------------------------


@main.group()
def calendar() -> None:
    """Make, list and revoke feeds of deadlines for programs such as Outlook or Google Calendar."""


@calendar.command()
@click.option("--for", "assignee", metavar="NAME", help="The deadlines of this assignee.")
@click.option("--all", "is_for_all", is_flag=True, help="Every deadline.")
@click.option("--actor", metavar="NAME", required=True, help="Who makes it.")
def new(assignee: str | None, is_for_all: bool, actor: str) -> None:
    """Make a feed and print its secret address, which nobody can print again.

    Example: prazo calendar new --for maria --actor maria
    """
    from pipeline import alert_rules
    from pipeline.serve import calendar as calendars

    if (assignee is None) is not is_for_all:
        raise click.UsageError("give --for NAME or --all, one of them")
    settings = Settings.load()
    rules = alert_rules.load(settings.alerts_file)
    with guarded_inbox(settings) as inbox:
        secret = calendars.make(inbox, assignee=assignee, actor=actor, recorded_by=user())
    say(
        calendars.address(settings, rules, secret.token),
        f"{secret.feed_id}: whoever has this address reads the calendar."
        f" {typed('prazo', 'calendar', 'revoke', secret.feed_id, '--actor', 'NAME')} ends it.",
    )
    if rules.dashboard_url is None:
        say(
            "This address is that of this machine, and the events hold no links: name the"
            " dashboard's own with `dashboard_url` in the file of PRAZO_ALERTS_FILE."
        )


@calendar.command("list")
@as_rows
def list_feeds(form: str) -> None:
    """List the feeds, with who made and who revoked them.

    Example: prazo calendar list
    """
    print_view("calendar_feeds", form)


@calendar.command()
@click.argument("feed")
@click.option("--actor", metavar="NAME", required=True, help="Who revokes it.")
def revoke(feed: str, actor: str) -> None:
    """End FEED: its address is wrong from then on, for good.

    Example: prazo calendar revoke cal_0123456789ab --actor maria
    """
    from pipeline.ledger.views.formats import Asked
    from pipeline.log.kinds.calendar import calendar_revoked
    from pipeline.serve.ledger_access import Patience, lacking, open_ledger

    settings, patience = Settings.load(), Patience()
    with open_ledger(settings, patience=patience) as ledger:
        if (lack := lacking(ledger, patience)) is not None:
            say(lack, err=True)
        found = ledger.shown(Asked("calendar_feeds", filters=[f"feed_id={feed}"])).rows
    if not found or found[0]["revoked_at"] is not None:
        raise CallerError(
            f"The calendar {feed} was not revoked",
            "it has been revoked already" if found else "there is none of that name",
            "`prazo calendar list` says which there are",
        )
    with guarded_inbox(settings, create=True) as inbox:
        [receipt] = inbox.append([calendar_revoked(feed, actor=actor, recorded_by=user())])
    assert receipt.entry is not None  # nothing keeps a draft of a person's from being recorded
    say(f"revoked, entry {receipt.entry.seq}")
