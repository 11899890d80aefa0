"""Makes audit packages: what the log holds about a process, a seller or a period, with proofs.

    scope -> entries -> what is disclosed, what is withheld -> tables and reports
          -> the export's own entry, which fixes all of that -> checkpoint and proofs -> bag

The export is recorded before the package is made, so the log names every package that exists. The
entry fixes the digest of every table, report and artifact. For a process or a seller it is also the
last entry of the stream, so that a missing tail is noticed; for a period, all leaves of its range
are in the package. Entries are read and written batch by batch, so their number costs no memory.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.audit import earlier, timestamps
from pipeline.audit.package import entry_files, report, tables
from pipeline.audit.package.bags import BagWriter
from pipeline.audit.package.disclosure import LOST, Artifacts, Disclosure, check_withheld
from pipeline.audit.package.drafts import Reading, TableFiles
from pipeline.audit.package.entry_files import Chosen
from pipeline.audit.package.tables import Selection
from pipeline.audit.request import Request, Scope
from pipeline.audit.verify import Policy
from pipeline.audit.witness.cosigned import cosigned, read_policy
from pipeline.clearance import acts, clearances
from pipeline.clearance.clearances import Clearance
from pipeline.contract.body import canonical_json
from pipeline.errors import CallerError, NoRoom, OperatorError
from pipeline.files import OwnFolder, is_full, written_whole
from pipeline.http import addresses
from pipeline.inbox import Outcome
from pipeline.inbox.artifacts import artifact_store
from pipeline.ledger.service import LedgerService
from pipeline.ledger.store import Ledger
from pipeline.log import tree
from pipeline.log.actions import exporting
from pipeline.log.artifacts import ArtifactStore
from pipeline.log.checkpoints import Checkpoint
from pipeline.log.entries import Entry, public
from pipeline.settings import Settings
from pipeline.texts import TAX_ID_WITHIN, is_marked_or_checked, is_tax_id

VERIFIER: Final = Path(__file__).with_name("verify.py")
ON_ITS_WAY: Final = "prazo-export-"
"""Begins the names of the temporary folders in which packages wait for whoever asked."""
NEWEST_EARLIER: Final = 256
"""A package proves that the log continues this many of the newest checkpoints, and as many of the
older ones, evenly spread. `against` asks for any other."""
MAX_TRIES: Final = 5
MOST_BETWEEN: Final = 100_000
"""Leaves after the end of a period up to the export: with them the package proves that nothing that
was recorded later belongs to it. Where there are more, the range ends with the period."""
MOST_OF_AN_ID: Final = 60
"""Characters of an id in the name of a package."""
_MANY_DIGITS: Final = re.compile(r"(?:[0-9][-./ ()]{0,2}){10}")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.-]+")

OnProgress = Callable[[str, int, int], None]
"""(what is being done, how many are done, how many there are)"""


@dataclass(frozen=True, slots=True)
class Exported:
    """A package that was made."""

    path: Path
    seq: int  # of the export's own entry
    entries: int
    withheld: int
    sha256: str  # of the zip file
    key: str
    artifacts_left_out: int
    artifacts_lost: int  # among those: ours, and missing or damaged
    name: str  # under which the file is handed on: about whom, and when it was made


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Everything that the export's entry fixes: the files by path, and what is disclosed."""

    files: Mapping[str, bytes | Path]
    artifacts: Artifacts
    seqs: Sequence[int]
    disclosure: Disclosure
    parameters: Mapping[str, Any]
    process_n: int | None  # of the newest entry in the process that it is about
    seller_n: int | None

    @property
    def digest(self) -> str:
        digests = {name: _sha256(content) for name, content in self.files.items()}
        digests |= {name: digest for digest, name in self.artifacts.names.items()}
        lines = (f"{digests[it]}  {it}\n" for it in sorted(digests))
        return _sha256("".join(lines).encode())


class Seals(NamedTuple):
    """What others are to add to the checkpoint: read before the export is recorded, so that no
    entry, and no second person's word, is for a package that cannot be made."""

    policy: Policy | None
    chain: bytes | None

    @classmethod
    def of(cls, settings: Settings) -> "Seals":
        """Reads their files; raises `OperatorError` where one cannot be used."""
        policy, chain = settings.witnesses_file, settings.timestamp_chain_file
        return cls(
            None if policy is None else read_policy(policy),
            None if chain is None else timestamps.read_chain(chain),
        )


def export(
    service: LedgerService, request: Request, out: Path, on_progress: OnProgress = lambda *_: None
) -> Exported:
    """Records the export and writes its package to `out`, whole or not at all.

    Raises `CallerError` for an empty scope, or an `against` that is not of this log's past,
    `clearances.Awaited` where a full package waits for a second person, and `OperatorError` if the
    log cannot be signed or a file is missing.
    """
    if service.ledger.is_without_bodies:
        raise OperatorError(
            "No package can be made here",
            "this ledger holds commitments and masked facts, but no bodies",
            "export where the ledger has them",
        )
    if service.signer is None:
        missing = service.signing.missing()
        raise OperatorError("No package can be made here", missing.why, missing.remedy)
    seals = Seals.of(service.settings)
    service.reach(service.inbox.last()[0])
    check_withheld(service.ledger, request)
    clearance = _clearance(service, request)
    if clearance is not None:
        request = replace(request, reason=clearance.reason)
    with _room(out.parent), OwnFolder(f".{out.name}.", out.parent) as folder:
        for _ in range(MAX_TRIES):
            prepared = _prepare(service, request, folder, on_progress)
            export_entry = _record(service, request, prepared, clearance)
            if export_entry is not None and _is_signed_by(service, prepared.parameters["key"]):
                return _write(service, prepared, seals, export_entry, out, folder, on_progress)
    raise OperatorError(
        "The package was not made",
        "entries of its scope kept arriving while it was prepared",
        "try again at a quieter moment",
    )


@contextmanager
def _room(folder: Path) -> Iterator[None]:
    """Names the folder whose disk is full: what is prepared there does not. Once a package is begun
    it says more (`bags.py`)."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise NoRoom(
            "The package was not made",
            f"there is no room left in {folder.absolute()}",
            "make room there, then ask for it again; nothing was left there",
        ) from error


def _clearance(service: LedgerService, request: Request) -> Clearance | None:
    """The second person's word for a full package; None where none is needed."""
    terms, scope, against = acts.Terms.of(service.settings), request.scope, request.against
    if request.profile != "full" or acts.EXPORT not in terms.acts:
        return None
    if not service.ledger.seqs(*scope.condition):
        raise _nothing()  # what cannot be made is not asked for
    asked = acts.package(
        scope.named({}),
        withhold=sorted(request.withhold),
        against=None if against is None else _sha256(against.encode()),
    )
    return clearances.settle(
        service.inbox,
        terms,
        asked,
        reason=request.reason,
        actor=request.actor,
        recorded_by=request.recorded_by,
    )


def _nothing() -> CallerError:
    return CallerError(
        "There is nothing to export",
        "no entry of the log is in this scope",
        "check the id, or the ends of the period",
    )


# --- preparing -------------------------------------------------------------------------------


def _prepare(
    service: LedgerService, request: Request, folder: Path, on_progress: OnProgress
) -> _Prepared:
    on_progress("reading the log", 0, 1)
    service.reach(service.inbox.last()[0])
    ledger, scope = service.ledger, request.scope
    size, as_of = ledger.size, service.now()
    condition, values = scope.condition
    asked = f"seq <= ? and {condition}", [size, *values]
    seqs = ledger.seqs(*asked)
    if not seqs:
        raise _nothing()
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
        read = Reading(service, disclosure, artifacts, facts, files, scope.seller_id)
        opened.enter_context(closing(read))
        for batch in entry_files.batches_of(ledger, seqs):
            read.take(batch)
            on_progress("reading the log", read.taken, len(seqs))
        on_progress("working out the tables", 0, 1)
        processes = _distinct(disclosure.new_name(it) for it in read.processes)
        selection = Selection(
            as_of=as_of,
            entries=seqs,
            processes=processes,
            sellers=_distinct([disclosure.new_name(scope.seller_id)]),
            unmask=request.profile == "full",
        )
        derived = facts.tables(selection)
    counts = files.write(service, read.replaced(), derived, selection)
    keys = service.signing.known()
    parameters: dict[str, Any] = {
        "actor": request.actor,
        "as_of": instants.readable(as_of),
        "contact": service.settings.audit_contact or "",
        "earlier": _earlier(service, size, request.against),
        "format": tables.FORMAT,
        "key": str(keys.current) if keys else "",
        "log": service.inbox.log,
        "log_size": size,
        "not_of_log": counts,
        "profile": request.profile,
        "range": _range(ledger, scope, size, len(seqs)),
        "reason": request.reason,
        "rows": files.rows,
        "scope": scope.named(disclosure.replaced),
        "software": tables.software(),
        "timestamp_authority": addresses.shown(service.settings.timestamp_url),
        "totals": files.totals,
    }
    contents = {"withheld": read.withheld_by_kind(), "withheld_artifacts": artifacts.missing}
    data = files.paths | {
        "data/contents.json": canonical_json(contents),
        "data/names.ndjson": b"".join(
            canonical_json(list(pair)) + b"\n" for pair in sorted(disclosure.restored.items())
        ),
        "data/parameters.json": canonical_json(parameters),
        "data/query.sql": tables.query_file().encode(),
        "verify.py": VERIFIER.read_bytes(),
        report.START: report.start(parameters).encode(),
    }
    with ExitStack() as opened:
        rows = {it: tables.read_csv(opened.enter_context(files.open(it))) for it in files.rows}
        content = report.content(rows, parameters, contents, artifacts.screens)
    for language, name in report.FILES.items():
        data[f"data/{name}"] = report.render(content, language).encode()
    return _Prepared(
        data, artifacts, seqs, disclosure, parameters, read.last_process_n, read.last_seller_n
    )


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
        select distinct journey_id from facts.collections
        where seq in (select seq from log where {condition}) and journey_id is not null
        order by all"""
    return [name for (name,) in ledger.cursor().execute(sql, parameters).fetchall()]


def _range(ledger: Ledger, scope: Scope, size: int, entries: int) -> list[int] | None:
    """The first and the last seq of a range whose leaves are all in the package, so that nothing of
    a period can be left out: from the last entry that was recorded before it to the end of the log,
    or, where that is far, to the first that was recorded behind it. None for another scope."""
    if scope.since is None or scope.until is None:
        return None
    recorded = "epoch_us(recorded_at)"
    before = ledger.newest(f"{recorded} < ? and seq <= ?", [scope.since, size]) or 1
    if size - before <= MOST_BETWEEN + entries:
        return [before, size]
    within = ledger.newest(f"{recorded} < ? and seq <= ?", [scope.until, size]) or before
    return [before, min(within + 1, size)]


def _earlier(service: LedgerService, size: int, against: str | None) -> list[list[Any]]:
    """(size, root in hex) of each earlier checkpoint that the package proves to continue."""
    kept = [it for it in service.inbox.checkpoints() if it.size <= size]
    older, newest = kept[:-NEWEST_EARLIER], kept[-NEWEST_EARLIER:]
    chosen = [*older[:: max(1, -(-len(older) // NEWEST_EARLIER))], *newest]
    roots = {it.size: Checkpoint.read(it.note).root for it in chosen}
    if against is not None:
        held = earlier.continued(service, against, size)
        roots[held.size] = held.root
    return [[at, root.hex()] for at, root in sorted(roots.items())]


# --- recording and writing -------------------------------------------------------------------


def _record(
    service: LedgerService, request: Request, prepared: _Prepared, clearance: Clearance | None
) -> Entry | None:
    """The export's entry, or None if its scope has grown since the package was prepared."""
    scope = request.scope
    draft = exporting(
        reason=request.reason,
        actor=request.actor,
        recorded_by=request.recorded_by,
        process_id=scope.process_id,
        seller_id=scope.seller_id,
        as_of=prepared.parameters["as_of"],
        contents=prepared.digest,
        profile=request.profile,
        scope=prepared.parameters["scope"],
        **({} if clearance is None else clearance.named),
    )
    if scope.process_id is not None:
        draft = draft._replace(expected_process_n=prepared.process_n)
    if clearance is not None:
        draft = clearance.begun_by(draft)
    [receipt] = service.inbox.append([draft])
    if clearance is not None:
        clearance.check(receipt)
    if receipt.outcome is not Outcome.RECORDED or receipt.entry is None:
        return None
    entry = receipt.entry
    if scope.seller_id is not None and entry.seller_n != (prepared.seller_n or 0) + 1:
        return None  # this export stays in the log, but has no package
    return entry


def _is_signed_by(service: LedgerService, key: str) -> bool:
    """Whether the key that the package names is still in force."""
    keys = service.signing.known()
    return keys is not None and str(keys.current) == key


def _write(
    service: LedgerService,
    prepared: _Prepared,
    seals: Seals,
    export_entry: Entry,
    out: Path,
    folder: Path,
    on_progress: OnProgress,
) -> Exported:
    service.reach(export_entry.seq)
    signed, keys = service.checkpoint(), service.signing.known()
    if signed is None or service.signer is None or keys is None:
        raise OperatorError("The log's checkpoint could not be signed")
    checkpoint, note = Checkpoint.read(signed.note), signed.note
    if seals.policy is not None:
        on_progress("asking witnesses", 0, 1)
        note = cosigned(service, note, seals.policy)
    token = (
        timestamps.stamp(service.settings.timestamp_url, note.encode())
        if service.settings.timestamp_url
        else None
    )
    first, last = prepared.parameters["range"] or (1, 0)
    rotations = [it.since for it in keys if it.since and it.since <= checkpoint.size]
    chosen = Chosen(prepared.seqs, range(first, last + 1), rotations, export_entry.seq)
    entries = len(prepared.seqs) + 1
    with written_whole(out) as file:
        bag = BagWriter(file)
        for name in sorted(prepared.files, key=lambda name: (name != report.START, name)):
            bag.add(name, prepared.files[name])
        _add_artifacts(bag, prepared.artifacts, artifact_store(service.settings, service.inbox))
        bag.add("data/checkpoint.note", note.encode())
        if token is not None:
            bag.add("data/checkpoint.tsr", token)
            if seals.chain is not None:
                bag.add("data/timestamp.pem", seals.chain)
        bag.add("data/consistency.json", _consistency(service, prepared.parameters, checkpoint))
        withheld = entry_files.write(
            bag,
            service.ledger,
            chosen,
            prepared.disclosure,
            checkpoint,
            folder,
            lambda done: on_progress("proving entries", min(done, entries), entries),
        )
        log, signer = service.inbox.log, service.signer
        bag.seal(
            [
                ("Bag-Software-Agent", prepared.parameters["software"]),
                ("Bagging-Date", prepared.parameters["as_of"][:10]),
                ("External-Identifier", log),
            ],
            lambda manifest: signer.sign(f"{tables.FORMAT}\n{log}\n{manifest}"),
        )
    on_progress("proving entries", entries, entries)
    with out.open("rb") as package:
        digest = hashlib.file_digest(package, "sha256").hexdigest()
    missing = prepared.artifacts.missing
    return Exported(
        path=out,
        seq=export_entry.seq,
        entries=entries,
        withheld=withheld,
        sha256=digest,
        key=str(service.signer.key),
        artifacts_left_out=len(missing),
        artifacts_lost=sum(why in LOST for why in missing.values()),
        name=_file_name(prepared.parameters, export_entry.seq),
    )


def _file_name(parameters: Mapping[str, Any], seq: int) -> str:
    """About whom, when it was made, and its entry: `prazo-audit_seller-sel_1_2026-06-01_17.zip`.
    An id that looks personal is left out: a name is seen by many who may not open the file."""
    about = []
    for kind, named in parameters["scope"].items():
        short = named[:10] if kind in ("from", "to") else named[:MOST_OF_AN_ID]
        about.append(kind if _looks_personal(named) else f"{kind}-{short}")
    name = "_".join(["prazo-audit", *about, parameters["as_of"][:10], str(seq)])
    return _NOT_IN_NAMES.sub("-", name) + ".zip"


def _looks_personal(named: str) -> bool:
    """Whether it could be, or hold, a tax id, a telephone number or an e-mail address."""
    return (
        public(named=named) == {}
        or is_tax_id(named)
        or _MANY_DIGITS.search(named) is not None
        or any(is_marked_or_checked(found[0]) for found in TAX_ID_WITHIN.finditer(named.upper()))
    )


def _add_artifacts(bag: BagWriter, artifacts: Artifacts, store: ArtifactStore) -> None:
    for digest, name in sorted(artifacts.names.items()):
        content = store.read(digest)
        if content is None:
            raise OperatorError(
                "The package was not made",
                f"the artifact {digest} was removed meanwhile",
                "put it back, or export again: the package then says that it is lost",
            )
        bag.add(name, content)


def _consistency(
    service: LedgerService, parameters: Mapping[str, Any], checkpoint: Checkpoint
) -> bytes:
    subtree = service.ledger.subtrees()
    proofs = {
        str(size): [
            base64.b64encode(digest).decode()
            for digest in tree.consistency_proof(size, checkpoint.size, subtree)
        ]
        for size, _ in parameters["earlier"]
    }
    return canonical_json(proofs)


def _distinct(values: Any) -> list[str]:
    return sorted({it for it in values if it is not None})


def _sha256(content: bytes | Path) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
