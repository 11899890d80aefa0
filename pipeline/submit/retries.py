"""Says where a process's submissions stand: what is under way, what waits for a retry, since when.

The view `clocked_attempts` judges each attempt: whether it is to be sent again, when that is due,
and when it is given up (docs/rules.md#tries-and-retries). This module only picks the attempts that
decide for the process. Nothing is remembered besides the log, so a restart, or another process,
finds the same due times.

    Idle       nothing was sent yet, the last answer was final, or the process has finished
    UnderWay   an attempt has been started and may still be answered
    Waiting    the same payload is to be sent again, once it is due
    GivenUp    it was to be sent again, until 24 hours or 30 attempts were over
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

OURS: Final = frozenset({"cli", "api"})
"""Ways in whose tries we send again; a gateway's caller does that by itself."""


class Attempt(NamedTuple):
    """A row of the `clocked_attempts` view. Instants in microseconds."""

    attempt_id: str
    seller_id: str | None
    via: str | None
    outcome: str
    ordered_at: int
    outcome_at: int
    timeout_at: int | None
    retry_after_at: int | None
    payload_sha256: bytes | None
    start_seq: int | None
    try_number: int | None  # None for a refusal: nothing was sent
    is_last: bool
    is_retry_pending: bool
    is_held: bool
    is_given_up: bool
    retry_due_at: int | None


ATTEMPTS: Final = """
    select process_id, attempt_id, seller_id, via, outcome, epoch_us(ordered_at),
        epoch_us(outcome_at), epoch_us(timeout_at), epoch_us(retry_after_at), payload_sha256,
        start_seq, try_number, coalesce(is_last, false), is_retry_pending, is_held, is_given_up,
        epoch_us(retry_due_at)
    from clocked_attempts
    order by ordered_at, attempt_id"""
"""The process of each attempt, and the columns of `Attempt`."""


class Try(NamedTuple):
    """One payload with its retries: a run of attempts with the same bytes."""

    attempts: tuple[Attempt, ...]

    @property
    def last(self) -> Attempt:
        """Its latest attempt."""
        return self.attempts[-1]

    @property
    def payload_sha256(self) -> bytes | None:
        """The SHA-256 of the bytes that all its attempts sent; None where they are unknown."""
        return self.last.payload_sha256

    @property
    def is_ours(self) -> bool:
        """Whether we send it again: the last who sent it says who does."""
        return self.last.via in OURS


class Idle(NamedTuple):
    """Nothing is under way, and nothing waits; the last try, if there was one."""

    tried: Try | None


class UnderWay(NamedTuple):
    """An attempt has started and not ended."""

    until: int  # then it is unknown, unless it has ended before


class Waiting(NamedTuple):
    """A try waits for its next retry."""

    tried: Try
    due_at: int | None
    """None: our own rules have refused these bytes since, or they were erased, and only a person
    can go on."""

    @property
    def is_held(self) -> bool:
        """Whether only a person can go on with it."""
        return self.due_at is None


class GivenUp(NamedTuple):
    """The last try is over without success, and no retry follows."""

    tried: Try


Standing = Idle | UnderWay | Waiting | GivenUp


def standing(attempts: Sequence[Attempt]) -> Standing:
    """Where the submissions of one process stood when its attempts were read, all of them."""
    open_until = [it.timeout_at for it in attempts if it.outcome == "in_flight" and it.timeout_at]
    if open_until:
        return UnderWay(max(open_until))
    last = next((it for it in attempts if it.is_last), None)
    if last is None:
        return Idle(None)
    tried = Try(tuple(it for it in attempts if it.try_number == last.try_number))
    if last.is_given_up:
        return GivenUp(tried)
    if last.is_retry_pending or last.is_held:
        return Waiting(tried, last.retry_due_at)
    return Idle(tried)
