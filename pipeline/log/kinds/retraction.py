"""A call or letter that was recorded by mistake is taken back (docs/rules.md#seller-notices)."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.actions import By, action
from pipeline.log.entries import Draft
from pipeline.log.kinds import NOTHING_TYPED, Kind

RETRACTION: Final = "retraction"

KIND: Final = Kind(
    RETRACTION,
    N_("Call or letter retracted"),
    icon=":material/undo:",
    typed=NOTHING_TYPED,
    is_in_files=True,
    touches_process=True,
)


def retraction(message_id: str, by: By, *, process_id: str, seller_id: str | None) -> Draft:
    """The draft that takes back a call or letter about a process. Who may do so is judged by who
    records it. Raises `WrongUsage` without a reason or a name."""
    return action(
        RETRACTION,
        **by._asdict(),
        process_id=process_id,
        seller_id=seller_id,
        message_id=message_id,
    )
