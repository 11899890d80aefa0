"""Keeps the ledger's answers, so that a question that many people ask is worked out once. An answer
that takes long is renewed in the background, while those who ask get the last one."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Final, Generic, TypeVar

LOG = logging.getLogger(__name__)

MOST_ROWS: Final = 50_000
"""Rows of answers that are kept, of one or two kilobytes each."""
LEAST_ROWS: Final = 10
"""As many as which an answer of few rows counts, since the question takes room, too."""
AGE_TO_COST: Final = 400
"""An answer is given for this many times as long as it took to work out, even though entries came
in since. So all of some thirty questions take a thirteenth of the time at most, however many people
ask under full traffic, while none of them takes over 0.15 s."""
MAX_AGE_SECONDS: Final = 90.0
"""The greatest age of an answer that is given, from when work on it began."""
RENEWED_AFTER_SECONDS: Final = 60.0
"""From this age on, the next question renews an answer, so that a later one need not wait."""
AGE_TO_RENEW: Final = 3
"""While the next answer is made in the background, the last one may be so many times as old."""
PATIENCE_SECONDS: Final = 0.02
"""An answer that took longer is renewed in the background, unless the last one is too old."""

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")
Basis = TypeVar("Basis", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Made(Generic[Basis, Answer]):
    """An answer, what it rests on, and how long it may be given. It never changes, so that any
    thread may read it."""

    answer: Answer
    basis: Basis
    began_at: float  # on the monotonic clock
    seconds: float  # that it took

    def age(self) -> float:
        """Seconds since work on it began: what it says was true then."""
        return time.monotonic() - self.began_at

    def is_good(self, basis: Basis) -> bool:
        """Whether it may be given without working it out again."""
        return self.basis == basis or self.age() < min(self._may_stand(), RENEWED_AFTER_SECONDS)

    def is_fair(self) -> bool:
        """Whether it may be given while a newer one is being worked out."""
        return self.age() < min(AGE_TO_RENEW * self._may_stand(), MAX_AGE_SECONDS)

    def _may_stand(self) -> float:
        return (1 + AGE_TO_COST) * self.seconds


class _Asked(Generic[Basis, Answer]):
    """A question with its last answer; whoever holds the lock is working out the next."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.made: Made[Basis, Answer] | None = None
        self.rows = LEAST_ROWS  # as many as the store counts for it

    def work_out(self, basis: Basis, work_out: Callable[[], Answer]) -> Made[Basis, Answer]:
        began = time.monotonic()
        answer = work_out()
        self.made = Made(answer, basis, began, time.monotonic() - began)
        return self.made


class Answers(Generic[Question, Basis, Answer]):
    """The answers to the questions that were asked last; none that alone has more rows than there
    is room for. Safe to use from any thread."""

    def __init__(self, rows_of: Callable[[Answer], int] = lambda _: 1) -> None:
        """`rows_of`: how many rows an answer has."""
        self._rows_of = rows_of
        self._lock = Lock()
        self._source: Hashable = None
        self._questions: OrderedDict[Question, _Asked[Basis, Answer]] = OrderedDict()
        self._rows = 0  # that are counted for all of them
        # One at a time: a second would take the cores from those who wait for their page.
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="answers")

    def answer(
        self,
        question: Question,
        basis: Basis,
        work_out: Callable[[], Answer],
        *,
        source: Hashable = None,
    ) -> Made[Basis, Answer]:
        """The answer that was worked out on this basis, or a moment ago on another one; else what
        `work_out` gives. What `work_out` raises goes to the caller, and nothing is kept.

        `source`: what is asked, as it was called before `work_out` is. All answers of another one
        are forgotten.
        """
        asked = self._of(question, source)
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
                self._aside.submit(self._renew, question, asked, basis, work_out)
                is_handed_over = True
                return last
            return self._work_out(question, asked, basis, work_out)
        finally:
            if not is_handed_over:
                asked.lock.release()

    def _of(self, question: Question, source: Hashable) -> _Asked[Basis, Answer]:
        with self._lock:
            if source != self._source:
                self._source = source
                self._questions.clear()
                self._rows = 0
            asked = self._questions.get(question)
            if asked is None:
                asked = self._questions[question] = _Asked()
                self._rows += asked.rows
            self._questions.move_to_end(question)
            while self._rows > MOST_ROWS and len(self._questions) > 1:
                _, dropped = self._questions.popitem(last=False)
                self._rows -= dropped.rows
            return asked

    def _work_out(
        self,
        question: Question,
        asked: _Asked[Basis, Answer],
        basis: Basis,
        work_out: Callable[[], Answer],
    ) -> Made[Basis, Answer]:
        made = asked.work_out(basis, work_out)
        rows = max(LEAST_ROWS, self._rows_of(made.answer))
        with self._lock:
            if self._questions.get(question) is asked:
                self._rows += rows - asked.rows
                asked.rows = rows
                if rows > MOST_ROWS:  # by itself it would leave no room for any other
                    del self._questions[question]
                    self._rows -= rows
        return made

    def _renew(
        self,
        question: Question,
        asked: _Asked[Basis, Answer],
        basis: Basis,
        work_out: Callable[[], Answer],
    ) -> None:
        try:
            self._work_out(question, asked, basis, work_out)
        except Exception:  # whoever asks once the answer is too old meets it again
            LOG.exception("an answer could not be renewed")
        finally:
            asked.lock.release()

    def forget(self, but: Callable[[Question, Basis], bool] = lambda *_: False) -> None:
        """Forgets all answers, so that whoever has just recorded something sees it at once. `but`:
        those that stay, by their question and basis."""
        with self._lock:
            self._questions = OrderedDict(
                (question, asked)
                for question, asked in self._questions.items()
                if asked.made is not None and but(question, asked.made.basis)
            )
            self._rows = sum(asked.rows for asked in self._questions.values())
