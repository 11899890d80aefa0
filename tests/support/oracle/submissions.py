"""Lists and counts of what was submitted (docs/rules.md#submission-attempts)."""

import math
from collections.abc import Iterable
from datetime import date, datetime, timedelta

from .attempts import RETRYABLE, by_process, is_failure, outcome, sent_attempts, share
from .model import Attempt, Log
from .processes import Process, processes
from .reading import DAY, day_of
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


def outcomes_by_week(log: Log) -> list[dict]:
    """Attempts per ISO week of their start, by its Monday, and outcome."""
    counts: dict[tuple, int] = {}
    for row in submission_outcomes(log):
        key = (row["day"] - timedelta(days=row["day"].weekday()), row["outcome"])
        counts[key] = counts.get(key, 0) + row["attempts"]
    return [
        {"week": week, "outcome": result, "attempts": n} for (week, result), n in counts.items()
    ]


def outcomes_by_hour(log: Log) -> list[dict]:
    """Attempts of four weeks per hour of the day and outcome."""
    hours: dict[int, list[tuple[str, str]]] = {}
    for attempt in sent_attempts(log):
        if log.as_of - 28 * DAY < attempt.attempted_at <= log.as_of:
            hours.setdefault(attempt.attempted_at.hour, []).append(
                (outcome(attempt, log.as_of), attempt.process_id)
            )
    return [
        {
            "hour": hour,
            "outcome": result,
            "attempts": results.count(result),
            "share": share(results.count(result), len(results)),
            **most([process for ended, process in ends if is_failure(ended)]),
        }
        for hour, ends in hours.items()
        for results in [[ended for ended, _ in ends]]
        for result in set(results)
    ]


def most(of: list[str]) -> dict:
    """How often the process stands there that does so most often, and which it is."""
    if not of:
        return {"most_of_one": 0, "most_of": None}
    process = min(set(of), key=lambda one: (-of.count(one), one))
    return {"most_of_one": of.count(process), "most_of": process}


def failures_by_day(log: Log) -> list[dict]:
    """Whether a day's share of failures is beyond that of the others, by an interval of 99 %."""
    days: dict[date, list[bool]] = {}
    failing: dict[date, list[str]] = {}
    for attempt in sent_attempts(log):
        day = day_of(attempt.attempted_at)
        if day > day_of(log.as_of) - timedelta(days=30):
            days.setdefault(day, []).append(is_failure(outcome(attempt, log.as_of)))
            if days[day][-1]:
                failing.setdefault(day, []).append(attempt.process_id)
    found = []
    for day, failures in days.items():
        others = [it for other, them in days.items() if other != day for it in them]
        n, part = len(failures), sum(failures) / len(failures)
        spread = 2.5758293035489004 * 2.5758293035489004 / n
        middle = (part + spread / 2) / (1 + spread)
        half = 2.5758293035489004 * math.sqrt((part * (1 - part) + spread / 4) / n) / (1 + spread)
        elsewhere = share(sum(others), len(others))
        found.append(
            {
                "day": day,
                "attempts": n,
                "failed": sum(failures),
                "share": part,
                "share_low": middle - half,
                "others_share": elsewhere,
                **most(failing.get(day, [])),
                "stands_out": n >= 10 and elsewhere is not None and middle - half > elsewhere,
            }
        )
    return found


def failed_of(attempts: list[Attempt], as_of: datetime) -> list[Attempt]:
    """Those that failed: started before the first 200, and ended otherwise."""
    end = accepted_of(attempts)
    return [
        attempt
        for attempt in attempts
        if is_failure(outcome(attempt, as_of)) and (end is None or attempt.attempted_at < end)
    ]


def accepted_of(attempts: list[Attempt]) -> datetime | None:
    """The first end with a 200."""
    ends = [attempt.finished_at for attempt in attempts if attempt.status == 200]
    return min(ends, default=None)


def retries_by_outcome(log: Log) -> list[dict]:
    """Whether the next attempt was accepted, with the same bytes and with others."""
    nexts: dict[str, list[tuple[bool | None, str] | None]] = {}
    again: dict[str, list[str]] = {}
    for process_id, attempts in by_process(
        sent_attempts(log), lambda attempt: attempt.process_id
    ).items():
        failed = {it.attempt_id for it in failed_of(attempts, log.as_of)}
        for attempt, after in zip(attempts, [*attempts[1:], None], strict=True):
            if attempt.attempt_id in failed:
                then = after and (is_same(attempt, after), outcome(after, log.as_of))
                nexts.setdefault(outcome(attempt, log.as_of), []).append(then)
                if then and then[0] and then[1] != "in_flight":
                    again.setdefault(outcome(attempt, log.as_of), []).append(process_id)
    return [
        {"outcome": result, "attempts": len(of_it), **helped(of_it, "again", wanted=True)}
        | most(again.get(result, []))
        | helped(of_it, "changed", wanted=False)
        for result, of_it in nexts.items()
    ]


def is_same(attempt: Attempt, after: Attempt) -> bool | None:
    """Whether both sent the same bytes; None where those of one are lost."""
    return None if None in (attempt.body, after.body) else attempt.body == after.body


def helped(nexts: list[tuple[bool | None, str] | None], name: str, *, wanted: bool) -> dict:
    ended = [it[1] for it in nexts if it and it[0] is wanted and it[1] != "in_flight"]
    accepted = ended.count("accepted")
    return {
        f"sent_{name}": len(ended),
        f"accepted_{name}": accepted,
        f"acceptance_{name}": share(accepted, len(ended)),
    }


def failures(log: Log) -> Iterable[tuple[str, Attempt, datetime | None]]:
    """Each process with a failed attempt, the first of these, and its first 200."""
    for process_id, attempts in by_process(
        sent_attempts(log), lambda attempt: attempt.process_id
    ).items():
        if failed := failed_of(attempts, log.as_of):
            yield process_id, failed[0], accepted_of(attempts)


def failure_times(log: Log) -> list[dict]:
    return [
        {
            "process_id": process_id,
            "failed_at": failed.attempted_at,
            "failed_outcome": outcome(failed, log.as_of),
            "accepted_at": accepted_at,
            "seconds_to_acceptance": (accepted_at - failed.attempted_at) / timedelta(seconds=1),
        }
        for process_id, failed, accepted_at in failures(log)
        if accepted_at
    ]


def failure_time_by_month(log: Log) -> list[dict]:
    months: dict[tuple[date, str], list[tuple[datetime, datetime | None]]] = {}
    for _, failed, accepted_at in failures(log):
        key = day_of(failed.attempted_at).replace(day=1), outcome(failed, log.as_of)
        months.setdefault(key, []).append((failed.attempted_at, accepted_at))
    rows = []
    for (month, result), of_it in months.items():
        waits = [(start, end) for start, end in of_it if end]
        times = sorted((end - start) / timedelta(seconds=1) for start, end in waits)
        still = [(start, log.as_of) for start, end in of_it if not end]
        rows.append(
            {
                "month": month,
                "failed_outcome": result,
                "processes": len(of_it),
                "accepted": len(waits),
                "seconds": total(waits) if waits else None,
                "seconds_once": total(merged(waits)) if waits else None,
                "median_seconds_to_acceptance": times[math.ceil(len(times) / 2) - 1]
                if waits
                else None,
                "seconds_unaccepted": total(still) if still else None,
                "is_retryable": result in RETRYABLE,
            }
        )
    return rows


def total(spans: Iterable[tuple[datetime, datetime]]) -> float:
    return sum((end - start for start, end in spans), timedelta()) / timedelta(seconds=1)


def merged(spans: Iterable[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    """The same time, of which no instant is in two spans."""
    found: list[tuple[datetime, datetime]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            first, last = found.pop()
            start, end = first, max(last, end)
        found.append((start, end))
    return found
