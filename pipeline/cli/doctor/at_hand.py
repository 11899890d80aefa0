"""Opens the inbox once for all that is examined, so that one that cannot be read is named once."""

from typing import Self

from pipeline.errors import InboxForked, InboxUnavailable
from pipeline.inbox import Inbox
from pipeline.inbox.kept_heads import open_shared
from pipeline.settings import Settings


class SaidBefore(Exception):
    """The inbox cannot be read, or there is none, and an earlier check said so."""


class AtHand:
    """The inbox of the settings, for one check after the other."""

    def __init__(self, settings: Settings) -> None:
        """Nothing is opened yet."""
        self._settings = settings
        self._inbox: Inbox | None = None
        self._is_said = False

    def __call__(self) -> Inbox:
        """The inbox. Raises `InboxUnavailable` as `open_shared` does, and `SaidBefore` from then
        on: nobody waits for it again."""
        if self._is_said:
            raise SaidBefore
        if self._inbox is None:
            try:
                self._inbox = open_shared(self._settings, create=False)
            except InboxUnavailable:
                self._is_said = True
                raise
        return self._inbox

    def hear(self, error: Exception) -> None:
        """Takes note of what a check ended with: an inbox that is gone meanwhile stays named."""
        if isinstance(error, InboxUnavailable) and not isinstance(error, InboxForked):
            self._is_said = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._inbox is not None:
            self._inbox.close()
