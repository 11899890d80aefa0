"""One package for many tests: the whole story, a withheld body, and an earlier checkpoint."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline import evidence, instants
from pipeline.checkpoints import Signer
from pipeline.evidence import Exported
from pipeline.export_request import Profile, Request, Scope
from pipeline.service import LedgerService
from pipeline.settings import Settings
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


@pytest.fixture(scope="session")
def at_rest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of stores that nobody holds, with the story in them and a checkpoint over it."""
    folder = tmp_path_factory.mktemp("at-rest")
    opened = LedgerService(story.settings(folder))
    try:
        story.record(opened.inbox, opened.settings.artifacts)
        opened.catch_up()
        assert opened.checkpoint() is not None
    finally:
        opened.close()
    return folder


@pytest.fixture
def settings(at_rest: Path, tmp_path: Path) -> Settings:
    """A copy of those stores, to be changed."""
    shutil.copytree(at_rest, tmp_path, dirs_exist_ok=True)
    return story.settings(tmp_path)


def export(
    service: LedgerService, scope: Scope, out: Path, profile: Profile = "full", **more: object
) -> Exported:
    return evidence.export(service, request(scope, profile, **more), out)


def environment(settings: Settings) -> dict[str, str]:
    """For a process of its own over these stores."""
    named = {
        "PRAZO_INBOX": settings.inbox,
        "PRAZO_LEDGER": settings.ledger,
        "PRAZO_ARTIFACTS": settings.artifacts,
        "PRAZO_SIGNING_KEY_FILE": settings.signing_key_file,
        "PRAZO_TAXPAYER_KEY_FILE": settings.taxpayer_key_file,
    }
    return os.environ | {name: str(it) for name, it in named.items()}


def command(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`prazo` in a process of its own, in the folder of the stores."""
    return subprocess.run(
        [sys.executable, "-m", "pipeline.cli", *arguments],
        env=environment(settings),
        cwd=settings.ledger.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
