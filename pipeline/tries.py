"""Says where a process's submissions stand: what is under way, what waits for a retry, since when.

Pure: attempts as the `attempts` view shows them, and now, go in (rules.md section 3). Nothing is
remembered besides the log, so a restart, or another process, comes to the same due times.

    Idle       nothing was sent yet, or the last answer was final
    UnderWay   an attempt has been started and may still be answered
    Waiting    the same payload is to be sent again, once it is due
    GivenUp    it was to be sent again, until 24 hours or 30 attempts were over
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from pipeline import instants

FIRST_PAUSE: Final = 1 * instants.SECOND
LONGEST_PAUSE: Final = 15 * instants.MINUTE
SPREAD: Final = 0.2
"""A pause is this share longer or shorter, so that many retries do not come at one instant."""
TRY_LASTS: Final = 24 * instants.HOUR
TRY_ATTEMPTS: Final = 30

OURS: Final = frozenset({"cli", "api"})
"""Ways in whose tries we send again; a gateway's caller does that by itself."""


class Attempt(NamedTuple):
    """A row of the `attempts` view. Instants in microseconds."""

    attempt_id: str
    seller_id: str | None
    via: str | None
    outcome: str
    ordered_at: int
    outcome_at: int
    timeout_at: int | None
    is_retryable: bool
    retry_after_at: int | None
    payload_sha256: bytes | None
    start_seq: int | None


class Try(NamedTuple):
    """One payload with its retries: a run of attempts with the same bytes."""

    attempts: tuple[Attempt, ...]

    @property
    def last(self) -> Attempt:
        return self.attempts[-1]

    @property
    def payload_sha256(self) -> bytes | None:
        return self.last.payload_sha256

    @property
    def gives_up_at(self) -> int:
        return self.attempts[0].ordered_at + TRY_LASTS

    @property
    def is_ours(self) -> bool:
        """Whether we send it again: the last who sent it says who does."""
        return self.last.via in OURS


class Idle(NamedTuple):
    tried: Try | None


class UnderWay(NamedTuple):
    until: int  # then it is unknown, unless it has ended before


class Waiting(NamedTuple):
    tried: Try
    due_at: int
    is_held: bool
    """Our own rules have refused these bytes since: only a person can go on."""


class GivenUp(NamedTuple):
    tried: Try


Standing = Idle | UnderWay | Waiting | GivenUp

Spread = Callable[[Attempt], float]
"""From -1 to 1: where in its spread the pause after an attempt lies."""


def spread_by_id(attempt: Attempt) -> float:
    """Drawn from the attempt's id, which is random: every reader of the log draws the same."""
    digest = hashlib.sha256(attempt.attempt_id.encode()).digest()
    return int.from_bytes(digest[:8], "big") / (2**63) - 1


def standing(
    attempts: Sequence[Attempt],
    now: int,
    *,
    replaced_at: Sequence[int] = (),
    spread: Spread = spread_by_id,
) -> Standing:
    """Where the submissions of one process stand; the caller knows whether it has finished.

    `replaced_at`: when people allowed another payload in place of the one that waits.
    """
    sent = sorted(
        (it for it in attempts if it.outcome != "refused"),
        key=lambda it: (it.ordered_at, it.attempt_id),
    )
    open_until = [it.timeout_at for it in sent if it.outcome == "in_flight" and it.timeout_at]
    if open_until:
        return UnderWay(max(open_until))
    tried = _last_try(sent)
    if tried is None or not tried.last.is_retryable:
        return Idle(tried)
    if any(at >= tried.last.ordered_at for at in replaced_at):
        return Idle(tried)
    if len(tried.attempts) >= TRY_ATTEMPTS or now >= tried.gives_up_at:
        return GivenUp(tried)
    is_held = any(_is_refusal_of(it, tried.last) for it in attempts)
    return Waiting(tried, due_at(tried, spread), is_held)


def _is_refusal_of(attempt: Attempt, last: Attempt) -> bool:
    """Whether our rules have refused, since, what was sent last: the same bytes, for the same
    seller. Refused for another one, in a wrong path, the bytes were not judged by what they are."""
    return (
        attempt.outcome == "refused"
        and attempt.ordered_at > last.ordered_at
        and attempt.payload_sha256 == last.payload_sha256 is not None
        and attempt.seller_id == last.seller_id
    )


def due_at(tried: Try, spread: Spread = spread_by_id) -> int:
    """When the next retry may be sent: after its pause, and not before the platform said."""
    last = tried.last
    waited = last.outcome_at + pause(len(tried.attempts), spread(last))
    return max(waited, last.retry_after_at or waited)


def pause(retry: int, spread: float) -> int:
    """Microseconds before the n-th retry; `spread` from -1 to 1 makes it up to 20 % other."""
    doublings = min(retry - 1, 16)  # past the longest pause; nobody needs the power itself
    return round(min(FIRST_PAUSE << doublings, LONGEST_PAUSE) * (1 + SPREAD * spread))


def _last_try(sent: Sequence[Attempt]) -> Try | None:
    run: list[Attempt] = []
    for attempt in reversed(sent):
        if run and attempt.payload_sha256 != run[-1].payload_sha256:
            break
        run.append(attempt)
    return Try(tuple(reversed(run))) if run else None
