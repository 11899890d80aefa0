"""Keeps an engine's read connections: one use at a time each, as many as are used at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final, Generic, Protocol, TypeVar

from pipeline.errors import InboxUnavailable

MAX_IDLE: Final = 8


class _Connection(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=_Connection)


class Readers(Generic[C]):
    """Idle connections wait here, not with a thread: threads die without closing anything."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._lock = Lock()
        self._idle: list[C] = []
        self._is_closed = False

    @contextmanager
    def borrowed(self) -> Iterator[C]:
        """A connection for this block alone. After an error no idle one is trusted either: what
        broke it, such as a server's restart, broke them all."""
        connection = self._taken()
        try:
            yield connection
        except BaseException:
            connection.close()
            self._close_idle()
            raise
        with self._lock:
            if not self._is_closed and len(self._idle) < MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _taken(self) -> C:
        with self._lock:
            if self._is_closed:
                raise InboxUnavailable("The inbox cannot be read", "it is closed already")
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _close_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Closes what is idle; what is in use is closed when it comes back."""
        with self._lock:
            self._is_closed = True
        self._close_idle()
