"""Submission attempts and what became of them (rules.md sections 3 and 7)."""

from datetime import datetime

from .model import Attempt, Log
from .reading import day_of

ANSWERS = {
    200: "accepted",
    400: "invalid_payload",
    401: "unauthorized",
    404: "not_found",
    409: "conflict",
    429: "rate_limited",
}
RETRYABLE = ("rate_limited", "platform_error", "timeout", "network_error", "unknown")


def outcome(attempt: Attempt, at: datetime) -> str:
    """The attempt's outcome as it was known at `at`."""
    if attempt.finish is not None and attempt.finished_at <= at:
        if attempt.status is not None:
            return answered(attempt.status)
        if attempt.error in ("timeout", "network_error", "refused"):
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


def by_process(attempts: list[Attempt]) -> dict[str, list[Attempt]]:
    processes: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        processes.setdefault(attempt.process_id, []).append(attempt)
    return processes


def submission_attempts(log: Log) -> list[dict]:
    """One row per attempt_id, refusals included."""
    return [
        {
            "attempt_id": attempt.attempt_id,
            "process_id": attempt.process_id,
            "seller_id": attempt.seller_id,
            "via": attempt.via,
            "started_at": attempt.started_at,
            "finished_at": attempt.finished_at,
            "status": attempt.status,
            "error": attempt.error,
            "outcome": outcome(attempt, log.as_of),
        }
        for attempt in log.attempts
    ]


def submission_outcomes(log: Log) -> list[dict]:
    """Attempts per UTC day of their start and outcome."""
    counts: dict[tuple, int] = {}
    for attempt in sent_attempts(log):
        key = (day_of(attempt.attempted_at), outcome(attempt, log.as_of))
        counts[key] = counts.get(key, 0) + 1
    return [
        {"day": day, "outcome": result, "attempts": counts[day, result]}
        for day, result in sorted(counts)
    ]


def submission_retries(log: Log) -> list[dict]:
    """One row: how often the first attempt was enough, and how often a retry mended a failure."""
    processes = by_process(sent_attempts(log))
    first_try_accepted = with_failure = accepted_after_failure = 0
    for attempts in processes.values():
        outcomes = [outcome(attempt, log.as_of) for attempt in attempts]
        if outcomes[0] == "accepted":
            first_try_accepted += 1
        failures = [place for place, result in enumerate(outcomes) if is_failure(result)]
        if failures:
            with_failure += 1
            if "accepted" in outcomes[failures[0] :]:
                accepted_after_failure += 1
    return [
        {
            "processes": len(processes),
            "first_try_accepted": first_try_accepted,
            "first_try_acceptance": share(first_try_accepted, len(processes)),
            "with_failure": with_failure,
            "accepted_after_failure": accepted_after_failure,
            "success_after_retry": share(accepted_after_failure, with_failure),
        }
    ]


def is_failure(result: str) -> bool:
    """Failed: ended otherwise than accepted or refused; `unknown` too, `in_flight` not yet."""
    return result not in ("accepted", "refused", "in_flight")


def share(part: int, whole: int) -> float | None:
    """A share over nothing is null."""
    return part / whole if whole else None
