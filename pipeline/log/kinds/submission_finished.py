"""What became of an attempt."""

from typing import Final

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

SUBMISSION_FINISHED: Final = "submission_finished"

KIND: Final = Kind(
    SUBMISSION_FINISHED,
    N_("Submission answered"),
    is_about_seller=True,
    is_in_files=True,
)
