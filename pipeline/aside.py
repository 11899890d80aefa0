"""Runs a call aside, so that its caller waits for the outcome only as long as they say."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Outcome = TypeVar("Outcome")


class Aside(Generic[Outcome]):
    """A call in a thread of its own, begun at once.

    No time limit interrupts the look-up of a name, and an answer may come byte by byte: the call
    takes as long as it likes, and its thread ends with the process at the latest.
    """

    def __init__(self, do: Callable[[], Outcome], *, name: str) -> None:
        self._do = do
        self._returned: list[Outcome] = []
        self._raised: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def outcome(self, seconds: float) -> Outcome:
        """What the call returns or raises; `TimeoutError` where it has not ended after so long."""
        if not self.ends_within(seconds):
            raise TimeoutError("no whole answer has come yet")
        if self._raised is not None:
            raise self._raised
        return self._returned[0]

    def ends_within(self, seconds: float) -> bool:
        """Whether the call has ended, waiting for so long at most."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._returned.append(self._do())
        except Exception as error:
            self._raised = error


class OneAtATime(Generic[Outcome]):
    """Makes calls aside, for one caller, and none while an earlier one has not come to its end: no
    more than one thread waits for a disk or a service that hangs."""

    def __init__(self, *, name: str) -> None:
        self._name = name
        self._last: Aside[Outcome] | None = None

    def outcome(self, do: Callable[[], Outcome], seconds: float) -> Outcome:
        """What the call returns or raises; `TimeoutError` where it has not ended after so long, or
        at once where an earlier one has not."""
        if self._last is not None and not self._last.ends_within(0):
            raise TimeoutError("the call before has not ended yet")
        self._last = Aside(do, name=self._name)
        return self._last.outcome(seconds)
