"""What a seller did in a collection journey (docs/rules.md#collection-evidence)."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

COLLECTION: Final = "collection"

KIND: Final = Kind(
    COLLECTION,
    N_("Collection"),
    icon=":material/forum:",
    steps={
        "invited": N_("Seller invited"),
        "opened": N_("Journey opened"),
        "answered": N_("Seller answered"),
        "confirmed": N_("Seller confirmed"),
    },
    is_about_seller=True,
    is_in_files=True,
)
