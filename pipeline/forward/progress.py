"""Keeps how far each endpoint is, in tables beside the log, and reads it back.

Every write is one commit, with the entries that say the same in the log. It is fenced by the
endpoint's generation: a process that takes over, or goes back, makes it grow, and one that had read
the row before writes nothing more.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pipeline.inbox import Inbox
from pipeline.inbox.store import Statement
from pipeline.log.entries import LIVE, Draft
from pipeline.log.kinds.forwarding import FORWARDING

_STANDING: Final = """
    select name, generation, position, leaf, paused_at, last_success_at, failing_since,
        reported_at, reported_position
    from forward_endpoints"""
_WAITING: Final = """
    select lane, seq, tries, first_tried_at, due_at, error, dead_at from forward_waiting
    where endpoint = $1"""
_BEGIN: Final = """
    insert into forward_endpoints
        (name, generation, position, leaf, reported_at, reported_position)
    values ($1, 1, $2, $3, $4, $2)
    on conflict (name) do nothing"""
_TAKE_OVER: Final = "update forward_endpoints set generation = generation + 1 where name = $1"
_GO_BACK: Final = """
    update forward_endpoints
    set generation = generation + 1, position = $2, leaf = $3, failing_since = null
    where name = $1 and generation = $4"""
_SAVE: Final = """
    update forward_endpoints
    set position = $3, leaf = $4, last_success_at = $5, failing_since = $6, reported_at = $7,
        reported_position = $8
    where name = $1 and generation = $2"""
WISH: Final = """
    forward_waiting.tries = 0 and forward_waiting.first_tried_at is null
    and forward_waiting.dead_at is null and forward_waiting.lane like 'entry %'"""
"""Says of a row that a command wants a delivery sent once more, and nobody has tried since. Its
`due_at` is then the wish's number: one that is asked for while its predecessor stands is another.
"""
_KEEP: Final = f"""
    insert into forward_waiting
        (endpoint, lane, seq, tries, first_tried_at, due_at, error, dead_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8)
    on conflict (endpoint, lane) do update
    set seq = excluded.seq, tries = excluded.tries, first_tried_at = excluded.first_tried_at,
        due_at = excluded.due_at, error = excluded.error, dead_at = excluded.dead_at
    where not ({WISH} and forward_waiting.due_at <> $9)"""
_DROP: Final = f"""
    delete from forward_waiting
    where endpoint = $1 and lane = $2 and not ({WISH} and due_at <> $3)"""
_NONE: Final = -1
"""The number of no wish."""
_DROP_AFTER: Final = "delete from forward_waiting where endpoint = $1 and seq > $2"
_NEWEST_FIRST: Final = f"""
    select seq, body, record from entries
    where kind = '{FORWARDING}' and origin = '{LIVE}' and seq < $1
    order by seq desc limit 500"""


class Standing(NamedTuple):
    """An endpoint's row. Instants in microseconds."""

    generation: int
    position: int
    leaf: bytes | None
    paused_at: int | None
    last_success_at: int | None
    failing_since: int | None
    reported_at: int
    reported_position: int


class Waiting(NamedTuple):
    """A delivery that has failed, or comes after one that had; the seller's later ones wait too."""

    lane: str
    seq: int
    tries: int
    first_tried_at: int | None
    due_at: int
    error: str | None
    dead_at: int | None = None


def standings(inbox: Inbox) -> dict[str, Standing]:
    """The rows of all endpoints that there ever were, by name."""
    return {name: Standing._make(row) for name, *row in inbox.query(f"{_STANDING} order by name")}


def standing(inbox: Inbox, name: str) -> Standing | None:
    """An endpoint's row, if there is one."""
    rows = inbox.query(f"{_STANDING} where name = $1", name)
    return Standing._make(rows[0][1:]) if rows else None


def waiting(inbox: Inbox, name: str) -> list[Waiting]:
    """What waits for another try, in order of seq."""
    rows = inbox.query(f"{_WAITING} and dead_at is null order by seq", name)
    return [Waiting._make(row) for row in rows]


def dead(inbox: Inbox, name: str) -> list[Waiting]:
    """What was given up, in order of seq."""
    rows = inbox.query(f"{_WAITING} and dead_at is not null order by seq", name)
    return [Waiting._make(row) for row in rows]


def asked_for(inbox: Inbox, name: str) -> list[Waiting]:
    """What a command wants sent once more, and nobody has tried since."""
    rows = inbox.query(f"{_WAITING} and {WISH} order by seq", name)
    return [Waiting._make(row) for row in rows]


def begin(inbox: Inbox, name: str, position: int, now: int, draft: Draft) -> bool:
    """Makes the row of an endpoint that has none, and records that; false where one was faster."""
    claim = Statement(_BEGIN, (name, position, inbox.leaf(position), now))
    return inbox.change(claim, drafts=[draft])


def take_over(inbox: Inbox, name: str) -> None:
    """Fences off processes that read the endpoint's row before."""
    inbox.execute(_TAKE_OVER, name)


def go_back(inbox: Inbox, name: str, row: Standing, position: int, draft: Draft) -> bool:
    """Has an endpoint get everything after a position once more, and records that. What waits there
    and the dead letters are among it. False where its row has another generation by now than
    `row`: then nothing was done."""
    claim = Statement(_GO_BACK, (name, position, inbox.leaf(position), row.generation))
    return inbox.change(claim, [Statement(_DROP_AFTER, (name, position))], [draft])


def save(
    inbox: Inbox,
    name: str,
    row: Standing,
    lanes: Mapping[str, Waiting | None],
    wishes: Mapping[str, int],
    drafts: Sequence[Draft],
) -> bool:
    """Writes an endpoint's row, and what changed among what waits (None: it no longer does).
    `wishes`: those of these lanes that were heard, by their numbers; one that came since stays.

    False where the row has another generation by now: then nothing was written.
    """
    values = (
        *(name, row.generation, row.position, row.leaf, row.last_success_at, row.failing_since),
        *(row.reported_at, row.reported_position),
    )
    besides = [
        Statement(_DROP, (name, lane, wishes.get(lane, _NONE)))
        if letter is None
        else Statement(_KEEP, (name, *letter, wishes.get(lane, _NONE)))
        for lane, letter in lanes.items()
    ]
    return inbox.change(Statement(_SAVE, values), besides, drafts)


class Said(NamedTuple):
    """What the log last said of an endpoint, but for its position."""

    is_failing: bool = False
    waiting: int = 0


def last_said(inbox: Inbox, name: str) -> Said:
    """Whether an endpoint fails and how much waits for it, as the newest `progress` says."""
    for said in _in_log(inbox, name):
        if said["step"] == "progress":
            return Said("failing_since_us" in said, int(said["waiting"]))
    return Said()


def settled_in_log(inbox: Inbox, name: str) -> int | None:
    """Up to where the log says that nothing waits for an endpoint; None where it names none.

    That is where to go on from when its row was lost: what was sent since is sent once more.
    """
    return next((int(it["settled"]) for it in _in_log(inbox, name) if "settled" in it), None)


def _in_log(inbox: Inbox, name: str) -> Iterator[dict[str, Any]]:
    """What entries say of an endpoint, the newest first. What a reconciliation recorded again does
    not count: its numbers are those of the past that ended."""
    before = 2**62
    while rows := inbox.query(_NEWEST_FIRST, before):
        for _, body, record in rows:
            said = json.loads(body)
            is_of_another_past = record is not None and "was_seq" in json.loads(record)
            if said.get("endpoint") == name and not is_of_another_past:
                yield said
        before = rows[-1][0]
