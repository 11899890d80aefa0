"""How the schedule of a seller's notices goes on (docs/rules.md#seller-notices)."""

from typing import Final

from pipeline.language.catalogue import N_
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
