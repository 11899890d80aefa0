"""Runs the simulated platform on real sockets: its API with mutual TLS, its control without.

    with running(webhooks_to="http://127.0.0.1:8400/webhooks") as platform:
        process_id = platform.require_review(platform.adopt_seller(), "ACP")
        platform.add_fault(kind="status", status=503, retry_after="2")
        ...  # PUT to platform.url with platform.certificates and platform.credentials

The servers run in a thread with an event loop of its own; the handle may be used from any thread.
"""

import asyncio
import socket
import ssl
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sandbox.clock import Clock
from sandbox.market.history import Past
from sandbox.market.live import Live, ReceiverEdge
from sandbox.platform.api import Api, Request
from sandbox.platform.certificates import Certificates, issue
from sandbox.platform.control import control
from sandbox.platform.credentials import Credentials
from sandbox.platform.faults import Fault
from sandbox.platform.service import Service, process_view
from sandbox.platform.state_machine import Platform, Policy
from sandbox.platform.webhooks import Attempt, Authentication, Courier, Manner, Message
from sandbox.resources import Event, Json, Process, ReviewType, Verdict

LOOPBACK = "127.0.0.1"
BadCertificates = Literal["alert", "401"]
_NO_CHECK_TIME = ssl.VerifyFlags(0x200000)  # OpenSSL's X509_V_FLAG_NO_CHECK_TIME
_QUIET: dict[str, Any] = {
    "lifespan": "off",
    "log_config": None,
    "access_log": False,
    "server_header": False,
}
_START_LIMIT_SECONDS = 20.0
_END_LIMIT_SECONDS = 2.0
_CALL_LIMIT_SECONDS = 60.0

T = TypeVar("T")


class Handle:
    """A running sandbox, from outside its event loop."""

    def __init__(
        self,
        service: Service,
        api: Api,
        certificates: Certificates,
        loop: asyncio.AbstractEventLoop,
        ports: tuple[int, int],
    ) -> None:
        self.url = f"https://{LOOPBACK}:{ports[0]}"
        self.control_url = f"http://{LOOPBACK}:{ports[1]}"
        self.marketplace_id = service.platform.marketplace_id
        self.certificates = certificates
        self.credentials = service.credentials
        self._service = service
        self._api = api
        self._loop = loop

    # Sellers and reviews

    def adopt_seller(self, *, is_business: bool = False) -> str:
        """The id of a seller who was enabled long ago, without any event."""
        return self.call(lambda s: s.adopt_seller(is_business=is_business)).seller_id

    def create_seller(self, *, is_business: bool = False, verdict: Verdict | None = None) -> str:
        """The id of a new seller: `seller.created` now, the decision within minutes of its time."""
        return self.call(
            lambda s: s.create_seller(is_business=is_business, verdict=verdict)
        ).seller_id

    def foresee(self, seller_id: str, verdict: Verdict) -> None:
        """Decides how the analysis will end that a seller's documents begin."""
        self.call(lambda s: s.platform.foresee(seller_id, verdict))

    def require_review(
        self,
        seller_id: str,
        review_type: ReviewType,
        *,
        requested_fields: tuple[str, ...] | None = None,
        days_ago: float = 0.0,
    ) -> str:
        """The id of a process opened so many days ago."""
        return self.call(
            lambda s: s.require_review(
                seller_id, review_type, requested_fields=requested_fields, days_ago=days_ago
            )
        ).process_id

    def process(self, process_id: str) -> Json:
        """What the platform believes of one process."""

        def look(service: Service) -> Process:
            service.catch_up()
            return service.platform.processes[process_id]

        return process_view(self.call(look))

    def processes(self) -> list[Json]:
        return self.call(lambda s: s.processes())

    def sellers(self) -> list[Json]:
        return self.call(lambda s: s.sellers())

    def report(self, process_id: str, *, event_id: str | None = None) -> None:
        """Reports the state of a process; under the id of an earlier event if one is given."""
        self._turn(lambda s: s.platform.report(process_id, s.clock.now(), event_id))

    def report_again(self, process_id: str) -> None:
        """Delivers the last report of a process again, with the status that it has by now."""
        self._turn(lambda s: s.platform.report_again(process_id, s.clock.now()))

    def finish(self, process_id: str, *, is_reported: bool = True) -> None:
        """Concludes a process without a submission."""
        self._turn(lambda s: s.platform.finish(process_id, s.clock.now(), is_reported=is_reported))

    # Time and faults

    def advance(self, seconds: float) -> None:
        """Moves platform time forward; what was due happens, and its events are posted."""
        self.call(lambda s: s.advance(seconds))

    def set_scale(self, scale: float) -> None:
        self.call(lambda s: s.set_scale(scale))

    def now(self) -> int:
        """Platform time, in microseconds since the epoch."""
        return self.call(lambda s: s.clock.now())

    def add_fault(self, **terms: Any) -> Fault:
        """A fault to come; `terms` are the fields of `faults.Fault`."""
        return self.call(lambda s: s.add_fault(**terms))

    def faults(self) -> list[Fault]:
        """The faults still to come."""
        return self.call(lambda s: list(s.faults.pending))

    def clear_faults(self) -> None:
        self.call(lambda s: s.faults.clear())

    # Webhooks

    def point_webhooks_at(self, url: str, authentication: Authentication | None = None) -> None:
        """Sends webhooks to this URL from now on, and also those that waited for an endpoint."""
        self.call(lambda s: s.courier.point_at(url, authentication))

    def redeliver(self, event: Event) -> None:
        self.call(lambda s: s.courier.post(Message(event.event_id, event.body)))

    def deliver_raw(self, body: bytes, message_id: str | None = None) -> None:
        """Posts these very bytes as a webhook."""
        self.call(lambda s: s.deliver_raw(body, message_id))

    def flood(self, deliveries: int) -> None:
        """Delivers this many events at once; returns when each was answered or given up."""
        self.call_async(lambda s: s.flood(deliveries))

    def settle(self) -> None:
        """Returns when all webhooks posted so far are delivered or given up."""
        self.call_async(lambda s: s.courier.settle())

    def go_live(
        self,
        past: Past,
        *,
        events_per_minute: float = 30.0,
        receiver_url: str | None = None,
        token: str | None = None,
    ) -> None:
        """Goes on from the end of a history, until the sandbox stops.

        The sandbox must have been started with `past.platform`. With a `receiver_url` the
        marketplace takes part: collections and submissions go there, with the API token.
        """

        def start(service: Service) -> None:
            if service.platform is not past.platform:
                raise ValueError("start the sandbox with platform=past.platform to go on from it")
            edge = ReceiverEdge(receiver_url, self.marketplace_id, token) if receiver_url else None
            live = Live(service, past.marketplace, edge=edge, events_per_minute=events_per_minute)
            for event in past.undelivered():
                service.courier.post(Message(event.event_id, event.body))
            service.run_along(live.run())

        self.call(start)

    # What was seen

    @property
    def events(self) -> list[Event]:
        """Every event since the start (the last 10,000)."""
        return self.call(lambda s: list(s.events))

    @property
    def deliveries(self) -> list[Attempt]:
        """Every webhook attempt (the last 10,000)."""
        return self.call(lambda s: list(s.courier.attempts))

    @property
    def requests(self) -> list[Request]:
        """Every request that the API saw (the last 10,000), answered or not."""
        return self.call(lambda s: list(self._api.requests))

    # Into the loop

    def call(self, work: Callable[[Service], T]) -> T:
        """Runs `work` in the sandbox's event loop."""

        async def run() -> T:
            return work(self._service)

        return self._wait(asyncio.run_coroutine_threadsafe(run(), self._loop))

    def _turn(self, work: Callable[[Service], None]) -> None:
        """Runs `work`, and posts the events that follow from it."""

        def run(service: Service) -> None:
            work(service)
            service.catch_up()

        self.call(run)

    def call_async(self, work: Callable[[Service], Awaitable[T]]) -> T:
        async def run() -> T:
            return await work(self._service)

        return self._wait(asyncio.run_coroutine_threadsafe(run(), self._loop))

    def _wait(self, future: Future[T]) -> T:
        try:
            return future.result(_CALL_LIMIT_SECONDS)
        except TimeoutError:
            future.cancel()
            raise


@contextmanager
def running(
    *,
    folder: Path | None = None,
    platform: Platform | None = None,
    policy: Policy | None = None,
    seed: int = 0,
    clock: Clock | None = None,
    webhooks_to: str | None = None,
    authentication: Authentication | None = None,
    manner: Manner | None = None,
    credentials: Credentials | None = None,
    bad_certificates: BadCertificates = "alert",
    port: int = 0,
    control_port: int = 0,
) -> Iterator[Handle]:
    """A sandbox that serves while the block runs.

    `bad_certificates`: how a client is refused that shows none or a bad one. `alert` ends the
    handshake; `401` is the contract's answer, as where something before the platform ends TLS.
    `folder` takes the certificates (default: a temporary one, gone afterwards). Without
    `webhooks_to`, events wait until `point_webhooks_at`. Ports 0 are chosen by the system.
    """
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sandbox-")))
        certificates = issue(folder)
        api_socket = stack.enter_context(_listen(port))
        control_socket = stack.enter_context(_listen(control_port))
        ready: Future[Handle] = Future()
        stopping = threading.Event()

        async def live() -> None:
            service = Service(
                platform or Platform(seed=seed, policy=policy),
                clock=clock,
                courier=Courier(webhooks_to, authentication, manner=manner, seed=seed),
                credentials=credentials,
            )
            sockets = (api_socket, control_socket)
            await _serve(service, certificates, bad_certificates, sockets, ready, stopping)

        def run() -> None:
            try:
                asyncio.run(live())
            except BaseException as failure:
                if ready.done():
                    raise
                ready.set_exception(failure)

        thread = threading.Thread(target=run, name="sandbox", daemon=True)
        thread.start()
        try:
            yield ready.result(_START_LIMIT_SECONDS)
        finally:
            stopping.set()
            thread.join(_END_LIMIT_SECONDS)


async def _serve(
    service: Service,
    certificates: Certificates,
    bad_certificates: BadCertificates,
    sockets: tuple[socket.socket, socket.socket],
    ready: "Future[Handle]",
    stopping: threading.Event,
) -> None:
    connections = _Connections()
    api = Api(service, connections, frozenset({certificates.client.der()}))
    servers = [
        uvicorn.Server(_behind_tls(api, connections, certificates, bad_certificates)),
        uvicorn.Server(uvicorn.Config(control(service, api), **_QUIET)),
    ]

    async def watch() -> None:
        while not all(server.started for server in servers):
            await asyncio.sleep(0.01)
        ports = (sockets[0].getsockname()[1], sockets[1].getsockname()[1])
        ready.set_result(Handle(service, api, certificates, asyncio.get_running_loop(), ports))
        while not stopping.is_set():
            await asyncio.sleep(0.05)
        for server in servers:
            # A fault may keep an answer back for long: whoever ended the sandbox waits for none.
            server.should_exit = server.force_exit = True
        for transport in list(connections.transports.values()):  # a fault may hold one open
            transport.abort()

    async with service.keeping_time():
        await asyncio.gather(
            watch(), *(s.serve([sock]) for s, sock in zip(servers, sockets, strict=True))
        )


def _behind_tls(
    api: Api,
    connections: "_Connections",
    certificates: Certificates,
    bad_certificates: BadCertificates,
) -> uvicorn.Config:
    """How the API is served: with mutual TLS, and each connection known."""
    config = uvicorn.Config(
        api,
        http=connections.protocol(),
        ssl_certfile=certificates.server.certificate,
        ssl_keyfile=certificates.server.key,
        ssl_ca_certs=certificates.authority,
        ssl_cert_reqs=ssl.CERT_REQUIRED,
        **_QUIET,
    )
    config.load()
    if bad_certificates == "401" and config.ssl is not None:
        _let_in_what_the_app_refuses(config.ssl, certificates)
    return config


class _Connections:
    """The open connections of the API, by their client's address."""

    def __init__(self) -> None:
        self.transports: dict[tuple[str, int], asyncio.Transport] = {}

    def protocol(self) -> type[H11Protocol]:
        """The class of connections that enter themselves here."""
        transports = self.transports

        class Connection(H11Protocol):
            def connection_made(  # type: ignore[override]
                self, transport: asyncio.Transport
            ) -> None:
                super().connection_made(transport)
                if self.client is not None:
                    transports[self.client] = transport

            def connection_lost(self, exc: Exception | None) -> None:
                if self.client is not None:
                    transports.pop(self.client, None)
                super().connection_lost(exc)

        return Connection

    def certificate(self, client: tuple[str, int]) -> bytes | None:
        tls: ssl.SSLObject = self.transports[client].get_extra_info("ssl_object")
        return tls.getpeercert(binary_form=True)

    def drop(self, client: tuple[str, int], *, flush: bool) -> None:
        transport = self.transports[client]
        if flush:
            transport.close()
        else:
            transport.abort()


def _let_in_what_the_app_refuses(context: ssl.SSLContext, certificates: Certificates) -> None:
    """Lets the handshake succeed without a certificate, with an expired one, and with the
    stranger's. A certificate of any other authority still fails it."""
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags |= _NO_CHECK_TIME
    context.load_verify_locations(certificates.stranger_authority)


@contextmanager
def _listen(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        yield listener
