"""How fast a ledger catches up, whether that stays flat, and how far it lags under steady load.

Catching up: entries a second from an inbox into a new DuckDB file, beside the ceiling of reading
the same entries out of the inbox and doing nothing with them. Flat: the last quarter's rate beside
the first's. PRAZO_BENCH_ENTRIES (default 200,000; the aim is stated for 1,000,000).

One a batch: each entry followed alone, into the log, facts, tree and heads; and the CPU time of the
first question after one, which makes its materialized rows.

Lag: 500 deliveries a second through a real receiver, while three threads read the overview's views
each second from the ledger that follows; how long an acknowledged entry waits for the log.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from pipeline import instants
from pipeline.continuity.service import LedgerService
from pipeline.inbox import Inbox, open_inbox
from pipeline.log.deliveries import delivery
from pipeline.settings import Settings
from tests.benchmarks.load import review
from tests.benchmarks.receiver import _serving
from tests.benchmarks.rows import Row

ENTRIES = int(os.environ.get("PRAZO_BENCH_ENTRIES", "200000"))
ENTRIES_PER_COMMIT = 5000
DELIVERIES_PER_SECOND = 500
LAG_SECONDS = 15.0
CONNECTIONS = 20
READERS = 3
BATCHES_OF_ONE = 240
"""Fewer than may wait for their materialized rows."""
WANTED_BATCHES = 250
"""Batches a second: the aim."""
HEAD = (
    b"POST /webhooks HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1024\r\n\r\n"
)
PAGE_VIEWS = ("process_state", "deadline_calendar", "denial_reasons", "ledger_health")


def run() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="prazo-bench-") as folder:
        rows = _catch_up(Path(folder) / "catch-up")
        rows += _one_a_batch(Path(folder) / "one-a-batch")
        rows += _lag(Path(folder) / "lag")
    return rows


def _settings(folder: Path) -> Settings:
    folder.mkdir()
    return Settings(
        inbox=str(folder / "inbox.db"),
        ledger=folder / "ledger.duckdb",
        taxpayer_key_file=folder / "taxpayer.key",
        signing_key_file=folder / "signing.key",
    )


def _catch_up(folder: Path) -> list[Row]:
    settings = _settings(folder)
    with closing(open_inbox(settings.inbox)) as inbox:
        _fill(inbox)
        started = time.perf_counter()
        after = 0
        while entries := inbox.read(after, 8192):
            after = entries[-1].seq
        ceiling = after / (time.perf_counter() - started)
    with closing(LedgerService(settings)) as service:
        marks = [(0, time.perf_counter())]
        service.catch_up(lambda size: marks.append((size, time.perf_counter())))
    rate = _rate(marks[0], marks[-1])
    # Quarters of the entries, not of the commits: the last of these hold few entries, and then the
    # rows of all that waited for theirs.
    first = next(mark for mark in marks if mark[0] >= after / 4)
    last = next(mark for mark in reversed(marks) if mark[0] <= after * 3 / 4)
    flat = _rate(last, marks[-1]) / _rate(marks[0], first)
    return [
        Row(
            "follower: catch-up / reading the inbox alone",
            rate / ceiling,
            f"{rate:,.0f} entries/s over {after:,}; the ceiling {ceiling:,.0f}",
        ),
        Row("follower: last quarter / first", flat, "1 is flat as the log grows", at_least=0.8),
    ]


def _fill(inbox: Inbox) -> None:
    for first in range(0, ENTRIES, ENTRIES_PER_COMMIT):
        numbers = range(first, min(first + ENTRIES_PER_COMMIT, ENTRIES))
        now = instants.now()
        inbox.append(
            [delivery(review(it), occurred_at=now, recorded_by="webhook") for it in numbers]
        )


def _rate(start: tuple[int, float], end: tuple[int, float]) -> float:
    return (end[0] - start[0]) / (end[1] - start[1])


def _one_a_batch(folder: Path) -> list[Row]:
    settings = _settings(folder)
    with closing(LedgerService(settings)) as service:
        _record(service.inbox, 0)
        service.catch_up()  # a process asks once for the columns of its tables
        took = busy = 0.0
        for number in range(1, BATCHES_OF_ONE + 1):
            _record(service.inbox, number)
            began, cpu = time.perf_counter(), time.process_time()
            service.catch_up()
            took, busy = took + time.perf_counter() - began, busy + time.process_time() - cpu
        cpu = time.process_time()
        service.ledger.settle()
        rows = time.process_time() - cpu
    return [
        Row(
            f"follower: one entry a batch / {WANTED_BATCHES} a second",
            BATCHES_OF_ONE / took / WANTED_BATCHES,
            f"{BATCHES_OF_ONE / took:,.0f}/s, {busy / BATCHES_OF_ONE * 1000:.1f} ms of CPU each;"
            f" then the rows of all, in {rows * 1000:.0f} ms",
        )
    ]


def _record(inbox: Inbox, number: int) -> None:
    now = instants.now()
    inbox.append([delivery(review(number), occurred_at=now, recorded_by="webhook")])


def _lag(folder: Path) -> list[Row]:
    settings = _settings(folder)
    stop = threading.Event()
    with (
        _serving("receiver", PRAZO_INBOX=settings.inbox) as port,
        closing(LedgerService(settings)) as service,
        ThreadPoolExecutor(READERS + 1) as threads,
    ):
        service.start()
        readers = [threads.submit(_read_pages, service, stop) for _ in range(READERS)]
        watcher = threads.submit(_watch, service, stop)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "tests.benchmarks.follower", str(port)],
                stdout=subprocess.PIPE,
                check=True,
                timeout=LAG_SECONDS + 60,
                text=True,
            )
        finally:
            stop.set()
        reads = sum(it.result() for it in readers)
        lags = sorted(watcher.result())
    sent, p50, p99 = (float(it) for it in done.stdout.split())
    lag_p99 = lags[len(lags) * 99 // 100]
    return [
        Row(
            "follower: 1 s / lag p99 at 500 deliveries/s with three readers",
            1.0 / max(lag_p99, 1e-3),
            f"lag p50 {statistics.median(lags) * 1000:.0f} ms, p99 {lag_p99 * 1000:.0f} ms,"
            f" pages read {reads} times",
            at_least=1.0,
        ),
        Row(
            "receiver: 50 ms / acknowledgement p99 meanwhile",
            0.050 / p99,
            f"p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms, {sent:,.0f} deliveries/s",
            at_least=1.0,
        ),
    ]


def _read_pages(service: LedgerService, stop: threading.Event) -> int:
    """How often all of them were read."""
    times = 0
    while not stop.wait(1.0):
        for view in PAGE_VIEWS:
            service.reader.read(view, limit=50)
        times += 1
    return times


def _watch(service: LedgerService, stop: threading.Event) -> list[float]:
    """Seconds that entries wait for the ledger: the newest of the inbox, noted every 10 ms."""
    lags: list[float] = []
    waiting: deque[tuple[int, int]] = deque()
    noted = 0
    while not stop.wait(0.01):
        seq, recorded_at = service.inbox.last()
        if seq > noted:
            waiting.append((seq, recorded_at))
            noted = seq
        size, now = service.ledger.size, instants.now()
        while waiting and waiting[0][0] <= size:
            lags.append((now - waiting.popleft()[1]) / 1e6)
    return lags


async def _send_steadily(port: int) -> None:
    """Prints deliveries a second and the acknowledgements' p50 and p99 in seconds."""
    latencies: list[float] = []
    started = time.perf_counter()

    async def connection(first: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in range(first, int(LAG_SECONDS * DELIVERIES_PER_SECOND), CONNECTIONS):
            pause = started + number / DELIVERIES_PER_SECOND - time.perf_counter()
            if pause > 0:
                await asyncio.sleep(pause)
            sent_at = time.perf_counter()
            writer.write(HEAD % port + review(number))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split()[0]))
            latencies.append(time.perf_counter() - sent_at)
        writer.close()

    await asyncio.gather(*(connection(first) for first in range(CONNECTIONS)))
    took = time.perf_counter() - started
    latencies.sort()
    p99 = latencies[len(latencies) * 99 // 100]
    print(len(latencies) / took, statistics.median(latencies), p99)


if __name__ == "__main__":
    asyncio.run(_send_steadily(int(sys.argv[1])))
