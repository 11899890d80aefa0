"""Leases: who alone may do something now, among all processes and machines that share an inbox.

A lease is a row with a number that only grows. It runs by one clock, that of `Inbox.steady`, and
ends by its time, when it is released, or as soon as the log shows that what it was taken for is
over: `Spent`. Its holder measures the same time by this machine's own clock as well, from before
the row was written, so that a pause of the holder is noticed without asking anybody
(docs/decisions/retries.md#a-lease-keeps-senders-apart).
"""

import contextlib
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.errors import InboxUnavailable
from pipeline.inbox.store import Inbox

LONGEST: Final = 15 * instants.MINUTE
"""Of any lease. A row that claims to last longer was written before this machine was last started,
or before the server's clock was set back: its holder is gone."""

_ROUNDS: Final = 3
"""Looks at the row. Each that is in vain means that somebody else has just got the lease."""

_SELECT: Final = "select number, held_until from leases where name = $1"
_TAKE: Final = """
    insert into leases (name, number, holder, held_until) values ($1, $2, $3, $4)
    on conflict (name) do update
    set number = excluded.number, holder = excluded.holder, held_until = excluded.held_until
    where leases.number = $5 and leases.held_until = $6"""
_RENEW: Final = """
    update leases set held_until = $1 where name = $2 and number = $3 and held_until = $4"""
_RELEASE: Final = "update leases set held_until = 0 where name = $1 and number = $2"


class Spent(NamedTuple):
    """What the log says of a lease's use: the highest number in it, and whether that is over."""

    number: int = 0
    is_over: bool = True


class Lease(NamedTuple):
    """One that was taken. Instants in microseconds."""

    name: str
    number: int
    until: int  # by `Inbox.steady`
    taken_at: int  # by `instants.since_boot`, not later than the row's own beginning
    length: int

    @property
    def left_here(self) -> int:
        """Microseconds that are left by this machine's own clock."""
        return self.taken_at + self.length - instants.since_boot()


class Held(NamedTuple):
    """Somebody else has it, for so many microseconds more at most."""

    left: int


def take(
    inbox: Inbox, name: str, holder: str, length: int, spent: Spent, *, longest: int = LONGEST
) -> Lease | Held:
    """The lease of a name for `length` microseconds; raises `InboxUnavailable`. `longest`: of any
    of this name.

    `spent`: what the caller has read in the log; what comes after it there, the caller's own
    entries must not overlook.
    """
    if not 0 < length <= LONGEST:
        raise ValueError(f"a lease of {length} microseconds")
    held = Held(length)
    for _ in range(_ROUNDS):
        taken_at = instants.since_boot()
        now = inbox.steady()
        number, held_until = _row(inbox, name)
        is_spent = number < spent.number or (number == spent.number and spent.is_over)
        if not is_spent and now < held_until <= now + longest:
            return Held(held_until - now)
        lease = Lease(name, max(number, spent.number) + 1, now + length, taken_at, length)
        values = (name, lease.number, holder, lease.until, number, held_until)
        if inbox.execute(_TAKE, *values) == 1:
            return lease
    return held


def left(inbox: Inbox, lease: Lease) -> int:
    """Microseconds for which a lease is still its holder's, by the inbox's clock and by ours; 0 or
    less: it is not. Raises `InboxUnavailable`."""
    if _row(inbox, lease.name) != (lease.number, lease.until):
        return 0
    # After the row: nobody else takes a lease before its time, so until then it is still ours.
    return min(lease.until - inbox.steady(), lease.left_here)


def renew(inbox: Inbox, lease: Lease) -> Lease | None:
    """The same lease for its length from now on; None where somebody else has taken it since.
    Raises `InboxUnavailable`."""
    taken_at = instants.since_boot()
    renewed = lease._replace(until=inbox.steady() + lease.length, taken_at=taken_at)
    values = (renewed.until, lease.name, lease.number, lease.until)
    return renewed if inbox.execute(_RENEW, *values) == 1 else None


def release(inbox: Inbox, lease: Lease) -> None:
    """Ends a lease for which nothing was done. Where that fails, its time ends it."""
    with contextlib.suppress(InboxUnavailable):
        inbox.execute(_RELEASE, lease.name, lease.number)


def _row(inbox: Inbox, name: str) -> tuple[int, int]:
    """(number, held_until); (0, 0) where nobody ever had it."""
    rows = inbox.query(_SELECT, name)
    number, held_until = rows[0] if rows else (0, 0)
    return int(number), int(held_until)
