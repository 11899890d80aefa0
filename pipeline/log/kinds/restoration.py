"""A person put back what no signature covers."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

RESTORATION: Final = "restoration"

KIND: Final = Kind(
    RESTORATION,
    N_("Unsigned entries put back"),
    icon=":material/settings_backup_restore:",
)
