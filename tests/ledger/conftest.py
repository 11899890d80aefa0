"""An inbox with a small believable log, and settings that point at it."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.continuity.service import LedgerService
from pipeline.inbox import Inbox, open_inbox
from pipeline.ledger import checks
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
def without_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verifies stores without `queries/checks`, which take two thirds of the time: for tests of
    what is said of entries, roots, keys and checkpoints."""
    monkeypatch.setattr(checks, "names", tuple)


entries_alone = pytest.mark.usefixtures("without_checks")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


@pytest.fixture(scope="session")
def once_recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An inbox with 300 deliveries, which nobody has followed."""
    settings = settings_in(tmp_path_factory.mktemp("recorded"))
    with closing(open_inbox(settings.inbox)) as opened:
        deliver(opened, range(300))
    return Path(settings.inbox)


@pytest.fixture
def inbox(settings: Settings, once_recorded: Path) -> Iterator[Inbox]:
    """A copy of it."""
    shutil.copy(once_recorded, settings.inbox)
    with closing(open_inbox(settings.inbox)) as opened:
        yield opened


@pytest.fixture(scope="session")
def once_opened(once_recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stores with that inbox, and a ledger which has followed nothing of it."""
    folder = tmp_path_factory.mktemp("opened")
    shutil.copy(once_recorded, folder)
    LedgerService(settings_in(folder)).close()
    return folder


@pytest.fixture
def unfollowed(settings: Settings, once_opened: Path) -> Settings:
    """A copy of them."""
    shutil.copytree(once_opened, settings.ledger.parent, dirs_exist_ok=True)
    return settings


@pytest.fixture(scope="session")
def once_followed(once_opened: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stores of which the ledger has followed the inbox, with its 300 deliveries."""
    folder = tmp_path_factory.mktemp("followed")
    shutil.copytree(once_opened, folder, dirs_exist_ok=True)
    with closing(LedgerService(settings_in(folder))) as service:
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
