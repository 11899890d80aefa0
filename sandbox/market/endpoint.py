"""The marketplace's own endpoint: it takes what is passed on to it, and shows what came."""

import hmac
import html
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, NamedTuple

from sandbox.platform.webhooks import Signature

LOOPBACK: Final = "127.0.0.1"
SHOWN: Final = 200
TOLERANCE_SECONDS: Final = 300
MAX_BODY_BYTES: Final = 2**20


class Arrival(NamedTuple):
    """A message, and how often it came."""

    at: float
    event_type: str
    event_id: str
    times: int


class Endpoint:
    """What came last, each message once: by its id, as the specification of Standard Webhooks
    advises its receivers."""

    def __init__(self, secret: str) -> None:
        self._signature = Signature(secret)
        self._lock = threading.Lock()
        self._came: OrderedDict[str, Arrival] = OrderedDict()

    def take(self, message_id: str, timestamp: str, signatures: str, body: bytes) -> int:
        """The status that the message is answered with."""
        if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
            return 400
        signed = self._signature.headers(message_id, body, int(timestamp))
        expected = signed["webhook-signature"]
        if not any(hmac.compare_digest(it, expected) for it in signatures.split(" ")):
            return 401
        try:
            event = json.loads(body)
        except ValueError:
            event = {}
        known = event if isinstance(event, dict) else {}
        with self._lock:
            before = self._came.get(message_id)
            self._came[message_id] = Arrival(
                time.time() if before is None else before.at,
                str(known.get("type", "")),
                str(known.get("id", "")),
                1 if before is None else before.times + 1,
            )
            while len(self._came) > SHOWN:
                self._came.popitem(last=False)
        return 204

    def page(self) -> str:
        """What came, the newest first."""
        with self._lock:
            came = list(reversed(self._came.items()))
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td>{html.escape(cell)}</td>"
                for cell in (
                    time.strftime("%H:%M:%S", time.localtime(arrival.at)),
                    arrival.event_type,
                    arrival.event_id,
                    message_id,
                    str(arrival.times),
                )
            )
            + "</tr>"
            for message_id, arrival in came
        )
        return (
            "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=2>"
            "<title>The marketplace's endpoint</title>"
            f"<h1>{len(came)} messages, the newest first</h1>"
            "<table cellpadding=6><tr><th>at<th>event type<th>event<th>webhook-id<th>times</tr>"
            f"{rows}</table>"
        )


@contextmanager
def listening(secret: str) -> Iterator[str]:
    """The URL of an endpoint that listens until the block ends."""
    server = ThreadingHTTPServer((LOOPBACK, 0), _handler(Endpoint(secret)))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{LOOPBACK}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def _handler(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length", 0))
            if size > MAX_BODY_BYTES:
                self.close_connection = True
                self._answer(413, "")
                return
            body = self.rfile.read(size)
            if len(body) < size:
                self.close_connection = True
                return
            status = endpoint.take(
                self.headers.get("webhook-id", ""),
                self.headers.get("webhook-timestamp", ""),
                self.headers.get("webhook-signature", ""),
                body,
            )
            self._answer(status, "")

        def do_GET(self) -> None:
            self._answer(200, endpoint.page())

        def _answer(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            if status != 204:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: the page shows what came."""

    return Handler
