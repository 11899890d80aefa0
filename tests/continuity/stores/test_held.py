"""Entries that the ledger alone holds come back with a restore, whatever else of it is useless."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from pipeline.continuity import backup as backups
from pipeline.continuity import restore as restores
from pipeline.continuity.service import LedgerService
from pipeline.errors import LedgerStalled
from pipeline.settings import Settings
from tests.audit import story
from tests.audit.conftest import entries_alone
from tests.continuity.stores.test_stores import in_inbox


def of_another_release(settings: Settings) -> None:
    with duckdb.connect(str(settings.ledger)) as ledger:
        ledger.execute("update meta set value = 'of another release' where name = 'rules'")


def without_the_keys(settings: Settings) -> None:
    """The disk of the keys is lost as well."""
    settings.signing_key_file.unlink()
    settings.taxpayer_key_file.unlink()


def under_another_key_of_tax_ids(settings: Settings) -> None:
    """A machine with a key of its own takes over, and its operator moved that away."""
    with duckdb.connect(str(settings.ledger)) as ledger:
        ledger.execute("update meta set value = 'another' where name = 'taxpayer_mark'")
    settings.taxpayer_key_file.unlink()


LEDGERS = (of_another_release, without_the_keys, under_another_key_of_tax_ids)


def followed(settings: Settings) -> bytes:
    """Three more entries, all signed, which nothing but the ledger holds once the inbox is lost;
    the root over all of them."""
    with closing(LedgerService(settings)) as service:
        for number in range(3):
            story.deliver(service.inbox, f"newer-{number}")
        service.catch_up()
        service.checkpoint()
        return service.ledger.frontier.root()


def remove_inbox(settings: Settings) -> None:
    for file in Path(settings.inbox).parent.glob("inbox.db*"):
        file.unlink()


@entries_alone
@pytest.mark.parametrize("change", LEDGERS)
def test_a_ledger_that_would_be_made_again_gives_its_newer_entries_first(
    settings: Settings, tmp_path: Path, change: Callable[[Settings], None]
) -> None:
    """After an upgrade, or without its key of tax ids, the ledger was set aside with the only copy
    of what had been acknowledged since the backup: it was not put back. Without that key a restore
    also made one, and then refused the backup's because of it."""
    backups.backup(settings, tmp_path / "saved", with_keys=True)
    root = followed(settings)
    remove_inbox(settings)
    change(settings)
    done = restores.restore(settings, tmp_path / "saved")
    assert (done.entries, done.verdict.faults) == (19, [])
    assert done.notes[0].startswith("3 entries that are newer than the backup came back")
    kept = tmp_path / "saved" / "keys" / "taxpayer.key"
    assert settings.taxpayer_key_file.read_bytes() == kept.read_bytes()
    with closing(LedgerService(settings)) as service:
        assert service.ledger.frontier.root() == root


@entries_alone
def test_a_ledger_of_another_release_puts_a_changed_inbox_right(settings: Settings) -> None:
    """It was refused as outdated, with the advice to make it again from the very inbox that was
    changed."""
    root = followed(settings)
    in_inbox(settings, "update entries set body = x'7b7d' where seq = 4")
    of_another_release(settings)
    done = restores.restore_from_ledger(settings)
    assert (done.entries, done.verdict.faults) == (19, [])
    with closing(LedgerService(settings)) as service:
        assert service.ledger.frontier.root() == root


@entries_alone
def test_a_ledger_that_cannot_be_read_for_now_stays_where_it_is(
    settings: Settings, tmp_path: Path
) -> None:
    """With too little memory, or too few files, nothing says that it is of no use: it is not set
    aside with its newer entries."""
    backups.backup(settings, tmp_path / "saved")
    followed(settings)
    remove_inbox(settings)
    with pytest.raises(LedgerStalled, match="PRAZO_LEDGER_MEMORY"):
        restores.restore(settings.model_copy(update={"ledger_memory": "1MB"}), tmp_path / "saved")
    assert not list(tmp_path.glob("*set-aside*"))
    assert restores.restore(settings, tmp_path / "saved").entries == 19
