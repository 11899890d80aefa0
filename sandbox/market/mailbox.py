"""The marketplace's mail server, for alerts: it takes mail over STARTTLS, delivers to nobody, and
keeps the last letters to be looked at."""

import asyncio
import email
import ssl
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Final, NamedTuple

import trustme
from aiosmtpd.smtp import SMTP, Envelope, Session

HOST: Final = "127.0.0.1"
KEPT: Final = 50


class Letter(NamedTuple):
    """A letter that came, with its plain text."""

    at: float
    to: str
    subject: str
    text: str


class Mailbox:
    """The last letters, whomever they are for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._letters: deque[Letter] = deque(maxlen=KEPT)

    def letters(self) -> list[Letter]:
        """What came, the newest first."""
        with self._lock:
            return list(reversed(self._letters))

    async def handle_DATA(self, _: SMTP, __: Session, envelope: Envelope) -> str:
        """Takes a letter; the name is that which aiosmtpd calls."""
        content = envelope.content
        assert isinstance(content, bytes)
        message = email.message_from_bytes(content, policy=default)
        assert isinstance(message, EmailMessage)
        body = message.get_body(("plain",))
        text = "" if body is None else body.get_content()
        with self._lock:
            self._letters.append(
                Letter(time.time(), ", ".join(envelope.rcpt_tos), str(message["Subject"]), text)
            )
        return "250 OK"


@contextmanager
def mail_server(mailbox: Mailbox, folder: Path) -> Iterator[tuple[int, Path]]:
    """The port of a server that fills a mailbox until the block ends, and the file of the authority
    that vouches for it, which is written into `folder`."""
    authority = trustme.CA()
    file = folder / "mail_authority.pem"
    authority.cert_pem.write_to_path(str(file))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(HOST).configure_cert(context)
    loop = asyncio.new_event_loop()

    def protocol() -> SMTP:
        return SMTP(mailbox, tls_context=context, require_starttls=True, loop=loop)

    server = loop.run_until_complete(loop.create_server(protocol, HOST, 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1], file
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.close()
