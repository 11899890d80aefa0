"""An endpoint of the marketplace, over real HTTP: it keeps what comes, and answers as it should."""

import base64
import hashlib
import hmac
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import trustme

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


class Received(NamedTuple):
    """One request. Header names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Reply(NamedTuple):
    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    context: ssl.SSLContext | None = None

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        if self.context is not None:
            connection.settimeout(5)
            connection = self.context.wrap_socket(connection, server_side=True)
        return connection, address

    def handle_error(self, *_: object) -> None:
        """A connection that a killed forwarder had is cut off."""


OK = Reply()
Answering = Callable[[Received], Reply]


class Sink:
    """Listens on a port of the loopback address. `answer` may be replaced at any time."""

    def __init__(self, port: int = 0) -> None:
        self.answer: Answering = lambda received: OK
        self.all: list[Received] = []
        """Every request, in order of arrival."""
        self.taken: list[Received] = []
        """Those that were answered with 2xx, in the order of these answers."""
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), self._handler())
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks/platform?from=prazo"

    @property
    def bodies(self) -> list[bytes]:
        with self._lock:
            return [it.body for it in self.taken]

    def once(self) -> list[bytes]:
        """The bodies that were taken, each at its first arrival: a receiver that drops a repeated
        message id sees these."""
        with self._lock:
            first = {it.id: it.body for it in reversed(self.taken)}
            return [first[name] for name in dict.fromkeys(it.id for it in self.taken)]

    def show(self, authority: trustme.CA) -> str:
        """From the next connection on it speaks TLS, by a certificate of that authority; its
        URL."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        self._server.context = context
        return self.url.replace("http:", "https:", 1)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _note(self, received: Received, change: int) -> None:
        with self._lock:
            self._at_once += change
            self.most_at_once = max(self.most_at_once, self._at_once)
            if change > 0:
                self.all.append(received)

    def _handler(sink) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                size = int(self.headers["content-length"])
                body = self.rfile.read(size)
                if len(body) < size:  # the sender was killed, or gave up, in between
                    self.close_connection = True
                    return
                headers = {name.lower(): it for name, it in self.headers.items()}
                received = Received(self.path, headers, body)
                sink._note(received, 1)
                try:
                    reply = sink.answer(received)
                    if 200 <= reply.status < 300:
                        with sink._lock:
                            sink.taken.append(received)
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(reply.body)))
                    self.end_headers()
                    self.wfile.write(reply.body)
                except OSError:  # it was given up, or killed
                    self.close_connection = True
                finally:
                    sink._note(received, -1)

            do_GET = do_POST

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@contextmanager
def sink(port: int = 0) -> Iterator[Sink]:
    opened = Sink(port)
    try:
        yield opened
    finally:
        opened.close()


def is_signed(received: Received, secret: str = SECRET) -> bool:
    """Read and reckoned from the specification, without the product's code: the signed content is
    `id.timestamp.body`, the key the base64 after `whsec_`."""
    key = base64.b64decode(secret.split("_", 1)[1])
    timestamp = received.headers["webhook-timestamp"]
    if abs(time.time() - int(timestamp)) > 300:
        return False
    content = f"{received.id}.{timestamp}.".encode() + received.body
    expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return f"v1,{expected}" in received.headers["webhook-signature"].split(" ")


@contextmanager
def silent() -> Iterator[str]:
    """The URL of a listener that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
