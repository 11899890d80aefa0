"""What a person said was erased, by request."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

ERASURE: Final = "erasure"

KIND: Final = Kind(
    ERASURE,
    N_("Erasure"),
    icon=":material/ink_eraser:",
    begins_act=True,
)
