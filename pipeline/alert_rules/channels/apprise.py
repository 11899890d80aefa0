"""Whatever service Apprise knows: chats, telephones and others."""

import logging
import re
from collections import OrderedDict
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Final

from pipeline.alert_rules import limits
from pipeline.alert_rules.channels import Channel, Doubtful, Envelope, Readers, Text
from pipeline.alert_rules.parts import Part
from pipeline.http.outgoing.mail_server import Mail, without_addresses
from pipeline.language.catalogue import Language
from pipeline.written import lines_in, read_small

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
        said = without_addresses(record.getMessage())
        record.msg, record.args = _NUMBER.sub("***", said), None
        return True


_DISCREET: Final = _Discreet()


def _services(path: Path) -> dict[str, Any]:
    """Apprise URL -> what sends there. Raises `SettingsError`, or `ValueError`, for a file that
    holds none."""
    import apprise  # takes a moment, and only who uses it needs it

    from pipeline.http.outgoing import asking

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


def _parts(text: Text, language: Language, services: Any) -> list[limits.Part]:
    """The parts of a message that each of the services of an Apprise URL takes."""
    return limits.parts(
        text.subject,
        text.plain,
        language,
        min(it.body_maxlen for it in services),
        min(it.title_maxlen for it in services),
        text.page,
    )


def _sent(message: str, service: str, notifier: Any, parts: list[limits.Part]) -> bool:
    """Sends what a service has not got of a message; whether it has all of it now."""
    import apprise

    for number, part in enumerate(parts, 1):
        # As text: otherwise what an id holds would be markup in the services that have some.
        as_text = apprise.NotifyFormat.TEXT
        if not notifier.notify(title=part.title, body=part.body, body_format=as_text):
            return False
        _LEFT[message, service] = parts[number:]
    while len(_LEFT) > MAX_REMEMBERED:
        _LEFT.popitem(last=False)
    return True


class _Keys(Part):
    apprise_file: Path | None = None
    """Holds an Apprise URL a line. They hold tokens, so they do not stand in the settings."""


class _Apprise(Channel[_Keys, Text]):
    via = "apprise"
    place = 3
    key = "apprise_file"
    keys = _Keys
    secrets = ("apprise_file",)

    def readers(self, recipient: _Keys) -> Readers:
        services = recipient.apprise_file
        return {} if services is None else {"apprise_file": partial(_services, services)}

    def send(self, content: Text, recipient: _Keys, envelope: Envelope) -> None:
        assert recipient.apprise_file is not None
        notifiers = _services(recipient.apprise_file)
        failed, name = 0, envelope.name
        for line, notifier in notifiers.items():
            parts = _LEFT.get((name, line), _parts(content, envelope.language, notifier))
            failed += not _sent(name, line, notifier, parts)
        if 0 < failed < len(notifiers):
            raise Doubtful(f"Apprise could not deliver it to {failed} of {len(notifiers)} services")
        if failed:
            raise ValueError("Apprise could not deliver it to any service")

    def leads(self, mail: Mail | None) -> str:
        return "what its `apprise_file` says"


CHANNEL: Final = _Apprise()
