"""A receiver writes to no inbox that is older than what was signed, and says so; real processes."""

import contextlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.cli.backups import reconcile as reconcile_command
from pipeline.cli.doctor import examine
from pipeline.cli.doctor.diagnosis import Diagnosis
from pipeline.continuity import backup as backups
from pipeline.continuity import restore as restores
from pipeline.continuity.kept_heads import (
    ASK_SECONDS,
    RETRY_SECONDS,
    Guard,
    kept,
    open_guarded,
    place,
)
from pipeline.continuity.reconcile import reconcile
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxForked, InboxMissing
from pipeline.inbox import open_inbox
from pipeline.log.kinds.reconciliation import RECONCILIATION
from pipeline.log.reconciling import reconciliation
from pipeline.receive.receiver import Receiver
from pipeline.settings import Settings
from pipeline.submit import ready
from pipeline.submit.resume import dry_run
from tests import depth
from tests.inbox.drafts import note
from tests.ledger.conftest import deliver
from tests.ledger.older import (
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
from tests.support.answering import Answering, give
from tests.support.commands import here
from tests.support.events import event
from tests.support.machine import wait_until
from tests.support.receiver import RunningReceiver, receiver
from tests.support.stores import environment_in, settings_in

__all__ = ["copies", "lost", "past", "settings"]

SAMPLE = Path(__file__).parents[2] / "data" / "samples" / "occurrences.ndjson"
OTHERS = 15


@contextmanager
def receiving(settings: Settings, **more: str) -> Iterator[RunningReceiver]:
    folder = settings.ledger.parent
    named = {name.removeprefix("PRAZO_"): it for name, it in environment_in(folder).items()}
    with receiver(folder, **{**named, "INBOX": settings.inbox, **more}) as running:
        yield running


def at(settings: Settings, running: RunningReceiver) -> Settings:
    """The settings of a process that looks for that receiver."""
    return settings.model_copy(update={"receiver_port": running.port})


def diagnosed(settings: Settings, running: RunningReceiver) -> Diagnosis:
    """What the doctor finds of the receiver."""
    [found] = [it for it in examine(at(settings, running)) if it.check == "receiver"]
    return found


def last(settings: Settings) -> int:
    with closing(open_inbox(settings.inbox)) as inbox:
        return inbox.last()[0]


def test_it_acknowledges_nothing_until_the_inbox_was_reconciled_and_then_goes_on(
    settings: Settings, past: Past, lost: Lost
):
    lose(settings, past, lost, OTHERS)
    with receiving(settings) as running:
        answer = running.deliver(event())
        assert answer.status == 503
        assert answer.headers["retry-after"] == "5"
        ready = running.ask("GET", "/readyz")
        assert ready.status == 503
        assert "prazo reconcile" in json.loads(ready.body)["error"]
        assert running.ask("GET", "/healthz").status == 200
        fault = diagnosed(settings, running)
        assert fault.verdict == "fault"
        assert "it does not take all that comes: Nothing is recorded" in fault.found
        assert "\n" not in fault.found
        assert last(settings) == SHARED + OTHERS

        reconciled(settings)
        assert goes_on(running)
        assert "prazo reconcile" in running.log.read_text()
        assert "entries are recorded in it again" in running.log.read_text()
        # What its last trial gave is its answer for a moment.
        wait_until(lambda: diagnosed(settings, running).verdict == "ok")
    followed(settings)


@pytest.mark.parametrize("others", depth.few([OTHERS, 0], 2))
def test_what_it_wrote_itself_it_misses_when_an_older_inbox_takes_over(
    settings: Settings, past: Past, others: int
):
    """Nobody has signed anything yet: a standby is promoted that had not received all. A file was
    put back in its place, and more was recorded in it than was lost: it went on."""
    with receiving(settings) as running:
        assert running.deliver(event()).status == 200
        past.keep()
        assert [running.deliver(event()).status for _ in range(3)] == [200, 200, 200]
        past.put_back()
        in_inbox(settings, range(200, 200 + others))
        statuses = [running.deliver(event()).status for _ in range(3)]
        assert statuses == [503, 503, 503]
        assert "is no longer in it, nor is any of 2-4" in running.log.read_text()
    assert last(settings) == 1 + others


def delivered(running: RunningReceiver, count: int) -> None:
    assert {running.deliver(event()).status for _ in range(count)} == {200}


def goes_on(running: RunningReceiver) -> bool:
    wait_until(lambda: running.deliver(event()).status != 503, pause=0.2)
    return running.deliver(event()).status == 200


def test_what_nobody_else_knew_of_is_given_up_by_name_and_then_it_goes_on(
    settings: Settings, past: Past, monkeypatch: pytest.MonkeyPatch
):
    """It answered 503 for ever, while reconciling said that there was nothing to do; a restart
    cured it, and nothing told of the loss."""
    for name, value in environment_in(settings.ledger.parent).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PRAZO_INBOX", settings.inbox)

    def said(*more: str) -> str:
        ended = CliRunner().invoke(reconcile_command, ["--reason", "r", "--actor", "ana", *more])
        return f"{ended.output}{ended.exception or ''}"

    with receiving(settings) as running:
        delivered(running, 5)
        past.keep()
        delivered(running, 8)
        followed(settings)
        delivered(running, 4)  # nobody has followed these
        newest = json.loads(running.ask("GET", "/readyz").body)["newest"]
        assert newest["seq"] == 17
        past.put_back()
        assert running.deliver(event()).status == 503
        assert "gave them back" in said()
        assert running.deliver(event()).status == 503
        time.sleep(RETRY_SECONDS)  # of the guard, and a trial write is made once a second
        unready = json.loads(running.ask("GET", "/readyz").body)
        assert "`prazo reconcile --lost 14-17`" in unready["error"]
        assert newest["leaf"] in unready["error"]
        assert unready["newest"] == newest

        assert "names no entries" in said("--lost", "17-14")
        assert "The inbox lost 4" in said("--lost", "14-17", "--dry-run")
        assert "4 entries that were recorded are neither" in said("--lost", "14-17")
        assert last(settings) == 13
        assert "after entry 14" in said("--lost", "14-17", "--accept-loss")
        head = kept(place(settings))
        assert head is not None
        assert head.size == 14
        assert goes_on(running)
    with closing(open_inbox(settings.inbox)) as inbox:
        [entry] = inbox.find(kind=RECONCILIATION)
        told = json.loads(entry.body or b"")
        assert (told["fork"], told["reached"], told["lost"]) == (13, 17, 4)
    followed(settings)


@pytest.mark.parametrize("past", ["sqlite"], indirect=True)
def test_it_goes_on_once_its_past_has_ended_even_if_more_of_that_is_lost_than_anybody_knew(
    settings: Settings, past: Past
):
    with receiving(settings) as running:
        delivered(running, 5)
        past.keep()
        delivered(running, 8)
        followed(settings)
        delivered(running, 4)
        past.put_back()
        in_inbox(settings, range(200, 220))
        assert running.deliver(event()).status == 503
        reconciled(settings)
        assert goes_on(running)
        assert "entries 14 to 17 of the past that entry 26 has ended" in running.log.read_text()


@pytest.mark.parametrize("past", ["sqlite"], indirect=True)
def test_a_reconciliation_from_before_a_loss_does_not_explain_it(settings: Settings, past: Past):
    earlier = reconciliation(
        fork=1,
        abandoned_size=2,
        abandoned_root=b"r" * 32,
        recorded_again=1,
        reached=2,
        checkpoint=None,
        reason="r",
        actor="ana",
        recorded_by="user:ana",
    )
    with closing(open_inbox(settings.inbox)) as inbox:
        deliver(inbox, range(3))
        inbox.append([earlier])
        past.keep()
        deliver(inbox, range(100, 103))
        past.put_back()
        for _ in range(2):
            with pytest.raises(InboxForked, match="nor is any of 5-7"):
                deliver(inbox, range(200, 201))


# --- a keeper on another machine ---


class Keeper(Answering):
    """Answers as the holder of the ledger does, with whatever head it is given."""

    head: bytes | None = None

    def __init__(self) -> None:
        super().__init__(self._give_head)

    def _give_head(self, request: BaseHTTPRequestHandler) -> None:
        assert request.path == "/api/head"
        give(request, 404 if self.head is None else 200, self.head or b"")


@pytest.mark.parametrize("past", ["sqlite"], indirect=True)
def test_it_asks_the_keeper_on_another_machine(
    settings: Settings, past: Past, lost: Lost, tmp_path: Path
):
    lose(settings, past, lost, OTHERS)
    with Keeper() as keeper:
        keeper.head = place(settings).read_bytes()
        place(settings).unlink()
        elsewhere = str(tmp_path / "elsewhere.duckdb")
        with receiving(settings, LEDGER=elsewhere, KEEPER_URL=keeper.url) as running:
            assert running.deliver(event()).status == 503
    assert last(settings) == SHARED + OTHERS


@pytest.mark.parametrize("past", ["sqlite"], indirect=True)
def test_a_keeper_that_cannot_be_reached_holds_nothing_up_and_is_asked_again(
    settings: Settings, past: Past, lost: Lost, tmp_path: Path
):
    lose(settings, past, lost, OTHERS)
    head = place(settings).read_bytes()
    place(settings).unlink()
    keeper = Keeper()
    keeper.head = b"not a head"
    elsewhere = str(tmp_path / "elsewhere.duckdb")
    with (
        keeper,
        receiving(settings, LEDGER=elsewhere, KEEPER_URL=keeper.url) as running,
    ):
        assert running.deliver(event()).status == 200
        assert f"the keeper at {keeper.url} did not give its newest head" in running.log.read_text()
        keeper.head = head
        wait_until(lambda: running.ask("GET", "/readyz").status != 200, pause=0.2)
        assert running.deliver(event()).status == 503


@pytest.mark.parametrize("past", ["sqlite"], indirect=True)
def test_whoever_was_refused_does_not_go_on_once_the_keeper_is_silent(
    settings: Settings, past: Past, lost: Lost, tmp_path: Path
):
    """A forwarder opens the inbox once more after each fault. While the keeper was started again to
    give back what was lost, it recorded an entry in its place, and nothing was given back."""
    lose(settings, past, lost, OTHERS)
    keeper = Keeper()
    keeper.head = place(settings).read_bytes()
    place(settings).unlink()
    elsewhere = tmp_path / "elsewhere.duckdb"
    there = settings.model_copy(update={"ledger": elsewhere, "keeper_url": keeper.url})

    def record() -> None:
        with closing(open_guarded(there)) as inbox:
            inbox.append([note()])

    with keeper, pytest.raises(InboxForked):
        record()
    with pytest.raises(InboxForked):
        record()
    assert last(settings) == SHARED + OTHERS


@pytest.mark.parametrize("opened", [open_guarded, Receiver, LedgerService])
def test_a_machine_whose_keeper_is_another_begins_no_log(
    tmp_path: Path, opened: Callable[[Settings], object]
) -> None:
    """In a new database, before a backup was restored into it, its receiver answered 200 and its
    forwarder recorded that it began: the restore was refused."""
    settings = settings_in(tmp_path, keeper_url="http://127.0.0.1:9")
    with pytest.raises(InboxMissing, match="PRAZO_KEEPER_URL names begins a log, not this one"):
        opened(settings)
    assert not (tmp_path / "inbox.db").exists()


@pytest.mark.parametrize("opened", [open_guarded, Receiver, LedgerService])
def test_a_keeper_begins_no_other_log_in_a_new_database(
    tmp_path: Path, database: str, opened: Callable[[Settings], object]
) -> None:
    """No entry was in it, and no backup could be restored into it all the same."""
    settings = settings_in(tmp_path).model_copy(update={"inbox": database})
    place(settings).write_text("a head of the log that was lost")
    with pytest.raises(InboxMissing, match="no other is begun in its place"):
        opened(settings)
    [found] = [it for it in examine(settings) if it.check == "inbox"]
    assert (found.verdict, found.remedy[:19]) == ("fault", "`prazo restore DIR`")


@pytest.fixture
def saved(followed_log: Path, tmp_path: Path) -> Settings:
    """Five entries that a backup holds, and two that only the ledger has beside the inbox."""
    shutil.copytree(followed_log, tmp_path, dirs_exist_ok=True)
    return settings_in(tmp_path)


@pytest.fixture(scope="session")
def followed_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("followed")
    settings = settings_in(folder)
    with closing(LedgerService(settings)) as service:
        service.inbox.append([note() for _ in range(5)])
        service.catch_up()
        service.sign()
        backups.backup(settings, folder / "saved")
        service.inbox.append([note() for _ in range(2)])
        service.catch_up()
    return folder


def names_in(folder: Path) -> set[str]:
    return {it.name for it in folder.iterdir()}


@pytest.mark.parametrize("left", ["both", "head", "ledger", "wal"])
def test_whatever_is_left_of_a_log_no_other_is_begun_in_its_place(
    saved: Settings, tmp_path: Path, left: str
) -> None:
    """The file of the inbox deleted: a receiver began an empty log, and where the head was gone as
    well it answered 200 into that. `prazo restore --from-ledger` said to start it first."""
    (tmp_path / "inbox.db").unlink()
    if left == "wal":
        (tmp_path / "inbox.db-wal").write_bytes(b"pages that were never moved into the file")
    if left in ("ledger", "wal"):
        place(saved).unlink()
    if left in ("head", "wal"):
        saved.ledger.unlink()
    before = names_in(tmp_path)
    asked = (
        *(Receiver, LedgerService, open_guarded, restores.restore_from_ledger),
        lambda settings: dry_run(settings, "p1", b"{}"),
        lambda settings: ready.look(settings, ["p1"]),
    )
    for opened in asked:
        with pytest.raises(InboxMissing, match="no other is begun in its place") as refused:
            opened(saved)
        assert refused.value.remedy.startswith("`prazo restore DIR` puts it back")
    with pytest.raises(InboxMissing, match="no other is begun in its place"):
        reconcile(saved, reason="r", actor="ana", recorded_by="test")
    [found] = [it for it in examine(saved) if it.check == "inbox"]
    assert (found.verdict, found.remedy[:19]) == ("fault", "`prazo restore DIR`")
    assert names_in(tmp_path) == before


def test_what_the_refusal_names_puts_the_log_back(saved: Settings, tmp_path: Path) -> None:
    """With what the ledger holds beyond the backup. A WAL of the lost file was read into the one
    that took its place."""
    (tmp_path / "inbox.db").unlink()
    (tmp_path / "inbox.db-wal").write_bytes(b"pages of the lost file")
    said = here("ingest", str(SAMPLE), environment=environment_in(tmp_path), folder=tmp_path)
    assert (said.returncode, "`prazo restore DIR` puts it back" in said.stderr) == (1, True)
    done = restores.restore(saved, tmp_path / "saved")
    assert (done.entries, done.verdict.faults) == (7, [])
    [kept] = tmp_path.glob("inbox.db.set-aside-*-wal")
    assert kept.read_bytes() == b"pages of the lost file"
    assert any(kept.name in it for it in done.notes)
    with receiving(saved) as running:
        assert running.deliver(event()).status == 200


def test_another_log_beside_the_head_of_one_that_was_lost_leads_to_a_restore(
    saved: Settings, tmp_path: Path
) -> None:
    """It led to `prazo reconcile`, which led elsewhere."""
    (tmp_path / "inbox.db").unlink()
    open_inbox(saved.inbox).close()
    with closing(open_guarded(saved)) as inbox, pytest.raises(InboxForked) as refused:
        inbox.append([note()])
    assert "`prazo restore DIR` puts it back" in refused.value.remedy
    assert restores.restore(saved, tmp_path / "saved").entries == 7


def test_a_keeper_whose_answer_comes_byte_by_byte_is_not_waited_for(
    tmp_path: Path,
) -> None:
    """Each byte comes in time; the whole never does. What it says later still counts."""
    is_slow = threading.Event()
    is_slow.set()

    def drip(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        with contextlib.suppress(OSError):
            while is_slow.is_set():
                request.wfile.write(b" ")
                time.sleep(0.1)

    server = Answering(drip)
    guard = Guard(settings_in(tmp_path, keeper_url=server.url))
    try:
        with closing(open_inbox(str(tmp_path / "new.db"))) as inbox:
            began = time.monotonic()
            guard(inbox)
            guard(inbox)
            assert time.monotonic() - began < 3 * ASK_SECONDS
            assert "no whole answer has come yet" in (guard.unreached or "")
            is_slow.clear()

            def is_answered() -> bool:
                guard(inbox)
                return "not a proof" in (guard.unreached or "")

            wait_until(is_answered)
    finally:
        is_slow.clear()
        server.server_close()
