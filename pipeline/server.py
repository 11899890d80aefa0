"""Runs an app on uvicorn until it is told to stop, within limits that uvicorn leaves open."""

import asyncio
import errno
import signal
import socket
import sys
from types import FrameType
from typing import Final

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pipeline.asgi import App
from pipeline.errors import OperatorError

MAX_HEAD_BYTES: Final = 65_536
"""Of a request beside its body: request line, headers, trailers, what chunks are wrapped in."""
CHUNK_BYTES: Final = 16
"""Of those, granted to each piece of a body for its size line."""
REQUEST_SECONDS: Final = 20
"""Longest a sender may take over one request; the platform itself gives up after 30."""
KEEP_ALIVE_SECONDS: Final = 75
"""Longer than the minute for which proxies keep a connection, so that theirs is the one to end:
a request that crosses our closing would be lost."""
MAX_CONNECTIONS: Final = 1000
"""At once; further ones are answered 503. Below the 1024 files that a process may usually open."""
BACKLOG: Final = 2048
GRACEFUL_SECONDS: Final = 25
"""For what is under way when the server is told to stop."""


class Connection(HttpToolsProtocol):
    """uvicorn's connection, with its gaps closed.

    - It would keep the head of a request in memory whatever its size, and wait for ever for the
      rest of one.
    - It would take a trailer for a header, after the headers were checked.
    - It would lose the body of a request that offers to upgrade to HTTP/2, as Java's client does
      unasked (uvicorn issue 2722). A server may ignore the offer (RFC 9110, section 7.8).
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_bytes = 0
        self._is_complete = False
        self._patience: asyncio.TimerHandle | None = None
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_complete = True
        self._watch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self._head_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            self._ignore_offer(data[offer.args[0] :])
        except httptools.HttpParserError:
            self._cut_off(b"400 Bad Request")
        if self._head_bytes > MAX_HEAD_BYTES:
            self._cut_off(b"431 Request Header Fields Too Large")
        self._watch()

    def on_message_begin(self) -> None:
        self._is_complete = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # what follows is read again, without the offer
        super().on_headers_complete()
        self.headers = []  # trailers end here, where nobody looks
        if self.expect_100_continue:
            # Answered before it was read, such a request may come with its body or without:
            # what followed on this connection could be taken for either.
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        self._head_bytes -= len(body) + CHUNK_BYTES
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._head_bytes = 0
        self._is_complete = True
        super().on_message_complete()

    def _ignore_offer(self, rest: bytes) -> None:
        """The parser stopped behind the head: it reads it again as if there had been no offer."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            self._cut_off(b"400 Bad Request")
            return
        offer = (b"upgrade", b"connection", b"http2-settings")
        fields = [b"%b: %b" % it for it in self.headers if it[0] not in offer]
        line = b"%b %b HTTP/1.1" % (method, self.url)
        self.parser = httptools.HttpRequestParser(self)
        self._head_bytes = 0
        self.data_received(b"\r\n".join((line, *fields, b"", rest)))

    def _watch(self) -> None:
        """Gives the sender a time limit while a request is due or begun and not yet complete."""
        if self._is_complete:
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None
        elif self._patience is None:
            self._patience = self.loop.call_later(
                REQUEST_SECONDS, self._cut_off, b"408 Request Timeout"
            )

    def _cut_off(self, status: bytes) -> None:
        """Ends the connection, with an answer where none has begun."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(
                b"HTTP/1.1 %b\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % status
            )
        self.transport.close()


def run(app: App, host: str, port: int) -> None:
    """Serves until SIGTERM or SIGINT, answers what is under way, and returns or exits with 0.

    Raises `OperatorError` where it cannot listen or the app does not start.
    """
    listeners = _listen(host, port)
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on",
        proxy_headers=False,
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACEFUL_SECONDS,
    )
    # uvicorn stops cleanly and then sends itself the signal again, of which the process would die.
    before = {it: signal.signal(it, _end) for it in (signal.SIGTERM, signal.SIGINT)}
    try:
        uvicorn.Server(config).run(listeners)
    except SystemExit as ended:
        if ended.code:
            raise OperatorError(
                "The server did not start", "see the message above", "mend that, then start again"
            ) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for listener in listeners:
            listener.close()


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def _listen(host: str, port: int) -> list[socket.socket]:
    """A listening socket for each address of the host that this machine has."""
    listeners: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, *_, address in dict.fromkeys(found):
            try:
                listeners.append(socket.create_server(address[:2], family=family, backlog=BACKLOG))
            except OSError as error:
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise  # localhost has an IPv6 address even where IPv6 is switched off
        if not listeners:
            raise OSError(errno.EADDRNOTAVAIL, "this machine has no such address")
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise OperatorError(
            f"Nothing can listen on {host}, port {port}",
            error.strerror or str(error),
            "stop what listens there already, or choose another address or port",
        ) from None
    return listeners
