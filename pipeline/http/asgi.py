"""Reads requests over plain ASGI, and answers `/webhooks`, where a framework is too slow."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Mapping[bytes, bytes]


class Gone(Exception):
    """The caller disconnected before its body was complete."""


class TooLarge(Exception):
    """The body is over the limit; the rest of it was not read."""


class Request(NamedTuple):
    """A request as handlers get it. Header names are in lower case, as in ASGI."""

    scope: Scope
    headers: Headers
    receive: Receive

    @property
    def method(self) -> str:
        """The HTTP method, in upper case."""
        method: str = self.scope["method"]
        return method

    @property
    def http_version(self) -> str:
        """The version that the caller speaks: `1.0` or `1.1`."""
        version: str = self.scope.get("http_version", "1.1")
        return version


def folded(fields: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Header fields by name. The values of a repeated field are joined by commas
    (RFC 9110 section 5.3).

    So one of two fields cannot hide the other: a second Host, secret or signature makes a value
    that matches nothing.
    """
    headers = dict(fields)
    if len(headers) < len(fields):
        values: dict[bytes, list[bytes]] = {}
        for name, value in fields:
            values.setdefault(name, []).append(value)
        headers = {name: b", ".join(found) for name, found in values.items()}
    return headers


def is_identity(headers: Headers) -> bool:
    """Whether a body is not encoded: it has no Content-Encoding, or only `identity`."""
    encodings = headers.get(b"content-encoding")
    if encodings is None:
        return True
    return all(it.strip().lower() in (b"identity", b"") for it in encodings.split(b","))


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body, of at most `limit` bytes; raises `TooLarge` or `Gone`.

    The server limits how long a sender may take (`limits.REQUEST_SECONDS`).
    """
    declared = request.headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared) > limit:
        raise TooLarge
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise Gone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise TooLarge
        if not message.get("more_body"):
            return b"".join((*chunks, chunk)) if chunks else chunk
        chunks.append(chunk)


async def answer(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Sends a whole response with a JSON body."""
    length = b"%d" % len(body)
    fields = [(b"content-type", b"application/json"), (b"content-length", length), *headers]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


class FixedHeaders:
    """Middleware that sets headers on every HTTP answer of an app. It does not touch web sockets or
    the bodies of answers."""

    def __init__(self, app: App, headers: Mapping[str, str], below: Sequence[str] = ("/",)) -> None:
        """`below`: prefixes of the paths whose answers get the headers."""
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._below = tuple(below)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self._below):
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in self._headers}
                kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in ours]
                message = {**message, "headers": [*kept, *self._headers]}
            await send(message)

        await self._app(scope, receive, guarded)
