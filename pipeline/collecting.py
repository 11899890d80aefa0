"""Takes collections: what a seller did in a journey, with the screens and logs that show it.

`POST /v1/collections` (JSON, or multipart with the artifacts' bytes) and `prazo collect`. Artifacts
are on disk before the entry that names them, and the entry is on disk before the answer: a
collection that was answered 200 is seen by the next submission, however the ledger stands.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any, Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers as FormHeaders
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from pipeline import contract, instants, occurrences
from pipeline.artifacts import ArtifactStore, described, keep_file
from pipeline.asgi import Gone, Request, Send, TooLarge, answer_json, is_identity, read_body
from pipeline.callers import TurnedAway, admit
from pipeline.contract import JsonValue
from pipeline.errors import CallerError, InboxUnavailable, OperatorError, Unreadable
from pipeline.inbox import GroupCommit, Inbox, open_inbox
from pipeline.occurrences import COLLECTION, Draft, KeepArtifact
from pipeline.settings import Settings
from pipeline.tokens import Tokens

LOG = logging.getLogger(__name__)

MAX_AHEAD: Final = 5 * instants.MINUTE
"""How far another machine's clock may be ahead of ours (rules.md section 5)."""
MAX_ARTIFACTS: Final = 50
OCCURRENCE_FIELD: Final = "collection"
"""The part of a multipart body that holds the occurrence; every part with a file name is bytes."""


class Collecting:
    """Handles `POST /v1/collections`."""

    def __init__(self, settings: Settings) -> None:
        """Raises `SettingsError` where the tokens cannot be read."""
        self._settings = settings
        self._tokens = Tokens(settings.api_tokens_file)
        self._store = ArtifactStore(settings.artifacts)
        self._inbox: Inbox
        self._recorder: GroupCommit

    def open(self, inbox: Inbox, recorder: GroupCommit) -> None:
        self._inbox = inbox
        self._recorder = recorder

    async def post(self, request: Request, send: Send) -> None:
        """Takes one request to the end."""
        if request.method != "POST":
            await answer_json(send, 405, {"error": "only POST is taken"}, (b"allow", b"POST"))
            return
        caller = admit(self._tokens, request.headers, "collect")
        if isinstance(caller, TurnedAway):
            await answer_json(send, caller.status, {"error": caller.reason})
            return
        if not is_identity(request.headers):
            await answer_json(send, 415, {"error": "only Content-Encoding identity is taken"})
            return
        try:
            draft = await self._draft(request, caller.name)
            seq, recorded = await self._record(draft)
        except _UnsupportedType:
            kinds = "application/json or multipart/form-data"
            await answer_json(send, 415, {"error": f"the Content-Type must be {kinds}"})
        except TooLarge:
            await answer_json(send, 413, {"error": "the collection is too large"})
        except Unreadable as unreadable:
            await answer_json(send, 422, {"error": unreadable.what})
        except Gone:
            return
        except (InboxUnavailable, OperatorError) as error:
            LOG.error("a collection was answered 503: %s", error)
            again = (b"retry-after", b"5")
            await answer_json(send, 503, {"error": "not recorded; send it again"}, again)
        else:
            await answer_json(send, 200, {"seq": seq, "recorded": recorded})

    async def _draft(self, request: Request, recorded_by: str) -> Draft:
        content_type, parameters = parse_options_header(request.headers.get(b"content-type", b""))
        if content_type == b"application/json":
            body = await read_body(request, self._settings.max_body_bytes)
            files: dict[str, _Upload] = {}
            value = contract.parse_json(body)
        elif content_type == b"multipart/form-data" and b"boundary" in parameters:
            value, files = await _multipart(request, self._settings.max_collection_bytes)
        else:
            raise _UnsupportedType
        return await asyncio.to_thread(self._keep, value, files, recorded_by)

    def _keep(self, value: JsonValue, files: Mapping[str, "_Upload"], recorded_by: str) -> Draft:
        """Writes the artifacts, once the occurrence is known to be one."""
        value = _naming_all(value, files)

        def keep(artifact: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
            upload = files.get(str(artifact.get("name")))
            if upload is not None:
                return described(artifact, upload.content, self._store)
            if "path" in artifact:
                raise Unreadable("path: send the bytes as a multipart file of the artifact's name")
            if not self._store.has(artifact.get("sha256")):
                raise Unreadable("no bytes: send them as a multipart file of the artifact's name")
            return artifact

        return _read(value, recorded_by, keep, instants.now())

    async def _record(self, draft: Draft) -> tuple[int, str]:
        receipt = await self._recorder.record(draft)
        if receipt.entry is not None:
            return receipt.entry.seq, "new"
        return await asyncio.to_thread(_seq_of, draft, self._inbox), "again"


def collect_file(path: Path, settings: Settings, *, recorded_by: str) -> tuple[int, str]:
    """Records the collection in a JSON file, with the artifacts that lie beside it.

    Its seq, and whether it is `new` or there `again`. Raises `CallerError` for what is none.
    """
    keep = keep_file(ArtifactStore(settings.artifacts), path.parent, needs_bytes=True)
    try:
        value = contract.parse_json(path.read_bytes())
        draft = _read(value, recorded_by, keep, instants.now())
    except Unreadable as unreadable:
        raise CallerError(f"{path} is no collection", unreadable.what) from None
    inbox = open_inbox(settings.inbox)
    try:
        [receipt] = inbox.append([draft])
        if receipt.entry is not None:
            return receipt.entry.seq, "new"
        return _seq_of(draft, inbox), "again"
    finally:
        inbox.close()


def _read(value: JsonValue, recorded_by: str, keep: KeepArtifact, now: int) -> Draft:
    """Its artifacts are written only once it is known to be a collection, and none to come."""
    told = occurrences.read_collection(value, recorded_by=recorded_by, keep=lambda it: it)
    if told.occurred_at > now + MAX_AHEAD:
        raise Unreadable("occurred_at: more than 5 minutes in the future; check the clock")
    return occurrences.read_collection(value, recorded_by=recorded_by, keep=keep)


def _seq_of(draft: Draft, inbox: Inbox) -> int:
    """Of the entry that a draft told again is already."""
    entries = inbox.find(process_id=draft.process_id, kind=COLLECTION)
    return next(it.seq for it in entries if it.ingest_key == draft.ingest_key)


# --- multipart -------------------------------------------------------------------------------


class _UnsupportedType(Exception):
    """Neither JSON nor multipart."""


class _Upload:
    def __init__(self, media_type: str, content: bytes) -> None:
        self.media_type = media_type
        self.content = content


async def _multipart(request: Request, limit: int) -> tuple[JsonValue, dict[str, _Upload]]:
    """The occurrence and the uploaded files by name; raises `TooLarge`, `Gone`, `Unreadable`."""
    headers = FormHeaders(raw=list(request.scope["headers"]))
    parser = MultiPartParser(
        headers,
        _limited(request, limit),
        max_files=MAX_ARTIFACTS,
        max_fields=1,
        max_part_size=limit,
    )
    try:
        form = await parser.parse()
    except (MultiPartException, FormParserError, KeyError) as error:
        raise Unreadable(f"no multipart body: {error}") from None
    files: dict[str, _Upload] = {}
    try:
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
    return contract.parse_json(occurrence.encode("utf-8", "surrogatepass")), files


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
    """The occurrence with every uploaded file among its artifacts: no bytes come for nothing."""
    if not isinstance(value, dict) or not files:
        return value
    named: Any = value.get("artifacts") or []
    if not isinstance(named, list):
        return value  # whatever it is, the occurrence is refused for it
    names = [it.get("name") for it in named if isinstance(it, dict)]
    added = [
        {"name": name, "media_type": it.media_type}
        for name, it in files.items()
        if name not in names
    ]
    return {**value, "artifacts": [*named, *added]}
