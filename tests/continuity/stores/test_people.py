"""The names of people in both stores: what is wrong is named, and no way back loses one."""

from contextlib import closing
from pathlib import Path

import pytest

from pipeline.continuity import backup, restore
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.inbox import open_inbox
from pipeline.log.actions import action
from pipeline.settings import Settings
from tests.ledger.older import (
    ON_SQLITE,
    Past,
    copies,
    followed,
    in_inbox,
    past,
    reconciled,
    settings,
)
from tests.support.stores import settings_in

__all__ = ["copies", "past", "settings"]

CHANGES = {
    "removed": "delete from actors",
    "renamed": "insert or replace into actors select pseudonym, cast('Eve' as blob), salt"
    " from actors",
}


def acted(settings: Settings, *names: str) -> None:
    said = {"reason": "r", "recorded_by": "test", "process_id": "p1"}
    with closing(open_inbox(settings.inbox)) as inbox:
        inbox.append([action("note", actor=it, **said) for it in names])


def told(settings: Settings) -> tuple[list[str | None], list[str | None], list[str]]:
    """The names in the inbox and in the ledger's rows, and the faults."""
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        rows = service.ledger.cursor().execute("select actor from fact_actions order by seq")
        entries = service.inbox.read(0, 1000)
        named = [it.name for it in entries if it.pseudonym is not None]
        return named, [it for (it,) in rows.fetchall()], audit(service).faults


@pytest.mark.long
@ON_SQLITE
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_inbox_whose_names_are_wrong_is_put_right_from_the_ledger(
    settings: Settings, change: str
) -> None:
    acted(settings, "Ana", "Bia", "Ana")
    followed(settings)
    with closing(open_inbox(settings.inbox)) as inbox:
        inbox.execute(change)
    inboxs, ledgers, faults = told(settings)
    assert (inboxs, ledgers) == ([None] * 3, ["Ana", "Bia", "Ana"])
    assert [it.partition(":")[0] for it in faults] == ["entry 1", "entry 2", "entry 3"]
    assert "differs between inbox and ledger, and the inbox is wrong; `prazo restore`" in faults[0]
    restore.restore_from_ledger(settings)
    assert told(settings) == (["Ana", "Bia", "Ana"], ["Ana", "Bia", "Ana"], [])


@ON_SQLITE
def test_a_name_that_neither_store_has_is_a_fault(settings: Settings) -> None:
    acted(settings, "Ana")
    with closing(open_inbox(settings.inbox)) as inbox:
        inbox.execute(CHANGES["removed"])
        [entry] = inbox.read(0, 1)
    assert told(settings) == (
        [None],
        [entry.pseudonym],
        ["entry 1: its leaf commits to another person, in both stores"],
    )


def test_what_an_inbox_lost_at_its_end_comes_back_with_its_names(
    settings: Settings, past: Past
) -> None:
    in_inbox(settings, range(3))
    acted(settings, "Ana")
    past.keep()
    acted(settings, "Bia", "Ana")
    followed(settings)
    past.put_back()
    assert told(settings) == (["Ana", "Bia", "Ana"], ["Ana", "Bia", "Ana"], [])


def test_what_is_reconciled_has_its_names(settings: Settings, past: Past) -> None:
    """Bia had not acted before; of the two pasts each has a pseudonym of hers."""
    acted(settings, "Ana")
    past.keep()
    acted(settings, "Bia", "Ana")
    followed(settings)
    past.put_back()
    acted(settings, "Bia")
    reconciled(settings)
    names: list[str | None] = ["Ana", "Bia", "ana", "Bia", "Ana"]
    assert told(settings) == (names, names, [])


@ON_SQLITE
def test_a_backup_and_what_the_ledger_has_beyond_it_bring_their_names(
    settings: Settings, tmp_path: Path
) -> None:
    acted(settings, "Ana")
    followed(settings)
    backup.backup(settings, tmp_path / "saved")
    acted(settings, "Bia")
    followed(settings)
    Path(settings.inbox).unlink()
    assert restore.restore(settings, tmp_path / "saved").verdict.faults == []
    assert told(settings) == (["Ana", "Bia"], ["Ana", "Bia"], [])
    elsewhere = settings_in(tmp_path / "elsewhere")
    restore.restore(elsewhere, tmp_path / "saved")
    assert told(elsewhere) == (["Ana"], ["Ana"], [])
