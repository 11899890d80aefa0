"""Makes audit packages: what the log holds of a process, a seller or a period, with proofs.

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.audit import drawing, timestamps
from pipeline.audit.package import entry_files, report
from pipeline.audit.package.bags import BagWriter
from pipeline.audit.package.disclosure import LOST, Artifacts, check_withheld
from pipeline.audit.package.entry_files import Chosen
from pipeline.audit.package.preparing import OnProgress, Prepared, nothing_in_scope, prepare
from pipeline.audit.request import Request
from pipeline.audit.seals import counted
from pipeline.audit.witness.cosigned import cosigned, read_policy
from pipeline.clearance import acts, clearances
from pipeline.clearance.clearances import Clearance
from pipeline.continuity.service import LedgerService
from pipeline.contract.body import canonical_json
from pipeline.errors import NoRoom, OperatorError
from pipeline.files.disk import is_full, written_whole
from pipeline.files.temporary import OwnFolder
from pipeline.inbox.artifacts import artifact_store
from pipeline.log import tree
from pipeline.log.actions import By
from pipeline.log.artifacts import ArtifactStore
from pipeline.log.checkpoints import Checkpoint
from pipeline.log.entries import Entry, public
from pipeline.log.kinds.export import exporting
from pipeline.settings import Settings
from pipeline.texts import holds_personal_id, is_tax_id
from pipeline.verify import FORMAT, Policy

ON_ITS_WAY: Final = "prazo-export-"
"""Begins the names of the temporary folders in which packages wait for whoever asked."""
MAX_TRIES: Final = 5
MOST_OF_AN_ID: Final = 60
"""Characters of an id in the name of a package."""
_MANY_DIGITS: Final = re.compile(r"(?:[0-9][-./ ()]{0,2}){10}")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.-]+")


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
    `clearances.Awaited` where a full package waits for a second person, `LedgerBehind` where the
    ledger holds what was erased, and `OperatorError` if the log cannot be signed or a file is
    missing.
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
    service.require_unerased()
    request = replace(request, scope=drawing.drawn(service, request.scope))
    check_withheld(service.ledger, request)
    clearance = _clearance(service, request)
    if clearance is not None:
        request = replace(request, reason=clearance.reason)
    with _room(out.parent), OwnFolder(f".{out.name}.", out.parent) as folder:
        for _ in range(MAX_TRIES):
            prepared = prepare(service, request, folder, on_progress)
            export_entry = _record(service, request, prepared, clearance)
            if export_entry is None:
                continue
            made = _write(service, prepared, seals, export_entry, out, folder, on_progress)
            if made is not None:
                return made
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
        raise nothing_in_scope()  # what cannot be made is not asked for
    asked = acts.package(
        scope.named({}),
        withhold=sorted(request.withhold),
        against=None if against is None else hashlib.sha256(against.encode()).hexdigest(),
    )
    by = By(request.reason, request.actor, request.recorded_by)
    return clearances.settle(service.inbox, terms, asked, by)


# --- recording and writing -------------------------------------------------------------------


def _record(
    service: LedgerService, request: Request, prepared: Prepared, clearance: Clearance | None
) -> Entry | None:
    """The export's entry; None, and nothing in the log, if its stream has grown since the package
    was prepared."""
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
        **({} if scope.drawn is None else {"drawn": [*scope.drawn.processes]}),
        **({} if clearance is None else clearance.named),
    )
    if scope.process_id is not None:
        draft = draft._replace(expected_process_n=prepared.process_n)
    if scope.seller_id is not None:
        draft = draft._replace(expected_seller_n=len(prepared.of_seller))
    if clearance is not None:
        draft = clearance.begun_by(draft)
    [receipt] = service.inbox.append([draft])
    if clearance is not None:
        clearance.check(receipt)
    return receipt.entry


def _write(
    service: LedgerService,
    prepared: Prepared,
    seals: Seals,
    export_entry: Entry,
    out: Path,
    folder: Path,
    on_progress: OnProgress,
) -> Exported | None:
    """Writes the package; None where the key that it names was replaced meanwhile: the rotation may
    follow the export's entry below the checkpoint, and no verifier takes anything behind that."""
    service.reach(export_entry.seq)
    signed, signer, keys = service.checkpoint(), service.signer, service.signing.known()
    if signed is None or signer is None or keys is None:
        raise OperatorError("The log's checkpoint could not be signed")
    if not prepared.parameters["key"] == str(signer.key) == str(keys.current):
        return None
    checkpoint = Checkpoint.read(signed.note)
    sealed = _sealed(service, signed.note, seals, on_progress)
    rotations = [it.since for it in keys if it.since and it.since <= checkpoint.size]
    chosen = _chosen(prepared, rotations, export_entry.seq)
    entries = len(prepared.seqs) + 1
    with written_whole(out) as file:
        bag = BagWriter(file)
        for name in sorted(prepared.files, key=lambda name: (name != report.START, name)):
            bag.add(name, prepared.files[name])
        _add_artifacts(bag, prepared.artifacts, artifact_store(service.settings, service.inbox))
        for name, content in sealed.items():
            bag.add(name, content)
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
        log = service.inbox.log
        bag.seal(
            [
                ("Bag-Software-Agent", prepared.parameters["software"]),
                ("Bagging-Date", prepared.parameters["as_of"][:10]),
                ("External-Identifier", log),
            ],
            lambda manifest: signer.sign(f"{FORMAT}\n{log}\n{manifest}"),
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
        key=str(signer.key),
        artifacts_left_out=len(missing),
        artifacts_lost=sum(why in LOST for why in missing.values()),
        name=_file_name(prepared.parameters, export_entry.seq),
    )


def _sealed(
    service: LedgerService, note: str, seals: Seals, on_progress: OnProgress
) -> dict[str, bytes]:
    """The files with the checkpoint and what others have added to it: the witnesses' signatures,
    and the time by an authority."""
    if seals.policy is not None:
        on_progress("asking witnesses", 0, 1)
        with counted("witnesses"):
            note = cosigned(service, note, seals.policy)
    files = {"data/checkpoint.note": note.encode()}
    if service.settings.timestamp_url:
        with counted("timestamp"):
            files["data/checkpoint.tsr"] = timestamps.stamp(
                service.settings.timestamp_url, note.encode()
            )
        if seals.chain is not None:
            files["data/timestamp.pem"] = seals.chain
    return files


def _chosen(prepared: Prepared, rotations: Sequence[int], export_seq: int) -> Chosen:
    """The entries of the package. A range of leaves that shows that nothing of a process or seller
    is left out goes on to the export's own entry: others may have come before that since."""
    first, last = prepared.parameters["range"] or (1, 0)
    if first <= last and prepared.parameters["scope"].keys() & {"process", "seller"}:
        last = export_seq - 1
    between = range(first, last + 1)
    is_cut = prepared.parameters["scope"].keys() >= {"seller", "from"}
    of_seller = prepared.of_seller if is_cut else ()
    return Chosen(prepared.seqs, of_seller, between, rotations, export_seq)


def _file_name(parameters: Mapping[str, Any], seq: int) -> str:
    """About whom, when it was made, and its entry: `prazo-audit_seller-sel_1_2026-06-01_17.zip`.
    An id that looks personal is left out: a name is seen by many who may not open the file. A
    period is named by its first and last day."""
    about = []
    for kind, named in parameters["scope"].items():
        if kind in ("process", "seller"):
            short = named[:MOST_OF_AN_ID]
            about.append(kind if _looks_personal(named) else f"{kind}-{short}")
        elif kind == "to":  # which is the first instant after it
            until = instants.parse(named)
            assert until is not None  # it is ours
            about.append(f"{kind}-{instants.of(until - 1):%Y-%m-%d}")
        elif kind in ("from", "sample"):
            about.append(f"{kind}-{named[:10]}")
    name = "_".join(["prazo-audit", *about, parameters["as_of"][:10], str(seq)])
    return _NOT_IN_NAMES.sub("-", name) + ".zip"


def _looks_personal(named: str) -> bool:
    """Whether it could be, or hold, a tax id, a telephone number or an e-mail address."""
    return (
        public(named=named) == {}
        or is_tax_id(named)
        or holds_personal_id(named)
        or _MANY_DIGITS.search(named) is not None
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
