"""Runs the past under other settings: which messages the schedule would have sent about each
review, and when it would have asked for a call. It decides by the schedule's own rules, and records
nothing.

Whatever people did stands as the log has it: steps of sellers, calls and messages by hand, tickets,
holds. What the schedule itself sent is left out, with what came of it; each message that would have
gone counts as accepted by its service, and as nothing more. So it says when somebody would have
been notified, and nothing of what they would have done then. Each review is taken by itself, and
news are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.alert import hours
from pipeline.alert_rules.recipients import WorkingHours
from pipeline.inbox import Inbox
from pipeline.log.entries import LIVE, Entry, content_of
from pipeline.log.kinds.collection import COLLECTION
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE
from pipeline.log.kinds.seller_notice import PHONE, SELLER_NOTICE
from pipeline.log.kinds.seller_notice_result import SELLER_NOTICE_RESULT
from pipeline.log.kinds.webhook import WEBHOOK
from pipeline.notices import ladders
from pipeline.notices.results import Results
from pipeline.notices.rules import ADDRESSED, NoticeRules
from pipeline.notices.schedule import READ, Said, Times, due
from pipeline.notices.sellers import of_records
from pipeline.submit.rules import SELLER

FOLLOWED_DAYS: Final = 60
"""Each review is followed for so long, so that all have had the same time."""
WITHIN_DAYS: Final = (1, 3, 7, 14, 30, FOLLOWED_DAYS)
MOST: Final = 10_000
"""Reviews of one run, the newest."""


class Past(NamedTuple):
    """A review as it went. Instants in microseconds."""

    review_type: str | None
    opened_at: int
    deadline_at: int | None
    known_at: int  # when the platform's first event about it came
    asked_until: int  # its finish, the seller's confirmation or deletion, or the end of the look
    said: Sequence[Said]
    addresses: Sequence[tuple[int, Mapping[str, str]]]
    """From when on the seller had which, as their records came."""


class Replayed(NamedTuple):
    """When messages would have gone about a review, and when a call would have been asked for."""

    review_type: str | None
    sent: tuple[int, ...]  # microseconds after its opening
    calls: tuple[int, ...]


def pasts(inbox: Inbox, rows: Iterable[Mapping[str, Any]], as_of: int) -> Iterator[Past]:
    """The reviews that are rows of the view `process_state`, as the inbox has them. One whose id is
    shown masked is left out. Raises `InboxUnavailable`."""
    results = Results(inbox)
    for row in rows:
        own = inbox.find(process_id=row["process_id"])
        known = [it.occurred_at for it in own if it.kind == WEBHOOK]
        if not known:
            continue
        opened_at = _micros(row["opened_at"])
        of_seller = inbox.find(seller_id=row["seller_id"]) if row["seller_id"] else []
        of_this = (None, row["process_id"])
        every = {it.seq: it for it in (*of_seller, *own) if it.process_id in of_this}
        said = [*_said((every[seq] for seq in sorted(every)), results)]
        records = [it for it in of_seller if it.kind == WEBHOOK and it.process_id is None]
        ends = (row["finished_at"], row["seller_deleted_at"])
        yield Past(
            row["review_type"],
            opened_at,
            None if row["deadline_at"] is None else _micros(row["deadline_at"]),
            max(opened_at, min(known)),
            min(
                as_of,
                opened_at + FOLLOWED_DAYS * instants.DAY,
                *(_micros(it) for it in ends if it is not None),
                *(it.at for it in said if it.at >= opened_at and _is_confirmed(it)),
            ),
            said,
            _addresses(records),
        )


def _addresses(records: Sequence[Entry]) -> list[tuple[int, Mapping[str, str]]]:
    """From when on which addresses were known, by the seller's events so far."""
    by_time = sorted(records, key=lambda record: record.occurred_at)
    return [
        (record.occurred_at, of_records(by_time[:number])[1])
        for number, record in enumerate(by_time, start=1)
    ]


def _micros(moment: Any) -> int:
    return instants.from_datetime(moment)


def _said(entries: Iterable[Entry], results: Results) -> Iterator[Said]:
    """What people did, of what the schedule reads."""
    ours, by_hand = set[str](), dict[str, Entry]()
    for entry in entries:
        if entry.kind not in READ:
            continue
        said = content_of(entry)
        message = str(said.get("message_id", ""))
        if entry.kind == SELLER_NOTICE:
            if said.get("rung") is None:
                by_hand.setdefault(message, entry)
            else:
                ours.add(message)
        if said.get("step") != "claimed" and message not in ours:
            yield Said(entry.kind, entry.occurred_at, said, entry.origin == LIVE)
    for message in sorted(by_hand.keys() - ours):
        for result in results.reported(by_hand[message]):
            content = {"message_id": message, "result": result.word}
            yield Said(SELLER_NOTICE_RESULT, result.at, content)


def _is_confirmed(said: Said) -> bool:
    is_step = said.kind == COLLECTION and said.content.get("step") == "confirmed"
    return is_step and said.content.get("source") == SELLER


def replayed(past: Past, rules: NoticeRules) -> Replayed:
    """What the schedule would have done about a review under these settings. Pure."""
    times = Times(past.opened_at, past.deadline_at, is_asked=True)
    rungs = ladders.rungs_of(ladders.of_rules(rules), past.review_type)
    made: list[Said] = []
    sent, calls = list[int](), list[int]()
    at: float = past.known_at
    while (at := _opening(rules.hours, int(at))) < past.asked_until:
        now = int(at)
        known = [it for it in (*past.said, *made) if it.at <= now]
        decision = due(times, sorted(known, key=lambda said: said.at), now, rungs)
        to_call = [] if decision.call is None else [decision.call.name]
        if (rung := decision.rung) is not None:
            if ADDRESSED.get(rung.channel, "") in ("", *_known(past.addresses, now)):
                made += _accepted(f"replay {len(sent)}", rung.name, now)
                sent.append(now - past.opened_at)
            elif not any(it.content.get("rung") == rung.name for it in made):
                to_call.append(rung.name)
        made += [_asked_for(name, now) for name in to_call]
        calls += [now - past.opened_at for _ in to_call]
        came = [*(it.at for it in past.said), *(at for at, _ in past.addresses)]
        looks = [it for it in came if it > now]
        looks += [] if decision.look_at is None else [decision.look_at]
        if not looks:
            break
        at = min(looks)
    return Replayed(past.review_type, tuple(sent), tuple(calls))


def _known(addresses: Sequence[tuple[int, Mapping[str, str]]], now: int) -> Mapping[str, str]:
    return next((found for at, found in reversed(addresses) if at <= now), {})


def _opening(of: WorkingHours, at: int) -> float:
    """The first instant from `at` on at which the schedule may write."""
    return at if hours.is_open(of, None, at) else hours.next_opening(of, None, at)


def _accepted(message_id: str, rung: str, at: int) -> tuple[Said, Said]:
    return (
        Said(SELLER_NOTICE, at, {"message_id": message_id, "rung": rung}),
        Said(SELLER_NOTICE_RESULT, at, {"message_id": message_id, "result": "accepted"}),
    )


def _asked_for(rung: str, at: int) -> Said:
    return Said(NOTICE_SCHEDULE, at, {"step": "claimed", "channel": PHONE, "rung": rung})


def counted(settings: str, of: Sequence[Replayed]) -> Iterator[dict[str, Any]]:
    """A row for each type of review and each first, second and further message or call: about how
    many reviews it would have gone within so many days of the opening. `settings`: their name."""
    for review_type in sorted({it.review_type for it in of}, key=lambda name: (name is None, name)):
        reviews = [it for it in of if it.review_type == review_type]
        for what, each in (
            ("message", [it.sent for it in reviews]),
            ("call", [it.calls for it in reviews]),
        ):
            for number in range(max(map(len, each), default=0)):
                after = [it[number] for it in each if len(it) > number]
                yield {
                    "settings": settings,
                    "review_type": review_type,
                    "what": f"{what} {number + 1}",
                    "reviews": len(reviews),
                    **{
                        f"day_{days}": sum(it <= days * instants.DAY for it in after)
                        for days in WITHIN_DAYS
                    },
                }
