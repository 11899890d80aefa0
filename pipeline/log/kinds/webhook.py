"""A delivery of the platform that can be read."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

WEBHOOK: Final = "webhook"

KIND: Final = Kind(
    WEBHOOK,
    N_("Delivery"),
    icon=":material/webhook:",
    is_about_seller=True,
    is_in_files=True,
)
