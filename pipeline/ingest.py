"""Takes NDJSON files of occurrences into the inbox: back-fill, and other systems' logs."""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from pipeline import occurrences
from pipeline.artifacts import ArtifactStore, keep_file
from pipeline.errors import Unreadable, WrongUsage
from pipeline.inbox import Outcome, Receipt
from pipeline.occurrences import QUARANTINE, Draft, KeepArtifact

LINES_A_COMMIT: Final = 1000
MAX_LINE_BYTES: Final = 4 * 2**20


class Recorder(Protocol):
    """Takes drafts for good; an `Inbox` is one."""

    def append(self, drafts: Sequence[Draft]) -> list[Receipt]: ...


Progress = Callable[[int], None]
"""Told how many bytes were read since it was told last."""


@dataclass(slots=True)
class Outcomes:
    """What became of a file's lines."""

    recorded: int = 0
    already_there: int = 0
    quarantined: list[tuple[int, str]] = field(default_factory=list)  # line number, reason
    bad: list[tuple[int, str]] = field(default_factory=list)

    @property
    def are_clean(self) -> bool:
        return not self.bad and not self.quarantined


def ingest(
    path: Path, inbox: Recorder, progress: Progress, artifacts: ArtifactStore | None = None
) -> Outcomes:
    """Records a file's lines in order; `-` is standard input. Taking it again adds nothing.

    Artifacts that a collection names by path, beside the file, go into the store first.
    A bad line is reported and the others are taken. Raises `WrongUsage` where there is no file,
    and `InboxUnavailable`; what was taken until then stays, and the file can be taken again.
    """
    if str(path) == "-":
        with tempfile.TemporaryFile() as spool:  # read twice: its digest names who recorded it
            shutil.copyfileobj(sys.stdin.buffer, spool)
            return _ingest(spool, inbox, progress, _keeper(artifacts, Path.cwd()))
    try:
        with path.open("rb") as file:
            return _ingest(file, inbox, progress, _keeper(artifacts, path.parent))
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise WrongUsage(f"{path} cannot be read", error.strerror or "", "check the path") from None


def _keeper(artifacts: ArtifactStore | None, folder: Path) -> KeepArtifact | None:
    return None if artifacts is None else keep_file(artifacts, folder)


def _ingest(
    file: BinaryIO, inbox: Recorder, progress: Progress, keep: KeepArtifact | None
) -> Outcomes:
    digest = hashlib.sha256()
    file.seek(0)
    while block := file.read(MAX_LINE_BYTES):
        digest.update(block)
    file.seek(0)
    recorded_by = f"file:{digest.hexdigest()}"
    outcomes = Outcomes()
    batch: list[tuple[int, Draft]] = []
    for number, line in _lines(file, progress):
        try:
            batch.append((number, _draft(line, recorded_by, keep)))
        except Unreadable as unreadable:
            outcomes.bad.append((number, unreadable.what))
        if len(batch) >= LINES_A_COMMIT:
            _record(batch, inbox, outcomes)
            batch = []
    _record(batch, inbox, outcomes)
    return outcomes


def _lines(file: BinaryIO, progress: Progress) -> Iterator[tuple[int, bytes]]:
    """Numbered lines, blank ones left out; a line over the limit is read to its end, cut."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        size = len(line)
        while not line.endswith(b"\n") and (rest := file.readline(MAX_LINE_BYTES)):
            size += len(rest)
            if rest.endswith(b"\n"):
                break
        progress(size)
        if line.strip():
            yield number, line


def _draft(line: bytes, recorded_by: str, keep: KeepArtifact | None) -> Draft:
    if len(line) > MAX_LINE_BYTES:
        raise Unreadable(f"longer than {MAX_LINE_BYTES} bytes")
    return occurrences.read_line(line, recorded_by=recorded_by, keep=keep)


def _record(batch: list[tuple[int, Draft]], inbox: Recorder, outcomes: Outcomes) -> None:
    receipts = inbox.append([draft for _, draft in batch])
    for (number, draft), receipt in zip(batch, receipts, strict=True):
        if draft.kind == QUARANTINE:
            outcomes.quarantined.append((number, draft.particulars["reason"]))
        if receipt.outcome is Outcome.DUPLICATE:
            outcomes.already_there += 1
        else:
            outcomes.recorded += 1
