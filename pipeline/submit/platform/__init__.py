"""The way to the platform: one PUT over mutual TLS, and what came of it. Nothing is logged here.

Whatever happens on the way becomes a `PlatformAnswer`: a status where there was one, else
`timeout`, `tls_refused` or `network_error`. What its permit withholds is not sent. Credentials and
certificates come from files and are read again when they change.
"""

import asyncio
import contextlib
import logging
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

import httpx

from pipeline.contract.paths import Address, is_segment, path_of
from pipeline.errors import SettingsError
from pipeline.files.reread import RECHECK_SECONDS, RereadFile
from pipeline.hosts import ForwardProxy, forward_proxy
from pipeline.http.outgoing import proxies
from pipeline.http.outgoing.failures import causes, in_words
from pipeline.http.outgoing.headers import authorization, extra_headers
from pipeline.settings import Settings
from pipeline.submit.platform import handshake
from pipeline.submit.platform.certificate_asked import OurCertificate
from pipeline.submit.platform.connections import Certificates, Connections

LOG = logging.getLogger(__name__)

MAX_ANSWER_BYTES: Final = 2**20
MAX_DETAIL_CHARACTERS: Final = 300
NO_SELLER: Final = "prazo-doctor"

TIMEOUT: Final = "timeout"
TLS_REFUSED: Final = "tls_refused"
NETWORK_ERROR: Final = "network_error"

_CONNECTED: Final = ("connection.start_tls.complete", "proxy.start_tls.complete")
_TUNNELLED: Final = "proxy.start_tls.started"
_WRITING: Final = ("http11.send_request_headers.started", "http11.send_request_body.started")
"""What httpcore says directly before it writes each part; raising there closes the connection."""


@dataclass(frozen=True, slots=True)
class PlatformAnswer:
    """What became of one request: a status, or an error and no status."""

    status: int | None = None
    error: str | None = None
    headers: Mapping[str, str] | None = None
    body: bytes = b""
    is_truncated: bool = False
    """The body is not whole: over the limit, or the connection ended within it."""
    detail: str | None = None
    """Why, for whoever looks after the connection."""
    is_withheld: bool = False
    """We did not send it whole, so the platform has nothing to process."""
    remedy: str | None = None
    """What to do, where that is known."""
    tls: str | None = None
    """The version of TLS; None where no handshake ended."""
    certificate: OurCertificate | None = None
    """Whether the platform asked for our certificate and got it; None where nobody knows."""

    def header(self, name: str) -> str | None:
        """A header of the answer by its name in lower case; None where it has none."""
        return (self.headers or {}).get(name)


class Withheld(Exception):
    """A request must not be sent any more; the words say why."""


class Permit(Protocol):
    """Whether a request may still be sent. Both raise `Withheld`."""

    async def ask(self) -> None:
        """Asks the caller's check, once there is a connection and before anything is written."""

    def look(self) -> None:
        """Looks at the clock alone, directly before each of the request's two parts is written."""


class Platform:
    """The review endpoint of one marketplace. For one event loop; close it in the end."""

    def __init__(self, settings: Settings) -> None:
        """Raises `SettingsError` naming everything that is missing, or cannot be read."""
        url, self.marketplace_id, credentials, pair = _required(settings)
        self.timeout_seconds = settings.request_timeout_seconds
        if not is_segment(self.marketplace_id):
            raise SettingsError("PRAZO_MARKETPLACE_ID cannot be an id in a path")
        self._url = url
        self._authorization = _credentials(credentials, settings.platform_auth)
        self._extra = _extra_headers(settings)
        self._proxy = _proxy(settings)
        self._certificates = Certificates(*pair, settings.platform_ca_file)
        self._connections = self._new_connections(self._certificates.context())
        self._looked_at = time.monotonic()

    async def put_review(
        self,
        seller_id: str,
        payload: bytes,
        idempotency_key: str,
        *,
        seconds: float,
        permit: Permit,
    ) -> PlatformAnswer:
        """Sends one review and waits at most so many seconds for the whole answer.

        The caller has made sure of the ids by `is_segment` and `is_header_value`. Whatever the
        network does becomes an answer.
        """
        headers = {
            b"Content-Type": b"application/json",
            b"Idempotency-Key": idempotency_key.encode(),
        }
        return await self._request("PUT", seller_id, headers, payload, seconds, permit)

    async def get_nothing(self, *, seconds: float) -> PlatformAnswer:
        """Asks the review endpoint of a seller that does not exist for what it does not serve.

        The handshake and the credentials are tried as for a submission. The contract shows a PUT
        alone there, and a GET changes nothing (RFC 9110, 9.2.1), so all that can come of it is how
        the platform says no: 401 where it does not know us.
        """
        return await self._request("GET", NO_SELLER, {}, b"", seconds)

    async def _request(
        self,
        method: str,
        seller_id: str,
        own_headers: Mapping[bytes, bytes],
        payload: bytes,
        seconds: float,
        permit: Permit | None = None,
    ) -> PlatformAnswer:
        began = time.monotonic()  # a disk that hangs with our files takes of the request's time
        authorized, extra = await asyncio.to_thread(
            lambda: (self._authorization.get(), self._extra())
        )
        headers = {
            b"Authorization": authorized,
            **own_headers,
            b"Accept": b"application/json",
            b"Accept-Encoding": b"identity",  # the answer's bytes are kept, and relayed, as sent
            b"User-Agent": b"prazo",
            b"Connection": b"close",
        }
        url = self._url + path_of(Address(self.marketplace_id, seller_id))
        opened: list[Any] = []  # connections of TLS that were made for this request
        tunnels: list[str] = []  # steps that show that a proxy has connected us
        written: list[str] = []  # steps that show that some of it may have left

        async def note(step: str, known: Mapping[str, Any]) -> None:
            if step in _CONNECTED:
                opened.append(known["return_value"].get_extra_info("ssl_object"))
            elif step == _TUNNELLED:
                tunnels.append(step)
            elif permit is not None and step in _WRITING and not _is_connect(known):
                if step == _WRITING[0]:
                    await permit.ask()
                permit.look()
                written.append(step)

        connections = await self._connections_now()
        async with connections.client() as client:
            request = client.build_request(
                method,
                url,
                content=payload,
                headers=[*headers.items(), *extra],
                extensions={"trace": note},
            )
            answer, error = await _exchange(client, request, seconds - (time.monotonic() - began))
        proxy = connections.proxy
        if error is not None and proxy is not None and not tunnels:
            return _untunnelled(proxy, error, request.url.host)
        if opened and opened[-1] is not None:
            answer = replace(
                answer,
                tls=opened[-1].version(),
                certificate=connections.handshakes.of(opened[-1]),
            )
        if answer.error == TIMEOUT and permit and not (written or answer.is_withheld):
            return withheld("its time was over before anything could be written")
        left = seconds - (time.monotonic() - began)
        if answer.error == NETWORK_ERROR and opened and left > 0:
            return await _explained(answer, connections, url, left)
        return answer

    async def _connections_now(self) -> Connections:
        """The present connections; those of former certificates end with what they carry."""
        now = time.monotonic()
        if now - self._looked_at >= RECHECK_SECONDS:
            self._looked_at = now
            context = await asyncio.to_thread(self._certificates.changed)
            if context is None and await asyncio.to_thread(self._proxy) != self._connections.proxy:
                context = await asyncio.to_thread(self._certificates.context)
            if context is not None:
                former, self._connections = self._connections, self._new_connections(context)
                await former.retire()
        return self._connections

    def _new_connections(self, context: ssl.SSLContext) -> Connections:
        return Connections(context, self.timeout_seconds, self._proxy())

    async def close(self) -> None:
        """Closes the connections as soon as no request uses them."""
        await self._connections.retire()


def faults(settings: Settings) -> Iterator[SettingsError]:
    """What keeps the platform from being spoken to, as far as files tell; nothing is sent."""
    try:
        _, _, credentials, pair = _required(settings)
    except SettingsError as error:
        yield error
        return
    for check in (
        lambda: _credentials(credentials, settings.platform_auth).get(),
        lambda: _extra_headers(settings)(),
        lambda: _proxy(settings)(),
        lambda: Certificates(*pair, settings.platform_ca_file).context(),
    ):
        try:
            check()
        except SettingsError as error:
            yield error


# --- the exchange ----------------------------------------------------------------------------


async def _exchange(
    client: httpx.AsyncClient, request: httpx.Request, seconds: float
) -> tuple[PlatformAnswer, Exception | None]:
    """The answer, and what kept us from having one. A status that came counts, whatever became of
    the rest of the answer."""
    response: httpx.Response | None = None
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            response = await client.send(request, stream=True)
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > MAX_ANSWER_BYTES:
                    del body[MAX_ANSWER_BYTES:]
                    detail = f"the answer is over {MAX_ANSWER_BYTES} bytes"
                    return _answered(response, body, detail), None
            return _answered(response, body), None
    except Withheld as error:
        return withheld(str(error)), None
    except Exception as error:
        failure = failure_of(error)
        if failure is None:
            raise
        detail = _words(error)[:MAX_DETAIL_CHARACTERS]
        if response is not None:
            cut = f"the answer ended within its body: {detail}"
            return _answered(response, body, cut), None
        return PlatformAnswer(error=failure, detail=detail), error
    finally:
        if response is not None:
            with contextlib.suppress(Exception):  # it has been read as far as it goes
                await response.aclose()


def withheld(why: str) -> PlatformAnswer:
    """Of a request that we kept back: no answer can come in its time."""
    return PlatformAnswer(error=TIMEOUT, detail=f"nothing was sent: {why}", is_withheld=True)


def _untunnelled(proxy: ForwardProxy, error: Exception, target: str) -> PlatformAnswer:
    """Of a request that came no farther than the proxy: nothing has reached the platform."""
    why, remedy = proxies.failure(proxy, error, target)
    kind = failure_of(error) or NETWORK_ERROR
    detail = why[:MAX_DETAIL_CHARACTERS]
    return PlatformAnswer(error=kind, detail=detail, is_withheld=True, remedy=remedy)


def _is_connect(known: Mapping[str, Any]) -> bool:
    """Whether a step is of the request for a tunnel, of which nothing reaches the platform."""
    return getattr(known.get("request"), "method", b"") == b"CONNECT"


async def _explained(
    answer: PlatformAnswer, connections: Connections, url: str, seconds: float
) -> PlatformAnswer:
    """A connection of its own was lost before any answer: was our certificate the reason?

    Some servers hang up on a certificate without an alert, or so fast that their alert is lost
    behind what we were still writing. A handshake without a request tells.
    """
    try:
        async with asyncio.timeout(seconds):
            why = await asyncio.to_thread(handshake.refusal, connections, url, seconds)
    except OSError:  # also TimeoutError: nothing more is known
        return answer
    return answer if why is None else replace(answer, error=TLS_REFUSED, detail=why)


def failure_of(error: BaseException) -> str | None:
    """What a lower level's error means for an attempt; None for a bug of ours."""
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return TIMEOUT
    if _tls_failure(error) is not None:
        return TLS_REFUSED
    if isinstance(error, httpx.HTTPError | httpx.StreamError | OSError):  # OSError: also ssl's
        return NETWORK_ERROR
    return None


def _tls_failure(error: BaseException) -> ssl.SSLError | None:
    """What ended the handshake, where something did.

    With TLS 1.3 our side of the handshake is over before the platform has looked at our
    certificate, so its alert comes with the first read. An end without an alert, once we are
    connected, is a lost connection like any other.
    """
    for cause in causes(error):
        if isinstance(cause, ssl.SSLError) and (
            isinstance(error, httpx.ConnectError | ssl.SSLCertVerificationError)
            or handshake.is_alert(cause)
        ):
            return cause
    return None


def _words(error: BaseException) -> str:
    """A failure for a person to read."""
    if (failure := _tls_failure(error)) is not None:
        return handshake.words(failure)
    return in_words(error)


def _answered(response: httpx.Response, body: bytearray, cut: str | None = None) -> PlatformAnswer:
    return PlatformAnswer(
        status=response.status_code,
        headers=response.headers,
        body=bytes(body),
        is_truncated=cut is not None,
        detail=cut,
    )


# --- settings --------------------------------------------------------------------------------


def _required(settings: Settings) -> tuple[str, str, Path, tuple[Path, Path]]:
    needed = {
        "PRAZO_PLATFORM_URL": settings.platform_url,
        "PRAZO_MARKETPLACE_ID": settings.marketplace_id,
        "PRAZO_PLATFORM_CREDENTIALS_FILE": settings.platform_credentials_file,
        "PRAZO_CLIENT_CERT_FILE": settings.client_cert_file,
        "PRAZO_CLIENT_KEY_FILE": settings.client_key_file,
    }
    if missing := [name for name, value in needed.items() if not value]:
        raise SettingsError(
            "Nothing can be sent to the platform",
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set",
            "set them in the environment or the .env file; `prazo doctor` checks them",
        )
    assert settings.platform_url
    assert settings.marketplace_id
    assert settings.platform_credentials_file
    assert settings.client_cert_file
    assert settings.client_key_file
    return (
        settings.platform_url,
        settings.marketplace_id,
        settings.platform_credentials_file,
        (settings.client_cert_file, settings.client_key_file),
    )


def _credentials(path: Path, form: str) -> RereadFile[bytes]:
    return RereadFile(path, lambda text: authorization(text, form, path))


def _extra_headers(settings: Settings) -> Callable[[], list[tuple[bytes, bytes]]]:
    """What gives the headers of `PRAZO_PLATFORM_HEADERS_FILE`, as they are by then."""
    path = settings.platform_headers_file
    return list if path is None else RereadFile(path, lambda text: extra_headers(text, path)).get


def _proxy(settings: Settings) -> Callable[[], ForwardProxy | None]:
    """What gives the forward proxy, with its credentials as they are by then."""
    if settings.platform_proxy is None:
        return lambda: None
    proxy, path = forward_proxy(settings.platform_proxy), settings.platform_proxy_credentials_file
    if path is None:
        return lambda: proxy
    login = RereadFile(path, lambda text: proxies.login_in(text, path))
    return lambda: ForwardProxy(proxy.host, proxy.port, *login.get())
