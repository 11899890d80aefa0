"""A person reminded the seller of a collection, as it was recorded before there were seller notices
(docs/rules.md#seller-notices)."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import NOTHING_TYPED, Kind

REMINDED: Final = "reminded"

KIND: Final = Kind(
    REMINDED,
    N_("Seller asked again"),
    icon=":material/notifications_active:",
    shows=("channel",),
    typed=NOTHING_TYPED,
    is_in_files=True,
    touches_process=True,
)
