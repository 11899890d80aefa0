"""Deliveries turned away unread (docs/rules.md#deliveries), with a count."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

REJECTION: Final = "rejection"

KIND: Final = Kind(
    REJECTION,
    N_("Deliveries turned away"),
)
