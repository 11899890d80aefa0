"""A platform that takes PUTs over mutual TLS, fails the first of each process, and counts them."""

import asyncio
import contextlib
import random
import ssl
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sandbox.platform.certificates import Certificates, issue


class Put(NamedTuple):
    """One PUT that arrived whole: the instants of its last byte and of its end, in microseconds."""

    arrived_at: int
    ended_at: int
    status: int | None  # None: the client hung up before the answer


class CountingPlatform:
    """Answers 500 or 503 to the first `failures` PUTs of a process, then 200, after a while."""

    def __init__(self, seed: str, failures: int, longest_seconds: float) -> None:
        self.puts: dict[str, list[Put]] = defaultdict(list)
        self.overlaps = 0
        """PUTs that arrived while another of the same process was under way."""
        self._under_way: Counter[str] = Counter()
        self._drawn = random.Random(seed)
        self._failures = failures
        self._longest_seconds = longest_seconds

    def accepted(self) -> set[str]:
        return {name for name, puts in list(self.puts.items()) if puts and puts[-1].status == 200}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                fields = dict(it.split(": ", 1) for it in head.splitlines()[1:] if it)
                await reader.readexactly(int(fields["content-length"]))
                await self._answer(fields["idempotency-key"], reader, writer)
        writer.close()

    async def _answer(
        self, process_id: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        arrived_at = _now()
        self.overlaps += self._under_way[process_id] > 0
        self._under_way[process_id] += 1
        status: int | None = 200
        if len(self.puts[process_id]) < self._failures:
            status = self._drawn.choice([500, 503])
        if await _hangs_up(reader, self._drawn.uniform(0.05, self._longest_seconds)):
            status = None
        self._under_way[process_id] -= 1
        self.puts[process_id].append(Put(arrived_at, _now(), status))
        if status is None:
            raise ConnectionResetError
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status)
        await writer.drain()


async def _hangs_up(reader: asyncio.StreamReader, seconds: float) -> bool:
    """Whether the client closes within so many seconds; it has nothing more to say."""
    try:
        async with asyncio.timeout(seconds):
            await reader.read(1)
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def _now() -> int:
    return time.time_ns() // 1000


@contextlib.contextmanager
def running(platform: CountingPlatform, folder: Path) -> Iterator[tuple[str, Certificates]]:
    """Its URL and certificates, while the block runs."""
    certificates = issue(folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates.authority)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificates.server.certificate, certificates.server.key)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def listen() -> asyncio.Server:
        return await asyncio.start_server(platform.serve, "127.0.0.1", 0, ssl=context)

    async def stop() -> None:
        server.close()
        serving = asyncio.all_tasks() - {asyncio.current_task()}
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(listen(), loop).result(20)
    try:
        port = server.sockets[0].getsockname()[1]
        yield f"https://127.0.0.1:{port}", certificates
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()
