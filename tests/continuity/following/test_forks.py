"""An inbox that was put back is neither followed nor signed until it is reconciled.

A test runs on either engine: on SQLite an older file is put back, on PostgreSQL a standby takes
over that had not received the last transactions.
"""

import json
import shutil
import signal
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.cli.packages import rotate_key
from pipeline.continuity import earlier, follower
from pipeline.continuity.forks import check_continuity
from pipeline.continuity.kept_heads import kept, open_guarded, place
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.errors import CallerError, InboxForked, LedgerStalled
from pipeline.inbox import Inbox, open_inbox
from pipeline.ledger.file import close_once_read
from pipeline.ledger.store import Ledger
from pipeline.log.actions import action
from pipeline.settings import Settings
from tests import depth
from tests.audit import story
from tests.continuity.following.programs import started
from tests.ledger.conftest import OPENED, deliver, entries_alone
from tests.ledger.older import (
    LOST,
    ON_SQLITE,
    SHARED,
    Lost,
    Past,
    copies,
    followed,
    in_inbox,
    lose,
    lost,
    past,
    reconciled,
    settings,
)
from tests.support.ledgers import said_in
from tests.support.machine import wait_until
from tests.support.soundness import all_entries, assert_sound
from tests.support.stores import environment_in, settings_in

__all__ = ["copies", "lost", "past", "settings"]

FEWER, MORE = 4, 15


# --- it is noticed ---------------------------------------------------------------------------


@pytest.mark.parametrize("others", depth.few([FEWER, MORE], 2))
def test_a_running_follower_stops_and_signs_nothing(
    settings: Settings, past: Past, lost: Lost, others: int
):
    """It went on behind its own last entry, whatever stood there: acknowledged entries were in the
    ledger alone, others never reached it, and the badge said verified."""
    shutil.copytree(lost.folder, settings.ledger.parent, dirs_exist_ok=True)
    past.put_back("whole")
    with closing(LedgerService(settings)) as service:
        service.start()
        assert service.status().is_verified
        past.put_back("shared")
        in_inbox(settings, range(200, 200 + others))
        wait_until(lambda: service.fork is not None)
        status = service.status()
        assert f"they part after entry {SHARED}" in (status.problem or "")
        assert f"holds {LOST} acknowledged entries" in (status.problem or "")
        assert "prazo reconcile" in (status.problem or "")
        assert not status.is_verified
        assert status.last_seq == SHARED + LOST
        signed = service.checkpoint()
        assert signed is not None
        assert signed.size == SHARED
        with pytest.raises(InboxForked):
            service.inbox.append([])
        assert audit(service).faults == [service.fork.in_one_line]
    with closing(open_inbox(settings.inbox)) as inbox:
        head = inbox.head()
        assert head is not None
        assert head.size == SHARED


def test_it_goes_on_once_the_right_inbox_is_in_its_place_again(
    settings: Settings, past: Past, lost: Lost, monkeypatch: pytest.MonkeyPatch
):
    """Its thread had ended: receivers recorded again by themselves, and until somebody started the
    dashboard again it showed an ever older past."""
    monkeypatch.setattr(follower, "LOOK_AGAIN_SECONDS", 0.1)
    shutil.copytree(lost.folder, settings.ledger.parent, dirs_exist_ok=True)
    past.put_back("whole")
    with closing(LedgerService(settings)) as service:
        service.start()
        past.put_back("shared")
        in_inbox(settings, range(200, 200 + MORE))
        wait_until(lambda: service.fork is not None)
        past.put_back("whole")
        wait_until(lambda: service.status().is_verified)
        assert (service.fork, service.status().problem) == (None, None)
        deliver(service.inbox, range(300, 303))
        wait_until(lambda: service.status().last_seq == SHARED + LOST + 3)
        signed = service.checkpoint()
        assert signed is not None
        assert signed.size == SHARED + LOST + 3
        assert audit(service).faults == []


@ON_SQLITE
def test_one_that_began_on_the_wrong_inbox_takes_the_many_entries_of_the_right_one(
    settings: Settings, past: Past, lost: Lost, monkeypatch: pytest.MonkeyPatch
):
    """Its thread died without a word where as many as a batch waited: it had never appended any."""
    monkeypatch.setattr(follower, "LOOK_AGAIN_SECONDS", 0.1)
    monkeypatch.setattr(follower, "MAX_ENTRIES_PER_BATCH", 3)
    shutil.copytree(lost.folder, settings.ledger.parent, dirs_exist_ok=True)
    past.put_back("whole")
    in_inbox(settings, range(300, 303))
    past.keep("grown")
    past.put_back("shared")
    in_inbox(settings, range(200, 200 + MORE))
    with closing(LedgerService(settings, serves_a_fork=True)) as service:
        assert service.fork is not None
        service.start()
        wait_until(lambda: service.status().problem)
        # Its file may be closed meanwhile, as after a commit on a full disk.
        close_once_read(service.ledger.path, service.ledger._connection.close)
        service.ledger._shut = LedgerStalled("The ledger cannot be opened", "its disk is full")
        past.put_back("grown")
        wait_until(lambda: service.status().last_seq == SHARED + LOST + 3)
        wait_until(lambda: service.status().is_verified)


@pytest.mark.parametrize("others", depth.few([0, 1], 2))
def test_a_ledger_elsewhere_goes_on_once_the_keeper_gave_back_what_it_waits_for(
    settings: Settings, past: Past, lost: Lost, others: int, monkeypatch: pytest.MonkeyPatch
):
    """It had to be started again as well, and nothing said so. Where others stand in the place of
    what was lost, it goes on waiting."""
    monkeypatch.setattr(follower, "LOOK_AGAIN_SECONDS", 0.1)
    looks: list[object] = []

    def look(ledger: Ledger, inbox: Inbox) -> None:
        looks.append(ledger)
        check_continuity(ledger, inbox)

    monkeypatch.setattr(follower, "check_continuity", look)
    shutil.copytree(lost.folder, settings.ledger.parent, dirs_exist_ok=True)
    past.put_back("whole")
    folder = settings.ledger.parent / "elsewhere"
    elsewhere = settings_in(folder, inbox=past.location, keeper_url="http://127.0.0.1:9")
    with closing(LedgerService(elsewhere)) as second:
        second.start()
        wait_until(lambda: second.status().last_seq == SHARED + LOST)
        past.put_back("shared")
        in_inbox(settings, range(200, 200 + others))
        wait_until(lambda: second.fork is not None)
        if others:
            reconciled(settings)
        else:
            followed(settings)
            wait_until(lambda: second.status().is_verified)
        with closing(LedgerService(settings)) as keeper:
            deliver(keeper.inbox, range(300, 303))
        if others:
            before = len(looks)
            wait_until(lambda: len(looks) > before + 1)
            assert "they part after entry 20" in (second.status().problem or "")
            assert second.status().last_seq == SHARED + LOST
        else:
            wait_until(lambda: second.status().last_seq == SHARED + LOST + 3)
            assert audit(second).faults == []


def test_an_audit_says_so_before_the_follower_has_looked(
    settings: Settings, past: Past, lost: Lost
):
    """It compared what the shorter inbox still had, which was the same, and said VERIFIED."""
    shutil.copytree(lost.folder, settings.ledger.parent, dirs_exist_ok=True)
    past.put_back("whole")
    with closing(LedgerService(settings)) as service:
        past.put_back("shared")
        [fault] = audit(service).faults
        assert f"they part after entry {SHARED}" in fault


@ON_SQLITE
def test_what_is_followed_while_somebody_compares_is_not_a_fork(
    settings: Settings, past: Past, monkeypatch
):
    """Whoever asked for a checkpoint held the seq of one entry against the leaf of a later one."""
    in_inbox(settings, range(SHARED))
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        in_inbox(settings, range(100, 100 + LOST))
        leaf, appended = type(service.inbox).leaf, []

        def follow_meanwhile(inbox, seq: int) -> bytes | None:
            if not appended:
                appended.append(True)
                service.ledger.append(service.ledger.batch(inbox.read(SHARED, LOST)))
            return leaf(inbox, seq)

        monkeypatch.setattr(type(service.inbox), "leaf", follow_meanwhile)
        service.check_continuity()
        assert service.fork is None


def test_a_start_refuses_it_or_serves_what_it_has_and_says_so(
    settings: Settings, past: Past, lost: Lost
):
    """Heads and checkpoints in the inbox were put back with it, so nothing in it contradicts it."""
    lose(settings, past, lost, MORE)
    with pytest.raises(InboxForked, match=f"they part after entry {SHARED}"):
        LedgerService(settings)
    with closing(LedgerService(settings, serves_a_fork=True)) as service:
        service.start()
        assert service.reader.count("process_state") == SHARED + LOST
        assert "prazo reconcile" in (service.status().problem or "")
        assert not service.status().is_verified
        with pytest.raises(InboxForked):
            service.inbox.append([])
    with closing(open_inbox(settings.inbox)) as inbox:
        assert inbox.last()[0] == SHARED + MORE


@entries_alone
def test_what_was_lost_comes_back_as_it_was_while_nothing_stands_in_its_place(
    settings: Settings, past: Past, lost: Lost
):
    """The head outside of the inbox vouches for the ledger's entries: the log does not fork."""
    lose(settings, past, lost, 0)
    with closing(LedgerService(settings)) as service:
        assert "had lost its last 10 entries" in (service.status().recovered or "")
        assert service.status().is_verified
        assert audit(service).faults == []
        assert service.inbox.last()[0] == SHARED + LOST


def test_without_its_ledger_it_is_refused_by_the_head_that_is_kept_outside(
    settings: Settings, past: Past, lost: Lost
):
    lose(settings, past, lost, MORE)
    settings.ledger.unlink()
    with pytest.raises(InboxForked, match="acknowledged are missing"):
        LedgerService(settings)


def test_nothing_is_written_to_it_by_any_command(settings: Settings, past: Past, lost: Lost):
    lose(settings, past, lost, MORE)
    with closing(open_guarded(settings)) as inbox:
        with pytest.raises(InboxForked, match="is not the one that was signed"):
            deliver(inbox, range(300, 301))
        with pytest.raises(InboxForked):
            inbox.probe()
        assert inbox.last()[0] == SHARED + MORE


@entries_alone
def test_a_key_that_came_into_force_in_what_was_lost_vouches_for_it(settings: Settings, past: Past):
    """The inbox knew the former key alone: nothing led out but to restore it from the ledger."""
    in_inbox(settings, range(SHARED))
    followed(settings)
    past.keep()
    with closing(LedgerService(settings)) as service:
        service.signing.rotate(actor="ana", reason="yearly", recorded_by="user:ana")
        deliver(service.inbox, range(100, 100 + LOST))
        service.catch_up()
        service.sign()
    past.put_back()
    with closing(LedgerService(settings)) as service:
        assert f"had lost its last {LOST + 1} entries" in (service.status().recovered or "")
        assert service.status().is_verified
        service.sign()
        assert audit(service).faults == []
        assert len(service.signing.known() or ()) == 2


@ON_SQLITE
def test_no_key_is_rotated_in_it(settings: Settings, past: Past, lost: Lost, monkeypatch):
    """The command alone asked nobody: its entry stood where acknowledged ones had been."""
    lose(settings, past, lost, MORE)
    for name, value in environment_in(settings.ledger.parent).items():
        monkeypatch.setenv(name, value)
    key = settings.signing_key_file.read_bytes()
    ended = CliRunner().invoke(rotate_key, ["--actor", "ana", "--reason", "yearly"])
    assert isinstance(ended.exception, InboxForked)
    with closing(open_inbox(settings.inbox)) as inbox:
        assert inbox.last()[0] == SHARED + MORE
    assert settings.signing_key_file.read_bytes() == key


@ON_SQLITE
def test_a_head_that_somebody_else_signed_is_not_believed(
    settings: Settings, past: Past, lost: Lost, tmp_path: Path
):
    lose(settings, past, lost, 0)
    other = settings_in(tmp_path / "other", inbox=str(tmp_path / "other.db"))
    in_inbox(other, range(3))
    followed(other)
    place(settings).write_bytes(place(other).read_bytes())
    with closing(open_guarded(settings)) as inbox, pytest.raises(InboxForked, match="another log"):
        deliver(inbox, range(300, 301))


def test_an_inbox_that_only_grew_passes(settings: Settings, past: Past):
    in_inbox(settings, range(SHARED))
    followed(settings)
    in_inbox(settings, range(100, 100 + LOST))
    with closing(open_guarded(settings)) as inbox:
        deliver(inbox, range(300, 301))
        assert inbox.last()[0] == SHARED + LOST + 1
    head = kept(place(settings))
    assert head is not None
    assert head.size == SHARED


# --- it is reconciled ----------------------------------------------------------------------------

RETOLD = frozenset({"seq", "recorded_at", "recorded_by", "record_seconds", "tree_size", "root"})
"""Columns that say how an entry was recorded, or that name one."""
VIEWS = ("process_state", "submission_attempts", "seller_state", "evidence_coverage", "collections")


def told(service: LedgerService) -> dict[str, list[str]]:
    """The rows of the views that say where everything stands, without seqs."""
    at = OPENED + 30 * 86_400 * 1_000_000
    return {
        view: sorted(
            json.dumps(
                {name: it for name, it in row.items() if name not in RETOLD and "seq" not in name},
                default=str,
            )
            for row in service.reader.read(view, as_of=at).to_pylist()
        )
        for view in VIEWS
    }


def lived(settings: Settings) -> None:
    """Every kind of entry: deliveries, attempts, collections, overrides, a note, an export."""
    with closing(open_inbox(settings.inbox)) as inbox:
        story.record(inbox, settings.artifacts)
        inbox.append(
            [
                action(kind, reason="r", actor="ana", recorded_by="user:ana", process_id="p1")
                for kind in ("note", "export")
            ]
        )


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What is told where nothing was ever lost."""
    settings = settings_in(tmp_path_factory.mktemp("whole"))
    in_inbox(settings, range(SHARED))
    lived(settings)
    in_inbox(settings, range(200, 200 + FEWER))
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        return told(service)


def test_reconciled_everything_stands_as_if_nothing_had_been_lost(
    settings: Settings, past: Past, expected: dict[str, list[str]]
):
    in_inbox(settings, range(SHARED))
    followed(settings)
    past.keep()
    lived(settings)
    followed(settings)
    past.put_back()
    in_inbox(settings, range(200, 200 + FEWER))
    before = SHARED + FEWER

    done = reconciled(settings)
    assert done.fork is not None
    assert (done.fork.at, done.fork.lost, done.fork.others) == (SHARED, 18, FEWER)
    assert done.seq == before + 1
    with closing(LedgerService(settings)) as service:
        assert told(service) == expected
        assert service.status().is_verified
        assert audit(service).faults == []
        entries = all_entries(service.inbox)
        assert_sound(entries, service.inbox.log)
    assert [it.particulars.get("was_seq") for it in entries[before + 1 :]] == [
        *range(SHARED + 1, SHARED + 19)
    ]
    said = said_in(entries[before])
    assert (said["actor"], said["reason"], said["fork"]) == ("ana", "the standby lagged", SHARED)
    assert (said["abandoned_size"], said["recorded_again"], said["lost"]) == (SHARED + 18, 18, 0)
    assert said["checkpoint"].split("\n")[1] == str(SHARED + 18)


@ON_SQLITE
@entries_alone
def test_a_checkpoint_over_what_was_lost_is_explained_and_any_other_is_not(
    settings: Settings, past: Past, lost: Lost
):
    lose(settings, past, lost, MORE)
    done = reconciled(settings)
    with closing(LedgerService(settings)) as service:
        verdict = audit(service, against=lost.note)
        assert (verdict.faults, verdict.exit_code) == ([], 3)
        [question] = verdict.undecided
        assert f"entry {done.seq} says that the inbox lost what followed entry {SHARED}" in question
        assert service.signer is not None
        forged = service.signer.checkpoint(SHARED + 3, b"r" * 32)
        with pytest.raises(earlier.LogRewritten):
            earlier.continued(service, forged, service.ledger.size)


@ON_SQLITE
def test_a_dry_run_changes_nothing_and_nothing_is_reconciled_twice(
    settings: Settings, past: Past, lost: Lost
):
    lose(settings, past, lost, MORE)
    found = reconciled(settings, is_dry_run=True)
    assert found.fork is not None
    assert (found.fork.at, found.fork.lost, found.fork.others) == (SHARED, LOST, MORE)
    assert found.seq is None
    with closing(open_inbox(settings.inbox)) as inbox:
        assert inbox.last()[0] == SHARED + MORE
    assert reconciled(settings).seq == SHARED + MORE + 1
    assert reconciled(settings).fork is None
    with closing(open_inbox(settings.inbox)) as inbox:
        assert inbox.last()[0] == SHARED + MORE + 1 + LOST


@ON_SQLITE
@pytest.mark.parametrize("others", [LOST, MORE])
def test_entries_that_are_nowhere_are_given_up_only_when_somebody_says_so(
    settings: Settings, past: Past, lost: Lost, others: int
):
    lose(settings, past, lost, others)
    settings.ledger.unlink()
    in_inbox_only = settings.model_copy(update={"head_file": settings.ledger.with_name("none")})
    followed(in_inbox_only)  # a ledger over the inbox as it is now, which knows of no loss
    with pytest.raises(InboxForked, match="is not the one that was signed"):
        LedgerService(settings)
    with pytest.raises(CallerError, match="entries that were recorded are neither"):
        reconciled(settings)
    done = reconciled(settings, accepts_loss=True)
    assert None not in (done.fork, done.seq)
    with closing(LedgerService(settings)) as service:
        assert service.status().is_verified
        deliver(service.inbox, range(400, 401))


STEPS = {
    "sqlite": [("append", "4"), ("swap_in", "1"), ("write_whole", "1")],
    "postgres": [("append", "2"), ("append", "3")],  # the ledger's part is the same on each engine
}


def test_killed_at_any_step_it_goes_on_and_adds_nothing_twice(
    settings: Settings, past: Past, lost: Lost
):
    """Killed at one step after the other: before and among the lost entries, while the ledger is
    built again, between its two files, before the new head."""
    lose(settings, past, lost, FEWER)
    for step in STEPS[past.engine]:
        killed = started("reconcile_until_killed", settings, *step)
        assert killed.wait() == -signal.SIGKILL, step
    reconciled(settings)
    assert reconciled(settings).fork is None
    with closing(LedgerService(settings)) as service:
        assert service.status().is_verified
        entries = all_entries(service.inbox)
        assert_sound(entries, service.inbox.log)
        assert [it.kind for it in entries].count("reconciliation") == 1
        again = [it.particulars["was_seq"] for it in entries if "was_seq" in it.particulars]
        assert again == list(range(SHARED + 1, SHARED + LOST + 1))
        assert service.reader.count("process_state") == SHARED + LOST + FEWER


@ON_SQLITE
def test_a_ledger_elsewhere_is_rebuilt_once_the_inbox_was_reconciled(
    settings: Settings, past: Past, lost: Lost, tmp_path: Path
):
    """A second dashboard followed the past that was given up; nothing of that is lost any more."""
    lose(settings, past, lost, MORE)
    second = settings.model_copy(update={"ledger": tmp_path / "second.duckdb"})
    shutil.copy(settings.ledger, second.ledger)
    with pytest.raises(InboxForked):
        LedgerService(second, is_keeper=False)
    reconciled(settings)
    with closing(LedgerService(second, is_keeper=False)) as service:
        assert f"reconciled after entry {SHARED}" in (service.status().recovered or "")
        assert service.reader.count("process_state") == SHARED + LOST + MORE
