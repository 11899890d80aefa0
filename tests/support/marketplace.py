"""A marketplace of ours before the simulated platform: settings, an inbox, reviews and answers.

Its fixtures are there for every test: see `tests/conftest.py`.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import sandbox
from pipeline import instants
from pipeline.inbox import Inbox, open_inbox
from pipeline.log.deliveries import delivery
from pipeline.log.entries import Entry
from pipeline.log.kinds.submission_finished import SUBMISSION_FINISHED
from pipeline.log.kinds.submission_started import SUBMISSION_STARTED
from pipeline.log.ndjson import read_line
from pipeline.settings import Settings
from pipeline.submit.casefile import CaseFiles
from sandbox.server import Handle
from tests.support.events import REVIEW
from tests.support.stores import environment_in

REVENUE = "1000_to_5000"


class Review(NamedTuple):
    """A process that the platform has opened, and what answers it."""

    process_id: str
    seller_id: str
    payload: bytes


class Marketplace:
    """Everything of ours in one folder."""

    def __init__(self, platform: Handle, folder: Path) -> None:
        self.platform = platform
        self.folder = folder
        self.inbox: Inbox = open_inbox(folder / "inbox.db")
        self._heard = len(platform.events)
        self.environment = {**environment_in(folder), **way_to(platform, folder)}

    def settings(self, **changes: Any) -> Settings:
        named = {name.removeprefix("PRAZO_").lower(): it for name, it in self.environment.items()}
        return Settings.load(**{**named, **changes})

    def process_environment(self, **changes: str) -> dict[str, str]:
        """For a command of ours in a process of its own."""
        return {**os.environ, **self.environment, **changes}

    def review(self, *, is_answered: bool = True, days_ago: float = 0.01) -> Review:
        """An ACI for the revenue alone, heard of by webhook and answered by the seller."""
        seller_id = self.platform.adopt_seller()
        process_id = self.platform.require_review(
            seller_id, "ACI", requested_fields=("revenue",), days_ago=days_ago
        )
        self.hear()
        if is_answered:
            self.collect(process_id, seller_id, {"revenue": REVENUE})
        return Review(process_id, seller_id, payload(process_id))

    def hear(self) -> None:
        """Takes the webhooks that the platform has said since, in one commit."""
        events = self.platform.events
        new, self._heard = events[self._heard :], len(events)
        self.inbox.append(
            [delivery(it.body, occurred_at=instants.now(), recorded_by="webhook") for it in new]
        )

    def collect(
        self, process_id: str, seller_id: str, fields: dict[str, Any], **changes: Any
    ) -> None:
        line = {
            "kind": "collection",
            "occurred_at": instants.canonical(instants.now()),
            "process_id": process_id,
            "seller_id": seller_id,
            "journey_id": f"journey of {process_id}",
            "step": "answered",
            "channel": "in_app",
            "source": "seller",
            "fields": fields,
            **changes,
        }
        self.inbox.append([read_line(json.dumps(line).encode(), recorded_by="test")])

    def append(self, **line: Any) -> None:
        """One line of NDJSON, as if it had been ingested."""
        self.inbox.append([read_line(json.dumps(line).encode(), recorded_by="test")])

    def append_review(self, review: Review, status: str, requested: str = "revenue") -> None:
        """A further event of its process, as if it had been ingested."""
        now = instants.now()
        process = {
            "type": "INCONSISTENT_DATA_UPDATE_REQUIRED",
            "process_id": review.process_id,
            "customer_id": review.seller_id,
            "status": status,
            "deadline_at": instants.canonical(now + 30 * instants.DAY),
            "requested_fields": [requested],
        }
        event = {
            "id": f"evt {status} of {review.process_id}",
            "type": REVIEW,
            "created_at": instants.canonical(now),
            "payload": {"object": process},
        }
        self.append(kind="webhook", occurred_at=instants.canonical(now), body=event)

    def starts(self, process_id: str) -> list[Entry]:
        return self.inbox.find(process_id=process_id, kind=SUBMISSION_STARTED)

    def finishes(self, process_id: str) -> list[Entry]:
        return self.inbox.find(process_id=process_id, kind=SUBMISSION_FINISHED)

    def outcomes(self, process_id: str) -> list[str]:
        """What became of each attempt, in their order."""
        case = CaseFiles(self.inbox).open(process_id, self.inbox.now())
        return [it.outcome for it in case.attempts]

    def puts(self, process_id: str) -> list[Any]:
        """What came through the platform's door for a process."""
        return [
            request
            for request in self.platform.requests
            if request.headers.get("idempotency-key") == process_id
        ]

    def state(self, process_id: str) -> str:
        """What the platform believes."""
        status: str = self.platform.process(process_id)["status"]
        return status

    def close(self) -> None:
        self.inbox.close()


def way_to(platform: Handle, folder: Path) -> dict[str, str]:
    """The variables that lead a process of ours to a platform; the credentials go to the folder."""
    credentials = folder / "credentials"
    credentials.write_text(f"{platform.credentials.username}:{platform.credentials.password}\n")
    credentials.chmod(0o600)
    return {
        "PRAZO_PLATFORM_URL": platform.url,
        "PRAZO_PLATFORM_CA_FILE": str(platform.certificates.authority),
        "PRAZO_CLIENT_CERT_FILE": str(platform.certificates.client.certificate),
        "PRAZO_CLIENT_KEY_FILE": str(platform.certificates.client.key),
        "PRAZO_PLATFORM_CREDENTIALS_FILE": str(credentials),
        "PRAZO_MARKETPLACE_ID": platform.marketplace_id,
    }


def payload(process_id: str, revenue: Any = REVENUE) -> bytes:
    body = {"process_id": process_id, "type": "individual", "revenue": revenue}
    return json.dumps(body).encode()


@pytest.fixture(scope="session")
def _sandbox() -> Iterator[Handle]:
    with sandbox.running() as handle:
        yield handle


@pytest.fixture
def platform(_sandbox: Handle) -> Iterator[Handle]:
    yield _sandbox
    _sandbox.clear_faults()


@pytest.fixture
def marketplace(platform: Handle, tmp_path: Path) -> Iterator[Marketplace]:
    marketplace = Marketplace(platform, tmp_path)
    yield marketplace
    marketplace.close()
