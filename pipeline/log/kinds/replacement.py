"""A person let an attempt be sent again with another payload."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import NOTHING_TYPED, Kind

REPLACEMENT: Final = "replacement"

KIND: Final = Kind(
    REPLACEMENT,
    N_("Payload replaced"),
    typed=NOTHING_TYPED,
    is_in_files=True,
    touches_process=True,
)
