"""A call or letter that was recorded by mistake is taken back (docs/rules.md#seller-notices)."""

from typing import Final

from pipeline.language.catalogue import N_
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
