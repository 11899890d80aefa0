"""Inboxes that are put back from an older copy: a restored file, a standby that took over late.

A module imports the fixtures it uses: `from tests.ledger.older import copies, lost, past`.
"""

import shutil
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.continuity.reconcile import Missed, Reconciled, reconcile
from pipeline.continuity.service import LedgerService
from pipeline.inbox import SignedHead, open_inbox
from pipeline.settings import Settings
from tests.ledger.conftest import deliver
from tests.support.postgres import DATABASE, PostgresServer
from tests.support.sqlite import copy
from tests.support.stores import settings_in


class SqlitePast:
    """Copies of the file at a path; processes that hold the file open see them come back."""

    def __init__(self, path: Path, copies: Path) -> None:
        self.engine = "sqlite"
        self.location = str(path)
        self._copies = copies

    def keep(self, name: str = "older") -> None:
        self._copy(self.location, str(self._copies / name))

    def put_back(self, name: str = "older") -> None:
        Path(self.location).parent.mkdir(exist_ok=True)
        self._copy(str(self._copies / name), self.location)

    @staticmethod
    def _copy(source: str, target: str) -> None:
        copy(source, target)


class PostgresPast:
    """A database as it was, in place of the one that is: every connection is cut, as when a
    standby takes over that had not received the last transactions."""

    def __init__(self, server: PostgresServer, database: str = DATABASE) -> None:
        self.engine = "postgres"
        self.location = server.url(database)
        self._server = server
        self._database = database

    def keep(self, name: str = "older") -> None:
        self._replace(f"{self._database}_{name}", self._database)

    def put_back(self, name: str = "older") -> None:
        self._replace(self._database, f"{self._database}_{name}")

    def _replace(self, name: str, template: str) -> None:
        url = self._server.url()
        cut = "select pg_terminate_backend(pid) from pg_stat_activity where datname = "
        self._server.execute(
            url,
            f"alter database {template} allow_connections false",
            f"{cut}'{template}'",
            f"drop database if exists {name} with (force)",
            f"create database {name} template {template}",
            f"alter database {template} allow_connections true",
        )


Past = SqlitePast | PostgresPast


@pytest.fixture(scope="session")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the copies of SQLite files are; those of PostgreSQL are databases of the server."""
    return tmp_path_factory.mktemp("copies")


@pytest.fixture(params=["sqlite", "postgres"])
def past(request: pytest.FixtureRequest, tmp_path: Path, copies: Path) -> Past:
    """Where an inbox can be that is put back later: nothing is there yet."""
    if request.param == "sqlite":
        return SqlitePast(tmp_path / "inbox.db", copies)
    request.getfixturevalue("database")
    return PostgresPast(request.getfixturevalue("postgres"))


@pytest.fixture
def settings(past: Past, tmp_path: Path) -> Settings:
    return settings_in(tmp_path, inbox=past.location)


ON_SQLITE = pytest.mark.parametrize("past", ["sqlite"], indirect=True)
"""For what does not depend on the engine."""


def reconciled(settings: Settings, *, missed: Missed | None = None, **more: bool) -> Reconciled:
    return reconcile(
        settings,
        reason="the standby lagged",
        actor="ana",
        recorded_by="user:ana",
        missed=missed,
        **more,
    )


# --- stores of which the inbox can be put back -------------------------------------------------

SHARED, LOST = 20, 10


def in_inbox(settings: Settings, numbers: range) -> None:
    with closing(open_inbox(settings.inbox)) as inbox:
        deliver(inbox, numbers)


def followed(settings: Settings) -> None:
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        service.checkpoint()


def rotated(settings: Settings) -> tuple[SignedHead, str]:
    """The log's key changes: a checkpoint by the new one, and that key."""
    with closing(LedgerService(settings)) as service:
        service.signing.rotate(actor="ana", reason="yearly", recorded_by="user:ana")
        service.catch_up()
        service.sign()
        signed = service.checkpoint()
        assert signed is not None
        return signed, str(service.signing.present())


class Lost(NamedTuple):
    """Stores of which the inbox can be put back; each test takes a copy."""

    folder: Path
    note: str  # of the checkpoint that was signed over what is lost


@pytest.fixture
def lost(past: Past, copies: Path) -> Lost:
    """Twenty entries, followed and signed; then ten more, followed and signed, which are lost. It
    is made once per engine."""
    folder = copies / f"lost-{past.engine}"
    if not folder.exists():
        settings = settings_in(folder, inbox=past.location)
        in_inbox(settings, range(SHARED))
        followed(settings)
        past.keep("shared")
        in_inbox(settings, range(100, 100 + LOST))
        followed(settings)
        with closing(open_inbox(settings.inbox)) as inbox:
            signed = inbox.checkpoint()
        assert signed is not None
        assert signed.size == SHARED + LOST
        (folder / "note").write_text(signed.note)
        past.keep("whole")
    return Lost(folder, (folder / "note").read_text())


def lose(settings: Settings, past: Past, lost: Lost, others: int) -> None:
    """The inbox is put back as it was before ten of its entries, and others are recorded by
    somebody who cannot know."""
    shutil.copytree(lost.folder, settings.ledger.parent, dirs_exist_ok=True)
    past.put_back("shared")
    if others:
        in_inbox(settings, range(200, 200 + others))
