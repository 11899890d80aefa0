"""Lists and counts of what was submitted (docs/rules.md#submission-attempts)."""

from .attempts import by_process, is_failure, outcome, sent_attempts, share
from .model import Log
from .processes import Process, processes
from .reading import day_of
from .tries import tries


def submission_attempts(log: Log) -> list[dict]:
    """One row per attempt_id, refusals included; a refusal has no number and is in no try."""
    places: dict[str, dict] = {}
    for process in processes(log):
        places |= places_of(process)
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
            **places.get(attempt.attempt_id, NOWHERE),
        }
        for attempt in log.attempts
    ]


NOWHERE = {
    "attempt_number": None,
    "try_number": None,
    "attempt_of_try": None,
    "is_given_up": False,
}


def places_of(process: Process) -> dict[str, dict]:
    """Where each attempt stands among those of the process and of its try, from 1."""
    given_up = [each.attempt.attempt_id for tried in process.given_up for each in tried]
    places: dict[str, dict] = {}
    for try_number, tried in enumerate(tries(process.attempts), start=1):
        for attempt_of_try, attempt in enumerate(tried, start=1):
            places[attempt.attempt_id] = {
                "attempt_number": len(places) + 1,
                "try_number": try_number,
                "attempt_of_try": attempt_of_try,
                "is_given_up": attempt.attempt_id in given_up,
            }
    return places


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
    """One row: how often the first attempt was enough, and how often a retry helped."""
    processes = by_process(sent_attempts(log), lambda attempt: attempt.process_id)
    first_try_accepted = with_failure = accepted_after_failure = 0
    for attempts in processes.values():
        if outcome(attempts[0], log.as_of) == "accepted":
            first_try_accepted += 1
        accepted_at = [attempt.finished_at for attempt in attempts if attempt.status == 200]
        if any(
            is_failure(outcome(attempt, log.as_of))
            and (not accepted_at or attempt.attempted_at < min(accepted_at))
            for attempt in attempts
        ):
            with_failure += 1
            accepted_after_failure += bool(accepted_at)
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
