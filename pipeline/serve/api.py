"""Serves the HTTP API of the ledger's holder to commands, scripts and notebooks: rows of views,
audit packages, checkpoints and audits of the stores."""

import functools
import json
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import asdict
from typing import Any, Final, TypeVar, get_args

import prometheus_client
import pyarrow as pa
from anyio import CapacityLimiter, move_on_after, to_thread
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from pipeline import instants
from pipeline.assign.assigner import assigning
from pipeline.audit import export
from pipeline.audit import request as export_request
from pipeline.clearance import acts, clearances
from pipeline.clearance.clearances import Clearance
from pipeline.continuity import kept_heads, stores
from pipeline.continuity.service import LedgerService, current, ledger_service
from pipeline.contract.body import parse_json
from pipeline.errors import (
    CallerError,
    InboxUnavailable,
    LedgerBehind,
    LedgerClosed,
    LedgerMadeAgain,
    LedgerStalled,
    NoRoom,
    PrazoError,
    UnknownView,
    WrongUsage,
)
from pipeline.files import temporary
from pipeline.http import server
from pipeline.http.asgi import FixedHeaders
from pipeline.http.callers import MissingScope, TurnedAway
from pipeline.http.preamble import whole_body
from pipeline.http.tokens import Caller
from pipeline.ledger.views import described, formats, reader
from pipeline.ledger.views.catalogue import public
from pipeline.log.actions import By
from pipeline.serve import (
    acknowledging,
    asked,
    calendar,
    identifiers,
    ledger_access,
    metrics,
    openapi,
    questions,
    roles,
    seller_area,
    standing,
)
from pipeline.serve.openapi import MOMENT, OF_A_VIEW, PLAIN_TEXT, TEXT, WHOLE, Call, an_object
from pipeline.settings import Settings
from pipeline.trends import forecast_score

Answered = TypeVar("Answered")

MAX_BODY_BYTES = 65_536
QUICK: Final = CapacityLimiter(8)
"""Threads for what answers at once: how the ledger stands, heads, checkpoints."""
ROWS: Final = CapacityLimiter(16)
"""Threads for rows of views; more requests wait. The dashboard's own files have other threads."""
_AUDITING: Final = threading.BoundedSemaphore(1)
"""Held by the audit that runs: each reads the whole log, and two find what one finds."""
_EXPORTING: Final = threading.BoundedSemaphore(2)
"""Held by each export until its package was sent, so that packages do not pile up on the disk."""
DOWNLOAD_SECONDS: Final = 600.0
"""For a package to be taken: whoever reads slower than that holds up the exports of others."""
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
"""For every answer when the API runs alone; the dashboard sets its own headers."""


_OF_ROWS: Final = ("as_of", "limit", "offset", "format", "order")
_OF_A_MOMENT: Final = ("as_of",)
_OF_COLUMNS: Final[dict[str, openapi.Schema]] = {it: {} for it in formats.MEDIA_TYPES.values()}


def calls() -> list[Call]:
    """What can be asked of the ledger that this process holds."""
    masked = "{view} Personal values are masked."
    unmasked = "The same with personal values, once the log says why"
    why = an_object({"unmask": TEXT, "actor": TEXT}, "unmask")
    count, newest = f"{OF_A_VIEW}/count", "The newest signed head, for receivers"
    counted = {"application/json": {"schema": an_object({"count": WHOLE}, "count")}}
    package: dict[str, Any] = {
        **dict.fromkeys(("process_id", "seller_id", "reason", "actor", "against", "number"), TEXT),
        **dict.fromkeys(("from", "to"), MOMENT),
        **dict.fromkeys(("sample", "checkpoint"), WHOLE),
        "profile": {**TEXT, "enum": ["full", "masked"]},
        "withhold": {"type": "array", "items": {"type": "integer"}},
    }
    decision = {**TEXT, "enum": [*get_args(clearances.Decision)]}
    word: dict[str, Any] = {"decision": decision, "reason": TEXT, "actor": TEXT}
    return [
        Call("GET", "/api/openapi.json", _described, "This description"),
        Call("GET", "/api/status", _status, "How far ledger and inbox are"),
        Call("GET", "/api/ready", _ready, "Whether the ledger is up to date"),
        Call("GET", "/api/metrics", _metrics, "Figures for Prometheus", PLAIN_TEXT),
        Call(
            "GET",
            "/api/views",
            _list_views,
            "The views and their columns; in a format, one row per column with its type",
            _OF_COLUMNS,
            asks=("format",),
        ),
        Call("GET", OF_A_VIEW, _read_view, masked, None, _OF_ROWS),
        Call("POST", OF_A_VIEW, _read_view, unmasked, None, _OF_ROWS, why),
        Call("GET", count, _count_view, "How many rows there are", counted, _OF_A_MOMENT),
        Call(
            "GET",
            "/api/forecast-score",
            _forecast_score,
            "How good the forecasts of 30 and 60 days ago were",
            asks=_OF_A_MOMENT,
        ),
        Call("GET", "/api/head", _head, newest, PLAIN_TEXT, is_open=True),
        Call("GET", "/api/checkpoint", _checkpoint, "The newest signed checkpoint"),
        Call(
            "POST",
            "/api/exports",
            _export,
            "An audit package, which the log then names",
            {"application/zip": {}},
            body=an_object(package, "reason"),
        ),
        Call(
            "POST",
            "/api/audits",
            _audit,
            "Every check of ledger and inbox",
            body=an_object({"against": TEXT}),
        ),
        Call(
            "POST",
            "/api/clearances/{request_id}",
            _decide,
            "A second person's word about a request",
            body=an_object(word, "decision", "reason"),
        ),
        *acknowledging.calls(),
        *seller_area.calls(),
    ]


def routes() -> list[BaseRoute]:
    """The routes of these calls, and of what is not there."""
    methods: dict[tuple[str, Callable[[Request], Awaitable[Response]]], list[str]] = {}
    for call in calls():
        methods.setdefault((call.path, call.do), []).append(call.method)
    return [
        *(Route(path, do, methods=taken) for (path, do), taken in methods.items()),
        *calendar.routes(),
        Route("/api/{rest:path}", _nothing_here),
    ]


async def _nothing_here(request: Request) -> Response:
    """Else the dashboard answers with a page and 200, which a script would take for rows."""
    for route in routes():
        if isinstance(route, Route) and route.matches(request.scope)[0] is Match.PARTIAL:
            methods = ", ".join(sorted(route.methods or ()))
            return JSONResponse({"error": f"only {methods} is taken"}, 405, {"allow": methods})
    return JSONResponse({"error": "there is nothing here; the views are under /api/views"}, 404)


async def _described(request: Request) -> Response:
    """What can be asked here, in OpenAPI."""
    return await _work(request, lambda *_: JSONResponse(_document(current())), ROWS)


@functools.lru_cache(maxsize=1)
def _document(service: LedgerService) -> dict[str, Any]:
    return openapi.document(service.reader, calls())


async def _status(request: Request) -> Response:
    """How far the ledger is, and how far the inbox is. A command asks until it is far enough."""

    def answer(*_: object) -> Response:
        current().hurry()
        return JSONResponse(asdict(current().status()))

    return await _work(request, answer, QUICK)


async def _ready(request: Request) -> Response:
    """200 while the ledger shows what the inbox holds, and what people do and ask for can be
    recorded and put together; else 503 and why."""
    caller = asked.by(request, "read")
    if isinstance(caller, Response):
        return caller
    found = metrics.readiness(await _in_thread(QUICK, lambda: current().status()))
    if not found.is_ready:
        return JSONResponse({"status": "not up to date", "error": found.fault}, 503)
    faults = await standing.trials(current()).faults()
    if not faults:
        return JSONResponse({"status": "up to date"})
    unable = {"status": "not able to record", "error": "; ".join(faults.values())}
    return JSONResponse({**unable, "stores": sorted(faults)}, 503)


async def _metrics(request: Request) -> Response:
    """The ledger's figures, for Prometheus."""
    caller = asked.by(request, "read")
    if isinstance(caller, Response):
        return caller
    await standing.trials(current()).faults()  # its gauges show what it finds
    shown = await _in_thread(QUICK, metrics.exposition, current())
    return Response(shown, media_type=prometheus_client.CONTENT_TYPE_LATEST)


async def _list_views(request: Request) -> Response:
    """The views, with the summary and the columns of each; with `?format=`, a row per column."""

    def answer(*_: object) -> Response:
        chosen = _asked(request, "format", selecting=()).get("format")
        if chosen is not None:
            form = _format(chosen)
            content = formats.encode(_columns_of_views(current()), form)
            return Response(content, media_type=formats.MEDIA_TYPES[form])
        return JSONResponse(
            [
                {"name": view.name, "summary": view.summary, "columns": dict(view.columns)}
                for view in public().values()
            ]
        )

    return await _work(request, answer, ROWS)


@functools.lru_cache(maxsize=1)
def _columns_of_views(service: LedgerService) -> pa.Table:
    return described.described(service.reader)


def _format(form: str) -> formats.Format:
    """One of ours. Raises `CallerError`."""
    found = next((it for it in formats.FORMATS if it == form), None)
    if found is None:
        raise CallerError(f"There is no format {form!r}", remedy=", ".join(formats.FORMATS))
    return found


async def _read_view(request: Request) -> Response:
    """`?as_of=&limit=&offset=&format=&order=COL&where=COL=VALUE`, and ranges and search like it.

    With POST, personal values are shown as well; the body is `{"unmask": REASON, "actor": NAME}`.
    That changes the log, so no link and no image of another page may cause it.
    """
    return await _work(request, lambda *asked: _shown(request, *asked), ROWS)


async def _count_view(request: Request) -> Response:
    """How many rows there are: `?as_of=&where=COL=VALUE`."""
    return await _work(request, lambda caller, _: _count(request, caller), ROWS)


def _asked(
    request: Request, *allowed: str, selecting: Collection[str] = questions.SELECTING
) -> QueryParams:
    """The parameters of a request, and those by which it selects rows. An unknown one raises
    `WrongUsage`, so that a misspelt filter is not silently ignored."""
    query = request.query_params
    for name in query:
        if name not in (*allowed, *selecting):
            several = [f"{it}=COLUMN=VALUE" for it in selecting]
            remedy = f"use one of {', '.join([*allowed, *several])}"
            raise WrongUsage(f"There is no parameter {name!r}", remedy=remedy)
        if name not in questions.SELECTING and len(query.getlist(name)) > 1:
            raise WrongUsage(f"{name} came more than once")
    return query


def _instant(query: QueryParams) -> int | None:
    """The instant that is asked for, days as the settings' zone has them; None for now."""
    service = current()
    return questions.instant(query.get("as_of"), service.settings.zone, service.now())


def _count(request: Request, caller: Caller) -> Response:
    query = _asked(request, *_OF_A_MOMENT)
    name = request.path_params["name"]
    rows = current().reader.count(
        name,
        as_of=_instant(query),
        **questions.selection(query, name, may_see_people="read_personal" in caller.scopes),
    )
    return JSONResponse({"count": rows})


async def _forecast_score(request: Request) -> Response:
    """How good the forecasts of 30 and 60 days before an instant were: `?as_of=`."""

    def answer(*_: object) -> Response:
        at = _instant(_asked(request, *_OF_A_MOMENT, selecting=()))
        held = current()
        found = forecast_score.scores(held.reader, as_of=held.now() if at is None else at)
        return JSONResponse(forecast_score.plain(found))

    return await _work(request, answer, ROWS)


def _shown(request: Request, caller: Caller, content: Any) -> Response:
    """The rows of a view: with personal values once the reason, which a POST gives, is in the
    log."""
    unmasked = questions.unmasked(content) if request.method == "POST" else None
    query = _asked(request, *_OF_ROWS)
    name = request.path_params["name"]
    form = _format(query.get("format", "json"))
    at = _instant(query)
    chosen = questions.selection(query, name, may_see_people="read_personal" in caller.scopes)
    chosen["order_by"] = questions.order(query.get("order"))
    limit = questions.whole(query.get("limit"), "limit")
    offset = questions.whole(query.get("offset"), "offset") or 0
    if unmasked is not None:
        reader.check(name, **chosen)  # a refused request must not leave an entry in the log
        window = {"limit": limit, "offset": offset}
        clearance = _unmask(name, {"as_of": at, **chosen, **window}, unmasked, caller)
        if clearance is not None and at is None:
            at = clearance.as_of
    service = current()
    at = service.now() if at is None else at
    last_seq = service.ledger.size
    rows = service.reader.read(
        name,
        as_of=at,
        **chosen,
        limit=limit,
        offset=offset,
        unmask=unmasked is not None,
    )
    if unmasked is None:
        rows = identifiers.masked(rows, service.inbox.log_key)
        chosen = identifiers.masked_question(chosen)
    headers = {"Prazo-Last-Seq": str(last_seq), "Prazo-As-Of": instants.readable(at)}
    notes = formats.notes(name, rows, as_of=at, last_seq=last_seq, **chosen)
    look = formats.Look(service.settings.zone)
    return Response(
        formats.encode(rows, form, notes, look),
        media_type=formats.MEDIA_TYPES[form],
        headers=headers,
    )


def _unmask(
    view: str, asked: Mapping[str, Any], unmasked: questions.Unmasked, caller: Caller
) -> Clearance | None:
    """Records that personal values are about to be shown; none is shown without this entry. The
    second person's word, where these rows need one."""
    if "read_personal" not in caller.scopes:
        raise MissingScope("read_personal")
    return ledger_access.unmask_rows(
        current(),
        view,
        asked,
        By(unmasked.reason, _name(caller) or unmasked.actor or caller.name, caller.name),
    )


# --- proof -----------------------------------------------------------------------------------


async def _head(request: Request) -> Response:
    """The newest head that this keeper left outside of the inbox, for receivers elsewhere. It is
    open to everybody, like a checkpoint: a size, hashes and a signature."""
    try:
        text = await _in_thread(QUICK, kept_heads.place(current().settings).read_text)
    except FileNotFoundError:
        return PlainTextResponse("nothing has been signed yet\n", 404)
    except OSError as error:
        return PlainTextResponse(f"the head cannot be read: {error.strerror}\n", 503)
    return PlainTextResponse(text)


async def _checkpoint(request: Request) -> Response:
    """The log's newest checkpoint, signed now if it has grown; and the verification key."""
    return await _work(request, _signed, QUICK)


def _signed(_: Caller, __: Any) -> Response:
    signed = current().signed_checkpoint()
    return JSONResponse(
        {"checkpoint": signed.note, "key": signed.key, "earlier_keys": signed.earlier_keys}
    )


class _Package(FileResponse):
    """A package on its way. However its way ends, nothing of it stays behind: its caller may have
    gone, or read too slowly."""

    def __init__(self, exported: export.Exported, folder: temporary.OwnFolder) -> None:
        summary = {name: it for name, it in asdict(exported).items() if name != "path"}
        super().__init__(
            exported.path,
            media_type="application/zip",
            filename=exported.name,
            headers={"Prazo-Export": json.dumps(summary)},
        )
        self._at_end: list[Callable[[], None]] = [folder.remove]

    def at_end(self, do: Callable[[], None]) -> None:
        """Has something done once the file was sent, or is not to be sent any longer."""
        self._at_end.append(do)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with move_on_after(DOWNLOAD_SECONDS):
                await super().__call__(scope, receive, send)
        finally:
            for do in self._at_end:
                do()


async def _export(request: Request) -> Response:
    """A package as a zip file, for a request as `export_request.to_json` writes it."""
    return await _alone(_EXPORTING, "exports", request, "export", _exported)


def _exported(caller: Caller, content: Any) -> Response:
    may_see_people = "read_personal" in caller.scopes
    wanted = export_request.from_json(
        content,
        actor=_name(caller),
        recorded_by=caller.name,
        zone=current().settings.zone,
        otherwise="full" if may_see_people else "masked",
    )
    if wanted.profile == "full" and not may_see_people:
        raise MissingScope("read_personal")
    folder = temporary.OwnFolder(export.ON_ITS_WAY)
    try:
        exported = export.export(current(), wanted, folder.path / "package.zip")
    except BaseException:
        folder.remove()
        raise
    return _Package(exported, folder)


async def _audit(request: Request) -> Response:
    """Runs every check on ledger and inbox; the body is `{"against": an earlier checkpoint}`."""
    return await _alone(_AUDITING, "audit", request, "read", _audited)


def _audited(_: Caller, content: Any) -> Response:
    if not isinstance(content, dict) or content.keys() - {"against"}:
        raise CallerError("The audit is not described", "an object with `against` is expected")
    against = content.get("against")
    if against is not None and (not isinstance(against, str) or not against.strip()):
        raise CallerError("against is not a checkpoint", "it is empty, or not a text")
    verdict, key = stores.audit(current(), against=against), current().inbox.log_key
    notes, undecided, faults = (
        [identifiers.mask_within(it, key) for it in said]
        for said in (verdict.notes, verdict.undecided, verdict.faults)
    )
    answer = {"checked": verdict.checked, "notes": notes, "undecided": undecided, "faults": faults}
    return JSONResponse(answer)


async def _decide(request: Request) -> Response:
    """A second person's word about a request: `{"decision": "approved" or "refused", "reason": WHY,
    "actor": NAME}`. It needs the scopes that the act itself needs."""
    return await _work(request, lambda *asked: _decided(request, *asked), QUICK)


def _decided(request: Request, caller: Caller, content: Any) -> Response:
    said = questions.decided(content)
    service, request_id = current(), request.path_params["request_id"]
    act = clearances.act_of(service.inbox, request_id)
    for scope in roles.SCOPES_OF_ACTS.get(act or "", ()):
        if scope not in caller.scopes:
            raise MissingScope(scope)
    clearances.decide(
        service.inbox,
        acts.Terms.of(service.settings),
        request_id,
        said.decision,
        By(said.reason, _name(caller) or said.actor, caller.name),
        is_proved=_name(caller) is not None,
    )
    return JSONResponse({"request": request_id, "decision": said.decision})


async def _alone(
    place: threading.BoundedSemaphore,
    what: str,
    request: Request,
    scope: str,
    do: Callable[[Caller, Any], Response],
) -> Response:
    """Does work that reads the whole log, if there is a place for it: 503 while others do."""
    caller = asked.by(request, scope)
    if isinstance(caller, Response):
        return caller
    if not place.acquire(blocking=False):
        standing.refusals(current()).note(_way(request), "busy")
        content = {"error": f"other work of this kind ({what}) is under way; ask again later"}
        return JSONResponse(content, 503, {"Retry-After": "10"})
    response: Response | None = None
    try:
        response = await _done(request, caller, do, CapacityLimiter(1))
    finally:
        if not isinstance(response, _Package):
            place.release()
    if isinstance(response, _Package):
        response.at_end(place.release)
    return response


async def _in_thread(
    limiter: CapacityLimiter, do: Callable[..., Answered], *arguments: Any
) -> Answered:
    return await to_thread.run_sync(functools.partial(do, *arguments), limiter=limiter)


async def _work(
    request: Request, do: Callable[[Caller, Any], Response], limiter: CapacityLimiter
) -> Response:
    """The answer to a caller that may read."""
    caller = asked.by(request, "read")
    if isinstance(caller, Response):
        return caller
    return await _done(request, caller, do, limiter)


async def _done(
    request: Request,
    caller: Caller,
    do: Callable[[Caller, Any], Response],
    limiter: CapacityLimiter,
) -> Response:
    """The answer to an admitted caller, once the body of its request is there."""
    content = None
    if request.method == "POST":
        try:
            body = await whole_body(asked.over_asgi(request), MAX_BODY_BYTES)
            if isinstance(body, TurnedAway):
                return asked.turned_away(body)
            content = parse_json(body)
        except CallerError as error:
            return _fault(error)
    try:
        return await _in_thread(limiter, do, caller, content)
    except PrazoError as error:
        answer = _fault(error)
        if answer.status_code == 503:
            standing.note(current(), _way(request), error)
        return answer


def _way(request: Request) -> str:
    """In which a request came, as it is counted: `exports` of `/api/exports`."""
    return request.url.path.removeprefix("/api/").partition("/")[0]


def _name(caller: Caller) -> str | None:
    """The actor: a token's name, or None for this machine's commands, whose requests name one."""
    return None if caller.name in ("local", "loopback") else caller.name


_STATUSES: Final[Mapping[type[PrazoError], int]] = {
    MissingScope: 403,
    clearances.Awaited: 409,
    UnknownView: 404,
    CallerError: 400,
    **dict.fromkeys((InboxUnavailable, LedgerBehind, LedgerClosed, LedgerMadeAgain), 503),
    **dict.fromkeys((LedgerStalled, NoRoom), 503),
    PrazoError: 500,
}
"""The first class that fits an error decides, so a subclass stands before its base class."""


def _fault(error: PrazoError) -> Response:
    status = next(it for kind, it in _STATUSES.items() if isinstance(error, kind))
    content: dict[str, Any] = {
        "error": error.what,
        "why": error.why,
        "remedy": error.remedy,
        # A command that asks us ends as it would have ended where it opens the ledger itself.
        "exit_code": error.exit_code,
    }
    if isinstance(error, clearances.Awaited):
        content["request"] = error.request_id
    return JSONResponse(content, status)


def serve(settings: Settings, *, is_keeper: bool, without_bodies: bool) -> None:
    """Opens the ledger and runs the API without the dashboard, until SIGTERM or SIGINT."""
    with (
        ledger_service(settings, is_keeper=is_keeper, without_bodies=without_bodies) as ledger,
        assigning(ledger),
    ):
        server.run(
            Starlette(routes=routes(), middleware=[Middleware(FixedHeaders, headers=HEADERS)]),
            settings.dashboard_host,
            settings.dashboard_port,
            chosen_by="PRAZO_DASHBOARD_PORT",
        )
