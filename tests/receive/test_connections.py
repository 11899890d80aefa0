"""Whatever a sender does on its connection: it costs us little, and loses no delivery."""

import json
import resource
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.receive import impatient
from tests.support.events import event, of_size
from tests.support.machine import wait_until
from tests.support.receiver import RunningReceiver, receiver, request

MIB = 1_048_576
HEAD = b"POST /webhooks HTTP/1.1\r\nHost: localhost\r\n"
SOON = impatient.SECONDS * 15  # on a busy machine; unhurried, it would be twenty seconds
LATER = impatient.SECONDS * 30


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningReceiver]:
    """A receiver that waits one second where others wait twenty."""
    with receiver(tmp_path_factory.mktemp("hurried"), program=impatient.PROGRAM) as running:
        yield running


def _framed(body: bytes, fields: bytes = b"") -> bytes:
    return b"%bContent-Length: %d\r\n%b\r\n%b" % (HEAD, len(body), fields, body)


def _id(body: bytes) -> str:
    name: str = json.loads(body)["id"]
    return name


def _recorded(answer: bytes) -> str:
    recorded: str = json.loads(answer)["recorded"]
    return recorded


# --- bodies in pieces ---


def test_a_body_may_come_byte_by_byte(shared: RunningReceiver):
    body = event()
    with shared.wire() as wire:
        for at in range(0, len(framed := _framed(body)), 1):
            wire.send(framed[at : at + 1])
        assert wire.answer().status == 200
    [entry] = shared.entries(event_id=_id(body))
    assert entry.body == body


@pytest.mark.parametrize("missing", [1, 50, 10_000])
def test_an_unfinished_delivery_is_not_recorded_when_its_sender_goes_away(
    shared: RunningReceiver, missing: int
):
    body = of_size(10_000)
    with shared.wire() as wire:
        wire.send(_framed(body)[:-missing])
    time.sleep(0.2)
    assert shared.entries(event_id=_id(body)) == []
    assert shared.deliver(body).status == 200


def test_a_submission_whose_body_does_not_come_is_given_up_like_a_delivery(
    hurried: RunningReceiver,
):
    path = b"/v1/marketplaces/m/sellers/s/registration/review"
    with hurried.wire() as wire:
        wire.send(b"PUT " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
        started = time.monotonic()
        assert wire.answer("PUT").status == 408
        assert wire.ends()
    assert time.monotonic() - started < SOON


def test_a_delivery_whose_sender_does_not_wait_is_recorded(shared: RunningReceiver):
    body = event()
    with shared.wire() as wire:
        wire.send(_framed(body))
    wait_until(lambda: bool(shared.entries(event_id=_id(body))))


def test_a_sender_that_asks_before_it_sends_may_go_on(shared: RunningReceiver):
    body = event()
    with shared.wire() as wire:
        wire.send(_framed(body, b"Expect: 100-continue\r\n").removesuffix(body))
        assert wire.next_line() == b"HTTP/1.1 100 Continue\r\n"
        assert wire.next_line() == b"\r\n"
        wire.send(body)
        answer = wire.answer()
        assert answer.status == 200
        assert answer.headers["connection"] == "close"


def test_a_sender_that_asks_before_it_sends_too_much_is_refused_at_once(shared: RunningReceiver):
    with shared.wire() as wire:
        wire.send(HEAD + b"Content-Length: 9999999\r\nExpect: 100-continue\r\n\r\n")
        answer = wire.answer()
        assert answer.status == 413
        assert answer.headers["connection"] == "close"
        assert wire.ends()


# --- one connection, many requests ---


def test_a_connection_serves_one_delivery_after_the_other(shared: RunningReceiver):
    with shared.wire() as wire:
        for _ in range(20):
            wire.send(_framed(event()))
            assert _recorded(wire.answer().body) == "new"


def test_pipelined_deliveries_are_answered_in_their_order(shared: RunningReceiver):
    bodies = [event() for _ in range(20)]
    with shared.wire() as wire:
        wire.send(b"".join(map(_framed, bodies)))
        seqs = [json.loads(wire.answer().body)["seq"] for _ in bodies]
    assert seqs == [shared.entries(event_id=_id(it))[0].seq for it in bodies]
    assert seqs == sorted(seqs)


@pytest.mark.parametrize(
    ("method", "fields", "status"),
    [("PUT", b"", 405), ("POST", b"Content-Encoding: gzip\r\n", 415), ("POST", b"", 413)],
)
def test_what_is_turned_away_unread_leaves_the_connection_usable(
    shared: RunningReceiver, method: str, fields: bytes, status: int
):
    """A sender that is still writing hears the answer instead of a broken connection."""
    with shared.wire() as wire:
        for _ in range(3):
            wire.send(_framed(b"x" * (3 * MIB), fields).replace(b"POST", method.encode(), 1))
            assert wire.answer().status == status
        wire.send(_framed(event()))
        assert wire.answer().status == 200


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("in_pieces", [False, True])
def test_an_offer_to_upgrade_costs_no_delivery(
    shared: RunningReceiver, framing: str, in_pieces: bool
):
    """Java's HTTP client offers HTTP/2 with its first request. The parser would stop behind the
    head then, and the delivery would be recorded without its body."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEA\r\n"
    body = event()
    if framing == "length":
        sent = _framed(body, offer)
    else:
        sent = (
            HEAD
            + offer
            + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        )
    with shared.wire() as wire:
        for at in range(0, len(sent), 50 if in_pieces else len(sent)):
            wire.send(sent[at : at + (50 if in_pieces else len(sent))])
            time.sleep(0.01 if in_pieces else 0)
        assert _recorded(wire.answer().body) == "new"
        wire.send(_framed(body, offer))
        assert _recorded(wire.answer().body) == "again"
        wire.send(_framed(body))
        assert _recorded(wire.answer().body) == "again"
    assert [it.body for it in shared.entries(event_id=_id(body))] == [body] * 3


def test_a_websocket_is_not_opened(shared: RunningReceiver):
    offer = {
        "Host": "localhost",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    for path, status in (("/webhooks", 405), ("/healthz", 200), ("/nowhere", 404)):
        with shared.wire() as wire:
            wire.send(request("GET", path, b"", offer))
            assert wire.answer().status == status


# --- senders that misbehave ---


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n",
        b"POST /web\xffhooks HTTP/1.1\r\nHost: localhost\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 99999999999999999999999999\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n",
        HEAD + b"Transfer-Encoding: identity\r\n\r\n{}",
        HEAD + b"Bad Name: 1\r\n\r\n",
        HEAD + b"Name: nul\0\r\n\r\n",
    ],
    ids=lambda body: repr(body[-24:]),
)
def test_what_is_not_a_request_is_answered_400_and_the_connection_closed(
    shared: RunningReceiver, sent: bytes
):
    with shared.wire() as wire:
        wire.send(sent)
        answer = wire.answer()
        assert answer.status == 400
        assert answer.headers["connection"] == "close"
        assert wire.ends()


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"POST /", b"a" * 1000),
        (HEAD + b"X: ", b"a" * 1000),
        (HEAD, b"X: a\r\n" * 100),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2;", b"a" * 1000),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: a\r\n" * 100),
    ],
    ids=["path", "header", "headers", "chunk", "trailers"],
)
def test_a_head_without_end_is_cut_off(shared: RunningReceiver, start: bytes, more: bytes):
    with shared.wire() as wire:
        wire.send(start)
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            wire.send_much(more * 10, 8 * MIB)
    assert shared.ask("GET", "/healthz").status == 200


def test_a_head_that_is_too_large_is_answered_431(shared: RunningReceiver):
    with shared.wire() as wire:
        wire.send(HEAD + b"X: " + b"a" * 70_000)
        assert wire.answer().status == 431
        assert wire.ends()


def test_large_heads_that_are_common_are_taken(shared: RunningReceiver):
    assert shared.deliver(event(), {"Cookie": "a" * 30_000}).status == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /webh",
        HEAD,
        HEAD + b"Content-Length: 10\r\n\r\n",
        HEAD + b"Content-Length: 10\r\n\r\n{",
    ],
    ids=["nothing", "line", "head", "no body", "half a body"],
)
def test_a_sender_that_stops_halfway_is_cut_off_with_408(hurried: RunningReceiver, sent: bytes):
    began = time.monotonic()
    with hurried.wire() as wire:
        wire.send(sent)
        assert wire.answer().status == 408
        assert wire.ends()
        assert impatient.SECONDS * 0.9 < time.monotonic() - began < SOON


def test_a_sender_cannot_buy_time_with_a_byte_now_and_then(hurried: RunningReceiver):
    began = time.monotonic()
    with hurried.wire() as wire:
        wire.send(HEAD + b"Content-Length: 1000\r\n\r\n")
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            wire.send_slowly(b" ", LATER)
    assert time.monotonic() - began < SOON


def test_a_sender_cannot_buy_time_with_a_body_that_nobody_reads(hurried: RunningReceiver):
    began = time.monotonic()
    with hurried.wire() as wire:
        wire.send(b"PUT" + HEAD[4:] + b"Content-Length: 1000\r\n\r\n")
        assert wire.answer("PUT").status == 405
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            wire.send_slowly(b" ", LATER)
    assert time.monotonic() - began < SOON


def test_a_connection_that_waits_between_deliveries_is_kept(hurried: RunningReceiver):
    with hurried.wire() as wire:
        for _ in range(2):
            wire.send(_framed(event()))
            assert wire.answer().status == 200
            assert wire.is_quiet_for(impatient.SECONDS * 2)


def test_a_sender_that_is_cut_off_leaves_no_error_behind(hurried: RunningReceiver):
    with hurried.wire() as wire:
        wire.send(HEAD + b"Content-Length: 10\r\n\r\n{")
        assert wire.answer().status == 408
    assert hurried.deliver(of_size(3000)).status == 200
    assert "Traceback" not in Path(hurried.log).read_text()


# --- many of them ---


def test_a_thousand_that_send_nothing_keep_no_delivery_out(shared: RunningReceiver):
    """Every request was answered 503 until their time was over, twenty seconds later."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most), most))
    try:
        with ExitStack() as held:
            for _ in range(1100):
                held.enter_context(shared.wire())
            began = time.monotonic()
            assert [shared.deliver(event()).status for _ in range(20)] == [200] * 20
            assert shared.ask("GET", "/healthz").status == 200
            assert time.monotonic() - began < 15
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
