"""Sellers, their onboarding and their denials (docs/rules.md#sellers-and-denials)."""

import math
import re
import string
from datetime import datetime, timedelta

from .attempts import share
from .contract import BANK_EVENTS, SELLER_EVENTS, STATUS_OF
from .deliveries import bank_account_seller
from .model import Delivery, Log
from .processes import OPEN, process_state
from .reading import day_of, identifier, instant, is_whole_number, json_bytes, text_of

PLAIN_FIELDS = (
    "resource",
    "mcc",
    "marketplace_id",
    "uri",
)
AMOUNTS = ("account_balance", "current_balance", "revenue")
FLAGS = (
    "show_profile_online",
    "is_mobile",
    "decline_on_fail_security_code",
    "decline_on_fail_zipcode",
    "delinquent",
)
TAX_IDS = ("taxpayer_id", "ein", "document_number")
PROMISED_SECONDS = 180
LETTERS_AND_DIGITS = string.ascii_letters + string.digits


def record(event: Delivery) -> dict | None:
    """`payload.object`, else `payload`, where that has an `id`."""
    payload = event.envelope.get("payload")
    if not isinstance(payload, dict):
        return None
    for candidate in (payload.get("object"), payload):
        if isinstance(candidate, dict) and identifier(candidate.get("id")):
            return candidate
    return None


def record_id(event: Delivery) -> str:
    return identifier(record(event)["id"])


def seller_events(log: Log) -> dict[str, list[Delivery]]:
    """Seller events that carry a record, per seller, earliest first."""
    sellers: dict[str, list[Delivery]] = {}
    for event in log.events:
        if event.event_type in SELLER_EVENTS and record(event):
            sellers.setdefault(record_id(event), []).append(event)
    return sellers


def naming_events(log: Log) -> dict[str, list[Delivery]]:
    """Every event that names a seller, per seller."""
    sellers = {seller_id: list(events) for seller_id, events in seller_events(log).items()}
    for review in log.review_events:
        if review.seller_id:
            sellers.setdefault(review.seller_id, []).append(review.delivery)
    for event in log.events:
        if event.event_type in BANK_EVENTS and bank_account_seller(event):
            sellers.setdefault(bank_account_seller(event), []).append(event)
    return sellers


def as_it_came(value):
    return value


def carried(events: list[Delivery], field: str, read=as_it_came):
    """The field of the latest event that carries it; what `read` cannot read is not carried."""
    for event in reversed(events):
        value = read(record(event).get(field))
        if value is not None:
            return value
    return None


def deletion(events: list[Delivery]) -> Delivery | None:
    """The first one: deletion is final."""
    return next((event for event in events if event.event_type == "seller.deleted"), None)


def status(events: list[Delivery]) -> str:
    """By the latest status event, but deletion is final; seller.created never replaces another."""
    if deletion(events):
        return "deleted"
    for event in reversed(events):
        if event.event_type != "seller.created" and STATUS_OF[event.event_type]:
            return STATUS_OF[event.event_type]
    if any(event.event_type == "seller.created" for event in events):
        return STATUS_OF["seller.created"]
    return carried(events, "status", text_of) or "unknown"


def analysis(events: list[Delivery]) -> tuple[datetime, float] | None:
    """When the analysis ended and the seconds since seller.created; None while either misses."""
    created = [event for event in events if event.event_type == "seller.created"]
    decided = [event for event in events if event.event_type in ("seller.enabled", "seller.denied")]
    if not created or not decided:
        return None
    ended_at = decided[0].created_at
    return ended_at, (ended_at - created[0].created_at).total_seconds()


def seller_state(log: Log) -> list[dict]:
    """One row per seller seen in any event, attempt or collection."""
    states = process_state(log)
    all_denials = denials(log)
    events_of = seller_events(log)
    seen = set(naming_events(log))
    seen |= {attempt.seller_id for attempt in log.attempts}
    seen |= {entry.line.get("seller_id") for entry in log.collections}
    rows = []
    for seller_id in sorted(seen - {None, ""}):
        events = events_of.get(seller_id, [])
        analysed = analysis(events)
        rows.append(
            {
                "seller_id": seller_id,
                "status": status(events),
                "open_processes": sum(
                    process["seller_id"] == seller_id and process["state"] in OPEN
                    for process in states
                ),
                "denials": sum(denial["seller_id"] == seller_id for denial in all_denials),
                "analysis_seconds": analysed[1] if analysed else None,
                **{field: carried(events, field) for field in PLAIN_FIELDS},
                **{field: carried(events, field, amount) for field in AMOUNTS},
                **{field: carried(events, field, flag) for field in FLAGS},
                "type": carried(events, "type", text_of),
                "created_at": carried(events, "created_at", instant),
                "updated_at": carried(events, "updated_at", instant),
                "decision_reasons": last_reasons(events),
                "retry": last_retry(events),
            }
        )
    return rows


def onboarding_analysis(log: Log) -> list[dict]:
    """Per UTC day on which analyses ended: how many, and how they kept the 180 s."""
    days: dict = {}
    for events in seller_events(log).values():
        analysed = analysis(events)
        if analysed:
            days.setdefault(day_of(analysed[0]), []).append(analysed[1])
    rows = []
    for day in sorted(days):
        seconds = sorted(days[day])
        within = sum(second <= PROMISED_SECONDS for second in seconds)
        rows.append(
            {
                "day": day,
                "analysed": len(seconds),
                "within_180_s": within,
                "share": share(within, len(seconds)),
                "p99_seconds": seconds[math.ceil(0.99 * len(seconds)) - 1],
            }
        )
    return rows


def denials(log: Log) -> list[dict]:
    """One row per seller.denied event, in order of the events."""
    return [
        {
            "event_id": event.event_id,
            "seller_id": record_id(event),
            "denied_at": event.created_at,
            "seller_type": text_of(record(event).get("type")),
            "retry": retry(record(event)),
            "reasons": reasons(record(event)),
        }
        for event in log.events
        if is_denial(event)
    ]


def is_denial(event: Delivery) -> bool:
    return event.event_type == "seller.denied" and record(event) is not None


def last_reasons(events: list[Delivery]) -> list[dict] | None:
    """Of the latest denial that carries any."""
    for event in reversed(events):
        if event.event_type == "seller.denied" and (found := reasons(record(event))):
            return found
    return None


def last_retry(events: list[Delivery]) -> bool | None:
    for event in reversed(events):
        if event.event_type == "seller.denied" and retry(record(event)) is not None:
            return retry(record(event))
    return None


def retry(denied: dict) -> bool | None:
    value = denied.get("retry")
    return value if isinstance(value, bool) else None


def reasons(denied: dict) -> list[dict]:
    """The sorted distinct pairs; a detail that is absent, null or "" is null and sorts last."""
    given = denied.get("decision_reasons")
    pairs = {
        (item["reason"], text_of(item.get("detail")))
        for item in (given if isinstance(given, list) else [])
        if isinstance(item, dict) and text_of(item.get("reason"))
    }
    ordered = sorted(pairs, key=lambda pair: (pair[0], pair[1] is None, pair[1] or ""))
    return [{"reason": reason, "detail": detail} for reason, detail in ordered]


def denial_reasons(log: Log) -> list[dict]:
    """One row per distinct pair; a denial with two reasons counts in each."""
    pairs: dict[tuple, list] = {}
    for denial in denials(log):
        for pair in denial["reasons"]:
            pairs.setdefault((pair["reason"], pair["detail"]), []).append(denial["retry"])
    return [
        {
            "reason": reason,
            "detail": detail,
            "denials": len(retries),
            "retryable": retries.count(True),
            "retryable_share": retryable_share(retries),
        }
        for (reason, detail), retries in sorted(
            pairs.items(), key=lambda item: (-len(item[1]), item[0][0], item[0][1] or "")
        )
    ]


def retryable_share(retries: list[bool | None]) -> float | None:
    """Denials with retry = true over denials with a retry."""
    said = [value for value in retries if value is not None]
    return share(said.count(True), len(said))


def returned_sellers(log: Log) -> list[dict]:
    """Denied sellers whose taxpayer id belongs to another created after their first denial."""
    events_of = seller_events(log)
    tax_ids = {seller_id: taxpayer_id(events) for seller_id, events in events_of.items()}
    rows = []
    for seller_id, denied in denials_of(log).items():
        first_denied_at = denied[0]["denied_at"]
        later = {
            other: created_at(log, other)
            for other, tax_id in tax_ids.items()
            if other != seller_id
            and tax_id
            and tax_id == tax_ids[seller_id]
            and created_at(log, other) > first_denied_at
        }
        if not later:
            continue
        came_back_at = min(later.values())
        before = [denial for denial in denied if denial["denied_at"] < came_back_at]
        enabled = [it for other in later for it in enabled_at(events_of[other])]
        cured_at = min(enabled, default=None)
        rows.append(
            {
                "seller_id": seller_id,
                "first_denied_at": first_denied_at,
                "came_back_at": came_back_at,
                "successor_id": min(it for it, created in later.items() if created == came_back_at),
                "successors": len(later),
                "is_cured": cured_at is not None,
                "cured_at": cured_at,
                "seconds_to_cure": None
                if cured_at is None
                else (cured_at - first_denied_at) / timedelta(seconds=1),
                "was_in_vain": before[-1]["retry"] is False,
            }
        )
    return rows


def denials_of(log: Log) -> dict[str, list[dict]]:
    """Each denied seller's denials, the earliest first."""
    found: dict[str, list[dict]] = {}
    for denial in denials(log):
        found.setdefault(denial["seller_id"], []).append(denial)
    return found


def denial_retries(log: Log) -> list[dict]:
    """One row: who came back after a denial, and who got through."""
    denied = denials_of(log)
    events_of = seller_events(log)
    with_tax_id = [seller_id for seller_id in denied if taxpayer_id(events_of[seller_id])]
    returned = returned_sellers(log)
    cured = sum(row["is_cured"] for row in returned)
    return [
        {
            "denied_sellers": len(denied),
            "retryable_share": retryable_share([denial["retry"] for denial in denials(log)]),
            "reonboarded": len(returned),
            "reonboarding_rate": share(len(returned), len(with_tax_id)),
            "cured": cured,
            "cure_rate": share(cured, len(returned)),
            "wasted_retries": sum(row["was_in_vain"] for row in returned),
        }
    ]


def amount(value: object) -> float | None:
    """A number, or a text that is one."""
    if isinstance(value, str):
        return float(value) if re.fullmatch(r"-?[0-9]{1,15}([.][0-9]{1,9})?", value) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def flag(value: object) -> bool | None:
    """True and false, as a text too, or as 1 and 0."""
    said = {"true": True, "false": False, "1": True, "0": False}
    return said.get(json_bytes(value).decode().strip('"')) if value is not None else None


def tax_id(value: object) -> str | None:
    """Any text, or a whole number, however written, read as its digits, to 11 or 14 of them."""
    if isinstance(value, float) and value % 1 == 0 and value <= 9007199254740992:
        value = round(value)
    if is_whole_number(value) and value >= 0:
        return f"{value:011}" if value < 10**11 else f"{value:014}"
    return value if isinstance(value, str) else None


def compared(given: str | None) -> str:
    """By its letters A to Z and its digits; a CNPJ may carry letters."""
    return "".join(char for char in given or "" if char in LETTERS_AND_DIGITS).upper()


def taxpayer_id(events: list[Delivery]) -> str:
    """The first of three fields that says one."""
    said = (compared(carried(events, field, tax_id)) for field in TAX_IDS)
    return next((one for one in said if one), "")


def created_at(log: Log, seller_id: str) -> datetime:
    """The record's created_at, else that seller's earliest event."""
    recorded = carried(seller_events(log)[seller_id], "created_at", instant)
    return recorded or min(event.created_at for event in naming_events(log)[seller_id])


def enabled_at(events: list[Delivery]) -> list[datetime]:
    return [event.created_at for event in events if event.event_type == "seller.enabled"]
