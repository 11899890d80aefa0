"""Prepares a package: all that the export's own entry fixes, as drafts in a folder.

scope -> entries -> what is disclosed, what is withheld -> tables -> reports
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipeline import instants
from pipeline.audit import drawing
from pipeline.audit.package import entry_files, report, tables
from pipeline.audit.package.disclosure import Artifacts, Disclosure
from pipeline.audit.package.drafts import Reading, TableFiles
from pipeline.audit.package.tables import Selection
from pipeline.audit.request import Request
from pipeline.continuity import earlier
from pipeline.continuity.service import LedgerService
from pipeline.contract.body import canonical_json
from pipeline.errors import CallerError
from pipeline.http import addresses
from pipeline.inbox.artifacts import artifact_store
from pipeline.ledger.store import Ledger
from pipeline.log.checkpoints import Checkpoint
from pipeline.verify import FORMAT, MAX_BETWEEN

VERIFIER: Final = Path(__file__).parents[2] / "verify.py"
NEWEST_EARLIER: Final = 256
"""A package proves that the log continues this many of the newest checkpoints, and as many of the
older ones, evenly spread. `against` asks for any other."""

OnProgress = Callable[[str, int, int], None]
"""(what is being done, how many are done, how many there are)"""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that the export's entry fixes: the files by path, and what is disclosed."""

    files: Mapping[str, bytes | Path]
    artifacts: Artifacts
    seqs: Sequence[int]
    disclosure: Disclosure
    parameters: Mapping[str, Any]
    process_n: int | None  # of the newest entry in the process that it is about
    of_seller: Sequence[int]
    """All entries of the seller that it is about. Of a period of theirs, the leaves of the others
    show that these occurred at another time."""

    @property
    def digest(self) -> str:
        """SHA-256 in hex over the digests of all files and artifacts, as the entry names it."""
        digests = {name: _sha256(content) for name, content in self.files.items()}
        digests |= {name: digest for digest, name in self.artifacts.names.items()}
        lines = (f"{digests[it]}  {it}\n" for it in sorted(digests))
        return _sha256("".join(lines).encode())


def nothing_in_scope() -> CallerError:
    """The error where no entry of the log is in a scope."""
    return CallerError(
        "There is nothing to export",
        "no entry of the log is in this scope",
        "check the id, or the ends of the period",
    )


def prepare(
    service: LedgerService, request: Request, folder: Path, on_progress: OnProgress
) -> Prepared:
    """Reads the entries of the scope and writes drafts of all files into `folder`.

    Raises `CallerError` where nothing is in the scope.
    """
    on_progress("reading the log", 0, 1)
    service.reach(service.inbox.last()[0])
    ledger, scope = service.ledger, request.scope
    size, as_of = ledger.size, service.now()
    condition, values = scope.condition
    asked = f"seq <= ? and {condition}", [size, *values]
    seqs = ledger.seqs(*asked)
    if not seqs:
        raise nothing_in_scope()
    disclosure = Disclosure(
        request,
        service.inbox.log_key,
        _named(ledger, ["event_id"], *asked),
        _named(ledger, ["attempt_id", "process_id", "seller_id"], *asked),
        _journeys(ledger, *asked) if request.profile == "masked" else (),
    )
    artifacts = Artifacts(artifact_store(service.settings, service.inbox))
    with ExitStack() as opened:
        files = TableFiles(folder)
        facts = opened.enter_context(closing(tables.Facts(unmask=request.profile == "full")))
        read = Reading(service, disclosure, artifacts, facts, files)
        opened.enter_context(closing(read))
        for batch in entry_files.batches_of(ledger, seqs):
            read.take(batch)
            on_progress("reading the log", read.taken, len(seqs))
        on_progress("working out the tables", 0, 1)
        selection = Selection(
            as_of=as_of,
            entries=seqs,
            processes=_distinct(disclosure.new_name(it) for it in read.processes),
            sellers=_distinct([disclosure.new_name(None if scope.is_period else scope.seller_id)]),
            unmask=request.profile == "full",
        )
        derived = facts.tables(selection)
    not_of_log = files.write(service, read.replaced(), read.reworded(), derived, selection)
    keys = service.signing.known()
    parameters = {
        "actor": request.actor,
        "as_of": instants.readable(as_of),
        "contact": service.settings.audit_contact or "",
        "earlier": _earlier(service, size, request),
        "format": FORMAT,
        "key": str(keys.current) if keys else "",
        "log": service.inbox.log,
        "log_size": size,
        "not_of_log": not_of_log,
        "profile": request.profile,
        "range": _range(ledger, request, size, len(seqs)),
        "reason": request.reason,
        "rows": files.rows,
        "scope": scope.named(disclosure.replaced),
        "software": tables.software(),
        "timestamp_authority": addresses.shown(service.settings.timestamp_url),
        "totals": files.totals,
    }
    return Prepared(
        _data(parameters, read, files, disclosure, artifacts),
        artifacts,
        seqs,
        disclosure,
        parameters,
        read.last_process_n,
        ledger.seqs("seller_id = ? and seq <= ?", [scope.seller_id, size]),
    )


def _data(
    parameters: Mapping[str, Any],
    read: Reading,
    files: TableFiles,
    disclosure: Disclosure,
    artifacts: Artifacts,
) -> dict[str, bytes | Path]:
    """The files of the package by path: tables, what they were made with, reports, the verifier."""
    contents = {
        "withheld": read.withheld_by_kind(),
        "withheld_artifacts": artifacts.missing,
        "withheld_records": read.without_record_by_kind(),
    }
    names = sorted(disclosure.restored.items())
    with ExitStack() as opened:
        rows = {it: tables.read_csv(opened.enter_context(files.open(it))) for it in files.rows}
        content = report.content(rows, parameters, contents, artifacts.screens)
    return {
        **files.paths,
        "data/contents.json": canonical_json(contents),
        "data/names.ndjson": b"".join(canonical_json(list(pair)) + b"\n" for pair in names),
        "data/parameters.json": canonical_json(parameters),
        "data/query.sql": tables.query_file().encode(),
        "verify.py": VERIFIER.read_bytes(),
        report.START: report.start(parameters).encode(),
        **{
            f"data/{name}": report.render(content, language).encode()
            for language, name in report.FILES.items()
        },
    }


def _named(
    ledger: Ledger, columns: Sequence[str], condition: str, parameters: Sequence[object]
) -> set[str]:
    """All ids in these columns of the entries of a condition on `log`."""
    sql = f"select distinct unnest([{', '.join(columns)}]) from log where {condition}"
    rows = ledger.cursor().execute(sql, parameters).fetchall()
    return {name for (name,) in rows if name is not None}


def _journeys(ledger: Ledger, condition: str, parameters: Sequence[object]) -> list[str]:
    """All ids of journeys in these entries."""
    sql = f"""
        select distinct journey_id from fact_collections
        where seq in (select seq from log where {condition}) and journey_id is not null
        order by all"""
    return [name for (name,) in ledger.cursor().execute(sql, parameters).fetchall()]


def _range(ledger: Ledger, request: Request, size: int, entries: int) -> list[int] | None:
    """The first and the last seq of a range whose leaves are all in the package, so that nothing of
    its scope can be left out. Of a period: from the last entry that was recorded before it to the
    end of the log, or, where that is far, to the first that was recorded behind it. Of a process or
    seller: from its newest entry to the end of the log; None where that is far, and in a masked
    package, which says nothing of others. `MAX_BETWEEN` leaves are far: 10,000 take 0.6 MB, and
    0.3 s of CPU to write."""
    scope = request.scope
    if scope.stream is not None:
        if request.profile == "masked":
            return None
        of_it = f"{scope.stream} = ? and seq <= ?"
        newest = ledger.newest(of_it, [getattr(scope, scope.stream), size]) or size
        return [newest, size] if size - newest <= MAX_BETWEEN else None
    recorded = "epoch_us(recorded_at)"
    before = ledger.newest(f"{recorded} < ? and seq <= ?", [scope.since, size]) or 1
    if size - before <= MAX_BETWEEN + entries:
        return [before, size]
    within = ledger.newest(f"{recorded} < ? and seq <= ?", [scope.until, size]) or before
    return [before, min(within + 1, size)]


def _earlier(service: LedgerService, size: int, request: Request) -> list[list[Any]]:
    """(size, root in hex) of each earlier checkpoint that the package proves to continue."""
    kept = [it for it in service.inbox.checkpoints() if it.size <= size]
    older, newest = kept[:-NEWEST_EARLIER], kept[-NEWEST_EARLIER:]
    chosen = [*older[:: max(1, -(-len(older) // NEWEST_EARLIER))], *newest]
    roots = {it.size: Checkpoint.read(it.note).root for it in chosen}
    if request.against is not None:
        held = earlier.continued(service, request.against, size)
        roots[held.size] = held.root
    if (sample := request.scope.sample) is not None and sample.checkpoint is not None:
        roots[sample.checkpoint] = drawing.root_at(service, sample.checkpoint)
    return [[at, root.hex()] for at, root in sorted(roots.items())]


def _distinct(values: Iterable[str | None]) -> list[str]:
    return sorted({it for it in values if it is not None})


def _sha256(content: bytes | Path) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
