"""What a person knew of a quarantined delivery."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

SUPPLY: Final = "supply"

KIND: Final = Kind(
    SUPPLY,
    N_("Delivery completed by hand"),
    icon=":material/edit_note:",
    is_about_seller=True,
)
