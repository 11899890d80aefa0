"""Answers short requests without a task of their own: one call once the body is whole, one write.

uvicorn runs a task for each request, which waits for its body, and sends an answer in two messages.
A request whose body is small and whose length is known needs neither, which saves two thirds of the
time between the socket and the app (docs/performance.md#receiving). Whatever is not such a request
goes the usual way, and has the same answer there.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, Self

from uvicorn.protocols.http.httptools_impl import STATUS_LINE
from uvicorn.server import ServerState

from pipeline.http.asgi import Headers

LOG = logging.getLogger(__name__)

MAX_SHORT_BYTES: Final = 65_536
"""Of a body. A longer one is read only as fast as the app takes it."""


class Reply(Protocol):
    """Sends the one answer of a request. Later calls do nothing, nor do calls for a peer that has
    gone."""

    def __call__(self, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        """`body`: JSON."""


Take = Callable[[bytes, Reply], None]
"""Takes a body, and replies now or later, on the loop's thread."""
Begin = Callable[[Headers], Take | None]
"""Looks at the head of a short POST, and says who takes its body; None: it goes the usual way."""
ShortPosts = Mapping[bytes, Begin]
"""By the target of the request, as it is usually spelled."""


def is_short(headers: Headers) -> bool:
    """Whether a body follows whose size is known, and small."""
    declared = headers.get(b"content-length", b"")
    return declared.isdigit() and len(declared) <= 5 and int(declared) <= MAX_SHORT_BYTES


class Exchange:
    """A short request and its answer. It stands where uvicorn keeps the request that is under way,
    and has what uvicorn and `Limited` ask of that."""

    __slots__ = (
        "_connection",
        "_pieces",
        "_take",
        "disconnected",
        "keep_alive",
        "response_complete",
    )

    def __init__(self, connection: Any, take: Take, *, keep_alive: bool) -> None:
        self._connection = connection
        self._take = take
        self._pieces: list[bytes] = []
        self.keep_alive = keep_alive
        self.disconnected = False
        self.response_complete = False

    @property
    def message_event(self) -> Self:
        """Stands for the event that uvicorn sets; nobody waits for it. It is not an attribute,
        since what refers to itself stays until Python looks for cycles."""
        return self

    @property
    def response_started(self) -> bool:
        """An answer begins and ends in one call."""
        return self.response_complete

    def set(self) -> None:
        """Does nothing; see `message_event`."""

    def on_body(self, piece: bytes) -> None:
        """Keeps a piece of the body."""
        self._pieces.append(piece)

    def on_message_complete(self) -> None:
        """Has the body taken."""
        [body] = self._pieces if len(self._pieces) == 1 else [b"".join(self._pieces)]
        try:
            self._take(body, self.reply)
        except Exception:
            LOG.exception("a request failed")
            self.reply(500, b'{"error": "not taken, by a fault of ours; send it again"}')

    def reply(self, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
        """Writes the answer, at once and whole; see `Reply`."""
        if self.response_complete or self.disconnected:
            return
        self.response_complete = True
        connection = self._connection
        lines = [b"content-type: application/json", b"content-length: %d" % len(body)]
        lines += [b"%b: %b" % it for it in headers]
        if not self.keep_alive:
            lines.append(b"connection: close")
        connection.write_at_once(
            b"%b%b%b\r\n\r\n%b"
            % (
                STATUS_LINE[status],
                _COMMON.lines(connection.server_state),
                b"\r\n".join(lines),
                body,
            )
        )
        if not self.keep_alive:
            connection.transport.close()
        connection.on_response_complete()


class _CommonHeaders:
    """The lines that uvicorn has in every answer, which it changes once a second."""

    def __init__(self) -> None:
        self._headers: list[tuple[bytes, bytes]] = []
        self._lines = b""

    def lines(self, state: ServerState) -> bytes:
        if state.default_headers is not self._headers:
            self._headers = state.default_headers
            self._lines = b"".join(b"%b: %b\r\n" % it for it in self._headers)
        return self._lines


_COMMON: Final = _CommonHeaders()
