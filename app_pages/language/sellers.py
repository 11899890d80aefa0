"""Puts what the platform says of sellers into words: status, record, denials and their reasons."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from app_pages.language.i18n import N_
from app_pages.language.words import Colour, word

SELLER_STATES: Final[Mapping[str, str]] = {
    "enabled": N_("Enabled"),
    "denied": N_("Denied"),
    "disabled": N_("Blocked"),
    "deleted": N_("Deleted"),
    "pending_analysis": N_("In analysis"),
    "unknown": N_("Unknown"),
}


class Standing(NamedTuple):
    """What a seller's status means, and what to do about it (docs/contract.md#event-list)."""

    meaning: str
    remedy: str


STANDINGS: Final[Mapping[str, Standing]] = {
    "enabled": Standing(
        N_("The seller passed every step and is active. A review that expires can change that."),
        N_("Answer its open reviews in time."),
    ),
    "denied": Standing(
        N_("The platform rejected the seller."),
        N_("Read the reasons below. Where they can be corrected, a new attempt is a new seller."),
    ),
    "disabled": Standing(
        N_("The seller is blocked from new transactions."),
        N_("Look for an expired review below, and ask the platform what lifts the block."),
    ),
    "deleted": Standing(
        N_("The seller has been removed and is no longer accessible."),
        N_("Keep the evidence of its reviews: an auditor can still ask for it."),
    ),
    "pending_analysis": Standing(
        N_("The platform is analysing the seller, which takes up to 3 minutes for 99 % of them."),
        N_("Wait for the result; if it takes much longer, ask the platform."),
    ),
    "unknown": Standing(
        N_("No event says what the platform decided about this seller."),
        N_("Check that the receiver gets the platform's events, or ingest what was missed."),
    ),
}

SELLER_TYPES: Final[Mapping[str, str]] = {
    "individual": N_("individual"),
    "business": N_("business"),
}
SELLER_STATE_COLOURS: Final[Mapping[str, Colour]] = {
    "enabled": "green",
    "denied": "red",
    "disabled": "orange",
    "deleted": "gray",
    "pending_analysis": "blue",
    "unknown": "gray",
}

REASONS: Final[Mapping[str, str]] = {
    "DOCUMENT_VALIDATION": N_("Document"),
    "INTERNAL_KYC_POLICY": N_("Internal policy of the platform"),
    "FRAUD_PREVENTION": N_("Fraud prevention"),
    "REGISTRATION_INCONSISTENCY": N_("Registration data"),
}
DETAILS: Final[Mapping[str, str]] = {
    "DOCUMENT_NOT_MATCH": N_("unreadable, or not the person in the selfie"),
    "DOCUMENT_QUALITY": N_("photo quality too low"),
    "NAME_INVALID": N_("name differs from the tax authority's record"),
    "BIRTH_DATE_INVALID": N_("birth date differs from the official record"),
    "REGISTRATION_STATUS_INVALID": N_("taxpayer number has an irregular status"),
}

# What the platform says of a new onboarding (docs/contract.md#seller-record).
RETRIES: Final[Mapping[bool | None, str]] = {
    True: N_(
        "The reasons can be corrected: a new attempt is possible, as a new seller, with the whole"
        " process repeated."
    ),
    False: N_("The reasons point to no chance of approval in a new process."),
    None: N_("The platform does not say whether a new attempt is possible."),
}
SELLER_RECORD: Final[Mapping[str, str]] = {
    "first_name": N_("First name"),
    "last_name": N_("Last name"),
    "taxpayer_id": N_("Taxpayer id"),
    "document_number": N_("Document"),
    "email": N_("E-mail"),
    "phone_number": N_("Phone"),
    "birthdate": N_("Birth date"),
    "address": N_("Address"),
    "type": N_("Type"),
    "mcc": N_("Merchant category"),
    "revenue": N_("Revenue"),
    "account_balance": N_("Account balance"),
    "current_balance": N_("Current balance"),
    "delinquent": N_("Delinquent"),
    "marketplace_id": N_("Marketplace"),
}


def reason(pair: Mapping[str, str | None]) -> str:
    """A denial's reason, and its detail where it has one."""
    if pair["detail"] is None:
        return word(REASONS, pair["reason"])
    return f"{word(REASONS, pair['reason'])}: {word(DETAILS, pair['detail'])}"
