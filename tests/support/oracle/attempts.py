"""Submission attempts and what became of them (docs/rules.md#submission-attempts)."""

from collections.abc import Callable, Iterable
from datetime import datetime

from .model import Attempt, Log

ANSWERS = {
    200: "accepted",
    400: "invalid_payload",
    401: "unauthorized",
    404: "not_found",
    409: "conflict",
    429: "rate_limited",
}
RETRYABLE = (
    "rate_limited",
    "platform_error",
    "timeout",
    "tls_refused",
    "network_error",
    "unknown",
)
ERRORS = ("timeout", "tls_refused", "network_error", "refused")


def outcome(attempt: Attempt, at: datetime) -> str:
    """The attempt's outcome as it was known at `at`."""
    if attempt.finish is not None and attempt.finished_at <= at:
        if attempt.status is not None:
            return answered(attempt.status)
        if attempt.error in ERRORS:
            return attempt.error
        return "unknown"
    if at < attempt.started_at + attempt.timeout:
        return "in_flight"
    return "unknown"


def answered(status: int) -> str:
    if 500 <= status <= 599:
        return "platform_error"
    return ANSWERS.get(status, "unexpected_status")


def outcome_at(attempt: Attempt) -> datetime:
    """The instant at which the outcome came to be: the finish, else the end of the timeout."""
    if attempt.finish is not None:
        return attempt.finished_at
    return attempt.started_at + attempt.timeout


def is_refused(attempt: Attempt) -> bool:
    return attempt.finish is not None and attempt.status is None and attempt.error == "refused"


def sent_attempts(log: Log) -> list[Attempt]:
    """All attempts but refusals, which are in no count."""
    return [attempt for attempt in log.attempts if not is_refused(attempt)]


def by_process(things: Iterable, process_id_of: Callable) -> dict[str, list]:
    """What names a process, per process and in the order given."""
    processes: dict[str, list] = {}
    for thing in things:
        processes.setdefault(process_id_of(thing), []).append(thing)
    return processes


def is_failure(result: str) -> bool:
    """Failed: ended otherwise than accepted or refused; `unknown` too, `in_flight` not yet."""
    return result not in ("accepted", "refused", "in_flight")


def share(part: int, whole: int) -> float | None:
    """A share over nothing is null."""
    return part / whole if whole else None
