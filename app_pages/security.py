"""Guards every HTTP answer of the dashboard: what a browser may load from where, and who may frame.

Pure ASGI: the web socket and streamed downloads pass through untouched.
"""

import base64
import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

import streamlit

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Callable[[], Awaitable[Message]], Send], Awaitable[None]]

PRIVATE = ("/api/", "/media/")
"""Rows and files: no browser and no proxy may keep them for whoever comes next."""
INDEX = Path(streamlit.__file__).parent / "static" / "index.html"


def inline_scripts(html: str) -> list[str]:
    """The scripts that a page carries in itself, byte for byte."""
    return re.findall(r"<script>(.*?)</script>", html, re.DOTALL)


def digest(script: str) -> str:
    """The script as a source of a content security policy."""
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{hashed}'"


def policy(scripts: Iterable[str]) -> str:
    """The content security policy: this host alone, and of inline scripts only these.

    Styles are inline because Streamlit's are; fonts and images may be `data:`.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {' '.join(map(digest, scripts))}".rstrip(),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "media-src 'self'",
            "manifest-src 'self'",
            "worker-src 'self' blob:",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


class SecurityHeaders:
    """Adds the headers to every HTTP answer, whatever part of the dashboard gave it."""

    def __init__(self, app: App, scripts: Iterable[str] = ()) -> None:
        self._app = app
        index = inline_scripts(INDEX.read_text(encoding="utf-8"))
        headers = {
            "content-security-policy": policy([*index, *scripts]),
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",  # URLs hold ids
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        }
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._private = [*self._headers, (b"cache-control", b"no-store")]

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Send
    ) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = self._private if scope["path"].startswith(PRIVATE) else self._headers
                ours = {name for name, _ in headers}
                kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in ours]
                message = {**message, "headers": [*kept, *headers]}
            await send(message)

        await self._app(scope, receive, guarded)
