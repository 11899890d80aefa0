"""Puts what failed on the way into words: httpx reports it in a class of its own, often without."""

from collections.abc import Iterator

import httpx


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and those beneath it."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def in_words(error: BaseException) -> str:
    """A failure for a person to read, from the first error that says anything; but for an end of
    patience, beneath which is only where it came."""
    if isinstance(error, TimeoutError | httpx.TimeoutException) and not str(error):
        what = "connection" if isinstance(error, httpx.ConnectTimeout) else "answer"
        return f"no {what} in time"
    said = next((it for it in causes(error) if str(it)), error)
    return f"{type(said).__name__}: {said}" if str(said) else type(said).__name__
