"""A search by part of a personal value, with its count and the sellers it hit."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

SEARCH: Final = "search"

KIND: Final = Kind(
    SEARCH,
    N_("Search by part of a name or an address"),
    icon=":material/person_search:",
    typed=frozenset({"sought"}),
    begins_act=True,
)
