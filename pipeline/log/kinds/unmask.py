"""A person saw personal data, and said why."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

UNMASK: Final = "unmask"

KIND: Final = Kind(
    UNMASK,
    N_("Personal data shown"),
    icon=":material/visibility:",
    typed=frozenset({"filters", "contains", "between"}),
    begins_act=True,
)
