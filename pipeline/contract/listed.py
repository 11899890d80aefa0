"""The codes that the contract lists; any other is the finding `new_code`. No I/O."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pipeline.contract.event_types import EVENT_TYPES
from pipeline.contract.fields import IDENTITY, paths
from pipeline.contract.review_types import REVIEW_TYPES

STATUSES: Final = ("PENDING", "OVERDUE", "EXPIRED", "FINISHED")
"""Of a review, in the order in which it can have them."""
REASONS: Final = (
    *("DOCUMENT_VALIDATION", "INTERNAL_KYC_POLICY", "FRAUD_PREVENTION"),
    "REGISTRATION_INCONSISTENCY",
)
"""Why a seller was denied."""
DETAILS: Final = (
    *("DOCUMENT_NOT_MATCH", "DOCUMENT_QUALITY", "NAME_INVALID", "BIRTH_DATE_INVALID"),
    "REGISTRATION_STATUS_INVALID",
)
"""What about that reason."""


def listed() -> Iterator[tuple[str, str]]:
    """(one of `KINDS`, the code as the platform writes it) of each."""
    return ((kind, code) for kind, codes in KINDS.items() for code in codes)


KINDS: Final[Mapping[str, Sequence[str]]] = {
    "event type": [it.code for it in EVENT_TYPES],
    "review type": [it.code for it in REVIEW_TYPES],
    "review status": STATUSES,
    "requested path": [*IDENTITY, *paths()],
    "reason": REASONS,
    "detail": DETAILS,
}
"""What a code is -> the codes, as the platform writes them."""
