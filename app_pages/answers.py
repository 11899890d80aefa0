"""Keeps what the ledger answered, for everybody who asks the same: one works an answer out, the
others wait for it."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Final, Generic, TypeVar

KEPT: Final = 512
AGE_TO_COST: Final = 10
"""An answer may be this many times as old as it took to work out, although entries came in since:
so no question takes more than a tenth of a core, however many people ask it under full traffic."""
MAX_AGE_SECONDS: Final = 5.0

Answer = TypeVar("Answer")


class _Kept(Generic[Answer]):
    def __init__(self) -> None:
        self.lock = Lock()
        self.basis: Hashable = None
        self.answers: list[Answer] = []  # none yet, or one
        self.good_until = 0.0  # on the monotonic clock, whatever the basis is by then


class Answers(Generic[Answer]):
    """Answers by question, those asked last. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, _Kept[Answer]] = OrderedDict()

    def answer(self, question: Hashable, basis: Hashable, work_out: Callable[[], Answer]) -> Answer:
        """What was answered on this basis, or a moment ago on another; else what `work_out` gives.

        What `work_out` raises goes to its caller, and nothing is kept.
        """
        with self._lock:
            kept = self._kept.setdefault(question, _Kept())
            self._kept.move_to_end(question)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        with kept.lock:
            if kept.answers and (kept.basis == basis or time.monotonic() < kept.good_until):
                return kept.answers[0]
            began = time.monotonic()
            answer = work_out()
            ended = time.monotonic()
            kept.answers, kept.basis = [answer], basis
            kept.good_until = ended + min(AGE_TO_COST * (ended - began), MAX_AGE_SECONDS)
            return answer

    def forget(self) -> None:
        """Everything: whoever has just recorded something sees it at once."""
        with self._lock:
            self._kept.clear()
