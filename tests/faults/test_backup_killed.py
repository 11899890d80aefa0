"""A backup that is killed, or finds no room, at each change that it makes to its folder."""

import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.continuity import backup as backups
from pipeline.continuity import restore as restores
from pipeline.continuity.service import LedgerService
from pipeline.errors import NotRestored, OperatorError
from pipeline.inbox import open_inbox
from pipeline.settings import Settings
from tests import depth
from tests.audit import story
from tests.audit.conftest import at_rest, entries_alone, followed, settings, without_checks
from tests.faults.steps import killed, tried
from tests.support.stores import settings_in

__all__ = ["at_rest", "followed", "settings", "without_checks"]

EVERY = depth.rounds(5, 1)
"""Of the changes that a backup makes to its folder, the one at which it is killed."""
BEFORE, AFTER = [16, 16, 0], [57, 57, 0]
"""(entries, signed, artifacts that lack) of a backup, and of the next one into its folder."""


def more(settings: Settings) -> None:
    """Forty deliveries, an answer with a screen that no backup has yet, and a signature."""
    with closing(LedgerService(settings)) as service:
        for number in range(40):
            story.deliver(service.inbox, f"newer-{number}")
        story.collect(service.inbox, settings.artifacts, b"\x89PNG another screen")
        service.catch_up()
        signed = service.checkpoint()
    assert signed is not None
    assert signed.size == 57


def test_an_increment_that_is_cut_off_anywhere_leaves_the_last_signed_state_or_all_of_the_next(
    settings: Settings, tmp_path: Path, write_shim: Mapping[str, str]
) -> None:
    """Entries came in batches, and what was signed over them after the last one. The machine died
    during its nightly backup, and the folder held 123,235 entries and a signature over 110,947:
    `prazo restore` refused it, and all that had been whole in it."""
    saved, folder = tmp_path / "saved", tmp_path / "again"
    backups.backup(settings, saved, with_keys=True)
    more(settings)
    left = tried("backup", tmp_path, settings.inbox, folder, saved, write_shim, EVERY)
    assert len(killed(left)) > 30 / EVERY
    assert {tuple(it.found) for it in left} == {tuple(BEFORE), tuple(AFTER)}
    assert [it.found for it in left if it.code == 0] == [AFTER, AFTER]
    assert {it.code for it in left if it.is_full} == {1, 0}


def test_a_first_backup_that_is_cut_off_anywhere_leaves_none_or_all_of_it(
    settings: Settings, tmp_path: Path, write_shim: Mapping[str, str]
) -> None:
    """A full disk left an inbox without entries, which a restore took for a whole log of none."""
    left = tried("backup", tmp_path, settings.inbox, tmp_path / "first", None, write_shim, EVERY)
    assert len(killed(left)) > 30 / EVERY
    assert [it.found for it in left if it.code == 0] == [BEFORE, BEFORE]
    assert [it for it in left if it.found not in (None, BEFORE)] == []
    assert {it.code for it in left if it.is_full} == {1, 0}


@entries_alone
def test_a_backup_that_an_earlier_release_left_half_signed_gives_what_was_signed_and_names_the_rest(
    settings: Settings, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    backups.backup(settings, saved, with_keys=True)
    with closing(open_inbox(settings.inbox)) as inbox:
        for number in range(3):
            story.deliver(inbox, f"newer-{number}")
        with backups.opened_inbox(str(saved / "inbox.db")) as copy:  # as it was done, and killed
            copy.copy(inbox.read(16, 100))
    done = restores.restore(settings_in(tmp_path / "elsewhere"), saved)
    assert (done.entries, done.artifacts, done.verdict.faults) == (16, 2, [])
    assert done.notes[0].startswith(
        "the newest 3 entries of the backup, 17 to 19, were left out: no signature covers them"
    )
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        service.checkpoint()
    assert backups.backup(settings, saved).unsigned == 0
    again = restores.restore(settings_in(tmp_path / "again"), saved)
    assert (again.entries, again.verdict.faults, again.notes) == (19, [], ())


@entries_alone
def test_what_this_machines_ledger_holds_beyond_what_was_signed_is_not_left_out(
    settings: Settings, tmp_path: Path
) -> None:
    """To end before it would lose what the ledger alone has then: a person decides."""
    saved = tmp_path / "saved"
    backups.backup(settings, saved)
    elsewhere = settings_in(tmp_path / "elsewhere")
    with closing(open_inbox(settings.inbox)) as inbox:
        story.deliver(inbox, "newer")
        with backups.opened_inbox(str(saved / "inbox.db")) as copy:
            copy.copy(inbox.read(16, 100))
    with closing(LedgerService(settings)) as service:
        service.catch_up()
    elsewhere.ledger.parent.mkdir()
    shutil.copy(settings.ledger, elsewhere.ledger)
    with pytest.raises(NotRestored, match="no signature covers entries 17 to 17"):
        restores.restore(elsewhere, saved)


def test_of_two_logs_under_one_name_the_backup_of_the_one_takes_nothing_of_the_other(
    settings: Settings, tmp_path: Path
) -> None:
    """A machine that was given an empty copy began at its first entry, under a key of its own."""
    saved, other = tmp_path / "saved", settings_in(tmp_path / "other")
    backups.backup(settings, saved)
    with (
        backups.opened_inbox(str(saved / "inbox.db")) as copy,
        backups.opened_inbox(other.inbox, copy.identity) as inbox,
    ):
        inbox.copy(copy.read(0, 100))
        story.deliver(inbox, "it begins")
    with closing(LedgerService(other)) as service:
        service.catch_up()
        service.checkpoint()
    with pytest.raises(OperatorError, match="each names another first key"):
        backups.backup(other, saved)
