"""Puts what the platform says of sellers into words: status, record, denials and their reasons."""

import json
import re
from collections.abc import Mapping
from datetime import date
from typing import Final, NamedTuple

from app_pages.language import formats
from app_pages.language.code_texts import Colour, word
from app_pages.language.i18n import N_
from pipeline.language import codes
from pipeline.language.catalogue import Language


class Standing(NamedTuple):
    """What a seller's status means, and what to do about it (docs/contract.md#event-list)."""

    meaning: str
    remedy: str


STANDINGS: Final[Mapping[str, Standing]] = {
    "enabled": Standing(
        N_("The seller passed every step and is active. A review that expires can change that."),
        N_("Have each of its reviews answered in time."),
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
        N_("The platform is analysing the seller, which takes up to 3 minutes for 99% of them."),
        N_("Wait for the result; if it takes much longer, ask the platform."),
    ),
    "unknown": Standing(
        N_("No event says what the platform decided about this seller."),
        N_(
            "Answer its reviews all the same, and ask whoever runs Prazo to look for what the"
            " platform sent of it."
        ),
    ),
}
EXPIRED: Final = Standing(
    N_(
        "The seller is still active. A review has expired: the seller can be exposed to regulatory"
        " penalties, up to a block of cash-in and cash-out."
    ),
    N_("Have what expired answered now: the platform still accepts it."),
)
"""Of a seller who is enabled with a review that expired."""

SELLER_STATE_COLOURS: Final[Mapping[str, Colour]] = {
    "enabled": "green",
    "denied": "red",
    "disabled": "orange",
    "deleted": "gray",
    "pending_analysis": "blue",
    "unknown": "gray",
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
OF_BUSINESS: Final[Mapping[str, str]] = {
    "ein": "taxpayer_id",
    "business_email": "email",
    "business_phone": "phone_number",
}
"""What the record of a business carries -> the column that has it where it carries no other."""
_PHONES: Final = frozenset({"phone_number", "business_phone"})
_PHONE: Final = re.compile(r"\+?[0-9][0-9 ()./-]{7,20}")
_NOT_DIALLED: Final = re.compile(r"[^+0-9]")
_DAY: Final = re.compile(r"[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d)", re.ASCII)
"""A day that every month has; another one is shown as it came."""
_MONEY: Final = frozenset({"account_balance", "current_balance", "revenue"})
_CPF: Final = re.compile(r"(\d{3})(\d{3})(\d{3})(\d{2})", re.ASCII)
_CNPJ: Final = re.compile(r"([0-9A-Z]{2})([0-9A-Z]{3})([0-9A-Z]{3})([0-9A-Z]{4})(\d{2})", re.ASCII)
_CEP: Final = re.compile(r"(\d{5})(\d{3})", re.ASCII)
_LINES: Final = ("line1", "line2", "line3")


def in_record(column: str, value: object) -> str:
    """A value of the seller's record as a Brazilian writes it: tax ids and postal codes with their
    marks, amounts in reais, an address in one line. What has another form is shown as it came."""
    if column == "birthdate" and _DAY.fullmatch(str(value)):
        return formats.day(date.fromisoformat(str(value)))
    if column == "type":
        return formats.plain(word(codes.SELLER_TYPES, str(value)))
    if column in _MONEY and isinstance(value, int | float):
        return formats.plain(formats.money(value))
    if column in _PHONES and _PHONE.fullmatch(str(value)):
        number = str(value)
        return f"[{formats.plain(number)}](tel:{_NOT_DIALLED.sub('', number)})"
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


def reason(pair: Mapping[str, str | None], into: Language | None = None) -> str:
    """A denial's reason, and its detail where it has one: in the reader's language, or another."""
    said = word(codes.REASONS, pair["reason"], into)
    return (
        said if pair["detail"] is None else f"{said}: {word(codes.DETAILS, pair['detail'], into)}"
    )
