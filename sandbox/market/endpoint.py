"""The marketplace's own systems: they take the deliveries that are passed on to it, the alerts that
are sent to it, by webhook and by e-mail, and messages for its sellers, and show all of it on one
page."""

import hmac
import html
import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple

from sandbox.market.mailbox import Mailbox, mail_server
from sandbox.platform.webhooks import Signature

LOOPBACK: Final = "127.0.0.1"
SHOWN: Final = 200
TOLERANCE_SECONDS: Final = 300
MAX_BODY_BYTES: Final = 2**20
EVENTS: Final = "/"
"""Where deliveries are passed on to, and where the page is."""
ALERTS: Final = "/alerts"
NOTICES: Final = "/notices"
_LINK: Final = re.compile(r"https?://[^\s<>\"]+")


class Arrival(NamedTuple):
    """A message, what it says in a few words, and how often it came."""

    at: float
    cells: tuple[str, ...]
    times: int


class Endpoint:
    """What came last, each message once: by its id, as the specification of Standard Webhooks
    advises its receivers. `cells`: what is shown of a message."""

    def __init__(self, secret: str, cells: Callable[[dict[str, Any]], tuple[str, ...]]) -> None:
        self._signature = Signature(secret)
        self._cells = cells
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
            said = json.loads(body)
        except ValueError:
            said = {}
        known = said if isinstance(said, dict) else {}
        with self._lock:
            before = self._came.get(message_id)
            self._came[message_id] = Arrival(
                time.time() if before is None else before.at,
                self._cells(known),
                1 if before is None else before.times + 1,
            )
            while len(self._came) > SHOWN:
                self._came.popitem(last=False)
        return 204

    def rows(self) -> list[tuple[str, ...]]:
        """What came, the newest first: when, what, its id, how often."""
        with self._lock:
            came = list(reversed(self._came.items()))
        return [
            (_clock(arrival.at), *arrival.cells, message_id, str(arrival.times))
            for message_id, arrival in came
        ]


def event_cells(event: dict[str, Any]) -> tuple[str, ...]:
    """An event's type and id."""
    return str(event.get("type", "")), str(event.get("id", ""))


def alert_cells(message: dict[str, Any]) -> tuple[str, ...]:
    """Who is told, of how many alerts, and what the first ones are about."""
    found = message.get("alerts")
    alerts = [it for it in found if isinstance(it, dict)] if isinstance(found, list) else []
    named = [f"{it.get('kind')} {it.get('process_id') or ''}".strip() for it in alerts[:5]]
    return str(message.get("to", "")), str(len(alerts)), ", ".join(named)


def notice_cells(message: dict[str, Any]) -> tuple[str, ...]:
    """By which channel a seller is written to, who, and the words."""
    found = message.get("data")
    data = found if isinstance(found, dict) else {}
    return tuple(str(data.get(name, "")) for name in ("channel", "seller_id", "text"))


class Systems:
    """All of the marketplace's systems: endpoints for events, alerts and messages to sellers, and a
    mailbox."""

    def __init__(self, secret: str) -> None:
        self.endpoints = {
            EVENTS: Endpoint(secret, event_cells),
            ALERTS: Endpoint(secret, alert_cells),
            NOTICES: Endpoint(secret, notice_cells),
        }
        self.mailbox = Mailbox()

    def page(self) -> str:
        """What came, the newest first."""
        letters = "".join(
            f"<details><summary>{_clock(letter.at)} · {html.escape(letter.to)} ·"
            f" {html.escape(letter.subject)}</summary><pre>{_linked(letter.text)}</pre></details>"
            for letter in self.mailbox.letters()
        )
        return (
            "<!doctype html><html lang=en><meta charset=utf-8>"
            "<title>The marketplace's systems</title>"
            "<h1>What the marketplace's systems got</h1><p>The newest first;"
            f' <a href="{EVENTS}">look again</a>.</p>'
            f"<h2>E-mail, of alerts and to sellers</h2>{letters or '<p>None yet</p>'}"
            + _table(
                "Alerts by webhook",
                ("at", "to", "alerts", "about", "webhook-id", "times"),
                self.endpoints[ALERTS].rows(),
            )
            + _table(
                "Messages to sellers by webhook",
                ("at", "channel", "seller", "text", "webhook-id", "times"),
                self.endpoints[NOTICES].rows(),
            )
            + _table(
                "Deliveries that were passed on",
                ("at", "event type", "event", "webhook-id", "times"),
                self.endpoints[EVENTS].rows(),
            )
        )


def _table(title: str, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    if not rows:
        return f"<h2>{title}</h2><p>None yet</p>"
    head = "".join(f"<th>{it}" for it in heads)
    lines = "".join(
        "<tr>" + "".join(f"<td>{_linked(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<h2>{title}: {len(rows)}</h2><table cellpadding=6><tr>{head}</tr>{lines}</table>"


def _linked(text: str) -> str:
    """A text as HTML, in which its links can be followed."""
    return _LINK.sub(lambda found: f'<a href="{found[0]}">{found[0]}</a>', html.escape(text))


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))


class Known(NamedTuple):
    """Where the systems listen, and whom a client of the mail server has to trust."""

    url: str
    mail_port: int
    mail_authority: Path


@contextmanager
def listening(secret: str, folder: Path) -> Iterator[Known]:
    """The systems, until the block ends; the mail server's authority is written into `folder`."""
    systems = Systems(secret)
    server = ThreadingHTTPServer((LOOPBACK, 0), _handler(systems))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with mail_server(systems.mailbox, folder) as (port, authority):
            url = f"http://{LOOPBACK}:{server.server_address[1]}{EVENTS}"
            yield Known(url, port, authority)
    finally:
        server.shutdown()
        server.server_close()


def _handler(systems: Systems) -> type[BaseHTTPRequestHandler]:
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
            endpoint = systems.endpoints.get(self.path)
            if endpoint is None:
                self._answer(404, "")
                return
            status = endpoint.take(
                self.headers.get("webhook-id", ""),
                self.headers.get("webhook-timestamp", ""),
                self.headers.get("webhook-signature", ""),
                body,
            )
            self._answer(status, "")

        def do_GET(self) -> None:
            self._answer(200, systems.page())

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
