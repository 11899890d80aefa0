"""An attempt is about to be sent."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

SUBMISSION_STARTED: Final = "submission_started"

KIND: Final = Kind(
    SUBMISSION_STARTED,
    N_("Submission sent"),
    icon=":material/send:",
    is_about_seller=True,
    is_in_files=True,
)
