"""What a press says where the inbox cannot take its entry, and where the ledger's file is damaged:
what failed, why and what to do. Nothing is recorded by half, and what was typed is still there."""

import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from app_pages.language import faults
from pipeline.errors import LedgerDamaged, LedgerMadeAgain, LedgerStalled, NoRoom
from pipeline.inbox.sqlite import inbox
from tests import depth
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import before, review
from tests.app_pages.support.reading import page_text, press
from tests.support.sqlite import opened


@contextmanager
def full(path: Path) -> Iterator[None]:
    """No file grows beyond what the inbox's log of writes has now, as on a full disk."""
    wal = path.with_name(f"{path.name}-wal")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (wal.stat().st_size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else writes to the inbox, and does not end."""
    with closing(opened(path)) as connection:
        connection.execute("begin immediate")
        yield
        connection.execute("rollback")


@pytest.mark.parametrize(
    ("spoilt", "why"), depth.few([(full, "free space"), (locked, "locked")], 2)
)
def test_a_press_says_why_nothing_was_recorded_and_is_repeated_once_the_cause_is_gone(
    open_log: OpenLog,
    visit: Visit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoilt: Callable[[Path], AbstractContextManager[None]],
    why: str,
) -> None:
    monkeypatch.setattr(inbox, "BUSY_SECONDS", 0.2)
    with open_log([review("prc_1", before(days=9))]) as service:
        app = visit("process", as_of=None, process="prc_1")
        app.text_area(key="note_text prc_1").set_value("she calls back")
        app.text_input(key="note_actor prc_1").set_value("Bia")
        with spoilt(tmp_path / "inbox.db"):
            press(app, "Record the note")
        assert "The inbox cannot be used right now" in page_text(app)
        assert why in " ".join(it.value for it in app.error)
        assert app.text_area(key="note_text prc_1").value == "she calls back"
        assert service.inbox.last()[0] == 1
        press(app, "Record the note")
        assert service.inbox.last()[0] == 2


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (NoRoom, "A disk is full"),
        (LedgerStalled, "There is no room for the ledger"),
        (LedgerDamaged, "The ledger's file is damaged"),
        (LedgerMadeAgain, "The ledger's file is damaged"),
    ],
)
def test_a_full_disk_and_a_damaged_ledger_are_called_so(kind: type[Exception], name: str) -> None:
    found = next(it for known, it in faults.FAULTS.items() if issubclass(kind, known))
    assert found.name == name
