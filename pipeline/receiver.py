"""The ASGI app that takes the platform's webhooks: 200 only when the entry is on disk.

It needs nothing but the inbox, so it goes on while the ledger is down, busy or being upgraded. The
order of checks is that of rules.md section 8: method, content encoding, size, credentials, record.
"""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

import prometheus_client

from pipeline import contract, instants, server
from pipeline.addresses import Address, address_in
from pipeline.asgi import (
    Gone,
    Handler,
    Receive,
    Request,
    Scope,
    Send,
    TooLarge,
    answer,
    answer_json,
    folded,
    is_identity,
    read_body,
)
from pipeline.authenticity import Authenticator, Refused
from pipeline.collecting import Collecting
from pipeline.errors import InboxUnavailable
from pipeline.exposure import outside_hint
from pipeline.inbox import GroupCommit, open_inbox
from pipeline.occurrences import QUARANTINE, Delivery
from pipeline.rejections import SECONDS_BETWEEN_ENTRIES, Rejected, Rejections, entry_of
from pipeline.settings import Settings

if TYPE_CHECKING:
    from pipeline.gateway import Gateway

LOG = logging.getLogger(__name__)

READY_SECONDS: Final = 5.0
"""Within which a trial write must succeed for the receiver to call itself ready."""
TRIAL_SECONDS: Final = 1.0
"""Between two trial writes, however often somebody asks."""


class Metrics:
    """What `/metrics` shows, in a registry of its own: several apps may live in a process."""

    def __init__(self) -> None:
        self.registry = prometheus_client.CollectorRegistry()
        deliveries = prometheus_client.Counter(
            "prazo_deliveries", "Deliveries recorded", ["recorded"], registry=self.registry
        )
        # Bound once: looking a label up for every delivery costs more than counting it.
        self.deliveries = {it: deliveries.labels(it) for it in ("new", "again", "quarantined")}
        self.rejections = prometheus_client.Counter(
            "prazo_rejections", "Deliveries turned away", ["status"], registry=self.registry
        )
        self.unavailable = prometheus_client.Counter(
            "prazo_inbox_unavailable", "Deliveries answered 503", registry=self.registry
        )
        self.record_seconds = prometheus_client.Histogram(
            "prazo_record_seconds",
            "From a delivery's receipt to its durable record",
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30),
            registry=self.registry,
        )
        self.last_seq = prometheus_client.Gauge(
            "prazo_inbox_last_seq", "Newest entry of the inbox", registry=self.registry
        )


class Receiver:
    """The app. Its inbox is open from the start, and closed, drained, at shutdown."""

    def __init__(self, settings: Settings) -> None:
        """Raises `SettingsError` where the secrets cannot be read, or `InboxUnavailable`."""
        self._max_body_bytes = settings.max_body_bytes
        self._authenticator = Authenticator(
            settings.webhook_auth,
            settings.webhook_secret_file,
            header=settings.webhook_header,
            tolerance_seconds=settings.webhook_tolerance_seconds,
        )
        self._is_authenticated = settings.webhook_auth != "none"
        self._inbox = open_inbox(settings.inbox)
        self._rejections = Rejections()
        self._metrics = Metrics()
        self._is_failing = False
        self._trial: asyncio.Task[str | None] | None = None
        self._tried_at = 0.0
        self._writer: GroupCommit
        self._counting: asyncio.Task[None]
        self._settings = settings
        self._gateway: asyncio.Task[Gateway]
        self._collecting = Collecting(settings)
        self._handlers: Mapping[str, Handler] = {
            "/webhooks": self._webhooks,
            "/v1/collections": self._collecting.post,
            "/checkpoint": _shown(self._show_checkpoint),
            "/healthz": _shown(self._healthz),
            "/readyz": _shown(self._readyz),
            "/metrics": _shown(self._show_metrics),
        }
        self._warm_up()

    def _warm_up(self) -> None:
        """Pays for first-time work (imports, caches, pages of the file) before any delivery."""
        sample = {"id": "warm-up", "type": "seller.created", "payload": {"object": {"id": "s"}}}
        body = contract.canonical_json(sample)
        Delivery(body, instants.now(), recorded_by="receiver").draft()
        self._authenticator.check(body, {}, instants.now())
        self._inbox.append([])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        request = Request(scope, folded(scope["headers"]), receive)
        handler = self._handlers.get(scope["path"])
        if handler is None and (address := address_in(scope.get("raw_path", b""))) is not None:
            await self._submit(address, request, send)  # the gateway says for itself who may call
            return
        handler = handler or _not_found
        hint = None if self._is_authenticated else outside_hint(request.headers)
        if hint is None:
            await handler(request, send)
        elif handler == self._webhooks:
            await self._turn_away(
                send, Rejected(403, f"deliveries are not authenticated, and {hint}")
            )
        else:
            await answer_json(send, 403, {"error": f"deliveries are not authenticated, and {hint}"})

    # --- life ---

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._writer = GroupCommit(self._inbox, asyncio.get_running_loop())
        self._gateway = asyncio.create_task(asyncio.to_thread(self._load_gateway))
        self._collecting.open(self._inbox, self._writer)
        self._counting = asyncio.create_task(self._record_rejections_in_time())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._counting.cancel()
        await self._record_rejections(until=math.inf)
        try:
            await (await self._gateway).close()
        finally:
            await asyncio.to_thread(self._writer.close)
            self._inbox.close()
        await send({"type": "lifespan.shutdown.complete"})

    # --- submissions ---

    def _load_gateway(self) -> "Gateway":
        from pipeline.gateway import Gateway  # a second of imports, for which no webhook waits

        return Gateway(self._settings, self._inbox, self._writer)

    async def _submit(self, address: Address, request: Request, send: Send) -> None:
        gateway = await asyncio.shield(self._gateway)
        await gateway.put(address, request, send)

    # --- POST /webhooks ---

    async def _webhooks(self, request: Request, send: Send) -> None:
        occurred_at = instants.now()
        headers = request.headers
        if request.method != "POST":
            await self._turn_away(send, Rejected(405, "only POST is taken"), (b"allow", b"POST"))
            return
        if not is_identity(headers):
            await self._turn_away(send, Rejected(415, "only Content-Encoding identity is taken"))
            return
        try:
            body = await read_body(request, self._max_body_bytes)
        except TooLarge:
            reason = f"the body is over {self._max_body_bytes} bytes"
            await self._turn_away(send, Rejected(413, reason))
            return
        except Gone:
            return  # nothing was acknowledged, so the platform sends it again
        verdict = self._authenticator.check(body, headers, occurred_at)
        if isinstance(verdict, Refused):
            await self._turn_away(
                send, Rejected(401, verdict.reason), *self._authenticator.challenge
            )
            return
        recorded_by = "webhook" if verdict.secret is None else f"webhook:{verdict.secret}"
        await self._record(Delivery(body, occurred_at, recorded_by), send)

    async def _record(self, delivery: Delivery, send: Send) -> None:
        try:
            receipt = await self._writer.record(delivery)
        except (InboxUnavailable, asyncio.CancelledError) as error:  # cancelled: told to stop
            self._metrics.unavailable.inc()
            if not self._is_failing:
                LOG.error("deliveries are answered 503: %s", error)
            self._is_failing = True
            content = {"error": "not recorded; send it again"}
            await answer_json(send, 503, content, (b"retry-after", b"5"))
            return
        if self._is_failing:
            LOG.warning("deliveries are recorded again")
        self._is_failing = False
        entry = receipt.entry
        assert entry is not None  # only lines of files and submissions can be turned down
        self._metrics.record_seconds.observe((instants.now() - delivery.occurred_at) / 1e6)
        if entry.kind == QUARANTINE:
            self._metrics.deliveries["quarantined"].inc()
            reason = entry.particulars["reason"]
            await answer_json(
                send, 422, {"seq": entry.seq, "recorded": "quarantined", "reason": reason}
            )
        else:
            recorded = "again" if entry.is_again else "new"
            self._metrics.deliveries[recorded].inc()
            await answer(
                send, 200, b'{"seq": %d, "recorded": "%b"}' % (entry.seq, recorded.encode())
            )

    async def _turn_away(
        self, send: Send, rejected: Rejected, *headers: tuple[bytes, bytes]
    ) -> None:
        self._metrics.rejections.labels(str(rejected.status)).inc()
        self._rejections.note(rejected)
        await self._record_rejections()
        await answer_json(send, rejected.status, {"error": rejected.reason}, *headers)

    async def _record_rejections_in_time(self) -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_ENTRIES / 4)
            await self._record_rejections()

    async def _record_rejections(self, until: float | None = None) -> None:
        """What is due, or what will be until then."""
        due = self._rejections.take_due(time.monotonic() if until is None else until)
        for rejected, deliveries in due.items():
            try:
                await self._writer.record(entry_of(rejected, deliveries, instants.now()))
            except InboxUnavailable as error:
                self._rejections.note(rejected, deliveries)  # for a later entry
                LOG.error("a count of rejected deliveries was not recorded: %s", error)

    # --- for whoever runs it ---

    async def _healthz(self, send: Send) -> None:
        await answer_json(send, 200, {"status": "alive"})

    async def _readyz(self, send: Send) -> None:
        """One trial write at a time, and its result for a while: asking often costs nothing."""
        now = time.monotonic()
        if self._trial is None or (self._trial.done() and now - self._tried_at >= TRIAL_SECONDS):
            self._trial, self._tried_at = asyncio.create_task(self._try_to_write()), now
        await asyncio.wait({self._trial}, timeout=READY_SECONDS)
        fault = (
            self._trial.result()
            if self._trial.done()
            else f"a trial write takes more than {READY_SECONDS:g} s"
        )
        if fault is None:
            await answer_json(send, 200, {"status": "able to record"})
        else:
            await answer_json(send, 503, {"status": "not able to record", "error": fault})

    async def _try_to_write(self) -> str | None:
        try:
            await asyncio.to_thread(self._inbox.probe)
        except InboxUnavailable as error:
            return str(error)
        return None

    async def _show_checkpoint(self, send: Send) -> None:
        """The newest checkpoint that the ledger's keeper left in the inbox, for witnesses."""
        try:
            signed = await asyncio.to_thread(self._inbox.checkpoint)
        except InboxUnavailable as error:
            await answer_json(send, 503, {"error": error.what})
            return
        if signed is None:
            await answer_json(send, 404, {"error": "no checkpoint has been signed yet"})
            return
        kind = b"text/plain; charset=utf-8"
        await answer(send, 200, signed.note.encode(), content_type=kind)

    async def _show_metrics(self, send: Send) -> None:
        with contextlib.suppress(InboxUnavailable):  # then the gauge stays where it was
            self._metrics.last_seq.set((await asyncio.to_thread(self._inbox.last))[0])
        shown = prometheus_client.generate_latest(self._metrics.registry)
        kind = prometheus_client.CONTENT_TYPE_LATEST.encode()
        await answer(send, 200, shown, content_type=kind)


def _shown(show: Callable[[Send], Awaitable[None]]) -> Handler:
    """A handler for what is only read."""

    async def handler(request: Request, send: Send) -> None:
        if request.method in ("GET", "HEAD"):
            await show(send)
        else:
            await answer_json(send, 405, {"error": "only GET is taken"}, (b"allow", b"GET, HEAD"))

    return handler


async def _not_found(request: Request, send: Send) -> None:
    hint = "there is nothing here; deliveries go to POST /webhooks"
    await answer_json(send, 404, {"error": hint})


def serve(settings: Settings) -> None:
    """Runs the receiver until SIGTERM or SIGINT; what was acknowledged is on disk by then.

    Raises `OperatorError` where it cannot start.
    """
    server.run(Receiver(settings), settings.receiver_host, settings.receiver_port)
