"""A PostgreSQL inbox whose rows were changed, and its way out: from the ledger, or by a backup."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from subprocess import PIPE

import pytest

from pipeline.continuity import backup as backups
from pipeline.continuity import kept_heads
from pipeline.continuity import restore as restores
from pipeline.continuity.kept_heads import open_guarded
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.errors import InboxForked, NotRestored, OperatorError, PrazoError
from pipeline.inbox import open_inbox
from pipeline.inbox.artifacts import artifact_store
from pipeline.log.actions import By
from pipeline.settings import Settings
from tests import depth, fork_server
from tests.audit import story
from tests.audit.conftest import command, entries_alone, environment, killed
from tests.support.machine import wait_until
from tests.support.postgres import PostgresServer
from tests.support.stores import settings_in

ASIDE = "select nspname from pg_namespace where nspname like 'prazo\\_%' order by 1"
CHANGED = "update prazo.entries set body = '{}' where seq = 4"


@pytest.fixture
def machine(at_rest: Path, database: str, tmp_path: Path) -> Settings:
    """A machine whose inbox is in PostgreSQL: the story, two artifacts, all of it signed; with the
    ledger that followed the same entries in SQLite."""
    moved = settings_in(tmp_path / "machine", inbox=database)
    moved.ledger.parent.mkdir()
    for ledger in at_rest.glob("ledger.duckdb*"):
        shutil.copy(ledger, moved.ledger.parent)
    shutil.copytree(at_rest / "keys", moved.signing_key_file.parent)
    with (
        backups.opened_inbox(settings_in(at_rest).inbox) as source,
        backups.opened_inbox(database, source.identity) as copy,
    ):
        backups.copy_entries(source, copy, lambda *_: None)
        backups.Vouchers.of(source).put(copy)
        for content in (story.SCREEN, story.JOURNEY_LOG):
            artifact_store(moved, copy).keep(content)
    return moved


@pytest.fixture(autouse=True)
def schemas(postgres: PostgresServer, database: str) -> Iterator[None]:
    yield
    for (name,) in postgres.execute(database, ASIDE):
        postgres.execute(database, f"drop schema {name} cascade")


def change(url: str, *statements: str) -> None:
    """As somebody who owns the tables would."""
    PostgresServer.execute(
        url,
        "alter table prazo.entries disable trigger entries_append_only",
        *statements,
        "alter table prazo.entries enable always trigger entries_append_only",
    )


def faults(settings: Settings) -> list[str]:
    with closing(LedgerService(settings)) as service:
        return audit(service).faults


DAMAGES = {
    "a body": CHANGED,
    "a leaf": "update prazo.entries set leaf = leaf || ' '::bytea where seq = 9",
    "a row removed": "delete from prazo.entries where seq = 5",
    "names": "delete from prazo.actors",
}


@pytest.mark.parametrize("damage", depth.few(list(DAMAGES), 6))
def test_the_ledger_puts_the_rows_of_a_database_right(
    machine: Settings, database: str, tmp_path: Path, damage: str
) -> None:
    """The remedy was a new backup and an empty database, and that backup was refused as changed.

    What stands beside the log goes on: artifacts, leases, links of sellers, heartbeats.
    """
    beside = (
        "insert into prazo.leases values ('p1', 7, 'a machine', 0)",
        "insert into prazo.journey_flow values ('r1', 5, 'opened', null, null)",
    )
    change(database, DAMAGES[damage], *beside)
    chunks = PostgresServer.execute(database, "select count(*) from prazo.artifact_chunks")
    assert chunks == [(2,)]
    done = command(machine, "restore", "--from-ledger")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "VERIFIED"), done.stderr
    [(aside,)] = PostgresServer.execute(database, ASIDE)
    assert f"  note     the former tables were kept in the schema {aside} of the database" in (
        done.stdout.splitlines()
    )
    assert not list(machine.ledger.parent.glob("inbox.restoring*"))
    kept = "select (select count(*) from {0}.leases), (select count(*) from {0}.journey_flow)"
    assert PostgresServer.execute(database, kept.format("prazo")) == [(1, 1)]
    # The former rows are there to be looked at, as they were left.
    rows = PostgresServer.execute(database, f"select count(*) from {aside}.entries")
    assert rows == [(15 if damage == "a row removed" else 16,)]
    with pytest.raises(Exception, match="append-only"):
        PostgresServer.execute(database, "delete from prazo.entries")
    # It takes entries again, and a schema that was set aside is no longer needed.
    PostgresServer.execute(database, f"drop schema {aside} cascade")
    with closing(LedgerService(machine)) as service:
        story.deliver(service.inbox, "it goes on")
        service.catch_up()
        assert service.ledger.size == 17
    assert faults(machine) == []


@entries_alone
def test_who_has_the_inbox_open_goes_on_in_the_new_tables(machine: Settings, database: str) -> None:
    """A receiver of another machine, whose statements were prepared for the former tables."""
    with closing(open_inbox(database)) as receiver:
        for number in range(8):  # psycopg prepares a statement that comes for the fifth time
            story.deliver(receiver, f"before {number}")
            receiver.last()
        with closing(LedgerService(machine)) as service:
            service.catch_up()
            assert service.checkpoint() is not None
        change(database, CHANGED)
        restores.restore_from_ledger(machine)
        story.deliver(receiver, "afterwards")
        assert receiver.last()[0] == 25
    assert PostgresServer.execute(database, "select max(seq) from prazo.entries") == [(25,)]
    assert faults(machine) == []


@entries_alone
def test_entries_that_nothing_followed_yet_are_kept(machine: Settings, database: str) -> None:
    with closing(open_inbox(database)) as inbox:
        story.deliver(inbox, "not followed")
    change(database, CHANGED)
    with pytest.raises(NotRestored, match="no signature covers entries 17 to 17"):
        restores.restore_from_ledger(machine)
    assert PostgresServer.execute(database, ASIDE) == []
    insisted = By("it came after the last signature", "ana", "user:ana")
    done = restores.restore_from_ledger(machine, insisted=insisted)
    assert (done.entries, done.verdict.faults) == (18, [])  # the last one says who insisted


@entries_alone
def test_what_is_recorded_between_the_proof_and_the_swap_is_not_lost(
    machine: Settings, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(database, CHANGED)
    proved = restores._require_signatures

    def and_then_somebody_records(*given: object) -> None:
        proved(*given)  # type: ignore[arg-type]
        with closing(open_inbox(database)) as receiver:
            story.deliver(receiver, "meanwhile")

    monkeypatch.setattr(restores, "_require_signatures", and_then_somebody_records)
    with pytest.raises(OperatorError, match="entries were recorded meanwhile"):
        restores.restore_from_ledger(machine)
    assert PostgresServer.execute(database, ASIDE) == []
    assert PostgresServer.execute(database, "select max(seq) from prazo.entries") == [(17,)]


def test_a_user_who_may_make_no_schema_hears_why_it_is_refused(
    machine: Settings, postgres: PostgresServer, database: str
) -> None:
    for statement in (
        "create role receiver login",
        "grant usage on schema prazo to receiver",
        "grant all on all tables in schema prazo to receiver",
    ):
        postgres.execute(database, statement)
    try:
        theirs = settings_in(
            machine.ledger.parent, inbox=database.replace("postgres@", "receiver@")
        )
        change(database, CHANGED)
        with pytest.raises(OperatorError) as refused:
            restores.restore_from_ledger(theirs)
        assert "may not make the schema" in refused.value.why
        assert PostgresServer.execute(database, ASIDE) == []
    finally:
        postgres.execute(database, "drop owned by receiver")
        postgres.execute(database, "drop role receiver")


KILLED = """
import os, signal
from pipeline.continuity import set_aside
from pipeline.inbox.postgres.session import Session

step, execute, seen = {step}, Session.execute, [0]

def counted(self, *given, **more):
    seen[0] += in_it[0]
    if in_it[0] and seen[0] == step:
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(self, *given, **more)

replace, in_it = set_aside.replace_entries, [0]

def replaced(*given):
    in_it[0] = 1
    aside = replace(*given)
    in_it[0] = 0
    return aside

Session.execute, set_aside.replace_entries = counted, replaced
from pipeline.cli import run
import sys
sys.argv = ["prazo", "restore", "--from-ledger"]
run()
"""


@entries_alone
@pytest.mark.parametrize("step", depth.few([10, 1, 5, 24], 4))
def test_killed_at_any_step_it_is_the_former_inbox_or_the_new_one(
    machine: Settings, database: str, step: int
) -> None:
    """In a long run also at the first statement of its transaction and at later ones; running it
    again completes it."""
    change(database, CHANGED)
    killed(machine, KILLED.format(step=step))
    sessions = "select 1 from pg_stat_activity where application_name = 'prazo'"
    sessions += " and datname = current_database()"
    wait_until(lambda: not PostgresServer.execute(database, sessions))  # the server has noticed
    assert PostgresServer.execute(database, ASIDE) == []
    assert any(it.startswith("entry 4: ") for it in faults(machine))
    done = command(machine, "restore", "--from-ledger")
    assert done.returncode == 0, done.stderr
    assert not list(machine.ledger.parent.glob("inbox.restoring*"))


@entries_alone
def test_of_two_at_once_each_leaves_a_whole_inbox(machine: Settings, database: str) -> None:
    """The ledger has one holder at a time: the other one says so, or comes after it."""
    change(database, CHANGED)
    asked = ("restore", "--from-ledger")
    other = fork_server.start(
        [sys.executable, "-m", "pipeline.cli", *asked],
        env=environment(machine),
        cwd=machine.ledger.parent,
        stdout=PIPE,
        stderr=PIPE,
    )
    ours = command(machine, *asked)
    said = other.communicate(timeout=120)
    assert 0 in {ours.returncode, other.returncode}, (ours, said)
    assert {ours.returncode, other.returncode} <= {0, 1}, (ours, said)
    assert faults(machine) == []


@entries_alone
def test_a_backup_is_not_put_back_over_other_rows_of_a_database(
    machine: Settings, postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    """It said "the copy" of the live database; over rows that were changed in their middle it said
    that they were restored. The remedy leads out: an empty database, and the newer entries come
    from the ledger."""
    backups.backup(machine, tmp_path / "saved", with_keys=True)
    with closing(LedgerService(machine)) as service:
        story.deliver(service.inbox, "since the backup")
        service.catch_up()
        assert service.checkpoint() is not None
    for damage in (CHANGED, "delete from prazo.entries where seq = 17"):
        change(database, damage)
        with pytest.raises(NotRestored) as refused:
            restores.restore(machine, tmp_path / "saved")
        assert refused.value.why.startswith(
            f"the database of the inbox holds {17 if damage == CHANGED else 16} entries"
        )
        assert "--from-ledger" in refused.value.remedy
        assert "an empty database" in refused.value.remedy
    empty = postgres.new_database("led_out")
    try:
        moved = settings_in(machine.ledger.parent, inbox=empty)
        done = restores.restore(moved, tmp_path / "saved")
        assert (done.entries, done.verdict.faults) == (17, [])
        assert done.notes[0].startswith("1 entry that is newer than the backup came back")
    finally:
        postgres.execute(postgres.url(), "drop database led_out with (force)")


def test_nothing_is_recorded_in_a_database_into_which_a_restore_was_cut_off(
    machine: Settings, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver that was started on it took what came next: the log went on from its middle, was
    signed there, and the backup could not be put back any more."""
    backups.backup(machine, tmp_path / "saved", with_keys=True)
    PostgresServer.execute(database, "drop schema prazo cascade")
    fresh = settings_in(tmp_path / "fresh", inbox=database)

    def cut_off(what: str, done: int, _: int) -> None:
        if what == "entries" and done >= 8:
            raise KeyboardInterrupt

    with monkeypatch.context() as small:
        small.setattr(backups, "ENTRIES_PER_BATCH", 4)
        with pytest.raises(KeyboardInterrupt):
            restores.restore(fresh, tmp_path / "saved", on_progress=cut_off)
    monkeypatch.setattr(kept_heads, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(restores, "_verified", lambda *_: None)  # it takes most of the time
    with closing(open_guarded(fresh)) as receiver:
        with pytest.raises(InboxForked, match="holds 8 entries and a checkpoint over 16"):
            story.deliver(receiver, "too early")
        restores.restore(fresh, tmp_path / "saved")
        story.deliver(receiver, "it goes on")
        assert receiver.last()[0] == 17


def test_a_ledger_that_was_changed_as_well_puts_nothing_in_place(
    machine: Settings, database: str
) -> None:
    import duckdb

    change(database, CHANGED)
    with duckdb.connect(str(machine.ledger)) as connection:
        connection.execute("drop trigger log_no_update on log")
        connection.execute("update log set body = '{}'::blob where seq = 6")
    with pytest.raises(PrazoError, match="its entries 6 are not as they were recorded"):
        restores.restore_from_ledger(machine)
    assert PostgresServer.execute(database, ASIDE) == []
    assert not list(machine.ledger.parent.glob("inbox.restoring*"))
