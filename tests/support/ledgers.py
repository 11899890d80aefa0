"""Real ledgers for tests: histories of NDJSON occurrences through a real inbox into DuckDB."""

import contextlib
import itertools
import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from pipeline import instants
from pipeline.clearance.clearances import CLEARANCE
from pipeline.contract.body import canonical_json
from pipeline.errors import Unreadable
from pipeline.inbox import open_inbox
from pipeline.ledger import facts, materialized
from pipeline.ledger.catalogue import script
from pipeline.ledger.reader import Reader
from pipeline.ledger.store import Ledger
from pipeline.log.entries import FORWARDING, LIVE, Draft
from pipeline.log.ndjson import read_line

KEYS = facts.Keys(values=b"v" * 32, taxpayer=b"t" * 32)


def draft(line: dict[str, Any]) -> Draft | None:
    """The draft of a line; one with `origin: live` becomes what a live occurrence would be."""
    if line["kind"] in (FORWARDING, CLEARANCE):  # no file says that; the product records it
        return Draft(
            line["kind"],
            instants.parse(line["occurred_at"]) or 0,
            "prazo",
            canonical_json(line["body"]),
        )
    content = {name: it for name, it in line.items() if name not in ("origin", "recorded_at")}
    try:
        ingested = read_line(json.dumps(content, ensure_ascii=False).encode(), recorded_by="file")
    except Unreadable:
        return None
    if line.get("origin") != "live":
        return ingested
    particulars = dict(ingested.particulars)
    if "via" in particulars:
        particulars["via"] = line.get("via", "api")
    if "replay_of" in line:
        particulars["replay_of"] = line["replay_of"]
    if "retry_after_at" in line:
        particulars["retry_after_at"] = line["retry_after_at"]
    return ingested._replace(origin=LIVE, ingest_key=None, particulars=particulars)


@contextlib.contextmanager
def ledger_of(
    history: Sequence[dict[str, Any]], batches: Iterable[tuple[int, bool]] = ()
) -> Iterator[Reader]:
    """A reader over a ledger that holds the history, recorded in the order of its lines.

    `batches`: sizes of the first ones, and whether rows of processes may wait, while anything
    follows. All rows of every second size may wait until somebody asks; after every third size
    somebody does, and before every fifth the ledger is opened again.

    One ledger in memory serves them all, emptied in between: to make the views takes far longer
    than to fill it. So only one is open at a time.
    """
    ledger, reader = _shared()
    _let_go(ledger)
    try:
        _fill(ledger, history, batches)
        yield reader
    finally:
        _empty(ledger)


_STANDING: list[str] = []
"""The history that the shared ledger holds for whoever asks about it next, if it holds any."""


def asked(
    history: Sequence[dict[str, Any]], view: str, as_of: datetime | None = None
) -> list[dict[str, Any]]:
    """The rows of a view over a history, which stays in the ledger until another one is asked
    about: many tests ask about one at several instants."""
    ledger, reader = _shared()
    wanted = repr(list(history))
    if [wanted] != _STANDING:
        _let_go(ledger)
        assert ledger.size == 0, "a test has it open by `ledger_of`"
        _fill(ledger, history, ())
        _STANDING[:] = [wanted]
    return rows(reader, view, as_of)


def _let_go(ledger: Ledger) -> None:
    if _STANDING:
        _STANDING.clear()
        _empty(ledger)


def _fill(
    ledger: Ledger, history: Sequence[dict[str, Any]], batches: Iterable[tuple[int, bool]]
) -> None:
    with tempfile.TemporaryDirectory(prefix="prazo-") as folder:
        path = Path(folder) / "inbox.db"
        path.write_bytes(_new_inbox())
        inbox = open_inbox(path)
        try:
            for recorded_at, lines in itertools.groupby(history, recorded_at_of):
                if recorded_at is not None:
                    inbox.clock = lambda instant=recorded_at: instant
                inbox.append([it for it in map(draft, lines) if it is not None])
            for size, waits in batches:
                more_follow = waits and ledger.size + size < inbox.last()[0]
                ledger.asked_at = -math.inf  # whoever asked did so in another test
                if size % 5 == 0:
                    ledger._load_position()
                if entries := inbox.read(ledger.size, size):
                    batch = ledger.batch(entries)
                    ledger.append(batch, more_follow=more_follow, may_wait=size % 2 == 0)
                if size % 3 == 0:
                    ledger.settle()
            while entries := inbox.read(ledger.size, 4096):
                ledger.append(ledger.batch(entries))
        finally:
            inbox.close()


@cache
def _new_inbox() -> bytes:
    """The file of an inbox without entries, which takes several times as long to make."""
    with tempfile.TemporaryDirectory(prefix="prazo-") as folder:
        path = Path(folder) / "inbox.db"
        open_inbox(path).close()
        return path.read_bytes()


@cache
def _shared() -> tuple[Ledger, Reader]:
    ledger = Ledger(None, log="tests", keys=KEYS, memory="512MB", threads=1)
    return ledger, Reader(ledger)


def end() -> None:
    """Closes the one ledger; the next history has another."""
    ledger, _ = _shared()
    ledger.close()
    _shared.cache_clear()


def _empty(ledger: Ledger) -> None:
    cursor = ledger.cursor()
    cursor.execute("drop trigger if exists log_no_update on log")
    cursor.execute("drop trigger if exists log_no_delete on log")
    for table in (
        "log",
        "tree_heads",
        "tree_nodes",
        *facts.TABLES.values(),
        *materialized.tables(),
    ):
        cursor.execute(f"delete from {table}")
    cursor.execute("insert into materialized.watermark values (0, 0, '-infinity')")
    cursor.execute(script("guards"))
    ledger._load_position()


def recorded_at_of(line: dict[str, Any]) -> int | None:
    return instants.parse(line.get("recorded_at", line.get("occurred_at")))


def rows(reader: Reader, view: str, as_of: datetime | None = None) -> list[dict[str, Any]]:
    """The rows of a view as plain Python, at a naive UTC instant."""
    instant = None if as_of is None else instants.from_datetime(as_of.replace(tzinfo=UTC))
    return reader.read(view, as_of=instant).to_pylist()
