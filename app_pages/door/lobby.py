"""Keeps web sockets of those who have not logged in to a few, so that they lock nobody out.

The page that asks for a login is a web socket like any other. Whoever opened many of them held
every place of the server, and a session's memory for each.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final

from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import _get_signed_cookie_with_chunks

from pipeline.http.asgi import App, Message, Receive, Scope, Send
from pipeline.settings import Settings

MOST: Final = 100
"""Web sockets at the same time: far fewer than the server's places. One more gets the place of the
oldest of the address that holds most."""
IDLE_SECONDS: Final = 300.0
"""So long may one say nothing. A browser that is still there opens another by itself."""
TRY_AGAIN_LATER: Final = 1013  # RFC 6455's registry of close codes


class Lobby:
    """Stands before the dashboard's web sockets, behind `Door`. Where people log in elsewhere, or
    nobody does, whoever came so far has logged in."""

    def __init__(self, app: App, load: Callable[[], Settings] = Settings.load) -> None:
        self._app = app
        self._has_guests = load().login == "oidc"
        self._guests: dict[_Guest, None] = {}  # in the order in which they came

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._has_guests or scope["type"] != "websocket" or is_known(scope):
            await self._app(scope, receive, send)
            return
        if len(self._guests) >= MOST:
            self._displaced().leave.set()
        guest = _Guest(_address(scope), receive, send)
        self._guests[guest] = None
        try:
            await self._app(scope, guest.receive, send)
        finally:
            self._guests.pop(guest, None)

    def _displaced(self) -> "_Guest":
        addresses = Counter(it.address for it in self._guests)
        # Of equals `max` takes the first, which is the oldest.
        displaced = max(self._guests, key=lambda guest: addresses[guest.address])
        del self._guests[displaced]
        return displaced


class _Guest:
    """One web socket of somebody who has not logged in."""

    def __init__(self, address: str, receive: Receive, send: Send) -> None:
        self.address, self.leave = address, asyncio.Event()
        self._receive, self._send = receive, send

    async def receive(self) -> Message:
        """What the browser says next; that it is gone, if its place or its time is."""
        said = asyncio.ensure_future(self._receive())
        leaving = asyncio.ensure_future(self.leave.wait())
        try:
            await asyncio.wait(
                (said, leaving), timeout=IDLE_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if said.done() and not self.leave.is_set():
                return said.result()
        finally:
            leaving.cancel()
            said.cancel()
        await self._send({"type": "websocket.close", "code": TRY_AGAIN_LATER, "reason": ""})
        return {"type": "websocket.disconnect", "code": TRY_AGAIN_LATER}


def is_known(scope: Scope) -> bool:
    """Whether a request carries the cookie of somebody who logged in, with our signature. Whose it
    is and for how long, `access` says: this counts nobody out, only in."""
    cookies: SimpleCookie = SimpleCookie()
    try:
        for name, value in scope["headers"]:
            if name == b"cookie":
                cookies.load(value.decode("latin-1"))
    except CookieError:
        return False
    given = {name: it.value for name, it in cookies.items()}
    return bool(_get_signed_cookie_with_chunks(given, USER_COOKIE_NAME))


def _address(scope: Scope) -> str:
    client: Any = scope.get("client")
    return client[0] if client else ""
