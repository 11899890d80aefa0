"""Rebuilds a package's tables and reports from its entries, and compares each row.

This is what `prazo verify FILE` does in addition to `verify.py`, once that has found no fault. That
file proves that the entries are the log's and that nothing was changed since the export; this one
proves that the tables say what the entries say. It runs this release's own SQL, and nothing that
came with the package: where the package is another release's, its tables are named as not checked.
"""

import io
import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path, PurePath
from typing import IO, Any, Final

import duckdb

from pipeline import instants
from pipeline import verify as verifier
from pipeline.audit.package import report, tables
from pipeline.audit.package.masking import Masking
from pipeline.audit.package.screens import MAX_ENTRIES, MAX_TEXT_BYTES, Screen, screens_of
from pipeline.audit.package.tables import Selection
from pipeline.contract.events import read_event
from pipeline.ledger import facts
from pipeline.log.actors import in_bytes
from pipeline.log.commitments import pseudonym_in
from pipeline.log.entries import ARE_REMAINS, Entry
from pipeline.log.kinds import naming_artifacts
from pipeline.log.kinds.key_rotation import KEY_ROTATION
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.verify import (
    MAX_SECONDS,
    Fault,
    Late,
    Package,
    Verdict,
    limited,
    quoted,
    seconds_left,
    verify,
)

ENTRIES_PER_BATCH: Final = 2048
_KNOWN: Final = (
    *("seq", "kind", "event_id", "attempt_id", "process_id", "seller_id", "origin", "is_again"),
    *("occurred_at", "recorded_at", "status"),
)
"""Columns of facts that quote an entry. The status of an event is not the entry's."""
_SIZES: Final = ("body_size", "size_bytes")
"""Those that say how large the body was that came."""
_SAID: Final = (
    *("via", "marketplace_id", "idempotency_key", "timeout_seconds", "replay_of", "reason"),
)
"""Those that say what the entry's record says, beside when to try again and why there was no
answer."""
_OF_PAYLOAD: Final = ("body_size", "is_object", "payload_type")
_QUOTED_OF: Final = {
    "fact_webhooks": (*_KNOWN, "replay_of"),
    "fact_attempt_starts": (*_KNOWN, *_OF_PAYLOAD, *_SAID),
    "fact_attempt_finishes": (*_KNOWN, "error", "retry_after_at"),
    "fact_quarantined": (*_KNOWN, "size_bytes", "reason"),
    **{f"fact_{it}": _KNOWN[:-1] for it in ("reviews", "seller_events")},
}
_IN_PLACE_OF_HASHES: Final = "h" * 20
"""A word that makes no tax id with whatever stands beside it: it is longer than one."""
_COLUMNS: Final = {table: kind._fields for kind, table in facts.TABLES.items()}


def verify_package(
    path: Path,
    *,
    key: str | None = None,
    against: bytes | None = None,
    authority: str | None = None,
    policy: bytes | None = None,
    archives: Sequence[bytes] = (),
    seconds: float = MAX_SECONDS,
) -> Verdict:
    """Runs every check of `verify.py`; where none fails, rebuilds and compares the tables and
    reports, all within `seconds`.

    Raises `verify.Unusable` if `key` is not a key, or if the openssl command is missing.
    """
    with limited(seconds):
        verdict = verify(
            path, key, against, authority, policy=policy, archives=archives, seconds=seconds
        )
        if not verdict.faults:
            try:
                with Package(path) as package:
                    reproduce(package, verdict)
            except (Fault, Late) as fault:
                verdict.fault(f"the tables cannot be made again: {fault}")
            except Exception as error:  # any bytes at all end in a verdict, never in a traceback
                why = f"{type(error).__name__}: {quoted(error)}"
                verdict.fault(f"the tables cannot be made again: {why}")
    return verdict


def reproduce(package: Package, verdict: Verdict) -> None:
    """Adds to the verdict whether the package's tables and reports follow from its entries. The
    package must have passed `verify`.

    A malformed package may raise anything; `verify_package` reports it as a fault.
    """
    parameters = package.json("data/parameters.json")
    if parameters["software"] != tables.software():
        verdict.unchecked[:] = [it for it in verdict.unchecked if it != verifier.DERIVED]
        verdict.unchecked.append(
            f"{verifier.DERIVED}, and only that of the release which made the package, which calls"
            f" itself {quoted(parameters['software'])}, makes the same; this is {tables.software()}"
        )
        return
    if package.read("data/query.sql").decode("utf-8") != tables.query_file():
        raise Fault("query.sql is not that of the software which the package names")
    contents = package.json("data/contents.json")
    screens: dict[int, list[Screen]] = {}
    compared = _compare_tables(package, parameters, verdict, screens)
    count = len(tables.TABLES)
    verdict.passed(f"{compared} rows of {count} tables follow from the entries by query.sql")
    with ExitStack() as opened:
        rows = {it: opened.enter_context(closing(_rows(package, it))) for it in tables.TABLES}
        content = report.content(rows, parameters, contents, screens)
    for language, name in report.FILES.items():
        if (
            package.read(f"data/{name}", verifier.MAX_CELL)
            != report.render(content, language).encode()
        ):
            verdict.fault(f"{name} does not say what the tables say")
    verdict.passed("the reports say what the tables say, in each language")
    if package.read(report.START, verifier.MAX_CELL) != report.start(parameters).encode():
        verdict.fault(f"{report.START} does not say what the parameters say")
    if not verdict.faults:
        verdict.unchecked.remove(verifier.DERIVED)


def _rows(package: Package, name: str) -> Generator[dict[str, str]]:
    with (
        package.open(f"data/{name}") as file,
        io.TextIOWrapper(file, encoding="utf-8", newline="") as text,
    ):
        yield from tables.read_csv(text)


# --- entries ---------------------------------------------------------------------------------


def _compare_tables(
    package: Package,
    parameters: Mapping[str, Any],
    verdict: Verdict,
    screens: dict[int, list[Screen]],
) -> int:
    """Makes the tables again from the entries and compares them; how many rows match. `screens`
    gets the artifacts that the report names, by entry."""
    paths = {PurePath(it).stem: it for it in package.names if it.startswith("data/artifacts/")}
    is_full = parameters["profile"] == "full"
    seqs: list[int] = []
    processes: set[str] = set()
    data = {it for it in package.names if it.startswith("data/")}
    stated = verifier.Stated(package, data)
    with closing(tables.Facts(unmask=is_full)) as made, ExitStack() as opened:
        masked = None if is_full else opened.enter_context(closing(_Masked(package, verdict)))
        again = tables.Again()
        for batch in _batches(_entries(package)):
            marked = [again.marked(it) for it in batch]
            withheld = [it for it in marked if _is_withheld(it)]
            made.add(marked, {it.seq for it in withheld})
            _take_screens(package, paths, marked, screens)
            stated_now = _stated_of(withheld, stated, made)
            for table, rows in stated_now.items():
                made.state(table, rows)
            if masked is not None:
                masked.judge(marked, stated_now)
            seqs += [it.seq for it in marked]
            processes |= {it.process_id for it in marked if it.process_id is not None}
        scope = parameters["scope"]
        seller = None if "from" in scope else scope.get("seller")
        selection = Selection(
            as_of=instants.parse(parameters["as_of"]) or 0,
            entries=seqs,
            processes=sorted(processes),
            sellers=[] if seller is None else [seller],
            unmask=is_full,
        )
        try:
            derived = made.tables(selection, seconds_left())
        except duckdb.InterruptException:
            raise Late("its query took too long") from None
    not_of_log = parameters["not_of_log"]
    if masked is not None:
        verdict.passed("nothing is shown that the masked profile hides")
        verdict.unchecked.remove(verifier.MASKED)
    return sum(
        _compare(name, table, package, not_of_log.get(name, 0), verdict)
        for name, table in derived.items()
    )


class _Masked:
    """Judges whether a masked package shows what its profile hides: nobody who hands it on to
    somebody else would look for that."""

    def __init__(self, package: Package, verdict: Verdict) -> None:
        self._verdict = verdict
        if any(package.lines("data/names.ndjson", verifier.MAX_LEAF_BYTES)):
            verdict.fault("names.ndjson gives identifiers, which the masked profile hides")
        leaves = package.lines("data/leaves.ndjson", verifier.MAX_LEAF_BYTES)
        keys = {*verifier.IDENTIFIERS.values()}
        held = {name for it in leaves for key, name in json.loads(it).items() if key in keys}
        self._masking = Masking(b"package", held)
        self._stating = tables.Stating(
            tables.PUBLIC_KEYS,
            str,
            lambda text: _hidden(text, self._masking.word),
            lambda text: _hidden(text, self._masking.path),
        )

    def judge(
        self, entries: Sequence[Entry], stated: Mapping[str, Sequence[Sequence[Any]]]
    ) -> None:
        """Adds a fault to the verdict for each entry of which too much is shown. `stated`: by
        table, what is stated of those that are withheld."""
        for entry in entries:
            is_shown = entry.body is not None and entry.kind != KEY_ROTATION
            if is_shown and not self._masking.is_impersonal(entry):
                self._verdict.fault(f"entry {entry.seq}: the masked profile hides its body")
        for seq in sorted(self._stating.hides_of_records(entries)):
            self._verdict.fault(f"entry {seq}: the masked profile hides its record")
        lacking = {it.seq for it in entries if _lacks_record(it)}
        for table, rows in stated.items():
            lacking -= {row[0] for row in rows if _hides_of_record(table, row)}
        for seq in sorted(lacking):
            self._verdict.fault(f"entry {seq}: its record is withheld, and nothing of it is masked")
        for table, rows in stated.items():
            for seq in self._stating.hides_more_of(table, rows):
                file = f"data/stated/{facts.recorded_name(table)}.ndjson"
                self._verdict.fault(f"entry {seq}: the masked profile hides what {file} says")

    def close(self) -> None:
        """Gives back what it works in."""
        self._stating.close()


def _hides_of_record(table: str, row: Sequence[Any]) -> bool:
    """Whether what is stated of an attempt hides a part of what its record says."""
    said = dict(zip(_COLUMNS[table], row, strict=True))
    if table == "fact_attempt_finishes":
        return "***" in (said["error"] or "")
    words = (said.get(it) for it in tables.WORDS_OF_RECORDS)
    return any(verifier.HASHED.search(it or "") for it in words)


def _hidden(text: str, mask: Callable[[str], str]) -> str:
    """What stands for a text that a masked package shows: itself, where the hashes in it are all
    that had to be hidden."""
    left = verifier.HASHED.sub(_IN_PLACE_OF_HASHES, text)
    return text if mask(left) == left else mask(left)


def _take_screens(
    package: Package,
    paths: Mapping[str, str],
    batch: Iterable[Entry],
    screens: dict[int, list[Screen]],
) -> None:
    def read(digest: str) -> bytes | None:
        is_long = package.sizes[paths[digest]] > MAX_TEXT_BYTES
        return None if is_long else package.read(paths[digest])

    for entry in batch:
        if entry.kind not in naming_artifacts() or entry.body is None:
            continue
        if len(screens) >= MAX_ENTRIES:
            return
        found = screens_of(entry.body, paths.get, read)
        if found:
            screens[entry.seq] = found


def _batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(items)
    while batch := list(islice(iterator, ENTRIES_PER_BATCH)):
        yield batch


def _stated_of(
    withheld: Sequence[Entry], stated: verifier.Stated, made: tables.Facts
) -> dict[str, list[Sequence[Any]]]:
    """What is stated of withheld entries, by table; Fault where the log says something else."""
    found: dict[str, list[Sequence[Any]]] = {}
    said = (entry.particulars.get("error") for entry in withheld)
    errors = made.stated_errors({error for error in said if error is not None})
    for entry in withheld:
        known = _known_of(entry, errors)
        for name, line in stated.of(entry.seq, entry.kind, has_body=_lacks_body(entry)):
            table, row = f"fact_{name}", json.loads(line)
            quoted = _QUOTED_OF.get(table, _KNOWN)
            for column, value in zip(_COLUMNS[table], row, strict=True):
                is_quoted = column in quoted and column in known
                if is_quoted and (value or None) != (known[column] or None):
                    raise Fault(
                        f"data/stated/{facts.recorded_name(table)}.ndjson gives entry {entry.seq}"
                        f" another {column} than the log"
                    )
            found.setdefault(table, []).append(row)
    return found


def _known_of(entry: Entry, errors: Mapping[str, str]) -> dict[str, Any]:
    """What a withheld entry's leaf, and its record where that is shown, say of its facts, by
    column. `errors`: what is stated of each text in the place of a code."""
    known = {it: getattr(entry, it) for it in _KNOWN}
    if not _lacks_body(entry):
        return known | dict.fromkeys(_OF_PAYLOAD)
    if _lacks_record(entry):  # it may say that its body is what stays of the one that came
        return known
    said = entry.particulars
    if not said.get(ARE_REMAINS):
        known |= dict.fromkeys(_SIZES, json.loads(entry.leaf)["body_size"])
    known |= {it: said.get(it) for it in _SAID}
    known["retry_after_at"] = instants.parse(said.get("retry_after_at"))
    known["error"] = errors.get(said.get("error") or "")
    return known


def _is_withheld(entry: Entry) -> bool:
    return _lacks_body(entry) or _lacks_record(entry)


def _lacks_body(entry: Entry) -> bool:
    return entry.body is None and b'"body_commitment":' in entry.leaf


def _lacks_record(entry: Entry) -> bool:
    return entry.record is None and b'"record_digest":' in entry.leaf


def _entries(package: Package) -> Iterator[Entry]:
    """The entries that entries.csv lists, with everything that the package shows of them."""
    pairs = package.lines("data/names.ndjson", verifier.MAX_LEAF_BYTES)
    names = dict(map(json.loads, pairs))
    people = verifier.read_people(package)
    leaves = package.lines("data/leaves.ndjson", verifier.MAX_LEAF_BYTES)
    records = package.lines("data/records.ndjson", verifier.MAX_PARSED_BODY_BYTES)
    rotations = {it["seq"] for it in package.json("data/rotations.json")}
    with closing(_Bodies(package)) as bodies, closing(_rows(package, tables.QUOTES)) as listed:
        wanted = next(listed, None)
        for data in leaves:
            leaf = json.loads(data)
            is_listed = wanted is not None and wanted["seq"] == str(leaf["seq"])
            if not (is_listed or leaf["seq"] in rotations):
                continue  # another's leaf, or the export, whose record and body are the last
            record = next(records) if "record_digest" in leaf else None
            if record == verifier.NO_RECORD:
                record = None
            body = bodies.of(leaf["seq"]) if "body_commitment" in leaf else None
            if is_listed:
                wanted = next(listed, None)
                yield _named(_entry(leaf, data, record, body, names), people)


def _named(entry: Entry, people: Mapping[str, tuple[str, bytes]]) -> Entry:
    pseudonym = pseudonym_in(entry)
    if pseudonym is None:
        return entry
    name, salt = people[pseudonym]
    return entry._replace(pseudonym=pseudonym, person=in_bytes(name), person_salt=salt)


class _Bodies:
    """The bodies of a package, in order."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._rows = package.lines("data/bodies.csv", verifier.PIECE)
        next(self._rows)  # the columns
        self._name = ""
        self._file: IO[bytes] = io.BytesIO()

    def of(self, seq: int) -> bytes | None:
        """The body of the next entry that has one; None if it is withheld."""
        stated, _, file, _, size, withheld = next(self._rows).decode("utf-8").split(",")
        if stated != str(seq):
            raise Fault(f"bodies.csv has no row for entry {seq} in its place")
        if withheld:
            return None
        if file != self._name:
            self.close()
            self._name, self._file = file, self._package.open(file)
        body = self._file.read(int(size))
        self._file.read(1)
        return body

    def close(self) -> None:
        """Closes the file that is open."""
        self._file.close()


def _entry(
    leaf: Mapping[str, Any],
    data: bytes,
    record: bytes | None,
    body: bytes | None,
    names: Mapping[str, str],
) -> Entry:
    def named(key: str) -> str | None:
        name = leaf.get(key)
        return None if name is None else names.get(name, name)

    entry = Entry(
        seq=leaf["seq"],
        kind=leaf["kind"],
        occurred_at=instants.parse(leaf["occurred_at"]) or 0,
        recorded_at=instants.parse(leaf["recorded_at"]) or 0,
        origin=leaf["origin"],
        recorded_by=leaf["recorded_by"],
        event_id=named("event_id"),
        attempt_id=named("attempt_id"),
        process_id=named("process_stream"),
        seller_id=named("seller_stream"),
        status=leaf.get("status"),
        process_n=leaf.get("process_n"),
        process_prev=leaf.get("process_prev"),
        seller_n=leaf.get("seller_n"),
        seller_prev=leaf.get("seller_prev"),
        is_again=False,
        record=record,
        body=body,
        salt=None if body is None else b"",  # none is needed: it was checked against its leaf
        leaf=data,
        pseudonym=None,
        person=None,
        person_salt=None,
        ingest_key=None,
    )
    if entry.kind == WEBHOOK and body is not None:
        event = read_event(body)
        if (event.process_id, event.seller_id) != (entry.process_id, entry.seller_id):
            raise Fault(
                f"entry {entry.seq} is filed under another process or seller than its body names"
            )
    return entry


# --- tables ----------------------------------------------------------------------------------


def _compare(name: str, table: Any, package: Package, not_of_log: int, verdict: Verdict) -> int:
    """Compares one table with the rows that follow from the entries; returns how many match."""
    is_quote = name == tables.QUOTES
    columns = table.column_names
    expected = columns if is_quote else [*columns, tables.BASIS]
    unmatched = Counter(row for rows in tables.rows_of(table) for row in rows)
    matched = of_log = 0
    for number, row in enumerate(_rows(package, name), start=1):
        if list(row) != expected:
            verdict.fault(f"{name} has other columns than its query")
            return matched
        basis = tables.OF_PACKAGE if is_quote else row[tables.BASIS]
        if basis == tables.OF_LOG:
            of_log += 1
            continue
        values = tuple(row[column] for column in columns)
        if basis == tables.OF_PACKAGE and unmatched[values] > 0:
            unmatched[values] -= 1
            matched += 1
        else:
            verdict.fault(f"{name}: row {number} does not follow from the entries")
    left = sum(unmatched.values())
    if left != (0 if is_quote else not_of_log):
        verdict.fault(f"{name} lacks rows that follow from the entries: {left}")
    if of_log or left:
        verdict.unchecked.append(
            f"{name}: {of_log} rows that rest on what is not in the package, and the absence of"
            f" {left} to which its entries alone would lead: the exporter's word"
        )
    return matched
