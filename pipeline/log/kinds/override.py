"""A person overrode a rule of what may be sent."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import NOTHING_TYPED, Kind

OVERRIDE: Final = "override"

KIND: Final = Kind(
    OVERRIDE,
    N_("Rule overridden"),
    icon=":material/gavel:",
    typed=NOTHING_TYPED,
    is_in_files=True,
)
