"""Processes, payloads that are right for them, and the verdict on a payload.

The tables are written by hand from the contract.
"""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pipeline.submit.demand import Process
from pipeline.submit.rules import Answer, Verdict, Violation, check

OPENED_AT = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z
ANSWERED_AT = 1_772_402_400_000_000  # 2026-03-01T22:00:00Z

ADDRESS_FIELDS = ("line1", "line3", "city", "state", "postal_code", "country_code")
ASKED_BY = {
    "address": tuple(f"address.{it}" for it in ADDRESS_FIELDS),
    "owner.address": tuple(f"owner.address.{it}" for it in ADDRESS_FIELDS),
    "owner": ("owner.revenue", *(f"owner.address.{it}" for it in ADDRESS_FIELDS)),
    "address.line2": (),
    "owner.address.line2": (),
}
INDIVIDUAL_FIELDS = ("revenue", *ASKED_BY["address"])
BUSINESS_FIELDS = (*INDIVIDUAL_FIELDS, *ASKED_BY["owner"])
KNOWN_FIELDS = (*BUSINESS_FIELDS, "address.line2", "owner.address.line2")
KNOWN_KEYS = frozenset(key for path in KNOWN_FIELDS for key in path.split(".")) | {
    "process_id",
    "type",
}

ADDRESS = {
    "line1": "Rua das Laranjeiras, 123",
    "line3": "Boa Viagem",
    "city": "Recife",
    "state": "PE",
    "postal_code": "51020000",
    "country_code": "BR",
}
INDIVIDUAL = {
    "process_id": "rev_1",
    "type": "individual",
    "revenue": "1000_to_5000",
    "address": ADDRESS,
}
BUSINESS = {
    **INDIVIDUAL,
    "type": "business",
    "owner": {"revenue": "2000_to_3000", "address": {**ADDRESS}},
}


def acp(*requested: str, **changes: Any) -> Process:
    return replace(Process("rev_1", "sel_1", "ACP", "PENDING", OPENED_AT, requested), **changes)


def aci(*requested: str, **changes: Any) -> Process:
    return replace(Process("rev_1", "sel_1", "ACI", "OVERDUE", OPENED_AT, requested), **changes)


def aci_body(**fields: Any) -> dict[str, Any]:
    return {"process_id": "rev_1", "type": "individual", **fields}


def answered(payload: Any) -> dict[str, Answer]:
    """The seller answered every field of the payload, in this process, as it stands."""
    return {
        path: Answer(value, "seller", ANSWERED_AT, seq=7)
        for path, value in flat(payload)
        if path not in ("process_id", "type")
    }


def flat(record: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def put(record: dict[str, Any], path: str, value: Any) -> None:
    """Sets a nested value; what stands in the way of an object becomes one."""
    *parents, last = path.split(".")
    for key in parents:
        if not isinstance(record.get(key), dict):
            record[key] = {}
        record = record[key]
    record[last] = value


def drop(record: dict[str, Any], path: str) -> None:
    """Takes a field out, and the objects that it fields empty."""
    key, _, rest = path.partition(".")
    if rest:
        drop(record[key], rest)
    if not rest or not record[key]:
        del record[key]


def judge(payload: Any, process: Process | None, **changes: Any) -> Verdict:
    """The verdict on a payload whose every field the seller answered, unless `changes` say so."""
    answers = changes.pop("answers", None)
    call: dict[str, Any] = {
        "process_id": "rev_1",
        "seller_id": "sel_1",
        "evidence_gate": "block",
        "allow_numeric_revenue": False,
    }
    answers = answered(payload) if answers is None else answers
    return check(payload, process, answers, **{**call, **changes})


def named(violations: tuple[Violation, ...]) -> set[tuple[str, str]]:
    assert len({(it.path, it.rule) for it in violations}) == len(violations), "named twice"
    return {(it.path, it.rule) for it in violations}


def faults(payload: Any, process: Process | None, **changes: Any) -> set[tuple[str, str]]:
    verdict = judge(payload, process, **changes)
    assert verdict.warnings == ()
    return named(verdict.violations)


def with_(payload: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(payload)
    put(changed, path, value)
    return changed


def without(payload: dict[str, Any], path: str) -> dict[str, Any]:
    changed = copy.deepcopy(payload)
    drop(changed, path)
    return changed


NOT_TEXT = [None, True, 51020000, 1.5, [], ["PE"], {}, {"name": "Recife"}]
WRONG_VALUES = {
    "line1": ["", " ", "\t\n", *NOT_TEXT],
    "line2": [*NOT_TEXT],
    "line3": ["", " ", *NOT_TEXT],
    "city": ["", " ", *NOT_TEXT],
    "state": ["", "P", "PER", "P1", "P ", "Pé", "12", *NOT_TEXT],
    "postal_code": [
        *("", "51020-000", "51.020-000", "5102000", "510200000", "5102000O", "51020000 "),
        *("٥١٠٢٠٠٠٠", "5102000²", *NOT_TEXT),
    ],
    "country_code": ["", "br", "Br", "BRA", "B", "XX", "ZZ", "UK", "EU", "076", "BR ", *NOT_TEXT],
}
