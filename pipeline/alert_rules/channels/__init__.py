"""Knows every channel by which people are told: each is a module of this folder, with the keys that
a recipient's table has for it, what is wrong with these, and how it sends."""

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from pipeline.alert_rules.parts import Part
from pipeline.http.outgoing.mail_server import Mail
from pipeline.language.catalogue import Language

Readers = Mapping[str, Callable[[], object]]
"""Key of a file -> what reads it as its channel does."""


class Text(NamedTuple):
    """One message, in plain text and as HTML."""

    subject: str
    plain: str
    html: str
    page: str | None = None
    """Where all of it is, for whoever gets only a part."""


class Envelope(NamedTuple):
    """What is needed of a message to send it, beside what it says."""

    name: str
    """The same for the same message, however often it is tried."""
    language: Language
    mail: Mail | None
    now: int


Keys = TypeVar("Keys", bound=Part)
Content = TypeVar("Content", Text, bytes)


class Doubtful(ValueError):
    """Why nobody knows whether a channel took a message: it may have."""


class Channel(Generic[Keys, Content]):
    """A way to reach a recipient; a module's constant `CHANNEL`."""

    via: ClassVar[str]
    place: ClassVar[int]
    """Among the others, as settings and messages list them."""
    key: ClassVar[str]
    """Of a recipient's table: what says where it leads."""
    keys: type[Keys]
    """Its part of a recipient's table, all of which may be left out."""
    secrets: ClassVar[tuple[str, ...]] = ()
    """Those of its keys that name a file which nobody but whoever sends may read."""
    is_for_programs: ClassVar[bool] = False
    """It carries data in place of words, and neither digests nor reports."""

    def unfit(self, recipient: Keys) -> str | None:
        """What in its keys does not fit together."""
        return None

    def lacks(self, recipients: Iterable[Keys], mail: Mail | None) -> str | None:
        """What these recipients need that the settings do not have."""
        return None

    def names(self, recipient: Keys) -> tuple[str, ...]:
        """Under which a recipient is known by it."""
        return ()

    def readers(self, recipient: Keys) -> Readers:
        """The files that it needs for a recipient, by their keys."""
        return {}

    def readers_of_all(self, mail: Mail | None) -> Readers:
        """The files that it needs for every recipient, by their places in the settings."""
        return {}

    def send(self, content: Content, recipient: Keys, envelope: Envelope) -> None:
        """Sends a message. Raises `PrazoError`, OSError or ValueError where it was not taken, and
        `Doubtful`."""
        raise NotImplementedError

    def leads(self, mail: Mail | None) -> str:
        """What in the settings says where it leads."""
        raise NotImplementedError


@cache
def all_channels() -> Mapping[str, Channel[Any, Any]]:
    """Every channel by its name."""
    modules = (import_module(f"{__name__}.{it.name}") for it in pkgutil.iter_modules(__path__))
    ordered = sorted((it.CHANNEL for it in modules), key=lambda channel: channel.place)
    return MappingProxyType({it.via: it for it in ordered})
