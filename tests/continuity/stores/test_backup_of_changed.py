"""A backup says of rows that no restore would take, and goes on with none of them."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.continuity import backup as backups
from pipeline.continuity import restore as restores
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxChanged, NotRestored, WrongUsage
from pipeline.inbox import open_inbox
from pipeline.inbox.heartbeats import heartbeats
from pipeline.settings import Settings
from tests import depth
from tests.audit import story
from tests.audit.conftest import command, entries_alone
from tests.continuity.stores.test_stores import in_inbox
from tests.support.stores import settings_in

NAMED = "entries 4 of the inbox are not as they were recorded"
CHANGES = {
    "a body": ("update entries set body = x'7b7d' where seq = 4", NAMED),
    "a leaf": ("update entries set leaf = cast(leaf || ' ' as blob) where seq = 4", NAMED),
    "the key of a line": ("update entries set ingest_key = null where seq = 4", NAMED),
    "an entry gone": ("delete from entries where seq = 4", "the inbox lacks entries between"),
    "an entry with its leaf": (
        "update entries set (kind, body, salt, leaf, record, process_id, process_n, process_prev,"
        " seller_id, seller_n, seller_prev, event_id, attempt_id, status) = (select kind, body,"
        " salt, leaf, record, process_id, process_n, process_prev, seller_id, seller_n,"
        " seller_prev, event_id, attempt_id, status from entries where seq = 5) where seq = 4",
        "entries 4",
    ),
}


@entries_alone
@pytest.mark.parametrize("change", depth.few(list(CHANGES), 3))
def test_what_no_restore_would_take_is_named_and_not_copied(
    settings: Settings, tmp_path: Path, change: str
) -> None:
    """It said 16 entries, 16 of them new, and its heartbeat that all was well; the restore refused
    it months later."""
    statement, why = CHANGES[change]
    in_inbox(settings, statement)
    refused = command(settings, "backup", str(tmp_path / "saved"))
    assert refused.returncode == 1
    assert f"Error: Nothing was copied: {why}" in refused.stderr
    assert "`prazo restore --from-ledger`" in refused.stderr
    assert "--as-it-stands" in refused.stderr
    assert not (tmp_path / "saved").exists()
    with closing(open_inbox(settings.inbox)) as inbox:
        assert "backup" not in heartbeats(inbox)
    # The way out that it names.
    assert command(settings, "restore", "--from-ledger").returncode == 0
    assert command(settings, "backup", str(tmp_path / "saved")).returncode == 0
    elsewhere = settings_in(tmp_path / "elsewhere")
    assert restores.restore(elsewhere, tmp_path / "saved").verdict.faults == []


@entries_alone
def test_a_sound_backup_stays_sound_where_newer_entries_were_changed(
    settings: Settings, tmp_path: Path
) -> None:
    backups.backup(settings, tmp_path / "saved")
    with closing(LedgerService(settings)) as service:
        story.deliver(service.inbox, "later")
        service.catch_up()
        service.checkpoint()
    in_inbox(settings, "update entries set body = x'7b7d' where seq = 17")
    with pytest.raises(InboxChanged, match="entries 17 of the inbox"):
        backups.backup(settings, tmp_path / "saved")
    elsewhere = settings_in(tmp_path / "elsewhere")
    done = restores.restore(elsewhere, tmp_path / "saved")
    assert (done.entries, done.verdict.faults) == (16, [])


def test_a_row_that_was_changed_after_its_backup_does_not_hold_the_next_one_up(
    settings: Settings, tmp_path: Path
) -> None:
    """The copy has it as it was recorded; `prazo verify` names it in the inbox."""
    backups.backup(settings, tmp_path / "saved")
    in_inbox(settings, "update entries set body = x'7b7d' where seq = 4")
    with closing(open_inbox(settings.inbox)) as inbox:
        story.deliver(inbox, "later")
    assert backups.backup(settings, tmp_path / "saved").new_entries == 1


def test_what_stands_is_copied_where_somebody_wants_it_and_never_taken_for_a_backup(
    settings: Settings, tmp_path: Path
) -> None:
    backups.backup(settings, tmp_path / "sound")
    in_inbox(settings, "update entries set body = x'7b7d' where seq = 4")
    stands = str(tmp_path / "stands")
    done = command(settings, "backup", stands, "--as-it-stands")
    assert done.returncode == 1
    assert f"NO BACKUP, but a copy of what stands: {NAMED}" in done.stderr
    assert (tmp_path / "stands" / "CHANGED.txt").read_text() == f"{NAMED}\n"
    with closing(open_inbox(tmp_path / "stands" / "inbox.db")) as copy:
        assert copy.read(3, 1)[0].body == b"{}"
    for wrong in (("backup", stands), ("backup", str(tmp_path / "sound"), "--as-it-stands")):
        refused = command(settings, *wrong)
        assert (refused.returncode, "Nothing was copied" in refused.stderr) == (2, True)
    with pytest.raises(NotRestored, match="its entries 4 are not as they were recorded"):
        restores.restore(settings_in(tmp_path / "elsewhere"), tmp_path / "stands")


def test_a_sound_inbox_copied_as_it_stands_is_a_backup(settings: Settings, tmp_path: Path) -> None:
    assert command(settings, "backup", str(tmp_path / "s"), "--as-it-stands").returncode == 0
    assert backups.backup(settings, tmp_path / "s").new_entries == 0
    shutil.rmtree(tmp_path / "s")


def test_the_folder_of_the_stores_is_not_a_backup_of_them(tmp_path: Path) -> None:
    """`prazo backup data` said that every entry was copied, and there was one copy of them all."""
    settings = settings_in(tmp_path / "data")
    with closing(open_inbox(settings.inbox)) as inbox:
        for folder in (tmp_path / "data", tmp_path / "data" / ".." / "data"):
            with pytest.raises(WrongUsage, match="names: it would be its own backup"):
                backups.backup(settings, folder)
            # So it was said before a migration, which then left nothing of the former version.
            with pytest.raises(WrongUsage, match="names: it would be its own backup"):
                backups.backup_before_migration(settings, folder)
        assert heartbeats(inbox) == {}
