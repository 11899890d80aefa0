"""What is said of the intake: by a receiver that is asked, by the heartbeat of one elsewhere."""

import json
import socket
import threading
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.continuity.service import LedgerService
from pipeline.inbox import open_inbox
from pipeline.inbox.heartbeats import Part, beat
from pipeline.serve import intake
from pipeline.serve.intake import READY, Answer
from tests.support.answering import Answering, give
from tests.support.events import event
from tests.support.machine import free_port, wait_until
from tests.support.receiver import receiver
from tests.support.stores import settings_in


def test_a_receiver_that_could_record_is_ready(tmp_path: Path) -> None:
    with receiver(tmp_path) as running:
        answer = intake.ask(settings_in(tmp_path, receiver_port=running.port))
    with closing(open_inbox(tmp_path / "inbox.db")) as inbox:
        assert answer == READY._replace(log=inbox.log)


def test_a_receiver_that_cannot_record_says_why(tmp_path: Path) -> None:
    said = json.dumps({"status": "not able to record", "error": "the disk is full"}).encode()
    with Answering(lambda asked: give(asked, 503, said)) as server:
        found = intake.ask(settings_in(tmp_path, receiver_port=server.server_port))
    assert found == Answer(is_there=True, is_ready=False, why="the disk is full")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}"])
def test_of_an_answer_without_a_reason_its_status_is_said(tmp_path: Path, body: bytes) -> None:
    with Answering(lambda asked: give(asked, 503, body)) as server:
        found = intake.ask(settings_in(tmp_path, receiver_port=server.server_port))
    assert found == Answer(is_there=True, is_ready=False, why="it answers 503")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"status": "alive"}'])
def test_another_program_at_its_place_is_not_a_receiver(tmp_path: Path, body: bytes) -> None:
    with Answering(lambda asked: give(asked, 200, body)) as server:
        found = intake.ask(settings_in(tmp_path, receiver_port=server.server_port))
    assert (found.is_there, found.is_ready) == (False, False)
    assert found.why == f"what answers at {server.url} is not a receiver"


def test_where_nobody_listens_nobody_answers(tmp_path: Path) -> None:
    port = free_port()
    found = intake.ask(settings_in(tmp_path, receiver_port=port))
    assert (found.is_there, found.is_ready) == (False, False)
    assert found.why.startswith(f"none answers at http://127.0.0.1:{port} (")


def test_what_does_not_speak_http_is_not_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def babble() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"220 mail.example ready\r\n\r\n")

        threading.Thread(target=babble, daemon=True).start()
        found = intake.ask(settings_in(tmp_path, receiver_port=port))
    assert (found.is_there, found.is_ready) == (False, False)


def test_a_receiver_that_hangs_is_asked_once_and_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection is accepted by the system, and nothing ever comes over it."""
    monkeypatch.setattr(intake, "READY_SECONDS", 0.05)
    monkeypatch.setattr(intake, "LOOK_SECONDS", 0.0)
    asked: list[None] = []
    may_end = threading.Event()

    def hang(_: object) -> Answer:
        asked.append(None)
        may_end.wait(60)
        return READY

    monkeypatch.setattr(intake, "ask", hang)
    with closing(LedgerService(settings_in(tmp_path))) as service:
        wait_until(lambda: intake.current(service) is not None)
        for _ in range(3):
            looked = intake.watch(service).last()
            wait_until(lambda before=looked: intake.watch(service).last() != before)
        found = intake.current(service)
        assert found is not None
        assert found.receiver == Answer(False, False, "no whole answer has come yet")
        assert len(asked) == 1
        may_end.set()
        wait_until(lambda: (now := intake.current(service)) is not None and now.receiver == READY)


def test_nobody_waits_for_the_first_answer_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "READY_SECONDS", 60.0)
    answers = threading.Event()

    def hang(_: object) -> Answer:
        answers.wait(60)
        return READY

    monkeypatch.setattr(intake, "ask", hang)
    with closing(LedgerService(settings_in(tmp_path))) as service:
        assert intake.current(service) is None
        answers.set()
        wait_until(lambda: intake.current(service) is not None)


def test_what_was_found_long_ago_is_not_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(LedgerService(settings_in(tmp_path, receiver_port=free_port()))) as service:
        wait_until(lambda: intake.current(service) is not None)
        monkeypatch.setattr(intake, "STALE_SECONDS", 0.0)
        assert intake.current(service) is None


def test_an_inbox_in_a_file_has_its_receiver_on_this_machine(tmp_path: Path) -> None:
    """Whatever beat there: a copy of a shared inbox may have come with its heartbeats."""
    with closing(LedgerService(settings_in(tmp_path, receiver_port=free_port()))) as service:
        beat(service.inbox, Part.RECEIVER)
        wait_until(lambda: intake.current(service) is not None)
        found = intake.current(service)
    assert found is not None
    assert not found.receiver.is_there


def test_a_receiver_on_another_machine_is_known_by_its_heartbeat(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path, inbox=database, receiver_port=free_port())
    monkeypatch.setattr(intake, "LOOK_SECONDS", 0.1)
    with receiver(tmp_path, INBOX=database) as elsewhere:
        assert elsewhere.deliver(event()).status == 200
        with closing(LedgerService(settings)) as service:
            service.catch_up()

            def found() -> bool:
                now = intake.current(service)
                return now is not None and now.receiver == READY

            wait_until(found)
            elsewhere.kill()
            last = intake.current(service)
            assert last is not None
            assert last.last_at is not None
            monkeypatch.setattr(intake, "STALE_SECONDS", 1.0)
            wait_until(lambda: (now := intake.current(service)) is not None and not now.receiver[0])
            service.inbox.execute("update heartbeats set at = at + 3600000000")  # a clock was wrong
            assert not intake._Receivers(service).answer().is_there
