"""Tries: one payload with its retries, when it is given up, when a ticket is due."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from .attempts import RETRYABLE, outcome, outcome_at
from .model import Attempt
from .reading import HOUR

TRY_LASTS = timedelta(hours=24)
TRY_ENDS = 30
RUN = 5
RUN_LASTS = HOUR
URGENT_RUN = 3
URGENT = timedelta(hours=72)


@dataclass(frozen=True)
class GivenUp:
    at: datetime
    attempt: Attempt


def tries(attempts: list[Attempt]) -> list[list[Attempt]]:
    """A try is one payload (its bytes) with its retries: a run of attempts with equal bytes."""
    runs: list[list[Attempt]] = []
    for attempt in attempts:
        if runs and runs[-1][-1].body == attempt.body:
            runs[-1].append(attempt)
        else:
            runs.append([attempt])
    return runs


def given_up(
    tried: list[Attempt],
    attempts: list[Attempt],
    replaced_at: list[datetime],
    finished_at: datetime | None,
    as_of: datetime,
) -> list[GivenUp]:
    """Of each attempt whose retry was given up, the instant: while it was pending, 24 h or 30 ends
    after the try's beginning. With the first the try was; one sent all the same may follow it.

    A retry is pending from the end of an attempt that would be sent again, or from its timeout, if
    that came first, until the next of `attempts` (the process's) starts, the payload is replaced,
    or the process is finished. What comes later does not undo it.
    """
    ends = sorted(over_at(attempt) for attempt in tried)
    found = []
    limits = [tried[0].attempted_at + TRY_LASTS, *ends[TRY_ENDS - 1 : TRY_ENDS]]
    for attempt in tried:
        if outcome(attempt, as_of) not in RETRYABLE:
            continue
        at = max(over_at(attempt), min(limits))
        cuts = [replaced for replaced in replaced_at if replaced > attempt.attempted_at]
        cuts += [finished_at] if finished_at is not None else []
        cuts += [later.attempted_at for later in attempts if later.order > attempt.order]
        if at <= as_of and all(at < cut for cut in cuts):
            found.append(GivenUp(at, attempt))
    return found


def over_at(attempt: Attempt) -> datetime:
    """When nobody waits for the attempt's answer any more, though one may come."""
    if attempt.started_at is None:
        return outcome_at(attempt)
    return min(outcome_at(attempt), attempt.started_at + attempt.timeout)


def trailing_run(tried: list[Attempt], as_of: datetime) -> list[Attempt]:
    """The last attempts of the try that the platform answered with 5xx, without a break."""
    run: list[Attempt] = []
    for attempt in reversed(tried):
        if outcome(attempt, as_of) != "platform_error":
            break
        run.insert(0, attempt)
    return run


def keeps_failing(run: list[Attempt], deadline_at: datetime | None, as_of: datetime) -> bool:
    """Five failures over an hour or more; three where less than 72 hours are left, or none."""
    if len(run) >= RUN and run[-1].finished_at - run[0].attempted_at >= RUN_LASTS:
        return True
    urgent = deadline_at is not None and deadline_at - as_of < URGENT
    return urgent and len(run) >= URGENT_RUN
