"""The log is signed by another key from here on."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

KEY_ROTATION: Final = "key_rotation"

KIND: Final = Kind(
    KEY_ROTATION,
    N_("Signing key rotated"),
    icon=":material/key:",
)
