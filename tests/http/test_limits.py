"""Anyone who holds connections and sends nothing keeps nobody out; over real sockets."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
import uvicorn

from pipeline.http import limits
from pipeline.http.asgi import Receive, Scope, Send, answer
from pipeline.http.server import Connection
from tests.support.machine import wait_until

MOST = 20
SOON = 10.0
LARGE = b"x" * 8_000_000


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"] == "/slow":
        hold.waiting += 1
        hold.wait_started.set()
        await hold.over()
    if scope["path"] == "/large":
        hold.wait_started.set()
        await answer(send, 200, LARGE)
        return
    await answer(send, 200, b"ok")


class Hold:
    """Requests to /slow stay under way until they are let go."""

    def __init__(self) -> None:
        self.wait_started = threading.Event()
        self.is_over = threading.Event()
        self.waiting = 0

    async def over(self) -> None:
        import asyncio

        while not self.is_over.is_set():
            await asyncio.sleep(0.02)


hold = Hold()


@pytest.fixture(params=["httptools", "ours"])
def port(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server, as Streamlit starts one and as we do, with few places and little patience."""
    global hold
    hold = Hold()
    monkeypatch.setattr(limits, "MAX_CONNECTIONS", MOST)
    monkeypatch.setattr(limits, "REQUEST_SECONDS", 2.0)
    monkeypatch.setattr(limits, "UNREAD_SECONDS", 0.5)
    before = uvicorn.protocols.http.httptools_impl.HttpToolsProtocol.__init__
    if request.param == "httptools":
        limits.limit_every_connection()
    protocol = Connection if request.param == "ours" else "httptools"
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, http=protocol, ws="none", lifespan="off", log_config=None)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        hold.is_over.set()
        server.should_exit = True
        thread.join(20)
        uvicorn.protocols.http.httptools_impl.HttpToolsProtocol.__init__ = before


def ask(port: int, path: str = "/") -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=SOON) as wire:
        wire.sendall(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
        return wire.recv(1000)


def test_a_newcomer_gets_the_place_of_the_oldest_that_sends_nothing(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REQUEST_SECONDS", 60.0)
    with ExitStack() as held:
        idle = [
            held.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(MOST)
        ]
        for wire in idle[1:3]:
            wire.sendall(b"GET / HTTP/1.1\r\nHost: loc")  # a part of a request keeps no place
        assert ask(port).startswith(b"HTTP/1.1 200")
        assert idle[0].recv(100).startswith(b"HTTP/1.1 503")
        for _ in range(MOST):
            assert ask(port).startswith(b"HTTP/1.1 200")


def test_a_request_that_is_under_way_keeps_its_place(port: int) -> None:
    answered: list[bytes] = []
    asking = threading.Thread(target=lambda: answered.append(ask(port, "/slow")))
    asking.start()
    assert hold.wait_started.wait(SOON)
    with ExitStack() as held:
        for _ in range(2 * MOST):
            held.enter_context(socket.create_connection(("127.0.0.1", port)))
        assert ask(port).startswith(b"HTTP/1.1 200")
        hold.is_over.set()
        asking.join(SOON)
    assert answered[0].startswith(b"HTTP/1.1 200")


def test_where_every_place_is_at_work_a_newcomer_is_turned_away(port: int) -> None:
    asking = [threading.Thread(target=ask, args=(port, "/slow")) for _ in range(MOST)]
    for thread in asking:
        thread.start()
    wait_until(lambda: hold.waiting == MOST)
    try:
        given = ask(port)
    except ConnectionError:
        given = b""
    assert given == b"", "it is closed without an answer"
    hold.is_over.set()
    for thread in asking:
        thread.join(SOON)
    assert ask(port).startswith(b"HTTP/1.1 200")


def test_a_connection_that_sends_nothing_ends_after_its_time(port: int) -> None:
    """On the dashboard it stayed for good."""
    with socket.create_connection(("127.0.0.1", port), timeout=SOON) as wire:
        assert wire.recv(100).startswith(b"HTTP/1.1 408")
        assert wire.recv(100) == b""


def unread(port: int, sent: bytes) -> socket.socket:
    """A connection that asks, and reads nothing."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    wire.settimeout(SOON)
    wire.connect(("127.0.0.1", port))
    wire.sendall(sent)
    return wire


def read(wire: socket.socket) -> int:
    """How many bytes come until the end, or until the connection is cut."""
    got = 0
    with suppress(ConnectionError):
        while piece := wire.recv(1_000_000):
            got += len(piece)
    return got


def get(path: str, fields: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode()


def test_who_reads_nothing_gives_up_their_place(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their answers were under way for good: 900 such connections stopped a server."""
    monkeypatch.setattr(limits, "UNREAD_SECONDS", 60.0)
    with ExitStack() as held:
        for _ in range(MOST):
            held.enter_context(unread(port, get("/large") * 5))
        wait_until(lambda: all(it.flow.write_paused for it in list(limits.CROWD._members)))
        for _ in range(3):
            assert ask(port).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("fields", ["", "Connection: close\r\n"])
def test_who_reads_nothing_for_too_long_is_cut_off(port: int, fields: str) -> None:
    with unread(port, get("/large", fields)) as wire:
        assert hold.wait_started.wait(SOON)
        wait_until(lambda: len(limits.CROWD) == 0)
        assert read(wire) < len(LARGE)


@pytest.mark.long
def test_who_reads_slowly_gets_the_whole_answer(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNREAD_SECONDS", 2.0)
    with unread(port, get("/large", "Connection: close\r\n")) as wire:
        got = 0
        for _ in range(8):
            time.sleep(0.6)
            got += len(wire.recv(200_000))
        got += read(wire)
    assert got > len(LARGE)


def test_few_requests_wait_on_one_connection_and_end_with_it_without_an_error(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Each that was dropped was a traceback: uvicorn tells it to a connection's last alone."""
    with unread(port, get("/slow") * (limits.MAX_PIPELINED + 2)):
        assert hold.wait_started.wait(SOON)
        wait_until(lambda: len(limits.CROWD) == 0)
        hold.is_over.set()
        assert ask(port, "/slow").startswith(b"HTTP/1.1 200")
        time.sleep(0.1)
    assert [it for it in caplog.records if it.levelname == "ERROR"] == []
