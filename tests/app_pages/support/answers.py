"""What pages were answered about a history is given to later tests of the same history."""

import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from app_pages.parts import views
from app_pages.parts.answers import Answers
from pipeline.continuity import service

_KEPT: Final[dict[str, tuple[dict[Hashable, Any], ...]]] = {}
"""History, with its settings -> what was answered about rows, and about how many there are."""
_forget = views.forget_answers


def ask_again() -> None:
    """Forgets what was answered, of an instant that is over, too: a test before may have asked."""
    views._ROWS.forget()
    views._COUNTS.forget()


@contextmanager
def shared(history: str, size: int) -> Iterator[None]:
    """Pages give what was answered about the same entries, and nothing else. `size`: how many
    these are; what is answered once a test has added to them is its own.

    An answer counts as old: one that is young is given for later entries, too.
    """
    kept = _KEPT.setdefault(history, ({}, {}))
    every: tuple[Answers[Any, Any, Any], ...] = (views._ROWS, views._COUNTS)
    source = views.source(service.current())

    def keep() -> None:
        for answers, of_history in zip(every, kept, strict=True):
            for question, asked in answers._questions.items():
                if asked.made is not None and asked.made.basis.last_seq == size:
                    of_history[question] = asked.made

    def forget() -> None:
        keep()
        _forget()

    for answers, of_history in zip(every, kept, strict=True):
        answers.forget()
        for question, made in of_history.items():
            answers._of(question, source).made = replace(made, began_at=time.monotonic() - 3600)
    views.forget_answers = forget
    try:
        yield
    finally:
        views.forget_answers = _forget
        keep()
        for answers in every:
            answers.forget()
