"""`prazo doctor --proxy` on what answers where a proxy should pass on to a receiver."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from pipeline.cli.doctor import Diagnosis
from pipeline.cli.doctor.proxies import proxied
from pipeline.settings import Settings
from tests.support.answering import Answering
from tests.support.commands import here
from tests.support.machine import free_port
from tests.support.receiver import RunningReceiver, receiver
from tests.support.stores import environment_in

LIMIT = 1_000_000


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningReceiver]:
    with receiver(tmp_path_factory.mktemp("receiver")) as running:
        yield running


def asked(url: str, settings: Settings | None = None) -> list[tuple[str, str]]:
    found: list[Diagnosis] = list(proxied(url, settings or Settings()))
    assert {it.check for it in found} == {"proxy"}
    return [(it.verdict, it.found) for it in found]


def page(request: BaseHTTPRequestHandler, status: int = 200, location: str = "") -> None:
    body = b"<!doctype html><title>Log in</title>"
    request.send_response(status)
    request.send_header("Content-Type", "text/html; charset=utf-8")
    request.send_header("Content-Length", str(len(body)))
    if location:
        request.send_header("Location", location)
    request.end_headers()
    request.wfile.write(body)


def passing_on(behind: RunningReceiver, limit: int) -> Answering:
    """A proxy that passes on, and refuses larger bodies as nginx does, once they are announced."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        if int(request.headers.get("Content-Length", 0)) > limit:
            page(request, 413)
            return
        head = [f"{request.command} {request.path} HTTP/1.1"]
        head += [f"{name}: {value}" for name, value in request.headers.items()]
        with socket.create_connection(("127.0.0.1", behind.port), timeout=20) as there:
            there.sendall("\r\n".join([*head, "", ""]).encode())
            request.wfile.write(there.recv(65_536))

    return Answering(answer)


def test_a_receiver_is_reached_and_nothing_is_recorded(behind: RunningReceiver) -> None:
    before = behind.entries()
    said = [
        ("ok", "/healthz is answered by a receiver"),
        ("ok", "/webhooks lets the 1,048,576 bytes of PRAZO_MAX_BODY_BYTES be announced"),
        (
            "ok",
            "/v1/collections lets the 33,554,432 bytes of PRAZO_MAX_COLLECTION_BYTES be announced",
        ),
    ]
    with passing_on(behind, 2**30) as proxy:
        for url in (proxy.url, f"http://127.0.0.1:{behind.port}/"):
            assert [(it, found.removeprefix(url.rstrip("/"))) for it, found in asked(url)] == said
    assert behind.entries() == before


def test_a_limit_of_the_proxy_below_ours_is_a_fault(behind: RunningReceiver) -> None:
    with passing_on(behind, LIMIT) as proxy:
        first, deliveries, collections = asked(proxy.url)
        smaller = asked(proxy.url, Settings(max_body_bytes=LIMIT))
    assert first[0] == "ok"
    assert deliveries[0] == collections[0] == "fault"
    assert "/webhooks refuses the 1,048,576 bytes that PRAZO_MAX_BODY_BYTES" in deliveries[1]
    assert "by 413 and a page before they reach a receiver" in deliveries[1]
    assert smaller[1][0] == "ok"


@pytest.mark.parametrize(("status", "location"), [(200, ""), (302, "/login"), (401, "")])
def test_a_page_in_the_place_of_a_receiver_is_a_fault(status: int, location: str) -> None:
    """A probe that goes by the status called it alive."""
    with Answering(lambda request: page(request, status, location)) as login:
        [(verdict, found)] = asked(login.url)
    assert verdict == "fault"
    assert f"is answered by {status} and a page, and not by a receiver" in found


def test_a_dashboard_is_named() -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.path != "/_stcore/health":
            page(request)
            return
        request.send_response(200)
        request.send_header("Content-Type", "text/plain; charset=utf-8")
        request.end_headers()
        request.wfile.write(b"ok")

    with Answering(answer) as dashboard:
        [(verdict, found)] = asked(dashboard.url)
    assert verdict == "warning"
    assert "leads to a dashboard, which answers /healthz by 200 and a page" in found


def test_what_speaks_no_http_or_nothing_is_a_fault() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            came, _ = other.accept()
            with came:
                came.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
                came.recv(4096)

        threading.Thread(target=greet, daemon=True).start()
        [(verdict, found)] = asked(f"http://127.0.0.1:{other.getsockname()[1]}")
    assert (verdict, "does not answer as a server of HTTP does" in found) == ("fault", True)
    [(verdict, _)] = asked(f"http://127.0.0.1:{free_port()}")
    assert verdict == "fault"


def test_the_command_asks_each_that_is_given(behind: RunningReceiver, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{behind.port}"
    asking = ("doctor", "--proxy", url, "--proxy", "ftp://x")
    done = here(*asking, environment=environment_in(tmp_path), folder=tmp_path)
    assert done.returncode == 1
    assert f"ok       proxy: {url}/healthz is answered by a receiver" in done.stdout
    assert "fault    proxy: (not a URL) does not answer" in done.stdout
