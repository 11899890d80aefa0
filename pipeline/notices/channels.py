"""Hands a message to the service that brings it to a seller, and says what can be known of it.

A mail server that takes a message says nothing of its arrival. A webhook takes a message id twice
as once, so it is tried again where nobody knows whether it came.
"""

import smtplib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pipeline.contract.body import JsonValue, canonical_json
from pipeline.errors import PrazoError, SettingsError, WrongUsage
from pipeline.http import standard_webhooks
from pipeline.http.outgoing import asking, mails
from pipeline.http.outgoing.mail_server import Mail
from pipeline.instants import canonical
from pipeline.journey.page_texts import Language
from pipeline.log.kinds.seller_notice_result import kept_of
from pipeline.notices.rules import EMAIL, NoticeRules, Webhook
from pipeline.notices.texts import Message
from pipeline.written import read_small

TYPE: Final = "prazo.seller_notice"
VERSION: Final = 1
PAUSES: Final = (1.0, 4.0)
"""In seconds, between the tries of one message by a webhook."""
LONGEST: Final = 120.0
"""In seconds: no message is on its way for longer."""
_LATER: Final = (408, 425, 429, 503)
"""Answers of a service that has not taken a message, and may take it later."""

Result = Literal["accepted", "failed", "uncertain"]


class Came(NamedTuple):
    """What came of handing a message over."""

    result: Result
    detail: str | None = None
    """In words, without an address; None where there is nothing more to say."""
    is_refused: bool = False
    """The service will never take it."""


class Envelope(NamedTuple):
    """What is handed over."""

    message_id: str
    seller_id: str
    process_ids: tuple[str, ...]
    channel: str
    language: Language
    message: Message
    link: str | None
    """None where nothing is left to answer."""
    deadline_at: int | None
    to: str | None
    """The address, where the channel needs it."""
    at: int
    """When it was made, in microseconds."""

    def content(self, *, is_webhook: bool) -> bytes:
        """The true bytes: of a webhook its body; of an e-mail its words and whom it is for."""
        subject, text = self.message
        if not is_webhook:
            return canonical_json({"subject": subject, "text": text, "to": self.to})
        said: dict[str, JsonValue] = {
            "message_id": self.message_id,
            "seller_id": self.seller_id,
            "process_ids": [*self.process_ids],
            "channel": self.channel,
            "language": self.language,
            "subject": subject,
            "text": text,
            "link": self.link,
            "deadline_at": None if self.deadline_at is None else canonical(self.deadline_at),
        }
        if self.to is not None:
            said["to"] = self.to
        return canonical_json(
            {"type": TYPE, "version": VERSION, "timestamp": canonical(self.at), "data": said}
        )


def check(rules: NoticeRules, mail: Mail | None, channel: str) -> None:
    """Raises `SettingsError` where a channel that the settings name cannot be used, and
    `WrongUsage` for one that they do not name."""
    if (webhook := rules.channels.get(channel)) is not None:
        secrets_in(webhook.secret_file)
    elif channel != EMAIL:
        raise WrongUsage(
            f"Nothing can be sent by {channel}",
            "the settings name no such channel",
            f"add [channels.{channel}] to the file of PRAZO_NOTICES_FILE"
            " (docs/notices.md#channels)",
        )
    elif mail is None:
        raise SettingsError(
            "Nothing can be sent by e-mail",
            "no mail server is named",
            "name it in [mail] of the file of PRAZO_ALERTS_FILE (docs/alerts.md#settings)",
        )
    else:
        mails.password(mail)


def secrets_in(path: Path) -> list[bytes]:
    """The secrets by which webhooks are signed. Raises `SettingsError`."""
    return standard_webhooks.secrets_in(read_small(path), path)


def hand_over(
    envelope: Envelope,
    rules: NoticeRules,
    mail: Mail | None,
    now: Callable[[], int],
    wait: Callable[[float], object] = time.sleep,
) -> Came:
    """Hands a message over, and says what came of that. Whatever goes wrong is a result: the
    entry that it was about to go is there. `now`: by which it is dated, in microseconds."""
    webhook = rules.channels.get(envelope.channel)
    try:
        if webhook is None:
            came = _by_mail(envelope, mail, now())
        else:
            came = _by_webhook(envelope, webhook, now, wait)
    except PrazoError as error:
        came = Came("failed", error.finding)
    if came.detail is None:
        return came
    return came._replace(detail=kept_of(came.detail, filter(None, [envelope.to])))


def _by_mail(envelope: Envelope, mail: Mail | None, now: int) -> Came:
    if mail is None or envelope.to is None:
        return Came("failed", "no mail server is named")
    message = envelope.message
    try:
        mails.send(
            mail, envelope.to, message.subject, message.text, name=envelope.message_id, now=now
        )
    except mails.Unanswered as error:
        return Came("uncertain", f"the mail server did not answer: {error}")
    except smtplib.SMTPRecipientsRefused as error:
        code, said = next(iter(error.recipients.values()))
        return Came("failed", _answer(code, said), is_refused=code >= 500)
    except smtplib.SMTPDataError as error:
        code = error.smtp_code
        return Came("failed", _answer(code, error.smtp_error), is_refused=code >= 500)
    except smtplib.SMTPResponseException as error:
        return Came("failed", _answer(error.smtp_code, error.smtp_error))
    except (OSError, ValueError, smtplib.SMTPException) as error:
        return Came("failed", f"{type(error).__name__}: {error}")
    return Came("accepted")


def _by_webhook(
    envelope: Envelope,
    webhook: Webhook,
    now: Callable[[], int],
    wait: Callable[[float], object],
) -> Came:
    """One message in a few tries. Once one of them may have arrived, no later failure says that
    none did."""
    body, may_have_it = envelope.content(is_webhook=True), None
    for pause in (*PAUSES, None):
        came = _posted(envelope.message_id, body, webhook, now())
        if came.result == "accepted":
            return came
        if came.result == "uncertain":
            may_have_it = came
        if came.is_refused or pause is None:
            break
        wait(pause)
    return may_have_it or came


def _posted(message_id: str, body: bytes, webhook: Webhook, now: int) -> Came:
    headers = standard_webhooks.signed(
        secrets_in(webhook.secret_file), message_id.encode(), now, body
    )
    try:
        answer = asking.post(
            webhook.url,
            body,
            "application/json",
            {name.decode(): value.decode() for name, value in headers},
            is_body_needed=False,  # the status alone says what became of it
        )
    except asking.Unanswered as error:
        return Came("uncertain", f"the service did not answer: {error}")
    except ValueError as error:
        return Came("failed", f"the service was not reached: {error}")
    said = f"the service answered {answer.status}"
    if 200 <= answer.status < 300:
        return Came("accepted")
    if answer.status >= 500 and answer.status not in _LATER:
        return Came("uncertain", said)
    return Came("failed", said, is_refused=answer.status not in _LATER)


def _answer(code: int, said: bytes | str) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return f"{code} {text}"
