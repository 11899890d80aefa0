"""What a platform may answer that breaks the contract, or HTTP: a raw TLS server says it."""

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import trustme

from tests import depth
from tests.faults.hasty import PROGRAM
from tests.support.gateway import Answer, Client, receiving
from tests.support.machine import wait_until
from tests.support.marketplace import Marketplace

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"


class Raw:
    """Answers each request with the bytes that it was given last; keeps the heads that came."""

    def __init__(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        self.answer = b""
        self.heads: list[bytes] = []
        self.connections = 0
        self._listener, self._context = listener, context
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                raw, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(raw,), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        with (
            contextlib.suppress(OSError),
            self._context.wrap_socket(raw, server_side=True) as connection,
        ):
            incoming = connection.makefile("rb")
            while True:
                head, length = b"", 0
                while (line := incoming.readline()) not in (b"\r\n", b""):
                    head += line
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                if not head:
                    return
                incoming.read(length)
                self.heads.append(head)
                connection.sendall(self.answer)  # and waits for another request


@pytest.fixture(scope="module")
def raw_gateway(served: tuple[Marketplace, Client]) -> Iterator[tuple[Raw, Client]]:
    marketplace, _ = served
    with raw_platform() as (raw, settings), receiving(marketplace, **settings) as client:
        yield raw, client


@contextmanager
def raw_platform() -> Iterator[tuple[Raw, dict[str, str]]]:
    """A platform on a raw socket, and the settings that lead to it."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        authority.cert_pem.tempfile() as certificate,
    ):
        yield (
            Raw(listener, context),
            {
                "PRAZO_PLATFORM_URL": f"https://127.0.0.1:{listener.getsockname()[1]}",
                "PRAZO_PLATFORM_CA_FILE": os.fspath(certificate),
                "PRAZO_REQUEST_TIMEOUT_SECONDS": "5",
            },
        )
        listener.shutdown(socket.SHUT_RDWR)


def test_a_cookie_of_the_platform_is_not_sent_back(
    marketplace: Marketplace, raw_gateway: tuple[Raw, Client]
) -> None:
    raw, gateway = raw_gateway
    raw.answer = OK + b"Set-Cookie: session=of-another-seller; Path=/\r\n\r\n{}"
    for _ in range(2):
        answer = gateway.put(marketplace.review())
        assert (answer.status, "set-cookie" in answer.headers) == (200, False)
    assert [it for it in raw.heads if b"cookie" in it.lower()] == []


def test_what_the_platform_says_beyond_its_answer_answers_no_other_request(
    marketplace: Marketplace, raw_gateway: tuple[Raw, Client]
) -> None:
    """The next submission over the connection took these bytes for its own answer: accepted."""
    raw, gateway = raw_gateway
    raw.answer = OK + b"\r\n{}" + OK + b"\r\n{}"
    assert gateway.put(marketplace.review()).status == 200
    before = raw.connections
    raw.answer = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
    refused = marketplace.review()
    assert gateway.put(refused).status == 400
    assert marketplace.outcomes(refused.process_id) == ["invalid_payload"]
    assert raw.connections == before + 1


@pytest.mark.parametrize(
    "status", depth.few([b"101", b"099", b"600", b"777", b"999", b"1000", b"abc"], 2)
)
def test_whatever_status_comes_the_caller_gets_an_answer(
    marketplace: Marketplace, raw_gateway: tuple[Raw, Client], status: bytes
) -> None:
    """A status that a server cannot send on ended in 500 without a word, or in no answer."""
    raw, gateway = raw_gateway
    raw.answer = b"HTTP/1.1 %b Strange\r\nContent-Length: 0\r\nUpgrade: h2c\r\n\r\n" % status
    review = marketplace.review()
    answer = gateway.put(review)
    assert (answer.status, answer.is_ours) == (502, True)
    assert "may have processed it" in answer.json["error"]
    [finish] = marketplace.finishes(review.process_id)
    assert finish.particulars.get("status") or finish.particulars.get("error") or finish.status


def test_where_an_answer_leads_and_when_to_come_back_is_kept(
    marketplace: Marketplace, raw_gateway: tuple[Raw, Client]
) -> None:
    """The next action after a 307 is to read its answer, whose page was empty: what it says stands
    in its head. A query may hold what is secret."""
    raw, gateway = raw_gateway
    raw.answer = (
        b"HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nRetry-After: 120\r\n"
        b"Location: https://other.example/v2/sellers/529.982.247-25?token=abc#d\r\n\r\n"
    )
    review = marketplace.review()
    assert gateway.put(review).status == 307
    [finish] = marketplace.finishes(review.process_id)
    assert finish.particulars["location"] == "https://other.example/v2/sellers/***"
    assert finish.particulars["retry_after"] == "120"
    assert marketplace.outcomes(review.process_id) == ["unexpected_status"]


def test_a_content_type_is_recorded_without_whom_it_names(
    marketplace: Marketplace, raw_gateway: tuple[Raw, Client]
) -> None:
    """A masked package shows what is recorded beside a body, and so it showed whose CPF it was."""
    raw, gateway = raw_gateway
    named = b"Content-Type: text/plain; of=529.982.247-25"
    raw.answer = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n%b\r\n\r\n" % named
    review = marketplace.review()
    assert gateway.put(review).status == 400
    [finish] = marketplace.finishes(review.process_id)
    assert finish.particulars["content_type"] == "text/plain; of=***"


@pytest.mark.parametrize("status", [b"204 No Content", b"205 Reset Content", b"304 Not Modified"])
def test_a_status_without_a_body_is_passed_on(
    marketplace: Marketplace, raw_gateway: tuple[Raw, Client], status: bytes
) -> None:
    raw, gateway = raw_gateway
    raw.answer = b"HTTP/1.1 %b\r\nContent-Length: 0\r\nContent-Type: a/b\r\n\r\n" % status
    answer = gateway.put(marketplace.review())
    assert (answer.status, answer.is_ours, answer.body) == (int(status[:3]), False, b"")


def test_a_server_that_is_stopped_before_the_platform_answers_says_what_is_known(
    marketplace: Marketplace,
) -> None:
    """After 17 s it was a bare 500, as of a fault of ours, and a traceback in the text log."""
    review = marketplace.review()
    marketplace.platform.add_fault(kind="slow", seconds=6.0, process_id=review.process_id)
    answers: list[Answer] = []
    with receiving(marketplace, program=PROGRAM) as gateway:
        caller = threading.Thread(target=lambda: answers.append(gateway.put(review)))
        caller.start()
        wait_until(lambda: not marketplace.platform.faults())
    caller.join()
    assert [(it.status, it.is_ours) for it in answers] == [(504, True)]
    assert answers[0].json == {
        "error": "the gateway was stopped before the platform answered; the platform may have"
        " processed it; send the same payload again"
    }
    assert marketplace.outcomes(review.process_id) == ["in_flight"]
