"""A restore that is refused leaves keys, ledger and inbox as they were."""

from contextlib import closing
from pathlib import Path

import pytest

from pipeline.audit import backup as backups
from pipeline.audit import restore as restores
from pipeline.errors import NotRestored, OperatorError
from pipeline.inbox import open_inbox
from pipeline.settings import Settings
from tests.audit import story
from tests.audit.conftest import entries_alone
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
