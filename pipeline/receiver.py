"""The ASGI app that takes the platform's webhooks: 200 only when the entry is on disk.

It needs nothing but the inbox, so it goes on while the ledger is down, busy or being upgraded. The
order of checks is that of rules.md section 8: method, content encoding, size, credentials, record.
"""

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final

import prometheus_client
import uvicorn

from pipeline import contract, instants, occurrences
from pipeline.authenticity import Authenticator, Refused
from pipeline.errors import InboxUnavailable
from pipeline.exposure import outside_hint
from pipeline.inbox import GroupCommit, Inbox, open_inbox
from pipeline.occurrences import QUARANTINE, REJECTION, Draft
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Handler = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Mapping[bytes, bytes]

BODY_SECONDS: Final = 20.0
"""Longest wait for a body; the platform itself gives up after 30."""
REJECTION_SECONDS: Final = 60.0
PROBE_SECONDS: Final = 1.0
GRACEFUL_SECONDS: Final = 25


class _Gone(Exception):
    """The caller closed the connection before its body was complete."""


class _TooLarge(Exception):
    """The body is over the limit; it is not read any further."""


class Rejections:
    """Counts deliveries that are turned away unread; nobody outside may fill the log with them.

    Each reason becomes at most one entry a minute, with the count since the one before.
    """

    def __init__(self) -> None:
        self._waiting: Counter[tuple[int, str]] = Counter()
        self._recorded_at: dict[tuple[int, str], float] = {}

    def note(self, status: int, reason: str) -> None:
        self._waiting[status, reason] += 1

    def due(self, now: float, occurred_at: int, *, all_of_them: bool = False) -> list[Draft]:
        """Entries that may be recorded now; `now` in seconds of a monotonic clock."""
        drafts = []
        for (status, reason), deliveries in list(self._waiting.items()):
            last = self._recorded_at.get((status, reason), -REJECTION_SECONDS)
            if not all_of_them and now - last < REJECTION_SECONDS:
                continue
            self._recorded_at[status, reason] = now
            del self._waiting[status, reason]
            drafts.append(
                Draft(
                    kind=REJECTION,
                    occurred_at=occurred_at,
                    recorded_by="receiver",
                    status=status,
                    particulars={"reason": reason, "deliveries": deliveries},
                )
            )
        return drafts


class Metrics:
    """What `/metrics` shows, in a registry of its own: several apps may live in a process."""

    def __init__(self) -> None:
        self.registry = prometheus_client.CollectorRegistry()
        self.deliveries = prometheus_client.Counter(
            "prazo_deliveries", "Deliveries recorded", ["recorded"], registry=self.registry
        )
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
        # Bound once: looking a label up for every delivery costs more than counting it.
        self.recorded = {it: self.deliveries.labels(it) for it in ("new", "again", "quarantined")}


class Receiver:
    """The app. Opens its inbox at start-up and closes it, drained, at shutdown."""

    def __init__(self, settings: Settings) -> None:
        """Raises `SettingsError` where the secrets cannot be read."""
        self._settings = settings
        self._authenticator = Authenticator(
            settings.webhook_auth,
            settings.webhook_secret_file,
            header=settings.webhook_header,
            tolerance_seconds=settings.webhook_tolerance_seconds,
        )
        self._rejections = Rejections()
        self._metrics = Metrics()
        self._inbox: Inbox
        self._writer: GroupCommit
        self._flushing: asyncio.Task[None]
        self._probed: tuple[float, str | None] = (-PROBE_SECONDS, None)
        self._routes: dict[str, Handler] = {
            "/webhooks": self._webhooks,
            "/healthz": self._healthz,
            "/readyz": self._readyz,
            "/metrics": self._show_metrics,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._routes.get(scope["path"], _not_found)(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    # --- life ---

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._start()
        except Exception as error:
            LOG.critical("%s", error)
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _start(self) -> None:
        self._inbox = await asyncio.to_thread(open_inbox, self._settings.inbox)
        self._writer = GroupCommit(self._inbox, asyncio.get_running_loop())
        await asyncio.to_thread(self._warm_up)
        self._flushing = asyncio.create_task(self._flush_rejections())

    def _warm_up(self) -> None:
        """Pays for first-time work (imports, caches, pages of the file) before any delivery."""
        sample = {"id": "warm-up", "type": "seller.created", "payload": {"object": {"id": "s"}}}
        body = contract.canonical_json(sample)
        occurrences.delivery(body, occurred_at=instants.now(), recorded_by="receiver")
        self._authenticator.check(body, {}, instants.now())
        self._inbox.append([])

    async def _stop(self) -> None:
        """Requests have been answered by now; what was counted meanwhile is recorded last."""
        self._flushing.cancel()
        for draft in self._rejections.due(time.monotonic(), instants.now(), all_of_them=True):
            await self._record_rejection(draft)
        await asyncio.to_thread(self._writer.close)
        self._inbox.close()

    async def _flush_rejections(self) -> None:
        while True:
            await asyncio.sleep(REJECTION_SECONDS / 4)
            for draft in self._rejections.due(time.monotonic(), instants.now()):
                await self._record_rejection(draft)

    async def _record_rejection(self, draft: Draft) -> None:
        try:
            await self._writer.record(draft)
        except InboxUnavailable as error:
            LOG.error("a count of rejected deliveries was not recorded: %s", error)

    # --- POST /webhooks ---

    async def _webhooks(self, scope: Scope, receive: Receive, send: Send) -> None:
        occurred_at = instants.now()
        headers: Headers = dict(scope["headers"])
        if scope["method"] != "POST":
            await self._turn_away(send, 405, "only POST is taken", [(b"allow", b"POST")])
            return
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            await self._turn_away(send, 415, "only Content-Encoding identity is taken")
            return
        try:
            body = await self._body(headers, receive)
        except _TooLarge:
            limit = self._settings.max_body_bytes
            close = [(b"connection", b"close")]  # the rest of the body is not read
            await self._turn_away(send, 413, f"the body is over {limit} bytes", close)
            return
        except (_Gone, TimeoutError):
            return  # nothing was acknowledged, so the platform sends it again
        if self._authenticator.method == "none" and (hint := outside_hint(headers)):
            await self._turn_away(send, 403, f"deliveries are not authenticated, and {hint}")
            return
        verdict = self._authenticator.check(body, headers, occurred_at)
        if isinstance(verdict, Refused):
            await self._turn_away(send, 401, verdict.reason)
            return
        recorded_by = "webhook" if verdict.secret is None else f"webhook:{verdict.secret}"
        draft = occurrences.delivery(body, occurred_at=occurred_at, recorded_by=recorded_by)
        await self._record(draft, send)

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        limit = self._settings.max_body_bytes
        declared = headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared) > limit:
            raise _TooLarge
        message = await receive()
        if not message.get("more_body") and message["type"] == "http.request":
            body: bytes = message.get("body", b"")
        else:
            body = await asyncio.wait_for(_rest(message, receive, limit), BODY_SECONDS)
        if len(body) > limit:
            raise _TooLarge
        return body

    async def _record(self, draft: Draft, send: Send) -> None:
        try:
            receipt = await self._writer.record(draft)
        except InboxUnavailable as error:
            LOG.error("%s", error)
            self._metrics.unavailable.inc()
            again = [(b"retry-after", b"5")]
            await _answer(send, 503, {"error": "not recorded; send it again"}, again)
            return
        entry = receipt.entry
        if entry is None:  # only lines of files and submissions can be turned down by the inbox
            raise AssertionError(receipt)
        self._metrics.record_seconds.observe((instants.now() - draft.occurred_at) / 1e6)
        if draft.kind == QUARANTINE:
            self._metrics.recorded["quarantined"].inc()
            reason = draft.particulars["reason"]
            answer = {"seq": entry.seq, "recorded": "quarantined", "reason": reason}
            await _answer(send, 422, answer)
        else:
            recorded = "again" if entry.is_again else "new"
            self._metrics.recorded[recorded].inc()
            await _answer(send, 200, {"seq": entry.seq, "recorded": recorded})

    async def _turn_away(
        self,
        send: Send,
        status: int,
        reason: str,
        headers: list[tuple[bytes, bytes]] | None = None,
    ) -> None:
        self._metrics.rejections.labels(str(status)).inc()
        self._rejections.note(status, reason)
        for draft in self._rejections.due(time.monotonic(), instants.now()):
            await self._record_rejection(draft)
        await _answer(send, status, {"error": reason}, headers)

    # --- for whoever runs it ---

    async def _healthz(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _answer(send, 200, {"status": "alive"})

    async def _readyz(self, scope: Scope, receive: Receive, send: Send) -> None:
        probed_at, fault = self._probed
        if time.monotonic() - probed_at >= PROBE_SECONDS:
            fault = await asyncio.to_thread(self._probe)
            self._probed = (time.monotonic(), fault)
        if fault is None:
            await _answer(send, 200, {"status": "able to record"})
        else:
            await _answer(send, 503, {"status": "not able to record", "error": fault})

    def _probe(self) -> str | None:
        try:
            self._inbox.probe()
        except InboxUnavailable as error:
            return str(error)
        return None

    async def _show_metrics(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._metrics.last_seq.set((await asyncio.to_thread(self._inbox.last))[0])
        body = prometheus_client.generate_latest(self._metrics.registry)
        await _send(send, 200, body, prometheus_client.CONTENT_TYPE_LATEST.encode())


async def _rest(message: Message, receive: Receive, limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        if message["type"] == "http.disconnect":
            raise _Gone
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            raise _TooLarge
        if not message.get("more_body"):
            return b"".join(chunks)
        message = await receive()


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    await _answer(send, 404, {"error": "there is nothing here; deliveries go to POST /webhooks"})


async def _answer(
    send: Send,
    status: int,
    content: Mapping[str, object],
    headers: list[tuple[bytes, bytes]] | None = None,
) -> None:
    await _send(send, status, json.dumps(content).encode(), b"application/json", headers)


async def _send(
    send: Send,
    status: int,
    body: bytes,
    content_type: bytes,
    headers: list[tuple[bytes, bytes]] | None = None,
) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", content_type),
                (b"content-length", str(len(body)).encode()),
                *(headers or ()),
            ],
        }
    )
    await send({"type": "http.response.body", "body": body})


def serve(settings: Settings) -> None:
    """Runs the receiver until SIGTERM or SIGINT; what was acknowledged is on disk by then."""
    uvicorn.run(
        Receiver(settings),
        host=settings.receiver_host,
        port=settings.receiver_port,
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACEFUL_SECONDS,
    )
