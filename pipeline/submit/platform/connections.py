"""Connections to the platform over mutual TLS, and the certificates that they stand on."""

import contextlib
import logging
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import httpx

from pipeline import instants
from pipeline.aside import Aside, OneAtATime
from pipeline.errors import SettingsError
from pipeline.files.reread import LOOK_SECONDS, READ_SECONDS, Stamp, stamp_of, unread
from pipeline.hosts import ForwardProxy
from pipeline.http.outgoing import clients, contexts, pem, proxies
from pipeline.submit.platform.certificate_asked import Handshakes

LOG = logging.getLogger(__name__)

MAX_CONNECTIONS: Final = 64
STAY: Final = "the former certificates stay in force: %s"

Stamps = tuple[Stamp | None, ...]
"""Of each file; None where it cannot be looked at."""


class Connections:
    """A pool under one set of certificates, closed once it is retired and nothing uses it.

    A connection carries one request. What a platform says beyond its answer would be read as the
    answer of the next request otherwise, and what crosses the closing of an idle one is lost.
    """

    def __init__(
        self, context: ssl.SSLContext, timeout_seconds: float, proxy: ForwardProxy | None = None
    ) -> None:
        self.context = context
        self.proxy = proxy
        self.handshakes = Handshakes(context)
        self._client = clients.client(
            context,
            httpx.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=0),
            _socket_options(timeout_seconds),
            None if proxy is None else proxies.for_httpx(proxy),
        )
        self._users = 0
        self._is_retired = False

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """What sends over them, until the block ends."""
        self._users += 1
        try:
            yield self._client
        finally:
            self._users -= 1
            await self._close_if_done()

    async def retire(self) -> None:
        """Closes them as soon as no request uses them."""
        self._is_retired = True
        await self._close_if_done()

    async def _close_if_done(self) -> None:
        if self._is_retired and self._users == 0:
            await self._client.aclose()


def _socket_options(timeout_seconds: float) -> list[clients.SocketOption]:
    """What keeps the system from sending a request on that we have given up.

    A socket that is closed goes on delivering what it holds, for minutes where the network stalls.
    With these it drops that, and after the request's time it drops it even while we are paused.
    """
    drop_when_closed = struct.pack("ii", 1, 0)
    options: list[clients.SocketOption] = [(socket.SOL_SOCKET, socket.SO_LINGER, drop_when_closed)]
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        milliseconds = max(1, round(timeout_seconds * 1000))
        options.append((socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds))
    return options


class Certificates:
    """Our certificate and key, and whom we trust, as files."""

    def __init__(self, certificate: Path, key: Path, authority: Path | None) -> None:
        self._certificate, self._key, self._authority = certificate, key, authority
        self._stamp: Stamps | None = None
        self._looks = OneAtATime[tuple[Stamps, ssl.SSLContext] | None](name="certificates")

    def context(self) -> ssl.SSLContext:
        """What the files say at a start. Raises `SettingsError` where they cannot be used, or are
        not read within `READ_SECONDS`."""
        try:
            self._stamp, context = Aside(self._read, name="certificates").outcome(READ_SECONDS)
        except TimeoutError:
            raise SettingsError(
                "The TLS client certificate cannot be used",
                unread("its files were", READ_SECONDS),
                "look at the disk that they are on",
            ) from None
        return context

    def changed(self) -> ssl.SSLContext | None:
        """A new context where the files have changed, fit together and are valid already; half a
        rotation does not, and one that begins tomorrow would be refused until then. A disk that
        hangs keeps nobody waiting for long."""
        try:
            newer = self._looks.outcome(self._newer, LOOK_SECONDS)
        except SettingsError as error:
            LOG.warning(STAY, error)
            return None
        except TimeoutError:
            LOG.warning(STAY, unread("their files were", LOOK_SECONDS))
            return None
        if newer is None:
            return None
        self._stamp, context = newer
        return context

    def _newer(self) -> tuple[Stamps, ssl.SSLContext] | None:
        if self._look() == self._stamp:
            return None
        newer = self._read()
        self._check_begun()
        return newer

    def _read(self) -> tuple[Stamps, ssl.SSLContext]:
        stamp, authority = self._look(), self._authority
        context = contexts.trusting(authority)
        context.post_handshake_auth = True  # TLS 1.3: some ask once they have read the path
        pem.load_pair(context, self._certificate, self._key)
        return stamp, context

    def _check_begun(self) -> None:
        from pipeline.http.certificates import check_begun  # only a rotation needs it

        try:
            check_begun(self._certificate, instants.now())
        except ValueError as error:
            raise SettingsError(
                "The TLS client certificate cannot be used yet",
                str(error),
                "check this machine's clock if that is wrong",
            ) from None

    def _look(self) -> Stamps:
        paths = [it for it in (self._certificate, self._key, self._authority) if it is not None]
        return tuple(_stamp_of(path) for path in paths)


def _stamp_of(path: Path) -> Stamp | None:
    try:
        return stamp_of(path)
    except OSError:
        return None
