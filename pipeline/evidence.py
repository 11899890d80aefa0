"""Makes audit packages: what the log holds of a process, a seller or a period, with its proofs.

    scope -> entries -> what is disclosed, what is withheld -> tables and reports
          -> the export's own entry, which fixes all of that -> checkpoint and proofs -> bag

The export is recorded before the package is made, so no package exists that the log does not tell
of. Its entry names the digest of every table, report and artifact and the list of entries; for a
process or a seller it is also the last of the stream, so that a cut tail would show.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from pipeline import contract, instants, packages, report, timestamps, tree
from pipeline.acts import exporting
from pipeline.artifacts import ArtifactStore
from pipeline.bags import BagWriter
from pipeline.checkpoints import Checkpoint
from pipeline.errors import CallerError, OperatorError
from pipeline.export_request import Request
from pipeline.inbox import Outcome, SignedHead
from pipeline.occurrences import COLLECTION, WEBHOOK, Entry, public_name
from pipeline.packages import Disclosed, Selection
from pipeline.service import LedgerService

VERIFIER: Final = Path(__file__).with_name("verify.py")
NEWEST_EARLIER: Final = 256
"""Earlier checkpoints that a package is shown to continue: the newest ones, and as many of all
before them, evenly. Any other can be asked for by `against`."""
MAX_TRIES: Final = 5
_EXTENSIONS: Final = {
    "application/json": "json",
    "application/pdf": "pdf",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    "text/html": "html",
    "text/plain": "txt",
}

Progress = Callable[[str, int, int], None]
"""(what is being done, how many of it are done, how many there are)"""


@dataclass(frozen=True, slots=True)
class Exported:
    """A package that was made."""

    path: Path
    seq: int  # of the export's own entry
    entries: int
    withheld: int
    sha256: str  # of the zip file
    key: str


@dataclass(frozen=True, slots=True)
class _Prepared:
    """All that the export's entry fixes: files by path, and the entries beside them."""

    files: Mapping[str, bytes]
    entries: Sequence[Entry]  # as disclosed
    parameters: Mapping[str, Any]

    @property
    def digest(self) -> str:
        lines = (f"{_sha256(self.files[it])}  {it}\n" for it in sorted(self.files))
        return _sha256("".join(lines).encode())


def export(
    service: LedgerService, request: Request, out: Path, progress: Progress = lambda *_: None
) -> Exported:
    """Records the export and writes its package to `out`, whole or not at all.

    Raises `CallerError` for an empty scope or an `against` that is not of this log's past, and
    `OperatorError` where the log cannot be signed for or a file is missing.
    """
    if service.signer is None:
        raise OperatorError(
            "No package can be made here",
            f"the log's signing key is not at {service.settings.signing_key_file}",
            "restore it from a backup, or export where the ledger's keeper runs",
        )
    for _ in range(MAX_TRIES):
        prepared = _prepare(service, request, progress)
        export_entry = _record(service, request, prepared)
        if export_entry is not None:
            return _write(service, request, prepared, export_entry, out, progress)
    raise OperatorError(
        "The package was not made",
        "entries of its scope kept arriving while it was prepared",
        "try again at a quieter moment",
    )


# --- preparing -------------------------------------------------------------------------------


def _prepare(service: LedgerService, request: Request, progress: Progress) -> _Prepared:
    progress("reading the log", 0, 1)
    service.reach(service.inbox.last()[0])
    size, as_of = service.ledger.size, instants.now()
    condition, values = request.scope.condition
    entries = service.ledger.select(f"seq <= ? and {condition}", [size, *values])
    if not entries:
        raise CallerError("There is nothing to export", "no entry of the log is in this scope")
    entries = list(packages.told_again(entries))
    disclosure = _disclose(entries, request, service.inbox.log_key)
    artifacts, missing = _artifacts(disclosure, ArtifactStore(service.settings.artifacts))
    selection = Selection(
        as_of=as_of,
        entries=[it.seq for it in entries],
        processes=_distinct(it.process_id for it in disclosure.entries),
        sellers=_distinct([disclosure.new_name(request.scope.seller_id)]),
        unmask=request.profile == "full",
    )
    progress("working out the tables", 0, 1)
    stated = packages.state(
        [it for it in entries if it.seq in disclosure.withheld], service.keys, disclosure.replaced
    )
    files, counts = _tables(service, disclosure, stated, selection)
    contents = {
        "entries": [it.seq for it in entries],
        "names": disclosure.restored,
        "stated": stated,
        "withheld": {str(seq): {"why": why} for seq, why in disclosure.withheld.items()},
        "withheld_artifacts": missing,
    }
    parsed = {name: packages.parse_csv(content) for name, content in files.items()}
    parameters: dict[str, Any] = {
        "actor": request.actor,
        "as_of": instants.readable(as_of),
        "earlier": _earlier(service, size, request.against),
        "format": packages.FORMAT,
        "key": str(service.signer.key) if service.signer else "",
        "log": service.inbox.log,
        "log_size": size,
        "not_of_log": counts,
        "processes": list(selection.processes),
        "profile": request.profile,
        "reason": request.reason,
        "rows": {name: len(rows) for name, rows in parsed.items()},
        "scope": request.scope.named(disclosure.replaced),
        "sellers": list(selection.sellers),
        "software": f"prazo {metadata.version('prazo')}",
        "streams": {
            "process": _distinct(_public(it, "process_stream") for it in disclosure.entries),
            "seller": _distinct(
                _public(it, "seller_stream")
                for it, before in zip(disclosure.entries, entries, strict=True)
                if request.scope.seller_id and before.seller_id == request.scope.seller_id
            ),
        },
        "timestamp_authority": service.settings.timestamp_url,
        "totals": packages.totals(parsed),
    }
    data = {f"data/{name}": content for name, content in files.items()} | artifacts
    data["data/contents.json"] = contract.canonical_json(contents)
    data["data/parameters.json"] = contract.canonical_json(parameters)
    data["data/query.sql"] = packages.script().encode()
    data["verify.py"] = VERIFIER.read_bytes()
    for language, name in report.FILES.items():
        data[f"data/{name}"] = report.render(parsed, parameters, contents, language).encode()
    return _Prepared(data, disclosure.entries, parameters)


@dataclass(frozen=True, slots=True)
class _Disclosure:
    """Entries as the package shows them."""

    entries: Sequence[Entry]
    withheld: Mapping[int, str]  # seq -> why its body is left out
    replaced: Mapping[str, str]  # identifier -> what stands for it in this package
    restored: Mapping[str, str]  # HMAC in a leaf -> the identifier, where it is told

    def new_name(self, identifier: str | None) -> str | None:
        return None if identifier is None else self.replaced.get(identifier, identifier)


def _disclose(entries: Sequence[Entry], request: Request, log_key: bytes) -> _Disclosure:
    """Decides for each entry whether its body is shown, and by which names it is known."""
    withheld: dict[int, str] = {}
    for entry in entries:
        if entry.body is None:
            continue
        if entry.seq in request.withhold:
            withheld[entry.seq] = "by the exporter"
        elif request.profile == "masked" and not _is_impersonal(entry, log_key):
            withheld[entry.seq] = "the masked profile"
    replaced: dict[str, str] = {}
    restored: dict[str, str] = {}
    for entry in entries:
        for identifier in (entry.event_id, entry.attempt_id, entry.process_id, entry.seller_id):
            if identifier is None:
                continue
            name = public_name(identifier, log_key)
            if name == identifier:
                continue
            # An event without an id is known by its body's digest, by which that can be guessed.
            if request.profile == "masked" or identifier.startswith("sha256:"):
                replaced[identifier] = name
            else:
                restored[name] = identifier
    if request.profile == "masked":
        replaced |= {it: public_name(it, log_key) for it in _journeys(entries)}
    shown = [
        entry._replace(
            event_id=replaced.get(entry.event_id or "", entry.event_id),
            attempt_id=replaced.get(entry.attempt_id or "", entry.attempt_id),
            process_id=replaced.get(entry.process_id or "", entry.process_id),
            seller_id=replaced.get(entry.seller_id or "", entry.seller_id),
            body=None if entry.seq in withheld else entry.body,
            salt=None if entry.seq in withheld else entry.salt,
        )
        for entry in entries
    ]
    return _Disclosure(shown, withheld, replaced, restored)


_REVIEW_SHAPE: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"id", "type", "created_at", "payload"}),
    "payload": frozenset({"object"}),
    "object": frozenset(
        {"type", "process_id", "customer_id", "status", "deadline_at", "requested_fields"}
    ),
}


def _is_impersonal(entry: Entry, log_key: bytes) -> bool:
    """A review event with no key that the contract does not show, and no text that could be a
    person's: anything else may hold a name."""
    if entry.kind != WEBHOOK:
        return False
    event = contract.parse_json(entry.body or b"")
    return event.get("type") == contract.REVIEW_REQUIRED and _is_plain(event, "", log_key)


def _is_plain(value: Any, key: str, log_key: bytes) -> bool:
    match value:
        case dict():
            shown = _REVIEW_SHAPE.get(key, frozenset())
            return value.keys() <= shown and all(
                _is_plain(it, name, log_key) for name, it in value.items()
            )
        case list():
            return all(_is_plain(it, "[]", log_key) for it in value)
        case str():
            return public_name(value, log_key) == value
        case _:
            return value is None


def _journeys(entries: Sequence[Entry]) -> Iterator[str]:
    for entry in entries:
        if entry.kind == COLLECTION:
            yield contract.parse_json(entry.body or b"{}")["journey_id"]


def _artifacts(
    disclosure: _Disclosure, store: ArtifactStore
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Files of the artifacts that disclosed collections name; and those that are left out."""
    files: dict[str, bytes] = {}
    missing: dict[str, str] = {}
    for entry in disclosure.entries:
        if entry.kind != COLLECTION or entry.body is None:
            continue
        for artifact in contract.parse_json(entry.body).get("artifacts") or ():
            digest = artifact.get("sha256")
            if digest is None:
                continue
            content = store.read(digest)
            if content is None:
                missing[digest] = "not in the artifact store"
            else:
                extension = _EXTENSIONS.get(artifact.get("media_type"), "bin")
                files.setdefault(f"data/artifacts/{digest}.{extension}", content)
    return files, missing


def _tables(
    service: LedgerService,
    disclosure: _Disclosure,
    stated: Mapping[str, Sequence[Sequence[Any]]],
    selection: Selection,
) -> tuple[dict[str, bytes], dict[str, int]]:
    """The CSV files; and per table how many rows the package alone would lead to that the log
    does not."""
    disclosed = Disclosed(disclosure.entries, frozenset(disclosure.withheld), stated)
    copy = packages.copy_of(disclosed, unmask=selection.unmask)
    try:
        of_package = packages.run(copy, packages.script(), selection)
    finally:
        copy.close()
    originals = {name: it for it, name in disclosure.replaced.items()}
    of_log = packages.run(
        service.ledger,
        packages.queries(),
        replace(
            selection,
            processes=[originals.get(it, it) for it in selection.processes],
            sellers=[originals.get(it, it) for it in selection.sellers],
        ),
    )
    files: dict[str, bytes] = {}
    counts: dict[str, int] = {}
    for name, table in of_package.items():
        columns, rows = packages.cells(table)
        if name != packages.QUOTES:
            _, log_rows = packages.cells(of_log[name])
            log_rows = [tuple(disclosure.replaced.get(it, it) for it in row) for row in log_rows]
            rows, counts[name] = packages.compare(log_rows, rows)
            columns = [*columns, packages.BASIS]
        files[name] = packages.csv_bytes(columns, rows)
    return files, counts


def _earlier(service: LedgerService, size: int, against: str | None) -> list[list[Any]]:
    """Size and root of each earlier checkpoint that the package is shown to continue."""
    kept = [it for it in service.inbox.checkpoints() if it.size <= size]
    older, newest = kept[:-NEWEST_EARLIER], kept[-NEWEST_EARLIER:]
    chosen = [*older[:: max(1, -(-len(older) // NEWEST_EARLIER))], *newest]
    roots = {it.size: Checkpoint.read(it.note).root for it in chosen}
    if against is not None:
        held = _read_against(service, against, size)
        roots[held.size] = held.root
    return [[at, root.hex()] for at, root in sorted(roots.items())]


def _read_against(service: LedgerService, against: str, size: int) -> Checkpoint:
    try:
        held = Checkpoint.read(service.signer.key.opened(against) if service.signer else against)
    except ValueError as error:
        raise CallerError("The earlier checkpoint cannot be used", str(error)) from None
    if held.origin != service.inbox.log or held.size > size:
        raise CallerError(
            "The earlier checkpoint is not one of this log's past",
            f"it is of {held.size} entries of {held.origin}, this is {size} of {service.inbox.log}",
        )
    if service.ledger.root_at(held.size) != held.root:
        raise OperatorError(
            "The earlier checkpoint contradicts this log",
            f"it was signed with our key, and its root at {held.size} entries is another",
            "the log was rewritten since, or put back from another copy: do not use it;"
            " find the copy that the checkpoint belongs to",
        )
    return held


# --- recording and writing -------------------------------------------------------------------


def _record(service: LedgerService, request: Request, prepared: _Prepared) -> Entry | None:
    """The export's entry, or None where its scope has grown since the package was prepared."""
    scope, entries = request.scope, prepared.entries
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
    )
    if scope.process_id is not None:
        draft = draft._replace(expected_process_n=entries[-1].process_n)
    [receipt] = service.inbox.append([draft])
    if receipt.outcome is not Outcome.RECORDED or receipt.entry is None:
        return None
    entry = receipt.entry
    if scope.seller_id is not None:
        name = prepared.parameters["streams"]["seller"]
        last = max(it.seller_n or 0 for it in entries if _public(it, "seller_stream") in name)
        if entry.seller_n != last + 1:
            return None  # this export stays in the log, as one that came to nothing
    return entry


def _write(
    service: LedgerService,
    request: Request,
    prepared: _Prepared,
    export_entry: Entry,
    out: Path,
    progress: Progress,
) -> Exported:
    service.reach(export_entry.seq)
    signed = service.checkpoint()
    if signed is None or service.signer is None:
        raise OperatorError("The log's checkpoint could not be signed")
    checkpoint = Checkpoint.read(signed.note)
    token = (
        timestamps.stamp(service.settings.timestamp_url, signed.note.encode())
        if service.settings.timestamp_url
        else None
    )
    with BagWriter(out) as bag:
        for name in sorted(prepared.files):
            bag.add(name, prepared.files[name])
        bag.add("data/checkpoint.note", signed.note.encode())
        if token is not None:
            bag.add("data/checkpoint.tsr", token)
        bag.add("data/consistency.json", _consistency(service, prepared.parameters, checkpoint))
        entries = [*prepared.entries, export_entry]
        subtree = service.ledger.subtrees()
        for done, entry in enumerate(entries):
            if done % 256 == 0:
                progress("proving entries", done, len(entries))
            for name, content in _entry_files(entry, signed, checkpoint, subtree):
                bag.add(f"data/entries/{entry.seq}/{name}", content)
        log, signer = service.inbox.log, service.signer
        bag.seal(
            [
                ("Bag-Software-Agent", prepared.parameters["software"]),
                ("Bagging-Date", prepared.parameters["as_of"][:10]),
                ("External-Identifier", log),
            ],
            lambda manifest: signer.sign(f"{packages.FORMAT}\n{log}\n{manifest}"),
        )
    progress("proving entries", len(entries), len(entries))
    with out.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    withheld = sum(it.body is None and b'"body_commitment"' in it.leaf for it in entries)
    return Exported(out, export_entry.seq, len(entries), withheld, digest, str(service.signer.key))


def _consistency(
    service: LedgerService, parameters: Mapping[str, Any], checkpoint: Checkpoint
) -> bytes:
    subtree = service.ledger.subtrees()
    proofs = {
        str(size): [
            base64.b64encode(it).decode()
            for it in tree.consistency_proof(size, checkpoint.size, subtree)
        ]
        for size, _ in parameters["earlier"]
    }
    return contract.canonical_json(proofs)


def _entry_files(
    entry: Entry, signed: SignedHead, checkpoint: Checkpoint, subtree: tree.Subtree
) -> Iterator[tuple[str, bytes]]:
    proof = tree.inclusion_proof(entry.seq - 1, checkpoint.size, subtree)
    yield "entry.json", entry.leaf
    yield "entry.tlog-proof", tree.tlog_proof(entry.seq - 1, proof, signed.note).encode()
    if entry.record is not None:
        yield "record.json", entry.record
    if entry.body is not None and entry.salt is not None:
        yield "body.bin", entry.body
        yield "body.salt", entry.salt.hex().encode()


def _public(entry: Entry, stream: str) -> str | None:
    name: str | None = json.loads(entry.leaf).get(stream)
    return name


def _distinct(values: Any) -> list[str]:
    return sorted({it for it in values if it is not None})


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
