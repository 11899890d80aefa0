"""A restore that is refused leaves keys, ledger and inbox as they were."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.continuity import backup as backups
from pipeline.continuity import kept_heads
from pipeline.continuity import restore as restores
from pipeline.continuity.service import LedgerService
from pipeline.errors import NotRestored, OperatorError
from pipeline.inbox import open_inbox
from pipeline.log.actions import By
from pipeline.settings import Settings
from tests.audit import story
from tests.audit.conftest import entries_alone
from tests.continuity.stores.test_stores import in_inbox
from tests.support.stores import settings_in


@entries_alone
def test_another_key_of_tax_ids_keeps_the_signing_key_from_being_put_there_as_well(
    settings: Settings, tmp_path: Path
) -> None:
    """Prazo had been started on the new machine for a moment, which made a key of tax ids. The
    restore was refused because of it, and had put the log's private key there by then: beside an
    inbox that was not put back."""
    backups.backup(settings, tmp_path / "saved", with_keys=True)
    elsewhere = settings_in(tmp_path / "elsewhere")
    elsewhere.taxpayer_key_file.parent.mkdir(parents=True)
    elsewhere.taxpayer_key_file.write_text("00" * 32 + "\n", encoding="ascii")
    with pytest.raises(OperatorError, match="was not replaced"):
        restores.restore(elsewhere, tmp_path / "saved")
    assert not elsewhere.signing_key_file.exists()
    assert not Path(elsewhere.inbox).exists()
    elsewhere.taxpayer_key_file.unlink()
    assert restores.restore(elsewhere, tmp_path / "saved").verdict.faults == []
    assert elsewhere.signing_key_file.read_bytes() == settings.signing_key_file.read_bytes()


@entries_alone
def test_a_database_of_another_log_keeps_the_keys_from_being_put_there(
    settings: Settings, database: str, tmp_path: Path
) -> None:
    """It said that nothing was restored, and the private keys of the one log lay on the machine of
    the other."""
    backups.backup(settings, tmp_path / "saved", with_keys=True)
    with closing(open_inbox(database)) as other:
        story.deliver(other, "of another log")
    elsewhere = settings_in(tmp_path / "elsewhere", inbox=database)
    with pytest.raises(NotRestored, match="holds 1 entries of"):
        restores.restore(elsewhere, tmp_path / "saved")
    assert not elsewhere.signing_key_file.exists()
    assert not elsewhere.taxpayer_key_file.exists()


def followed(settings: Settings, *events: str) -> str:
    """Records events, follows them, and signs; the checkpoint over all."""
    with closing(LedgerService(settings)) as service:
        for event in events:
            story.deliver(service.inbox, event)
        service.catch_up()
        return service.signed_checkpoint().note


@entries_alone
def test_a_ledger_of_another_history_stays_in_its_place(settings: Settings, tmp_path: Path) -> None:
    """It was set aside before the backup was refused, and nothing said so: the next start made
    another from the inbox, without what it alone held. A restore that is done sets it aside."""
    other = settings_in(tmp_path / "other")
    shutil.copytree(tmp_path, other.ledger.parent, ignore=shutil.ignore_patterns("other"))
    followed(other, "of the other past")
    backups.backup(other, tmp_path / "saved")
    in_inbox(settings_in(tmp_path / "saved"), "delete from heads", "delete from checkpoints")
    followed(settings, "of this past", "and one more")
    kept_heads.place(settings).unlink()
    ledger = settings.ledger.read_bytes()
    with pytest.raises(NotRestored, match="no signature covers"):
        restores.restore(settings, tmp_path / "saved")
    assert settings.ledger.read_bytes() == ledger
    insisted = By("this past is the right one", "ana", "user:root")
    done = restores.restore(settings, tmp_path / "saved", insisted=insisted)
    assert "the ledger is of another history: its root at 17 entries differs" in done.notes
    [aside] = tmp_path.glob("ledger.duckdb.set-aside-*")
    assert aside.read_bytes() == ledger


@entries_alone
def test_a_checkpoint_that_is_newer_than_the_backup_is_held_against_what_the_ledger_adds(
    settings: Settings, tmp_path: Path
) -> None:
    """With `--against` it was refused as if entries were missing, though the ledger had them; and
    without it too, for want of a signature over them: the head beside the ledger was lost."""
    backups.backup(settings, tmp_path / "saved")
    other = settings_in(tmp_path / "other")
    shutil.copytree(tmp_path, other.ledger.parent, ignore=shutil.ignore_patterns("other", "saved"))
    of_the_other = followed(other, "of the other past")
    kept = followed(settings, "since the backup", "and one more")
    for file in tmp_path.glob("inbox.db*"):
        file.unlink()
    kept_heads.place(settings).unlink()
    with pytest.raises(NotRestored, match="no signature covers entries 17 to 18"):
        restores.restore(settings, tmp_path / "saved")
    with pytest.raises(NotRestored, match="over other entries than the first 17"):
        restores.restore(settings, tmp_path / "saved", against=of_the_other)
    done = restores.restore(settings, tmp_path / "saved", against=kept)
    assert (done.entries, done.verdict.faults) == (18, [])
    assert "  checked  the log continues the earlier checkpoint at 18" in done.verdict.lines()


@entries_alone
@pytest.mark.parametrize("step", ["proving the backup", "verifying"])
def test_of_two_restores_at_once_the_second_is_refused_and_the_first_ends_well(
    settings: Settings, tmp_path: Path, step: str
) -> None:
    """Each deleted the other's draft, and both failed with an error of the database."""
    backups.backup(settings, tmp_path / "saved", with_keys=True)
    elsewhere = settings_in(tmp_path / "elsewhere")
    refused: list[str] = []

    def while_the_first_is_there(what: str, *_: object) -> None:
        if what == step and not refused:
            with pytest.raises(NotRestored) as second:
                restores.restore(elsewhere, tmp_path / "saved")
            with pytest.raises(NotRestored, match="another `prazo restore` is running"):
                restores.restore_from_ledger(elsewhere)
            refused.append(second.value.why)

    done = restores.restore(elsewhere, tmp_path / "saved", on_progress=while_the_first_is_there)
    lock = tmp_path / "elsewhere" / "inbox.db.restoring.lock"
    assert refused == [f"another `prazo restore` is running, and holds {lock}"]
    assert (done.entries, done.verdict.faults, lock.exists()) == (16, [], False)
