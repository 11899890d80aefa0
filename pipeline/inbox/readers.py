"""Pools an engine's read connections; each serves one caller at a time."""

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
    """A pool of connections. No thread owns one, since a thread ends without closing anything."""

    def __init__(
        self, connect: Callable[[], C], is_usable: Callable[[C], bool] = lambda _: True
    ) -> None:
        """`is_usable`: whether the other end of a connection is still there, as far as this end
        knows."""
        self._connect = connect
        self._is_usable = is_usable
        self._lock = Lock()
        self._idle: list[C] = []
        self._is_closed = False

    @contextmanager
    def borrowed(self) -> Iterator[C]:
        """A connection for this block alone; an error in the block closes it. Where it was lost,
        none that was idle meanwhile is used again.

        Raises `InboxUnavailable` once the pool is closed.
        """
        connection = self._taken()
        try:
            yield connection
        except BaseException:
            if not self._is_usable(connection):
                self.drop_idle()
            connection.close()
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
            connection = self._idle.pop() if self._idle else None
        if connection is not None and self._is_usable(connection):
            return connection
        if connection is not None:
            connection.close()
        return self._connect()

    def drop_idle(self) -> None:
        """Closes the idle connections: one beside them was lost, and a network that has forgotten
        it has forgotten them as well. Nothing tells that at this end but a question whose answer
        does not come, and each would be waited for as long as the first."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Closes the idle connections; those in use are closed when they come back."""
        with self._lock:
            self._is_closed = True
        self.drop_idle()
