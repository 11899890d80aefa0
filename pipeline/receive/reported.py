"""Checks what other systems report as it happens: they date it, and repeated it counts once."""

from pipeline import instants
from pipeline.errors import Unreadable
from pipeline.inbox import Inbox
from pipeline.log.entries import Draft


def require_no_later(draft: Draft, now: int) -> None:
    """Raises `Unreadable` for what is dated further ahead than clocks differ."""
    if draft.dated > now + instants.ALLOWED_AHEAD:
        raise Unreadable("occurred_at: more than 5 minutes in the future; check the clock")


def seq_of(draft: Draft, inbox: Inbox) -> int:
    """The seq of the entry that the log has already for a repeated draft."""
    entries = inbox.find(process_id=draft.process_id, kind=draft.kind)
    return next(it.seq for it in entries if it.ingest_key == draft.ingest_key)
