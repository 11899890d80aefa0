"""Short requests on our own server: whatever their app does, one answer, and whole."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from pipeline.http.asgi import Headers, Receive, Scope, Send, answer
from pipeline.http.server import Connection
from pipeline.http.short import Reply, Take

SOON = 10.0
MUCH = bytes(range(65, 91)) * 200_000
"""More than a system keeps for a peer that does not read."""


class App:
    """Takes posts to /short; to /usual, as any app does, and whatever is refused there."""

    def __init__(self) -> None:
        self.short_posts = {b"/short": self.begin}

    def begin(self, headers: Headers) -> Take | None:
        return None if b"refuse" in headers else self.take

    def take(self, body: bytes, reply: Reply) -> None:
        if body == b"fail":
            raise ValueError(body)
        if body == b"much":
            reply(200, b'"%b"' % MUCH, (b"x-way", b"short"))
        reply(200, b'"%b"' % body, (b"x-way", b"short"))
        reply(200, b'"twice"')

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        said = b'"%b %b"' % (scope["path"].encode(), message["body"])
        await answer(send, 200, said, (b"x-way", b"usual"))


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        App(), http=Connection, ws="none", lifespan="off", log_config=None, server_header=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)


def asked(port: int, *requests: bytes) -> list[bytes]:
    """The answers, without their heads but for which way they came; the last asks for the end."""
    with socket.create_connection(("127.0.0.1", port), timeout=SOON) as wire:
        wire.sendall(b"".join(requests))
        came = b""
        while piece := wire.recv(65_536):
            came += piece
    return came.split(b"HTTP/1.1 ")[1:]


def post(target: bytes, body: bytes, fields: bytes = b"") -> bytes:
    return b"POST %b HTTP/1.1\r\nHost: a\r\n%bContent-Length: %d\r\n\r\n%b" % (
        target,
        fields,
        len(body),
        body,
    )


CHUNKED = (
    b"POST /short HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n6\r\n0\r\n\r\n"
)
LAST = b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def way(answer: bytes) -> bytes:
    """Status, way and body."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return b" ".join((head[:3], b"short" if b"x-way: short" in head else b"usual", body))


def ways(answers: list[bytes]) -> list[bytes]:
    return [*map(way, answers)]


def test_a_short_request_is_answered_once_and_whole(port: int) -> None:
    [first, _] = asked(port, post(b"/short", b"hello"), LAST)
    head, _, body = first.partition(b"\r\n\r\n")
    assert body == b'"hello"'
    fields = dict(line.split(b": ") for line in head.split(b"\r\n")[1:])
    assert fields.pop(b"date").endswith(b"GMT")
    assert fields == {
        b"content-type": b"application/json",
        b"content-length": b"7",
        b"x-way": b"short",
    }


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (post(b"/short", b"1"), b'200 short "1"'),
        (post(b"/short?a=b", b"2"), b'200 usual "/short 2"'),
        (post(b"/usual", b"3"), b'200 usual "/usual 3"'),
        (post(b"/short", b"4", b"Refuse: yes\r\n"), b'200 usual "/short 4"'),
        (post(b"/short", b"5").replace(b"POST", b"PUT", 1), b'200 usual "/short 5"'),
        (CHUNKED, b'200 usual "/short 6"'),
    ],
)
def test_what_is_not_short_goes_the_usual_way(port: int, sent: bytes, said: bytes) -> None:
    assert ways(asked(port, sent, LAST)) == [said, b'200 usual "/last "']


def test_what_comes_before_an_answer_waits_for_its_turn(port: int) -> None:
    answers = ways(asked(port, CHUNKED, post(b"/short", b"7"), post(b"/short", b"8"), LAST))
    assert answers == [
        b'200 usual "/short 6"',
        b'200 usual "/short 7"',
        b'200 usual "/short 8"',
        b'200 usual "/last "',
    ]


def test_an_app_that_fails_answers_500_and_serves_on(port: int) -> None:
    [failed, other, _] = ways(asked(port, post(b"/short", b"fail"), post(b"/short", b"on"), LAST))
    assert failed.startswith(b"500 ")
    assert other == b'200 short "on"'


def test_who_wants_the_connection_closed_has_it_closed(port: int) -> None:
    [only] = asked(port, post(b"/short", b"bye", b"Connection: close\r\n"))
    assert b"\r\nconnection: close\r\n" in only
    assert only.endswith(b'"bye"')


def test_pieces_of_a_body_are_put_together(port: int) -> None:
    sent = post(b"/short", b"0123456789", b"Connection: close\r\n")
    with socket.create_connection(("127.0.0.1", port), timeout=SOON) as wire:
        for at in range(len(sent)):
            wire.sendall(sent[at : at + 1])
        came = b""
        while piece := wire.recv(65_536):
            came += piece
    assert came.endswith(b'"0123456789"')


def test_answers_that_their_peer_reads_late_come_whole_and_in_order(port: int) -> None:
    with socket.socket() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.settimeout(SOON)
        wire.connect(("127.0.0.1", port))
        sent = (post(b"/short", it) for it in (b"1", b"much", b"2"))
        wire.sendall(b"".join((*sent, LAST)))
        time.sleep(0.3)  # until nothing more fits
        came = b"".join(iter(lambda: wire.recv(1 << 20), b""))
    answers = ways(came.split(b"HTTP/1.1 ")[1:])
    assert answers == [
        b'200 short "1"',
        b'200 short "%b"' % MUCH,
        b'200 usual "/short 2"',  # nothing is short while answers wait for their peer
        b'200 usual "/last "',
    ]


class Transport:
    """A transport of uvloop's after somebody closed it: its file is closed already, the protocol
    has not heard of it yet."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def is_closing(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        self.written.append(data)


def test_an_answer_never_goes_to_whoever_has_a_closed_connections_number() -> None:
    """Files have numbers, and a closed one's is given to the next that is opened."""
    connection, transport = Connection.__new__(Connection), Transport()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection.transport, connection._descriptor = transport, ours.fileno()
        connection.write_at_once(b"of one seller")
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.recv(100)
    assert transport.written == [b"of one seller"]


def test_an_answer_to_a_peer_that_has_gone_is_left_to_the_transport() -> None:
    connection, transport = Connection.__new__(Connection), Transport()
    transport.is_closing = lambda: False
    ours, theirs = socket.socketpair()
    with ours:
        theirs.close()
        connection.transport, connection._descriptor = transport, ours.fileno()
        connection.write_at_once(b"too late")
    assert transport.written == [b"too late"]
