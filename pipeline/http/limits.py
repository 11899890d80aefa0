"""Limits what senders may hold of a server: how long for a request, how large its head, how long
answers stay unread, how many connections.

A connection that does nothing costs its sender nothing. So where all places are taken, a new
connection gets the place of one that waits for its peer, to send or to read: the oldest of the
address that holds most. A sender who fills a server with idle connections gives up their own, and a
delivery or a look at /healthz always finds a place. A request that was sent whole keeps its place
until it is answered, unless its sender does not read.
"""

import asyncio
import fcntl
import functools
import sys
import termios
from collections import Counter
from typing import Final

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MAX_HEAD_BYTES: Final = 65_536
"""All of a request except its body: request line, headers, trailers and the framing of chunks."""
CHUNK_BYTES: Final = 16
"""Not counted for each piece of a body, since its size line takes about that much."""
REQUEST_SECONDS: Final = 20
"""The longest that a sender may take for one request; the platform itself gives up after 30."""
UNREAD_SECONDS: Final = 20
"""After so long without reading anything of an answer, and at most twice, a sender is cut off."""
MAX_PIPELINED: Final = 32
"""Requests that wait on one connection until those before them are answered."""
MAX_CONNECTIONS: Final = 900
"""At the same time. A process may usually open 1024 files."""


class Limited(HttpToolsProtocol):
    """uvicorn's connection, with limits that it does not set: without them it would keep the head
    of a request in memory however large it is, and wait for its rest forever."""

    own_fields = b""
    """Lines of headers in the answers that the server itself gives."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes a place, and starts the time limit for the first request."""
        super().connection_made(transport)
        self._head_bytes = 0
        self._is_begun = False
        self._is_complete = False
        self._is_upgraded = False
        self._patience: asyncio.TimerHandle | None = None
        self._answering: RequestResponseCycle | None = None
        self._unread_check: asyncio.TimerHandle | None = None
        self._unread_bytes = 0
        if CROWD.admit(self):
            self.watch()
        else:
            transport.abort()
            self.note_refusal(b"503 Service Unavailable")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the time limits, leaves the place, and drops what was asked and not answered."""
        self._is_complete = True
        self.watch()
        if self._unread_check is not None:
            self._unread_check.cancel()
            self._unread_check = None
        self.pipeline.clear()
        if self._answering is not None and not self._answering.response_complete:
            # uvicorn tells it to the last request alone; this one would write where nobody is.
            self._answering.disconnected = True
            self._answering.message_event.set()
        CROWD.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feeds the parser; answers 431 and closes if the head is too large."""
        if self.transport.is_closing():
            return
        if self._unread_check is not None and not self.transport.get_write_buffer_size():
            self._note_reading()
        self._head_bytes += len(data)
        self._is_begun = True
        self.feed(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self.cut_off(b"431 Request Header Fields Too Large")
        self.watch()

    def feed(self, data: bytes) -> None:
        """Lets uvicorn's parser read what came."""
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Starts a request: from here on it is incomplete."""
        self.begin_request()
        super().on_message_begin()

    def begin_request(self) -> None:
        """Says that a request has begun."""
        self._is_complete = False

    def on_headers_complete(self) -> None:
        """Hands the request on, unless too many wait before it."""
        if len(self.pipeline) >= MAX_PIPELINED:
            self.transport.abort()  # what waits is dropped, so nothing is taken for a part of it
            self.note_refusal(b"503 Service Unavailable")
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Takes a piece of the body, which does not count against the head's limit."""
        self.count_body(body)
        super().on_body(body)

    def count_body(self, body: bytes) -> None:
        """Takes a piece of the body out of what counts as the head."""
        self._head_bytes -= len(body) + CHUNK_BYTES

    def on_message_complete(self) -> None:
        """Ends the request, and with it the time limit for its sender."""
        self.end_request()
        super().on_message_complete()

    def end_request(self) -> None:
        """Says that the request is here, whole."""
        self._head_bytes = 0
        self._is_begun = False
        self._is_complete = True

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Ends an answer, which its sender has yet to read."""
        super().on_response_complete()
        self._watch_reading()

    def pause_writing(self) -> None:
        """Waits until more of the answer is read."""
        super().pause_writing()
        self._watch_reading()

    def resume_writing(self) -> None:
        """Goes on with the answer, most of which is read."""
        super().resume_writing()
        self._note_reading()

    def _note_reading(self) -> None:
        self._unread_bytes = 0

    def _watch_reading(self) -> None:
        """Looks now and then whether more is read, as long as something is left to read."""
        if self._unread_check is None and self.transport.get_write_buffer_size():
            self._unread_bytes = 0
            self._unread_check = self.loop.call_later(UNREAD_SECONDS, self._check_reading)

    def _check_reading(self) -> None:
        self._unread_check = None
        here = self.transport.get_write_buffer_size()
        if self._is_upgraded or not here:
            return
        before, self._unread_bytes = self._unread_bytes, here + _on_its_way(self.transport)
        if 0 < before <= self._unread_bytes:
            self.transport.abort()  # a mere close would wait until all is read
        else:
            self._unread_check = self.loop.call_later(UNREAD_SECONDS, self._check_reading)

    def handle_websocket_upgrade(self) -> None:
        """Hands the connection to a web socket, which keeps its place and has pings of its own.
        None begins with HTTP/1.0 (RFC 6455, section 4.1): uvicorn would show it to the app as one
        of 1.1, which could then not tell that a proxy handed it on."""
        if self.scope["http_version"] != "1.1":
            self.cut_off(b"400 Bad Request")
            return
        self._is_complete = self._is_upgraded = True
        super().handle_websocket_upgrade()

    @property
    def waits_for_its_peer(self) -> bool:
        """Whether nothing is to be answered, since no request came or only a part of one; or the
        answer is not read."""
        if self._is_upgraded:
            return False
        if self.flow.write_paused:
            return True
        return not self._is_complete or self.cycle is None or self.cycle.response_complete

    @property
    def is_over(self) -> bool:
        """Whether the connection is closed, or about to be."""
        return self.transport.is_closing()

    def watch(self) -> None:
        """Runs a time limit for the sender until the request is complete."""
        if self._is_complete:
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None
        elif self._patience is None:
            self._patience = self.loop.call_later(
                REQUEST_SECONDS, self.cut_off, b"408 Request Timeout"
            )

    def cut_off(self, status: bytes) -> None:
        """Closes the connection, with an answer if none has begun."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            fields = b"content-length: 0\r\nconnection: close\r\n" + self.own_fields
            self.transport.write(b"HTTP/1.1 %b\r\n%b\r\n" % (status, fields))
            if self._is_begun:  # a connection without a request takes nothing away
                self.note_refusal(status)
        self.transport.close()
        self._watch_reading()

    def note_refusal(self, status: bytes) -> None:
        """Hears of each request that the server itself refuses; `status` with its phrase."""

    def give_way(self) -> None:
        """Closes the connection for a newcomer's sake, at once where an answer is not read."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.cut_off(b"503 Service Unavailable")


class Crowd:
    """Everybody who has a connection to this process, in the order in which they came."""

    def __init__(self) -> None:
        self._members: dict[Limited, None] = {}

    def admit(self, newcomer: Limited) -> bool:
        """Gives a place to a new connection, another's if need be; False where none is free."""
        if len(self._members) >= MAX_CONNECTIONS:
            self._members = {it: None for it in self._members if not it.is_over}
        if len(self._members) >= MAX_CONNECTIONS:
            displaced = self._displaceable()
            if displaced is None:
                return False
            self.leave(displaced)
            displaced.give_way()
        self._members[newcomer] = None
        return True

    def __len__(self) -> int:
        return len(self._members)

    def leave(self, member: Limited) -> None:
        """Frees a place."""
        self._members.pop(member, None)

    def _displaceable(self) -> Limited | None:
        addresses = Counter(_address(it) for it in self._members)
        waiting = [it for it in self._members if it.waits_for_its_peer]
        # Of equals `max` takes the first, which is the oldest.
        return max(waiting, key=lambda member: addresses[_address(member)], default=None)


CROWD: Final = Crowd()


def _address(member: Limited) -> str:
    return member.client[0] if member.client else ""


def _on_its_way(transport: asyncio.Transport) -> int:
    """Bytes that the system still keeps for the peer. It takes more from us in lumps of a megabyte
    and so, for a slow reader, seldom. 0 where it does not tell."""
    try:
        held = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    except OSError:
        return 0
    return int.from_bytes(held, sys.byteorder)


def limit_every_connection(web_socket: type[asyncio.Protocol] | None = None) -> None:
    """Lets each connection of uvicorn's own class have these limits, for a server that somebody
    else starts and configures: the dashboard's, which Streamlit does. `web_socket`: what a
    connection becomes that was offered to be one."""
    begin = HttpToolsProtocol.__init__
    if hasattr(begin, "__wrapped__"):
        return

    @functools.wraps(begin)
    def limited(self: HttpToolsProtocol, *arguments: object, **options: object) -> None:
        if type(self) is HttpToolsProtocol:
            self.__class__ = Limited  # before its parser takes note of what to call
        begin(self, *arguments, **options)  # type: ignore[arg-type]
        if web_socket is not None:
            self.ws_protocol_class = web_socket

    HttpToolsProtocol.__init__ = limited  # type: ignore[method-assign]
