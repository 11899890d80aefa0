"""Web sockets of those who have not logged in lock nobody out."""

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
from streamlit.web.server.starlette import starlette_websocket
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from app_pages.door import lobby
from app_pages.door.lobby import MOST, TRY_AGAIN_LATER, Lobby
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

    def __init__(self, door: Lobby, address: str = "192.0.2.1") -> None:
        self.heard: list[dict[str, Any]] = []
        self.sent: list[dict[str, Any]] = []
        self._said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        scope = {"type": "websocket", "client": (address, 1), "headers": [], "path": "/"}
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
    for _ in range(10):
        await asyncio.sleep(0)


async def dashboard(scope: Any, receive: Any, send: Any) -> None:
    """Hears until its visitor is gone."""
    while (message := await receive())["type"] != "websocket.disconnect":
        message["from"].heard.append(message["bytes"])


def opened(login: str = "oidc") -> Lobby:
    settings: Any = SimpleNamespace(login=login)
    return Lobby(dashboard, load=lambda: settings)


def test_one_too_many_gets_the_place_of_the_oldest_of_the_address_that_holds_most():
    async def story() -> None:
        door = opened()
        first = Visitor(door, "198.51.100.7")
        many = [Visitor(door) for _ in range(MOST - 1)]
        await settled()
        assert not any(it.is_gone for it in (first, *many))
        more = [Visitor(door), Visitor(door, "203.0.113.5")]
        await settled()
        assert [it.is_gone for it in many[:3]] == [True, True, False]
        assert many[0].sent == [{"type": "websocket.close", "code": TRY_AGAIN_LATER, "reason": ""}]
        for still_there in (first, many[2], *more):
            await still_there.say(b"hello")
            assert still_there.heard == [b"hello"]

    asyncio.run(story())


def test_a_place_is_free_again_once_its_visitor_is_gone():
    async def story() -> None:
        door = opened()
        visitors = [Visitor(door) for _ in range(MOST)]
        await settled()
        await visitors[5]._said.put({"type": "websocket.disconnect", "code": 1001})
        await settled()
        Visitor(door)
        await settled()
        assert [it.is_gone for it in visitors].count(True) == 1

    asyncio.run(story())


def test_who_says_nothing_for_too_long_is_sent_away(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lobby, "IDLE_SECONDS", 0.05)

    async def story() -> None:
        silent = Visitor(opened())
        await asyncio.wait_for(silent.task, 60)
        assert [it["type"] for it in silent.sent] == ["websocket.close"]

    asyncio.run(story())


@pytest.mark.parametrize("login", ["none", "proxy"])
def test_where_nobody_logs_in_here_everybody_is_known(login: str):
    async def story() -> None:
        door = opened(login)
        visitors = [Visitor(door) for _ in range(MOST + 5)]
        await settled()
        assert not any(it.is_gone for it in visitors)
        for visitor in visitors:
            visitor.task.cancel()

    asyncio.run(story())


def test_a_login_is_known_by_its_signed_cookie_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(starlette_websocket, "get_cookie_secret", lambda: "ours")

    def cookie(secret: str, name: str = lobby.USER_COOKIE_NAME) -> bytes:
        signed = create_signed_value(secret, name, json.dumps({"sub": "u-1"}))
        return f"{lobby.USER_COOKIE_NAME}={signed.decode()}".encode()

    def is_known(*cookies: bytes) -> bool:
        return lobby.is_known({"headers": [(b"cookie", it) for it in cookies]})

    assert is_known(cookie("ours"))
    assert is_known(b"other=1; " + cookie("ours"))
    assert is_known(b"other=1", cookie("ours"))
    for wrong in (
        *(b"", b"x", b"=", b"\xff=\xff", b"_streamlit_user=", b"_streamlit_user=x"),
        *(cookie("guessed"), cookie("ours", "_streamlit_xsrf"), cookie("ours")[:-3]),
    ):
        assert not is_known(wrong)
    assert not is_known()


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
