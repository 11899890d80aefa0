"""How the schedule of a seller's notices goes on (docs/rules.md#seller-notices)."""

from typing import Final

from pipeline.contract.body import JsonValue, canonical_json
from pipeline.language.catalogue import N_
from pipeline.log.actions import signed
from pipeline.log.entries import Draft
from pipeline.log.kinds import NOTHING_TYPED, Kind

NOTICE_SCHEDULE: Final = "notice_schedule"

KIND: Final = Kind(
    NOTICE_SCHEDULE,
    N_("Schedule of seller notices"),
    icon=":material/schedule_send:",
    steps={
        "started": N_("Schedule of seller notices started"),
        "claimed": N_("Seller notice about to be sent"),
        "held": N_("Schedule of seller notices held"),
        "released": N_("Schedule of seller notices released"),
        "stopped": N_("Schedule of seller notices stopped"),
    },
    typed=NOTHING_TYPED,
    is_in_files=True,
    touches_process=True,
)


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


def claimed(
    rung: str, message_id: str, *, recorded_by: str, process_id: str, seller_id: str
) -> Draft:
    """The draft that says: the message of a rung is about to be sent, by whoever recorded this."""
    return Draft(
        kind=NOTICE_SCHEDULE,
        occurred_at=None,
        recorded_by=recorded_by,
        body=canonical_json({"step": "claimed", "rung": rung, "message_id": message_id}),
        process_id=process_id,
        seller_id=seller_id,
    )
