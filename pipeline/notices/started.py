"""Says whether the schedule runs, and records what people decide about it.

It runs where a person started it, and nowhere else: a copy of the log, a restored or a rehearsed
one sends nothing until somebody starts it there. What says so stands beside the log, where no
backup takes it, with the place at which the inbox was then.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

from pipeline.errors import CallerError, WrongUsage
from pipeline.inbox import Inbox
from pipeline.inbox.store import Statement
from pipeline.log.actions import UNDONE
from pipeline.log.entries import LIVE, Entry, content_of
from pipeline.log.kinds.notice_schedule import NOTICE_SCHEDULE, decided, wish_in
from pipeline.notices import ladders
from pipeline.notices.ladders import Ladders
from pipeline.texts import is_blank

_NAME: Final = "seller notices by the schedule"
_HERE: Final = """
    insert into leases (name, number, holder, held_until) values ($1, 1, $2, 0)
    on conflict (name) do update set number = leases.number + 1, holder = excluded.holder"""
_WHERE: Final = "select holder from leases where name = $1"
_STILL_HERE: Final = "update leases set holder = holder where name = $1 and holder = $2"
_IS_LATEST: Final = """
    update meta set value = value
    where name = 'log' and $3 = (
        select max(seq) from entries where seller_id = $1 and kind = $2 and process_id is null)"""
_NOT_HERE: Final = "delete from leases where name = $1"


def _place_of(inbox: Inbox) -> str:
    """A digest of where the inbox is: another for a copy of it."""
    return hashlib.sha256(f"{inbox.log} {inbox.stands()}".encode()).hexdigest()


def is_started(inbox: Inbox) -> bool:
    """Whether a person started the schedule here, and nobody stopped it. Raises
    `InboxUnavailable`."""
    name, place = row(inbox)
    rows = inbox.query(_WHERE, name)
    return bool(rows) and rows[0][0] == place


def row(inbox: Inbox) -> tuple[str, str]:
    """The name and the holder of the lease that stands in the inbox while it `is_started`."""
    return _NAME, _place_of(inbox)


def while_started(inbox: Inbox) -> Statement:
    """What changes a row only while it `is_started`: a claim on whatever is recorded with it."""
    return Statement(_STILL_HERE, row(inbox))


def start(
    inbox: Inbox, rungs: Ladders, *, actor: str | None, recorded_by: str, backlog: bool
) -> int:
    """Starts the schedule here, with these rungs; the seq of the entry. `backlog`: also for
    processes that came before. Raises `WrongUsage` without a name, and `InboxUnavailable`."""
    draft = decided(
        "started",
        actor=actor,
        recorded_by=recorded_by,
        backlog=backlog,
        schedules=ladders.said(rungs),
    )
    [receipt] = inbox.append([draft], claim=Statement(_HERE, row(inbox)))
    assert receipt.entry is not None
    return receipt.entry.seq


def stop(inbox: Inbox, *, actor: str | None, recorded_by: str) -> int:
    """Stops it for all; the seq of the entry. Raises `CallerError` where it does not run, and as
    `start` does."""
    draft = decided("stopped", actor=actor, recorded_by=recorded_by)
    [receipt] = inbox.append([draft], claim=Statement(_NOT_HERE, (_NAME,)))
    if receipt.entry is None:
        raise CallerError(
            "The schedule was not stopped",
            "nobody has started it here",
            "`prazo notices status` says how it stands",
        )
    return receipt.entry.seq


def kept_back(inbox: Inbox) -> list[Entry]:
    """The entries by which the schedule is held or stopped for a seller or a process now: of each a
    person's and the seller's own wish, since neither takes the place of the other. Raises
    `InboxUnavailable`."""
    standing, wished = dict[tuple[str, bool], Entry](), set[str]()
    for entry in _by_time(inbox.find(kind=NOTICE_SCHEDULE)):
        about, step = entry.seller_id or entry.process_id, content_of(entry).get("step")
        is_live = entry.origin == LIVE
        if about is not None and step in ("held", "stopped"):
            key = about, (wish := wish_in([entry])) is not None
            if wish is None or key not in standing or wish_in([standing[key]]) != "not_me":
                standing[key] = entry
            if is_live and wish is not None:
                wished.add(about)
        elif about is not None and step == "released" and (is_live or about not in wished):
            standing = {key: it for key, it in standing.items() if key[0] != about}
            wished.discard(about)
    return [*standing.values()]


def hold(
    inbox: Inbox,
    seller_id: str,
    *,
    is_held: bool,
    actor: str | None,
    recorded_by: str,
    reason: str | None = None,
) -> int:
    """Holds the schedule for one seller, or releases it; the seq of the entry. Raises `CallerError`
    for a seller whom nothing names, `WrongUsage` for a release without a reason where the seller
    ended it, and as `start` does."""
    if not inbox.find(seller_id=seller_id):
        raise CallerError(
            "Nothing was recorded",
            "nothing in the log names this seller",
            "give the seller's id as the platform does",
        )
    if not is_held and is_blank(reason):
        wish = wish_in(inbox.find(seller_id=seller_id, kind=NOTICE_SCHEDULE))
        if wish is not None:
            raise WrongUsage(
                "The schedule was not released",
                f"the seller ended it themselves ({wish})",
                "give a reason, as what they said when somebody called",
            )
    step = "held" if is_held else "released"
    said = {} if is_blank(reason) else {"reason": reason}
    draft = decided(step, actor=actor, recorded_by=recorded_by, seller_id=seller_id, **said)
    [receipt] = inbox.append([draft])
    assert receipt.entry is not None
    return receipt.entry.seq


def undo_hold(
    inbox: Inbox, seller_id: str, seq: int, *, actor: str | None, recorded_by: str
) -> bool:
    """Takes back what entry `seq` decided of one seller: what stood before it stands again. False
    where something was decided since, as by the seller: then nothing is recorded. Raises
    `WrongUsage` without a name, and `InboxUnavailable`."""
    decisions = [
        entry
        for entry in _by_time(inbox.find(seller_id=seller_id, kind=NOTICE_SCHEDULE))
        if entry.process_id is None and entry.seq < seq
    ]
    before = content_of(decisions[-1]) if decisions else {}
    if (wish := wish_in(decisions)) is not None:  # a hold after it says nothing of it
        before = {"step": "stopped", "reason": wish}
    step, reason = before.get("step"), before.get("reason")
    if step not in ("held", "stopped"):
        step, reason = "released", UNDONE
    said = {} if reason is None else {"reason": reason}
    draft = decided(step, actor=actor, recorded_by=recorded_by, seller_id=seller_id, **said)
    claim = Statement(_IS_LATEST, (seller_id, NOTICE_SCHEDULE, seq))
    [receipt] = inbox.append([draft], claim=claim)
    return receipt.entry is not None


def _by_time(entries: Iterable[Entry]) -> list[Entry]:
    """In the order in which it was decided, as the views have it: a file may bring it later."""
    return sorted(entries, key=lambda entry: (entry.occurred_at, entry.seq))
