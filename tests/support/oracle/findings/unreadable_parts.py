"""Parts of a known event that were not read as they came (docs/rules.md#unreadable-parts)."""

import re
from collections.abc import Callable, Iterator

from tests.support.oracle.contract import (
    BANK_EVENTS,
    LISTED_EVENTS,
    REVIEW_TYPES,
    SELLER_EVENTS,
)
from tests.support.oracle.deliveries import seller_named_by
from tests.support.oracle.model import Delivery, Log
from tests.support.oracle.reading import instant, json_bytes, list_of_texts, text_of
from tests.support.oracle.sellers import TAX_IDS, compared, is_denial, record, tax_id

from .deliveries import subject_of
from .finding import RISK, finding

MISSING = "missing"
LONGEST = 100
NOTHING = ('"null"', '"none"', '"n/a"', '"nan"', '"undefined"', '"invalid date"')
MONTH = (
    "(jan(uary|eiro)?|feb(ruary)?|fev(ereiro)?|mar(ch|ço)?|apr(il)?|abr(il)?|may|maio?|june?|junho"
    "|july?|julho|aug(ust)?|ago(sto)?|sept?(ember)?|set(embro)?|oct(ober)?|out(ubro)?"
    "|nov(ember|embro)?|dec(ember)?|dez(embro)?)"
)
DATES = (
    r"\d{1,4}[-/.]\d\d?[-/.]\d{1,4}",
    r"(19|20)\d\d[01]\d[0-3]\d",
    r"\d{4}-w?\d{2,3}(-[1-7])?",
    rf"\d\d?[- ](de )?{MONTH}[- ](de )?\d{{4}}",
    rf"{MONTH} \d\d?,? \d{{4}}",
)
TIME = r"[T ,]{1,2}\d\d?(:?\d\d){0,2}([.,]\d{1,9})?( ?[ap]m)?"
ZONE = r" ?(z|utc|gmt|brt|[+-][\d:]{1,6}|\[?(america|etc|europe)/[a-z_]{1,20}\]?)"
DAY_NAME = "(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?,? "
SINCE_1970 = r'"?(1[4-9]|2[01])\d{8}(\d{3}|\d{6})?"?'
INSTANT = rf'{SINCE_1970}|"({DAY_NAME})?({"|".join(DATES)})({TIME})?({ZONE}){{0,2}}"'

Part = tuple[str, str]
"""The part's name, and what came in one spelling, or `missing`."""


def unreadable_part(log: Log) -> Iterator[dict]:
    """One row per event and part, with what came."""
    for event in log.events:
        for name, came in dict(odd_parts(event)).items():
            detail = f"{name}: {masked(name, came)}"
            row = finding(
                "unreadable_part", RISK, event.occurred_at, event.entry.seq, detail=detail
            )
            yield {**row, **subject_of(log, event)}


def masked(name: str, came: str) -> str:
    """What a reader sees who gave no reason: nothing that may be about a person."""
    if came in (MISSING, "[]", "{}", '""', '"true"', '"false"') or came.lower() in NOTHING:
        return came
    if name in TAX_IDS and re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", came, re.A):
        return "***" if len(came) < 5 else f"***{came[-2:]}"
    is_like_paths = re.fullmatch(r'["\[][\w\[\].,":-]*', came, re.A)
    if name == "requested_fields" and is_like_paths and not re.search(r"\d{3}[.-]?\d{3}", came):
        return came
    if came[0] in "{[":
        return came[0] + "***" + {"{": "}", "[": "]"}[came[0]]
    if name.endswith(("created_at", "deadline_at")) and re.fullmatch(INSTANT, came, re.A | re.I):
        return came
    if came[0] == '"':
        return '"***"'
    return f"***{came[-2:]}" if re.search(r"\d{8}", came) else came


def odd_parts(event: Delivery) -> Iterator[Part]:
    if event.event_type not in LISTED_EVENTS:
        return
    yield from odd(event.envelope, "id", text_of)
    yield from odd(event.envelope, "created_at", instant)
    if event.is_review:
        yield from odd_parts_of_review(event)
    if event.event_type in SELLER_EVENTS and record(event):
        for name, read in (
            ("id", text_of),
            ("created_at", instant),
            ("status", text_of),
            ("type", text_of),
        ):
            yield from odd(record(event), name, read, f"record.{name}")
        yield from odd_tax_ids(record(event))
    if event.event_type in SELLER_EVENTS and record(event) is None:
        yield from odd_id_without_record(event)
    if is_denial(event):
        yield from odd_part_of_denial(event, "decision_reasons", list_of_reasons)
        yield from odd_part_of_denial(event, "retry", truth)
    if event.event_type in BANK_EVENTS:
        named = dict(reversed(list(seller_named_by(event))))
        for name in named:
            yield from odd(named, name, text_of)


def odd_tax_ids(holder: dict) -> Iterator[Part]:
    """Other than texts; the number of a document counts where nothing else is the tax id."""
    own = TAX_IDS[:2]
    asked = own if any(compared(tax_id(holder.get(name))) for name in own) else TAX_IDS
    for name in asked:
        yield from odd(holder, name, any_text)


def any_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def odd_id_without_record(event: Delivery) -> Iterator[Part]:
    """The first id where a record's would stand: it cannot be read, else there were a record."""
    payload = event.envelope.get("payload")
    if not isinstance(payload, dict):
        return
    for holder in (payload.get("object"), payload):
        if isinstance(holder, dict) and holder.get("id") is not None:
            yield "record.id", spelled(holder["id"])
            return


def odd_parts_of_review(event: Delivery) -> Iterator[Part]:
    review = event.envelope["payload"]["object"]
    readers = {
        "process_id": text_of,
        "customer_id": text_of,
        "type": text_of,
        "status": text_of,
        "deadline_at": instant,
        "requested_fields": list_of_texts,
    }
    for name, read in readers.items():
        yield from odd(review, name, read)
    expected = ["customer_id", "type", "status"]
    if event.review.status != "FINISHED":
        expected += ["deadline_at", "requested_fields"]
    for name in expected:
        if review.get(name) is None:
            yield name, MISSING
    listed = REVIEW_TYPES.get(event.review.type_code)
    if listed and listed.is_partial and event.review.requested_fields == []:
        yield "requested_fields", spelled([])


def odd_part_of_denial(event: Delivery, name: str, read: Callable) -> Iterator[Part]:
    """In the record; and what stands beside it (the other of payload and object) is never read."""
    yield from odd(record(event), name, read)
    payload = event.envelope["payload"]
    beside = payload if record(event) is payload.get("object") else payload.get("object")
    if isinstance(beside, dict) and beside.get(name) is not None:
        yield name, spelled(beside[name])


def odd(holder: dict, name: str, read: Callable, called: str | None = None) -> Iterator[Part]:
    """The part, where it is there (null is not) and cannot be read."""
    value = holder.get(name)
    if value is not None and read(value) is None:
        yield called or name, spelled(value)


def spelled(value: object) -> str:
    return json_bytes(value).decode()[:LONGEST]


def truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def list_of_reasons(value: object) -> list | None:
    """A list of objects that each name a reason, with a detail that is a text or absent."""
    if isinstance(value, list) and all(
        isinstance(item, dict)
        and text_of(item.get("reason"))
        and isinstance(item.get("detail"), str | None)
        for item in value
    ):
        return value
    return None
