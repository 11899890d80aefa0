"""Tells one browser from another: each gets a random number in a cookie that no script can read.

It opens nothing by itself. What somebody gave a reason to see is theirs in that browser even after
they have loaded the page again, which is a new session of Streamlit's.
"""

import re
import secrets
from typing import Final

import streamlit as st

from app_pages.door import paths
from app_pages.door.early import is_page
from pipeline.http.asgi import App, Message, Receive, Scope, Send

COOKIE: Final = "prazo_browser"
_NUMBER: Final = re.compile(r"[\w-]{43}", re.ASCII)
_SESSION: Final = "the session's number"


def current() -> str:
    """The number of the browser of whoever looks; one of the session alone where it keeps none."""
    number = kept_number()
    if _NUMBER.fullmatch(number):
        return number
    own: str = st.session_state.setdefault(_SESSION, _new())
    return own


def kept_number() -> str:
    """What the browser says; empty where it says nothing."""
    return st.context.cookies.get(COOKIE) or ""


def _new() -> str:
    return secrets.token_urlsafe(32)


class Numbered:
    """Gives each browser that has none its number, with the page. The browser forgets it when it
    is closed."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._about = f"Path={paths.base() or '/'}; HttpOnly; SameSite=Strict"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _has_number(scope):
            await self._app(scope, receive, send)
            return

        async def numbered(message: Message) -> None:
            if message["type"] == "http.response.start" and is_page(message):
                cookie = (b"set-cookie", f"{COOKIE}={_new()}; {self._about}".encode())
                message = {**message, "headers": [*message.get("headers", ()), cookie]}
            await send(message)

        await self._app(scope, receive, numbered)


def _has_number(scope: Scope) -> bool:
    named = f"{COOKIE}=".encode()
    return any(name == b"cookie" and named in it for name, it in scope["headers"])
