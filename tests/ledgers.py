"""Real ledgers for tests: histories of NDJSON occurrences through a real inbox into DuckDB."""

import contextlib
import itertools
import json
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline import facts, instants, occurrences
from pipeline.errors import Unreadable
from pipeline.inbox import open_inbox
from pipeline.ledger import Ledger
from pipeline.occurrences import Draft
from pipeline.views import Reader

KEYS = facts.Keys(values=b"v" * 32, taxpayer=b"t" * 32)


def draft(line: dict[str, Any]) -> Draft | None:
    """The draft of a line; one with `origin: live` becomes what a live occurrence would be."""
    content = {name: it for name, it in line.items() if name not in ("origin", "recorded_at")}
    try:
        ingested = occurrences.read_line(
            json.dumps(content, ensure_ascii=False).encode(), recorded_by="file"
        )
    except Unreadable:
        return None
    if line.get("origin") != "live":
        return ingested
    particulars = dict(ingested.particulars)
    if "via" in particulars:
        particulars["via"] = line.get("via", "api")
    if "replay_of" in line:
        particulars["replay_of"] = line["replay_of"]
    return Draft(
        **{
            name: getattr(ingested, name)
            for name in Draft.__slots__
            if name not in ("origin", "ingest_key", "particulars")
        },
        particulars=particulars,
        origin="live",
    )


@contextlib.contextmanager
def ledger_of(history: Sequence[dict[str, Any]]) -> Iterator[Reader]:
    """A reader over a ledger that holds the history, recorded in the order of its lines."""
    with tempfile.TemporaryDirectory(prefix="prazo-") as folder:
        inbox = open_inbox(Path(folder) / "inbox.db")
        ledger = Ledger(None, log=inbox.log, keys=KEYS, memory="512MB", threads=1)
        try:
            for recorded_at, lines in itertools.groupby(history, recorded_at_of):
                if recorded_at is not None:
                    inbox.clock = lambda instant=recorded_at: instant
                inbox.append([it for it in map(draft, lines) if it is not None])
            while entries := inbox.read(ledger.size, 4096):
                ledger.append(entries)
            yield Reader(ledger)
        finally:
            ledger.close()
            inbox.close()


def recorded_at_of(line: dict[str, Any]) -> int | None:
    return instants.parse(line.get("recorded_at", line.get("occurred_at")))


def rows(reader: Reader, view: str, as_of: datetime | None = None) -> list[dict[str, Any]]:
    """The rows of a view as plain Python, at a naive UTC instant."""
    instant = None if as_of is None else instants.from_datetime(as_of.replace(tzinfo=UTC))
    return reader.read(view, as_of=instant).to_pylist()
