"""The stores of a person's history, with the inbox on either engine."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline.continuity.service import LedgerService
from pipeline.erasure import forgetting
from pipeline.inbox import Inbox, open_inbox
from pipeline.keys import secret_key
from pipeline.settings import Settings
from tests.erasure import person
from tests.support.stores import in_use, settings_in


@pytest.fixture(autouse=True)
def settles_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody records anything beside these tests, but where one says so."""
    monkeypatch.setattr(forgetting, "SETTLE_SECONDS", 0.0)


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def stores(folder: Path, *, is_finished: bool = True, **more: Any) -> Settings:
    """Stores that hold the history, followed and signed."""
    made = settings_in(folder / "stores", **more)
    made.ledger.parent.mkdir()
    secret_key(made.taxpayer_key_file)
    with closing(open_inbox(made.inbox)) as inbox:
        person.record(made, inbox, folder, is_finished=is_finished)
    with closing(LedgerService(made)) as service:
        service.catch_up()
        service.sign()
    return made


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of stores with the history, the inbox a file, to be copied."""
    folder = tmp_path_factory.mktemp("person")
    stores(folder)
    return folder


@pytest.fixture
def settings(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Of stores that hold the history."""
    if engine == "postgres":
        return stores(tmp_path, inbox=request.getfixturevalue("database"))
    shutil.copytree(request.getfixturevalue("recorded"), tmp_path, dirs_exist_ok=True)
    made = settings_in(tmp_path / "stores")
    in_use(made.inbox)
    return made


@pytest.fixture
def inbox(settings: Settings) -> Iterator[Inbox]:
    with closing(open_inbox(settings.inbox)) as opened:
        yield opened


ON_SQLITE = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
"""For what does not depend on the engine."""
