"""What is looked at is not changed, who cannot sign reconciles nothing, and what came back is known
as before. See `test_forks.py` for the rest."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.cli.doctor import examine
from pipeline.continuity import recovery, stores
from pipeline.continuity.backup import backup
from pipeline.continuity.kept_heads import open_guarded, place
from pipeline.continuity.reconcile import Missed, Reconciled
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError, InboxForked, NoRoom, OperatorError
from pipeline.inbox import Head, SignedHead, open_inbox
from pipeline.inbox.heartbeats import heartbeats
from pipeline.inbox.signing_keys import register, registered
from pipeline.log import reconciling
from pipeline.log.entries import Draft, Entry
from pipeline.log.ndjson import read_collection, read_line
from pipeline.serve.ledger_access import audit
from pipeline.settings import Settings
from tests import depth
from tests.ledger.conftest import deliver, entries_alone
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
    rotated,
    settings,
)
from tests.support.lines import finished
from tests.support.sqlite import opened
from tests.support.stores import settings_in

__all__ = ["copies", "lost", "past", "settings"]

MORE = 15


def size(settings: Settings) -> int:
    with closing(open_inbox(settings.inbox)) as inbox:
        return inbox.last()[0]


@ON_SQLITE
def test_who_only_looks_gives_nothing_back(settings: Settings, past: Past, lost: Lost):
    """A dry run and `prazo verify` wrote what was lost into whatever inbox was in its place, before
    anybody had asked whether that is the right one."""
    lose(settings, past, lost, 0)
    [fault] = audit(settings, None, lambda *_: None).faults
    assert f"lacks the last {LOST} of {SHARED + LOST} entries" in fault
    done = reconciled(settings, is_dry_run=True)
    assert done == Reconciled(
        None, f"The inbox lacks {LOST} entries, which would be given back as they were."
    )
    assert size(settings) == SHARED
    assert "gave them back" in (reconciled(settings).note or "")
    assert size(settings) == SHARED + LOST


@ON_SQLITE
def test_without_room_for_a_second_ledger_nothing_is_reconciled(
    settings: Settings, past: Past, lost: Lost, monkeypatch: pytest.MonkeyPatch
):
    """It was, in the inbox, and only then refused, as if nothing had been done."""
    lose(settings, past, lost, MORE)
    full = shutil.disk_usage(settings.ledger.parent)._replace(free=1000)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda _: full)
        with pytest.raises(NoRoom, match="make room on its disk"):
            reconciled(settings)
    assert size(settings) == SHARED + MORE

    def filled_meanwhile(_: Path) -> None:
        raise NoRoom("The ledger cannot be rebuilt", "its disk is full", "make room")

    with monkeypatch.context() as patched:
        patched.setattr(recovery, "require_room", filled_meanwhile)
        with pytest.raises(
            NoRoom, match=f"entry {SHARED + MORE + 1} and those after it are on disk"
        ):
            reconciled(settings)
    assert size(settings) == SHARED + MORE + 1 + LOST
    assert "was rebuilt" in (reconciled(settings).note or "")
    assert size(settings) == SHARED + MORE + 1 + LOST


@ON_SQLITE
def test_with_a_key_of_another_log_nothing_is_reconciled(
    settings: Settings, past: Past, lost: Lost, tmp_path: Path
):
    """It was, with exit code 0, and nobody could sign it: receivers answered 503 for ever."""
    lose(settings, past, lost, MORE)
    key = settings.signing_key_file.read_bytes()
    other = settings_in(tmp_path / "other", inbox=str(tmp_path / "other.db"))
    in_inbox(other, range(1))
    followed(other)
    shutil.copy(other.signing_key_file, settings.signing_key_file)
    with pytest.raises(OperatorError, match="the key that signs for the log is not in"):
        reconciled(settings)
    assert size(settings) == SHARED + MORE
    settings.signing_key_file.write_bytes(key)
    assert reconciled(settings).seq == SHARED + MORE + 1


@ON_SQLITE
def test_what_only_the_ledger_of_another_machine_holds_is_recorded_once_the_key_is_there(
    settings: Settings, past: Past, lost: Lost, tmp_path: Path
):
    """It had followed more than the ledger that signs, when the server was lost. It sent people to
    that one, which found nothing to reconcile; deliveries that had been acknowledged stayed lost.
    """
    shutil.copytree(lost.folder, settings.ledger.parent, dirs_exist_ok=True)
    past.put_back("whole")
    in_inbox(settings, range(300, 303))
    named = {"ledger": tmp_path / "2nd.duckdb", "signing_key_file": tmp_path / "2nd" / "key"}
    second = settings.model_copy(update={**named, "keeper_url": "http://127.0.0.1:9"})
    followed(second)
    past.put_back("shared")
    with closing(LedgerService(settings)) as keeper:
        assert "gave them back" in (keeper.status().recovered or "")
        deliver(keeper.inbox, range(200, 200 + MORE))
        keeper.catch_up()
    with pytest.raises(OperatorError) as refused:
        reconciled(second)
    assert "run it where the dashboard signs" in refused.value.remedy
    assert reconciled(settings) == Reconciled(None, None)
    assert "bring the key's file here" in refused.value.remedy
    shutil.copy(settings.signing_key_file, second.signing_key_file)
    done = reconciled(second)
    assert done.fork is not None
    assert (done.fork.in_ledger, done.fork.others) == (3, MORE)
    second.signing_key_file.unlink()
    for each in (settings, second):
        with closing(LedgerService(each)) as service:
            service.catch_up()
            assert service.reader.count("process_state") == SHARED + LOST + MORE + 3
    # It has left a head, and the machine that it names goes on signing.
    [found] = [it for it in examine(second) if it.check == "signing key"]
    assert (found.verdict, found.found) == (
        "ok",
        "http://127.0.0.1:9 signs; this machine compares",
    )


@ON_SQLITE
def test_no_backup_is_made_of_an_inbox_that_lacks_what_was_signed(
    settings: Settings, past: Past, lost: Lost, tmp_path: Path
):
    """It counted as whole, and its heartbeat said so."""
    lose(settings, past, lost, MORE)
    with pytest.raises(InboxForked, match="Nothing was copied"):
        backup(settings, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
    with closing(open_inbox(settings.inbox)) as inbox:
        assert heartbeats(inbox) == {}


def test_nothing_is_written_beside_the_log_either(settings: Settings, past: Past, lost: Lost):
    """With PostgreSQL, artifacts, keys and heads reached an inbox that was not proved."""
    lose(settings, past, lost, MORE)
    with closing(open_guarded(settings)) as inbox:
        with pytest.raises(InboxForked):
            register(inbox, 9, "another")
        with pytest.raises(InboxForked):
            inbox.put_head(Head(99, b"r" * 32))
        with pytest.raises(InboxForked):
            inbox.put_checkpoint(SignedHead(99, "note"))
        assert [it.number for it in registered(inbox)] == [1]


@ON_SQLITE
@pytest.mark.parametrize("is_sent_before", depth.few([False, True], 2))
def test_a_collection_that_was_lost_counts_once_when_it_is_sent_again(
    settings: Settings, past: Past, tmp_path: Path, is_sent_before: bool
):
    """Afterwards or before; a ledger elsewhere has it once, too. Where it was sent again before,
    and was all that was lost, the inbox counted as reconciled: nobody could do that, but without
    the ledger."""

    def collect() -> bool:
        draft = read_collection(
            {
                "occurred_at": "2026-03-01T10:00:00Z",
                "process_id": "p1",
                "seller_id": "s0",
                "journey_id": "j1",
                "step": "answered",
                "channel": "web_form",
                "source": "portal",
                "fields": {"revenue": 10.50},
                "artifacts": [{"name": "screen", "sha256": "a" * 64, "size_bytes": 3}],
            },
            recorded_by="portal",
            keep=lambda artifact: {**artifact, "kept": "elsewhere"},
        )
        with closing(open_inbox(settings.inbox)) as inbox:
            [receipt] = inbox.append([draft])
        return receipt.entry is not None

    in_inbox(settings, range(SHARED))
    followed(settings)
    past.keep()
    assert collect()
    followed(settings)
    shutil.copy(settings.ledger, second := tmp_path / "second.duckdb")
    past.put_back()
    in_inbox(settings, range(200, 200 + MORE))
    if is_sent_before:
        assert collect()
    assert reconciled(settings).seq == SHARED + MORE + is_sent_before + 1
    assert not collect()
    assert reconciled(settings).fork is None
    for ledger in (settings.ledger, second):
        each = settings.model_copy(update={"ledger": ledger})
        with closing(LedgerService(each, is_keeper=False)) as service:
            service.catch_up()
            assert len(service.ledger.select("kind = 'collection'", [])) == 1


@ON_SQLITE
@entries_alone
@pytest.mark.parametrize("others", depth.few([MORE, 0], 2))
def test_a_key_whose_rotation_was_lost_has_its_row_again(
    settings: Settings, past: Past, others: int
):
    """Row 2 was lacking, and the next key took the third."""
    in_inbox(settings, range(SHARED))
    followed(settings)
    past.keep()
    signed, key = rotated(settings)
    past.put_back()
    in_inbox(settings, range(200, 200 + others))
    reconciled(settings)
    with closing(open_inbox(settings.inbox)) as inbox:
        assert [it.key for it in registered(inbox)][1:] == [key]
    # By the new key, at a size at which the log as it is now was signed by the first.
    assert audit(settings, signed.note, lambda *_: None).faults == []
    with closing(LedgerService(settings)) as service:
        assert service.signer is not None
        for size in (SHARED - 1, SHARED + 1):
            forged = service.signer.checkpoint(size, b"r" * 32)
            assert stores.audit(service, against=forged).faults != []


@ON_SQLITE
def test_who_asks_for_a_checkpoint_hears_of_the_fork(settings: Settings, past: Past, lost: Lost):
    lose(settings, past, lost, MORE)
    with (
        closing(LedgerService(settings, serves_a_fork=True)) as service,
        pytest.raises(InboxForked, match=f"they part after entry {SHARED}"),
    ):
        service.signed_checkpoint()


@ON_SQLITE
def test_what_only_a_receiver_misses_begins_where_it_says_or_where_the_log_ends(
    settings: Settings, past: Past, lost: Lost
):
    shutil.copytree(lost.folder, settings.ledger.parent, dirs_exist_ok=True)
    past.put_back("whole")
    in_inbox(settings, range(200, 203))  # nobody has followed these
    for missed, at, count in ((Missed(10, 40), 9, 31), (Missed(36, 40), 33, 7)):
        fork = reconciled(settings, missed=missed, is_dry_run=True).fork
        assert fork is not None
        assert (fork.at, fork.abandoned_size, fork.lost) == (at, at, count)


@ON_SQLITE
def test_what_a_head_covers_beyond_the_ledger_is_given_up_only_when_somebody_says_so(
    settings: Settings, past: Past
):
    in_inbox(settings, range(SHARED))
    followed(settings)
    past.keep()
    in_inbox(settings, range(100, 105))
    followed(settings)
    older = settings.ledger.read_bytes()
    in_inbox(settings, range(105, 108))
    followed(settings)
    settings.ledger.write_bytes(older)
    past.put_back()
    in_inbox(settings, range(200, 200 + MORE))
    for missed, count in ((None, 3), (Missed(29, 31), 6)):
        with pytest.raises(CallerError, match=f"{count} entries that were recorded are neither"):
            reconciled(settings, missed=missed)
    fork = reconciled(settings, accepts_loss=True).fork
    assert fork is not None
    assert (fork.lost, fork.in_ledger, fork.beyond_help) == (8, 5, 3)


@ON_SQLITE
def test_a_ledger_with_another_past_than_the_head_that_is_kept_reconciles_nothing(
    settings: Settings, past: Past, lost: Lost, tmp_path: Path
):
    """It would give its own entries, and say that they are those of the head."""
    lose(settings, past, lost, LOST)
    named = {"ledger": tmp_path / "2nd.duckdb", "head_file": tmp_path / "2nd.head"}
    followed(settings.model_copy(update=named))
    past.put_back("shared")
    in_inbox(settings, range(300, 300 + MORE))
    mixed = settings.model_copy(update={"ledger": named["ledger"], "head_file": place(settings)})
    with pytest.raises(OperatorError, match="the ledger has another past than the head of 30"):
        reconciled(mixed)
    assert size(settings) == SHARED + MORE


@ON_SQLITE
def test_heads_of_the_past_that_was_given_up_do_not_speak_against_the_new_ledger(
    settings: Settings, past: Past
):
    """Entries were deleted, and others came, beside a head and a checkpoint over them."""
    in_inbox(settings, range(SHARED))
    followed(settings)
    in_inbox(settings, range(100, 105))
    followed(settings)
    in_inbox(settings, range(105, 110))
    with closing(LedgerService(settings)) as service:
        service.catch_up()
    with closing(opened(settings.inbox)) as connection, connection:
        connection.execute("drop trigger entries_no_delete")
        connection.execute("delete from entries where seq > ?", (SHARED,))
    in_inbox(settings, range(200, 200 + MORE))
    assert reconciled(settings).seq == SHARED + MORE + 1
    with closing(LedgerService(settings)) as service:
        assert service.status().is_verified
        assert service.reader.count("process_state") == SHARED + 10 + MORE


@ON_SQLITE
def test_who_has_not_the_key_does_not_end_what_waits_for_a_head(
    settings: Settings, past: Past, lost: Lost
):
    """Killed before it signed one, and the key is gone since: receivers go on waiting."""
    lose(settings, past, lost, MORE)
    head = place(settings).read_bytes()
    reconciled(settings)
    place(settings).write_bytes(head)
    key = settings.signing_key_file.rename(settings.signing_key_file.with_name("elsewhere"))
    with pytest.raises(OperatorError, match="Nothing is signed here"):
        reconciled(settings)
    key.rename(settings.signing_key_file)
    assert reconciled(settings).fork is None
    assert place(settings).read_bytes() != head


@ON_SQLITE
def test_no_entry_of_a_ledger_that_was_changed_is_recorded_again(
    settings: Settings, past: Past, lost: Lost
):
    lose(settings, past, lost, MORE)
    with closing(duckdb.connect(str(settings.ledger))) as ledger:
        ledger.execute("drop trigger log_no_update on log")
        ledger.execute("update log set body = encode('{}') where seq = ?", [SHARED + 3])
    with pytest.raises(OperatorError, match="entry 23 of the ledger is not as it was recorded"):
        reconciled(settings)
    assert size(settings) == SHARED + MORE


@ON_SQLITE
def test_what_has_a_key_of_its_own_is_recorded_again_once_whenever_a_run_was_cut_off(
    settings: Settings, past: Past, monkeypatch: pytest.MonkeyPatch
):
    in_inbox(settings, range(SHARED))
    followed(settings)
    past.keep()
    ends = [read_line(json.dumps(finished(it, None)).encode(), recorded_by="file") for it in "ab"]
    assert None not in {it.ingest_key for it in ends}
    with closing(open_inbox(settings.inbox)) as inbox:
        inbox.append(ends)
    followed(settings)
    past.put_back()
    in_inbox(settings, range(200, 200 + MORE))

    honest = reconciling.again

    def cut_off(entry: Entry, *given: Any, **more: Any) -> Draft:
        assert entry.attempt_id != "b"
        return honest(entry, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(reconciling, "again", cut_off)
        with pytest.raises(AssertionError):
            reconciled(settings)
    assert size(settings) == SHARED + MORE + 2
    assert reconciled(settings).seq == SHARED + MORE + 1
    assert size(settings) == SHARED + MORE + 1 + len(ends)
