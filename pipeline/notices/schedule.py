"""Decides which rung of the schedule is due for a review, from its entries alone. Pure.

Of the rungs whose time has come only the latest counts: whoever was away sends one message, not
all that it missed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE, WISHES
from pipeline.log.kinds.retraction import RETRACTION
from pipeline.log.kinds.seller_notice import ADDRESS, BY_HAND, PHONE, SELLER_NOTICE
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT
from pipeline.log.kinds.ticket import TICKET
from pipeline.notices.rules import News, Rung
from pipeline.submit.rules import SELLER

ALONG: Final = "along"
"""The rung in an entry of a review that another review's message speaks of as well."""
CLAIM: Final = 5 * instants.MINUTE
"""For so long a claim keeps others away; a message of whoever claimed goes at once, or never."""
AGAIN: Final = (instants.HOUR, 6 * instants.HOUR)
"""Between a message that the service did not take and the next of the same rung. After the last it
is left to the next rung."""
APART: Final = 20 * instants.HOUR
"""Between two messages about one review, whoever sends them: nobody gets two on a day."""
STALE: Final = 7 * instants.DAY
"""After its time, the last rung is sent no more."""
READ: Final = (
    *(COLLECTION, TICKET, NOTICE_SCHEDULE),
    *(SELLER_NOTICE, SELLER_NOTICE_RESULT, RETRACTION),
)
"""Kinds of entries that say something of which the schedule takes account."""
GONE: Final = ("accepted", "delivered", "opened", "uncertain")
"""Results of a message that went out, or may have."""


class Said(NamedTuple):
    """An entry about a review or its seller, as the schedule reads it."""

    kind: str
    at: int
    content: Mapping[str, Any]
    is_live: bool = True
    """It was recorded here; a file brought any other."""


class Times(NamedTuple):
    """A review, as far as its rungs depend on it."""

    opened_at: int
    deadline_at: int | None
    is_asked: bool
    """Something is left to be answered or confirmed, and it can be."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done about a review now."""

    rung: Rung | None = None
    """Its message is to be sent now."""
    call: Rung | None = None
    """A person is to be asked to call."""
    again: str | None = None
    """The id of the message of this rung of which nobody knows whether it arrived; it is repeated,
    where the channel takes an id twice as once."""
    look_at: int | None = None
    """When something may be due, if nothing happens until then; None: never."""


def at_of(rung: Rung, times: Times) -> int | None:
    """When a rung's time comes; None without the instant that it counts from."""
    if rung.after is not None:
        return times.opened_at + rung.after * instants.HOUR
    if times.deadline_at is None:
        return None
    if rung.before is not None:
        return times.deadline_at - rung.before * instants.HOUR
    return times.deadline_at + (rung.late or 0) * instants.HOUR


def ladder(rungs: Sequence[Rung], times: Times) -> list[tuple[int, Rung]]:
    """The rungs of a review by their time. One that would come before it was opened does not."""
    known = [(at, it) for it in rungs if (at := at_of(it, times)) is not None]
    return sorted((it for it in known if it[0] >= times.opened_at), key=lambda pair: pair[0])


def kept_back(entries: Iterable[Said]) -> str | None:
    """The step, or `ticket`, that keeps the schedule back, by when each was said, as the views have
    it: a file brings what is older later, and ends no wish that was recorded here; None where it
    goes on. `entries`: in the order of the log."""
    last: str | None = None
    is_wished = open_ticket = False
    for each in sorted(entries, key=lambda one: one.at):
        step = each.content.get("step")
        if each.kind == TICKET:
            open_ticket = step == "opened"
        elif each.kind == NOTICE_SCHEDULE and step in ("held", "stopped", "released"):
            if step == "released" and is_wished and not each.is_live:
                continue
            is_wish = each.is_live and each.content.get("reason") in WISHES
            is_wished = step != "released" and (is_wished or is_wish)
            last = step
    if last in ("held", "stopped"):
        return last
    return "ticket" if open_ticket else None


def is_silent(entries: Iterable[Said]) -> bool:
    """Whether nothing shows that the seller got a message: none is known to have come to them, and
    they have done nothing on their page."""
    return not any(
        each.content.get("result") in ("delivered", "opened")
        if each.kind == SELLER_NOTICE_RESULT
        else each.content.get("source") == SELLER
        and each.content.get("step") in ("opened", "answered", "confirmed")
        for each in entries
        if each.kind in (SELLER_NOTICE_RESULT, COLLECTION)
    )


def ended_channels(entries: Sequence[Said], address_of: Callable[[str], str | None]) -> set[str]:
    """The channels of which the last message to the seller's present address came back, or will
    never be taken: the schedule writes by them no more. `entries`: all of the seller's, in the
    order of the log; `address_of`: the digest of the address of a channel, where it has one."""
    sent = {
        each.content.get("message_id"): str(each.content.get("channel"))
        for each in entries
        if each.kind == SELLER_NOTICE
        and each.content.get(ADDRESS) == address_of(str(each.content.get("channel")))
    }
    went, bad = set[Any](), dict[str, Any]()
    for each in entries:
        message = each.content.get("message_id")
        if each.kind != SELLER_NOTICE_RESULT or message not in sent:
            continue
        result, channel = each.content.get("result"), sent[message]
        # A `failed` of ours is tried again, unless it says otherwise; a later one is final.
        is_final = each.content.get("is_refused") is True or message in went
        if result == "bounced" or (result == "failed" and is_final):
            bad[channel] = message
        elif bad.get(channel) not in (None, message) and result in ("accepted", "delivered"):
            del bad[channel]
        if result in GONE:  # `failed` is said of each review that the message speaks of
            went.add(message)
    return {*bad}


def due(
    times: Times,
    entries: Sequence[Said],
    now: int,
    rungs: Sequence[Rung],
    news: Sequence[tuple[int, News]] = (),
) -> Decision:
    """What is to be done about a review at an instant. `entries`: of the review and of its seller,
    in the order of the log; the schedule has been started, and counts for it. `news`: when it came,
    and what."""
    if not times.is_asked or kept_back(entries) is not None:
        return Decision()
    entries = _standing(entries)
    silent = is_silent(entries)
    counted = ladder([it for it in rungs if silent or not it.if_silent], times)
    steps = sorted([*counted, *news], key=lambda pair: pair[0])
    calls = [it for it in steps if it[1].channel == PHONE and it[0] <= now]
    call = calls[-1] if calls else None
    is_open = call is not None and _is_open(entries, *call)
    found = _message_due(entries, now, steps)
    return replace(found, call=call[1]) if call is not None and is_open else found


def _standing(entries: Sequence[Said]) -> list[Said]:
    """Without the calls and letters that were retracted."""
    gone = {it.content.get("message_id") for it in entries if it.kind == RETRACTION}
    return [
        said
        for said in entries
        if said.kind != SELLER_NOTICE
        or said.content.get("channel") not in BY_HAND
        or said.content.get("message_id") not in gone
    ]


def _is_open(entries: Iterable[Said], at: int, rung: Rung) -> bool:
    """Whether nobody was asked for the call of a rung yet, and nobody called."""
    return not any(
        each.content.get("channel") == PHONE and each.content.get("rung", rung.name) == rung.name
        for each in entries
        if each.kind in (NOTICE_SCHEDULE, SELLER_NOTICE) and each.at >= at
    )


def _message_due(
    entries: Sequence[Said], now: int, all_steps: Sequence[tuple[int, Rung]]
) -> Decision:
    later = min((at for at, _ in all_steps if at > now), default=None)
    steps = [it for it in all_steps if it[1].channel != PHONE]
    passed = [it for it in steps if it[0] <= now]
    if not passed:
        return Decision(look_at=later)
    # What is news goes first, and then stands for the rungs that came meanwhile.
    news = [it for it in passed if isinstance(it[1], News)]
    unsaid = [it for it in news if not _fate(entries, it[1].name).is_over(it[0])]
    at, rung = (unsaid or passed)[-1]
    if at == steps[-1][0] and now > at + STALE:
        return Decision(look_at=later)
    fate = _fate(entries, rung.name)
    if fate.is_over(at):
        return Decision(again=fate.uncertain, look_at=later)
    is_news = isinstance(rung, News)  # which is no reminder, and waits for nothing
    waits = [
        *([fate.gone_at + APART] if fate.gone_at is not None and not is_news else []),
        *([fate.claimed_at + CLAIM] if fate.claimed_at is not None else []),
        *([fate.failed_at + AGAIN[fate.failures - 1]] if fate.failed_at is not None else []),
    ]
    if (wait := max(waits, default=now)) > now:
        return Decision(look_at=wait if later is None else min(wait, later))
    return Decision(rung, look_at=later)


@dataclass(slots=True)
class _Fate:
    """What became of a rung, and when the last message about the review went out."""

    gone_at: int | None = None
    claimed_at: int | None = None
    failed_at: int | None = None
    failures: int = 0
    is_done: bool = False
    uncertain: str | None = None

    def is_over(self, at: int) -> bool:
        """Whether nothing is to be sent of a rung whose time came then."""
        return self.is_done or (self.gone_at is not None and self.gone_at >= at)


def _fate(entries: Sequence[Said], rung: str) -> _Fate:
    fate, of_rung, at_of_message, ended = _Fate(), set[str](), dict[str, int](), set[str]()
    for each in entries:
        message = each.content.get("message_id")
        if each.kind == NOTICE_SCHEDULE and each.content.get("step") == "claimed":
            if each.content.get("rung") == rung and each.content.get("channel") != PHONE:
                fate.claimed_at = each.at
            if message is not None and message == fate.uncertain:
                fate.uncertain = None  # repeated already: once is enough
        elif each.kind == SELLER_NOTICE and message is not None:
            at_of_message.setdefault(message, each.at)
            if each.content.get("rung") == rung:
                of_rung.add(message)
        elif each.kind == SELLER_NOTICE_RESULT and message in at_of_message:
            ended.add(message)
            _take_result(fate, each, is_of_rung=message in of_rung, at=at_of_message[message])
    if of_rung - ended:
        fate.is_done = True  # under way; who sent it records its end, or it becomes uncertain
    return fate


def _take_result(fate: _Fate, said: Said, *, is_of_rung: bool, at: int) -> None:
    result = said.content.get("result")
    if result in GONE:
        fate.gone_at = max(fate.gone_at or 0, at)
        fate.is_done |= is_of_rung
        if is_of_rung:
            is_known = result != "uncertain"
            fate.uncertain = None if is_known else said.content.get("message_id")
    elif result == "failed" and is_of_rung:
        fate.failures += 1
        fate.failed_at = said.at
        fate.is_done |= bool(said.content.get("is_refused")) or fate.failures > len(AGAIN)
