"""Sends a message by a channel of its recipient, and looks at the files that channels need.

A channel either takes a message or says why not; it never raises for what is outside.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from pipeline import instants
from pipeline.alert.decision import Message
from pipeline.alert.entries import Item
from pipeline.alert.messages import alert_texts
from pipeline.alert.messages.alert_texts import Lists
from pipeline.alert.messages.links import Links
from pipeline.alert_rules import AlertRules
from pipeline.alert_rules.channels import Channel, Doubtful, Envelope, Text, all_channels
from pipeline.aside import Aside, OneAtATime
from pipeline.contract.body import canonical_json
from pipeline.errors import FileBarred, OperatorError, PrazoError, Quoted, quoting
from pipeline.files.reread import READ_SECONDS, unread
from pipeline.http.outgoing.mail_server import without_addresses

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
LATEST_SECONDS: Final = 60.0
"""From the entry of a try to the moment its message leaves: whoever was paused for longer does not
send, since somebody else may have taken the try for lost. And from the look at what is due to the
entry: after that it is looked at again, since it may be over."""
IN_A_ROW_SECONDS: Final = 15.0
"""For so long after a look, messages to a recipient follow each other; others may wait for a turn.
"""
_NEVER: Final = threading.Event()
MAX_FAULT_CHARACTERS: Final = 300
PAYLOAD_VERSION: Final = 1
PAYLOAD_TYPE: Final = "prazo.alerts"


def is_late(since: int, *, is_first: bool = True) -> bool:
    """Whether too much time has passed, by this machine's clock since its start, in microseconds.
    `is_first`: of messages that follow each other."""
    seconds = LATEST_SECONDS if is_first else IN_A_ROW_SECONDS
    return instants.since_boot() - since > seconds * instants.SECOND


class Unsure(Quoted):
    """Why nobody knows whether a channel took a message: it may have."""


def _channel_of(message: Message) -> Channel[Any, Any]:
    assert message.via in all_channels()  # nothing goes out by another channel
    return all_channels()[message.via]


def made(message: Message, rules: AlertRules, now: int, links: Links, lists: Lists) -> Text | bytes:
    """What a message says: words for people, the body for a webhook. `lists`: what the digests and
    reports in it say."""
    if _channel_of(message).is_for_programs:
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
        channel = _channel_of(message)
        assert isinstance(content, bytes) is channel.is_for_programs
        envelope = Envelope(message.name, recipient.language, rules.mail, now)
        channel.send(content, recipient, envelope)

    aside = Aside(sending, name=f"alerts to {message.to}")
    give_up_at = time.monotonic() + SEND_SECONDS
    while not aside.ends_within(0.5) and time.monotonic() < give_up_at:
        if stop.is_set():
            give_up_at, stop = min(give_up_at, time.monotonic() + STOP_SECONDS), _NEVER
    try:
        aside.outcome(LAST_SECONDS)
    except TimeoutError:
        return Unsure("it was not done in time")
    except Doubtful as error:
        return Unsure(_short(str(error)))
    except PrazoError as error:
        return _short(error.finding)
    except OSError as error:  # of a mail server, too, with its words alone
        kind = type(error).__name__
        return _short(Quoted(str(error) or kind, error.strerror or kind))
    except ValueError as error:
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


def _readers(rules: AlertRules) -> Mapping[str, Callable[[], object]]:
    """Place of each file -> what reads it as its channel does."""
    files: dict[str, Callable[[], object]] = {}
    for channel in all_channels().values():
        files |= channel.readers_of_all(rules.mail)
    for name, recipient in rules.recipients.items():
        for channel in all_channels().values():
            readers = channel.readers(recipient)
            files |= {f"recipients.{name}.{key}": read for key, read in readers.items()}
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
    return quoting(
        lambda said: without_addresses(" ".join(said.split()))[:MAX_FAULT_CHARACTERS], fault
    )


# --- what programs get -----------------------------------------------------------------------


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
