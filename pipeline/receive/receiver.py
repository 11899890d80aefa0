"""Receives the platform's webhooks in an ASGI app; it answers 200 only when the entry is on disk.

It needs only the inbox, so it works while the ledger is down, busy or being upgraded.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

import prometheus_client
from starlette.responses import PlainTextResponse, Response

from pipeline import instants, short_turns
from pipeline.continuity.kept_heads import Guard, open_shared
from pipeline.contract.body import canonical_json
from pipeline.contract.paths import Address, address_in
from pipeline.errors import InboxForked, InboxUnavailable
from pipeline.files.temporary import all_left
from pipeline.http import server
from pipeline.http.answers import MARK, Json, Relayed, mark
from pipeline.http.asgi import Receive, Request, Scope, Send, folded
from pipeline.http.callers import TurnedAway
from pipeline.http.loopback import OTHER_HOST, outside_hint
from pipeline.http.refusals import Reason
from pipeline.http.short import ShortPosts
from pipeline.http.trials import READY_SECONDS, Trials, in_thread, temporary_files
from pipeline.inbox.group_commit import GroupCommit
from pipeline.inbox.heartbeats import Part, heartbeats
from pipeline.inbox.parts import present
from pipeline.log import tree
from pipeline.log.deliveries import Delivery
from pipeline.places import written
from pipeline.receive import deliveries
from pipeline.receive.clock_watch import ClockWatch
from pipeline.receive.collections import Collecting
from pipeline.receive.deliveries import Deliveries
from pipeline.receive.heart import beat_for_ever
from pipeline.receive.journeys import Inviting
from pipeline.receive.metrics import Metrics
from pipeline.receive.notices import Noticing
from pipeline.receive.rejections import TurnedAwayRequests
from pipeline.settings import Settings

if TYPE_CHECKING:
    from pipeline.submit.gateway import Gateway

LOG = logging.getLogger(__name__)

MAX_OTHERS: Final = 300
"""Requests under way at once, besides deliveries and /healthz, which are never turned away for
others. A collection may hold its files in memory; a submission waits for the platform."""
WEBHOOKS: Final = ("/webhooks", "/webhooks/")
"""Where deliveries come; people often add the slash."""
INBOX: Final = "inbox"
"""The store that deliveries need; collections need all of them."""
WAYS_BY_PATH: Final = {
    **dict.fromkeys(WEBHOOKS, "webhooks"),
    "/v1/collections": "collections",
    "/v1/journeys": "journeys",
    "/v1/notices": "notices",
}
LAST_RECORD_SECONDS: Final = 2.0
"""How long recording may take after the last request was answered."""
LAST_WRITE_SECONDS: Final = 5.0
"""How long the writer's thread may take to end after that."""
_TURNED_AWAY: Final = (401, 403, 405, 413, 415)
"""With these a call is turned away unread. Whoever calls is of the marketplace, and hears why."""

Handler = Callable[[Request], Awaitable[Response | None]]
"""Its answer; None where the caller has gone before the end of its body."""


class Receiver:
    """The ASGI app. It opens its inbox at the start; at shutdown it writes what waits, then closes
    the inbox."""

    def __init__(self, settings: Settings) -> None:
        """Raises `SettingsError` if the secrets cannot be read, or `InboxUnavailable`."""
        self._metrics = Metrics(settings)
        self._turned_away = TurnedAwayRequests(self._metrics)
        self._deliveries = Deliveries(settings, self._metrics, self._turned_away)
        self._inbox = open_shared(settings)
        if settings.believe_clock:
            self._inbox.machine.believe()
        elif (why := self._inbox.machine.unvouched(self._inbox.last()[1])) is not None:
            LOG.warning("%s: compare it with another clock, deliveries are dated by it", why)
        self._guard = Guard(settings)
        self._inbox.guard(self._guard)
        self._looking: asyncio.Task[tuple[int, dict[Part, int]]] | None = None
        self._writer: GroupCommit
        self._counting: asyncio.Task[None]
        self._watching: asyncio.Task[None]
        self._beating: asyncio.Task[None] | None = None
        self._settings = settings
        self._gateway: asyncio.Task[Gateway]
        self._collecting = Collecting(settings, self._metrics.refusals)
        self._noticing = Noticing(settings, self._metrics.refusals)
        self._trials = Trials(
            {
                INBOX: self._try_to_write,
                "artifacts": in_thread(self._collecting.probe),
                "temporary_files": in_thread(temporary_files),
            }
        )
        self._metrics.registry.register(self._trials)
        self._others = 0
        self._handlers: Mapping[str, Handler] = {
            "/v1/collections": self._collecting.post,
            "/v1/journeys": Inviting(settings, self._inbox, self._metrics.refusals).post,
            "/v1/notices": self._noticing.post,
            "/checkpoint": _shown(self._show_checkpoint),
            "/healthz": _shown(self._healthz),
            "/readyz": _shown(self._readyz),
            "/readyz/webhooks": _shown(partial(self._readyz, INBOX)),
            "/metrics": _shown(self._show_metrics),
        }
        self.short_posts: ShortPosts = {it.encode(): self._deliveries.begin for it in WEBHOOKS}
        self.own_fields = b"%b: %b\r\n" % MARK
        all_left(written(settings), is_removed=True)
        self._warm_up()

    def _warm_up(self) -> None:
        """Does first-time work (imports, caches, pages of the file) before the first delivery."""
        sample = {"id": "warm-up", "type": "seller.created", "payload": {"object": {"id": "s"}}}
        body = canonical_json(sample)
        Delivery(body, instants.now(), recorded_by="receiver").draft()
        self._deliveries.authenticator.check(body, {}, instants.now())
        with contextlib.suppress(InboxForked):  # deliveries are answered 503 until it is right
            self._inbox.append([])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        request = Request(scope, folded(scope["headers"]), receive)
        if scope["path"] in WEBHOOKS:
            try:
                await self._deliver(request, send)
            except Exception:
                self._note(request, None, "fault")
                raise
            return
        address = address_in(scope.get("raw_path", b""))
        try:
            answer = await self._find(request, address)
            if answer is None:
                return
            if not isinstance(answer, Relayed):
                is_call = scope["path"] in self._handlers or address is not None
                await self._count(answer.status_code, request, is_call=is_call)
        except (Exception, asyncio.CancelledError) as error:
            # By ourselves: the server's own 500 could be taken for the platform's.
            if isinstance(error, asyncio.CancelledError):  # the server ends, and has waited
                status, why = 503, "the server is stopping; send it again"
            else:
                LOG.exception("a request failed")
                self._note(request, address, "fault")
                status, why = 500, "not taken, by a fault of ours, of which the text log says more"
            answer = Json(status, {"error": why}, (b"connection", b"close"))
        mark(answer)
        await answer(scope, receive, send)

    async def _deliver(self, request: Request, send: Send) -> None:
        if hint := self._outside_hint(request):
            await self._deliveries.turn_away(send, TurnedAway(403, hint))
        else:
            await self._deliveries.post(request, send)

    async def _find(self, request: Request, address: Address | None) -> Response | None:
        """The answer to a request other than a delivery."""
        path: str = request.scope["path"]
        handler = self._handlers.get(path)
        if path == "/healthz":
            return await self._let_in(self._handlers[path], request)
        if self._others >= MAX_OTHERS:
            self._note(request, address, "busy")
            if handler is not None or address is not None:  # others are misaddressed
                self._turned_away.count(503)
            content = {"error": "too many requests are under way; send it again"}
            return Json(503, content, (b"retry-after", b"1"))
        self._others += 1
        try:
            if handler is None and address is not None:
                return await self._submit(address, request)  # the gateway decides who may call it
            return await self._let_in(handler or _not_found, request)
        finally:
            self._others -= 1

    def _note(self, request: Request, address: Address | None, reason: Reason) -> None:
        way = WAYS_BY_PATH.get(request.scope["path"], "submissions" if address else None)
        if way is not None:
            self._metrics.refusals.note(way, reason)

    async def _count(self, status: int, asked: Request, *, is_call: bool) -> None:
        """Counts a request other than a delivery where it is turned away unread. What was sent to a
        wrong place is recorded as well. `is_call`: whether the path is one of ours."""
        if not is_call:
            await self._turned_away.note(status, "none of the receiver's calls", asked)
        elif status == 403 and outside_hint(asked.headers, asked.http_version) == OTHER_HOST:
            await self._turned_away.note(status, OTHER_HOST, asked)
        elif status in _TURNED_AWAY:
            self._turned_away.count(status)

    async def _let_in(self, handler: Handler, request: Request) -> Response | None:
        """Handles a request, unless deliveries are not authenticated and it is not local."""
        if hint := self._outside_hint(request):
            return Json(403, {"error": hint})
        return await handler(request)

    def _outside_hint(self, request: Request) -> str | None:
        """Why a request is not taken where deliveries are not authenticated; None where it is."""
        if self._deliveries.is_authenticated:
            return None
        hint = outside_hint(request.headers, request.http_version)
        return hint and f"deliveries are not authenticated, and {hint}"

    def on_refusal(self, status: bytes) -> None:
        """Counts a request that the server itself refused, such as one that never ended."""
        number, _, phrase = status.decode().partition(" ")
        self._turned_away.note_later(int(number), f"the server refused it: {phrase}")

    # --- life ---

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._writer = GroupCommit(
            self._inbox, asyncio.get_running_loop(), patience_seconds=deliveries.ANSWER_SECONDS
        )
        self._gateway = asyncio.create_task(asyncio.to_thread(self._load_gateway))
        self._turned_away.open(self._inbox, self._writer)
        self._deliveries.open(self._inbox, self._writer)
        self._collecting.open(self._inbox, self._writer)
        self._noticing.open(self._inbox, self._writer)
        self._counting = asyncio.create_task(self._turned_away.record_in_time())
        watch = ClockWatch(self._inbox, self._writer, self._metrics.registry)
        self._watching = asyncio.create_task(watch.run())
        if not self._settings.has_inbox_file:  # with a file, the receiver is on the same machine
            self._beating = asyncio.create_task(beat_for_ever(self._inbox))
        with present(self._inbox, Part.RECEIVER):
            await send({"type": "lifespan.startup.complete"})
            await receive()
        self._counting.cancel()
        self._watching.cancel()
        if self._beating is not None:
            self._beating.cancel()
        await self._turned_away.record_last(time.monotonic() + LAST_RECORD_SECONDS)
        try:
            await (await self._gateway).close()
        finally:
            if await asyncio.to_thread(self._writer.close, LAST_WRITE_SECONDS):
                self._inbox.close()
            else:
                LOG.error("a write has not ended; what waited for it was answered 503")
        await send({"type": "lifespan.shutdown.complete"})

    # --- submissions ---

    def _load_gateway(self) -> "Gateway":
        from pipeline.submit.gateway import Gateway  # a second of imports: no webhook waits for it

        def count(outcome: str) -> None:
            self._metrics.attempts.labels(outcome).inc()

        refused = partial(self._metrics.refusals.note, "submissions")
        return Gateway(self._settings, self._inbox, self._writer, count, refused)

    async def _submit(self, address: Address, request: Request) -> Response | None:
        gateway = await asyncio.shield(self._gateway)
        return await gateway.put(address, request)

    # --- for the operator ---

    async def _healthz(self) -> Response:
        return Json(200, {"status": "alive"})

    async def _readyz(self, *stores: str) -> Response:
        """The result of trial writes to these stores; to all without one."""
        faults = await self._trials.faults(*stores)
        if not faults:
            return Json(200, {"status": "able to record", **self._log()})
        unable = {"status": "not able to record", "error": "; ".join(faults.values())}
        return Json(503, {**unable, "stores": sorted(faults), **self._log()})

    def _log(self) -> dict[str, object]:
        """Which log it is, by the name in its checkpoints, and what is newest in it."""
        return {"log": self._inbox.log, **self._newest()}

    def _newest(self) -> dict[str, dict[str, int | str]]:
        """The newest entry that this receiver wrote: maybe nobody else knew of it."""
        written = self._inbox.written
        if written is None:
            return {}
        return {"newest": {"seq": written.seq, "leaf": tree.leaf_hash(written.leaf).hex()}}

    async def _try_to_write(self) -> None:
        if self._guard.unreached is not None:
            self._inbox.doubt()  # the keeper may answer by now
        await self._writer.probe()

    async def _show_checkpoint(self) -> Response:
        """The newest checkpoint that the ledger's keeper left in the inbox, for witnesses."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                signed = await asyncio.to_thread(self._inbox.checkpoint)
        except (InboxUnavailable, TimeoutError):
            return Json(503, {"error": "the inbox cannot be read now"})
        if signed is None:
            return Json(404, {"error": "no checkpoint has been signed yet"})
        return PlainTextResponse(signed.note)

    def _look_at_inbox(self) -> tuple[int, dict[Part, int]]:
        return self._inbox.last()[0], heartbeats(self._inbox)

    async def _show_metrics(self) -> Response:
        trying = asyncio.create_task(self._trials.faults())  # its gauges show what it finds
        if self._looking is None or self._looking.done():  # one at a time, if the inbox hangs
            self._looking = asyncio.create_task(asyncio.to_thread(self._look_at_inbox))
            self._looking.add_done_callback(_heard)
        with contextlib.suppress(InboxUnavailable, TimeoutError):  # the gauges stay as they were
            last_seq, beats = await asyncio.wait_for(asyncio.shield(self._looking), READY_SECONDS)
            self._metrics.last_seq.set(last_seq)
            self._metrics.show_heartbeats(beats)
        await trying
        shown = prometheus_client.generate_latest(self._metrics.registry)
        return Response(shown, media_type=prometheus_client.CONTENT_TYPE_LATEST)


def _heard(look: asyncio.Task[tuple[int, dict[Part, int]]]) -> None:
    """Takes note of how a look ended for which nobody waits any more: asyncio would write a
    traceback of one that failed into the log."""
    if not look.cancelled():
        look.exception()


def _shown(show: Callable[[], Awaitable[Response]]) -> Handler:
    """A handler that answers GET and HEAD with `show`, and other methods with 405."""

    async def handler(request: Request) -> Response:
        if request.method in ("GET", "HEAD"):
            return await show()
        return Json(405, {"error": "only GET is taken"}, (b"allow", b"GET, HEAD"))

    return handler


async def _not_found(request: Request) -> Response:
    hint = (
        "there is nothing here; deliveries go to POST /webhooks, submissions to"
        " PUT /v1/marketplaces/{marketplace_id}/sellers/{seller_id}/registration/review"
    )
    return Json(404, {"error": hint})


def serve(settings: Settings) -> None:
    """Runs the receiver until SIGTERM or SIGINT. Everything that it acknowledged is on disk.

    Raises `OperatorError` if it cannot start.
    """
    short_turns.take_short_turns()
    with short_turns.short_in_python():  # the loop and the writer
        server.run(
            Receiver(settings),
            settings.receiver_host,
            settings.receiver_port,
            chosen_by="PRAZO_RECEIVER_PORT",
        )
