"""One history for many tests, read by plain code of these tests' own."""

import json
from collections import defaultdict
from datetime import datetime
from typing import Any

import pytest

from sandbox.market.history import Past

SECOND = 1_000_000
NOW_TEXT = "2026-11-20T15:00:00+00:00"
NOW = int(datetime.fromisoformat(NOW_TEXT).timestamp()) * SECOND

Json = dict[str, Any]

REASONS = {
    ("DOCUMENT_VALIDATION", "DOCUMENT_NOT_MATCH"),
    ("DOCUMENT_VALIDATION", "DOCUMENT_QUALITY"),
    ("INTERNAL_KYC_POLICY", None),
    ("FRAUD_PREVENTION", None),
    ("REGISTRATION_INCONSISTENCY", "NAME_INVALID"),
    ("REGISTRATION_INCONSISTENCY", "BIRTH_DATE_INVALID"),
    ("REGISTRATION_INCONSISTENCY", "REGISTRATION_STATUS_INVALID"),
}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.fixture(scope="session")
def past() -> Past:
    return Past(NOW)


@pytest.fixture(scope="session")
def lines(past: Past) -> list[Json]:
    return list(past.occurrences())


@pytest.fixture(scope="session")
def events(lines: list[Json]) -> list[Json]:
    """The readable events, each at its first delivery."""
    seen: dict[str, Json] = {}
    for line in of_kind(lines, "webhook"):
        try:
            event = json.loads(line["body"])
        except ValueError:
            continue
        seen.setdefault(event["id"], event)
    return list(seen.values())


def of_kind(lines: list[Json], kind: str) -> list[Json]:
    return [line for line in lines if line["kind"] == kind]


@pytest.fixture(scope="session")
def reviews(events: list[Json]) -> dict[str, list[Json]]:
    """The review events of each process, by `created_at`."""
    found = defaultdict(list)
    for event in events:
        if event["type"] == "regulatory.registration.review.required":
            found[event["payload"]["object"]["process_id"]].append(event)
    for of_process in found.values():
        of_process.sort(key=lambda event: at(event["created_at"]))
    return found


@pytest.fixture(scope="session")
def accepted(lines: list[Json]) -> dict[str, datetime]:
    """When each process was first answered 200."""
    found: dict[str, datetime] = {}
    for line in of_kind(lines, "submission_finished"):
        if line["status"] == 200:
            found.setdefault(line["process_id"], at(line["occurred_at"]))
    return found
