"""The way to the platform: one PUT over mutual TLS, and what came of it. Nothing is logged here.

Whatever happens on the way becomes an `Answer`: a status where there was one, else `timeout` or
`network_error`. Credentials and certificates come from files and are read again when they change.
"""

import asyncio
import base64
import contextlib
import email.utils
import logging
import re
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from pipeline import instants
from pipeline.addresses import Address, is_segment, path_of
from pipeline.errors import SettingsError
from pipeline.files import LOOK_AGAIN_SECONDS, RereadFile
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

MAX_ANSWER_BYTES: Final = 2**20
MAX_CONNECTIONS: Final = 64
IDLE_SECONDS: Final = 4.0
"""A connection is dropped before a server is likely to: what crosses its closing is lost."""
MAX_DETAIL_CHARACTERS: Final = 300

TIMEOUT: Final = "timeout"
NETWORK_ERROR: Final = "network_error"

_HEADER_VALUE: Final = re.compile(
    r"[!-~\u0080-\U0010ffff](?:[ -~\u0080-\U0010ffff]*[!-~\u0080-\U0010ffff])?"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one request: a status, or an error and no status."""

    status: int | None = None
    error: str | None = None
    headers: Mapping[str, str] | None = None
    body: bytes = b""
    is_truncated: bool = False
    """The body is not whole: over the limit, or the connection ended within it."""
    detail: str | None = None
    """Why, for whoever looks after the connection."""

    def header(self, name: str) -> str | None:
        return (self.headers or {}).get(name)


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
        self._certificates = _Certificates(*pair, settings.platform_ca_file)
        self._connections = _Connections(self._certificates.context())
        self._looked_at = time.monotonic()

    async def put_review(
        self, seller_id: str, payload: bytes, idempotency_key: str, *, seconds: float
    ) -> Answer:
        """Sends one review and waits at most so many seconds for the whole answer.

        The caller has made sure of the ids by `is_segment` and `is_header_value`. Whatever the
        network does becomes an answer.
        """
        headers = {
            b"Authorization": self._authorization.get(),
            b"Content-Type": b"application/json",
            b"Idempotency-Key": idempotency_key.encode(),
            b"Accept": b"application/json",
            b"Accept-Encoding": b"identity",  # the answer's bytes are kept, and relayed, as sent
            b"User-Agent": b"prazo",
        }
        url = self._url + path_of(Address(self.marketplace_id, seller_id))
        async with self._connection() as client:
            request = client.build_request(
                "PUT", url, content=payload, headers=list(headers.items())
            )
            return await _exchange(client, request, seconds)

    @contextlib.asynccontextmanager
    async def _connection(self) -> AsyncIterator[httpx.AsyncClient]:
        """The present connections; those of former certificates end with what they carry."""
        now = time.monotonic()
        if now - self._looked_at >= LOOK_AGAIN_SECONDS:
            self._looked_at = now
            if (context := self._certificates.changed()) is not None:
                former, self._connections = self._connections, _Connections(context)
                await former.retire()
        async with self._connections.client() as client:
            yield client

    async def close(self) -> None:
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
        lambda: _Certificates(*pair, settings.platform_ca_file).context(),
    ):
        try:
            check()
        except SettingsError as error:
            yield error


def is_header_value(text: str) -> bool:
    """Whether a header can carry a text as it is: no control characters, no spaces around it."""
    return _HEADER_VALUE.fullmatch(text) is not None


def retry_after(text: str | None, now: int) -> int | None:
    """The instant that a `Retry-After` names, in seconds or as a date; None where it names none."""
    if text is None:
        return None
    stripped = text.strip()
    if stripped.isascii() and stripped.isdigit():
        return now + min(int(stripped[:12]), 10 * 366 * 86_400) * instants.SECOND
    try:
        return instants.from_datetime(email.utils.parsedate_to_datetime(stripped))
    except (ValueError, TypeError, OverflowError):
        return None


# --- the exchange ----------------------------------------------------------------------------


async def _exchange(client: httpx.AsyncClient, request: httpx.Request, seconds: float) -> Answer:
    """A status that came counts, whatever became of the rest of the answer."""
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
                    return _answered(response, body, detail)
            return _answered(response, body)
    except Exception as error:
        failure = failure_of(error)
        if failure is None:
            raise
        detail = f"{type(error).__name__}: {error}"[:MAX_DETAIL_CHARACTERS]
        if response is not None:
            return _answered(response, body, f"the answer ended within its body: {detail}")
        return Answer(error=failure, detail=detail)
    finally:
        if response is not None:
            with contextlib.suppress(Exception):  # it has been read as far as it goes
                await response.aclose()


def failure_of(error: BaseException) -> str | None:
    """What a lower level's error means for an attempt; None for a bug of ours."""
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return TIMEOUT
    if isinstance(error, httpx.HTTPError | httpx.StreamError | OSError):  # OSError: also ssl's
        return NETWORK_ERROR
    return None


def _answered(response: httpx.Response, body: bytearray, cut: str | None = None) -> Answer:
    return Answer(
        status=response.status_code,
        headers=response.headers,
        body=bytes(body),
        is_truncated=cut is not None,
        detail=cut,
    )


# --- connections and their certificates ------------------------------------------------------


class _Connections:
    """A pool under one set of certificates, closed once it is retired and nothing uses it."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._client = httpx.AsyncClient(
            verify=context,
            trust_env=False,
            follow_redirects=False,
            timeout=None,  # one limit covers the whole exchange
            limits=httpx.Limits(
                max_connections=MAX_CONNECTIONS,
                max_keepalive_connections=MAX_CONNECTIONS,
                keepalive_expiry=IDLE_SECONDS,
            ),
        )
        self._users = 0
        self._is_retired = False

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        self._users += 1
        try:
            yield self._client
        finally:
            self._users -= 1
            await self._close_if_done()

    async def retire(self) -> None:
        self._is_retired = True
        await self._close_if_done()

    async def _close_if_done(self) -> None:
        if self._is_retired and self._users == 0:
            await self._client.aclose()


class _Certificates:
    """Our certificate and key, and whom we trust, as files."""

    def __init__(self, certificate: Path, key: Path, authority: Path | None) -> None:
        self._certificate, self._key, self._authority = certificate, key, authority
        self._stamp = self._look()

    def context(self) -> ssl.SSLContext:
        """Raises `SettingsError` where the files cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self._authority)
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            context.load_cert_chain(self._certificate, self._key, password=_no_password)
        except (OSError, ValueError) as error:
            raise SettingsError(
                "The TLS client certificate cannot be used",
                f"{self._certificate} with {self._key}: {error}",
                "check PRAZO_CLIENT_CERT_FILE, PRAZO_CLIENT_KEY_FILE and PRAZO_PLATFORM_CA_FILE",
            ) from None
        return context

    def changed(self) -> ssl.SSLContext | None:
        """A new context where the files have changed and fit together; half a rotation does not."""
        stamp = self._look()
        if stamp == self._stamp:
            return None
        try:
            context = self.context()
        except SettingsError as error:
            LOG.warning("the former certificates stay in force: %s", error)
            return None
        self._stamp = stamp
        return context

    def _look(self) -> tuple[object, ...]:
        paths = [it for it in (self._certificate, self._key, self._authority) if it is not None]
        return tuple(_stamp_of(path) for path in paths)


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _no_password() -> str:
    """An encrypted key would make OpenSSL ask at the terminal, where nobody sits."""
    raise ValueError("the key is encrypted; decrypt it into a file that its owner alone can read")


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
    return RereadFile(path, lambda text: _authorization(text, form, path))


def _authorization(text: str, form: str, path: Path) -> bytes:
    """The header of the first line of a credentials file."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) != 1 or (form == "basic" and ":" not in lines[0]):
        raise SettingsError(
            f"The credentials in {path} cannot be used",
            "one line is expected",
            "write user:password for basic, or the token for bearer",
        )
    if form == "basic":
        return b"Basic " + base64.b64encode(lines[0].encode())
    if not is_header_value(lines[0]):
        raise SettingsError(f"The token in {path} cannot be used", "it holds control characters")
    return b"Bearer " + lines[0].encode()
