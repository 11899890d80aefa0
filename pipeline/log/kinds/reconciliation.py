"""The inbox had lost entries; they follow once more."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

RECONCILIATION: Final = "reconciliation"

KIND: Final = Kind(
    RECONCILIATION,
    N_("Lost entries recorded again"),
    icon=":material/merge:",
)
