"""Takes collections: what a seller did in a journey, with the screens and logs that show it.

They arrive by `POST /v1/collections` (JSON, or multipart with the artifacts' bytes) and by `prazo
collect`. Artifacts are durable before the entry that names them, and the entry is on disk before
the answer. So the next submission sees a collection that was answered 200, even if the ledger lags.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers as FormHeaders
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import Response

from pipeline import plain
from pipeline.continuity.kept_heads import open_guarded
from pipeline.contract.body import JsonValue, parse_json
from pipeline.errors import CallerError, InboxUnavailable, OperatorError, Unreadable
from pipeline.http.answers import Json, refusal
from pipeline.http.asgi import Gone, Request, TooLarge, read_body
from pipeline.http.callers import TurnedAway
from pipeline.http.preamble import admitted
from pipeline.http.refusals import Refusals
from pipeline.http.tokens import Tokens
from pipeline.http.trials import TRIAL_BYTES
from pipeline.inbox import Inbox
from pipeline.inbox.artifacts.taking import Taking
from pipeline.inbox.group_commit import GroupCommit
from pipeline.log.artifacts import KeepArtifact, Keeping, KeepsBytes, keep_file
from pipeline.log.entries import OWN_JOURNEY, Draft
from pipeline.log.ndjson import read_collection
from pipeline.receive.reported import require_no_later, seq_of
from pipeline.settings import Settings
from pipeline.written import in_utf_8

LOG = logging.getLogger(__name__)

MAX_ARTIFACTS: Final = 50
ANSWER_SECONDS: Final = 18.0
"""From a collection's head to its answer; its files take a while to come."""
OCCURRENCE_FIELD: Final = "collection"
"""The part of a multipart body that holds the occurrence. Parts with a file name are artifacts."""


class Collecting:
    """Handles `POST /v1/collections`."""

    def __init__(self, settings: Settings, refusals: Refusals) -> None:
        """Reads the tokens; raises `SettingsError` if it cannot."""
        self._settings = settings
        self._refusals = refusals
        self._tokens = Tokens.of(settings)
        self._taking: Taking
        self._inbox: Inbox
        self._recorder: GroupCommit

    def open(self, inbox: Inbox, recorder: GroupCommit) -> None:
        """Sets where collections are recorded; called once, before the first request."""
        self._taking = Taking.of(self._settings, inbox)
        self._inbox = inbox
        self._recorder = recorder

    def probe(self) -> None:
        """Tries whether an artifact could be kept. Raises `OperatorError` if not."""
        self._taking.store.probe(TRIAL_BYTES)

    async def post(self, request: Request) -> Response | None:
        """Handles one request: 200 with the seq, or 401, 403, 405, 413, 415, 422 or 503."""
        caller = admitted(request, "POST", self._tokens, "collect")
        if isinstance(caller, TurnedAway):
            return refusal(caller)
        try:
            # On a disk that hangs, the thread that writes the artifacts hangs with it, not we.
            async with asyncio.timeout(ANSWER_SECONDS):
                draft = await self._draft(request, caller.name)
                seq, recorded = await self._record(draft)
        except _UnsupportedType:
            kinds = "application/json or multipart/form-data"
            return Json(415, {"error": f"the Content-Type must be {kinds}"})
        except TooLarge:
            return Json(413, {"error": "the collection is too large"})
        except Unreadable as unreadable:
            return Json(422, {"error": unreadable.what})
        except Gone:
            return None
        except (InboxUnavailable, OperatorError, TimeoutError) as error:
            LOG.error("a collection was answered 503: %s", str(error) or "it took too long")
            self._refusals.note("collections")
            return Json(503, {"error": "not recorded; send it again"}, (b"retry-after", b"5"))
        return Json(200, {"seq": seq, "recorded": recorded})

    async def _draft(self, request: Request, recorded_by: str) -> Draft:
        content_type, parameters = parse_options_header(request.headers.get(b"content-type", b""))
        if content_type == b"application/json":
            body = await read_body(request, self._settings.max_body_bytes)
            files: dict[str, _Upload] = {}
            value = parse_json(body)
        elif content_type == b"multipart/form-data" and b"boundary" in parameters:
            value, files = await _multipart(
                request, self._settings.max_collection_bytes, self._settings.max_body_bytes
            )
        else:
            raise _UnsupportedType
        return await asyncio.to_thread(self._keep, value, files, recorded_by)

    def _keep(self, value: JsonValue, files: Mapping[str, "_Upload"], recorded_by: str) -> Draft:
        """Writes the artifacts, after the occurrence has proved to be a collection."""
        value = _naming_all(value, files)
        now = self._inbox.clock()
        return self._taking.read(
            lambda store: _read(value, recorded_by, _keep_uploads(store, files), now)
        )

    async def _record(self, draft: Draft) -> tuple[int, str]:
        receipt = await self._recorder.record(draft)
        if receipt.entry is not None:
            return receipt.entry.seq, "new"
        return await asyncio.to_thread(seq_of, draft, self._inbox), "again"


def collect_file(path: Path, settings: Settings, *, recorded_by: str) -> tuple[int, str]:
    """Records the collection in a JSON file, with the artifacts beside the file.

    Returns its seq, and `new`, or `again` if the log had it already. Raises `CallerError` if the
    file does not hold a collection.
    """
    with closing(open_guarded(settings)) as inbox:
        try:
            draft = _draft_in(path, settings, inbox, recorded_by)
        except Unreadable as unreadable:
            raise CallerError(
                f"{path} is not a collection",
                unreadable.what,
                "correct it; docs/developers.md#collect shows one",
            ) from None
        [receipt] = inbox.append([draft])
        if receipt.entry is not None:
            return receipt.entry.seq, "new"
        return seq_of(draft, inbox), "again"


def _draft_in(path: Path, settings: Settings, inbox: Inbox, recorded_by: str) -> Draft:
    """The draft of the collection in a file; raises `Unreadable` where there is none."""
    value, now = parse_json(_content(path, settings.max_body_bytes)), inbox.clock()

    def read(store: KeepsBytes) -> Draft:
        return _read(value, recorded_by, keep_file(store, path.parent, needs_bytes=True), now)

    return Taking.of(settings, inbox).read(read)


def _content(path: Path, most: int) -> bytes:
    """The bytes of a file, which is read no further than a collection may be long."""
    with plain.opened(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise Unreadable(f"it is over {most} bytes (PRAZO_MAX_BODY_BYTES)")
    return in_utf_8(content)


def _read(value: JsonValue, recorded_by: str, keep: KeepArtifact, now: int) -> Draft:
    """The draft of a collection. Its artifacts are written only after it has proved to be a
    collection that is neither in the future nor said to be of our own page."""
    unwritten = read_collection(value, recorded_by=recorded_by, keep=lambda value: value)
    if isinstance(value, dict) and value.get("producer") == OWN_JOURNEY:
        raise Unreadable(f"producer: only the page that Prazo shows to sellers is {OWN_JOURNEY!r}")
    require_no_later(unwritten, now)
    return read_collection(value, recorded_by=recorded_by, keep=keep)


# --- multipart -------------------------------------------------------------------------------


class _UnsupportedType(Exception):
    """Neither JSON nor multipart."""


class _Parser(MultiPartParser):
    """Says whether the body's end has come: of one that was cut off, it gives what came before the
    cut, without the file in which that is."""

    is_whole = False

    def on_end(self) -> None:
        self.is_whole = True


class _Upload(NamedTuple):
    media_type: str
    content: bytes


def _keep_uploads(store: KeepsBytes, files: Mapping[str, _Upload]) -> KeepArtifact:
    keeping = Keeping(store)

    def keep(artifact: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        name = str(artifact.get("name"))
        if (upload := files.get(name)) is not None:
            return keeping.described(artifact, name, lambda: upload.content)
        if "path" in artifact:
            raise Unreadable("path: send the bytes as a multipart file of the artifact's name")
        if not keeping.is_kept(artifact):
            raise Unreadable("no bytes: send them as a multipart file of the artifact's name")
        return artifact

    return keep


async def _multipart(
    request: Request, limit: int, occurrence_limit: int
) -> tuple[JsonValue, dict[str, _Upload]]:
    """The occurrence, which may be as long as without files, and the uploaded files by name; raises
    `TooLarge`, `Gone`, `Unreadable`, and `OperatorError` where the files find no room."""
    headers = FormHeaders(raw=list(request.scope["headers"]))
    parser = _Parser(
        headers,
        _limited(request, limit),
        max_files=MAX_ARTIFACTS,
        max_fields=1,
        max_part_size=limit,
    )
    try:
        form = await parser.parse()
    except (MultiPartException, FormParserError, KeyError) as error:
        raise Unreadable(f"not a multipart body: {error}") from None
    except OSError as error:  # a file of over 1 MiB waits on disk until all of it is here
        raise OperatorError(
            "The files of a collection cannot be taken in",
            error.strerror or str(error),
            "make room for temporary files, or let TMPDIR name another folder",
        ) from None
    files: dict[str, _Upload] = {}
    try:
        if not parser.is_whole:
            raise Unreadable(
                "not a multipart body: it ends before its last boundary; send all of it"
            )
        for _, part in form.multi_items():
            if isinstance(part, UploadFile):
                name = part.filename or ""
                if name in files or not name:
                    raise Unreadable("two files of one name, or one without a name")
                media_type = part.content_type or "application/octet-stream"
                files[name] = _Upload(media_type, await part.read())
        occurrence = form.get(OCCURRENCE_FIELD)
        if not isinstance(occurrence, str):
            raise Unreadable(f"no field {OCCURRENCE_FIELD!r} with the occurrence as JSON")
    finally:
        await form.close()
    text = occurrence.encode("utf-8", "surrogatepass")
    if len(text) > occurrence_limit:
        raise TooLarge
    return parse_json(text), files


async def _limited(request: Request, limit: int) -> AsyncGenerator[bytes, None]:
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise Gone
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise TooLarge
        yield chunk
        if not message.get("more_body"):
            return


def _naming_all(value: JsonValue, files: Mapping[str, _Upload]) -> JsonValue:
    """The occurrence with every uploaded file among its artifacts, so that no upload is lost."""
    if not isinstance(value, dict) or not files:
        return value
    named: Any = value.get("artifacts") or []
    if not isinstance(named, list):
        return value  # the occurrence is refused because of it
    names = [it.get("name") for it in named if isinstance(it, dict)]
    added = [
        {"name": name, "media_type": file.media_type}
        for name, file in files.items()
        if name not in names
    ]
    return {**value, "artifacts": [*named, *added]}
