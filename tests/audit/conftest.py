"""One package for many tests: the whole story, a withheld body, and an earlier checkpoint."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from pipeline import instants, verify
from pipeline.audit import export as evidence
from pipeline.audit.export import Exported
from pipeline.audit.package import tables
from pipeline.audit.request import Profile, Request, Scope
from pipeline.continuity.service import LedgerService
from pipeline.ledger import checks
from pipeline.log.checkpoints import Signer
from pipeline.settings import Settings
from tests.audit import story
from tests.support.commands import here
from tests.support.stores import environment_in, settings_in

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


EVERYTHING = Scope(since=0, until=instants.parse("9999-01-01T00:00:00Z"))


@pytest.fixture(scope="session")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of stores that nobody holds, with the story in them and nothing signed."""
    folder = tmp_path_factory.mktemp("followed")
    with closing(LedgerService(settings_in(folder))) as opened:
        story.record(opened.inbox, opened.settings.artifacts)
        opened.catch_up()
        opened.ledger.settle()  # once, and not by each test that takes a copy
    return folder


@contextmanager
def copied(followed: Path, folder: Path, **more: object) -> Iterator[LedgerService]:
    """A ledger in a folder of its own that holds the story."""
    shutil.copytree(followed, folder, dirs_exist_ok=True)
    with closing(LedgerService(settings_in(folder, **more))) as opened:
        yield opened


@contextmanager
def empty_tables() -> Iterator[None]:
    """Packages are made, and verified, as if no row followed from any entry: what follows takes
    most of the time. For what is asked of entries, seals, checkpoints, timestamps and artifacts."""
    honest = tables.queries
    columns = {"processes.csv": "state", "findings.csv": "severity", "coverage.csv": "path"}

    def queries() -> str:
        with pytest.MonkeyPatch.context() as quoting:
            quoting.setattr(tables, "TABLES", {tables.QUOTES: tables.TABLES[tables.QUOTES]})
            quotes = honest()
        return quotes + "".join(
            f"select null as process_id, null as {column} where false;\n"
            for column in columns.values()
        )

    empty = {name: pa.table({"process_id": [], it: []}) for name, it in columns.items()}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "queries", queries)
        patched.setattr(tables, "of_log", lambda *_: empty)
        yield


@pytest.fixture
def without_rows() -> Iterator[None]:
    """The same for one test."""
    with empty_tables():
        yield


no_rows = pytest.mark.usefixtures("without_rows")


def is_signed(text: bytes, signature: bytes, key: verify.Key) -> bool:
    """As `verify.is_signed`, by a library in this process: hundreds of processes of openssl take
    longer than what is verified. What openssl finds is tried in `test_verifier.py`."""
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(signature, text)
    except InvalidSignature:
        return False
    return True


@pytest.fixture
def without_openssl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "is_signed", is_signed)


quick_signatures = pytest.mark.usefixtures("without_openssl")


@pytest.fixture
def service(followed: Path, tmp_path: Path) -> Iterator[LedgerService]:
    with copied(followed, tmp_path) as opened:
        yield opened


@pytest.fixture(scope="session")
def made(followed: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Everything, exported in full but for one body, after a checkpoint that somebody kept."""
    folder = tmp_path_factory.mktemp("made")
    with copied(followed, folder) as opened:
        earlier = opened.checkpoint()
        assert earlier is not None
        assert earlier.size == 16
        assert opened.signer is not None
        wanted = request(EVERYTHING, withhold=frozenset({WITHHELD}))
        exported = evidence.export(opened, wanted, folder / "package.zip")
        return Made(exported.path, exported.key, earlier.note.encode(), opened.signer)


@pytest.fixture(scope="session")
def at_rest(followed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of stores that nobody holds, with the story in them and a checkpoint over it."""
    folder = tmp_path_factory.mktemp("at-rest")
    with copied(followed, folder) as opened:
        assert opened.checkpoint() is not None
    return folder


@pytest.fixture
def without_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verifies stores without `queries/checks`, which take two thirds of the time: for tests of
    what is said of entries, roots, signatures and artifacts. That what a check finds is a fault is
    tried in `test_stores.py`, and each check in `tests/queries/test_checks.py`."""
    monkeypatch.setattr(checks, "names", tuple)


entries_alone = pytest.mark.usefixtures("without_checks")


@pytest.fixture
def settings(at_rest: Path, tmp_path: Path) -> Settings:
    """A copy of those stores, to be changed."""
    shutil.copytree(at_rest, tmp_path, dirs_exist_ok=True)
    return settings_in(tmp_path)


def export(
    service: LedgerService, scope: Scope, out: Path, profile: Profile = "full", **more: object
) -> Exported:
    return evidence.export(service, request(scope, profile, **more), out)


def environment(settings: Settings) -> dict[str, str]:
    """For a process of its own over these stores."""
    stores = environment_in(settings.ledger.parent)
    return os.environ | stores | {"PRAZO_INBOX": settings.inbox}


def killed(settings: Settings, program: str) -> None:
    """Runs Python that kills itself, in the folder of the stores."""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(settings),
        cwd=settings.ledger.parent,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def command(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`prazo`, in the folder of the stores."""
    return here(*arguments, environment=environment(settings), folder=settings.ledger.parent)
