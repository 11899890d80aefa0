"""Names the codes of the platform and of the log, as pages, messages and reports say them."""

from collections.abc import Mapping
from typing import Final

from pipeline.language.catalogue import N_

STATES: Final[Mapping[str, str]] = {
    "EXPIRED": N_("EXPIRED · late"),
    "OVERDUE": N_("OVERDUE · in time"),
    "PENDING": N_("PENDING · in time"),
    "FINISHED": N_("FINISHED · done"),
    "UNKNOWN": N_("UNKNOWN · no event"),
}
"""Of a review process: the contract's state, then what it means."""
UNFINISHED: Final = tuple(it for it in STATES if it != "FINISHED")

REVIEW_TYPES: Final[Mapping[str, str]] = {
    "ACP": N_("Periodic update (ACP)"),
    "ACI": N_("Inconsistency (ACI)"),
}
REVIEWS_TO_SELLERS: Final[Mapping[str, str]] = {
    "ACP": N_("Periodic update of your registration"),
    "ACI": N_("Correction of your registration"),
}
"""The same by what a seller has to do: the contract's names say nothing to them."""

FINISHERS: Final[Mapping[str, str]] = {
    "submission": N_("by our submission"),
    "platform": N_("reported by the platform"),
}
"""By what a process is known to be finished."""

OUTCOMES: Final[Mapping[str, str]] = {
    "accepted": N_("Accepted"),
    "invalid_payload": N_("Payload refused"),
    "unauthorized": N_("Credentials refused"),
    "not_found": N_("Not found"),
    "conflict": N_("Conflict"),
    "rate_limited": N_("Too many requests"),
    "platform_error": N_("Platform error"),
    "unexpected_status": N_("Unexpected answer"),
    "timeout": N_("No answer in time"),
    "network_error": N_("Not reached"),
    "tls_refused": N_("Certificate refused"),
    "in_flight": N_("Under way"),
    "unknown": N_("Unknown"),
    "refused": N_("Refused by our rules"),
}
"""Of an attempt."""

INFO: Final = "notice"
"""The severity of what is only to be known."""
PRESSING: Final = ("breach", "risk")
"""The others: somebody has to see to it."""
SEVERITIES: Final[Mapping[str, str]] = {
    "breach": N_("Breach"),
    "risk": N_("Risk"),
    "notice": N_("Info"),
}
"""Of a finding or an alert, the gravest first."""

SELLER_STATES: Final[Mapping[str, str]] = {
    "enabled": N_("Enabled"),
    "denied": N_("Denied"),
    "disabled": N_("Blocked"),
    "deleted": N_("Deleted"),
    "pending_analysis": N_("In analysis"),
    "unknown": N_("Unknown"),
}

SELLER_TYPES: Final[Mapping[str, str]] = {
    "individual": N_("individual"),
    "business": N_("business"),
}

SELLER_RECORD: Final[Mapping[str, str]] = {
    "first_name": N_("First name"),
    "last_name": N_("Last name"),
    "business_name": N_("Business name"),
    "taxpayer_id": N_("Taxpayer id"),
    "ein": N_("Business tax id (ein)"),
    "document_number": N_("Document"),
    "email": N_("E-mail"),
    "business_email": N_("Business e-mail"),
    "phone_number": N_("Phone"),
    "business_phone": N_("Business phone"),
    "birthdate": N_("Birth date"),
    "address": N_("Address"),
    "business_address": N_("Business address"),
    "business_owner": N_("Owner"),
    "type": N_("Type"),
    "mcc": N_("Merchant category"),
    "revenue": N_("Revenue"),
    "account_balance": N_("Account balance"),
    "current_balance": N_("Current balance"),
    "delinquent": N_("Delinquent"),
    "marketplace_id": N_("Marketplace"),
}
"""Columns of the seller's record."""

REASONS: Final[Mapping[str, str]] = {
    "DOCUMENT_VALIDATION": N_("Document"),
    "INTERNAL_KYC_POLICY": N_("Internal policy of the platform"),
    "FRAUD_PREVENTION": N_("Fraud prevention"),
    "REGISTRATION_INCONSISTENCY": N_("Registration data"),
}
"""Of a denial."""

DETAILS: Final[Mapping[str, str]] = {
    "DOCUMENT_NOT_MATCH": N_("unreadable, or not the person in the selfie"),
    "DOCUMENT_QUALITY": N_("photo quality too low"),
    "NAME_INVALID": N_("name differs from the tax authority's record"),
    "BIRTH_DATE_INVALID": N_("birth date differs from the official record"),
    "REGISTRATION_STATUS_INVALID": N_("taxpayer number has an irregular status"),
}
"""Of a denial's reason."""

ROLES: Final[Mapping[str, str]] = {
    "officer": N_("Compliance officer"),
    "analyst": N_("Analyst"),
    "auditor": N_("Auditor"),
    "admin": N_("Administrator"),
}
"""Of people."""

EVENT_TYPES: Final[Mapping[str, str]] = {
    "regulatory.registration.review.required": N_("Review requested"),
    "seller.created": N_("Seller created"),
    "seller.enabled": N_("Seller enabled"),
    "seller.denied": N_("Seller denied"),
    "seller.disabled": N_("Seller disabled"),
    "seller.updated": N_("Seller updated"),
    "seller.deleted": N_("Seller deleted"),
    "bank_account.associated": N_("Bank account associated"),
    "bank_account.deleted": N_("Bank account deleted"),
}

CHANNELS: Final[Mapping[str, str]] = {
    "in_app": N_("in the app"),
    "web_form": N_("web form"),
    "email": N_("e-mail"),
    "push": N_("push notification"),
    "sms": N_("SMS"),
    "chat": N_("chat"),
    "phone": N_("telephone"),
}
"""By which a seller was reached, or an alert sent."""

SELLER_CHANNELS: Final[Mapping[str, str]] = {
    **CHANNELS,
    "whatsapp": N_("WhatsApp"),
    "letter": N_("letter"),
}
"""By which a seller is notified of a review."""

QUEUES: Final[Mapping[str, str]] = {
    "act_now": N_("Act now"),
    "expired": N_("Expired, waiting"),
    "waiting_for_platform": N_("Waiting for the platform"),
    "waiting_for_seller": N_("Waiting for the seller"),
}
"""Whose turn an unfinished process is."""

CALL_OUTCOMES: Final[Mapping[str, str]] = {
    "reached": N_("reached"),
    "left_message": N_("left a message"),
    "no_answer": N_("no answer"),
    "wrong_number": N_("wrong number"),
}
"""Of a call to a seller."""

VIAS: Final[Mapping[str, str]] = {
    "cli": N_("command line"),
    "api": N_("API"),
    "gateway": N_("gateway"),
    "ingested": N_("ingested"),
}
"""By which way a submission was asked for."""

ORIGINS: Final[Mapping[str, str]] = {"live": N_("live"), "ingested": N_("ingested")}
"""How an entry came into the log."""

SOURCES: Final[Mapping[str, str]] = {
    "seller": N_("the seller"),
    "marketplace": N_("the marketplace"),
}
"""Of an answer."""

ERRORS: Final[Mapping[str, str]] = {
    "timeout": N_("no answer in time"),
    "network_error": N_("platform not reached"),
    "tls_refused": N_("certificate refused, nothing sent"),
    "refused": N_("refused by our rules, nothing sent"),
}
"""Why an attempt got no answer; the entry says it in the middle of a line."""

ACTS: Final[Mapping[str, str]] = {
    "override": N_("Override a rule"),
    "unmask": N_("Show personal data of many"),
    "export": N_("Make a full package"),
    "forget": N_("Erase what came of a seller"),
}
"""That may need a second person."""
