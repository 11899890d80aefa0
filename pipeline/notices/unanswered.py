"""Marks the messages of ours that nobody heard the end of: whoever sent them ended in between."""

from collections.abc import Iterable, Sequence
from typing import Final

from pipeline import instants
from pipeline.inbox import Inbox
from pipeline.log.entries import Draft, Entry, content_of
from pipeline.log.kinds import seller_notice_result
from pipeline.log.kinds.seller_notice import COMMITMENT, SELLER_NOTICE
from pipeline.notices.results import Results

UNANSWERED: Final = 10 * instants.MINUTE
"""After this time a message without a result is uncertain."""

_PLACE: Final = "seller notices with a result"
_SEEN: Final = "select number from leases where name = $1"
_REMEMBER: Final = """
    insert into leases (name, number, holder, held_until) values ($1, $2, '', 0)
    on conflict (name) do update set number = excluded.number"""
_SENT: Final = """
    select seq from entries
    where seq > $1 and seq <= $2 and kind = $3 order by seq"""


def mark_of(inbox: Inbox, seller_ids: Sequence[str], *, now: int | None = None) -> int:
    """Records `uncertain` for messages to these sellers that have had no result for `UNANSWERED`;
    how many entries. Raises `InboxUnavailable`."""
    limit = (inbox.now() if now is None else now) - UNANSWERED
    notices = (each for it in seller_ids for each in inbox.find(seller_id=it, kind=SELLER_NOTICE))
    return _mark(inbox, (it for it in notices if it.recorded_at <= limit))


def mark_all(inbox: Inbox, *, now: int | None = None) -> int:
    """The same of all messages, each of which is looked at once: where the last look ended stands
    in the inbox."""
    limit = (inbox.now() if now is None else now) - UNANSWERED
    last, recorded_at = inbox.last()
    upto = last if recorded_at <= limit else inbox.last_before(limit + 1)
    rows = inbox.query(_SEEN, _PLACE)
    seen = int(rows[0][0]) if rows else 0
    if upto <= seen:
        return 0
    found = [inbox.entry(seq) for (seq,) in inbox.query(_SENT, seen, upto, SELLER_NOTICE)]
    marked = _mark(inbox, (it for it in found if it is not None))
    inbox.execute(_REMEMBER, _PLACE, upto)
    return marked


def _mark(inbox: Inbox, notices: Iterable[Entry]) -> int:
    results = Results(inbox)
    drafts = [_uncertain(it) for it in notices if _is_ours(it) and not results.is_any(it)]
    if drafts:
        inbox.append(drafts)
    return len(drafts)


def _is_ours(entry: Entry) -> bool:
    return COMMITMENT in content_of(entry) and entry.process_id is not None


def _uncertain(entry: Entry) -> Draft:
    assert entry.process_id is not None
    return seller_notice_result.came_of(
        content_of(entry)["message_id"],
        "uncertain",
        "the program that sent it ended before it heard the answer",
        recorded_by=entry.recorded_by,
        process_id=entry.process_id,
        seller_id=entry.seller_id,
    )
