"""What a seller did in a collection journey (docs/rules.md#collection-evidence)."""

from typing import TYPE_CHECKING, Final, Literal

from pipeline.language.catalogue import N_
from pipeline.language.codes import CHANNELS
from pipeline.log.kinds import Kind

COLLECTION: Final = "collection"

if TYPE_CHECKING:
    Channel = str
else:
    Channel = Literal[tuple(CHANNELS)]
"""The way in which a seller is reached (docs/rules.md#collection-evidence)."""

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
