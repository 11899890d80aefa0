"""What the other side of a web socket may have us keep; over real sockets, frame by frame."""

import asyncio
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import uvicorn

from pipeline.http import limits, sockets
from pipeline.http.asgi import Receive, Scope, Send
from pipeline.http.sockets import FIRST_BYTES, MAX_FRAMES, MAX_WAITING, TAKE, LimitedSocket

OFFER = (
    b"GET %b HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
CONTINUED, TEXT, BINARY, CLOSE, PING = 0, 1, 2, 8, 9
DONE, TOO_BIG, POLICY, GONE = 1000, 1009, 1008, 1011
MANY = 100
SOON = 20.0


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Says the length of each message. At `/known` it takes long ones, at `/slow` it hears
    none, and at `/many` it says a hundred things."""
    await receive()
    await send({"type": "websocket.accept"})
    if scope["path"] == "/known":
        scope["extensions"][TAKE](1_000_000)
    if scope["path"] == "/many":
        for number in range(MANY):
            await send({"type": "websocket.send", "bytes": b"%d" % number})
            await asyncio.sleep(0)
        await send({"type": "websocket.send", "text": "last"})
        await send({"type": "websocket.close", "code": DONE})
        return
    if scope["path"] == "/slow":
        await asyncio.sleep(3600)
    while (message := await receive())["type"] != "websocket.disconnect":
        await send({"type": "websocket.send", "text": str(len(message["bytes"]))})


class Wire:
    """A client that sends what it likes."""

    def __init__(self, port: int, path: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=SOON)
        self.socket.sendall(OFFER % path)
        self._rest = b""
        while b"\r\n\r\n" not in self._rest:
            self._rest += self.socket.recv(4096)
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101")

    def send(self, kind: int, data: bytes = b"", *, ends: bool = True, says: int = -1) -> None:
        """`says`: the length that the frame claims, if not its own."""
        length = len(data) if says < 0 else says
        self.socket.sendall(bytes([kind | ends << 7, 0xFF]) + struct.pack("!Q", length) + b"\0" * 4)
        self.socket.sendall(data)

    def send_small(self, frames: bytes) -> None:
        """Until the other side has had enough."""
        with suppress(OSError):
            self.socket.sendall(frames)

    def heard(self) -> tuple[int, bytes]:
        """The next frame: its kind and what it says."""
        kind, length = self._exactly(2)
        if length == 126:
            [length] = struct.unpack("!H", self._exactly(2))
        return kind & 15, self._exactly(length)

    def close_code(self) -> int:
        kind, said = self.heard()
        assert kind == CLOSE
        code: int = struct.unpack("!H", said[:2])[0]
        return code

    def _exactly(self, size: int) -> bytes:
        while len(self._rest) < size:
            more = self.socket.recv(65_536)
            assert more, "it ended"
            self._rest += more
        said, self._rest = self._rest[:size], self._rest[size:]
        return said


Offer = Callable[..., Wire]


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Offer]:
    """Opens web sockets of a server as Streamlit starts one. The parameter: after how many seconds
    it asks whether its peer is there."""
    seconds = getattr(request, "param", 30.0)
    monkeypatch.setattr(sockets, "LEAVE_SECONDS", 1)
    before = uvicorn.protocols.http.httptools_impl.HttpToolsProtocol.__init__
    limits.limit_every_connection(LimitedSocket)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        ws_ping_interval=seconds,
        ws_ping_timeout=seconds,
        lifespan="off",
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    port, opened = listener.getsockname()[1], ExitStack()

    def offered(path: bytes = b"/") -> Wire:
        wire = Wire(port, path)
        opened.callback(wire.socket.close)
        return wire

    try:
        yield offered
    finally:
        opened.close()
        server.should_exit = True
        thread.join(20)
        uvicorn.protocols.http.httptools_impl.HttpToolsProtocol.__init__ = before


def small(kind: int, *, ends: bool, data: bytes = b"") -> bytes:
    return bytes([kind | ends << 7, 0x80 | len(data)]) + b"\0" * 4 + data


def test_a_stranger_is_heard_up_to_the_limit_and_cut_off_when_the_length_says_more(offer: Offer):
    """A frame of 200 MB was waited for, whole, before anybody looked at it."""
    wire = offer()
    wire.send(BINARY, b"x" * FIRST_BYTES)
    assert wire.heard() == (1, b"65536")
    wire.send(BINARY, b"x", says=200_000_000)
    assert wire.close_code() == TOO_BIG


def test_the_limit_holds_over_all_frames_of_a_message_that_is_never_finished(offer: Offer):
    wire = offer()
    wire.send(BINARY, b"x" * 40_000, ends=False)
    wire.send(PING, b"between")
    assert wire.heard() == (10, b"between")
    wire.send(CONTINUED, b"x" * 25_536, ends=False)
    wire.send(CONTINUED, b"x", ends=False)
    assert wire.close_code() == TOO_BIG


def test_frames_of_nothing_are_counted(offer: Offer):
    """None adds to the message's length, and each takes memory."""
    wire = offer()
    wire.send(BINARY, b"x", ends=False)
    wire.send_small(small(CONTINUED, ends=False) * (MAX_FRAMES - 1))
    wire.send(CONTINUED, b"", ends=False)
    assert wire.close_code() == TOO_BIG
    fits = offer()
    fits.send(BINARY, b"x", ends=False)
    fits.send_small(small(CONTINUED, ends=False) * (MAX_FRAMES - 2))
    fits.send(CONTINUED, b"y")
    assert fits.heard() == (1, b"2")


def test_whoever_is_known_may_say_more_and_no_more_than_that(offer: Offer):
    wire = offer(b"/known")
    time.sleep(0.2)
    wire.send(BINARY, b"x" * 1_000_000)
    assert wire.heard() == (1, b"1000000")
    wire.send(BINARY, b"x", says=1_000_001)
    assert wire.close_code() == TOO_BIG


def test_messages_that_nobody_hears_yet_are_not_kept_without_end(offer: Offer):
    """Of 256 KB that were read at once, 43,000 empty messages waited, ten megabytes of memory."""
    wire = offer(b"/slow")
    wire.send_small(small(BINARY, ends=True) * MAX_WAITING * 2)
    assert wire.close_code() == POLICY


@pytest.mark.long  # its connection drains for over a minute
def test_who_asks_whether_we_are_there_and_never_reads_gets_no_answers_kept(offer: Offer):
    """Each ping was answered into memory; and a connection that we end is not kept until all that
    was sent is read."""
    wire = offer()
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    pings = small(PING, ends=True, data=b"p" * 125) * 1000
    before = _memory()
    for _ in range(300):
        wire.send_small(pings)
    assert _memory() - before < 20_000_000
    wire.send_small(small(BINARY, ends=True, data=b"x") + b"\xff\xff")
    wire.socket.settimeout(SOON)
    with suppress(ConnectionResetError):
        while wire.socket.recv(65_536):
            pass


@pytest.mark.parametrize("offer", [0.4], indirect=True)
def test_who_waits_to_be_heard_is_not_taken_for_gone(offer: Offer):
    """The answer to our ping stands behind what waits: we ended what we did not listen to."""
    wire = offer(b"/slow")
    wire.send(BINARY, b"x")
    heard = [wire.heard()[0] for _ in range(3)]
    assert heard == [PING, PING, PING]
    gone = offer()
    assert gone.heard()[0] == PING
    assert gone.close_code() == GONE


def _memory() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_what_is_said_at_one_moment_is_sent_at_once_and_in_order(
    offer: Offer, monkeypatch: pytest.MonkeyPatch
):
    """A page is a hundred messages, and each was a call of the kernel by itself."""
    asked: list[int] = []
    gathered = LimitedSocket._send_gathered

    def counted(self: LimitedSocket) -> None:
        asked.append(1)
        gathered(self)

    monkeypatch.setattr(sockets, "GATHER_SECONDS", 0.2)
    monkeypatch.setattr(LimitedSocket, "_send_gathered", counted)
    wire = offer(b"/many")
    wire.send(BINARY)
    assert [wire.heard() for _ in range(MANY)] == [(BINARY, b"%d" % it) for it in range(MANY)]
    assert wire.heard() == (TEXT, b"last")
    assert wire.close_code() == DONE
    assert len(asked) <= 3
