"""What only the PostgreSQL inbox has to get right: its server and the way to it."""

import contextlib
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from pipeline import instants
from pipeline.errors import InboxUnavailable
from pipeline.inbox import Inbox, Receipt, open_inbox, schema
from pipeline.inbox.postgres import inbox as engine
from pipeline.inbox.postgres.inbox import _NOW, PostgresInbox
from pipeline.inbox.store import Head
from pipeline.receive.clock_watch import entry_of
from tests.inbox.drafts import note
from tests.support.machine import wait_until
from tests.support.postgres import DATABASE, PostgresServer
from tests.support.soundness import all_entries, assert_sound


@pytest.fixture
def inbox(database: str) -> Iterator[PostgresInbox]:
    inbox = PostgresInbox(database)
    yield inbox
    inbox.close()


_run = PostgresServer.execute


def _takes_connections(postgres: PostgresServer) -> bool:
    """A session ends some time after its connection was closed."""
    try:
        [(sessions,)] = _run(postgres.url(), "select count(*) from pg_stat_activity")
    except psycopg.OperationalError:
        return False
    return int(sessions) < 30


def _cut_off(database: str) -> None:
    """Ends every session of the inbox, as a failover or an administrator would."""
    _run(
        database,
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()",
    )


# --- the clock -------------------------------------------------------------------------------


def test_nothing_goes_by_a_database_whose_clock_has_jumped(
    inbox: PostgresInbox, database: str, monkeypatch: pytest.MonkeyPatch
):
    """Entries did not, and what is due did: who is to be told of a deadline heard of it a day late,
    and what was sent was dated a day ahead of it all."""

    def is_right(one: Inbox) -> bool:
        return abs(one.now() - instants.now()) < instants.MINUTE

    inbox.compare_clocks()
    for ahead in (-instants.DAY, instants.DAY):
        monkeypatch.setattr(engine, "_NOW", f"{_NOW} + {ahead}")
        assert is_right(inbox)
        assert inbox.machine.doubted == "database"
        assert inbox.steady() - instants.now() == pytest.approx(ahead, abs=instants.MINUTE)
    change = inbox.machine.take_changes()[-1]
    inbox.append([entry_of(change)])  # as the receiver does
    with closing(open_inbox(database)) as later:
        assert is_right(later)
    monkeypatch.undo()
    assert is_right(inbox)
    assert inbox.machine.doubted is None


# --- the connection --------------------------------------------------------------------------


def test_connections_that_died_while_idle_cost_no_delivery_and_no_read(
    inbox: PostgresInbox, database: str
):
    """Nothing was under way on them, so new ones take over: a 503 could be the platform's last
    try."""
    inbox.append([note()])
    assert inbox.last()[0] == 1
    _cut_off(database)
    assert inbox.last()[0] == 1
    [receipt] = inbox.append([note()])
    assert receipt.entry is not None
    assert receipt.entry.seq == 2


def test_nobody_connects_again_to_tables_of_another_version(inbox: PostgresInbox, database: str):
    """An entry may stand there otherwise, and would be taken for what was sent."""
    inbox.append([note()])
    newer = schema.VERSION + 1
    _run(database, f"update prazo.meta set value = '{newer}' where name = 'version'")
    _cut_off(database)
    for read in (inbox.last, lambda: inbox.read(0, 1)):
        with pytest.raises(InboxUnavailable, match=f"version {newer}"):
            read()


def test_nobody_connects_again_to_another_log(inbox: PostgresInbox, database: str):
    """Another database took the place of the first under its name. What was acknowledged was
    recorded there by the rules of the first log, where it is wrong for good."""
    _run(database, "update prazo.meta set value = 'prazo/another' where name = 'log'")
    _cut_off(database)
    with pytest.raises(InboxUnavailable, match="it is the log prazo/another, and prazo/"):
        inbox.append([note()])
    with pytest.raises(InboxUnavailable, match="There is another inbox at "):
        inbox.last()
    _run(database, f"update prazo.meta set value = '{inbox.log}' where name = 'log'")
    [receipt] = inbox.append([note()])
    assert receipt.entry is not None
    assert receipt.entry.seq == 1


def test_a_connection_lost_inside_a_read_fails_that_read_alone(inbox: PostgresInbox, database: str):
    inbox.append([note()])

    def lose_it_and_read() -> None:
        with inbox._using() as connection:
            _cut_off(database)
            connection.execute("select 1")

    with pytest.raises(InboxUnavailable, match="cannot be read"):
        lose_it_and_read()
    assert inbox.last()[0] == 1


def test_a_connection_lost_inside_a_transaction_leaves_nothing_of_it(
    inbox: PostgresInbox, database: str
):
    inbox.append([note()])

    def cut_off_and_tell_the_time() -> int:
        _cut_off(database)
        return 0

    inbox.clock = cut_off_and_tell_the_time  # asked for between the lock and the entries
    with pytest.raises(InboxUnavailable, match="cannot be written"):
        inbox.append([note()])
    inbox.clock = inbox.machine.now
    [receipt] = inbox.append([note()])
    assert receipt.entry is not None
    assert receipt.entry.seq == 2


def test_while_the_server_is_down_calls_fail_and_afterwards_all_is_there(
    postgres: PostgresServer, inbox: PostgresInbox
):
    inbox.append([note(), note()])
    postgres.stop(signal.SIGQUIT)  # as in a crash: what was acknowledged is in its WAL
    try:
        with pytest.raises(InboxUnavailable, match="cannot be written"):
            inbox.append([note()])
        with pytest.raises(InboxUnavailable, match="cannot be read"):
            inbox.last()
        with pytest.raises(InboxUnavailable):
            inbox.probe()
    finally:
        postgres.start()
    inbox.append([note()])
    entries = all_entries(inbox)
    assert len(entries) == 3
    assert_sound(entries, inbox.log)


def test_a_server_that_cannot_be_reached_is_reported_without_the_password():
    with pytest.raises(InboxUnavailable) as raised:
        PostgresInbox("postgresql://prazo:secret@127.0.0.1:1/prazo?connect_timeout=2")
    assert "127.0.0.1:1/prazo" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_url_that_cannot_be_read_is_not_repeated():
    with pytest.raises(InboxUnavailable, match="not a valid PostgreSQL URL") as raised:
        PostgresInbox("postgresql://prazo:secret@[::1/prazo")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("what", ["server", "user"])
def test_a_server_that_takes_no_more_connections_is_said_to_and_which_limit_to_raise(
    postgres: PostgresServer, database: str, what: str
):
    """It said to check that the server runs, its disk, and the user's rights."""
    PostgresInbox(database).close()
    with contextlib.ExitStack() as held:
        if what == "user":
            postgres.execute(database, "create role few login connection limit 0")
            held.callback(postgres.execute, database, "drop role few")
            database = postgres.url("prazo", user="few")
        else:
            held.callback(wait_until, lambda: _takes_connections(postgres))
            with contextlib.suppress(psycopg.OperationalError):
                while True:
                    held.enter_context(psycopg.connect(postgres.url()))
        with pytest.raises(InboxUnavailable, match="too many") as refused:
            PostgresInbox(database, create=False)
    assert refused.value.remedy.startswith("raise max_connections in the server's postgresql.conf")
    assert "`alter role`" in refused.value.remedy


def test_a_server_that_takes_no_writes_is_called_that(
    inbox: PostgresInbox, database: str, postgres: PostgresServer
):
    """It was said to check that the server runs."""
    why = "find out why the server takes no writes: default_transaction_read_only is on"
    inbox.put_head(Head(1, b"root"))
    setting = "default_transaction_read_only"
    _run(postgres.url(), f"alter database {DATABASE} set {setting} = on")
    try:
        with pytest.raises(InboxUnavailable) as refused:
            PostgresInbox(database, create=False)
    finally:
        _run(postgres.url(), f"alter database {DATABASE} reset {setting}")
    assert (refused.value.remedy or "").startswith(why)
    with inbox._readers.borrowed() as session:
        session.execute("set default_transaction_read_only = on")  # as a reload sets it in all
    with pytest.raises(InboxUnavailable) as refused:
        inbox.put_head(Head(2, b"root"))
    assert (refused.value.remedy or "").startswith(why)


def test_a_writer_waits_for_the_lock_no_longer_than_its_limit(
    inbox: PostgresInbox, database: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        "pipeline.inbox.postgres.session._SESSION",
        "select 'on', 'UTF8', set_config('lock_timeout', '50ms', false),"
        " set_config('prazo.session', %s, false)",
    )
    with psycopg.connect(database) as other:
        other.execute("select pg_advisory_xact_lock(%s)", (int.from_bytes(b"prazo", "big"),))
        with pytest.raises(InboxUnavailable, match="lock timeout"):
            inbox.append([note()])
    assert inbox.append([note()])[0].entry is not None


# --- durability ------------------------------------------------------------------------------


def test_a_server_default_of_synchronous_commit_off_does_not_reach_the_inbox(
    database: str,
):
    """With it off the server answers a commit up to 0.6 s before it is on disk."""
    _run(database, f"alter database {DATABASE} set synchronous_commit = off")
    assert _run(database, "show synchronous_commit") == [("off",)]
    inbox = PostgresInbox(database)
    inbox.append([note()])
    with inbox._writing():
        assert inbox._writer is not None
        assert inbox._writer.execute("show synchronous_commit").fetchone() == ("on",)
    inbox.close()


def test_nothing_is_acknowledged_whose_wait_for_a_standby_was_cancelled(
    inbox: PostgresInbox, database: str, postgres: PostgresServer
):
    """The server says COMMIT to it all the same, and 200 was answered. The standby that is gone, or
    behind, may take over: then the entry is lost, and nobody sends it again."""
    reload = "select pg_reload_conf()"
    _run(database, "alter system set synchronous_standby_names = 'gone'", reload)
    cancel = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
    appended: list[None] = []

    def append() -> None:
        """Until a commit waits: the server takes up its settings in its own time."""
        for _ in range(1200):
            appended.append(None)
            inbox.append([note()])
            time.sleep(0.05)

    try:
        with ThreadPoolExecutor() as threads:
            waiting = threads.submit(append)
            wait_until(lambda: bool(_run(database, cancel)))
            with pytest.raises(InboxUnavailable, match="canceling wait for synchronous"):
                waiting.result()
    finally:
        _run(database, "alter system reset synchronous_standby_names", reload)
    wait_until(lambda: _run(database, "show synchronous_standby_names") == [("",)])
    [receipt] = inbox.append([note()])
    assert receipt.entry is not None
    assert receipt.entry.seq == len(appended) + 1, "what was refused is there all the same"


def test_a_stronger_synchronous_commit_than_ours_is_kept(database: str):
    _run(database, f"alter database {DATABASE} set synchronous_commit = remote_apply")
    inbox = PostgresInbox(database)
    with inbox._writing():
        assert inbox._writer is not None
        assert inbox._writer.execute("show synchronous_commit").fetchone() == ("remote_apply",)
    inbox.close()


def test_nothing_is_acknowledged_on_a_session_that_has_lost_our_settings(inbox: PostgresInbox):
    """PgBouncer in the mode `transaction` leads each one to any session of the server. With a
    default of synchronous_commit off, ten of twelve deliveries were acknowledged before they were
    on disk, and nothing said so."""
    inbox.append([note()])
    assert inbox._writer is not None
    inbox._writer.execute("discard all")
    with pytest.raises(InboxUnavailable, match="pooler") as refused:
        inbox.append([note()])
    assert "pool_mode = session" in refused.value.remedy
    assert inbox.last()[0] == 1
    assert inbox.append([note()])[0].entry is not None


def test_a_server_without_fsync_is_refused(postgres: PostgresServer, database: str):
    postgres.stop()
    postgres.start(fsync="off")
    try:
        with pytest.raises(InboxUnavailable, match="fsync off"):
            PostgresInbox(database)
    finally:
        postgres.stop()
        postgres.start()


def test_a_database_that_cannot_hold_every_identifier_is_refused(postgres: PostgresServer):
    with pytest.raises(InboxUnavailable, match="LATIN1"):
        PostgresInbox(postgres.new_database("latin", encoding="LATIN1"))


# --- the database's own settings -------------------------------------------------------------


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_stricter_default_isolation_does_not_make_a_writer_see_the_past(
    database: str, level: str
):
    """Its snapshot would be as old as its wait for the lock, and the same seq be given twice."""
    _run(database, f"alter database {DATABASE} set default_transaction_isolation = '{level}'")
    first, second = PostgresInbox(database), PostgresInbox(database)
    first.append([note(process_id="p")])
    second.append([note(process_id="p")])

    def wait_until_the_second_writer_waits() -> int:
        waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
        wait_until(lambda: _run(database, waiting) == [(1,)])
        return 0

    with ThreadPoolExecutor() as threads:
        behind: list[Future[list[Receipt]]] = []

        def start_the_second_writer() -> int:
            behind.append(threads.submit(second.append, [note(process_id="p")]))
            return wait_until_the_second_writer_waits()

        first.clock = start_the_second_writer  # asked for while the first holds the lock
        first.append([note(process_id="p")])
        [receipt] = behind[0].result()
    assert receipt.entry is not None
    assert receipt.entry.seq == 4
    assert_sound(all_entries(first), first.log)
    first.close()
    second.close()


def test_truncating_is_refused_like_updating_and_deleting(inbox: PostgresInbox, database: str):
    inbox.append([note()])
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        _run(database, "truncate prazo.entries")
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        _run(database, "set session_replication_role = replica", "delete from prazo.entries")
    assert inbox.last()[0] == 1


def test_tables_of_other_programs_in_the_same_database_are_not_touched(database: str):
    _run(database, "create table entries (a text)", "create table meta (a text)")
    inbox = PostgresInbox(database)
    inbox.append([note()])
    assert _run(database, "select count(*) from public.entries") == [(0,)]
    inbox.close()


def test_a_user_who_may_not_make_tables_is_named(postgres: PostgresServer, database: str):
    postgres.execute(database, "create role reader login")
    with pytest.raises(InboxUnavailable, match="permission denied"):
        PostgresInbox(postgres.url(DATABASE, user="reader"))


def test_whoever_may_not_add_entries_is_not_ready(
    inbox: PostgresInbox, postgres: PostgresServer, database: str
):
    """The mark of a trial has a table of its own: a receiver whose user had lost the right to add
    entries answered each delivery 503, and said that it was able to record."""
    _run(
        database,
        "create role recorder login",
        "grant usage on schema prazo to recorder",
        "grant select, insert, update on all tables in schema prazo to recorder",
    )
    with closing(PostgresInbox(postgres.url(DATABASE, user="recorder"))) as theirs:
        theirs.probe()
        _run(database, "revoke insert on prazo.entries from recorder")
        with pytest.raises(InboxUnavailable, match="permission denied for table entries"):
            theirs.probe()
    _run(database, "drop owned by recorder", "drop role recorder")


def test_an_inbox_of_a_later_version_is_not_opened(inbox: PostgresInbox, database: str):
    _run(database, "update prazo.meta set value = '99' where name = 'version'")
    with pytest.raises(InboxUnavailable, match="version 99"):
        PostgresInbox(database)
