"""Commands of passing deliveries on to the marketplace's endpoints: forward."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.group import guarded_inbox, main, say, user
from pipeline.errors import SettingsError, WrongUsage
from pipeline.settings import Settings
from pipeline.texts import counted, typed

if TYPE_CHECKING:
    from pipeline.forward.operating import State

_endpoint = click.argument("endpoint")
_reason = click.option("--reason", default="", help="Why; it stands in the log.")
_actor = click.option("--actor", help="Who asks for it; it stands in the log.")


def _signed(command: Callable[..., Any]) -> Callable[..., Any]:
    return _endpoint(_reason(_actor(command)))


@main.group()
def forward() -> None:
    """Pass deliveries on to the marketplace's own endpoints (docs/forwarding.md).

    Example: prazo forward status
    """


@forward.command()
def run() -> None:
    """Pass on until SIGTERM; `prazo serve` does it where PRAZO_FORWARD_FILE is set.

    Example: prazo forward run
    """
    from pipeline.forward import forwarder

    forwarder.run_for_ever(_settings())


@forward.command(name="list")
def list_() -> None:
    """List the endpoints that are set, and what goes to each. Nothing is sent.

    Example: prazo forward list
    """
    from pipeline.forward import endpoints
    from pipeline.http import addresses

    given = endpoints.load(_settings().forward_file)
    for endpoint in given:
        once = "" if endpoint.redeliveries else ", each event once"
        say(
            f"{endpoint.name}  {addresses.shown(endpoint.url)}",
            f"  events       {', '.join(endpoint.events)}{once}",
            f"  limits       {endpoint.timeout_seconds:g} s, {endpoint.concurrency} at a time,"
            f" given up after {endpoint.give_up_hours:g} hours",
        )
    if not given:
        say("There is no endpoint.")


@forward.command()
def status() -> None:
    """Show how far each endpoint is, what fails and what waits; exit 1 where one fails.

    Example: prazo forward status
    """
    from pipeline.forward import endpoints, operating

    settings = Settings.load()
    with guarded_inbox(settings) as inbox:
        found = operating.states(inbox, endpoints.load(settings.forward_file))
    for state in found:
        say(*_lines(state))
    if not found:
        say("There is no endpoint.")
    if any(it.is_set and it.row and it.row.failing_since for it in found):
        raise SystemExit(1)


def _lines(state: "State") -> list[str]:
    from pipeline.forward.operating import readable

    row = state.row
    if row is None:
        return [f"{state.name}  no forwarder has seen it yet: is `prazo serve` running?"]
    is_set = "" if state.is_set else "  (no longer in the file of endpoints)"
    lines = [f"{state.name}{is_set}", f"  position     entry {row.position}"]
    if state.behind:
        since = readable(state.behind_since)
        lines.append(f"  to do        {counted(state.behind, 'delivery')}, the first of {since}")
    lines.append(f"  last taken   {readable(row.last_success_at)}")
    if row.failing_since:
        lines.append(f"  failing      since {readable(row.failing_since)}")
    for letter in state.waiting:
        tried = f"{counted(letter.tries, 'try')}, {letter.error}" if letter.tries else "to be tried"
        lines.append(f"  waiting      entry {letter.seq}, {letter.lane}: {tried}")
    if state.dead:
        lines.append(
            f"  dead letters {len(state.dead)}: see {typed('prazo', 'forward', 'dead', state.name)}"
        )
    if row.paused_at:
        lines.append(f"  paused       since {readable(row.paused_at)}")
    return lines


@forward.command()
@_endpoint
def dead(endpoint: str) -> None:
    """List what was given up for an endpoint.

    Example: prazo forward dead erp
    """
    from pipeline.forward import operating
    from pipeline.forward.operating import readable

    with guarded_inbox(Settings.load()) as inbox:
        letters = operating.dead(inbox, endpoint)
    for letter in letters:
        since = f"{counted(letter.tries, 'try')} since {readable(letter.first_tried_at)}"
        say(
            f"entry {letter.seq}  given up {readable(letter.dead_at)} after {since}: {letter.error}"
        )
    say(counted(len(letters), "dead letter") if letters else "No delivery was given up.")


@forward.command()
@_signed
@click.option("--seq", type=click.IntRange(1), help="This delivery alone: a dead letter, or any.")
@click.option("--from-seq", type=click.IntRange(1), help="Everything from this entry on.")
@click.option(
    "--from-time",
    help="Everything recorded from this instant on: ISO 8601, UTC without an offset, or a day, in"
    " PRAZO_TIME_ZONE.",
)
def replay(
    endpoint: str,
    reason: str,
    actor: str | None,
    seq: int | None,
    from_seq: int | None,
    from_time: str | None,
) -> None:
    """Have an endpoint get deliveries once more, with the message ids that they had.

    Example: prazo forward replay erp --seq 812 --reason "the import is repaired" --actor ana
    """
    from pipeline import instants
    from pipeline.forward import endpoints, operating
    from pipeline.log.actions import By

    if sum(it is not None for it in (seq, from_seq, from_time)) != 1:
        raise WrongUsage(
            "Nothing was replayed",
            "one of --seq, --from-seq and --from-time is needed",
            "name what is to be sent once more",
        )
    settings = Settings.load()
    since = instants.starting(from_time, settings.zone)
    if from_time is not None and since is None:
        raise WrongUsage(
            "Nothing was replayed",
            f"{from_time} is not an instant",
            "write it as 2026-03-01T12:00:00Z, or a day like 2026-03-01",
        )
    by = By(reason, actor, user())
    with guarded_inbox(settings) as inbox:
        if seq is not None:
            given = endpoints.load(settings.forward_file)
            operating.replay_one(inbox, given, endpoint, seq, by)
            say(f"Delivery {seq} goes to {endpoint} once more.")
            return
        recorded = ""
        if from_seq is not None:
            operating.replay_from(inbox, endpoint, from_seq, by)
        elif since is not None:
            from_seq = operating.replay_since(inbox, endpoint, since, by)
            recorded = f", the first since {instants.readable(since)},"
    say(f"Everything from entry {from_seq} on{recorded} goes to {endpoint} once more.")


@forward.command()
@_signed
def pause(endpoint: str, reason: str, actor: str | None) -> None:
    """Have an endpoint get nothing until it is resumed; nothing is lost.

    Example: prazo forward pause erp --reason "maintenance until noon" --actor ana
    """
    from pipeline.forward import operating
    from pipeline.log.actions import By

    with guarded_inbox(Settings.load()) as inbox:
        operating.pause(inbox, endpoint, By(reason, actor, user()))
    say(f"{endpoint} is paused.")


@forward.command()
@_signed
def resume(endpoint: str, reason: str, actor: str | None) -> None:
    """Have a paused endpoint get what has come meanwhile, in order.

    Example: prazo forward resume erp --reason "maintenance is over" --actor ana
    """
    from pipeline.forward import operating
    from pipeline.log.actions import By

    with guarded_inbox(Settings.load()) as inbox:
        operating.resume(inbox, endpoint, By(reason, actor, user()))
    say(f"{endpoint} is resumed.")


def _settings() -> Settings:
    """Raises `SettingsError` where there are no endpoints."""
    settings = Settings.load()
    if settings.forward_file is None:
        raise SettingsError(
            "There is nobody to pass deliveries on to",
            "PRAZO_FORWARD_FILE is not set",
            "name the file of the endpoints with it; docs/forwarding.md says what stands in it",
        )
    return settings
