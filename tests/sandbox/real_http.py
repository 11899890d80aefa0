"""A client that shows its certificate, and a plain webhook receiver: real HTTP for these tests."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

from sandbox.platform.certificates import KeyPair
from sandbox.server import Handle
from tests.support.machine import wait_until


@contextmanager
def client_of(handle: Handle, pair: KeyPair | None = None) -> Iterator[httpx.Client]:
    """An HTTP client that trusts the sandbox and shows `pair` (default: the good one)."""
    context = ssl.create_default_context(cafile=str(handle.certificates.authority))
    shown = pair or handle.certificates.client
    context.load_cert_chain(shown.certificate, shown.key)
    with httpx.Client(
        base_url=handle.url,
        verify=context,
        timeout=30,
        trust_env=False,
        auth=(handle.credentials.username, handle.credentials.password),
    ) as client:
        yield client


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Answers as `answers` says, one status after the other, and 200 when they run out."""

    url: str
    received: list[Received] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)

    def wait_for(self, count: int, seconds: float = 60) -> None:
        wait_until(lambda: len(self.received) >= count, seconds)


@contextmanager
def a_receiver() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = noted.answers.pop(0) if noted.answers else 200
            noted.received.append(Received(self.path, headers, body))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_PUT = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # a flood opens many connections at once

    with Server(("127.0.0.1", 0), Handler) as server:
        noted = Receiver(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield noted
        server.shutdown()
        thread.join()
