"""The drill: back up while everything runs, lose the machine, put it back, prove it."""

import re
import stat
import threading
from pathlib import Path

import pytest

from pipeline import backup as backups
from pipeline import evidence
from pipeline.errors import LedgerRefused, OperatorError
from pipeline.export_request import Scope
from pipeline.inbox import open_inbox
from pipeline.service import LedgerService
from pipeline.settings import Settings
from pipeline.verify import verify
from tests.evidence import story
from tests.evidence.conftest import command, request
from tests.evidence.test_stores import in_inbox


def test_a_backup_of_a_running_log_is_put_back_with_the_same_root(
    settings: Settings, tmp_path: Path
) -> None:
    """Entries arrive and are followed all the while, and a second backup adds what is new."""
    service = LedgerService(settings)
    service.start()
    stop = threading.Event()

    def receive() -> None:
        number = 0
        while not stop.is_set():
            story.deliver(service.inbox, f"live-{number}")
            number += 1

    receiving = threading.Thread(target=receive)
    receiving.start()
    try:
        first = backups.backup(settings, tmp_path / "saved", with_keys=True)
        second = backups.backup(settings, tmp_path / "saved", with_keys=True)
    finally:
        stop.set()
        receiving.join()
    service.reach(second.entries)
    root = service.ledger.root_at(second.entries)
    service.close()
    assert first.entries >= 16
    assert second.entries - first.entries == second.new_entries >= 0
    assert (first.new_artifacts, second.new_artifacts) == (2, 0)

    elsewhere = story.settings(tmp_path / "elsewhere")
    done = backups.restore(elsewhere, tmp_path / "saved")
    assert done.verdict.faults == []
    assert (done.entries, done.artifacts) == (second.entries, 2)
    restored = LedgerService(elsewhere)
    try:
        assert restored.ledger.root_at(second.entries) == root
        assert restored.signer is not None
        package = evidence.export(restored, request(Scope(process_id="p1")), tmp_path / "p.zip")
        story.deliver(restored.inbox, "it goes on")
        restored.catch_up()
        assert restored.ledger.size == second.entries + 2
    finally:
        restored.close()
    assert verify(package.path, package.key).faults == []


def test_keys_are_copied_by_choice_and_for_their_owner_alone(
    settings: Settings, tmp_path: Path
) -> None:
    assert backups.backup(settings, tmp_path / "without").keys == ()
    assert not (tmp_path / "without" / "keys").exists()
    kept = backups.backup(settings, tmp_path / "with", with_keys=True).keys
    assert [it.name for it in kept] == ["signing.key", "taxpayer.key"]
    assert {stat.S_IMODE(it.stat().st_mode) for it in kept} == {0o600}
    assert stat.S_IMODE((tmp_path / "with").stat().st_mode) == 0o700


def test_a_backup_without_keys_is_put_back_and_says_that_signatures_were_not_checked(
    settings: Settings, tmp_path: Path
) -> None:
    backups.backup(settings, tmp_path / "saved")
    elsewhere = story.settings(tmp_path / "elsewhere")
    done = backups.restore(elsewhere, tmp_path / "saved")
    assert done.verdict.faults == []
    assert "the signing key is not here: signatures were not checked" in done.verdict.notes
    assert not elsewhere.signing_key_file.exists()


def test_another_key_is_never_replaced(settings: Settings, tmp_path: Path) -> None:
    backups.backup(settings, tmp_path / "saved", with_keys=True)
    settings.signing_key_file.write_text("00" * 32 + "\n", encoding="ascii")
    with pytest.raises(OperatorError, match="was not replaced"):
        backups.backup(settings, tmp_path / "saved", with_keys=True)


CHANGES = {
    "a leaf": "update entries set leaf = cast(leaf || ' ' as blob) where seq = 3",
    "a body": "update entries set body = x'7b7d' where seq = 9",
    "an answer": "update entries set status = 200 where seq = 7",
    "an entry removed": "delete from entries where seq = 16",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_backup_that_was_changed_is_refused_before_anything_is_put_anywhere(
    settings: Settings, tmp_path: Path, change: str
) -> None:
    backups.backup(settings, tmp_path / "saved", with_keys=True)
    in_inbox(story.settings(tmp_path / "saved"), CHANGES[change])
    elsewhere = story.settings(tmp_path / "elsewhere")
    with pytest.raises(OperatorError, match="Nothing was restored"):
        backups.restore(elsewhere, tmp_path / "saved")
    assert not (tmp_path / "elsewhere" / "inbox.db").exists()


def test_an_older_backup_takes_the_newer_entries_from_the_ledger(
    settings: Settings, tmp_path: Path
) -> None:
    """A row of the inbox was changed after the backup, and three entries came since."""
    backups.backup(settings, tmp_path / "saved")
    service = LedgerService(settings)
    for number in range(3):
        story.deliver(service.inbox, f"newer-{number}")
    service.catch_up()
    root = service.ledger.frontier.root()
    service.close()
    in_inbox(settings, "update entries set body = x'7b7d' where seq = 4")
    done = backups.restore(settings, tmp_path / "saved")
    assert (done.entries, done.verdict.faults) == (19, [])
    assert done.notes[0].startswith("3 entries that are newer than the backup came back")
    assert done.notes[1].startswith("the former inbox.db was kept as inbox.db.set-aside-")
    service = LedgerService(settings)
    try:
        assert service.ledger.frontier.root() == root
    finally:
        service.close()


def test_a_deleted_inbox_comes_back_with_what_was_recorded_since_the_backup(
    settings: Settings, tmp_path: Path
) -> None:
    backups.backup(settings, tmp_path / "saved")
    service = LedgerService(settings)
    story.deliver(service.inbox, "since the backup")
    service.catch_up()
    root = service.ledger.frontier.root()
    service.close()
    for it in tmp_path.glob("inbox.db*"):
        it.unlink()
    with pytest.raises(LedgerRefused, match="`prazo restore` puts it back"):
        LedgerService(settings)
    done = backups.restore(settings, tmp_path / "saved")
    assert (done.entries, done.verdict.faults) == (17, [])
    service = LedgerService(settings)
    try:
        assert service.ledger.frontier.root() == root
    finally:
        service.close()


def test_a_backup_of_another_log_is_not_added_to(settings: Settings, tmp_path: Path) -> None:
    other = story.settings(tmp_path / "other")
    open_inbox(other.inbox).close()
    backups.backup(other, tmp_path / "saved")
    with pytest.raises(OperatorError, match="choose an empty folder"):
        backups.backup(settings, tmp_path / "saved")


def test_nothing_is_restored_under_a_process_that_holds_the_ledger(
    settings: Settings, tmp_path: Path
) -> None:
    backups.backup(settings, tmp_path / "saved")
    service = LedgerService(settings)
    try:
        done = command(settings, "restore", str(tmp_path / "saved"))
    finally:
        service.close()
    assert done.returncode == 1
    assert f"The ledger {settings.ledger} is in use" in done.stderr
    assert not list(tmp_path.glob("*.set-aside-*"))


def test_the_commands_tell_what_was_copied_and_what_was_put_back(
    settings: Settings, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    done = command(settings, "backup", str(saved))
    assert done.returncode == 0
    assert re.fullmatch(
        rf"{saved}: 16 entries of prazo/[0-9a-f]{{16}}, 16 of them new; 2 new artifacts; keys: 0\n",
        done.stdout,
    )
    assert "The keys were not copied" in done.stderr
    done = command(settings, "restore", str(saved))
    assert done.returncode == 0
    assert done.stdout.startswith("16 entries of prazo/")
    assert "  note     the former inbox.db was kept as inbox.db.set-aside-" in done.stdout
    assert done.stdout.endswith("VERIFIED\n")
