"""How the schedule of a seller's notices goes on (docs/rules.md#seller-notices)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, get_args

from pipeline.contract.body import JsonValue, canonical_json
from pipeline.language.catalogue import N_
from pipeline.log.actions import signed
from pipeline.log.entries import LIVE, Draft, Entry, content_of
from pipeline.log.kinds import NOTHING_TYPED, Kind
from pipeline.log.kinds.seller_notice import ADDRESS, ARTIFACTS, COMMITMENT, PHONE

NOTICE_SCHEDULE: Final = "notice_schedule"
Wish = Literal["stop_writing", "not_me"]
"""Why a seller ends the schedule."""
WISHES: Final = get_args(Wish)

RUNGS: Final[Sequence[Mapping[str, int]]] = (
    *({"after": days} for days in (0, 7, 14, 25, 28)),
    {"late": 3},
)
"""Ours, in days: of a type of review for which nobody wrote any. An entry of a start has its
own, in hours."""

KIND: Final = Kind(
    NOTICE_SCHEDULE,
    N_("Schedule of seller notices"),
    icon=":material/schedule_send:",
    steps={
        "started": N_("Schedule of seller notices started"),
        "claimed": N_("Seller notice or call due"),
        "held": N_("Schedule of seller notices held"),
        "released": N_("Schedule of seller notices released"),
        "stopped": N_("Schedule of seller notices stopped"),
    },
    typed=NOTHING_TYPED,
    of_seller=frozenset({ADDRESS, ARTIFACTS, COMMITMENT}),
    names_artifacts=True,
    is_in_files=True,
    touches_process=True,
)


def macros() -> str:
    """SQL of the macro that gives our rungs, as a start would have them in its entry."""
    rungs = [{word: 24 * days for word, days in each.items()} for each in RUNGS]
    return f"create or replace macro our_schedules() as '{json.dumps([{'rungs': rungs}])}';"


def decided(
    step: str,
    *,
    actor: str | None,
    recorded_by: str,
    seller_id: str | None = None,
    process_id: str | None = None,
    **content: JsonValue,
) -> Draft:
    """The draft that says what a person decides about the schedule, for all or for one seller.
    Raises `WrongUsage` without a name."""
    return signed(
        NOTICE_SCHEDULE,
        {"step": step, **content},
        actor=actor,
        recorded_by=recorded_by,
        process_id=process_id,
        seller_id=seller_id,
        what="schedule of seller notices",
    )


def wished(wish: Wish, *, journey_id: str, recorded_by: str, seller_id: str) -> Draft:
    """The draft that says: whoever holds a link of the seller wants no more messages, or is not the
    seller."""
    said: JsonValue = {"step": "stopped", "reason": wish, "journey_id": journey_id}
    return Draft(
        kind=NOTICE_SCHEDULE,
        occurred_at=None,
        recorded_by=recorded_by,
        body=canonical_json(said),
        seller_id=seller_id,
    )


def wish_in(entries: Iterable[Entry]) -> Wish | None:
    """What a seller has wished, by the entries about their schedule; None where they have not, or a
    person has released it since. Whoever is not the seller stays so, whatever else they press. What
    a file says ends no wish that was recorded here."""
    wish: Wish | None = None
    is_from_here = False
    for entry in sorted(entries, key=lambda one: (one.occurred_at, one.seq)):
        said = content_of(entry)
        if said.get("step") == "released":
            if entry.origin == LIVE or not is_from_here:
                wish, is_from_here = None, False
        elif said.get("step") == "stopped" and said.get("reason") in WISHES:
            if wish != "not_me":
                wish = next(it for it in WISHES if it == said["reason"])
            is_from_here |= entry.origin == LIVE
    return wish


def claimed(
    rung: str,
    message_id: str,
    repeat: Mapping[str, JsonValue] = MappingProxyType({}),
    *,
    recorded_by: str,
    process_id: str,
    seller_id: str,
) -> Draft:
    """The draft that says: the message of a rung is about to be sent, by whoever recorded this.
    `repeat`: what is known of the message where it goes once more, with words and links of its
    own."""
    said: dict[str, JsonValue] = {**repeat, "rung": rung, "message_id": message_id}
    return _claim(said, recorded_by=recorded_by, process_id=process_id, seller_id=seller_id)


def to_call(
    rung: str, why: str | None, *, recorded_by: str, process_id: str, seller_id: str
) -> Draft:
    """The draft that asks a person to call. `why`: what keeps the rung's message back; None where
    the rung itself asks for the call."""
    said: dict[str, JsonValue] = {"rung": rung, "channel": PHONE}
    if why is not None:
        said["reason"] = why
    return _claim(said, recorded_by=recorded_by, process_id=process_id, seller_id=seller_id)


def _claim(
    said: dict[str, JsonValue], *, recorded_by: str, process_id: str, seller_id: str
) -> Draft:
    return Draft(
        kind=NOTICE_SCHEDULE,
        occurred_at=None,
        recorded_by=recorded_by,
        body=canonical_json({"step": "claimed", **said}),
        process_id=process_id,
        seller_id=seller_id,
    )
