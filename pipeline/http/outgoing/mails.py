"""Sends an e-mail by the marketplace's own mail server."""

import contextlib
import re
import smtplib
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate
from typing import Final

from pipeline import instants
from pipeline.errors import Quoted, SettingsError
from pipeline.http.outgoing.contexts import trusting
from pipeline.http.outgoing.mail_server import Mail, mailbox, sender_of
from pipeline.written import read_small


class Unanswered(OSError):
    """The server went away or kept silent while it had the message: it may have taken it."""


_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
"""What an ENVID takes as it is (RFC 3461)."""
SMTP_SECONDS: Final = 20.0
"""For each answer of the mail server."""


def password(mail: Mail) -> str | None:
    """By which we log in; None where the server asks for none. Raises `SettingsError`."""
    if mail.password_file is None:
        return None
    found = read_small(mail.password_file).strip()
    if not found:
        path, remedy = mail.password_file, "write the password into it"
        raise SettingsError(f"The file {path} cannot be used", "it is empty", remedy)
    if not found.isascii():
        raise SettingsError(
            f"The file {mail.password_file} cannot be used",
            "the password has letters outside ASCII, which no login by SMTP takes here",
            "give the account one without them",
        )
    return found


def send(
    mail: Mail, to: str, subject: str, plain: str, *, html: str | None = None, name: str, now: int
) -> None:
    """Hands one message over. `name`: of the message, unique in the world but for its repetitions.
    `now`: its date, in microseconds; a mail of tomorrow is taken for spam.

    Raises `SettingsError`, OSError or `smtplib.SMTPException` where the server did not take it, and
    `Unanswered` where nobody knows.
    """
    sent = EmailMessage()
    name_shown, sender = sender_of(mail.sender)
    sent["From"] = Address(name_shown, addr_spec=sender)
    sent["To"], sent["Subject"] = Address(addr_spec=mailbox(to)), subject
    sent["Date"] = formatdate(now / instants.SECOND)
    sent["Message-ID"] = f"<{name}@{sender.rpartition('@')[2]}>"
    sent["Auto-Submitted"] = "auto-generated"
    sent.set_content(plain)
    if html is not None:
        sent.add_alternative(html, subtype="html")
    word = password(mail)
    context = trusting(mail.ca_file, protocols=())
    if mail.security == "tls":
        server: smtplib.SMTP = smtplib.SMTP_SSL(
            mail.host, mail.port, timeout=SMTP_SECONDS, context=context
        )
    else:
        server = smtplib.SMTP(mail.host, mail.port, timeout=SMTP_SECONDS)
    try:
        if mail.security == "starttls":
            server.starttls(context=context)
        if mail.user is not None and word is not None:
            server.login(mail.user, word)
        server.ehlo_or_helo_if_needed()
        # A report that it did not arrive names it then, also where that leaves out its headers.
        named = [f"ENVID={name}"] if server.has_extn("dsn") and _PLAIN.fullmatch(name) else []
        try:
            server.send_message(sent, mail_options=named)
        except (TimeoutError, ConnectionError, smtplib.SMTPServerDisconnected) as error:
            kind = type(error).__name__
            raise Unanswered(Quoted(str(error) or kind, kind)) from error
        # The server has it: whatever it says to the farewell, nothing is to be sent again.
        with contextlib.suppress(OSError, smtplib.SMTPException):
            server.quit()
    finally:
        server.close()
