"""Keeps what the ledger answered, for everybody who asks the same: it is worked out once, and one
that takes long is made anew aside, while those who ask get the last one."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, TypeVar

LOG = logging.getLogger(__name__)

KEPT: Final = 512
AGE_TO_COST: Final = 40
"""For this many times as long as it took, an answer is given although entries came in since, so
that each of some thirty questions is worked on for a fortieth of the time at most, however many
people ask them under full traffic."""
MAX_AGE_SECONDS: Final = 15.0
"""Since an answer was begun: whatever it took, it is not given for longer."""
PATIENCE_SECONDS: Final = 0.2
"""For an answer that takes longer nobody waits while the last one is not too old."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Made(Generic[Answer]):
    """An answer, and how long it may be given. Never changed, so it can be read at any time."""

    answer: Answer
    basis: Hashable
    began_at: float  # on the monotonic clock
    seconds: float  # that it took

    def is_good(self, basis: Hashable) -> bool:
        return self.basis == basis or self._age() < min(
            (1 + AGE_TO_COST) * self.seconds, MAX_AGE_SECONDS
        )

    def is_fair(self) -> bool:
        """Good enough for those who come while a better one is being made."""
        return self._age() < MAX_AGE_SECONDS

    def _age(self) -> float:
        return time.monotonic() - self.began_at


class _Kept(Generic[Answer]):
    """The last answer to a question; whoever holds the lock is making another."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.made: _Made[Answer] | None = None

    def work_out(self, basis: Hashable, work_out: Callable[[], Answer]) -> Answer:
        began = time.monotonic()
        answer = work_out()
        self.made = _Made(answer, basis, began, time.monotonic() - began)
        return answer


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
        made = kept.made
        if made is not None and made.is_good(basis):
            return made.answer
        last = made if made is not None and made.is_fair() else None
        if not kept.lock.acquire(blocking=last is None) and last is not None:
            return last.answer
        is_handed_over = False
        try:
            made = kept.made  # another may have been made while this one waited
            if made is not None and made.is_good(basis):
                return made.answer
            if last is not None and last.seconds > PATIENCE_SECONDS:
                self._aside.submit(self._renew, kept, basis, work_out)
                is_handed_over = True
                return last.answer
            return kept.work_out(basis, work_out)
        finally:
            if not is_handed_over:
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
