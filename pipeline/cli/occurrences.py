"""Commands that take in what happened: ingest, collect, quarantine."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from pipeline.cli.group import bars, guarded_inbox, main, name_first, say, user
from pipeline.cli.views import as_rows, print_view
from pipeline.contract.body import JsonValue, parse_json
from pipeline.contract.encodings import ENCODINGS, encoding_named
from pipeline.errors import CallerError, Unreadable, WrongUsage
from pipeline.settings import Settings

REPLAYED_AT_ONCE: Final = 100
"""Deliveries in one commit. At a megabyte each, no other writer waits long for it. A replay that is
cut off goes on with the next run: no delivery is recorded twice."""
_IN_ORDER: Final = "select seq from entries where kind = $1 order by seq"


@main.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    # A file that does not exist is refused before an inbox is made.
    type=click.Path(path_type=Path, allow_dash=True, exists=True, dir_okay=False),
)
@click.option(
    "--events", is_flag=True, help="Each line is an event's body, received at its created_at."
)
def ingest(files: Sequence[Path], events: bool) -> None:
    """Take NDJSON FILES of occurrences into the inbox (-: standard input).

    Taking a file twice adds nothing. Bad lines are named, the first 100 of them, and the others
    taken; exit 1 if any was bad or went to quarantine. Example: prazo ingest history.ndjson
    """
    from pipeline.inbox.artifacts.taking import Taking
    from pipeline.receive import ingest as ingestion

    settings = Settings.load()
    are_clean = True
    with guarded_inbox(settings, create=True) as inbox:
        artifacts = Taking.of(settings, inbox)
        with bars() as bar:
            for path in files:
                size = None if str(path) == "-" else path.stat().st_size
                task = bar.add_task(path.name, total=size)
                outcomes = ingestion.ingest(
                    path,
                    inbox,
                    lambda n, t=task: bar.advance(t, n),  # type: ignore[misc]
                    artifacts,
                    are_events=events,
                )
                _name(path, "not taken", outcomes.bad)
                _name(path, "in quarantine", outcomes.quarantined)
                say(
                    f"{path}: {outcomes.recorded} recorded, {outcomes.already_there} already"
                    f" there, {len(outcomes.quarantined)} of them in quarantine,"
                    f" {len(outcomes.bad)} bad"
                )
                are_clean = are_clean and outcomes.are_clean
    sys.exit(0 if are_clean else 1)


def _name(path: Path, became: str, lines: Sequence[tuple[int, str]]) -> None:
    """Names the first lines of a file that were not taken as they should be, and why."""
    name_first(
        lines,
        lambda line: f"{path}:{line[0]}: {became}: {line[1]}",
        others=f"{path}: {became}: ",
    )


@main.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def collect(file: Path) -> None:
    """Record one collection occurrence: FILE is JSON, its artifacts are named by path beside it.

    Example: prazo collect answered.json
    """
    from pipeline.receive import collections

    seq, recorded = collections.collect_file(file, Settings.load(), recorded_by=user())
    say(f"{recorded}, entry {seq}")


@main.command()
@click.argument("given", nargs=-1, metavar="[SEQ | PATH=VALUE...]")
@click.option("--replay", is_flag=True, help="Read them again, after a fix.")
@click.option("--supply", type=int, metavar="SEQ", help="Read this one with what you supply.")
@click.option(
    "--encoding",
    metavar="NAME",
    help="Read SEQ as latin-1, windows-1252 or utf-16; its bytes stay.",
)
@click.option("--reason", default="", help="Why you know it; needed to supply, or for an encoding.")
@click.option("--actor", help="Who says so; needed likewise.")
@as_rows
def quarantine(
    given: Sequence[str],
    replay: bool,
    supply: int | None,
    encoding: str | None,
    reason: str,
    actor: str | None,
    form: str,
) -> None:
    """Show deliveries that could not be read; --replay reads them again, --supply completes one.

    A value is a text, or JSON where it is an array, an object, true or false. Where the bytes are
    in another encoding than UTF-8: prazo quarantine --encoding latin-1 17 --reason "..." --actor
    ana. Both may be needed for one delivery, and go into one command.

    Example: prazo quarantine --supply 17 payload.object.process_id=prc_9
    --reason "the platform's support named it" --actor ana
    """
    is_by_hand = supply is not None or encoding is not None
    if is_by_hand != bool(given) or (replay and is_by_hand):
        raise WrongUsage(
            "It is not clear what to do with the quarantine",
            remedy="give --replay alone, --supply SEQ with one PATH=VALUE or more, or"
            " --encoding NAME SEQ",
        )
    if form != "table" and (replay or is_by_hand):
        raise click.UsageError("--format is for the list of what is in quarantine")
    if is_by_hand:
        seq, parts = (_seq(given), {}) if supply is None else (supply, _parts(given))
        _supply(seq, parts, None if encoding is None else _encoding(encoding), reason, actor)
    elif replay:
        _replay()
    else:
        print_view("quarantine", form)


def _seq(given: Sequence[str]) -> int:
    if len(given) != 1 or not given[0].isdecimal():
        raise WrongUsage(
            "It is not clear which delivery is meant",
            remedy="give the seq of one: prazo quarantine --encoding NAME SEQ",
        )
    return int(given[0])


def _encoding(name: str) -> str:
    if (encoding := encoding_named(name)) is None:
        raise WrongUsage(
            f"The encoding {name!r} is not known", remedy=f"name {', '.join(ENCODINGS)}"
        )
    return encoding


def _parts(texts: Sequence[str]) -> dict[str, JsonValue]:
    parts: dict[str, JsonValue] = {}
    for path, value in map(_part, texts):
        if path in parts:
            raise WrongUsage(f"{path} is supplied twice", remedy="supply it once")
        parts[path] = value
    return parts


def _part(text: str) -> tuple[str, JsonValue]:
    path, equals, value = text.partition("=")
    if not path or not equals:
        raise WrongUsage(f"{text!r} supplies nothing", remedy="write it as PATH=VALUE")
    try:
        parsed = parse_json(value.encode())
    except Unreadable:
        return path, value
    return path, parsed if isinstance(parsed, list | dict | bool) else value


def _supply(
    seq: int,
    supplied: Mapping[str, JsonValue],
    encoding: str | None,
    reason: str,
    actor: str | None,
) -> None:
    from pipeline.inbox import Outcome
    from pipeline.log import deliveries
    from pipeline.log.kinds.quarantine import QUARANTINE

    with guarded_inbox(Settings.load()) as inbox:
        held = inbox.entry(seq) if 1 <= seq <= inbox.last()[0] else None
        if held is None or held.kind != QUARANTINE:
            raise CallerError(
                f"Entry {seq} is not a delivery in quarantine",
                remedy="`prazo quarantine` lists those that are",
            )
        drafts = deliveries.supply(
            held, supplied, encoding=encoding, reason=reason, actor=actor, recorded_by=user()
        )
        _, receipt = inbox.append(drafts)
    if receipt.outcome is not Outcome.RECORDED or receipt.entry is None:
        raise CallerError(
            f"Delivery {seq} was read before",
            "what was supplied or replayed then stands",
            "`prazo quarantine` says as which entry",
        )
    say(f"delivery {seq} is entry {receipt.entry.seq} now")


def _replay() -> None:
    from pipeline.inbox import Outcome
    from pipeline.log import deliveries
    from pipeline.log.kinds.quarantine import QUARANTINE
    from pipeline.log.kinds.supply import SUPPLY

    readable = still = 0
    with guarded_inbox(Settings.load()) as inbox:
        # A delivery that a person completed still cannot be read as it came: it is not counted.
        supplies = [it.received for it in inbox.find(kind=SUPPLY)]
        completed = {parse_json(it)["of"] for it in supplies if it is not None}
        seqs = [seq for (seq,) in inbox.query(_IN_ORDER, QUARANTINE)]
        for first in range(0, len(seqs), REPLAYED_AT_ONCE):
            some = seqs[first : first + REPLAYED_AT_ONCE]
            held = [it for it in map(inbox.entry, some) if it is not None and not it.is_erased]
            replays = [deliveries.replay(it, recorded_by=user()) for it in held]
            receipts = inbox.append([it for it in replays if it is not None])
            readable += sum(it.outcome is Outcome.RECORDED for it in receipts)
            still += sum(
                again is None and entry.seq not in completed
                for entry, again in zip(held, replays, strict=True)
            )
    say(f"{readable} replayed, {still} still cannot be read")
    sys.exit(1 if still else 0)
