"""What a person asks of passing on: how it stands, pause, resume, send once more.

Each wish is an entry in the log, in one commit with the row that the forwarder looks at.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.errors import CallerError
from pipeline.forward import entries, messages, progress
from pipeline.forward.endpoints import Endpoint
from pipeline.forward.progress import Standing, Waiting
from pipeline.inbox import Inbox
from pipeline.inbox.store import Statement
from pipeline.log.actions import By
from pipeline.log.entries import Entry
from pipeline.texts import typed

LONGEST_LAG: Final = 10 * instants.MINUTE
"""Of a delivery that is not passed on: what waits for longer is late."""
_BEHIND: Final = f"""
    select count(*), min(recorded_at) from entries
    where seq > $1 and {messages.IS_DELIVERY}"""
_PAUSE: Final = """
    update forward_endpoints set paused_at = $2 where name = $1 and paused_at is null"""
_RESUME: Final = """
    update forward_endpoints set paused_at = null where name = $1 and paused_at is not null"""
_IS_THERE: Final = "update forward_endpoints set name = name where name = $1"
_ONCE_MORE: Final = f"""
    insert into forward_waiting (endpoint, lane, seq, tries, due_at) values ($1, $2, $3, 0, 0)
    on conflict (endpoint, lane) do update
    set tries = 0, first_tried_at = null, error = null, dead_at = null,
        due_at = case when {progress.WISH} then forward_waiting.due_at + 1 else 0 end"""


class State(NamedTuple):
    """How an endpoint stands. Instants in microseconds."""

    name: str
    row: Standing | None  # None: no forwarder has seen it yet
    is_set: bool  # in the file of endpoints
    behind: int  # live deliveries after its position, whether they are for it or not
    behind_since: int | None  # when the first of them was recorded
    waiting: list[Waiting]  # one for each seller that waits
    dead: list[Waiting]


def states(inbox: Inbox, given: Sequence[Endpoint]) -> list[State]:
    """All endpoints that are set or were once seen, by name. Raises `InboxUnavailable`."""
    rows = progress.standings(inbox)
    names = {it.name for it in given}
    return [_state(inbox, name, rows.get(name), name in names) for name in sorted(names | {*rows})]


def _state(inbox: Inbox, name: str, row: Standing | None, is_set: bool) -> State:
    behind, since = (0, None) if row is None else inbox.query(_BEHIND, row.position)[0]
    waiting, dead = progress.waiting(inbox, name), progress.dead(inbox, name)
    return State(name, row, is_set, behind, since, waiting, dead)


def pause(inbox: Inbox, name: str, by: By) -> None:
    """Has an endpoint get nothing more; what is under way comes to its end. Raises `CallerError`,
    as the others do, for an endpoint that is not known, or a wish that changes nothing."""
    draft = entries.asked("paused", name, **by._asdict())
    if not inbox.change(Statement(_PAUSE, (name, inbox.clock())), drafts=[draft]):
        _check(inbox, name)
        raise CallerError(f"{name} is paused already", "nothing was changed")


def resume(inbox: Inbox, name: str, by: By) -> None:
    """Has a paused endpoint get what has come meanwhile, in order."""
    draft = entries.asked("resumed", name, **by._asdict())
    if not inbox.change(Statement(_RESUME, (name,)), drafts=[draft]):
        _check(inbox, name)
        raise CallerError(f"{name} is not paused", "nothing was changed")


def replay_from(inbox: Inbox, name: str, seq: int, by: By) -> None:
    """Has an endpoint get everything from an entry on once more, in order, what was given up too.
    What comes from now on follows it."""
    is_done = False
    while not is_done:  # until no other command, and no forwarder that begins, comes in between
        row = _check(inbox, name)
        if not 1 <= seq <= inbox.last()[0]:
            raise CallerError(
                f"Nothing was replayed to {name}",
                f"there is no entry {seq} yet: it is at entry {row.position}",
                "name an earlier entry; what follows the position comes by itself",
            )
        # What was sent in the last second is beyond the row's position.
        position = min(seq - 1, row.position)
        settled = min([position, *(it.seq - 1 for it in progress.waiting(inbox, name))])
        draft = entries.asked(
            "replayed", name, **by._asdict(), from_seq=seq, position=position, settled=settled
        )
        is_done = progress.go_back(inbox, name, row, position, draft)


def replay_since(inbox: Inbox, name: str, instant: int, by: By) -> int:
    """The same from an instant on, in microseconds, by when entries were recorded; from which
    entry that is."""
    seq = inbox.last_before(instant) + 1
    replay_from(inbox, name, seq, by)
    return seq


def replay_one(inbox: Inbox, given: Sequence[Endpoint], name: str, seq: int, by: By) -> None:
    """Has an endpoint get one delivery once more, by itself: a dead letter, or any other that is
    for it. `given`: the endpoints that are set, which say what is for whom. Raises `CallerError`
    also for what is not for it, and for an endpoint that is set no longer."""
    _check(inbox, name)
    entry = _for_it(inbox, given, name, seq)
    draft = entries.asked("replayed", name, entry=entry, seq=seq, **by._asdict())
    again = Statement(_ONCE_MORE, (name, messages.alone(seq), seq))
    inbox.change(Statement(_IS_THERE, (name,)), [again], [draft])


def _for_it(inbox: Inbox, given: Sequence[Endpoint], name: str, seq: int) -> Entry:
    what = f"Entry {seq} was not replayed to {name}"
    endpoint = next((it for it in given if it.name == name), None)
    if endpoint is None:
        raise CallerError(
            what,
            "the file of endpoints has no such part any more, and so nothing is for it",
            "add the endpoint to the file that PRAZO_FORWARD_FILE names",
        )
    found = inbox.entry(seq)
    why_not = "there is no such entry"
    if found is not None:
        why_not = messages.why_not_for(found, endpoint) or ""
    if found is None or why_not:
        raise CallerError(
            what,
            f"it is not for {name}: {why_not}",
            f"name a delivery that is: `events` and `redeliveries` of {name} in the file of "
            f"endpoints say which, and {typed('prazo', 'forward', 'dead', name)} names what was"
            " given up",
        )
    return found


def dead(inbox: Inbox, name: str) -> list[Waiting]:
    """What was given up for an endpoint, in order of seq. Raises `CallerError` for one that is not
    known."""
    _check(inbox, name)
    return progress.dead(inbox, name)


def _check(inbox: Inbox, name: str) -> Standing:
    """The endpoint's row; raises `CallerError` where it has none."""
    row = progress.standing(inbox, name)
    if row is None:
        known = ", ".join(progress.standings(inbox)) or "none"
        raise CallerError(
            f"No forwarder has seen an endpoint {name}",
            f"known here: {known}",
            "check the name; a new endpoint is known once `prazo serve` runs with it",
        )
    return row


def readable(instant: int | None) -> str:
    """An instant for people; a dash for none."""
    return "-" if instant is None else instants.readable(instant)
