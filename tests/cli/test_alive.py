"""`prazo alive`, by which a container's health is judged, asks the part that runs there."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cli import alive
from tests.cli.conftest import Prazo
from tests.support.machine import free_port


class Answering(http.server.BaseHTTPRequestHandler):
    """A server that answers as its attribute says."""

    status = 200
    content = "application/json"

    def do_GET(self) -> None:
        self.send_response(self.status if self.path in ("/healthz", "/api/head") else 500)
        self.send_header("Content-Type", self.content)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_a_part_that_answers_is_alive(
    prazo: Prazo, port: int, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal is an answer too: a caller without a token, say."""
    environment["PRAZO_RECEIVER_PORT"] = environment["PRAZO_DASHBOARD_PORT"] = str(port)
    for status in (200, 404):
        monkeypatch.setattr(Answering, "status", status)
        for part in ("receive", "follow"):
            done = prazo("alive", part)
            assert (done.returncode, done.stderr) == (0, "")
    monkeypatch.setattr(Answering, "status", 503)
    done = prazo("alive", "receive")
    url = f"http://127.0.0.1:{port}/healthz"
    assert (done.returncode, done.stderr) == (1, f"receive answers 503 at {url}\n")


def test_a_page_is_not_taken_for_a_part(
    prazo: Prazo, port: int, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dashboard answers any path by its page, and a proxy by its login."""
    environment["PRAZO_RECEIVER_PORT"] = str(port)
    monkeypatch.setattr(Answering, "content", "text/html; charset=utf-8")
    done = prazo("alive", "receive")
    assert done.returncode == 1
    assert done.stderr.endswith("/healthz, but a page of something else\n")


def test_a_part_that_does_not_answer_is_named_with_its_address(
    prazo: Prazo, environment: dict[str, str]
) -> None:
    environment["PRAZO_RECEIVER_PORT"] = str(free_port())
    done = prazo("alive", "receive")
    assert done.returncode == 1
    url = f"http://127.0.0.1:{environment['PRAZO_RECEIVER_PORT']}/healthz"
    assert done.stderr.startswith(f"receive does not answer at {url} (")


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("/opt/prazo/bin/python /opt/prazo/bin/prazo receive --host serve", "receive"),
        ("/run/podman-init -- prazo --debug follow", "follow"),
        ("python -P -m streamlit run /opt/prazo/lib/app.py", "dashboard"),
        ("prazo serve", "receive dashboard journey"),
        ("prazo journey run", "journey"),
        ("prazo alerts run", ""),
        ("prazo resume --follow", ""),
    ],
)
def test_what_a_container_runs_is_known_by_its_first_process(command: str, asked: str) -> None:
    assert alive.parts_of(command.split()) == tuple(asked.split())


def test_where_no_part_runs_one_has_to_be_named(
    prazo: Prazo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path / "cmdline"
    monkeypatch.setattr(alive, "FIRST", first)
    for words in (None, "/sbin/init\0"):
        if words:
            first.write_text(words, encoding="ascii")
        done = prazo("alive")
        assert done.returncode == 2
        assert "The first process here is no part of Prazo" in done.stderr
    first.write_text("prazo\0alerts\0run\0", encoding="ascii")
    assert prazo("alive").returncode == 0
