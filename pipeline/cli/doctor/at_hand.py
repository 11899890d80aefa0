"""Opens the inbox once for all that is examined, so that one that cannot be read is named once."""

from typing import Self

from pipeline.continuity.kept_heads import open_shared
from pipeline.errors import InboxForked, InboxMissing, InboxUnavailable
from pipeline.inbox import Inbox
from pipeline.settings import Settings


class SaidBefore(Exception):
    """The inbox cannot be read, or there is none, and an earlier check said so."""


class AtHand:
    """The inbox of the settings, for one check after the other."""

    def __init__(self, settings: Settings) -> None:
        """Nothing is opened yet."""
        self._settings = settings
        self._inbox: Inbox | None = None
        self._is_said = self._is_missing = False

    def __call__(self) -> Inbox:
        """The inbox. Raises `InboxUnavailable` as `open_shared` does, and `SaidBefore` from then
        on: nobody waits for it again."""
        if self._is_said:
            raise SaidBefore
        if self._inbox is None:
            try:
                self._inbox = open_shared(self._settings, create=False)
            except InboxUnavailable as error:
                self._is_said, self._is_missing = True, isinstance(error, InboxMissing)
                raise
        return self._inbox

    def other_than(self, log: str) -> str | None:
        """Which log is in the inbox, in words, where it is not the one of that name; None where it
        is, where `log` is empty, or where the inbox cannot be read."""
        try:
            here = self().log
        except SaidBefore:
            return "there is no inbox here" if log and self._is_missing else None
        return f"the inbox here is {here}" if log not in ("", here) else None

    def hear(self, error: Exception) -> None:
        """Takes note of what a check ended with: an inbox that is gone meanwhile stays named."""
        if isinstance(error, InboxUnavailable) and not isinstance(error, InboxForked):
            self._is_said = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._inbox is not None:
            self._inbox.close()
