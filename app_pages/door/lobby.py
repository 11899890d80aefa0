"""Decides what may come in by the dashboard's web sockets, how much of it, and how fast.

The page that asks for a login is a web socket like any other. Whoever opened many of them held
every place of the server, a session's memory for each, and by asking for page after page its one
interpreter. So strangers have few places, short messages, and take turns; who has logged in has
turns of their own. What comes too fast waits, and is not refused. Of the kinds of messages that
Streamlit takes, those get in that our pages send; others are not heard.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, Final

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from streamlit.proto.BackMsg_pb2 import BackMsg

from app_pages.door import handed
from app_pages.door.callers import Callers
from pipeline.http.asgi import App, Message, Receive, Scope, Send
from pipeline.http.sockets import FIRST_BYTES, TAKE
from pipeline.serve.roles import LOCAL, Person
from pipeline.settings import Settings

MOST: Final = 100
"""Web sockets of strangers at the same time: far fewer than the server's places. One more gets the
place of the oldest of the address that holds most."""
IDLE_SECONDS: Final = 300.0
"""So long may a stranger say nothing. A browser that is still there opens another by itself."""
TRY_AGAIN_LATER: Final = 1013  # RFC 6455's registry of close codes
MESSAGE_BYTES: Final = 1_048_576
"""Of a message of somebody who has logged in: all choices of a page. Strangers have
`sockets.FIRST_BYTES`."""
STRANGERS: Final = (25.0, 60)
"""Messages in a second that strangers have together, and at once after a pause. Each is a run of
the page that asks for a login."""
EACH_PERSON: Final = (20.0, 200)
"""The same of one person, on all their tabs."""
MOST_KNOWN: Final = 1000
"""People whose turns are remembered."""

_OF_ANYBODY: Final = frozenset({"rerun_script", "stop_script", "app_heartbeat"})
_OPERATION: Final = "deferred_file"
"""What a page may ask for without a run, once somebody has logged in: the file of a button. Another
operation writes into the server's folder."""
_PLACE_OF_A_FILE: Final = "file_urls_request"
"""What a page asks for once a file is dropped on it; whether that is taken, `uploads` decides."""


class Pace:
    """Lets one message in after the other, in the order in which they came."""

    def __init__(self, per_second: float, at_once: int) -> None:
        self._pause, self._at_once = 1 / per_second, at_once
        self._queue = asyncio.Lock()
        self._next = 0.0

    async def turn(self) -> None:
        """Waits until the next may come in."""
        async with self._queue:
            now = asyncio.get_running_loop().time()
            at = max(self._next, now - self._at_once * self._pause) + self._pause
            if at > now:
                await asyncio.sleep(at - now)
            self._next = at


class Lobby:
    """Stands before the dashboard's web sockets, behind `Door`."""

    def __init__(self, app: App, load: Callable[[], Settings] = Settings.load) -> None:
        """Raises `SettingsError` where the roles cannot be read."""
        self._app = app
        self._callers = Callers(load())
        self._guests: dict[_Socket, None] = {}  # in the order in which they came
        self._strangers = Pace(*STRANGERS)
        self._people: OrderedDict[str, Pace] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        socket = _Socket(self, scope, receive, send)
        if self.person(scope) is None:
            if len(self._guests) >= MOST:
                self._displaced().leave.set()
            self._guests[socket] = None
        try:
            await self._app(scope, socket.receive, send)
        finally:
            self._guests.pop(socket, None)
            handed.sweep()

    def person(self, scope: Scope) -> Person | None:
        """Whoever opened a web socket; None as soon as their session or role is over."""
        return self._callers.person(scope)

    def pace(self, person: Person | None) -> Pace | None:
        """The turns of whoever speaks; None on this machine, where nobody logs in."""
        if person == LOCAL:
            return None
        if person is None or person.name is None:
            return self._strangers
        found = self._people.setdefault(person.name, Pace(*EACH_PERSON))
        self._people.move_to_end(person.name)
        if len(self._people) > MOST_KNOWN:
            self._people.popitem(last=False)
        return found

    def _displaced(self) -> "_Socket":
        addresses = Counter(it.address for it in self._guests)
        # Of equals `max` takes the first, which is the oldest.
        displaced = max(self._guests, key=lambda guest: addresses[guest.address])
        del self._guests[displaced]
        return displaced


class _Socket:
    """One web socket, and whoever opened it, who may have lost their role since."""

    def __init__(self, lobby: Lobby, scope: Scope, receive: Receive, send: Send) -> None:
        self.address, self.leave = _address(scope), asyncio.Event()
        self._lobby, self._scope, self._receive, self._send = lobby, scope, receive, send

    async def receive(self) -> Message:
        """What the browser says next, in its turn; that it is gone, if its place or its time is."""
        is_guest = self._lobby.person(self._scope) is None
        self._take(FIRST_BYTES if is_guest else MESSAGE_BYTES)
        said = asyncio.ensure_future(self._next())
        leaving = asyncio.ensure_future(self.leave.wait())
        try:
            await asyncio.wait(
                (said, leaving),
                timeout=IDLE_SECONDS if is_guest else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if said.done() and not self.leave.is_set():
                return said.result()
        finally:
            leaving.cancel()
            said.cancel()
        await self._send({"type": "websocket.close", "code": TRY_AGAIN_LATER, "reason": ""})
        return {"type": "websocket.disconnect", "code": TRY_AGAIN_LATER}

    async def _next(self) -> Message:
        while (message := await self._receive())["type"] != "websocket.disconnect":
            person = self._lobby.person(self._scope)
            if (pace := self._lobby.pace(person)) is not None:
                await pace.turn()
            if _is_of_our_pages(message, person):
                break
        return message

    def _take(self, most: int) -> None:
        take = self._scope.get("extensions", {}).get(TAKE)
        if take is not None:
            take(most)


def _is_of_our_pages(message: Message, person: Person | None) -> bool:
    """Whether a message is of a kind that our pages send to whoever looks."""
    if message["type"] != "websocket.receive":
        return True
    asked = BackMsg()
    try:
        asked.ParseFromString(message.get("bytes") or b"")
    except DecodeError:
        return False
    kind = asked.WhichOneof("type")
    if kind == _PLACE_OF_A_FILE:
        return person is not None
    if kind == "backend_operation_request":
        wanted = asked.backend_operation_request.WhichOneof("payload")
        return person is not None and wanted == _OPERATION
    return kind in _OF_ANYBODY


def _address(scope: Scope) -> str:
    client: Any = scope.get("client")
    return client[0] if client else ""
