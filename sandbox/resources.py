"""Defines what the platform stores about sellers and review processes, and their JSON.

Bodies follow the contract's tables field by field, in the same order. If the contract shows no body
(bank accounts, a seller before analysis), the shape is the sandbox's own and resembles the others.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sandbox.clock import DAY, offset_text, utc_text
from sandbox.people import Address, Profile

Json = dict[str, Any]
ReviewType = str  # a key of REVIEW_TYPES
ReviewStatus = Literal["PENDING", "OVERDUE", "EXPIRED", "FINISHED"]
SellerStatus = Literal["pending", "enabled", "denied", "disabled", "deleted"]


@dataclass(frozen=True)
class Terms:
    """What the platform asks by a type of review, and how long it gives."""

    code: str
    days: int
    pending_days: int  # its first days; in the others it is OVERDUE
    is_whole: bool  # asks for the whole registration; else for the requested fields alone


REVIEW_TYPES: dict[ReviewType, Terms] = {
    "ACP": Terms("REGISTRATION_REVIEW_REQUIRED", 60, 30, is_whole=True),
    "ACI": Terms("INCONSISTENT_DATA_UPDATE_REQUIRED", 30, 0, is_whole=False),
}

ADDRESS_FIELDS = ("line1", "line2", "line3", "city", "state", "postal_code", "country_code")
INDIVIDUAL_FIELDS = ("revenue", *(f"address.{name}" for name in ADDRESS_FIELDS))
BUSINESS_FIELDS = (
    *INDIVIDUAL_FIELDS,
    "owner.revenue",
    *(f"owner.address.{name}" for name in ADDRESS_FIELDS),
)


@dataclass(frozen=True)
class Reason:
    """Why a seller was denied; `detail` is None for the reasons that have none."""

    reason: str
    detail: str | None = None


# Every combination of the contract, and whether a new onboarding could correct it.
DENIAL_REASONS: dict[Reason, bool] = {
    Reason("DOCUMENT_VALIDATION", "DOCUMENT_NOT_MATCH"): True,
    Reason("DOCUMENT_VALIDATION", "DOCUMENT_QUALITY"): True,
    Reason("INTERNAL_KYC_POLICY"): False,
    Reason("FRAUD_PREVENTION"): False,
    Reason("REGISTRATION_INCONSISTENCY", "NAME_INVALID"): True,
    Reason("REGISTRATION_INCONSISTENCY", "BIRTH_DATE_INVALID"): True,
    Reason("REGISTRATION_INCONSISTENCY", "REGISTRATION_STATUS_INVALID"): False,
}


@dataclass(frozen=True)
class Verdict:
    """The end of an analysis: enabled, or denied for `reasons`."""

    reasons: tuple[Reason, ...] = ()
    retry: bool = False

    @property
    def is_enabled(self) -> bool:
        return not self.reasons


ENABLED = Verdict()


def denied(*reasons: Reason) -> Verdict:
    """A denial. One reason that cannot be corrected makes a new attempt pointless."""
    return Verdict(reasons, retry=all(DENIAL_REASONS[reason] for reason in reasons))


@dataclass(frozen=True)
class BankAccount:
    account_id: str
    seller_id: str
    bank_code: str
    routing_number: str
    account_number: str
    created_at: int


@dataclass
class Seller:
    seller_id: str
    profile: Profile
    status: SellerStatus
    created_at: int
    updated_at: int
    balance: float = 0.0
    is_under_analysis: bool = False
    verdict: Verdict | None = None  # how the analysis ended, or will end if that is decided already
    bank_accounts: dict[str, BankAccount] = field(default_factory=dict)


@dataclass
class Process:
    process_id: str
    seller_id: str
    review_type: ReviewType
    opened_at: int
    deadline_at: int
    requested_fields: tuple[str, ...]
    status: ReviewStatus
    finished_at: int | None = None
    last_report: "Event | None" = None

    @property
    def overdue_at(self) -> int:
        """When the process becomes OVERDUE: after its days of PENDING, even if the deadline was
        moved, or earlier if fewer days are left than those after them."""
        terms = REVIEW_TYPES[self.review_type]
        if not terms.pending_days:
            return self.opened_at
        pending_until = self.opened_at + terms.pending_days * DAY
        tolerance = (terms.days - terms.pending_days) * DAY
        return max(self.opened_at, min(pending_until, self.deadline_at - tolerance))

    def status_at(self, now: int) -> ReviewStatus:
        if self.finished_at is not None and self.finished_at <= now:
            return "FINISHED"
        if now >= self.deadline_at:
            return "EXPIRED"
        return "OVERDUE" if now >= self.overdue_at else "PENDING"


@dataclass(frozen=True)
class Event:
    """One webhook event: `body` is the exact bytes, the same at every redelivery."""

    event_id: str
    event_type: str
    created_at: int
    body: bytes
    seller_id: str
    process_id: str | None = None


def event(
    event_id: str,
    event_type: str,
    created_at: int,
    subject: Json,
    *,
    seller_id: str,
    process_id: str | None = None,
) -> Event:
    """An event around `subject`, its `payload.object`."""
    envelope = {
        "id": event_id,
        "type": event_type,
        "created_at": utc_text(created_at),
        "payload": {"object": subject},
    }
    return Event(event_id, event_type, created_at, to_bytes(envelope), seller_id, process_id)


def to_bytes(document: Json) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def review_object(process: Process, status: ReviewStatus) -> Json:
    return {
        "type": REVIEW_TYPES[process.review_type].code,
        "process_id": process.process_id,
        "customer_id": process.seller_id,
        "status": status,
        "deadline_at": utc_text(process.deadline_at),
        "requested_fields": list(process.requested_fields),
    }


def seller_record(seller: Seller, marketplace_id: str) -> Json:
    """Every field of the contract's seller record; only a denied seller has the last two."""
    who = seller.profile
    record: Json = {
        "id": seller.seller_id,
        "status": seller.status,
        "resource": "seller",
        "account_balance": seller.balance,
        "current_balance": seller.balance,
        "first_name": who.first_name,
        "last_name": who.last_name,
        "email": who.email,
        "taxpayer_id": who.taxpayer_id,
        "phone_number": who.phone_number,
        "birthdate": who.birthdate,
        "address": _record_address(who.address),
        "mcc": who.mcc,
        "show_profile_online": seller.status == "enabled",
        "is_mobile": who.type == "individual",
        "decline_on_fail_security_code": True,
        "decline_on_fail_zipcode": False,
        "delinquent": False,
        "marketplace_id": marketplace_id,
        "uri": f"/v1/marketplaces/{marketplace_id}/sellers/{seller.seller_id}",
        "metadata": {} if who.trade_name is None else {"trade_name": who.trade_name},
        "created_at": offset_text(seller.created_at),
        "updated_at": offset_text(seller.updated_at),
        "revenue": middle_of_band(who.revenue),
        "type": who.type,
        "document_number": who.document_number,
    }
    if seller.status == "denied" and seller.verdict is not None:
        record["decision_reasons"] = [_decision_reason(r) for r in seller.verdict.reasons]
        record["retry"] = seller.verdict.retry
    return record


def bank_account_record(account: BankAccount) -> Json:
    return {
        "id": account.account_id,
        "resource": "bank_account",
        "customer_id": account.seller_id,
        "bank_code": account.bank_code,
        "routing_number": account.routing_number,
        "account_number": account.account_number,
        "created_at": offset_text(account.created_at),
    }


def middle_of_band(band: str) -> int:
    """A number for a band: the record shows revenue as a number, a submission as a band."""
    lower, upper = band.split("_to_")
    return (int(lower) + int(upper)) // 2


def _record_address(address: Address) -> Json:
    """An address in the record, which has the neighbourhood twice: as `line3` and by its name."""
    lines = asdict(address)
    return {
        "line1": lines["line1"],
        "line2": lines["line2"],
        "line3": lines["line3"],
        "neighborhood": lines["line3"],
        "city": lines["city"],
        "state": lines["state"],
        "postal_code": lines["postal_code"],
        "country_code": lines["country_code"],
    }


def _decision_reason(reason: Reason) -> Json:
    """A reason in the record. `detail` "may be absent or empty", so both forms are sent."""
    if reason.detail is not None:
        return {"reason": reason.reason, "detail": reason.detail}
    if reason.reason == "FRAUD_PREVENTION":
        return {"reason": reason.reason, "detail": ""}
    return {"reason": reason.reason}
