"""A person gave a process to somebody."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import NOTHING_TYPED, Kind

ASSIGNMENT: Final = "assignment"

KIND: Final = Kind(
    ASSIGNMENT,
    N_("Assignment"),
    icon=":material/person_add:",
    typed=NOTHING_TYPED,
    is_in_files=True,
)
