"""Whatever hangs, a request is answered in time, readiness says so, and a stop is a stop."""

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from pipeline.errors import InboxUnavailable
from pipeline.inbox import Inbox, open_inbox
from pipeline.inbox.postgres.inbox import PostgresInbox
from pipeline.inbox.postgres.session import ADVISORY_LOCK
from sandbox.platform.certificates import issue
from tests import depth
from tests.faults.frozen import frozen, thawed
from tests.faults.hasty import END_SECONDS, HANGS, PROGRAM
from tests.faults.network import between
from tests.faults.shim import FsyncShim
from tests.inbox.drafts import note
from tests.support.events import event
from tests.support.machine import wait_until
from tests.support.postgres import PostgresServer
from tests.support.receiver import RunningReceiver, receiver
from tests.support.soundness import all_entries, assert_sound
from tests.support.sqlite import opened

LIMIT_SECONDS = 20.0
"""What is promised, from a request to its answer."""


@pytest.fixture
def server(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """One that a test may freeze."""
    yield postgres
    postgres.thaw()


def _seconds(started: float) -> float:
    return time.monotonic() - started


def _bodies(location: str) -> list[bytes | None]:
    with closing(open_inbox(location, create=False)) as inbox:
        entries = all_entries(inbox)
        assert_sound(entries, inbox.log)
        return [it.body for it in entries]


def _assert_answered_in_time(running: RunningReceiver, requests: int = 3) -> None:
    """Deliveries at once, and readiness beside them."""
    answers: list[tuple[str, int, float]] = []

    def ask(method: str, path: str) -> None:
        started = time.monotonic()
        body = event() if method == "POST" else b""
        answers.append((path, running.ask(method, path, body).status, _seconds(started)))

    asked = [("POST", "/webhooks")] * requests + [("GET", "/readyz"), ("GET", "/metrics")]
    threads = [Thread(target=ask, args=it) for it in asked]
    for thread in threads:
        thread.start()
    started = time.monotonic()
    assert running.ask("GET", "/healthz").status == 200
    assert _seconds(started) < LIMIT_SECONDS / 2
    for thread in threads:
        thread.join()
    statuses = sorted((path, status) for path, status, _ in answers)
    assert statuses == [("/metrics", 200), ("/readyz", 503), *[("/webhooks", 503)] * requests]
    assert max(seconds for _, _, seconds in answers) < LIMIT_SECONDS


# --- a disk that does not come back from a sync ----------------------------------------------


@pytest.mark.long
def test_on_a_disk_whose_syncs_hang_requests_are_answered_503_in_time(
    tmp_path: Path, fsync_shim: FsyncShim
):
    with receiver(tmp_path, environment=fsync_shim.env) as running:
        assert running.deliver(event()).status == 200
        fsync_shim.delay(60_000)
        _assert_answered_in_time(running)
        started = time.monotonic()
        assert running.deliver(event()).status == 503
        assert _seconds(started) < 5  # one more would only wait behind what hangs


def test_a_collection_whose_artifact_hangs_on_the_disk_is_answered_503_in_time(
    tmp_path: Path, fsync_shim: FsyncShim
):
    head = b'--x\r\nContent-Disposition: form-data; name="%b"%b\r\n\r\n%b\r\n'
    occurrence = {
        "kind": "collection",
        "occurred_at": "2026-03-01T00:00:00Z",
        "process_id": "p",
        "seller_id": "s",
        "journey_id": "j",
        "step": "opened",
        "channel": "web_form",
        "source": "seller",
        "actor": "a",
    }
    body = head % (b"collection", b"", json.dumps(occurrence).encode())
    body += head % (b"screen", b'; filename="screen.png"', b"pixels") + b"--x--\r\n"
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    with receiver(tmp_path, environment=fsync_shim.env, program=PROGRAM) as running:
        fsync_shim.delay(60_000)
        started = time.monotonic()
        assert running.ask("POST", "/v1/collections", body, kind).status == 503
        assert _seconds(started) < LIMIT_SECONDS
        fsync_shim.heal()


@pytest.mark.parametrize("engine", depth.few(["sqlite", "postgres"], 2))
def test_asked_to_stop_it_ends_although_a_write_hangs_and_says_what_hangs(
    tmp_path: Path, fsync_shim: FsyncShim, engine: str, request: pytest.FixtureRequest
):
    settings: dict[str, Any] = {"environment": fsync_shim.env}
    if engine == "postgres":
        settings = {"INBOX": request.getfixturevalue("database"), "environment": HANGS}
        server: PostgresServer = request.getfixturevalue("server")
    with receiver(tmp_path, program=PROGRAM, **settings) as running:
        assert running.deliver(body := event()).status == 200
        if engine == "postgres":
            server.freeze()
        else:
            fsync_shim.delay(60_000)
        assert running.deliver(event()).status == 503
        assert running.ask("GET", "/metrics").status == 200  # a thread of the pool hangs as well
        started = time.monotonic()
        code = running.terminate()
        assert _seconds(started) < END_SECONDS + 10
        said = running.log.read_text()
        assert "Traceback" not in said
        if engine == "sqlite":
            assert "a write has not ended" in said
        else:  # where the receiver's sign of life hangs, it ends before it asks for the write
            assert code == 1
            assert "these threads have not ended: " in said
            assert "in wait (session.py, line " in said
            server.thaw()
    assert _bodies(settings.get("INBOX", str(tmp_path / "inbox.db")))[0] == body


# --- a server that is stopped ----------------------------------------------------------------


@pytest.mark.long
def test_while_the_server_is_frozen_requests_are_answered_503_in_time_and_then_200_again(
    tmp_path: Path, database: str, server: PostgresServer
):
    """Its machine answers for it: neither keepalives nor a time-out of the server's help."""
    with receiver(tmp_path, INBOX=database) as running:
        assert running.deliver(first := event()).status == 200
        server.freeze()
        _assert_answered_in_time(running)
        server.thaw()
        wait_until(lambda: running.ask("GET", "/readyz").status == 200)
        assert running.deliver(last := event()).status == 200
    bodies = _bodies(database)
    assert (bodies[0], bodies[-1]) == (first, last)


def test_a_submission_is_answered_503_in_time_while_the_server_is_frozen(
    tmp_path: Path, database: str, server: PostgresServer
):
    """The gateway waited a minute for its server to say which process it was about."""
    certificates = issue(tmp_path)
    (tmp_path / "credentials").write_text("user:password")
    settings = {
        "INBOX": database,
        "PLATFORM_URL": "https://127.0.0.1:1",
        "PLATFORM_CA_FILE": str(certificates.authority),
        "CLIENT_CERT_FILE": str(certificates.client.certificate),
        "CLIENT_KEY_FILE": str(certificates.client.key),
        "PLATFORM_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "MARKETPLACE_ID": "m",
    }
    path = "/v1/marketplaces/m/sellers/s/registration/review"
    with receiver(tmp_path, program=PROGRAM, **settings) as running:
        bodies = (b'{"process_id": "p", "type": "individual"}', b'{"type": "individual"}')
        assert [running.ask("PUT", path, it).status for it in bodies] == [422, 422]
        server.freeze()
        started = time.monotonic()
        answers = [running.ask("PUT", path, it) for it in bodies]
        assert [it.status for it in answers] == [503, 503]
        assert _seconds(started) < LIMIT_SECONDS
        assert all(b"nothing was sent" in it.body for it in answers)
        server.thaw()
        wait_until(lambda: running.ask("PUT", path, bodies[0]).status == 422)


@pytest.mark.parametrize("forgets", depth.few([True, False], 2))
def test_behind_a_network_that_swallows_packets_requests_are_answered_503_in_time_and_then_200(
    tmp_path: Path, database: str, forgets: bool
):
    """Nothing is closed, and the machines in between answer for each other. Afterwards what was
    held arrives, or connections from before never pass anything again."""
    there = urlsplit(database)
    hurry = {"program": PROGRAM} if forgets else {}
    with between("127.0.0.1", there.port or 0) as network:
        inbox = there._replace(netloc=f"postgres@127.0.0.1:{network.port}").geturl()
        with receiver(tmp_path, INBOX=inbox, **hurry) as running:  # type: ignore[arg-type]
            assert running.deliver(first := event()).status == 200
            network.swallow()
            _assert_answered_in_time(running)
            network.heal(forgets=forgets)
            wait_until(lambda: running.ask("GET", "/readyz").status == 200)
            assert running.deliver(last := event()).status == 200
    bodies = _bodies(database)
    assert (bodies[0], bodies[-1]) == (first, last)


@contextmanager
def _forgotten(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Inbox]:
    """An inbox with a writer and three idle readers, whose network has just forgotten them all and
    is well again. These readers give up after 5 s, later ones after a minute."""
    there = urlsplit(database)
    with between("127.0.0.1", there.port or 0) as network:
        through = there._replace(netloc=f"postgres@127.0.0.1:{network.port}").geturl()
        with ExitStack() as opened, monkeypatch.context() as hurried:
            hurried.setattr("pipeline.inbox.postgres.session.Session.limit_seconds", 5.0)
            inbox = opened.enter_context(closing(PostgresInbox(through)))
            inbox.append([note()])
            with ExitStack() as at_once:
                for _ in range(3):
                    at_once.enter_context(inbox.transaction())
            hurried.undo()
            network.swallow()
            network.heal(forgets=True)
            yield inbox


@pytest.mark.long
def test_where_a_network_has_forgotten_several_connections_one_read_alone_waits_for_it(
    database: str, monkeypatch: pytest.MonkeyPatch
):
    """Each idle connection was asked once and waited for, a minute each: a ledger stood still for
    as many minutes, and anyone who sends retries or alerts with it."""
    with _forgotten(database, monkeypatch) as inbox:
        with pytest.raises(InboxUnavailable, match="did not answer within 5 s"):
            inbox.last()
        assert inbox.last()[0] == 1


def test_where_a_network_has_forgotten_several_connections_one_write_alone_waits_for_it(
    database: str, monkeypatch: pytest.MonkeyPatch
):
    """The next writer connected again and was proved by what an idle reader was asked, of which
    each was waited for: deliveries were answered 503 for so long."""
    with _forgotten(database, monkeypatch) as inbox:
        with monkeypatch.context() as hurried:
            hurried.setattr("pipeline.inbox.postgres.inbox.STATEMENT_SECONDS", 2.0)
            with pytest.raises(InboxUnavailable, match="did not answer within 2 s"):
                inbox.append([note()])
        [receipt] = inbox.append([note()])
        assert receipt.entry is not None


def test_a_reader_gives_a_frozen_server_up(
    database: str, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pipeline.inbox.postgres.session.Session.limit_seconds", 2.0)
    with closing(open_inbox(database)) as inbox:
        inbox.append([note()])
        server.freeze()
        started = time.monotonic()
        with pytest.raises(InboxUnavailable, match="did not answer within 2 s"):
            inbox.last()
        assert _seconds(started) < LIMIT_SECONDS
        server.thaw()
        assert inbox.last()[0] == 1


# --- another process that holds the lock -----------------------------------------------------


@contextmanager
def _held(location: str) -> Iterator[None]:
    """By a process that works on: nobody may take its lock from it."""
    if location.startswith("postgresql"):
        with psycopg.connect(location) as other:
            other.execute("select pg_advisory_xact_lock(%s)", (ADVISORY_LOCK,))
            working = Thread(target=_work_until_cancelled, args=(other,))
            working.start()
            yield
            other.cancel_safe(timeout=10)
            working.join()
            other.rollback()
    else:
        with closing(opened(location)) as other:
            other.execute("begin immediate")
            yield


def _work_until_cancelled(connection: psycopg.Connection[Any]) -> None:
    with contextlib.suppress(psycopg.errors.QueryCanceled):
        connection.execute("select pg_sleep(60)")


def test_while_another_process_holds_the_lock_requests_are_answered_503_in_time(
    location: str, tmp_path: Path
):
    """Readiness once wrote beside the log, where nobody holds a lock, and said that it could."""
    with receiver(tmp_path, program=PROGRAM, INBOX=location) as running:
        assert running.deliver(event()).status == 200
        with _held(location):
            _assert_answered_in_time(running)
        wait_until(lambda: running.ask("GET", "/readyz").status == 200)
        assert running.deliver(event()).status == 200


@pytest.mark.parametrize("where", ["lock", "copy"])
def test_a_peer_that_freezes_while_it_holds_the_lock_loses_it(database: str, where: str):
    """In the middle of COPY no time-out of the server's strikes: all others stood still for as
    long as the peer did."""
    with closing(open_inbox(database)) as inbox:
        inbox.append([note()])
        with frozen(database, where) as peer:
            started = time.monotonic()
            [receipt] = inbox.append([note(body=b"in time")])
            assert _seconds(started) < 15
            assert receipt.entry is not None
            assert receipt.entry.seq == 2
            assert thawed(peer).startswith("failed: ")
    assert _bodies(database) == [note().body, b"in time"]


@pytest.mark.long
def test_a_frozen_peer_that_nobody_may_end_is_answered_503_and_named(
    postgres: PostgresServer, database: str
):
    """Only its own user or a superuser may end a session."""
    open_inbox(database).close()
    name = database.rpartition("/")[2]
    postgres.execute(
        database,
        "create role other login",
        "grant usage on schema prazo to other",
        "grant select, insert, update on all tables in schema prazo to other",
    )
    try:
        with (
            closing(open_inbox(postgres.url(name, user="other"))) as inbox,
            frozen(database, "copy"),
        ):
            started = time.monotonic()
            with pytest.raises(InboxUnavailable, match="lock timeout"):
                inbox.append([note()])
            assert _seconds(started) < LIMIT_SECONDS
    finally:
        postgres.execute(database, "drop owned by other", "drop role other")


def test_a_frozen_sqlite_peer_keeps_its_lock_and_requests_are_answered_503_in_time(
    tmp_path: Path,
):
    """The system gives nobody a lock that a living process holds; ending that process does."""
    path = str(tmp_path / "inbox.db")
    with receiver(tmp_path, program=PROGRAM) as running:
        assert running.deliver(event()).status == 200
        with frozen(path, "lock") as peer:
            _assert_answered_in_time(running)
            peer.kill()
            peer.wait()
            wait_until(lambda: running.ask("GET", "/readyz").status == 200)
            assert running.deliver(event()).status == 200


# --- a session -------------------------------------------------------------------------------


def test_the_server_gives_up_a_receiver_that_vanished(database: str):
    with closing(open_inbox(database)) as inbox, inbox._exclusively() as session:  # type: ignore[attr-defined]
        shown = {
            name: session.execute(f"show {name}").fetchone()[0]
            for name in (
                "tcp_keepalives_idle",
                "tcp_keepalives_interval",
                "tcp_keepalives_count",
                "tcp_user_timeout",
                "idle_in_transaction_session_timeout",
                "lock_timeout",
                "statement_timeout",
            )
        }
        assert shown == {
            "tcp_keepalives_idle": "5",
            "tcp_keepalives_interval": "2",
            "tcp_keepalives_count": "3",
            "tcp_user_timeout": "10000",  # in milliseconds
            "idle_in_transaction_session_timeout": "8s",
            "lock_timeout": "5s",
            "statement_timeout": "10s",
        }


def test_no_time_out_of_a_statement_is_over_the_commit(database: str):
    """A commit that is cancelled while it waits for a standby is answered as if it were durable."""
    with closing(open_inbox(database)) as inbox:
        with inbox._exclusively() as session:  # type: ignore[attr-defined]
            session.execute(
                "create function prazo.take_time() returns trigger language plpgsql as"
                " $$ begin perform pg_sleep(0.6); return null; end $$"
            )
            session.execute(
                "create constraint trigger at_the_commit after insert or update on prazo.probes"
                " deferrable initially deferred for each row execute function prazo.take_time()"
            )
        with inbox._exclusively() as session:  # type: ignore[attr-defined]
            session.execute("set statement_timeout = '200ms'")
        inbox.probe()
        assert inbox.query("select count(*) from probes") == [(1,)]


def test_a_transaction_that_the_server_rolled_back_is_not_taken_for_a_commit(database: str):
    """PostgreSQL answers the commit of a failed transaction with ROLLBACK, and no error."""
    with closing(open_inbox(database)) as inbox:
        with (
            pytest.raises(InboxUnavailable, match="ROLLBACK"),
            inbox._exclusively() as session,  # type: ignore[attr-defined]
            contextlib.suppress(psycopg.errors.DivisionByZero),
        ):
            session.execute("select 1 / 0")
        assert inbox.append([note()])[0].entry is not None


# --- a server without disk -------------------------------------------------------------------


def _fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_a_receiver_on_a_full_postgres_disk_is_not_ready(postgres: PostgresServer, tmp_path: Path):
    """A small row found room in a page that was there already, so it said that it was ready."""
    disk = postgres.disk(64 * 2**20)
    try:
        database = postgres.new_database("on_a_small_disk", tablespace="small_disk")
        with receiver(tmp_path, INBOX=database) as running:
            assert running.ask("GET", "/readyz").status == 200
            ballast = disk / "ballast"
            _fill(ballast)
            time.sleep(1.1)  # readiness is looked at once a second
            answer = running.ask("GET", "/readyz")
            assert (answer.status, b"No space left" in answer.body) == (503, True)
            ballast.unlink()
            time.sleep(1.1)
            assert running.ask("GET", "/readyz").status == 200
            assert running.deliver(event()).status == 200
            assert _bodies(database)
    finally:
        postgres.execute(postgres.url(), "drop database if exists on_a_small_disk with (force)")
        postgres.execute(postgres.url(), "drop tablespace if exists small_disk")
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_probe_leaves_nothing_that_grows(database: str, postgres: PostgresServer):
    size = f"select pg_database_size('{database.rpartition('/')[2]}')"
    with closing(open_inbox(database)) as inbox:
        for _ in range(5):
            inbox.probe()
        before = postgres.execute(database, size)[0][0]
        for _ in range(20):
            inbox.probe()
        assert postgres.execute(database, size)[0][0] - before < 2**20
