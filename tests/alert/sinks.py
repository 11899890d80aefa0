"""What takes messages in the tests: a mail server with TLS, and a server for webhooks."""

import contextlib
import email
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from tests.support.answering import Answering, body_of, give
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
        self._server = Answering(self._take)
        self.url = f"{self._server.url}/alerts"

    def _take(self, request: BaseHTTPRequestHandler) -> None:
        body = body_of(request)
        headers = {it.lower().encode(): value.encode() for it, value in request.headers.items()}
        posted = Posted(headers, body)
        self.taken.append(posted)
        self.gate.wait()
        status = self.status_for(posted)
        with contextlib.suppress(ConnectionError):  # the one who asked may read no further
            give(request, status, self.answer)

    def status_for(self, posted: Posted) -> int:
        return self.status

    @contextmanager
    def running(self) -> Iterator["WebhookServer"]:
        with self._server:
            yield self
