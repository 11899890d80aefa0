"""Records NDJSON files of occurrences in the inbox, for back-fill and for other systems' logs."""

import codecs
import hashlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO, Final, Protocol

from pipeline.errors import Unreadable, WrongUsage
from pipeline.inbox import Outcome, Receipt
from pipeline.inbox.artifacts.taking import Taking
from pipeline.log.artifacts import keep_file
from pipeline.log.entries import Draft
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.ndjson import read_event_line, read_line
from pipeline.receive.documents import document_in
from pipeline.texts import shell
from pipeline.written import AS_UTF_8, mark_of

LINES_PER_COMMIT: Final = 1000
BYTES_PER_COMMIT: Final = 4 * 2**20
"""From so many on, lines are recorded, however few they are: meanwhile nobody else writes, and a
receiver turns deliveries away after `BUSY_SECONDS`."""
SECONDS_PER_COMMIT: Final = 5.0
"""From so long on, too: what a line names is in the store by then, and `prazo forget` waits no
longer than `SETTLE_SECONDS` for the entry that says so."""
MAX_LINE_BYTES: Final = 4 * 2**20


class Recorder(Protocol):
    """Records drafts durably; an `Inbox` is one."""

    def append(self, drafts: Sequence[Draft]) -> list[Receipt]:
        """Records drafts in one durable commit; their receipts in the same order."""


Progress = Callable[[int], None]
"""Called with the number of bytes that were read since the last call."""


@dataclass(slots=True)
class Outcomes:
    """How many of a file's lines had each outcome."""

    recorded: int = 0
    already_there: int = 0
    quarantined: list[tuple[int, str]] = field(default_factory=list)  # line number, reason
    bad: list[tuple[int, str]] = field(default_factory=list)

    @property
    def are_clean(self) -> bool:
        """Whether every line could be read."""
        return not self.bad and not self.quarantined


ReadLine = Callable[[bytes, str], Draft]
"""(line, name of the recorder) -> the line's draft; raises `Unreadable`."""


def ingest(
    path: Path,
    recorder: Recorder,
    progress: Progress,
    artifacts: Taking | None = None,
    *,
    are_events: bool = False,
) -> Outcomes:
    """Records a file's lines in order; `-` is standard input. The same file again adds nothing. A
    pipe, as a shell's `<(zcat past.gz)` is one, will do.

    With `are_events`, a line is an event as the platform sent it; otherwise it is an occurrence.
    Artifacts beside the file that a collection names by path go into the store first. A bad line
    is reported, and the others are recorded. Raises `WrongUsage` if the file cannot be read, and
    `InboxUnavailable`: then the lines so far are recorded, and the file can be ingested again.
    """
    is_stdin = str(path) == "-"
    if path.exists() and not is_stdin and (path.is_char_device() or path.is_block_device()):
        raise WrongUsage(f"{path} cannot be read", "it is a device, not a file", "check the path")
    beside = Path.cwd() if is_stdin or not path.is_file() else path.parent
    read = read_event_line if are_events else _occurrences(artifacts, beside)
    try:
        with (
            nullcontext(sys.stdin.buffer) if is_stdin else path.open("rb") as file,
            nullcontext(file) if not is_stdin and file.seekable() else _spooled(file) as lines,
        ):
            _refuse_document(lines, path, are_events=are_events)
            return _ingest(lines, recorder, progress, read)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise WrongUsage(f"{path} cannot be read", error.strerror or "", "check the path") from None


def _spooled(file: BinaryIO) -> IO[bytes]:
    """A copy of what comes but once: it is read twice, since `recorded_by` holds its digest."""
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    shutil.copyfileobj(file, spool)
    return spool


def _occurrences(artifacts: Taking | None, folder: Path) -> ReadLine:
    def read(line: bytes, recorded_by: str) -> Draft:
        if artifacts is None:
            return read_line(line, recorded_by=recorded_by)
        return artifacts.read(
            lambda store: read_line(line, recorded_by=recorded_by, keep=keep_file(store, folder))
        )

    return read


def _refuse_document(file: IO[bytes], path: Path, *, are_events: bool) -> None:
    """Refuses as a whole what holds no such lines: in UTF-16 they end in the middle of a
    character, and no line of a JSON document says anything by itself."""
    file.seek(0)
    head = file.read(MAX_LINE_BYTES)
    refused = f"Nothing was taken of {path}"
    if mark_of(head) == "UTF-16":
        raise WrongUsage(refused, "the lines are in UTF-16, as PowerShell writes them", AS_UTF_8)
    document = document_in(head.removeprefix(codecs.BOM_UTF8))
    if document is None:
        return
    one = "event" if are_events else "occurrence"
    why = (
        f"it is a list of {one}s, where each line is to be one"
        if document.is_list
        else f"it is JSON over several lines, where each line is to be one {one}"
    )
    files = () if str(path) == "-" else (path,)
    written = shell("jq", "-c", document.filter, *files)
    taken = (
        shell("prazo", "ingest", "--events", "-") if are_events else shell("prazo", "ingest", "-")
    )
    raise WrongUsage(refused, why, f"write one a line: `{written} | {taken}`")


def _ingest(file: IO[bytes], recorder: Recorder, progress: Progress, read: ReadLine) -> Outcomes:
    digest = hashlib.sha256()
    file.seek(0)
    while block := file.read(MAX_LINE_BYTES):
        digest.update(block)
    file.seek(0)
    recorded_by = f"file:{digest.hexdigest()}"
    outcomes = Outcomes()
    batch: list[tuple[int, Draft]] = []
    size, begun_at = 0, time.monotonic()
    for number, line in _lines(file, progress):
        try:
            if len(line) > MAX_LINE_BYTES:
                raise Unreadable(f"longer than {MAX_LINE_BYTES} bytes")
            batch.append((number, read(line, recorded_by)))
            size += len(line)
        except Unreadable as unreadable:
            outcomes.bad.append((number, unreadable.what))
        is_late = time.monotonic() - begun_at >= SECONDS_PER_COMMIT
        if len(batch) >= LINES_PER_COMMIT or size >= BYTES_PER_COMMIT or is_late:
            _record(batch, recorder, outcomes)
            batch, size, begun_at = [], 0, time.monotonic()
    _record(batch, recorder, outcomes)
    return outcomes


def _lines(file: IO[bytes], progress: Progress) -> Iterator[tuple[int, bytes]]:
    """Numbered lines without the blank ones. A line over the limit is read to its end, but only its
    beginning is returned."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        size = len(line)
        while not line.endswith(b"\n") and (rest := file.readline(MAX_LINE_BYTES)):
            size += len(rest)
            if rest.endswith(b"\n"):
                break
        progress(size)
        if line.removeprefix(codecs.BOM_UTF8).strip():
            yield number, line


def _record(batch: list[tuple[int, Draft]], recorder: Recorder, outcomes: Outcomes) -> None:
    receipts = recorder.append([draft for _, draft in batch])
    for (number, draft), receipt in zip(batch, receipts, strict=True):
        if draft.kind == QUARANTINE:
            outcomes.quarantined.append((number, draft.particulars["reason"]))
        if receipt.outcome is Outcome.DUPLICATE:
            outcomes.already_there += 1
        else:
            outcomes.recorded += 1
