"""Runs the product for long at half of what it can take, and says whether it stays as it was.

    make soak MINUTES=60     (or RATE=1000 for a rate of one's own, in deliveries a second)

The processes are real: `prazo receive`, `prazo dashboard` with ten people who click once a second,
and a sender. First the sender takes all that the receiver gives for a while, everything else beside
it; half of that is the rate. What is sampled: resident memory, threads and open files of each
process, how far the ledger is behind, how long acknowledgements take, and the sizes of the stores.

The first quarter is for warming up. A figure has drifted if its median over the last quarter is
above that of the second by more than the slack that `DRIFTS` gives it. Exit code 1 where one has,
or where a delivery was not answered 200 or a page failed. DuckDB may keep 512 MB here, a quarter of
what it usually may: what grows beyond that is our own.

    python -m tests.benchmarks.soak send PORT RATE FIRST_NUMBER     the sender alone
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import uvloop

from tests.benchmarks.load import Load
from tests.benchmarks.pages import Tab
from tests.benchmarks.rows import Row, table
from tests.support.machine import free_port

MINUTES: Final = float(os.environ.get("MINUTES") or 60)
RATE: Final = float(os.environ.get("RATE") or 0)
SAMPLES: Final = 120
CAPACITY_SECONDS: Final = 10.0
PEOPLE: Final = 10
CONNECTIONS: Final = 32
SAYS_SECONDS: Final = 5.0
SAID_LINES: Final = 40
LEDGER_MEMORY: Final = "512MB"
START_SECONDS: Final = 60.0
EVENTS_OF_A_PROCESS: Final = 20
PAGES: Final = {
    "": "",
    "watchlist": "",
    "findings": "",
    "process": "process=prc_000000000003",
    "seller": "seller_id=sel_000003",
    "submissions": "",
    "denials": "",
    "ledger": "",
    "dictionary": "",
}

MIB: Final = 2**20
DRIFTS: Final = {
    "receiver MiB": (1.1, 24.0),  # SQLite's cache of 64 MiB fills as the indexes grow
    "dashboard MiB": (1.15, 64.0),
    "receiver threads": (1.0, 3.0),
    "dashboard threads": (1.0, 12.0),
    "receiver files": (1.0, 8.0),
    "dashboard files": (1.0, 16.0),
    "lag s": (2.0, 1.0),
    "ack p99 ms": (2.0, 10.0),
    "page p50 ms": (1.5, 100.0),
    "inbox's log MiB": (1.0, 64.0),
    "ledger's log MiB": (1.0, 256.0),
}
"""What must stay as it is: by which factor it may grow, and how much besides."""
MAY_FILL: Final = {"dashboard MiB": 280.0 + 488.0 + PEOPLE * 30.0}
"""Up to here nothing has drifted, however late it comes: a dashboard without people, what DuckDB
may keep, and 30 MiB for each session."""


class Sample(NamedTuple):
    """All figures at one moment."""

    minute: float
    figures: dict[str, float]


# --- the sender ----------------------------------------------------------------------------------


def delivery(number: int) -> bytes:
    """One of the events of a process, 1 KiB."""
    head = (
        b'{"id":"evt_%012d","type":"regulatory.registration.review.required",'
        b'"created_at":"2026-03-01T12:00:00Z","payload":{"object":{'
        b'"type":"REGISTRATION_REVIEW_REQUIRED","process_id":"prc_%012d",'
        b'"customer_id":"sel_%06d","status":"%b","deadline_at":"2099-04-30T12:00:00Z",'
        b'"requested_fields":["revenue","address.line1","address.city"],"note":"'
        % (
            number,
            number // EVENTS_OF_A_PROCESS,
            number // EVENTS_OF_A_PROCESS % 200_000,
            b"PENDING" if number % EVENTS_OF_A_PROCESS < EVENTS_OF_A_PROCESS - 1 else b"FINISHED",
        )
    )
    return head.ljust(1020, b".") + b'"}}}'


async def _send(port: int, rate: float, first: int) -> None:
    """Sends at a steady rate until it is ended; prints a line now and then."""
    loop, latencies, failures = asyncio.get_running_loop(), [], 0  # type: ignore[var-annotated]
    began = loop.time()

    async def connection(place: int) -> None:
        nonlocal failures
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        number = place
        while True:
            pause = began + number / rate - loop.time()
            if pause > 0:
                await asyncio.sleep(pause)
            body = delivery(first + number)
            sent_at = loop.time()
            writer.write(
                b"POST /webhooks HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n%b"
                % (port, len(body), body)
            )
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split()[0]))
            latencies.append(loop.time() - sent_at)
            failures += not head.startswith(b"HTTP/1.1 200")
            number += CONNECTIONS

    async def say() -> None:
        while True:
            await asyncio.sleep(SAYS_SECONDS)
            taken, latencies[:] = sorted(latencies), []
            if taken:
                p50, p99 = taken[len(taken) // 2], taken[len(taken) * 99 // 100]
                print(json.dumps([len(taken), p50 * 1000, p99 * 1000, failures]), flush=True)

    await asyncio.gather(say(), *map(connection, range(CONNECTIONS)))


class Sender:
    """The sender's process, and what it said last."""

    def __init__(self, port: int, rate: float, first: int) -> None:
        arguments = map(str, (port, rate, first))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.soak", "send", *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.sent = self.failures = 0
        self.p50 = self.p99 = 0.0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            sent, self.p50, self.p99, self.failures = json.loads(line)
            self.sent += sent


# --- people --------------------------------------------------------------------------------------


class People:
    """Ten sessions of the dashboard, each with a click a second."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.took: list[float] = []
        self._median = 0.0
        self.failures: list[str] = []
        self.is_over = threading.Event()
        self._threads = [threading.Thread(target=self._click, args=(it,)) for it in range(PEOPLE)]

    def __enter__(self) -> "People":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        for thread in self._threads:
            thread.join(60)

    def _click(self, number: int) -> None:
        tab, pages = Tab(self._port), list(PAGES.items())
        turn = number
        while not self.is_over.is_set():
            began = time.monotonic()
            try:
                self.took.append(tab.run(*pages[turn % len(pages)]))
            except (SystemExit, Exception) as error:
                self.failures.append(
                    f"{pages[turn % len(pages)][0] or 'overview'}: {error!r}"[:500]
                )
                tab.close()
                tab = Tab(self._port)
            turn += 1
            self.is_over.wait(max(0.0, began + 1 - time.monotonic()))
        tab.close()

    def p50(self) -> float:
        """Of the clicks that ended since the last call, in milliseconds; as before if none did."""
        taken, self.took = self.took, []
        self._median = statistics.median(taken) if taken else self._median
        return self._median


# --- samples -------------------------------------------------------------------------------------


def _of_process(process: int) -> tuple[float, float, float]:
    """Resident MiB, threads, open files."""
    proc = Path(f"/proc/{process}")
    resident = int((proc / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB
    return resident, len([*(proc / "task").iterdir()]), len([*(proc / "fd").iterdir()])


def _ledger_figures(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if line.startswith("prazo_ledger_"))
    return {name: float(value) for name, value in pairs}


def _mib(file: Path) -> float:
    return file.stat().st_size / MIB if file.exists() else 0.0


# --- the run -------------------------------------------------------------------------------------


def settings_in(folder: Path, receiver_port: int, dashboard_port: int) -> dict[str, str]:
    """Settings, as variables, of parts that keep what they have in a folder."""
    return {
        "PRAZO_INBOX": str(folder / "inbox.db"),
        "PRAZO_LEDGER": str(folder / "ledger.duckdb"),
        "PRAZO_DASHBOARD_PORT": str(dashboard_port),
        "PRAZO_RECEIVER_PORT": str(receiver_port),
    }


@contextmanager
def _prazo(command: str, port: int, environment: dict[str, str], folder: Path) -> Iterator[int]:
    """A process of the product that listens; its id."""
    with (folder / f"{command}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipeline.cli", command, "--port", str(port)],
            env={**os.environ, **environment},
            cwd=folder,
            stdout=log,
            stderr=log,
        )
    until = time.monotonic() + START_SECONDS
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1).close()
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > until:
                    raise SystemExit((folder / f"{command}.log").read_text()) from None
                time.sleep(0.2)
        yield process.pid
    finally:
        process.terminate()
        process.wait(90)
        said = (folder / f"{command}.log").read_text(errors="replace").splitlines()
        print(f"the last lines of {command}:", *said[-SAID_LINES:], sep="\n", file=sys.stderr)


def soak(folder: Path) -> list[Row]:
    """Runs for `MINUTES` and returns the verdicts."""
    receiver_port, dashboard_port = free_port(), free_port()
    environment = settings_in(folder, receiver_port, dashboard_port)
    environment["PRAZO_LEDGER_MEMORY"] = LEDGER_MEMORY
    with ExitStack() as running:
        receiver = running.enter_context(_prazo("receive", receiver_port, environment, folder))
        dashboard = running.enter_context(_prazo("dashboard", dashboard_port, environment, folder))
        people = running.enter_context(People(dashboard_port))
        rate, first = RATE, 0
        if not rate:
            most = Load.on(
                receiver_port, connections=64, seconds=CAPACITY_SECONDS, first_number=10**9
            )
            rate = most.requests_per_second / 2
        sender = Sender(receiver_port, rate, first)
        running.callback(sender.process.terminate)
        print(f"{rate:,.0f} deliveries a second for {MINUTES:g} minutes", file=sys.stderr)
        samples: list[Sample] = []
        began = time.monotonic()
        while (minute := (time.monotonic() - began) / 60) < MINUTES:
            time.sleep(MINUTES * 60 / SAMPLES)
            samples.append(
                Sample(
                    minute, _figures(receiver, dashboard, dashboard_port, sender, people, folder)
                )
            )
            if len(samples) == 1 or len(samples) % (SAMPLES // 20) == 0:
                _say(samples)
        sent = sender.sent
    return [*_verdicts(samples), *_failures(sender, people, sent / (MINUTES * 60), rate)]


def _figures(
    receiver: int, dashboard: int, port: int, sender: Sender, people: People, folder: Path
) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, process in (("receiver", receiver), ("dashboard", dashboard)):
        for what, value in zip(("MiB", "threads", "files"), _of_process(process), strict=True):
            figures[f"{name} {what}"] = value
    ledger = _ledger_figures(port)
    figures["lag s"] = ledger["prazo_ledger_lag_seconds"]
    figures["entries"] = ledger["prazo_ledger_last_seq"]
    figures["ack p50 ms"], figures["ack p99 ms"] = sender.p50, sender.p99
    figures["page p50 ms"] = people.p50()
    figures["inbox MiB"] = _mib(folder / "inbox.db")
    figures["ledger MiB"] = _mib(folder / "ledger.duckdb")
    figures["inbox's log MiB"] = _mib(folder / "inbox.db-wal")
    figures["ledger's log MiB"] = _mib(folder / "ledger.duckdb.wal")
    return figures


def _say(samples: Sequence[Sample]) -> None:
    newest = samples[-1]
    if len(samples) == 1:
        print("  ".join(("minute", *newest.figures)), file=sys.stderr)
    shown = (
        f"{value:{max(len(name), 3)},.{1 if 'ms' in name or name == 'lag s' else 0}f}"
        for name, value in newest.figures.items()
    )
    print("  ".join((f"{newest.minute:6.1f}", *shown)), file=sys.stderr, flush=True)


def _verdicts(samples: Sequence[Sample]) -> Iterator[Row]:
    quarter = max(1, len(samples) // 4)
    for name, (factor, slack) in DRIFTS.items():
        second, last = (
            statistics.median(it.figures[name] for it in part)
            for part in (samples[quarter : 2 * quarter], samples[-quarter:])
        )
        most = max(it.figures[name] for it in samples)
        yield Row(
            f"soak: {name}, allowed / the last quarter",
            max(second * factor + slack, MAY_FILL.get(name, 0.0)) / max(last, 1e-9),
            f"{second:,.1f} in the second quarter, {last:,.1f} in the last, {most:,.1f} at most",
            at_least=1.0,
        )
    start, end = samples[0].figures, samples[-1].figures
    entries = end["entries"] - start["entries"]
    for name in ("inbox MiB", "ledger MiB"):
        grown = (end[name] - start[name]) * MIB / max(entries, 1)
        yield Row(f"soak: {name} at the end", end[name], f"{grown:,.0f} bytes an entry")


def _failures(sender: Sender, people: People, reached: float, rate: float) -> Iterator[Row]:
    yield Row(
        "soak: deliveries a second / asked for",
        reached / rate,
        f"{sender.sent:,} in all, {sender.failures} not answered 200",
        at_least=0.9,
    )
    failures = sender.failures + len(people.failures)
    yield Row(
        "soak: none failed",
        float(not failures),
        "; ".join([*map(str, people.failures[:3])]) or "every page was shown",
        at_least=1.0,
    )


def main(arguments: Sequence[str]) -> int:
    if arguments:
        port, rate, first = int(arguments[1]), float(arguments[2]), int(arguments[3])
        uvloop.run(_send(port, rate, first))
        return 0
    with tempfile.TemporaryDirectory(prefix="prazo-soak-") as folder:
        rows = soak(Path(folder))
    print(table(rows))
    return int(any(it.verdict == "MISSED" for it in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
