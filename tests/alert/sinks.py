"""What takes messages in the tests: a mail server with TLS, and a server for webhooks."""

import contextlib
import email
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from tests.support.machine import free_port


class MailServer:
    """Takes mail over STARTTLS from anyone who logs in; `refuses`: what it answers in its place."""

    def __init__(self, folder: Path) -> None:
        self.taken: list[EmailMessage] = []
        self.refuses: str | None = None
        self.port = free_port()
        authority = trustme.CA()
        self.ca_file = folder / "mail-ca.pem"
        authority.cert_pem.write_to_path(str(self.ca_file))
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("localhost").configure_cert(self._context)

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:
        if self.refuses is not None:
            return self.refuses
        assert isinstance(envelope.content, bytes)
        message = email.message_from_bytes(envelope.content, policy=default)
        assert isinstance(message, EmailMessage)
        self.taken.append(message)
        return "250 OK"

    @contextmanager
    def running(self) -> Iterator["MailServer"]:
        controller = Controller(
            self,
            hostname="localhost",
            port=self.port,
            tls_context=self._context,
            require_starttls=True,
            authenticator=_is_ours,
            auth_required=True,
        )
        controller.start()
        try:
            yield self
        finally:
            controller.stop()


def _is_ours(*asked: Any) -> AuthResult:
    given = asked[-1]
    return AuthResult(success=(given.login, given.password) == (b"prazo", b"secret"))


class Posted(NamedTuple):
    """A request that a webhook's server got; header names in lower case."""

    headers: dict[bytes, bytes]
    body: bytes


class WebhookServer:
    """Takes webhooks; `status` and `answer`: what it answers, as soon as `gate` is set."""

    def __init__(self) -> None:
        self.taken: list[Posted] = []
        self.status = 204
        self.answer = b""
        self.gate = Event()
        self.gate.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {
                    name.lower().encode(): value.encode() for name, value in self.headers.items()
                }
                outer.taken.append(Posted(headers, body))
                outer.gate.wait()
                self.send_response(outer.status)
                self.send_header("content-length", str(len(outer.answer)))
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # anyone who asked may read no further
                    self.wfile.write(outer.answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/alerts"

    @contextmanager
    def running(self) -> Iterator["WebhookServer"]:
        thread = Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()
