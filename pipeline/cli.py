"""The `prazo` command: one thin function a command; the work is done elsewhere."""

import getpass
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from pipeline.errors import CallerError, PrazoError
from pipeline.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
TABLE_ROWS = 50


class _Group(click.Group):
    """Turns every error of ours into what failed, why and what to do, and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PrazoError as error:
            if ctx.params.get("debug"):
                raise
            click.echo(f"Error: {error}", err=True)
            ctx.exit(error.exit_code)
        except BrokenPipeError:  # the reader of our output has seen enough
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
            ctx.exit(0)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show a traceback where a command fails.")
@click.version_option(package_name="prazo", prog_name="prazo")
def main(debug: bool) -> None:
    """Prazo watches the deadlines of seller registration reviews and keeps the proof.

    Settings are PRAZO_* environment variables or a .env file; `prazo doctor` checks them.
    """
    logging.basicConfig(
        level=logging.DEBUG if debug else logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)


_listening = [
    click.option("--host", help="Address to listen on."),
    click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on."),
]


def _listens(command: Any) -> Any:
    for option in reversed(_listening):
        command = option(command)
    return command


# --- running ---------------------------------------------------------------------------------


@main.command()
@_listens
def receive(host: str | None, port: int | None) -> None:
    """Run the receiver alone: webhooks into the inbox, 200 once they are on disk.

    Example: prazo receive --port 8400
    """
    from pipeline import receiver

    receiver.serve(Settings.load(receiver_host=host, receiver_port=port))


@main.command()
@_listens
def dashboard(host: str | None, port: int | None) -> NoReturn:
    """Run the dashboard, which holds the ledger and follows the inbox.

    Example: prazo dashboard --port 8501
    """
    settings = Settings.load(dashboard_host=host, dashboard_port=port)
    os.environ["PRAZO_DASHBOARD_HOST"] = settings.dashboard_host
    os.environ["PRAZO_DASHBOARD_PORT"] = str(settings.dashboard_port)
    command = [
        *(sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")),
        *("--server.address", settings.dashboard_host),
        *("--server.port", str(settings.dashboard_port)),
    ]
    os.execv(sys.executable, command)


@main.command()
@_listens
@click.option("--without-bodies", is_flag=True, help="Commitments and masked facts only.")
def follow(host: str | None, port: int | None, without_bodies: bool) -> None:
    """Keep a ledger alone, without pages, with its API: what an analyst gets.

    Example: PRAZO_LEDGER=analyst.duckdb prazo follow --without-bodies --port 8502
    """
    from pipeline import api

    settings = Settings.load(dashboard_host=host, dashboard_port=port)
    api.serve(settings, is_keeper=not without_bodies, without_bodies=without_bodies)


@main.command()
@_listens
@click.option("--dashboard-port", type=click.IntRange(1, 65535), help="Port of the dashboard.")
def serve(host: str | None, port: int | None, dashboard_port: int | None) -> None:
    """Run receiver and dashboard on one machine, for real use. SIGTERM stops both cleanly.

    --host and --port are the receiver's. Example: prazo serve --port 8400 --dashboard-port 8501
    """
    from pipeline.supervisor import Supervisor

    settings = Settings.load(receiver_host=host, receiver_port=port, dashboard_port=dashboard_port)
    environment = {
        **os.environ,
        "PRAZO_RECEIVER_HOST": settings.receiver_host,
        "PRAZO_RECEIVER_PORT": str(settings.receiver_port),
        "PRAZO_DASHBOARD_PORT": str(settings.dashboard_port),
    }
    supervisor = Supervisor()
    for part in ("receive", "dashboard"):
        supervisor.add(part, [sys.executable, "-m", "pipeline.cli", part], environment)
    click.echo(
        f"Receiver   http://{settings.receiver_host}:{settings.receiver_port}/webhooks\n"
        f"Dashboard  http://{settings.dashboard_host}:{settings.dashboard_port}"
    )
    sys.exit(supervisor.run())


@main.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path("data/demo"))
@click.option("--port", type=click.IntRange(1, 65535), default=8400, help="Of the receiver.")
@click.option("--dashboard-port", type=click.IntRange(1, 65535), default=8501)
@click.option("--events-per-minute", type=click.FloatRange(0.1, 6000), default=30.0)
def demo(folder: Path, port: int, dashboard_port: int, events_per_minute: float) -> None:
    """Show the whole product against a simulated platform, with a history and live traffic.

    Example: prazo demo --events-per-minute 120
    """
    from pipeline import demo as show

    code = show.run(
        folder.resolve(),
        receiver_port=port,
        dashboard_port=dashboard_port,
        events_per_minute=events_per_minute,
        say=click.echo,
    )
    sys.exit(code)


# --- writing ---------------------------------------------------------------------------------


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
    from pipeline.inbox import open_inbox

    inbox = open_inbox(Settings.load().inbox)
    are_clean = True
    try:
        with Progress(console=Console(stderr=True), transient=True) as bar:
            for path in files:
                size = None if str(path) == "-" or not path.exists() else path.stat().st_size
                task = bar.add_task(path.name, total=size)
                outcomes = ingestion.ingest(path, inbox, lambda n, t=task: bar.advance(t, n))  # type: ignore[misc]
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
        replays = [occurrences.replay(it, recorded_by=_user()) for it in held] if replay else []
        receipts = inbox.append([it for it in replays if it is not None])
    finally:
        inbox.close()
    if not replay:
        _print_view("quarantine", None, (), None, "table", None, None)
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
    from pipeline.service import LedgerService

    service = LedgerService(Settings.load())
    try:
        service.catch_up()
        before = service.ledger.frontier.root()
        service.rebuild()
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


# --- reading ---------------------------------------------------------------------------------


@main.command()
@click.argument("view", required=False)
@click.option("--as-of", help="Instant to look at, ISO 8601; now if not given.")
@click.option("--where", "filters", multiple=True, metavar="COL=VALUE", help="Only these rows.")
@click.option("--limit", type=click.IntRange(0), help="At most so many rows.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "ndjson", "csv", "parquet", "xlsx"]),
    default="table",
    show_default=True,
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file.")
@click.option("--unmask", metavar="REASON", help="Show personal columns; an entry in the log.")
@click.option("--actor", metavar="NAME", help="Who asks for it.")
def show(
    view: str | None,
    as_of: str | None,
    filters: tuple[str, ...],
    limit: int | None,
    form: str,
    out: Path | None,
    unmask: str | None,
    actor: str | None,
) -> None:
    """Show the rows of VIEW; without one, list the views with what each says.

    Example: prazo show watchlist --where state=EXPIRED --format csv --out expired.csv
    """
    if view is None:
        _list_views()
        return
    if unmask is not None and not actor:
        raise click.UsageError("--unmask needs --actor NAME: who asks for it")
    unmasking = None
    if unmask is not None and actor:
        from pipeline.reading import Unmasking

        unmasking = Unmasking(unmask, actor, _user())
    _print_view(view, as_of, filters, limit, form, out, unmasking)


def _list_views() -> None:
    from pipeline import terminal, views

    terminal.print_views(views.public())


def _print_view(
    view: str,
    as_of: str | None,
    filters: tuple[str, ...],
    limit: int | None,
    form: str,
    out: Path | None,
    unmasking: Any,
) -> None:
    from pipeline import instants, reading, tables, terminal

    instant = None if as_of is None else instants.parse(as_of)
    if as_of is not None and instant is None:
        raise click.UsageError(f"--as-of: {as_of!r} is no instant, such as 2026-03-01T09:00:00Z")
    with reading.source(Settings.load()) as source:
        most = TABLE_ROWS if form == "table" and limit is None else limit
        rows = source.read(view, as_of=instant, filters=filters, limit=most, unmask=unmasking)
        if form == "table":
            total = (
                source.count(view, as_of=instant, filters=filters)
                if rows.num_rows == most
                else rows.num_rows
            )
            terminal.print_rows(rows, total, out)
        else:
            notes = {"view": view, "as_of": as_of or "now", "filters": " ".join(filters)}
            if out is None:
                sys.stdout.buffer.write(tables.encode(rows, form, notes))  # type: ignore[arg-type]
            else:
                tables.write(rows, form, out, notes)  # type: ignore[arg-type]
        if source.behind:
            click.echo(f"The ledger is still {source.behind} entries behind.", err=True)
            sys.exit(1)


@main.command()
def doctor() -> None:
    """Check settings, keys, disk, clock, inbox and ledger; each fault with a remedy.

    Example: prazo doctor
    """
    from pipeline import doctor as doctors

    is_well = True
    for it in doctors.examine(Settings.load()):
        is_well = is_well and it.verdict != "fault"
        click.echo(f"{it.verdict:8} {it.check}: {it.found}")
        if it.remedy:
            click.echo(f"{'':8} to do: {it.remedy}")
    sys.exit(0 if is_well else 1)


def _user() -> str:
    """Who runs this command, as the log names them."""
    try:
        return f"user:{getpass.getuser()}"
    except (KeyError, OSError):
        return "user:unknown"


if __name__ == "__main__":
    main()
