"""What the contract lists, read from it once more: events, types of review, codes and fields."""

from dataclasses import dataclass
from datetime import timedelta

REVIEW_REQUIRED = "regulatory.registration.review.required"
STATUS_OF = {
    "seller.created": "pending_analysis",  # it replaces no other
    "seller.enabled": "enabled",
    "seller.denied": "denied",
    "seller.disabled": "disabled",
    "seller.updated": None,
    "seller.deleted": "deleted",
}
SELLER_EVENTS = tuple(STATUS_OF)
BANK_EVENTS = ("bank_account.associated", "bank_account.deleted")
LISTED_EVENTS = (*SELLER_EVENTS, *BANK_EVENTS, REVIEW_REQUIRED)


@dataclass(frozen=True)
class ReviewType:
    name: str
    total: timedelta
    pends: timedelta
    is_partial: bool


REVIEW_TYPES = {
    "REGISTRATION_REVIEW_REQUIRED": ReviewType("ACP", timedelta(60), timedelta(30), False),
    "INCONSISTENT_DATA_UPDATE_REQUIRED": ReviewType("ACI", timedelta(30), timedelta(0), True),
}
UNKNOWN_TYPE = ReviewType("", timedelta(30), timedelta(0), True)
"""It has the clock of an ACI, and is answered like one."""

REVIEW_STATUSES = ("PENDING", "OVERDUE", "EXPIRED", "FINISHED")
REASONS = (
    "DOCUMENT_VALIDATION",
    "INTERNAL_KYC_POLICY",
    "FRAUD_PREVENTION",
    "REGISTRATION_INCONSISTENCY",
)
DETAILS = (
    "DOCUMENT_NOT_MATCH",
    "DOCUMENT_QUALITY",
    "NAME_INVALID",
    "BIRTH_DATE_INVALID",
    "REGISTRATION_STATUS_INVALID",
)
