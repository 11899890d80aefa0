"""The follower's thread outlives every error but a refusal, its rows outlive its process, and a
full disk is called one."""

import contextlib
import random
import shutil
import signal
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.continuity import follower, newest
from pipeline.continuity.definitions import altered_in_ledger
from pipeline.continuity.kept_heads import place
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxUnavailable, LedgerStalled, OperatorError
from pipeline.inbox import open_inbox
from pipeline.ledger import checks, facts, file
from pipeline.ledger.store import Ledger
from pipeline.settings import Settings
from tests import depth
from tests.continuity.following.programs import started
from tests.ledger.conftest import deliver
from tests.support.ledgers import KEYS, draft
from tests.support.lines import seller
from tests.support.machine import wait_until
from tests.support.stores import settings_in

PATIENCE_SECONDS = 60.0


def fill(disk: Path) -> Path:
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return ballast


ERRORS = (
    RuntimeError("not one of ours"),
    MemoryError(),
    KeyError("reason"),
    InboxUnavailable("The inbox cannot be read"),
)


def test_it_goes_on_after_any_error_shows_it_and_is_not_verified_meanwhile(
    settings: Settings, followed_inbox, monkeypatch, caplog
):
    """One that is not ours killed the thread in silence; the pages went on saying verified. Then
    they showed its words, which may quote a row, to anyone who reads masked."""
    monkeypatch.setattr(follower, "RETRY_SECONDS", 0.01)
    with closing(LedgerService(settings)) as service:
        service.start()
        assert service.status().is_verified
        for number, error in enumerate(ERRORS):
            size = service.ledger.size

            def fail(*_: object, error: Exception = error, **__: object) -> None:
                raise error

            caplog.clear()
            with monkeypatch.context() as broken:
                broken.setattr(facts, "extract", fail)
                deliver(followed_inbox, range(size, size + 10))
                wait_until(lambda: service.status().problem is not None)
                status = service.status()
                is_ours = isinstance(error, InboxUnavailable)
                told = str(error) if is_ours else type(error).__name__
                assert told in (status.problem or "")
                assert is_ours or not str(error) or str(error) not in (status.problem or "")
                assert not status.is_verified
                assert status.last_seq == size
                assert ("Traceback" in caplog.text) == (not is_ours), number
            wait_until(lambda size=size: service.status().last_seq == size + 10)
            wait_until(lambda: service.status().problem is None)
            assert service.status().is_verified


def test_a_ledger_that_is_behind_is_not_verified(settings: Settings, followed_inbox, monkeypatch):
    """Nobody follows: the first look says that entries are missing, a later one for how long."""
    monkeypatch.setattr(follower, "BEHIND_SECONDS", 0.05)
    with closing(LedgerService(settings)) as service:
        assert service.status().is_verified
        deliver(followed_inbox, range(300, 310))
        service.status()
        time.sleep(0.1)
        assert service.status().lag_seconds >= 0.1
        assert not service.status().is_verified
        service.catch_up()
        assert service.status().lag_seconds == 0.0
        assert service.status().is_verified


def test_how_the_ledger_stands_is_said_while_the_inbox_hangs(
    settings: Settings, followed_inbox, monkeypatch
):
    """Behind a network that swallows packets nobody heard of it for a minute: `/api/ready`, the
    metrics, rows and pages waited for the inbox's answer, and `prazo show` gave no rows."""
    answers = threading.Event()
    with closing(LedgerService(settings)) as service:
        before, last, asked = service.status(), service.inbox.last, []
        monkeypatch.setattr(newest, "ANSWER_SECONDS", 0.01)

        def hangs() -> tuple[int, int]:
            asked.append(1)
            answers.wait(PATIENCE_SECONDS)
            return last()

        monkeypatch.setattr(service.inbox, "last", hangs)
        assert service.status() == before
        monkeypatch.setattr(newest, "HANGING_SECONDS", 0.0)
        assert "it has not answered for" in (service.status().problem or "")
        assert not service.status().is_verified
        assert service.status().last_seq == before.last_seq
        wait_until(lambda: len(asked) > 0)
        assert len(asked) == 1
        answers.set()
        wait_until(lambda: service.status() == before)


def test_a_head_that_cannot_be_kept_is_said_and_kept_later(
    small_disk: Path, settings: Settings, inbox, monkeypatch
):
    monkeypatch.setattr(follower, "RETRY_SECONDS", 0.01)
    head = small_disk / "head"
    ballast = fill(small_disk)
    with closing(LedgerService(settings.model_copy(update={"head_file": head}))) as service:
        service.start()
        wait_until(lambda: "could not be kept" in (service.status().problem or ""))
        assert not service.status().is_verified
        ballast.unlink()
        wait_until(head.exists)
        wait_until(lambda: service.status().problem is None)
        assert service.status().is_verified


def test_a_second_machine_that_may_sign_follows_on_once_the_first_has_rotated_the_key(
    tmp_path: Path, monkeypatch
):
    """It was half a minute behind and not verified until it was started again."""
    monkeypatch.setattr(follower, "LOOK_FOR_KEY_SECONDS", 0.0)
    first = settings_in(tmp_path)
    key, copy = first.signing_key_file, tmp_path / "copied" / "signing.key"
    copy.parent.mkdir()
    named = {"ledger": tmp_path / "second.duckdb", "signing_key_file": copy}
    with closing(LedgerService(first)) as keeper:
        copy.write_bytes(key.read_bytes())
        with closing(LedgerService(first.model_copy(update=named))) as second:
            keeper.signing.rotate(actor="Ana", reason="yearly", recorded_by="test")
            keeper.catch_up()
            second.start()
            wait_until(lambda: second.status().last_seq == 1)
            time.sleep(0.05)
            assert (second.status().is_verified, second.status().problem) == (True, None)
            kept = place(second.settings)
            assert not kept.exists()
            copy.write_bytes(key.read_bytes())
            wait_until(kept.exists)


def test_a_machine_that_never_had_the_key_signs_once_it_is_brought_there(
    tmp_path: Path, monkeypatch
):
    """The machine that signed was lost, and its key put there from a backup. `prazo doctor` said
    that it is here, and nothing was signed until the dashboard was started again. Who only looks
    signs nothing with it either."""
    monkeypatch.setattr(follower, "LOOK_FOR_KEY_SECONDS", 0.0)
    first = settings_in(tmp_path)
    brought = tmp_path / "brought" / "signing.key"
    named = {"ledger": tmp_path / "second.duckdb", "signing_key_file": brought}
    looking = {"ledger": tmp_path / "third.duckdb", "signing_key_file": brought}
    with closing(LedgerService(first)) as keeper:
        keeper.signing.rotate(actor="Ana", reason="yearly", recorded_by="test")
        keeper.catch_up()
    with (
        closing(LedgerService(first.model_copy(update=named))) as second,
        closing(LedgerService(first.model_copy(update=looking), is_keeper=False)) as third,
    ):
        second.start()
        third.start()
        wait_until(lambda: second.status().is_verified and third.status().is_verified)
        assert second.signer is None
        shutil.copy(first.signing_key_file, brought)
        wait_until(place(second.settings).exists)
        assert second.signer is not None
        time.sleep(0.05)
        assert not place(third.settings).exists()


# --- a full disk -------------------------------------------------------------------------------


def opened(path: Path, log: str = "tests") -> Ledger:
    return Ledger(path, log=log, keys=KEYS, memory="512MB", threads=1)


def test_a_new_ledger_on_a_full_disk_says_disk_and_not_rebuild(small_disk: Path):
    fill(small_disk)
    with pytest.raises(LedgerStalled) as stalled:
        opened(small_disk / "ledger.duckdb")
    assert stalled.value.remedy == "make room on its disk"


def test_a_ledger_on_a_full_disk_is_opened_and_read(small_disk: Path, settings: Settings, inbox):
    """Each opening wrote the macros again, so nobody could even look."""
    on_small = settings.model_copy(update={"ledger": small_disk / "ledger.duckdb"})
    with closing(LedgerService(on_small)) as service:
        service.catch_up()
        root = service.ledger.frontier.root()
    fill(small_disk)
    with closing(LedgerService(on_small)) as service:
        assert service.ledger.frontier.root() == root
        assert service.reader.count("process_state") == 300


@pytest.mark.parametrize(
    "known", ["delete from meta", "update meta set value = 'of another release'"]
)
def test_the_macros_of_another_release_are_replaced(tmp_path: Path, known: str):
    """Whichever release wrote them: the first did not say."""
    path = tmp_path / "ledger.duckdb"
    with closing(opened(path)) as ledger:
        ledger.cursor().execute(
            "create or replace macro whole_days(later, earlier) as 'of another release';"
            "create macro given_up(x) as x; create macro all_given_up() as table select 1"
        )
        ledger.cursor().execute(f"{known} where name = 'macros'")
    asked = "select whole_days(timestamp '2026-03-03', timestamp '2026-03-01')"
    with closing(opened(path)) as ledger:
        assert ledger.cursor().execute(asked).fetchall() == [(2,)]
        assert altered_in_ledger(ledger) == []


def test_tax_ids_are_comparable_again_where_their_key_is_another(tmp_path: Path) -> None:
    """The key was not put back with the ledger, and a new one was made without a word: the seller
    that had come again was counted as one who had not, and doctor found all well."""
    settings = settings_in(tmp_path)
    denied = seller("denied", "e1", "2026-03-01T00:00:00Z", "s1", taxpayer_id="390.533.447-05")
    again = seller("enabled", "e2", "2026-04-01T00:00:00Z", "s2", taxpayer_id="39053344705")
    for line in (denied, again):
        with closing(LedgerService(settings)) as service:
            service.inbox.append([draft(line)])
            service.catch_up()
            [shown] = service.reader.read("denial_retries").to_pylist()
        settings.taxpayer_key_file.unlink()
    assert (shown["denied_sellers"], shown["reonboarded"]) == (1, 1)


def test_a_ledger_that_follows_onto_a_full_disk_says_so_and_goes_on_when_there_is_room(
    small_disk: Path, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr(follower, "RETRY_SECONDS", 0.01)
    settings = Settings(
        inbox=str(tmp_path / "inbox.db"),
        ledger=small_disk / "ledger.duckdb",
        signing_key_file=tmp_path / "signing.key",
        taxpayer_key_file=tmp_path / "taxpayer.key",
        head_file=tmp_path / "head",
    )
    with closing(open_inbox(settings.inbox)) as inbox, closing(LedgerService(settings)) as service:
        ballast = fill(small_disk)
        service.start()
        deliver(inbox, range(300))
        wait_until(lambda: service.status().problem is not None)
        assert "make room on its disk" in (service.status().problem or "")
        assert "rebuild" not in (service.status().problem or "")
        assert not service.status().is_verified
        ballast.unlink()
        wait_until(lambda: service.status().last_seq == 300)
        wait_until(lambda: service.status().is_verified)
        assert service.status().recovered is None


def full_disk() -> None:
    raise LedgerStalled("The ledger cannot be opened", remedy="make room on its disk")


def test_a_checkpoint_of_the_file_that_finds_no_room_says_disk_to_readers_too(
    small_disk: Path, monkeypatch
):
    """DuckDB invalidates the whole database then: every page failed, and `rebuild` was advised."""
    ledger = opened(small_disk / "ledger.duckdb")
    with closing(ledger):
        ledger.cursor().execute("create table room as select repeat('x', 1000) from range(300)")
        ledger.cursor().execute("checkpoint")
        ledger.cursor().execute("create table more as select random()::varchar from range(30000)")
        ballast = fill(small_disk)
        monkeypatch.setattr(file, "INDEX_SHARE", -1)
        with pytest.raises(LedgerStalled) as stalled:
            ledger._let_go_of_indexes()
        assert stalled.value.remedy == "make room on its disk"
        with contextlib.suppress(LedgerStalled):
            ledger.cursor()
        ballast.unlink()
        ledger.open_again()
        assert ledger.cursor().execute("select count(*) from log").fetchall() == [(0,)]
        ledger._let_go_of_indexes()
        # A batch that finds the file shut, since another thread could not open it, called that
        # damage: `prazo rebuild` was advised.
        with monkeypatch.context() as full:
            full.setattr(Ledger, "_open", lambda _: full_disk())
            with pytest.raises(LedgerStalled):
                ledger.reopen()
        with ledger._opened_again_after(str):
            ledger._connection.execute("checkpoint")


def test_a_rebuild_without_room_says_disk_and_leaves_the_ledger_as_it_was(
    small_disk: Path, settings: Settings, inbox
):
    on_small = settings.model_copy(update={"ledger": small_disk / "ledger.duckdb"})
    with closing(LedgerService(on_small)) as service:
        service.catch_up()
        root = service.ledger.frontier.root()
        ballast = fill(small_disk)
        with pytest.raises(OperatorError) as stalled:
            service.rebuild()
        assert stalled.value.remedy.startswith("make room on its disk")
        ballast.unlink()
    assert not list(small_disk.glob("*.rebuilding*"))
    with closing(LedgerService(on_small)) as service:
        assert service.ledger.frontier.root() == root


KILLS = depth.rounds(2, 20)


def test_a_follower_killed_again_and_again_loses_and_doubles_nothing(settings, inbox):
    chance = random.Random(7)
    for round_number in range(KILLS):
        child = started("follow_until_killed", settings, stdout=subprocess.PIPE)
        assert child.stdout is not None
        assert child.stdout.readline() == "following\n"
        for batch in range(10):
            start = 300 + (round_number * 10 + batch) * 40
            deliver(inbox, range(start, start + 40))
            time.sleep(chance.uniform(0, 0.05))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        rows = service.ledger.cursor().execute("select seq from log order by seq").fetchall()
        assert [seq for (seq,) in rows] == list(range(1, 301 + 400 * KILLS))
        assert service.reader.count("process_state") == 300 + 400 * KILLS
        assert list(checks.broken(service.ledger)) == []
        assert service.status().is_verified
