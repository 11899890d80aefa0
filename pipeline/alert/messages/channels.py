"""Sends a message in one way: e-mail, a signed webhook, or whatever Apprise knows.

A channel either takes a message or says why not; it never raises for what is outside.
"""

import logging
import re
import smtplib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Final, assert_never

from pipeline import instants
from pipeline.alert.decision import Message
from pipeline.alert.entries import Item
from pipeline.alert.messages import alert_texts, limits
from pipeline.alert.messages.alert_texts import Lists, Text
from pipeline.alert.messages.links import Links
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.recipients import Mail, Recipient
from pipeline.aside import Aside, OneAtATime
from pipeline.contract.body import canonical_json
from pipeline.errors import FileBarred, OperatorError, PrazoError
from pipeline.files.reread import READ_SECONDS, unread
from pipeline.http import standard_webhooks
from pipeline.http.outgoing import asking, mails
from pipeline.http.outgoing.contexts import trusting
from pipeline.written import lines_in, read_small

LOG = logging.getLogger(__name__)

SEND_SECONDS: Final = 200.0
"""For a whole message, however slowly the other side speaks: as long as a mail server may take that
answers each command in time. What we did not wait for it may take all the same, and it would be
sent again. Before the next try begins it is over, or never will be."""
STOP_SECONDS: Final = 25.0
"""For a message under way once this process is to end: whoever asked it to, waits for 40."""
LAST_SECONDS: Final = 1.0
"""For an answer once that time is over: if we were paused meanwhile, it is here and nobody has read
it yet."""
_NEVER: Final = threading.Event()
MAX_FAULT_CHARACTERS: Final = 300
_ADDRESS: Final = re.compile(r"[^\s<>@:;,\"']+@[^\s<>@:;,\"']+")
PAYLOAD_VERSION: Final = 1
PAYLOAD_TYPE: Final = "prazo.alerts"


class Unsure(str):
    """Why nobody knows whether a channel took a message: it may have."""

    __slots__ = ()


def made(message: Message, rules: AlertRules, now: int, links: Links, lists: Lists) -> Text | bytes:
    """What a message says: words for people, the body for a webhook. `lists`: what the digests and
    reports in it say."""
    if message.via == "webhook":
        return payload(message, now, links)
    recipient = rules.recipients[message.to]
    return alert_texts.message(
        message.items, message.to, recipient, links, rules.hours.zone, now, lists
    )


def made_apart(
    message: Message, rules: AlertRules, now: int, links: Links, lists: Lists
) -> tuple[Text | bytes | None, dict[Item, str]]:
    """What a message says, without those of its alerts of which it cannot be made, and what
    each of these raised. None where none is left."""
    try:
        return made(message, rules, now, links, lists), {}
    except OperatorError:
        raise
    except Exception as error:
        LOG.exception("a message to %s could not be made", message.to)
        fault = type(error).__name__
    if len(message.items) == 1:
        return None, {message.items[0]: fault}
    faults: dict[Item, str] = {}
    for item in message.items:
        faults |= made_apart(message._replace(items=(item,)), rules, now, links, lists)[1]
    rest = tuple(it for it in message.items if it not in faults)
    if not rest or not faults:  # each can be said, and all together cannot
        return None, faults or dict.fromkeys(message.items, fault)
    content, more = made_apart(message._replace(items=rest), rules, now, links, lists)
    return content, faults | more


def send(
    message: Message,
    content: Text | bytes,
    rules: AlertRules,
    now: int,
    stop: threading.Event = _NEVER,
) -> str | None:
    """Sends a message that was `made` at `now`; why the channel did not take it (`Unsure`: it may
    have), or None where it did. Once `stop` is set, it is waited for only a while longer."""
    recipient = rules.recipients[message.to]

    def sending() -> None:
        if message.via == "webhook":
            assert isinstance(content, bytes)
            _webhook(message, content, recipient, now)
            return
        assert isinstance(content, Text)
        if message.via == "email":
            _email(message, content, recipient, rules.mail, now)
        elif message.via == "apprise":
            _apprise(message, content, recipient)
        else:
            assert_never(message.via)  # a channel without a line here would go out by another

    aside = Aside(sending, name=f"alerts to {message.to}")
    give_up_at = time.monotonic() + SEND_SECONDS
    while not aside.ends_within(0.5) and time.monotonic() < give_up_at:
        if stop.is_set():
            give_up_at, stop = min(give_up_at, time.monotonic() + STOP_SECONDS), _NEVER
    try:
        aside.outcome(LAST_SECONDS)
    except TimeoutError:
        return Unsure("it was not done in time")
    except (asking.Unanswered, mails.Unanswered, _NotAll) as error:
        return Unsure(_short(str(error)))
    except PrazoError as error:
        return _short(error.finding)
    except smtplib.SMTPResponseException as error:
        said = error.smtp_error
        text_of = said.decode(errors="replace") if isinstance(said, bytes) else said
        return _short(f"{error.smtp_code} {text_of}")
    except (OSError, ValueError, smtplib.SMTPException) as error:
        return _short(str(error) or type(error).__name__)
    except Exception as error:
        LOG.exception("a message to %s failed by an error of ours", message.to)
        return type(error).__name__
    return None


class Barred(str):
    """Why this user cannot say whether a file can be used: another may read it."""

    __slots__ = ()


class Files:
    """Looks at the files without which a channel takes nothing. One that never comes to its end, as
    of a disk that hangs, keeps nobody waiting for long, and is not asked for again until it has."""

    def __init__(self) -> None:
        self._looks = OneAtATime[None](name="files of alerts")
        self._found: dict[str, str] = {}
        self._place = ""  # of the file that is read now

    def unusable(self, rules: AlertRules) -> dict[str, str]:
        """Each file by its place in the rules -> what is wrong with it: it is missing or empty, it
        hangs, this user is `Barred` from it, or nobody can use what it holds. Those behind one that
        hangs are not known."""
        try:
            self._looks.outcome(partial(self._look, rules), READ_SECONDS)
        except TimeoutError:
            return {**self._found, self._place: unread("it was", READ_SECONDS)}
        return self._found

    def _look(self, rules: AlertRules) -> None:
        self._found = {}
        for place, read in _readers(rules).items():
            self._place = place
            fault = _fault_of(read)
            if fault is not None:
                self._found[place] = fault


def _readers(rules: AlertRules) -> dict[str, Callable[[], object]]:
    """Place of each file -> what reads it as its channel does."""
    mail = rules.mail
    files: dict[str, Callable[[], object]] = {}
    if mail is not None:
        files["mail.password_file"] = partial(mails.password, mail)
        if mail.ca_file is not None:
            files["mail.ca_file"] = partial(trusting, mail.ca_file)
    for name, recipient in rules.recipients.items():
        if (secret := recipient.webhook_secret_file) is not None:
            files[f"recipients.{name}.webhook_secret_file"] = partial(_secrets, secret)
        if (services := recipient.apprise_file) is not None:
            files[f"recipients.{name}.apprise_file"] = partial(_services, services)
    return files


def _fault_of(read: Callable[[], object]) -> str | None:
    try:
        read()
    except FileBarred as error:
        return Barred(error.finding)
    except PrazoError as error:
        return error.finding
    except ValueError as error:
        return str(error)
    except Exception as error:  # of Apprise: it must not keep what is due from being looked at
        LOG.exception("a file of alerts could not be read")
        return type(error).__name__
    return None


def _short(fault: str) -> str:
    """What is recorded of a fault. Mail servers repeat addresses, which no entry names."""
    return _ADDRESS.sub("***", " ".join(fault.split()))[:MAX_FAULT_CHARACTERS]


# --- e-mail ----------------------------------------------------------------------------------


def _email(message: Message, text: Text, recipient: Recipient, mail: Mail | None, now: int) -> None:
    assert mail is not None  # the settings are refused otherwise
    assert recipient.email is not None
    # The same name however often it is tried: a mailbox may drop what it has.
    said = (text.subject, text.plain)
    mails.send(mail, recipient.email, *said, html=text.html, name=message.name, now=now)


# --- webhook ---------------------------------------------------------------------------------


def _webhook(message: Message, body: bytes, recipient: Recipient, now: int) -> None:
    assert recipient.webhook is not None
    assert recipient.webhook_secret_file is not None
    keys = _secrets(recipient.webhook_secret_file)
    headers = standard_webhooks.signed(keys, message.name.encode(), now, body)
    answer = asking.post(
        recipient.webhook,
        body,
        "application/json",
        {name.decode(): value.decode() for name, value in headers},
        is_body_needed=False,  # whatever it says besides, it has the message
    )
    if not 200 <= answer.status < 300:
        raise ValueError(f"it answered {answer.status}")


def _secrets(path: Path) -> list[bytes]:
    return standard_webhooks.secrets_in(read_small(path), path)


def payload(message: Message, now: int, links: Links) -> bytes:
    """The body of a webhook (docs/alerts.md#webhooks): an object of a documented version. An alert
    that comes again has the same `alert`, `level` and `tries_before`. `links`: those that this
    message may hold."""
    return canonical_json(
        {
            "type": PAYLOAD_TYPE,
            "version": PAYLOAD_VERSION,
            "timestamp": instants.canonical(now),
            "to": message.to,
            "alerts": [
                {
                    "level": item.level,
                    "tries_before": item.tries_before,
                    **_fields(item.due._asdict()),
                    **_link(links.for_seller(item.due)),
                }
                for item in message.items
            ],
        }
    )


_NOT_SENT: Final = ("assignee", "raised_at")
"""A person's name, which no message needs, and what another try would say otherwise."""


def _fields(due: dict[str, Any]) -> dict[str, Any]:
    instants_of = ("since", "deadline_at", "ledger_at")
    return {
        name: instants.canonical(value) if name in instants_of and value is not None else value
        for name, value in due.items()
        if name not in _NOT_SENT
    }


def _link(url: str | None) -> dict[str, str]:
    return {} if url is None else {"seller_link": url}


# --- Apprise ---------------------------------------------------------------------------------


class _NotAll(ValueError):
    """Some of several services have a message, and some have not."""


_LEFT: Final[OrderedDict[tuple[str, str], list[limits.Part]]] = OrderedDict()
"""(message and service): the parts that are still to be sent to a service that took a message, or
its first parts, while another did not. They stay as they were cut: what is said of the time left
changes, and cut again, an alert could fall between what was sent and what is. A restart forgets
them: a second message is better than none."""
MAX_REMEMBERED: Final = 1000
_IS_READ: Final = ContextVar("_IS_READ", default=False)
"""Whether Apprise reads an address just now: why it does not take one holds the token in it."""
_NUMBER: Final = re.compile(r"\+?\d(?:[ ().-]{0,2}\d){5,}")


class _Discreet(logging.Filter):
    """Keeps of Apprise's own words why a service did not take a message, without whom it was for:
    it names who has one by address or telephone, and in detail the message with its links."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the text log gets the record."""
        if record.levelno < logging.WARNING or _IS_READ.get():
            return False
        said = _ADDRESS.sub("***", record.getMessage())
        record.msg, record.args = _NUMBER.sub("***", said), None
        return True


_DISCREET: Final = _Discreet()


def _services(path: Path) -> dict[str, Any]:
    """Apprise URL -> what sends there. Raises `SettingsError`, or `ValueError`, for a file that
    holds none."""
    import apprise  # takes a moment, and only who uses it needs it

    logging.getLogger("apprise").addFilter(_DISCREET)
    notifiers = {}
    reading = _IS_READ.set(True)
    try:
        for number, line in lines_in(read_small(path)):
            notifiers[line] = apprise.Apprise()
            if not notifiers[line].add(line):
                raise ValueError(f"{path} holds a line that is not an Apprise URL: line {number}")
            for service in notifiers[line]:
                if service.socket_read_timeout == apprise.URLBase.socket_read_timeout:
                    # Apprise gives up after 4 s: a slow service has the message, and gets it again.
                    service.socket_read_timeout = asking.ANSWER_SECONDS
    finally:
        _IS_READ.reset(reading)
    if not notifiers:
        raise ValueError(f"{path} holds no Apprise URL")
    return notifiers


def _apprise(message: Message, text: Text, recipient: Recipient) -> None:
    assert recipient.apprise_file is not None
    notifiers = _services(recipient.apprise_file)
    failed = 0
    for line, notifier in notifiers.items():
        parts = _LEFT.get((message.name, line), _parts(text, recipient, notifier))
        failed += not _sent(message, line, notifier, parts)
    if 0 < failed < len(notifiers):
        raise _NotAll(f"Apprise could not deliver it to {failed} of {len(notifiers)} services")
    if failed:
        raise ValueError("Apprise could not deliver it to any service")


def _parts(text: Text, recipient: Recipient, services: Any) -> list[limits.Part]:
    """The parts of a message that each of the services of an Apprise URL takes."""
    return limits.parts(
        text.subject,
        text.plain,
        recipient.language,
        min(it.body_maxlen for it in services),
        min(it.title_maxlen for it in services),
        text.page,
    )


def _sent(message: Message, service: str, notifier: Any, parts: list[limits.Part]) -> bool:
    """Sends what a service has not got of a message; whether it has all of it now."""
    import apprise

    for number, part in enumerate(parts, 1):
        # As text: otherwise what an id holds would be markup in the services that have some.
        as_text = apprise.NotifyFormat.TEXT
        if not notifier.notify(title=part.title, body=part.body, body_format=as_text):
            return False
        _LEFT[message.name, service] = parts[number:]
    while len(_LEFT) > MAX_REMEMBERED:
        _LEFT.popitem(last=False)
    return True
