"""Tries a recipient's channels with a message about nothing, as long as that of a bad day."""

import secrets
from typing import Final

from pipeline import instants
from pipeline.alert.decision import Message
from pipeline.alert.entries import Due, Item
from pipeline.alert.messages import transport
from pipeline.alert.messages.links import Links
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.recipients import Via
from pipeline.errors import CallerError

ALERTS: Final = 90
"""In the message: as many as a digest of a day on which much is due."""


def try_channels(rules: AlertRules, name: str) -> dict[Via, str | None]:
    """What came of a test message by each channel of a recipient: None where it was taken, else
    why not. Nothing is recorded. Raises `CallerError` where nobody has that name."""
    recipient = rules.recipients.get(name)
    if recipient is None:
        raise CallerError(
            f"There is no recipient {name!r}",
            f"these are: {', '.join(rules.recipients)}",
            "name one of them",
        )
    now = instants.now()
    links = Links(None, b"")
    dues = (
        Due(secrets.token_hex(16), "test", "notice", recipient.role, now) for _ in range(ALERTS)
    )
    items = tuple(Item(due, 0, 1) for due in dues)
    found: dict[Via, str | None] = {}
    for via in recipient.channels:
        message = Message(name, via, items)
        content = transport.made(message, rules, now, links, {})
        found[via] = transport.send(message, content, rules, now)
    return found
