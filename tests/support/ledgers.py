"""Real ledgers for tests: histories of NDJSON occurrences through a real inbox into DuckDB."""

import contextlib
import heapq
import itertools
import json
import math
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

import pytest

from pipeline import instants
from pipeline.contract.body import canonical_json
from pipeline.errors import Unreadable
from pipeline.inbox import open_inbox
from pipeline.ledger import facts, materialized, refresh
from pipeline.ledger.earlier_instants import EarlierInstants
from pipeline.ledger.store import Ledger
from pipeline.ledger.views.catalogue import script
from pipeline.ledger.views.reader import Reader
from pipeline.log.entries import LIVE, Draft, Entry
from pipeline.log.kinds.clearance import CLEARANCE
from pipeline.log.kinds.export import EXPORT
from pipeline.log.kinds.forwarding import FORWARDING
from pipeline.log.kinds.restoration import RESTORATION
from pipeline.log.kinds.search import SEARCH
from pipeline.log.kinds.unmask import UNMASK
from pipeline.log.ndjson import read_line
from tests.support import oracle
from tests.support.oracle.model import entries

KEYS = facts.Keys(values=b"v" * 32, taxpayer=b"t" * 32)

_OURS: Final = (FORWARDING, CLEARANCE, RESTORATION, UNMASK, SEARCH, EXPORT)


def draft(line: dict[str, Any]) -> Draft | None:
    """The draft of a line; a line with `origin: live` gives what a live occurrence would."""
    if line["kind"] in _OURS:  # no file says what we record alone
        return Draft(
            line["kind"],
            instants.parse(line["occurred_at"]) or 0,
            "prazo",
            canonical_json(line["body"]),
            process_id=line.get("process_id"),
            seller_id=line.get("seller_id"),
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


def said_in(entry: Entry) -> dict[str, Any]:
    """What the body of an entry says, with the name of whoever answers for it."""
    said: dict[str, Any] = json.loads(entry.body or b"")
    assert said.get("actor") == entry.pseudonym
    return said if entry.pseudonym is None else said | {"actor": entry.name}


class Step(NamedTuple):
    """One batch of a ledger that is filled, and what happens around it."""

    entries: int
    may_wait: bool = False
    """All its materialized rows may, until somebody reads."""
    more_follow: bool = False
    """Rows of processes may wait for a later batch, if one follows."""
    is_read_after: bool = False
    is_opened_again_before: bool = False
    asked_at: datetime | None = None
    """An instant that somebody asks about afterwards."""


@contextlib.contextmanager
def ledger_of(history: Sequence[dict[str, Any]], steps: Iterable[Step] = ()) -> Iterator[Reader]:
    """A reader over a ledger that holds the history, recorded in the order of its lines. `steps`:
    how the first entries come into it; the others follow in one batch.

    One ledger in memory serves them all, emptied in between: to make the views takes far longer
    than to fill it. So only one is open at a time.
    """
    ledger, reader = _shared()
    _let_go(ledger)
    assert ledger.size == 0, "another one is open"
    try:
        _fill(ledger, history, steps)
        yield reader
    finally:
        _empty(ledger)


_STANDING: dict[str, list[dict[str, Any]]] = {}
"""The history that the shared ledger holds for whoever asks about it next, if it holds any: as it
is written -> as it was recorded."""


def asked(
    history: Sequence[dict[str, Any]], view: str, as_of: datetime | None = None
) -> list[dict[str, Any]]:
    """The rows of a view over a history, which the oracle must give too where it knows the view: so
    what a test expects, written by hand, is asked of both. The history stays in the ledger until
    another one is asked about, since many tests ask about one at several instants."""
    as_of = as_of or datetime.now(UTC).replace(tzinfo=None)
    if isinstance(history, History):
        found = history.world.rows_of(history.number, view, as_of)
        recorded, elsewhere = list(history), OF_THE_WHOLE_LOG
    else:
        reader = standing(history)
        # To make an earlier instant's rows costs more than they save who asks for few views of it.
        # tests/ledger/test_earlier_instants.py and random histories ask by way of them.
        with mock.patch.object(EarlierInstants, "show", return_value=False):
            found = rows(reader, view, as_of)
        recorded, elsewhere = _STANDING[repr(list(history))], set()
    if view in oracle.VIEWS:
        expected = oracle.rows(view, recorded, as_of)
        comparable = [
            [row for row in table if row.get("rule") not in elsewhere]
            for table in (found, expected)
        ]
        assert_same(view, *comparable)
    return found


OF_THE_WHOLE_LOG: Final = {"new_code", "tls_refused", "unauthorized"}
"""Rules of findings by which one history of a `World` says something of another."""


FOREVER: Final = datetime(2200, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def as_recorded(history: Sequence[dict[str, Any]], reader: Reader) -> list[dict[str, Any]]:
    """The lines that the ledger holds, each with the instant at which it was recorded really."""
    recorded_at = {row["seq"]: row["recorded_at"] for row in rows(reader, "timeline", FOREVER)}
    return [
        {**entry.line, "recorded_at": recorded_at[entry.seq].isoformat()}
        for entry in entries(history)
    ]


def assert_same(view: str, found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Row by row in an order of their own, on the columns that both have.

    For a body that cannot be read, each parser may use its own words.
    """
    assert len(found) == len(expected), (view, found, expected)
    if not found:
        return
    columns = set(found[0]) & set(expected[0])
    if view == "quarantine":
        columns -= {"reason"}

    def plain(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
        chosen = [{name: row[name] for name in columns} for row in table]
        for row in chosen:
            if row.get("rule") == "quarantined":
                row["detail"] = ""
        return sorted(chosen, key=lambda row: [repr(row[name]) for name in sorted(row)])

    ours, theirs = plain(found), plain(expected)
    alone = [row for row in ours if row not in theirs], [row for row in theirs if row not in ours]
    assert ours == theirs, f"{view}: rows of the view alone, and of the oracle alone: {alone}"


def standing(history: Sequence[dict[str, Any]]) -> Reader:
    """A reader over a history, for tests that change nothing in the ledger. The history stays there
    until another one is asked about."""
    ledger, reader = _shared()
    wanted = repr(list(history))
    if wanted not in _STANDING:
        _let_go(ledger)
        assert ledger.size == 0, "a test has it open by `ledger_of`"
        _fill(ledger, history, ())
        _STANDING[wanted] = as_recorded(history, reader)
    return reader


class History(list[dict[str, Any]]):
    """The lines of one history of a `World`. `asked` about it gives only its own rows."""

    def __init__(self, lines: Iterable[dict[str, Any]], world: "World", number: int) -> None:
        super().__init__(lines)
        self.world, self.number = world, number


class World:
    """Histories side by side in one ledger: filling a ledger for each would take far longer.

    Each has ids of its own there (`p1~7` for the `p1` of the seventh), so that none says anything
    of another, and rows about it come back with the ids and places that its lines have. A module
    makes one and adds all its histories before its first test runs. What is about no process, no
    seller and no entry, or looks at all of the log, needs a ledger of its own. Codes, tax ids and
    digests of artifacts stay as they are: histories with the same one do tell of each other.
    """

    def __init__(self) -> None:
        self._histories: list[History] = []
        self._found: dict[tuple[str, datetime | None], list[dict[str, Any]]] = {}

    def add(self, *lines: dict[str, Any]) -> History:
        assert not self._found, "it was asked already"
        history = History(lines, self, len(self._histories))
        self._histories.append(history)
        return history

    def given(
        self, *lines: dict[str, Any], **others: Sequence[dict[str, Any]]
    ) -> pytest.MarkDecorator:
        """Adds histories for one test: the lines, which it has as `history`, and named ones."""
        named = {"history": lines, **others} if lines else others
        histories = [self.add(*of_it) for of_it in named.values()]
        return pytest.mark.parametrize(tuple(named), [histories], ids=["alone"])

    def rows_of(self, number: int, view: str, as_of: datetime | None) -> list[dict[str, Any]]:
        if (view, as_of) not in self._found:
            self._found[view, as_of] = asked([line for _, line in self._lines], view, as_of)
        of_each = ((self._number_of(row), row) for row in self._found[view, as_of])
        return [self._as_added(row) for of, row in of_each if of == number]

    @cached_property
    def _lines(self) -> list[tuple[int, dict[str, Any]]]:
        """In the order of recording, each with the number of its history."""
        lines = heapq.merge(*map(_in_order, self._histories), key=lambda line: line[:2])
        return [(number, line) for _, number, line in lines]

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        """The history of each entry, and the entry's place in it."""
        places: dict[int, tuple[int, int]] = {}
        counts = [0] * len(self._histories)
        for seq, number in enumerate((of for of, line in self._lines if draft(line)), start=1):
            counts[number] += 1
            places[seq] = number, counts[number]
        return places

    def _number_of(self, row: Mapping[str, Any]) -> int:
        marks = _MARK.findall(f"{row.get('process_id')} {row.get('seller_id')}")
        return int(marks[0]) if marks else self._places[row["seq"]][0]

    def _as_added(self, row: Mapping[str, Any]) -> dict[str, Any]:
        places = {
            name: self._places[row[name]] for name in row if name.endswith("seq") and row[name]
        }
        assert {of for of, _ in places.values()} <= {self._number_of(row)}, row
        return {**_unmarked(row), **{name: place for name, (_, place) in places.items()}}


_IDS = {
    *("id", "process_id", "customer_id", "seller_id", "attempt_id", "journey_id"),
    *("idempotency_key", "message_id"),
}
_MARK = re.compile(r"~(\d+)")


def _in_order(history: History) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Its lines with ids of its own, and the time of the log at which each comes at the latest."""
    latest = 0
    for line in history:
        latest = max(latest, recorded_at_of(line) or 0)
        yield latest, history.number, _marked(line, f"~{history.number}")


def _marked(value: Any, mark: str) -> Any:
    if isinstance(value, list):
        return [_marked(it, mark) for it in value]
    if not isinstance(value, dict):
        return value
    return {
        name: part + mark if name in _IDS and isinstance(part, str) else _marked(part, mark)
        for name, part in value.items()
    }


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(it) for it in value]
    if isinstance(value, dict):
        return {name: _unmarked(it) for name, it in value.items()}
    return _MARK.sub("", value) if isinstance(value, str) else value


def _let_go(ledger: Ledger) -> None:
    if _STANDING:
        _STANDING.clear()
        _empty(ledger)


def _fill(ledger: Ledger, history: Sequence[dict[str, Any]], steps: Iterable[Step]) -> None:
    with tempfile.TemporaryDirectory(prefix="prazo-") as folder:
        path = Path(folder) / "inbox.db"
        path.write_bytes(_new_inbox())
        inbox = open_inbox(path)
        try:
            for recorded_at, lines in itertools.groupby(history, recorded_at_of):
                if recorded_at is not None:
                    inbox.clock = lambda instant=recorded_at: instant
                inbox.append([it for it in map(draft, lines) if it is not None])
            for step in steps:
                more_follow = step.more_follow and ledger.size + step.entries < inbox.last()[0]
                ledger.asked_at = -math.inf  # anyone who asked did so in another test
                if step.is_opened_again_before:
                    ledger._load_position()
                if entries := inbox.read(ledger.size, step.entries):
                    batch = ledger.batch(entries)
                    ledger.append(batch, more_follow=more_follow, may_wait=step.may_wait)
                if step.is_read_after:
                    ledger.settle()
                if step.asked_at is not None:
                    rows(Reader(ledger), "watchlist", step.asked_at)
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
        "ingest_keys",
        "tree_heads",
        "tree_nodes",
        *facts.TABLES.values(),
        *materialized.tables(),
    ):
        cursor.execute(f"delete from {table}")
    cursor.execute("insert into kept_watermark values (0, 0, '-infinity')")
    cursor.execute(script("guards"))
    ledger._load_position()


def recorded_at_of(line: dict[str, Any]) -> int | None:
    return instants.parse(line.get("recorded_at", line.get("occurred_at")))


def rows(reader: Reader, view: str, as_of: datetime | None = None) -> list[dict[str, Any]]:
    """The rows of a view as plain Python, at a naive UTC instant."""
    instant = None if as_of is None else instants.from_datetime(as_of.replace(tzinfo=UTC))
    return reader.read(view, as_of=instant).to_pylist()


def materialized_rows(ledger: Ledger) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of each table, once none waits."""
    ledger.settle()
    return {
        table: ledger.cursor().execute(f"from {table} order by all").fetchall()
        for table in materialized.tables()
    }


def renewed_in_large_batches(many: int = 0) -> contextlib.AbstractContextManager[object]:
    """For the block, more rows than so many are renewed as in a large batch."""
    return mock.patch.object(refresh, "MANY", many)
