"""An inbox with a small believable log, and settings that point at it."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.inbox import Inbox, open_inbox
from pipeline.ledger.service import LedgerService
from pipeline.log.deliveries import delivery
from pipeline.settings import Settings
from tests.support.stores import settings_in

OPENED = instants.parse("2026-03-01T00:00:00Z") or 0


def review(number: int, status: str = "PENDING") -> bytes:
    """A review event of process `p<number>`, opened on 1 March 2026 and due 60 days later."""
    return json.dumps(
        {
            "id": f"evt_{number}_{status}",
            "type": "regulatory.registration.review.required",
            "created_at": "2026-03-01T00:00:00Z",
            "payload": {
                "object": {
                    "type": "REGISTRATION_REVIEW_REQUIRED",
                    "process_id": f"p{number}",
                    "customer_id": f"s{number // 2}",
                    "status": status,
                    "deadline_at": "2026-04-30T00:00:00Z",
                    "requested_fields": ["revenue", "address"],
                }
            },
        }
    ).encode()


def deliver(inbox: Inbox, numbers: range) -> None:
    inbox.append(
        [delivery(review(it), occurred_at=OPENED + it, recorded_by="webhook") for it in numbers]
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


@pytest.fixture
def inbox(settings: Settings):
    opened = open_inbox(settings.inbox)
    deliver(opened, range(300))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def once_followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stores of which the ledger has followed the inbox, with its 300 deliveries."""
    folder = tmp_path_factory.mktemp("followed")
    settings = settings_in(folder)
    with closing(open_inbox(settings.inbox)) as opened:
        deliver(opened, range(300))
    with closing(LedgerService(settings)) as service:
        service.catch_up()
    return folder


@pytest.fixture
def followed(settings: Settings, once_followed: Path) -> Settings:
    """A copy of them."""
    shutil.copytree(once_followed, settings.ledger.parent, dirs_exist_ok=True)
    return settings


@pytest.fixture
def followed_inbox(followed: Settings) -> Iterator[Inbox]:
    """The inbox of such a copy."""
    with closing(open_inbox(followed.inbox)) as opened:
        yield opened
