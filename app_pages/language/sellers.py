"""Puts what the platform says of sellers into words: status, record, denials and their reasons."""

import json
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from app_pages.language import formats
from app_pages.language.code_texts import Colour, word
from app_pages.language.i18n import N_

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
        N_("Answer each of its reviews in time."),
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
OF_BUSINESS: Final[Mapping[str, str]] = {
    "ein": "taxpayer_id",
    "business_email": "email",
    "business_phone": "phone_number",
}
"""What the record of a business carries -> the column that has it where it carries no other."""
_MONEY: Final = frozenset({"account_balance", "current_balance", "revenue"})
_CPF: Final = re.compile(r"(\d{3})(\d{3})(\d{3})(\d{2})", re.ASCII)
_CNPJ: Final = re.compile(r"([0-9A-Z]{2})([0-9A-Z]{3})([0-9A-Z]{3})([0-9A-Z]{4})(\d{2})", re.ASCII)
_CEP: Final = re.compile(r"(\d{5})(\d{3})", re.ASCII)
_LINES: Final = ("line1", "line2", "line3")


def in_record(column: str, value: object) -> str:
    """A value of the seller's record as a Brazilian writes it: tax ids and postal codes with their
    marks, amounts in reais, an address in one line. What has another form is shown as it came."""
    if column == "type":
        return formats.plain(word(SELLER_TYPES, str(value)))
    if column in _MONEY and isinstance(value, int | float):
        return formats.plain(formats.money(value))
    if column in ("taxpayer_id", "ein"):
        return formats.plain(_marked_id(str(value)))
    if column in ("address", "business_address"):
        return formats.plain(_in_one_line(str(value)))
    return formats.value(value)


def _marked_id(number: str) -> str:
    if cpf := _CPF.fullmatch(number):
        return "{}.{}.{}-{}".format(*cpf.groups())
    if cnpj := _CNPJ.fullmatch(number):
        return "{}.{}.{}/{}-{}".format(*cnpj.groups())
    return number


def _in_one_line(address: str) -> str:
    try:
        parts = json.loads(address)
    except ValueError:  # masked
        return address
    if not isinstance(parts, dict) or not all(isinstance(it, str) for it in parts.values()):
        return address
    place = ", ".join(parts[it] for it in ("city", "state") if parts.get(it))
    code = _CEP.fullmatch(parts.get("postal_code", ""))
    postal = "{}-{}".format(*code.groups()) if code else parts.get("postal_code", "")
    lines = [*(parts.get(it, "") for it in _LINES), place, postal, parts.get("country_code", "")]
    return " · ".join(it for it in lines if it)


def reason(pair: Mapping[str, str | None], into: str | None = None) -> str:
    """A denial's reason, and its detail where it has one: in the reader's language, or another."""
    said = word(REASONS, pair["reason"], into)
    return said if pair["detail"] is None else f"{said}: {word(DETAILS, pair['detail'], into)}"
