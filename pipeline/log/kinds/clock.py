"""A clock jumped, or is believed again."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

CLOCK: Final = "clock"

KIND: Final = Kind(
    CLOCK,
    N_("Clock jumped or believed again"),
    icon=":material/schedule:",
)
