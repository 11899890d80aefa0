"""What may come in by web sockets: those who have not logged in lock nobody out."""

import asyncio
import json
import resource
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Browser
from streamlit.proto.BackMsg_pb2 import (
    BackendOperationRequest,
    BackMsg,
    DeferredFileRequestPayload,
    InstallSkillsRequestPayload,
)
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import FileURLsRequest
from streamlit.web.server.starlette import starlette_websocket
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from app_pages.door import callers, lobby
from app_pages.door.lobby import MESSAGE_BYTES, MOST, TRY_AGAIN_LATER, Lobby
from pipeline.files import reread
from pipeline.http.sockets import FIRST_BYTES, TAKE
from tests.app_pages.door.test_login import SOCKET, log_in, provider, with_login
from tests.support.dashboard import Reader


@pytest.fixture
def many_files() -> Iterator[None]:
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most), most))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))


class Visitor:
    """One web socket, as the server and the dashboard behind the lobby see it."""

    def __init__(self, door: Lobby, address: str = "192.0.2.1", user: str = "") -> None:
        self.heard: list[dict[str, Any]] = []
        self.sent: list[dict[str, Any]] = []
        self.limits: list[int] = []  # of its messages, as they are set
        self._said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        scope = {
            "type": "websocket",
            "client": (address, 1),
            "headers": [(b"x-forwarded-user", user.encode())],
            "path": "/",
            "extensions": {TAKE: self.limits.append},
        }
        self.task = asyncio.ensure_future(door(scope, self._said.get, self._send))

    async def _send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    async def say(self, data: bytes) -> None:
        await self._said.put({"type": "websocket.receive", "bytes": data, "from": self})
        await settled()

    @property
    def is_gone(self) -> bool:
        return self.task.done()


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def asked(**message: Any) -> bytes:
    """A message of a page."""
    return bytes(BackMsg(**message).SerializeToString())


RERUN = asked(rerun_script=ClientState(query_string="a=1"))
A_PLACE = asked(file_urls_request=FileURLsRequest(request_id="r", file_names=["a"]))
A_FILE = asked(
    backend_operation_request=BackendOperationRequest(
        deferred_file=DeferredFileRequestPayload(file_id="f")
    )
)
INSTALL = asked(
    backend_operation_request=BackendOperationRequest(install_skills=InstallSkillsRequestPayload())
)


async def dashboard(scope: Any, receive: Any, send: Any) -> None:
    """Hears until its visitor is gone."""
    while (message := await receive())["type"] != "websocket.disconnect":
        message["from"].heard.append(message["bytes"])


@pytest.fixture
def roles(tmp_path: Path) -> Path:
    file = tmp_path / "roles"
    file.write_text("officer:sub:ana\nanalyst:sub:bia\n")
    return file


def opened(roles: Path, login: str = "oidc") -> Lobby:
    settings: Any = SimpleNamespace(
        login=login,
        roles_file=roles,
        proxy_user_header="X-Forwarded-User",
        proxy_groups_header="X-Forwarded-Groups",
    )
    return Lobby(dashboard, load=lambda: settings)


@pytest.fixture
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody's turn is now."""
    monkeypatch.setattr(lobby, "STRANGERS", (1e9, 1))


@pytest.mark.usefixtures("no_hurry")
def test_one_too_many_gets_the_place_of_the_oldest_of_the_address_that_holds_most(roles: Path):
    async def story() -> None:
        door = opened(roles)
        first = Visitor(door, "198.51.100.7")
        many = [Visitor(door) for _ in range(MOST - 1)]
        await settled()
        assert not any(it.is_gone for it in (first, *many))
        more = [Visitor(door), Visitor(door, "203.0.113.5")]
        await settled()
        assert [it.is_gone for it in many[:3]] == [True, True, False]
        assert many[0].sent == [{"type": "websocket.close", "code": TRY_AGAIN_LATER, "reason": ""}]
        for still_there in (first, many[2], *more):
            await still_there.say(RERUN)
            assert still_there.heard == [RERUN]

    asyncio.run(story())


@pytest.mark.usefixtures("no_hurry")
def test_a_place_is_free_again_once_its_visitor_is_gone(roles: Path):
    async def story() -> None:
        door = opened(roles)
        visitors = [Visitor(door) for _ in range(MOST)]
        await settled()
        await visitors[5]._said.put({"type": "websocket.disconnect", "code": 1001})
        await settled()
        Visitor(door)
        await settled()
        assert [it.is_gone for it in visitors].count(True) == 1

    asyncio.run(story())


def test_who_says_nothing_for_too_long_is_sent_away(monkeypatch: pytest.MonkeyPatch, roles: Path):
    monkeypatch.setattr(lobby, "IDLE_SECONDS", 0.05)

    async def story() -> None:
        silent = Visitor(opened(roles))
        await asyncio.wait_for(silent.task, 60)
        assert [it["type"] for it in silent.sent] == ["websocket.close"]

    asyncio.run(story())


@pytest.mark.parametrize("login", ["none", "proxy"])
def test_whoever_is_known_needs_no_place_of_strangers(login: str, roles: Path):
    async def story() -> None:
        door = opened(roles, login)
        visitors = [Visitor(door, user="ana") for _ in range(MOST + 5)]
        await settled()
        assert not any(it.is_gone for it in visitors)
        for visitor in visitors:
            visitor.task.cancel()

    asyncio.run(story())


@pytest.mark.usefixtures("no_hurry")
@pytest.mark.parametrize(
    ("user", "limit", "heard"),
    [("ana", MESSAGE_BYTES, [A_PLACE, RERUN, A_FILE]), ("eve", FIRST_BYTES, [RERUN])],
    ids=["an officer", "a stranger"],
)
def test_of_what_streamlit_takes_only_what_our_pages_send_is_heard(
    user: str, limit: int, heard: list[bytes], roles: Path
):
    """Anybody on the page that asks for a login could have the cache cleared, files installed on
    the server, and addresses for uploads made."""

    async def story() -> None:
        visitor = Visitor(opened(roles, "proxy"), user=user)
        for message in (
            asked(clear_cache=True),
            A_PLACE,
            asked(debug_shutdown_runtime=True),
            b"",
            b"\xff no message",
            INSTALL,
            RERUN,
            A_FILE,
        ):
            await visitor.say(message)
        assert visitor.heard == heard
        assert set(visitor.limits) == {limit}
        visitor.task.cancel()

    asyncio.run(story())


def test_strangers_take_turns_and_nobody_who_is_known_waits_for_them(
    monkeypatch: pytest.MonkeyPatch, roles: Path
):
    """Thirty web sockets at fifty reruns a second, before any login, stopped the pages."""
    monkeypatch.setattr(lobby, "STRANGERS", (20.0, 5))

    async def story() -> None:
        clock, door = asyncio.get_running_loop().time, opened(roles, "proxy")
        opened_at = clock()
        flood = [Visitor(door) for _ in range(30)]
        for _ in range(50):
            for visitor in flood:
                await visitor.say(RERUN)
        ana = Visitor(door, user="ana")
        began = clock()
        for _ in range(90):
            await ana.say(RERUN)
        while len(ana.heard) < 90:
            await asyncio.sleep(0.01)
        assert clock() - began < 0.5
        await asyncio.sleep(2)
        heard = [len(it.heard) for it in flood]
        assert 30 <= sum(heard) <= 6 + 20 * (clock() - opened_at)
        assert max(heard) - min(heard) <= 1
        assert not any(it.is_gone for it in flood)
        for visitor in (*flood, ana):
            visitor.task.cancel()

    asyncio.run(story())


def test_a_person_has_the_same_turns_on_all_their_tabs_and_is_never_refused(
    monkeypatch: pytest.MonkeyPatch, roles: Path
):
    monkeypatch.setattr(lobby, "EACH_PERSON", (200.0, 20))

    async def story() -> None:
        door = opened(roles, "proxy")
        tabs = [Visitor(door, user="ana") for _ in range(4)]
        began = asyncio.get_running_loop().time()
        for _ in range(30):
            for tab in tabs:
                await tab.say(RERUN)
        while sum(len(it.heard) for it in tabs) < 120:
            await asyncio.sleep(0.01)
        assert 0.5 <= asyncio.get_running_loop().time() - began < 5  # 100 of them, 200 a second
        for tab in tabs:
            tab.task.cancel()

    asyncio.run(story())


def test_whoever_loses_their_role_is_a_stranger_from_their_next_message_on(
    monkeypatch: pytest.MonkeyPatch, roles: Path
):
    monkeypatch.setattr(reread, "RECHECK_SECONDS", 0.0)

    async def story() -> None:
        visitor = Visitor(opened(roles, "proxy"), user="ana")
        await visitor.say(A_FILE)
        assert visitor.heard == [A_FILE]
        roles.write_text("officer:sub:somebody-else\n")
        await visitor.say(A_FILE)
        await visitor.say(RERUN)
        assert visitor.heard == [A_FILE, RERUN]
        assert visitor.limits[-1] == FIRST_BYTES
        visitor.task.cancel()

    asyncio.run(story())


def test_a_login_is_known_by_its_signed_cookie_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(starlette_websocket, "get_cookie_secret", lambda: "ours")

    def cookie(secret: str, name: str = USER_COOKIE_NAME) -> bytes:
        signed = create_signed_value(secret, name, json.dumps({"sub": "u-1"}))
        return f"{USER_COOKIE_NAME}={signed.decode()}".encode()

    def claims(*cookies: bytes) -> dict[str, Any]:
        return callers.login({"headers": [(b"cookie", it) for it in cookies]})

    assert claims(cookie("ours")) == {"sub": "u-1"}
    assert claims(b"other=1; " + cookie("ours")) == {"sub": "u-1"}
    assert claims(b"other=1", cookie("ours")) == {"sub": "u-1"}
    for wrong in (
        *(b"", b"x", b"=", b"\xff=\xff", b"_streamlit_user=", b"_streamlit_user=x"),
        *(cookie("guessed"), cookie("ours", "_streamlit_xsrf"), cookie("ours")[:-3]),
    ):
        assert claims(wrong) == {}
    assert claims() == {}


@pytest.mark.long
@pytest.mark.usefixtures("many_files")
def test_many_sockets_before_a_login_lock_nobody_out(tmp_path: Path, browser: Browser):
    """Each kept its place for good: nine hundred of them were the whole dashboard."""
    with (
        provider({"sub": "u-1"}) as issuer,
        with_login(tmp_path, issuer, "officer:sub:u-1\n") as url,
        ExitStack() as held,
    ):
        reader = Reader(browser.new_context(locale="en-GB").new_page(), url).open("/")
        log_in(reader, "u-1")
        assert reader.title() == "Overview"
        address = url.replace("http", "ws") + SOCKET

        def visitor() -> ClientConnection:
            return held.enter_context(connect(address, proxy=None, open_timeout=60))

        visitors = [visitor() for _ in range(MOST + 30)]
        for sent_away in visitors[:30]:
            with pytest.raises(ConnectionClosed) as closed:
                sent_away.recv(timeout=60)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == TRY_AGAIN_LATER
        reader.page.get_by_role("link", name="Watchlist").first.click()
        reader.page.get_by_role("heading", name="Watchlist").wait_for(timeout=60_000)
        other = Reader(browser.new_context(locale="en-GB").new_page(), url).open("/")
        log_in(other, "u-1")
        assert other.title() == "Overview"
