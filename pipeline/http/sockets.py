"""Limits what the other side of a web socket may have us keep, before and while it speaks, and
sends it what is said at one moment at once.

uvicorn bounds a message by one size for everybody, far more than a stranger needs, and counts
neither the frames of a message nor messages that wait. Nor does it ever give up a connection that
it closes and whose peer reads nothing.
"""

import asyncio
from typing import Final

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame
from websockets.http11 import Request
from websockets.protocol import OPEN

FIRST_BYTES: Final = 65_536
"""Of a message, all its frames together, until the app knows whom it hears."""
MAX_FRAMES: Final = 1024
"""Of one message: each takes memory, an empty one, too."""
MAX_WAITING: Final = 1024
"""Messages that came together and wait to be heard. Then nothing more is read."""
LEAVE_SECONDS: Final = 20
"""For what was sent last to be read, once the connection is to end."""
GATHER_SECONDS: Final = 0.002
"""For further messages to be sent with the first: a page is a hundred small ones, and to send each
by itself took a twelfth of its time."""
LONG_BYTES: Final = 65_536
"""A message of so many is sent at once: only what was written shows whether the peer reads."""
TAKE: Final = "prazo.take_messages_of"
"""Of a scope's extensions: a function that takes the size in bytes which a message of this web
socket may have from now on."""


class LimitedSocket(WebSocketsSansIOProtocol):
    """uvicorn's web socket, with limits that hold before memory is taken: a frame that would make
    its message too long ends the connection (1009) as soon as its length is read."""

    _sending: asyncio.TimerHandle | None = None

    def handle_connect(self, event: Request) -> None:
        """Begins with the limit for whom nobody knows yet."""
        self._take(FIRST_BYTES)
        super().handle_connect(event)
        if not self.handshake_complete:  # else it was no offer that could be taken
            self.scope["extensions"][TAKE] = self._take  # type: ignore[assignment]

    def _take(self, most: int) -> None:
        self.conn.max_message_size = most

    def handle_cont(self, event: Frame) -> None:
        """Takes a further frame of a message, unless it has too many."""
        if self.close_sent:
            return
        if len(self.frames) >= MAX_FRAMES:
            self._refuse(CloseCode.MESSAGE_TOO_BIG)
        else:
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """Lets a message wait for the app, unless too many do."""
        if self.queue.qsize() >= MAX_WAITING and not self.close_sent:
            self._refuse(CloseCode.POLICY_VIOLATION)
        else:
            super().send_receive_event_to_app()

    def handle_ping(self) -> None:
        """Answers, unless the peer does not read what it was answered before."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def _refuse(self, code: CloseCode) -> None:
        self.frames = []
        self.conn.fail(code)
        self.handle_parser_exception()

    def handle_parser_exception(self) -> None:
        """Ends the connection, since what came is wrong or too long."""
        super().handle_parser_exception()
        self._leave()

    def keepalive_timeout(self) -> None:
        """Ends the connection, since its peer is not there, unless it is we who did not listen: the
        answer then stands behind messages that wait for their turn."""
        if self.read_paused:
            self.pong_timer = self.pending_ping_payload = None
            self.schedule_ping()
        else:
            super().keepalive_timeout()
            self._leave()

    async def send(self, message: ASGISendEvent) -> None:
        """Sends what the app says; with the last of it, the connection's time to end begins."""
        if message["type"] == "websocket.close":
            self._leave()
        await self.writable.wait()
        said = (message.get("bytes") if message["type"] == "websocket.send" else None) or b""
        is_open = self.conn.state is OPEN and not self.disconnected
        if not is_open or not 0 < len(said) < LONG_BYTES:
            await super().send(message)
            return
        # Whatever else is sent meanwhile takes along what waits, in its order. So nothing waits
        # here while the peer does not read: `handle_ping` may then leave out all that is unsent.
        self.conn.send_binary(said)
        if self._sending is None:
            self._sending = self.loop.call_later(GATHER_SECONDS, self._send_gathered)

    def _send_gathered(self) -> None:
        self._sending = None
        if not self.transport.is_closing():
            self.transport.write(b"".join(self.conn.data_to_send()))

    def _leave(self) -> None:
        # A mere close would wait until all is read.
        self.loop.call_later(LEAVE_SECONDS, self.transport.abort)
