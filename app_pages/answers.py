"""Keeps what the ledger answered, for everybody who asks the same: it is worked out once, and one
that takes long is made anew aside, while those who ask get the last one."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Final, Generic, TypeVar

LOG = logging.getLogger(__name__)

KEPT: Final = 512
AGE_TO_COST: Final = 10
"""An answer may be this many times as old as it took to work out, although entries came in since:
so no question takes more than a tenth of a core, however many people ask it under full traffic."""
MAX_AGE_SECONDS: Final = 15.0
PATIENCE_SECONDS: Final = 0.2
"""For an answer that takes longer nobody waits while the last one is not too old."""

Answer = TypeVar("Answer")


class _Kept(Generic[Answer]):
    def __init__(self) -> None:
        self.lock = Lock()
        self.basis: Hashable = None
        self.answers: tuple[Answer, ...] = ()  # none yet, or one
        self.made_at = 0.0  # on the monotonic clock
        self.seconds = 0.0  # that it took

    def work_out(self, basis: Hashable, work_out: Callable[[], Answer]) -> None:
        began = time.monotonic()
        answer = work_out()
        self.made_at = time.monotonic()
        self.basis, self.seconds = basis, self.made_at - began
        self.answers = (answer,)

    def is_good(self, basis: Hashable) -> bool:
        age = time.monotonic() - self.made_at
        good_for = min(AGE_TO_COST * self.seconds, MAX_AGE_SECONDS)
        return bool(self.answers) and (self.basis == basis or age < good_for)

    def is_fair(self) -> bool:
        """Good enough for those who come while a better one is being made."""
        return bool(self.answers) and time.monotonic() - self.made_at < MAX_AGE_SECONDS


class Answers(Generic[Answer]):
    """Answers by question, those asked last. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, _Kept[Answer]] = OrderedDict()
        self._aside = ThreadPoolExecutor(2, thread_name_prefix="answers")

    def answer(self, question: Hashable, basis: Hashable, work_out: Callable[[], Answer]) -> Answer:
        """What was answered on this basis, or a moment ago on another; else what `work_out` gives.

        What `work_out` raises goes to its caller, and nothing is kept.
        """
        kept = self._of(question)
        if kept.is_good(basis):
            return kept.answers[0]
        if not kept.lock.acquire(blocking=not kept.is_fair()):
            return kept.answers[0]
        if kept.is_fair() and kept.seconds > PATIENCE_SECONDS:
            self._aside.submit(self._renew, kept, basis, work_out)
            return kept.answers[0]
        try:
            if not kept.is_good(basis):
                kept.work_out(basis, work_out)
            return kept.answers[0]
        finally:
            kept.lock.release()

    def _of(self, question: Hashable) -> _Kept[Answer]:
        with self._lock:
            kept = self._kept.setdefault(question, _Kept())
            self._kept.move_to_end(question)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return kept

    def _renew(self, kept: _Kept[Answer], basis: Hashable, work_out: Callable[[], Answer]) -> None:
        try:
            kept.work_out(basis, work_out)
        except Exception:  # whoever asks once the answer is too old meets it again
            LOG.exception("an answer could not be made anew")
        finally:
            kept.lock.release()

    def forget(self) -> None:
        """Everything: whoever has just recorded something sees it at once."""
        with self._lock:
            self._kept.clear()
