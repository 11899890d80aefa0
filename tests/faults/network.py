"""A network that delays, swallows or cuts what two programs say to each other.

    with between("127.0.0.1", 5432) as network:
        ...  # one of them connects to network.port
        network.swallow()

Nothing on either side is closed while packets are swallowed, and each side's machine goes on
answering for it: no time-out of the system's strikes.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_CHUNK_BYTES = 65_536
_CALL_SECONDS = 20.0


class _Link:
    """One connection through the network, and whether anything passes over it."""

    def __init__(self, writers: list[asyncio.StreamWriter]) -> None:
        self.writers = writers
        self.passes = asyncio.Event()


class Network:
    """What lies between two programs; its orders hold until the next one."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._links: set[_Link] = set()
        self._delay = 0.0
        self._is_cut = self._is_swallowing = False
        self._server: asyncio.Server
        self.port = 0

    def delay(self, seconds: float) -> None:
        """Everything takes that much longer."""
        self._order(lambda: setattr(self, "_delay", seconds))

    def swallow(self) -> None:
        """Nothing arrives any more, and nothing is closed."""

        def hold() -> None:
            self._is_swallowing = True
            for link in self._links:
                link.passes.clear()

        self._order(hold)

    def cut(self) -> None:
        """Every connection is reset, and what was under way in it is lost; so is each new one."""

        def reset() -> None:
            self._is_cut = True
            self._reset()

        self._order(reset)

    def heal(self, *, forgets: bool = False) -> None:
        """All is well again, and what was held arrives. `forgets`: connections from before stay as
        they are, as behind a firewall that was started again."""

        def release() -> None:
            self._is_cut = self._is_swallowing = False
            self._delay = 0.0
            for link in self._links:
                if not forgets:
                    link.passes.set()

        self._order(release)

    def _order(self, do: Callable[[], None]) -> None:
        async def ordered() -> None:
            do()

        asyncio.run_coroutine_threadsafe(ordered(), self._loop).result(_CALL_SECONDS)

    def _reset(self) -> None:
        for link in self._links:
            for writer in link.writers:
                writer.transport.abort()
            link.passes.set()  # who waits to write finds out

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = _Link([writer])
        if not self._is_swallowing:
            link.passes.set()
        self._links.add(link)
        try:
            await link.passes.wait()
            if self._is_cut:
                return
            far_reader, far_writer = await asyncio.open_connection(*self._target)
            link.writers.append(far_writer)
            await asyncio.gather(
                self._pump(link, reader, far_writer), self._pump(link, far_reader, writer)
            )
        except (OSError, asyncio.CancelledError):
            pass  # one side closed, or all of it ends
        finally:
            self._links.discard(link)
            for each in link.writers:
                each.transport.abort()

    async def _pump(
        self, link: _Link, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> None:
        while True:
            data = await source.read(_CHUNK_BYTES)
            if self._delay:
                await asyncio.sleep(self._delay)
            await link.passes.wait()
            if not data:
                break
            sink.write(data)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()

    def _open(self) -> None:
        self._thread.start()

        async def listen() -> asyncio.Server:
            return await asyncio.start_server(self._carry, "127.0.0.1", 0)

        listening = asyncio.run_coroutine_threadsafe(listen(), self._loop)
        self._server = listening.result(_CALL_SECONDS)
        self.port = self._server.sockets[0].getsockname()[1]

    def _close(self) -> None:
        async def stop() -> None:
            self._server.close()
            self._reset()
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(_CALL_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CALL_SECONDS)
        self._loop.close()


@contextmanager
def between(host: str, port: int) -> Iterator[Network]:
    """A network to that address, while the block runs."""
    network = Network(host, port)
    network._open()
    try:
        yield network
    finally:
        network._close()
