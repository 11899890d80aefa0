"""A person put back what no signature covers, or said that a copy is the one in use."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

RESTORATION: Final = "restoration"
CONFIRMED: Final = "confirmed"

KIND: Final = Kind(
    RESTORATION,
    N_("Unsigned entries put back"),
    icon=":material/settings_backup_restore:",
    steps={CONFIRMED: N_("Copy confirmed as the one in use")},
)
