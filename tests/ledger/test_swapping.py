"""A ledger that was built beside the old one takes its place in one step."""

import os
import shutil
import signal
import tempfile
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from pipeline.cli.doctor.erasures import drafts_left
from pipeline.continuity import drafts
from pipeline.continuity.service import LedgerService, ledger_service
from pipeline.errors import LedgerInUse, NoRoom
from pipeline.files import databases
from pipeline.files.disk import is_full
from pipeline.inbox import Inbox
from pipeline.settings import Settings
from tests import depth
from tests.faults.shim import disk
from tests.support.machine import killed

STEPS = ["rename", "link", "replace", "sync"]


@pytest.fixture
def root(settings: Settings, followed_inbox: Inbox) -> bytes:
    """Of a ledger whose last commits stand in a WAL, with a finished draft beside it."""
    service = LedgerService(settings)
    root = service.ledger.frontier.root()
    service.close()
    shutil.copy(settings.ledger, draft_of(settings.ledger))
    wal_of(settings.ledger).write_bytes(b"what must never be read into the new file")
    return root


def draft_of(ledger: Path) -> Path:
    return ledger.with_name(f"{ledger.name}.rebuilding")


def wal_of(ledger: Path) -> Path:
    return ledger.with_name(f"{ledger.name}.wal")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", depth.few(STEPS, 3))
def test_a_swap_that_was_killed_leaves_a_ledger_that_opens(
    settings: Settings, root: bytes, step: str, when: str
) -> None:
    killed(lambda: _swap_and_die(settings.ledger, step, when))
    assert settings.ledger.exists(), "at no moment is there none"
    if not (step == "rename" and when == "before"):
        assert not wal_of(settings.ledger).exists()
    service = LedgerService(settings)
    try:
        service.catch_up()
        assert service.ledger.frontier.root() == root
    finally:
        service.close()


def _swap_and_die(ledger: Path, step: str, when: str) -> None:
    owner = {"link": os, "sync": databases}.get(step, Path)
    do: Callable[..., object] = getattr(owner, step)

    def instead(*given: object) -> object:
        if when == "after":
            do(*given)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    setattr(owner, step, instead)
    databases.swap_in(draft_of(ledger), ledger)


def test_the_old_ledger_is_kept_and_the_new_one_serves(settings: Settings, root: bytes) -> None:
    wal_of(settings.ledger).unlink()
    service = LedgerService(settings)
    try:
        service.rebuild()
        assert service.ledger.frontier.root() == root
    finally:
        service.close()
    [aside] = settings.ledger.parent.glob("ledger.duckdb.set-aside-*")
    assert aside.stat().st_size > 0
    assert not draft_of(settings.ledger).exists()


def test_what_another_process_is_making_again_is_left_to_it(
    settings: Settings, root: bytes
) -> None:
    """After an update `prazo serve` makes it again for minutes, and a command that came by deleted
    its draft: both failed, and the WAL of the present one was gone."""
    wal_of(settings.ledger).unlink()
    with duckdb.connect(settings.ledger) as former:
        former.execute("update meta set value = 'of another release' where name = 'rules'")
    theirs = draft_of(settings.ledger).stat()
    with drafts.making(settings.ledger):
        with pytest.raises(LedgerInUse, match="making it again"):
            LedgerService(settings)
        assert draft_of(settings.ledger).stat() == theirs
    with drafts.making(settings.ledger):
        pass  # the next one may
    assert not list(settings.ledger.parent.glob("*.lock"))


def test_without_room_for_a_second_ledger_the_present_one_stays(
    settings: Settings, root: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    wal_of(settings.ledger).unlink()
    usage = namedtuple("usage", "total used free")
    service = LedgerService(settings)
    with monkeypatch.context() as full:
        full.setattr(drafts.shutil, "disk_usage", lambda _: usage(10**9, 10**9, 1000))
        with pytest.raises(NoRoom, match="cannot be rebuilt") as refused:
            service.rebuild()
    assert "make room" in refused.value.remedy
    again = LedgerService(settings)
    try:
        assert again.ledger.frontier.root() == root
    finally:
        again.close()


def test_a_new_ledger_that_could_not_be_written_to_its_end_takes_no_place(
    settings: Settings, root: bytes, tmp_path: Path
) -> None:
    """There was room for its file, but not for its WAL as well. DuckDB closes it without a word, so
    an empty file took the place of the ledger, which may alone hold what the inbox lost."""
    size = settings.ledger.stat().st_size
    with disk(tmp_path / "disk", 3 * size) as place:
        path = place / settings.ledger.name
        shutil.copy(settings.ledger, path)
        (place / "ballast").write_bytes(bytes(shutil.disk_usage(place).free - size - 2**15))
        service = LedgerService(settings.model_copy(update={"ledger": path}))
        with pytest.raises(NoRoom, match="cannot be rebuilt"):
            service.rebuild()
        service.close()
        assert sorted(it.name for it in place.iterdir()) == ["ballast", path.name]
        assert path.read_bytes() == settings.ledger.read_bytes()


def test_what_is_not_whole_takes_no_place_and_is_called_full_only_on_a_full_disk(
    tmp_path: Path,
) -> None:
    """SQLite leaves a WAL, too, where another program has the file open."""
    database = tmp_path / "inbox.db"
    for path in (database, draft_of(database), wal_of(draft_of(database))):
        path.write_bytes(b"whole")
    with pytest.raises(OSError, match="could not be written to its end") as refused:
        databases.swap_in(draft_of(database), database)
    assert not is_full(refused.value)
    assert sorted(tmp_path.glob("inbox.db*set-aside*")) == []


def test_what_a_killed_process_left_of_a_ledger_goes_with_the_next_start(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """220 MB with names in clear outlived starts and stops, until the next time a ledger was made
    again. One that another process is making now is left to it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # others' killed processes leave there
    draft = drafts.draft_of(settings.ledger)
    files = [draft, Path(f"{draft}.wal")]
    spilled = Path(f"{draft}.tmp")
    for file in files:
        file.write_bytes(b"Mariana Quintela")
    spilled.mkdir()
    (spilled / "duckdb_temp_storage-0.tmp").write_bytes(b"Mariana")
    [named] = drafts_left(settings)
    assert all(str(it) in named.found for it in files)
    with drafts.making(settings.ledger), ledger_service(settings):
        assert all(it.exists() for it in files)
    with ledger_service(settings):
        assert not any(it.exists() for it in (*files, spilled))
    assert list(drafts_left(settings)) == []
