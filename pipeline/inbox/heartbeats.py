"""When the parts of the product that answer no calls last said that they were well.

They stand in the inbox, which every machine reaches, and not in the log: they prove nothing.
"""

from enum import StrEnum

from pipeline import instants
from pipeline.inbox.store import Inbox

_BEAT = """
    insert into heartbeats (name, at) values ($1, $2)
    on conflict (name) do update set at = excluded.at where excluded.at > heartbeats.at"""


_SEEN = "sees "
"""Begins the name of a row that says: somebody sees that something is wrong."""
_FORGET = f"delete from heartbeats where name like '{_SEEN}%' and (at < $1 or at > $2)"


class Part(StrEnum):
    """Who has a heartbeat."""

    RECEIVER = "receiver"  # one of an inbox that several machines share could record
    RESUMER = "resumer"  # it looks after retries
    FORWARDER = "forwarder"  # it passes deliveries on to the marketplace's endpoints
    ALERTS = "alerts"  # it tells people
    NOTICES = "notices"  # it writes to sellers by the schedule, where that is started
    JOURNEY = "journey"  # it answers sellers, and could record
    BACKUP = "backup"  # one was made, and it was whole
    REHEARSAL = "rehearsal"  # a backup was put back elsewhere and verified
    VERIFICATION = "verification"  # ledger and inbox were verified, and no fault was found


def beat(inbox: Inbox, part: Part) -> None:
    """Says that a part is well now, by the clock that all share; never takes a beat back.

    A part that beats hears with it what others say of this machine's clock. Raises
    `InboxUnavailable`.
    """
    inbox.compare_clocks()
    inbox.execute(_BEAT, part.value, inbox.now())


def heartbeats(inbox: Inbox) -> dict[Part, int]:
    """The last beat of each part that has had one, in microseconds since 1970."""
    known = dict(inbox.query("select name, at from heartbeats"))
    return {part: known[part.value] for part in Part if part.value in known}


def see(inbox: Inbox, what: str, who: str) -> None:
    """Says that something is wrong now, as one process sees it. Raises `InboxUnavailable`."""
    inbox.execute(_BEAT, f"{_SEEN}{what} {who}", inbox.now())


def see_no_longer(inbox: Inbox, what: str, who: str) -> None:
    """Takes that back. Raises `InboxUnavailable`."""
    inbox.execute("delete from heartbeats where name = $1", f"{_SEEN}{what} {who}")


def is_seen(inbox: Inbox, what: str, lately: int) -> bool:
    """Whether anybody said so in the last microseconds, as many as `lately`. Older rows are those
    of processes that were killed; so are those that are yet to come, by a clock that was ahead, or
    they are written again. Raises `InboxUnavailable`."""
    now = inbox.now()
    inbox.execute(_FORGET, now - lately, now + instants.ALLOWED_AHEAD)
    names = inbox.query("select name from heartbeats")
    return any(name.startswith(f"{_SEEN}{what} ") for (name,) in names)
