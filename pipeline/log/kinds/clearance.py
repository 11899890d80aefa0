"""What needs a second person (docs/operations.md#four-eyes): asked, approved or refused."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

CLEARANCE: Final = "clearance"

KIND: Final = Kind(
    CLEARANCE,
    N_("Second person"),
    icon=":material/group:",
    steps={
        "requested": N_("Asked of a second person"),
        "approved": N_("Approved by a second person"),
        "refused": N_("Refused by a second person"),
    },
    shows=("about",),
    typed=frozenset({"what", "shown"}),
)
