"""Keeps what a look found that takes long, and looks again, aside, once that is old."""

import logging
import time
from collections.abc import Callable
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from pipeline.aside import Aside
from pipeline.errors import PrazoError

LOG = logging.getLogger(__name__)

Found = TypeVar("Found")


class Looked(NamedTuple, Generic[Found]):
    """What a look found, and when it ended, by the monotonic clock."""

    found: Found
    ended: float

    @property
    def seconds_ago(self) -> float:
        """For how long nobody has found anything newer."""
        return time.monotonic() - self.ended


class Looks(Generic[Found]):
    """Says what the last look found. Callers never wait for a look, but for the first where they
    say so; one look is made at a time, on a thread of its own."""

    def __init__(
        self,
        look: Callable[[], Found],
        *,
        name: str,
        every_seconds: float,
        first_seconds: float = 0.0,
    ) -> None:
        """`name`: what is looked at, for the log. `every_seconds`: from the beginning of one look
        to the next, at least. `first_seconds`: how long the first look is waited for."""
        self._do = look
        self._name = name
        self.every_seconds = every_seconds
        self._first_seconds = first_seconds
        self._lock = Lock()
        self._looking: Aside[Looked[Found] | None] | None = None
        self._began = float("-inf")  # the last look, on the monotonic clock
        self._last: Looked[Found] | None = None

    def last(self) -> Looked[Found] | None:
        """What was found when somebody last looked; None while no look has succeeded. A look that
        fails is logged, and what was found before it stays."""
        with self._lock:
            self._take(0.0)
            if self._looking is None and time.monotonic() - self._began >= self.every_seconds:
                self._began = time.monotonic()
                self._looking = Aside(self._look, name=self._name)
            if self._last is None:
                self._take(self._first_seconds)
            return self._last

    def _take(self, seconds: float) -> None:
        """Takes what the look under way has found, if it ends within so many seconds."""
        if self._looking is None:
            return
        try:
            self._last = self._looking.outcome(seconds) or self._last
        except TimeoutError:
            return
        self._looking = None

    def _look(self) -> Looked[Found] | None:
        try:
            found = self._do()
        except PrazoError as error:
            LOG.error("the look at the %s failed: %s", self._name, error)
        except Exception:
            LOG.exception("the look at the %s failed", self._name)
        else:
            return Looked(found, time.monotonic())
        return None
