"""The seller's page: an ASGI app of its own, on a port of its own. Nothing else is reachable here.

It works without JavaScript. What is wrong with a link is never said: guessing teaches nothing, and
every link that opens nothing looks the same.
"""

import asyncio
import base64
import contextlib
import hashlib
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pipeline.continuity.kept_heads import open_guarded
from pipeline.errors import InboxUnavailable, OperatorError, SettingsError
from pipeline.http import server
from pipeline.http.asgi import App, FixedHeaders, folded
from pipeline.http.loopback import outside_hint
from pipeline.http.trials import TRIAL_BYTES, Trials, in_thread
from pipeline.inbox.heartbeats import Part
from pipeline.inbox.parts import present
from pipeline.journey.ground import Confirmation, Visit
from pipeline.journey.links import Journey
from pipeline.journey.notifying import MakeNotices
from pipeline.journey.sending import Sender
from pipeline.journey.visits import Visits
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

MAX_FORM_BYTES: Final = 16_384
MAX_INPUTS: Final = 40
MAX_UNDER_WAY: Final = 256
"""Requests at once; more are asked to come back."""
THREADS: Final = 16
MAX_RENEWALS: Final = 50
"""New links that are asked for and not sent yet; more are not sent."""
SENT_SECONDS: Final = 3.0
"""How long a confirmation waits for the platform, so that the receipt can say what it answered."""
COUNT_SECONDS: Final = 10.0
CACHED: Final = "public, max-age=3600"

Handler = Callable[[Visit], Response]


class JourneyPage:
    """The app, and what it stands on."""

    def __init__(self, settings: Settings, make_notices: MakeNotices | None = None) -> None:
        """`make_notices`: what sends to sellers; without it no new link is sent in place of a dead
        one. Raises `OperatorError` where it cannot work: without an address, an inbox, a readable
        logo, file of bands or of secrets."""
        if settings.journey_url is None:
            raise SettingsError(
                "The seller's page was not started",
                "nothing says where sellers reach it",
                "set PRAZO_JOURNEY_URL to its public address (docs/journey.md)",
            )
        self._settings = settings
        self._inbox = open_guarded(settings)
        self._notices = None if make_notices is None else make_notices(settings, self._inbox)
        self._visits = Visits(settings, self._inbox, self._notices)
        self._visits.warm_up()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="journey")
        self._pictures = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        self._renewals = ThreadPoolExecutor(1, thread_name_prefix="new links")
        self._renewing = threading.BoundedSemaphore(MAX_RENEWALS)
        self._under_way = 0
        self._trials = Trials(
            {
                "inbox": in_thread(self._inbox.probe),
                "artifacts": in_thread(lambda: self._visits.store.probe(TRIAL_BYTES)),
            }
        )
        self._sender: Sender | None = None
        screens = self._visits.screens
        self._fixed = {
            "/journey.js": Response(
                screens.script, media_type="text/javascript", headers={"Cache-Control": CACHED}
            ),
            # The name stands in every checkpoint; by it `prazo doctor` tells this page from others.
            "/healthz": JSONResponse({"status": "alive", "log": self._inbox.log}),
        }
        if screens.logo is not None:
            self._fixed["/logo"] = Response(
                screens.logo.content,
                media_type=screens.logo.media_type,
                headers={"Cache-Control": CACHED},
            )
        self.app: App = FixedHeaders(self._routed(), headers_of(screens.style))

    def _routed(self) -> Starlette:
        visits = self._visits

        def route(path: str, **handlers: Handler) -> Route:
            methods = [it.upper() for it in handlers]
            return Route(path, self._endpoint(handlers), methods=methods)

        return Starlette(
            routes=[
                *(Route(path, self._constant, methods=["GET"]) for path in self._fixed),
                Route("/readyz", self._readyz, methods=["GET"]),
                route("/j/{token}", get=visits.landing, post=visits.knock),
                route("/r/{ref}/", get=visits.go_on),
                route("/r/{ref}/review", get=visits.review, post=visits.confirm),
                route("/r/{ref}/receipt", get=visits.receipt, post=visits.correct),
                route("/r/{ref}/receipt.txt", get=visits.receipt_file),
                route("/r/{ref}/leave", post=visits.leave),
                route("/r/{ref}/{slug}/check", post=visits.check),
                route("/r/{ref}/{slug}", get=visits.question, post=visits.answer),
                route("/{path:path}", get=visits.nothing, post=visits.nothing),
            ],
            lifespan=self._live,
        )

    @contextlib.asynccontextmanager
    async def _live(self, app: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            if self._settings.journey_submit == "auto":
                await self._begin_sending(stack)
            counting = asyncio.create_task(self._count())
            try:
                with present(self._inbox, Part.JOURNEY):
                    yield
            finally:
                counting.cancel()
                with contextlib.suppress(InboxUnavailable):
                    await self._run(self._visits.tidy)
        for pool in (self._pictures, self._renewals):
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)
        self._threads.shutdown()
        self._inbox.close()

    async def _begin_sending(self, stack: contextlib.AsyncExitStack) -> None:
        from pipeline.submit.resume import open_submissions  # its imports take a second

        _, submissions = await stack.enter_async_context(open_submissions(self._settings))
        self._sender = Sender(self._inbox, submissions)
        sweeping = asyncio.create_task(self._sender.run())
        stack.callback(sweeping.cancel)

    async def _count(self) -> None:
        while True:
            await asyncio.sleep(COUNT_SECONDS)
            try:
                await self._run(self._visits.tidy)
            except InboxUnavailable as error:
                LOG.error("refusals are not counted now: %s", error.in_one_line)

    async def _run(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _constant(self, request: Request) -> Response:
        return self._fixed[request.url.path]

    async def _readyz(self, request: Request) -> Response:
        """Whether an answer could be kept now. Anybody may ask on this port, so it names what is
        not ready, and the reason, with its places, to this machine alone."""
        faults = await self._trials.faults()
        if not faults:
            return JSONResponse({"status": "able to record", "log": self._inbox.log})
        is_outside = outside_hint(folded(request.headers.raw)) is not None
        why = f"not ready: {', '.join(faults)}" if is_outside else "; ".join(faults.values())
        content = {"status": "not able to record", "error": why, "stores": sorted(faults)}
        return JSONResponse({**content, "log": self._inbox.log}, 503)

    def _endpoint(
        self, handlers: Mapping[str, Handler]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            method = "post" if request.method == "POST" else "get"
            # Who sends a body slowly takes no place of others.
            try:
                form = await _form(request) if method == "post" else {}
            except ClientDisconnect:
                return Response(status_code=400)  # nobody reads it
            if form is None:
                return Response(status_code=413)
            if self._under_way >= MAX_UNDER_WAY:
                self._visits.note_refusal("busy")
                return Response(status_code=503, headers={"Retry-After": "2"})
            self._under_way += 1
            try:
                return await self._answer(handlers[method], _visit(request, form))
            finally:
                self._under_way -= 1

        return endpoint

    async def _answer(self, handler: Handler, visit: Visit) -> Response:
        try:
            response: Response = await self._run(
                lambda: self._visits.chosen_language(visit) or handler(visit)
            )
        except OperatorError as error:
            LOG.error("a step of a seller was not recorded: %s", error.in_one_line)
            self._visits.note_refusal("unavailable")
            return self._visits.busy(visit)
        except Exception:
            self._visits.note_refusal("unavailable")
            raise
        if response.status_code == 503:  # a confirmation is saved, and its receipt is not
            self._visits.note_refusal("unavailable")
        if visit.confirmation is not None:
            await self._follow_up(visit.confirmation)
        if visit.to_renew is not None:
            self._renew(visit.to_renew)
        return response

    def _renew(self, journey: Journey) -> None:
        """Has a new link sent. Nobody waits for it: how long it takes would say whether it went."""
        assert self._notices is not None  # else it is not offered
        if not self._renewing.acquire(blocking=False):
            LOG.error("no new link was sent: %d are asked for already", MAX_RENEWALS)
            return
        sending = self._renewals.submit(self._notices.renew, journey)

        def ended(sent: Future[None]) -> None:
            self._renewing.release()
            if not sent.cancelled() and (error := sent.exception()) is not None:
                LOG.error("no new link was sent", exc_info=error)

        sending.add_done_callback(ended)

    async def _follow_up(self, confirmed: Confirmation) -> None:
        """Has pictures taken, and the answers sent: for these it waits a moment."""
        if (browser := self._settings.journey_browser) is not None:
            self._pictures.submit(self._visits.take_pictures, browser, confirmed.ref)
        if self._sender is not None:
            sending = asyncio.create_task(
                self._sender.submit(confirmed.ref, confirmed.process_id, confirmed.at)
            )
            sending.add_done_callback(_say_what_failed)
            await asyncio.wait({sending}, timeout=SENT_SECONDS)


def _say_what_failed(sending: asyncio.Task[None]) -> None:
    if not sending.cancelled() and (error := sending.exception()) is not None:
        LOG.error("confirmed answers wait: %s", error)  # the next sweep takes them


async def _form(request: Request) -> dict[str, str] | None:
    """The inputs of a form; None for a body that no form of ours can have."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            return None
    try:
        pairs = parse_qsl(body.decode("utf-8"), max_num_fields=MAX_INPUTS, keep_blank_values=True)
    except ValueError:  # too many of them, or not UTF-8
        return None
    return dict(pairs)


def _visit(request: Request, form: Mapping[str, str]) -> Visit:
    headers: dict[bytes, bytes] = {}
    for name, value in request.scope["headers"]:
        headers[name] = headers[name] + b", " + value if name in headers else value
    return Visit(
        method=request.method,
        path=request.url.path,
        parts=request.path_params,
        query=request.query_params,
        cookies=request.cookies,
        headers=headers,
        form=form,
        peer=request.client.host if request.client else None,
    )


def headers_of(style: str) -> dict[str, str]:
    """What every answer carries. Its style is the one inline thing that a browser accepts."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return {
        "Content-Security-Policy": (
            f"default-src 'none'; style-src 'sha256-{digest}'; script-src 'self'; img-src 'self';"
            " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        ),
        "Referrer-Policy": "same-origin",  # with no-referrer, a form's Origin would be null
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
        "X-Robots-Tag": "noindex",
    }


def serve(settings: Settings, make_notices: MakeNotices) -> None:
    """Runs the page until SIGTERM or SIGINT. Raises `OperatorError` if it cannot start."""
    server.run(
        JourneyPage(settings, make_notices).app,
        settings.journey_host,
        settings.journey_port,
        chosen_by="PRAZO_JOURNEY_PORT",
    )
