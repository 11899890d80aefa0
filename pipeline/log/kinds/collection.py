"""What a seller did in a collection journey (docs/rules.md#collection-evidence)."""

from collections.abc import Mapping
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
    names_artifacts=True,
    is_in_files=True,
)

ADDED: Final = "added"
STEPS: Final = {**KIND.steps, ADDED: N_("Evidence added")}
"""What people read for a step, by `shown_as`."""


def shown_as(entry: Mapping[str, object]) -> str:
    """Which of `STEPS` an entry is, by its `step` and `source`. A `confirmed` that is not the
    seller's confirms nothing: our journey keeps the receipt and pictures of screens by one
    (docs/journey.md#evidence)."""
    is_added = entry["step"] == "confirmed" and entry["source"] != "seller"
    return ADDED if is_added else str(entry["step"])


def is_suspect(entry: Mapping[str, object]) -> bool:
    """Whether an answer is not the seller's, or anything comes from neither of both sides."""
    if entry["step"] == "answered":
        return entry["source"] != "seller"
    return entry["source"] not in ("seller", "marketplace")
