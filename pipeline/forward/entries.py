"""Makes the entries that say what became of passing on: kind `forwarding`, with a step each."""

import hashlib
from typing import Final

from pipeline.contract.body import JsonValue, canonical_json
from pipeline.forward.progress import Standing, Waiting
from pipeline.log.actions import action
from pipeline.log.entries import Draft, Entry
from pipeline.log.kinds.forwarding import FORWARDING

FORWARDER: Final = "forwarder"


def begun(endpoint: str, position: int, now: int) -> Draft:
    """An endpoint is new: it gets what is recorded after `position`."""
    return _said("begun", endpoint, now, position=position, settled=position)


def report(endpoint: str, row: Standing, settled: int, waiting: int, now: int) -> Draft:
    """How far an endpoint is. `settled`: nothing up to there waits for it. `waiting`: how many
    sellers' deliveries wait behind one that failed."""
    return _said(
        "progress",
        endpoint,
        now,
        position=row.position,
        settled=settled,
        waiting=waiting,
        last_success_us=row.last_success_at,
        failing_since_us=row.failing_since,
    )


def put_back(endpoint: str, position: int, settled: int, now: int) -> Draft:
    """The inbox was not the one that was read, or an endpoint's row was lost: what follows
    `settled` is sent once more."""
    return _said("put_back", endpoint, now, position=settled, settled=settled, was=position)


def died(endpoint: str, letter: Waiting, entry: Entry, now: int) -> Draft:
    """A delivery was given up; recorded once, also where the commit's answer was lost."""
    key = b"dead letter %b %d %d" % (endpoint.encode(), letter.seq, letter.first_tried_at or 0)
    return _ended("dead", endpoint, letter, entry, now, error=letter.error)._replace(
        ingest_key=hashlib.sha256(key + entry.leaf).digest()
    )


def dropped(endpoint: str, letter: Waiting, entry: Entry, why: str, now: int) -> Draft:
    """A delivery waited and is no longer for the endpoint: it is not tried again. Recorded as often
    as that happens, since a person may change the settings to and fro."""
    return _ended("dropped", endpoint, letter, entry, now, why=why)


def _ended(
    step: str, endpoint: str, letter: Waiting, entry: Entry, now: int, **content: JsonValue
) -> Draft:
    """What waited does so no longer; in its seller's and its process's streams."""
    draft = _said(
        step,
        endpoint,
        now,
        seq=letter.seq,
        tries=letter.tries,
        first_tried_us=letter.first_tried_at,
        **content,
    )
    return draft._replace(process_id=entry.process_id, seller_id=entry.seller_id)


def asked(
    step: str,
    endpoint: str,
    *,
    reason: str,
    actor: str | None,
    recorded_by: str,
    entry: Entry | None = None,
    **content: JsonValue,
) -> Draft:
    """What a person asked for: `paused`, `resumed`, `replayed`. `entry`: the delivery that it is
    about, if it is about one. Raises `CallerError` without a name or a reason."""
    return action(
        FORWARDING,
        reason=reason,
        actor=actor,
        recorded_by=recorded_by,
        process_id=None if entry is None else entry.process_id,
        seller_id=None if entry is None else entry.seller_id,
        step=step,
        endpoint=endpoint,
        **content,
    )


def _said(step: str, endpoint: str, now: int, **content: JsonValue) -> Draft:
    known = {name: it for name, it in content.items() if it is not None}
    return Draft(
        kind=FORWARDING,
        occurred_at=now,
        recorded_by=FORWARDER,
        body=canonical_json({"step": step, "endpoint": endpoint, **known}),
    )
