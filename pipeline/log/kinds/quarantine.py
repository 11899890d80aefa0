"""A delivery that cannot be read; its bytes are kept."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

QUARANTINE: Final = "quarantine"

KIND: Final = Kind(
    QUARANTINE,
    N_("Delivery quarantined"),
    icon=":material/block:",
    is_about_seller=True,
)
