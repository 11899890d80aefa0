"""One package for many tests: the whole story, a withheld body, and an earlier checkpoint."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline import evidence, instants
from pipeline.checkpoints import Signer
from pipeline.evidence import Exported
from pipeline.export_request import Profile, Request, Scope
from pipeline.service import LedgerService
from tests.evidence import story

WITHHELD = 13
"""The payload of the third attempt."""


class Made(NamedTuple):
    """A package, what its auditor holds beside it, and the key that only insiders have."""

    path: Path
    key: str
    earlier: bytes
    signer: Signer


def request(scope: Scope, profile: Profile = "full", **more: object) -> Request:
    return Request(scope, "yearly audit", "Ana Auditor", "user:test", profile=profile, **more)


EVERYTHING = Scope(since=0, until=instants.parse("2027-01-01T00:00:00Z"))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LedgerService]:
    """A ledger that holds the story."""
    opened = LedgerService(story.settings(tmp_path))
    story.record(opened.inbox, opened.settings.artifacts)
    opened.catch_up()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Everything, exported in full but for one body, after a checkpoint that somebody kept."""
    folder = tmp_path_factory.mktemp("made")
    opened = LedgerService(story.settings(folder))
    try:
        story.record(opened.inbox, opened.settings.artifacts)
        opened.catch_up()
        earlier = opened.checkpoint()
        assert earlier is not None
        assert earlier.size == 16
        assert opened.signer is not None
        wanted = request(EVERYTHING, withhold=frozenset({WITHHELD}))
        exported = evidence.export(opened, wanted, folder / "package.zip")
        return Made(exported.path, exported.key, earlier.note.encode(), opened.signer)
    finally:
        opened.close()


def export(
    service: LedgerService, scope: Scope, out: Path, profile: Profile = "full", **more: object
) -> Exported:
    return evidence.export(service, request(scope, profile, **more), out)
