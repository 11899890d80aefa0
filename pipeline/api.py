"""The HTTP API of whoever holds the ledger: rows of views for commands, scripts and notebooks;
audit packages, checkpoints and audits of the stores."""

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pipeline import audit, evidence, export_request, instants, tables, views
from pipeline.acts import unmasking
from pipeline.asgi import FixedHeaders, folded
from pipeline.callers import MissingScope, TurnedAway, admit
from pipeline.contract import parse_json
from pipeline.errors import (
    CallerError,
    InboxUnavailable,
    PrazoError,
    UnknownView,
    WrongUsage,
)
from pipeline.service import current, ledger_service
from pipeline.settings import Settings
from pipeline.tokens import Caller

MAX_WHOLE = 2**53
MAX_BODY_BYTES = 65_536
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
"""Of every answer where the API stands alone; the dashboard sets its own."""


def routes() -> list[BaseRoute]:
    """The API's routes, over the ledger that this process holds."""
    return [
        Route("/api/status", _status),
        Route("/api/views", _list_views),
        Route("/api/views/{name}", _read_view),
        Route("/api/views/{name}/count", _count_view),
        Route("/api/checkpoint", _checkpoint),
        Route("/api/exports", _export, methods=["POST"]),
        Route("/api/audits", _audit, methods=["POST"]),
    ]


async def _status(request: Request) -> Response:
    """How far the ledger is, and how far its inbox."""
    caller = _caller(request, "read")
    if isinstance(caller, Response):
        return caller
    return JSONResponse(asdict(await run_in_threadpool(current().status)))


async def _list_views(request: Request) -> Response:
    """The views with what each says."""
    caller = _caller(request, "read")
    if isinstance(caller, Response):
        return caller
    return JSONResponse(
        [
            {"name": it.name, "summary": it.summary, "columns": dict(it.columns)}
            for it in views.public().values()
        ]
    )


async def _read_view(request: Request) -> Response:
    """`?as_of=&limit=&offset=&format=&where=COL=VALUE&unmask=REASON&actor=NAME`."""
    return await _answer(request, _rows)


async def _count_view(request: Request) -> Response:
    """How many rows there are: `?as_of=&where=COL=VALUE`."""
    return await _answer(request, _count)


async def _answer(request: Request, ask: Callable[[Request, Caller], Response]) -> Response:
    caller = _caller(request, "read")
    if isinstance(caller, Response):
        return caller
    try:
        return await run_in_threadpool(ask, request, caller)
    except PrazoError as error:
        return _fault(error)


def _asked(request: Request, *allowed: str) -> QueryParams:
    """The parameters of a request: what is misspelt must not pass as what was not asked."""
    query = request.query_params
    for name in query:
        if name not in (*allowed, "where"):
            remedy = f"choose of {', '.join(allowed)}, and where=COLUMN=VALUE"
            raise WrongUsage(f"There is no parameter {name!r}", remedy=remedy)
        if name != "where" and len(query.getlist(name)) > 1:
            raise WrongUsage(f"{name} came more than once")
    return query


def _count(request: Request, _: Caller) -> Response:
    query = _asked(request, "as_of")
    rows = current().reader.count(
        request.path_params["name"],
        as_of=_instant(query.get("as_of")),
        where=views.parse_filters(query.getlist("where")),
    )
    return JSONResponse({"count": rows})


def _rows(request: Request, caller: Caller) -> Response:
    query = _asked(request, "as_of", "limit", "offset", "format", "unmask", "actor")
    name = request.path_params["name"]
    form = query.get("format", "json")
    if form not in tables.FORMATS:
        raise CallerError(f"There is no format {form!r}", remedy=", ".join(tables.FORMATS))
    as_of, where = _instant(query.get("as_of")), views.parse_filters(query.getlist("where"))
    limit, offset = _whole(query.get("limit"), "limit"), _whole(query.get("offset"), "offset") or 0
    reason = query.get("unmask")
    if reason is not None:
        views.check(name, where)  # what is refused shows nothing, and leaves no entry that it did
        _unmask(name, where, reason, query.get("actor"), caller)
    service = current()
    at = instants.now() if as_of is None else as_of
    last_seq = service.status().last_seq
    rows = service.reader.read(
        name,
        as_of=at,
        where=where,
        limit=limit,
        offset=offset,
        unmask=reason is not None,
    )
    headers = {"Prazo-Last-Seq": str(last_seq)}
    notes = tables.notes(name, rows, as_of=at, last_seq=last_seq, where=where)
    return Response(
        tables.encode(rows, form, notes), media_type=tables.MEDIA_TYPES[form], headers=headers
    )


def _unmask(
    view: str, where: Mapping[str, object], reason: str, actor: str | None, caller: Caller
) -> None:
    """Recorded before anything is shown: no personal value leaves without its entry."""
    if "read_personal" not in caller.scopes:
        raise MissingScope("read_personal")
    name = actor if caller.name in ("local", "loopback") and actor else caller.name
    draft = unmasking(view, where, reason=reason, actor=name, recorded_by=caller.name)
    current().inbox.append([draft])


# --- evidence --------------------------------------------------------------------------------


async def _checkpoint(request: Request) -> Response:
    """The log's newest checkpoint, signed now if it has grown; and the verification key."""
    return await _work(request, "read", _signed)


def _signed(_: Caller, __: Any) -> Response:
    service = current()
    signed = service.checkpoint()
    if signed is None or service.signer is None:
        raise CallerError("Nothing was signed yet", "the log is empty, or its key is away")
    return JSONResponse({"checkpoint": signed.note, "key": str(service.signer.key)})


async def _export(request: Request) -> Response:
    """A package as a zip file, for a request as `export_request.to_json` writes it."""
    return await _work(request, "export", _exported)


def _exported(caller: Caller, content: Any) -> Response:
    wanted = export_request.from_json(content, actor=_name(caller), recorded_by=caller.name)
    if wanted.profile == "full" and "read_personal" not in caller.scopes:
        raise MissingScope("read_personal")
    folder = Path(tempfile.mkdtemp(prefix="prazo-export-"))
    try:
        exported = evidence.export(current(), wanted, folder / "package.zip")
    except BaseException:
        shutil.rmtree(folder)
        raise
    told = {name: it for name, it in asdict(exported).items() if name != "path"}
    return FileResponse(
        exported.path,
        media_type="application/zip",
        filename=f"prazo-{exported.seq}.zip",
        headers={"Prazo-Export": json.dumps(told)},
        background=BackgroundTask(shutil.rmtree, folder),
    )


async def _audit(request: Request) -> Response:
    """Every check over ledger and inbox: `{"against": an earlier checkpoint}`."""
    return await _work(request, "read", _audited)


def _audited(_: Caller, content: Any) -> Response:
    if not isinstance(content, dict) or content.keys() - {"against"}:
        raise CallerError("The audit is not described", "an object with `against` is expected")
    against = content.get("against")
    if against is not None and (not isinstance(against, str) or not against.strip()):
        raise CallerError("against is no checkpoint", "it is empty, or no text")
    verdict = audit.audit(current(), against=against)
    return JSONResponse(
        {"checked": verdict.checked, "notes": verdict.notes, "faults": verdict.faults}
    )


async def _work(request: Request, scope: str, do: Callable[[Caller, Any], Response]) -> Response:
    caller = _caller(request, scope)
    if isinstance(caller, Response):
        return caller
    content = None
    if request.method == "POST":
        try:
            content = parse_json(await _body(request))
        except CallerError as error:
            return _fault(error)
    try:
        return await run_in_threadpool(do, caller, content)
    except PrazoError as error:
        return _fault(error)


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise CallerError(f"The request is over {MAX_BODY_BYTES} bytes")
    return body


def _name(caller: Caller) -> str | None:
    """A token's name is the actor, whatever the request says; on this machine it may say."""
    return None if caller.name in ("local", "loopback") else caller.name


def _caller(request: Request, scope: str) -> Caller | Response:
    caller = admit(current().tokens, folded(request.headers.raw), scope)
    if isinstance(caller, TurnedAway):
        return JSONResponse({"error": caller.reason}, caller.status)
    return caller


def _instant(text: str | None) -> int | None:
    if not text:
        return None
    instant = instants.parse(text)
    if instant is None:
        raise WrongUsage(f"{text!r} is no instant", remedy="write as_of like 2026-03-01T09:00:00Z")
    return instant


def _whole(text: str | None, name: str) -> int | None:
    if not text:
        return None
    is_whole = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_WHOLE))
    if not is_whole or int(text) > MAX_WHOLE:
        raise CallerError(f"{name} is no whole number", remedy=f"{name}=50")
    return int(text)


_STATUSES: Final[Mapping[type[PrazoError], int]] = {
    MissingScope: 403,
    UnknownView: 404,
    CallerError: 400,
    InboxUnavailable: 503,
    PrazoError: 500,
}
"""The first kind that an error is of; those of one branch stand before the branch."""


def _fault(error: PrazoError) -> Response:
    status = next(it for kind, it in _STATUSES.items() if isinstance(error, kind))
    content: dict[str, Any] = {"error": error.what, "why": error.why, "remedy": error.remedy}
    return JSONResponse(content, status)


def serve(settings: Settings, *, is_keeper: bool, without_bodies: bool) -> None:
    """Runs the API alone over a ledger of this process, until SIGTERM or SIGINT."""
    with ledger_service(settings, is_keeper=is_keeper, without_bodies=without_bodies) as held:
        views.install(held.ledger)
        uvicorn.run(
            Starlette(routes=routes(), middleware=[Middleware(FixedHeaders, headers=HEADERS)]),
            host=settings.dashboard_host,
            port=settings.dashboard_port,
            access_log=False,
            log_config=None,
            server_header=False,
        )
