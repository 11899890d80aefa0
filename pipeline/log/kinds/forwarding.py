"""What became of deliveries that are passed on."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

FORWARDING: Final = "forwarding"

KIND: Final = Kind(
    FORWARDING,
    N_("Passing on to an endpoint"),
    icon=":material/forward:",
)
