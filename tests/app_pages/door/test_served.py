"""Which paths the dashboard serves, to whom; over real servers, whatever the spelling."""

import ast
import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from app_pages.door.security import INDEX
from tests import depth
from tests.app_pages.conftest import fill
from tests.app_pages.door.test_login import (
    HISTORY,
    SOCKET,
    behind_a_proxy,
    forwarded,
    log_in,
    port_of,
    provider,
    with_login,
)
from tests.support.dashboard import ROOT, Reader, dashboard
from tests.support.machine import wait_until

RERUN = bytes(BackMsg(rerun_script=ClientState()).SerializeToString())
NOWHERE = "http://127.0.0.1:9"  # a provider whom nobody asks for anything here
NOT_SERVED = (
    *("/readyz", "/healthz", "/metrics", "/livez", "/status", "/nowhere", "/index.html"),
    *("/api", "/apis/status", "/calendar", "/calendar/x", "/findings/more", "/media", "/media/"),
    *("/_stcore/metrics", "/_stcore/metrics/", "/_stcore%2Fmetrics", "/%5Fstcore/metrics"),
    *("//_stcore/metrics", "/_stcore//metrics", "/./_stcore/metrics", "/static/../_stcore/metrics"),
    *("/_stcore/script-health-check", "/_stcore/allowed-message-origins", "/_stcore/stream"),
    *("/_stcore/agent/openapi.json", "/_stcore/bidi-components/a/b", "/component/a/index.html"),
    *("/app/static/x", "/static/", "/static/js", "/static//js", "/healthz;x", "/favicon.png/"),
)


@pytest.fixture(scope="module")
def strangers_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard with a login, before anybody has logged in."""
    folder = tmp_path_factory.mktemp("login")
    with with_login(folder, NOWHERE, "officer:sub:u-1\n") as url:
        yield url


def raw(url: str, request: str) -> int:
    """What a request is answered, byte for byte as it stands here; its status."""
    with socket.create_connection(("127.0.0.1", port_of(url)), timeout=20) as wire:
        wire.sendall(f"{request}\r\nHost: 127.0.0.1:{port_of(url)}\r\n\r\n".encode())
        return int(wire.recv(65_536).split(b" ", 2)[1])


def opened(url: str, **headers: str) -> ClientConnection:
    address = url.replace("http", "ws") + SOCKET
    return connect(address, additional_headers=headers, proxy=None, open_timeout=20)


def session_of(web_socket: ClientConnection) -> str:
    """The session that a browser would be in by this web socket."""
    web_socket.send(RERUN)
    while True:
        said = ForwardMsg()
        said.ParseFromString(web_socket.recv(timeout=30))
        if said.HasField("new_session"):
            session: str = said.new_session.initialize.session_id
            return session


def test_what_nobody_serves_is_not_there_however_it_is_spelled(strangers_door: str):
    """Streamlit answers every path with its page and 200. A probe of /readyz, a Prometheus of
    /metrics and a script with a letter too many took that for an answer."""
    for path in NOT_SERVED:
        assert raw(strangers_door, f"GET {path} HTTP/1.1") == 404, path
    for path in ("/_stcore/metrics", "/readyz"):
        assert raw(strangers_door, f"GET {path} HTTP/1.0") == 404
        assert raw(strangers_door, f"GET http://127.0.0.1{path} HTTP/1.1") == 404
        assert raw(strangers_door, f"GET http://a.example{path} HTTP/1.1") == 404
        for method in ("HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH"):
            assert raw(strangers_door, f"{method} {path} HTTP/1.1") == 404
    answer = httpx.get(f"{strangers_door}/readyz")
    assert answer.json() == {
        "error": "there is nothing here: the pages begin at /, the API at /api/, and it says at"
        " /api/ready if all is well"
    }
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_pages_and_what_they_are_made_of_are_there_before_a_login(strangers_door: str):
    names = [path.stem for path in sorted((ROOT / "app_pages" / "pages").glob("[a-z]*.py"))]
    assert len(names) == 17
    for path in ("/", *(f"/{name}" for name in names), "/findings/", "/findings?severity=breach"):
        answer = httpx.get(strangers_door + path, follow_redirects=True)
        assert (answer.status_code, answer.headers["content-type"][:9]) == (200, "text/html")
        assert httpx.head(strangers_door + path, follow_redirects=True).status_code == 200
        assert httpx.post(strangers_door + path).status_code == 405
    script = next((INDEX.parent / "static" / "js").glob("index.*.js"))
    assert httpx.get(f"{strangers_door}/static/js/{script.name}").status_code == 200
    assert httpx.get(f"{strangers_door}/favicon.png").status_code == 200
    assert httpx.get(f"{strangers_door}/_stcore/health").text == "ok"
    wrong = httpx.post(f"{strangers_door}/_stcore/health")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD")
    assert httpx.get(f"{strangers_door}/api/views").status_code == 401
    assert httpx.get(f"{strangers_door}/auth/logout", follow_redirects=False).status_code == 302


@pytest.mark.long
def test_nobody_puts_files_into_memory_by_the_session_of_a_web_socket(strangers_door: str):
    """Anybody opened one, read its session and put files until the memory was full: 1,480 MB that
    were kept for good. None of our pages takes a file."""
    with opened(strangers_door) as web_socket:
        session = session_of(web_socket)
        place = f"{strangers_door}/_stcore/upload_file/{session}/f"
        for method in ("PUT", "POST", "DELETE", "OPTIONS", "GET"):
            answer = httpx.request(method, place, files={"f": b"x" * 100_000})
            assert answer.status_code == 404, method


@pytest.mark.parametrize("whose", ["a stranger's", "a known person's"])
def test_a_message_that_is_never_finished_ends_its_web_socket(
    whose: str, strangers_door: str, inner: str
):
    """200 MB of one were kept, for everybody who opened a web socket."""
    is_known = whose == "a known person's"
    url, headers, most = (
        (inner, forwarded(), 1_048_576) if is_known else (strangers_door, {}, 65_536)
    )
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 200_000_000:
            yield b"x" * 8192
            sent += 8192

    with opened(url, **headers) as web_socket:
        session_of(web_socket)
        with pytest.raises(ConnectionClosed):
            web_socket.send(endless())
    assert sent < most + 20_000_000  # what was on its way


@pytest.fixture(scope="module")
def inner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with behind_a_proxy(tmp_path_factory.mktemp("proxied")) as url:
        yield url


@pytest.mark.long
def test_whom_a_proxy_names_is_served_the_same_list(inner: str):
    with opened(inner, **forwarded()) as web_socket:
        session = session_of(web_socket)
        for path in ("/_stcore/metrics", "/component/a/b", "/auth/login", "/readyz"):
            assert httpx.get(inner + path, headers=forwarded()).status_code == 404, path
        place = f"{inner}/_stcore/upload_file/{session}/f"
        assert httpx.put(place, files={"f": b"x"}, headers=forwarded()).status_code == 404
    assert httpx.get(f"{inner}/findings", headers=forwarded()).status_code == 200


@pytest.mark.long
def test_below_an_address_of_a_proxy_the_same_list_is_served(tmp_path: Path, browser: Browser):
    """The API under it was answered by a page, with 200."""
    fill(tmp_path, HISTORY)
    with dashboard(tmp_path, below="/prazo") as url:
        host = url.removesuffix("/prazo")
        assert httpx.get(f"{url}/api/ready").json() == {"status": "up to date"}
        assert httpx.get(f"{host}/api/ready").json() == {"status": "up to date"}
        assert httpx.get(f"{url}/api/nothing").status_code == 404
        for path in ("/readyz", "/metrics", "/_stcore/metrics", "/nowhere", "/prazo/findings"):
            assert httpx.get(url + path).status_code == 404, path
            assert httpx.get(host + path).status_code in (
                200 if path == "/prazo/findings" else 404,
            )
        assert httpx.get(f"{url}/media/x.csv").headers["cache-control"] == "no-store"
        reader = Reader(browser.new_page(locale="en-GB"), url).open("/findings")
        assert reader.title() == "Findings"
        reader.page.get_by_role("button", name="Download", exact=True).first.click()
        with reader.page.expect_download() as download:
            reader.page.get_by_role("button", name="CSV for programs", exact=True).first.click()
        assert download.value.path().stat().st_size > 0
        reader.page.close()


def test_pages_take_files_by_what_closes_uploads_again_and_in_no_other_way():
    taking = {"file_uploader", "chat_input", "camera_input", "audio_input", "data_editor"}
    for path in (ROOT / "app_pages").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            takes = isinstance(node, ast.Attribute) and node.attr in taking
            assert not takes or path.name == "uploads.py", path


def test_a_file_is_handed_to_whom_it_was_made_for_while_their_tab_and_their_role_last(
    tmp_path: Path, browser: Browser
):
    """Its address alone was enough, without any cookie, and after the role was taken away."""
    officers = "officer:sub:u-1\nofficer:sub:u-2\n"
    with (
        provider({"sub": "u-1"}, {"sub": "u-2"}) as issuer,
        with_login(tmp_path, issuer, officers) as url,
        ExitStack() as held,
    ):

        def logged_in(subject: str) -> tuple[Reader, httpx.Client]:
            context = browser.new_context(locale="en-GB")
            reader = Reader(context.new_page(), url).open("/findings")
            log_in(reader, subject)
            reader.page.wait_for_url("**/findings")
            reader.settled()
            client = held.enter_context(httpx.Client(timeout=20))
            for cookie in context.cookies():
                client.cookies.set(str(cookie["name"]), str(cookie["value"]))
            return reader, client

        ana, her_cookies = logged_in("u-1")
        _, his_cookies = logged_in("u-2")
        ana.page.get_by_role("button", name="Download", exact=True).first.click()
        with ana.page.expect_download() as download:
            ana.page.get_by_role("button", name="CSV for programs", exact=True).first.click()
        taken, place = download.value.path().read_bytes(), download.value.url
        assert place.startswith(f"{url}/media/")
        assert taken.startswith(b"severity,") or b"," in taken[:200]

        answer = her_cookies.get(place)
        assert (answer.status_code, answer.content) == (200, taken)
        assert answer.headers["cache-control"] == "no-store"
        assert her_cookies.head(place).status_code == 200
        for client in (his_cookies, httpx):
            refused = client.get(place)
            assert (refused.status_code, len(refused.content) < 200) == (404, True)

        (tmp_path / "roles").write_text("officer:sub:u-2\n")
        wait_until(lambda: her_cookies.get(place).status_code == 404, pause=0.2)
        ana.page.get_by_text("u-1 has no role here").wait_for(timeout=30_000)  # nobody clicks
        (tmp_path / "roles").write_text(officers)
        wait_until(lambda: her_cookies.get(place).status_code == 200, pause=0.2)
        (tmp_path / "roles").write_text("analyst:sub:u-1\nofficer:sub:u-2\n")
        os.utime(tmp_path / "roles")
        wait_until(lambda: her_cookies.get(place).status_code == 200, pause=0.2)
        (tmp_path / "roles").write_text(officers)
        ana.page.close()
        wait_until(lambda: her_cookies.get(place).status_code == 404, pause=0.2)


@pytest.mark.long
def test_a_flood_before_a_login_does_not_stop_the_pages(tmp_path: Path, browser: Browser):
    """Thirty web sockets ask fifty times a second. Somebody who has logged in waits for none of
    them, and somebody who has yet to log in can."""
    with (
        provider({"sub": "u-1"}) as issuer,
        with_login(tmp_path, issuer, "officer:sub:u-1\n") as url,
        ThreadPoolExecutor(30) as senders,
    ):

        def logged_in() -> Reader:
            reader = Reader(browser.new_context(locale="en-GB").new_page(), url).open("/")
            log_in(reader, "u-1")
            return reader

        def seconds() -> float:
            """For six pages."""
            began = time.monotonic()
            for path in ("/findings", "/watchlist") * 3:
                assert reader.go(path).title()
            return time.monotonic() - began

        def flood() -> int:
            sent = 0
            while not is_over.is_set():
                with suppress(ConnectionClosed), opened(url) as web_socket:
                    while not is_over.wait(0.02):
                        web_socket.send(RERUN)
                        sent += 1
            return sent

        reader, is_over = logged_in(), threading.Event()
        seconds()  # the first is slower
        quiet = seconds()
        flooding = [senders.submit(flood) for _ in range(30)]
        try:
            time.sleep(3)
            loud = seconds()
            assert logged_in().title() == "Overview"
        finally:
            is_over.set()
        assert sum(it.result() for it in flooding) > 5_000
        assert loud < 3 * quiet + 3


@pytest.mark.long
def test_whoever_chooses_faster_than_anybody_can_is_heard_to_the_end(inner: str):
    """None of many choices, and no large form, ends the web socket."""
    with opened(inner, **forwarded()) as web_socket:
        session_of(web_socket)
        threading.Thread(target=lambda: list(web_socket), daemon=True).start()  # reads all
        for number in range(depth.rounds(300, 1000)):
            web_socket.send(asked_for(f"severity=breach&page={number}"))
        web_socket.send(asked_for("x" * 900_000))
        assert web_socket.ping().wait(120)


def asked_for(query: str) -> bytes:
    return bytes(BackMsg(rerun_script=ClientState(query_string=query)).SerializeToString())
