"""A person reminded the seller of a collection."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.actions import signed
from pipeline.log.entries import Draft
from pipeline.log.kinds import NOTHING_TYPED, Kind

REMINDED: Final = "reminded"

KIND: Final = Kind(
    REMINDED,
    N_("Seller reminded"),
    icon=":material/notifications_active:",
    shows=("channel",),
    typed=NOTHING_TYPED,
    is_in_files=True,
    touches_process=True,
)


def reminder(
    channel: str, *, actor: str | None, recorded_by: str, process_id: str, seller_id: str | None
) -> Draft:
    """The draft that says: a person reminded the seller of a collection, by one of a collection's
    channels. Raises `WrongUsage` without a name."""
    return signed(
        REMINDED,
        {"channel": channel},
        actor=actor,
        recorded_by=recorded_by,
        process_id=process_id,
        seller_id=seller_id,
        what="reminder",
    )
