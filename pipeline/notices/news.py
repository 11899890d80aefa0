"""Says which news a seller is to have of a review, apart from the rungs of the schedule: something
to correct, or another deadline than the latest message said. Pure.

News goes by the channel of that message, and only where there was one: whoever was never written
to hears of it by the next rung.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.instants import canonical, readable
from pipeline.log.kinds.seller_notice import COMMITMENT, DEADLINE, SELLER_NOTICE
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT
from pipeline.notices.rules import ACCEPTED, CORRECT, MOVED, News
from pipeline.notices.schedule import GONE, Said, kept_back
from pipeline.notices.sellers import Open


def news_of(
    review: Open, entries: Sequence[Said], heard_at: int | None, now: int
) -> list[tuple[int, News]]:
    """The news of a review with the instants at which it came. `entries`: of the review, in the
    order of the log; `heard_at`: when the platform last said something of it."""
    said = _latest(entries)
    if said is None:
        return []
    found = []
    if review.refused_at is not None:
        name = f"{CORRECT}_{readable(review.refused_at)}"
        found.append((review.refused_at, News.of(name, said["channel"], CORRECT)))
    deadline = review.deadline_at
    if deadline is None or deadline <= now or heard_at is None or DEADLINE not in said:
        return found
    if said[DEADLINE] != canonical(deadline):
        name = f"{MOVED}_{readable(deadline)}"
        found.append((heard_at, News.of(name, said["channel"], MOVED)))
    return found


def news_in(rung: str | None) -> str | None:
    """The template of the news that a rung is, by its name in entries; None where it is none."""
    word = (rung or "").partition("_")[0]
    return word if word in (CORRECT, MOVED) else None


def to_thank(entries: Sequence[Said]) -> str | None:
    """The channel by which a seller is to hear that their answers were accepted: that of the latest
    message about the review. None where there was no message, or they have heard it, or nothing is
    sent any more."""
    heard = (it.content for it in entries if it.kind == SELLER_NOTICE)
    if kept_back(entries) is not None or any(it.get("rung") == ACCEPTED for it in heard):
        return None
    said = _latest(entries)
    return None if said is None else said["channel"]


def _latest(entries: Sequence[Said]) -> Mapping[str, Any] | None:
    """The latest message of ours about the review that went out, or may have."""
    gone = {
        each.content.get("message_id")
        for each in entries
        if each.kind == SELLER_NOTICE_RESULT and each.content.get("result") in GONE
    }
    ours = [it.content for it in entries if it.kind == SELLER_NOTICE and COMMITMENT in it.content]
    return next((it for it in reversed(ours) if it["message_id"] in gone), None)
