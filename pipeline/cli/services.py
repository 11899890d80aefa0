"""The commands of the person who runs Prazo: serve, receive, dashboard, follow, demo, doctor."""

import logging
import os
import sys
from pathlib import Path
from typing import NoReturn

import click

from pipeline import memory
from pipeline.cli.group import Number, Port, main, say
from pipeline.cli.loading import ended_at_once
from pipeline.errors import WrongUsage
from pipeline.settings import Settings, unknown
from pipeline.shipped import DASHBOARD
from pipeline.short_turns import give_way

LOG = logging.getLogger(__name__)

_host = click.option("--host", help="Address to listen on.")
_port = click.option("--port", type=Port(), help="Port to listen on.")


@main.command()
@_host
@_port
def receive(host: str | None, port: int | None) -> None:
    """Run the receiver alone: webhooks into the inbox, 200 once they are on disk.

    Example: prazo receive --port 8400
    """
    with ended_at_once():
        from pipeline.receive import receiver

    settings = Settings.load(receiver_host=host, receiver_port=port)
    _say_what_is_in_force()
    receiver.serve(settings)


def _say_what_is_in_force() -> None:
    """Says from where relative paths count: in another folder another log begins. A misspelt
    setting leaves a default in force: anybody may post deliveries then, say, or an act does not
    wait for a second person."""
    say(f"Folder     {Path.cwd()}")
    for name, remedy in unknown().items():
        LOG.warning("there is no setting %s, so it has no effect: %s", name, remedy)


def _hand_over_address(settings: Settings) -> None:
    """Hands the dashboard's address, by the environment, to the program that replaces this one."""
    os.environ["PRAZO_DASHBOARD_HOST"] = settings.dashboard_host
    os.environ["PRAZO_DASHBOARD_PORT"] = str(settings.dashboard_port)


@main.command()
@_host
@_port
def dashboard(host: str | None, port: int | None) -> NoReturn:
    """Run the dashboard, which holds the ledger and follows the inbox.

    Example: prazo dashboard --port 8501
    """
    from pipeline.cli import homes, ports

    settings = Settings.load(dashboard_host=host, dashboard_port=port)
    option = "PRAZO_DASHBOARD_PORT" if port is None else "--port"
    ports.check(ports.Wanted("dashboard", settings.dashboard_host, settings.dashboard_port, option))
    _say_what_is_in_force()
    _hand_over_address(settings)
    if homes.home() is None:
        os.environ["HOME"] = str(Path.cwd())
    os.environ["FORWARDED_ALLOW_IPS"] = ""  # a proxy is known by its own address, not by a header
    give_way()
    memory.become(
        [
            *(*memory.MODULE, "streamlit", "run", str(DASHBOARD)),
            *("--server.address", settings.dashboard_host),
            *("--server.port", str(settings.dashboard_port)),
        ]
    )


@main.command()
@_host
@_port
@click.option("--without-bodies", is_flag=True, help="Commitments and masked facts only.")
@click.pass_context
def follow(
    context: click.Context, host: str | None, port: int | None, without_bodies: bool
) -> None:
    """Keep a ledger alone, without pages, with its API: what an analyst gets.

    Example: PRAZO_LEDGER=analyst.duckdb prazo follow --without-bodies --port 8502
    """
    settings = Settings.load(dashboard_host=host, dashboard_port=port)
    if not memory.keeps_freed():  # the same command again, since only a start can change that
        _hand_over_address(settings)
        debug = ["--debug"] if context.find_root().params["debug"] else []
        options = ["--without-bodies"] if without_bodies else []
        memory.become([*memory.MODULE, "pipeline.cli", *debug, "follow", *options])

    with ended_at_once():
        from pipeline.serve import api

    _say_what_is_in_force()
    give_way()
    api.serve(settings, is_keeper=not without_bodies, without_bodies=without_bodies)


@main.command()
@_host
@_port
@click.option("--dashboard-host", help="Address of the dashboard.")
@click.option("--dashboard-port", type=Port(), help="Port of the dashboard.")
def serve(
    host: str | None, port: int | None, dashboard_host: str | None, dashboard_port: int | None
) -> None:
    """Run receiver and dashboard on one machine, for real use. SIGTERM stops both cleanly.

    Where the platform is set up, submissions that wait for a retry are sent as well. --host and
    --port are the receiver's. Example: prazo serve --port 8400 --dashboard-port 8501
    """
    with ended_at_once():
        from pipeline.cli import ports
        from pipeline.cli.supervisor import Supervisor, parts
        from pipeline.http import addresses

    settings = Settings.load(
        receiver_host=host,
        receiver_port=port,
        dashboard_host=dashboard_host,
        dashboard_port=dashboard_port,
    )
    listening = [
        ports.Wanted("receiver", settings.receiver_host, settings.receiver_port, "--port"),
        ports.Wanted(
            "dashboard", settings.dashboard_host, settings.dashboard_port, "--dashboard-port"
        ),
    ]
    if settings.journey_url:
        page = (settings.journey_host, settings.journey_port, "PRAZO_JOURNEY_PORT")
        listening.append(ports.Wanted("seller's page", *page))
    ports.check_apart(*listening)
    # A second `prazo serve`, say; what takes another port is waited for.
    ports.check(listening[0], besides=[it.port for it in listening[1:]])
    environment = {
        **os.environ,
        "PRAZO_RECEIVER_HOST": settings.receiver_host,
        "PRAZO_RECEIVER_PORT": str(settings.receiver_port),
        "PRAZO_DASHBOARD_HOST": settings.dashboard_host,
        "PRAZO_DASHBOARD_PORT": str(settings.dashboard_port),
    }
    supervisor = Supervisor()
    for part in parts(settings):
        supervisor.add(
            part[0],
            [sys.executable, *memory.MODULE, "pipeline.cli", *part],
            environment,
            # Where another part cannot start, say because a file is missing, webhooks still come.
            is_vital=part[0] == "receive",
        )
    say(
        f"Receiver   {addresses.at(settings.receiver_host, settings.receiver_port)}/webhooks",
        f"Dashboard  {addresses.at(settings.dashboard_host, settings.dashboard_port)}",
    )
    sys.exit(supervisor.run())


@main.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path("data/demo"))
@click.option("--port", type=Port(), help="Port of the receiver.")
@click.option("--dashboard-port", type=Port(), help="Port of the dashboard.")
@click.option("--events-per-minute", type=Number(0.1, 6000), default=30.0)
def demo(
    folder: Path, port: int | None, dashboard_port: int | None, events_per_minute: float
) -> None:
    """Show the whole product against a simulated platform, with a history and live traffic.

    Without --port and --dashboard-port it listens where the settings say.
    Example: prazo demo --port 8410 --dashboard-port 8511
    """
    with ended_at_once():
        from pipeline.cli import demo as show

    code = show.run(
        folder.resolve(),
        receiver_port=port,
        dashboard_port=dashboard_port,
        events_per_minute=events_per_minute,
        say=lambda text: say(*text.split("\n")),
    )
    sys.exit(code)


@main.command()
@click.argument(
    "part", required=False, type=click.Choice(["receive", "dashboard", "follow", "journey"])
)
def alive(part: str | None) -> None:
    """Ask PART whether it is alive; without one, what a container's first process runs. Exits with
    1 where it does not answer where the settings say. A part that listens nowhere is alive while it
    runs.

    Example: prazo alive dashboard
    """
    from pipeline.cli import alive as look

    parts = (part,) if part else look.parts_of(look.first_command())
    if parts is None:
        raise WrongUsage("The first process here is no part of Prazo", remedy="name a PART")
    settings = Settings.load()
    failures = [it for it in (look.failure(part, settings) for part in parts) if it]
    say(*failures, err=True)
    sys.exit(1 if failures else 0)


@main.command()
@click.option(
    "--platform",
    is_flag=True,
    help="Also try the TLS handshake and the credentials with the platform; changes nothing there.",
)
@click.option(
    "--proxy",
    "proxies",
    metavar="URL",
    multiple=True,
    help="Also ask the receiver by way of the proxy that listens there; nothing is recorded.",
)
def doctor(platform: bool, proxies: tuple[str, ...]) -> None:
    """Check settings, keys, authentication, tokens, login, the way to the platform, disk, clock,
    inbox and ledger; each fault comes with a remedy.

    Example: prazo doctor --platform --proxy https://hooks.market.example
    """
    from pipeline.cli import doctor as doctors

    is_well = True
    for diagnosis in doctors.examine(Settings.load(), asks_platform=platform, proxies=proxies):
        is_well = is_well and diagnosis.verdict != "fault"
        say(f"{diagnosis.verdict:8} {diagnosis.check}: {diagnosis.found}")
        if diagnosis.remedy:
            say(f"{'':8} to do: {diagnosis.remedy}")
    sys.exit(0 if is_well else 1)
