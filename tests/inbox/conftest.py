"""Each test of the inbox's contract runs against both engines."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.inbox import Inbox, open_inbox


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an inbox can be: nothing is there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "inbox.db")
    url: str = request.getfixturevalue("database")
    return url


@pytest.fixture
def inbox(location: str) -> Iterator[Inbox]:
    inbox = open_inbox(location)
    yield inbox
    inbox.close()
