"""How it starts, says how it is, and ends: cleanly, or killed at any moment."""

import errno
import json
import random
import signal
import socket
import time
from pathlib import Path

import pytest
import uvicorn

from pipeline.errors import OperatorError
from pipeline.http import server
from pipeline.log.entries import Entry
from tests import depth
from tests.receive.conftest import Start
from tests.support.events import event
from tests.support.machine import free_port, wait_until
from tests.support.receiver import RunningReceiver
from tests.support.senders import Journal, sending

KILLS = depth.rounds(3, 30)


def _assert_all_there(journal: Journal, entries: list[Entry]) -> None:
    recorded = {(it.event_id, it.seq) for it in entries}
    assert set(journal.seq_of.items()) <= recorded


# --- start ---


def test_it_says_that_it_is_alive_and_able_to_record(shared: RunningReceiver):
    for path, status in (("/healthz", "alive"), ("/readyz", "able to record")):
        answer = shared.ask("GET", path)
        assert answer.status == 200
        assert json.loads(answer.body)["status"] == status
        assert shared.ask("HEAD", path).status == 200
        for method in ("POST", "PUT", "DELETE"):
            answer = shared.ask(method, path)
            assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


def test_it_counts_what_it_does(start: Start):
    receiver = start()
    body = event()
    for sent in (body, body, b"?", event()):
        receiver.deliver(sent)
    receiver.ask("GET", "/webhooks")
    answer = receiver.ask("GET", "/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.body.decode().splitlines()
    assert 'prazo_deliveries_total{recorded="new"} 2.0' in lines
    assert 'prazo_deliveries_total{recorded="again"} 1.0' in lines
    assert 'prazo_deliveries_total{recorded="quarantined"} 1.0' in lines
    assert 'prazo_rejections_total{status="405"} 1.0' in lines
    assert "prazo_record_seconds_count 4.0" in lines
    assert "prazo_inbox_unavailable_total 0.0" in lines
    assert "prazo_inbox_last_seq 5.0" in lines


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"WEBHOOK_AUTH": "header", "WEBHOOK_SECRET_FILE": "nowhere"}, "nowhere cannot be read"),
        ({"WEBHOOK_AUTH": "hmac", "WEBHOOK_SECRET_FILE": "secret"}, "is not base64"),
        ({"INBOX": "secret"}, "secret is not an inbox: it is a text"),
        ({"RECEIVER_HOST": "0.0.0.0"}, "PRAZO_ALLOW_REMOTE"),
        ({"RECEIVER_HOST": "0.0.0.0", "ALLOW_REMOTE": "true"}, "anyone could post deliveries"),
    ],
    ids=["no secret", "bad secret", "no inbox", "remote", "remote without authentication"],
)
def test_it_refuses_to_start_with_settings_that_cannot_work(
    tmp_path: Path, settings: dict[str, str], what: str
):
    (tmp_path / "secret").write_text("no base64!\n" * 1000)
    receiver = RunningReceiver(tmp_path, settings)
    # An inbox that cannot be had may be back in a moment; settings stay wrong.
    assert receiver.wait() == (1 if "INBOX" in settings else 2)
    said = receiver.log.read_text()
    assert what in said
    assert "Traceback" not in said


def test_it_says_so_when_another_process_listens_already(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        receiver = RunningReceiver(tmp_path, {"RECEIVER_PORT": str(port)})
        assert receiver.wait() == 1, "it may be free in a moment; settings stay wrong"
    said = receiver.log.read_text()
    assert f"Nothing can listen on 127.0.0.1, port {port}" in said
    assert "choose another port with PRAZO_RECEIVER_PORT" in said
    assert "Traceback" not in said


def test_a_port_of_the_systems_is_not_called_taken(monkeypatch: pytest.MonkeyPatch):
    def barred(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "create_server", barred)
    with pytest.raises(OperatorError) as refused:
        server._listen("127.0.0.1", 80, "--port")
    assert refused.value.remedy.startswith("choose a port from 1024 on")
    assert refused.value.exit_code == 2


def test_it_says_so_where_its_address_is_another_machines():
    """It was told to stop what listens there already."""
    with pytest.raises(OperatorError) as refused:
        server._listen("192.0.2.1", 8400, "--port")
    assert refused.value.why == "this machine does not have the address 192.0.2.1"
    assert refused.value.remedy == ("listen on an address that this machine has, such as 127.0.0.1")


def test_it_listens_on_every_address_of_its_host(tmp_path: Path):
    port = free_port()
    receiver = RunningReceiver(tmp_path, {"RECEIVER_HOST": "localhost", "RECEIVER_PORT": str(port)})
    receiver.port = port
    try:
        receiver.wait_until_up()
        assert receiver.ask("GET", "/healthz").status == 200
        if "::1" in {it[4][0] for it in socket.getaddrinfo("localhost", port)}:
            socket.create_connection(("::1", port)).close()
    finally:
        receiver.kill()


# --- trouble ---


def test_without_its_inbox_it_is_alive_but_not_ready_and_acknowledges_nothing(
    start: Start, tmp_path: Path
):
    receiver = start()
    assert receiver.ask("GET", "/readyz").status == 200
    receiver.inbox.rename(tmp_path / "aside.db")
    time.sleep(1.1)  # readiness is looked at once a second
    body = event()
    answer = receiver.deliver(body)
    assert answer.status == 503
    assert answer.headers["retry-after"] == "5"
    assert json.loads(answer.body) == {"error": "not recorded; send it again"}
    unready = receiver.ask("GET", "/readyz")
    assert unready.status == 503
    assert json.loads(unready.body)["status"] == "not able to record"
    assert receiver.ask("GET", "/healthz").status == 200
    metrics = receiver.ask("GET", "/metrics")
    assert metrics.status == 200
    assert b"prazo_inbox_unavailable_total 1.0" in metrics.body

    (tmp_path / "aside.db").rename(receiver.inbox)
    time.sleep(1.1)
    assert receiver.deliver(body).status == 200
    assert receiver.ask("GET", "/readyz").status == 200
    assert [it.body for it in receiver.entries()] == [body]
    assert receiver.log.read_text().count("deliveries are answered 503") == 1
    assert "deliveries are recorded again" in receiver.log.read_text()


# --- end ---


def test_asked_to_stop_under_load_it_ends_cleanly_with_every_answer_kept(start: Start):
    receiver = start()
    with sending(receiver.port, "load") as journal:
        time.sleep(1)
        assert receiver.terminate() == 0
    assert set(journal.statuses) == {200}
    assert len(journal.seq_of) > 100
    _assert_all_there(journal, receiver.entries())
    assert "Traceback" not in receiver.log.read_text()


def test_asked_to_stop_once_more_it_cuts_nothing_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a Ctrl-C in `prazo serve`, whose terminal and whose supervisor ask it, it answered no
    more, and ended with a traceback."""
    monkeypatch.setattr(server, "_end_at_once", lambda: None)
    asked = server._Server(uvicorn.Config("none"))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        asked.handle_exit(number, None)
    assert (asked.should_exit, asked.force_exit) == (True, False)


def test_asked_to_stop_it_does_not_wait_for_connections_that_say_nothing(start: Start):
    receiver = start()
    with receiver.wire() as silent, receiver.wire() as done:
        done.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert done.answer("GET").status == 200
        began = time.monotonic()
        assert receiver.terminate() == 0
        assert time.monotonic() - began < 10
        assert silent.ends()


def test_whatever_was_answered_before_a_kill_is_in_the_inbox(tmp_path: Path):
    """Each receiver is killed under load, at any moment, while its successor starts or works."""
    chance = random.Random(20261121)
    journals: list[Journal] = []
    current = RunningReceiver(tmp_path, {})
    current.wait_until_up()
    for kill in range(KILLS):
        successor = RunningReceiver(tmp_path, {})
        with sending(current.port, f"kill-{kill}") as journal:
            successor.wait_until_up()
            wait_until(lambda journal=journal: bool(journal.statuses))
            time.sleep(chance.uniform(0, 0.3))
            current.kill()
        journals.append(journal)
        current = successor
    entries = current.entries()
    current.kill()
    for journal in journals:
        assert set(journal.statuses) == {200}
        _assert_all_there(journal, entries)
    assert min(len(it.seq_of) for it in journals) > 0
