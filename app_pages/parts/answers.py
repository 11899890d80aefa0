"""Keeps what the ledger answered, for everybody who asks the same question: it is worked out once.
An answer that takes long is renewed in the background, while those who ask get the last one."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, TypeVar

LOG = logging.getLogger(__name__)

MAX_ANSWERS: Final = 512
AGE_TO_COST: Final = 80
"""For this many times as long as it took, an answer is given although entries came in since. So
each of some thirty questions is worked on for an eightieth of the time at most, however many people
ask under full traffic."""
MAX_AGE_SECONDS: Final = 30.0
"""Counted from when work on an answer began: no answer is given for longer, whatever it took."""
RENEWED_AFTER_SECONDS: Final = 20.0
"""From this age on an answer is renewed, so that nobody has to wait who comes a little later."""
AGE_TO_RENEW: Final = 3
"""An answer may be so many times as old while the next is made aside, for those who come then."""
PATIENCE_SECONDS: Final = 0.02
"""Nobody waits for an answer that takes longer, as long as the last one is not too old."""

Answer = TypeVar("Answer")
Basis = TypeVar("Basis", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Made(Generic[Basis, Answer]):
    """An answer, what it rests on, and how long it may be given. Never changed, so it can be read
    at any time."""

    answer: Answer
    basis: Basis
    began_at: float  # on the monotonic clock
    seconds: float  # that it took

    def age(self) -> float:
        """Seconds since work on it began: what it says was true then."""
        return time.monotonic() - self.began_at

    def is_good(self, basis: Basis) -> bool:
        """Whether nobody has to look again."""
        return self.basis == basis or self.age() < min(self._may_stand(), RENEWED_AFTER_SECONDS)

    def is_fair(self) -> bool:
        """Good enough for those who come while a better one is being made."""
        return self.age() < min(AGE_TO_RENEW * self._may_stand(), MAX_AGE_SECONDS)

    def _may_stand(self) -> float:
        return (1 + AGE_TO_COST) * self.seconds


class _Question(Generic[Basis, Answer]):
    """A question with its last answer; whoever holds the lock is working out the next."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.made: Made[Basis, Answer] | None = None

    def work_out(self, basis: Basis, work_out: Callable[[], Answer]) -> Made[Basis, Answer]:
        began = time.monotonic()
        answer = work_out()
        self.made = Made(answer, basis, began, time.monotonic() - began)
        return self.made


class Answers(Generic[Basis, Answer]):
    """Answers by question, those asked last. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._questions: OrderedDict[Hashable, _Question[Basis, Answer]] = OrderedDict()
        # One at a time: a second would take the cores from those who wait for their page.
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="answers")

    def answer(
        self, question: Hashable, basis: Basis, work_out: Callable[[], Answer]
    ) -> Made[Basis, Answer]:
        """What was answered on this basis, or a moment ago on another; else what `work_out` gives.

        What `work_out` raises goes to its caller, and nothing is kept.
        """
        asked = self._of(question)
        made = asked.made
        if made is not None and made.is_good(basis):
            return made
        last = made if made is not None and made.is_fair() else None
        if not asked.lock.acquire(blocking=last is None) and last is not None:
            return last
        is_handed_over = False
        try:
            made = asked.made  # another may have been made while this one waited
            if made is not None and made.is_good(basis):
                return made
            if last is not None and last.seconds > PATIENCE_SECONDS:
                self._aside.submit(self._renew, asked, basis, work_out)
                is_handed_over = True
                return last
            return asked.work_out(basis, work_out)
        finally:
            if not is_handed_over:
                asked.lock.release()

    def _of(self, question: Hashable) -> _Question[Basis, Answer]:
        with self._lock:
            asked = self._questions.setdefault(question, _Question())
            self._questions.move_to_end(question)
            if len(self._questions) > MAX_ANSWERS:
                self._questions.popitem(last=False)
            return asked

    def _renew(
        self, asked: _Question[Basis, Answer], basis: Basis, work_out: Callable[[], Answer]
    ) -> None:
        try:
            asked.work_out(basis, work_out)
        except Exception:  # whoever asks once the answer is too old meets it again
            LOG.exception("an answer could not be renewed")
        finally:
            asked.lock.release()

    def forget(self) -> None:
        """Everything: whoever has just recorded something sees it at once."""
        with self._lock:
            self._questions.clear()
