"""A package is made."""

from typing import Final

from pipeline.contract.body import JsonValue
from pipeline.language.catalogue import N_
from pipeline.log.actions import action
from pipeline.log.entries import Draft
from pipeline.log.kinds import NOTHING_TYPED, Kind

EXPORT: Final = "export"

KIND: Final = Kind(
    EXPORT,
    N_("Audit export"),
    icon=":material/inventory_2:",
    typed=NOTHING_TYPED,
    begins_act=True,
)


def exporting(
    *,
    reason: str,
    actor: str | None,
    recorded_by: str,
    process_id: str | None,
    seller_id: str | None,
    **content: JsonValue,
) -> Draft:
    """The draft that says: a package is about to be made. `content` fixes what will be in it.

    Raises `WrongUsage` like `action`.
    """
    return action(
        EXPORT,
        reason=reason,
        actor=actor,
        recorded_by=recorded_by,
        process_id=process_id,
        seller_id=seller_id,
        **content,
    )
