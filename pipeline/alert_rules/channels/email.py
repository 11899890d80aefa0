"""E-mail, by the marketplace's own server."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from pipeline.alert_rules.channels import Channel, Doubtful, Envelope, Readers, Text
from pipeline.alert_rules.parts import Part
from pipeline.errors import Quoted
from pipeline.http.outgoing.mail_server import Mail, MailAddress


class _Keys(Part):
    email: MailAddress | None = None


class _Email(Channel[_Keys, Text]):
    via = key = "email"
    place = 1
    keys = _Keys

    def lacks(self, recipients: Iterable[_Keys], mail: Mail | None) -> str | None:
        if mail is None and any(it.email for it in recipients):
            return "recipients have an e-mail address, and [mail] names no server"
        return None

    def names(self, recipient: _Keys) -> tuple[str, ...]:
        return (recipient.email,) if recipient.email else ()

    def readers_of_all(self, mail: Mail | None) -> Readers:
        from pipeline.http.outgoing import mails
        from pipeline.http.outgoing.contexts import trusting

        if mail is None:
            return {}
        password = {"mail.password_file": partial(mails.password, mail)}
        if mail.ca_file is None:
            return password
        return {**password, "mail.ca_file": partial(trusting, mail.ca_file)}

    def send(self, content: Text, recipient: _Keys, envelope: Envelope) -> None:
        import smtplib

        from pipeline.http.outgoing import mails

        mail, to = envelope.mail, recipient.email
        assert mail is not None  # the settings are refused otherwise
        assert to is not None
        name, now, said = envelope.name, envelope.now, (content.subject, content.plain)
        try:
            # The same name however often it is tried: a mailbox may drop what it has.
            mails.send(mail, to, *said, html=content.html, name=name, now=now)
        except mails.Unanswered as error:
            raise Doubtful(str(error)) from error
        except smtplib.SMTPResponseException as error:
            refused = error.smtp_error
            why = refused.decode(errors="replace") if isinstance(refused, bytes) else refused
            answered, ours = f"{error.smtp_code} {why}", f"it answered {error.smtp_code}"
            raise ValueError(Quoted(answered, ours)) from error

    def leads(self, mail: Mail | None) -> str:
        assert mail is not None  # the settings are refused otherwise
        return f"[mail] ({mail.host}, port {mail.port}, security {mail.security})"


CHANNEL: Final = _Email()
