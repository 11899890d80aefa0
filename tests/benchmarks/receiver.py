"""How many durable deliveries a second, against a server that does nothing and a usual one.

1 KiB review events, each another event, over 64 connections. The ceiling, the least that is
durable, the receiver on SQLite, the same with a forwarder beside it, whose endpoint is fast, slow
or dead, and the peer take turns; every figure is the median of its rounds.
"""

import inspect
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from pipeline.forward import progress
from pipeline.inbox import open_inbox
from tests.benchmarks import contestants
from tests.benchmarks.load import WARM_UP_SECONDS, Load
from tests.benchmarks.rows import Row
from tests.forward.process import Forwarder
from tests.support.machine import free_port, wait_until
from tests.support.postgres import PostgresServer, installed

CONNECTIONS = 64
ROUNDS = 5
SECONDS_PER_ROUND = 4.0
START_SECONDS = 30.0
ENDPOINTS = ("fast", "slow", "dead")
"""To which deliveries are passed on: one answers at once, one in two seconds, one is not there."""


def run() -> list[Row]:
    print("The ceiling:\n\n" + inspect.getsource(contestants.ceiling))
    rounds: dict[str, list[Load]] = defaultdict(list)
    cpu: dict[str, list[float]] = defaultdict(list)
    with ExitStack() as running, tempfile.TemporaryDirectory(prefix="prazo-bench-") as folder:
        ports = {
            "ceiling": running.enter_context(_serving("ceiling")),
            "least": running.enter_context(
                _serving("least", PRAZO_BENCH_FILE=str(Path(folder) / "least.db"))
            ),
            "receiver": running.enter_context(
                _serving("receiver", PRAZO_INBOX=str(Path(folder) / "inbox.db"))
            ),
        }
        endpoints = {
            "fast": running.enter_context(_serving("ceiling")),
            "slow": running.enter_context(_serving("slow")),
            "dead": free_port(),
        }
        forwarders = {}
        for which in ENDPOINTS:
            own = Path(folder) / which
            own.mkdir()
            inbox = own / "inbox.db"
            ports[which] = running.enter_context(_serving("receiver", PRAZO_INBOX=str(inbox)))
            forwarders[which] = running.enter_context(_forwarding(own, endpoints[which]))
        try:
            database = running.enter_context(_postgres()).url()
        except pytest.skip.Exception as missing:
            print(f"without the peer: {missing}", file=sys.stderr)
        else:
            peer = _serving("peer", PRAZO_BENCH_DATABASE=database)
            ports["peer"] = running.enter_context(peer)
        for number in range(ROUNDS):
            for name, port in ports.items():
                if name in forwarders:
                    forwarders[name].thaw()  # what it has still to do would slow the others' rounds
                before = _cpu_microseconds(port)
                load = Load.on(
                    port,
                    connections=CONNECTIONS,
                    seconds=SECONDS_PER_ROUND,
                    first_number=number * 10_000_000,
                )
                if name in forwarders:
                    forwarders[name].freeze()
                if load.failures:
                    raise SystemExit(f"{name}: {load.failures} requests were not answered 200")
                rounds[name].append(load)
                requests = load.requests_per_second * (SECONDS_PER_ROUND + WARM_UP_SECONDS)
                cpu[name].append((_cpu_microseconds(port) - before) / requests)
    medians = {name: _median(loads) for name, loads in rounds.items()}
    return list(_rows(medians, {name: statistics.median(it) for name, it in cpu.items()}))


def _rows(of: dict[str, Load], cpu: dict[str, float]) -> Iterator[Row]:
    """`cpu`: microseconds of CPU time for each request, by contestant."""
    ours, ceiling = of["receiver"], of["ceiling"]
    rate = f"{ours.requests_per_second:,.0f}/s"
    yield Row(
        "receiver / no-op server: requests a second",
        ours.requests_per_second / ceiling.requests_per_second,
        f"{rate} of {ceiling.requests_per_second:,.0f}/s",
        at_least=0.28,
    )
    yield Row(
        "no-op server / receiver: CPU time of a request",
        cpu["ceiling"] / cpu["receiver"],
        ", ".join(f"{name} {it:.0f} µs" for name, it in cpu.items()),
    )
    for which in ENDPOINTS:
        passed_on = of[which]
        yield Row(
            f"receiver with a forwarder to a {which} endpoint / without: requests a second",
            passed_on.requests_per_second / ours.requests_per_second,
            f"{passed_on.requests_per_second:,.0f}/s of {rate}, on the same cores",
        )
        for figure in ("p50", "p99"):
            alone, beside = (getattr(it, f"{figure}_ms") for it in (ours, passed_on))
            yield Row(
                f"receiver without a forwarder / with one to a {which} endpoint: {figure}",
                alone / beside,
                f"{alone:.1f} ms of {beside:.1f} ms",
            )
    least = of["least"].requests_per_second
    yield Row(
        "the least that is durable / no-op server: requests a second",
        least / ceiling.requests_per_second,
        f"{least:,.0f}/s: a row of bytes each, nothing read or checked",
    )
    if peer := of.get("peer"):
        yield Row(
            "receiver / FastAPI + asyncpg: requests a second",
            ours.requests_per_second / peer.requests_per_second,
            f"{rate} of {peer.requests_per_second:,.0f}/s",
            at_least=3.0,
        )
    for figure in ("p50", "p99", "max"):
        values = {name: getattr(load, f"{figure}_ms") for name, load in of.items()}
        yield Row(
            f"receiver / no-op server: {figure}",
            values["receiver"] / values["ceiling"],
            ", ".join(f"{name} {it:.1f} ms" for name, it in values.items()),
        )


def _median(loads: list[Load]) -> Load:
    return Load._make(statistics.median(figures) for figures in zip(*loads, strict=True))


_PROCESSES: dict[int, int] = {}
"""The process behind each port."""


def _cpu_microseconds(port: int) -> float:
    """What the process behind a port has used so far."""
    fields = Path(f"/proc/{_PROCESSES[port]}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1e6


@contextmanager
def _serving(which: str, **environment: str) -> Iterator[int]:
    """A contestant in a process of its own; yields its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    command = [sys.executable, "-m", "tests.benchmarks.contestants", which, str(port)]
    process = subprocess.Popen(command, env={**os.environ, **environment})
    _PROCESSES[port] = process.pid
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"the {which} did not start") from None
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=60)


@contextmanager
def _forwarding(folder: Path, endpoint: int) -> Iterator[Forwarder]:
    """A forwarder of the inbox in a folder to one endpoint; frozen at first."""
    secret, file = folder / "secret", folder / "forward.toml"
    secret.write_text("whsec_" + "QUJD" * 8 + "\n", encoding="ascii")
    file.write_text(
        f"""
        [[endpoint]]
        name = "sink"
        url = "http://127.0.0.1:{endpoint}/"
        secret_file = "{secret}"
        """,
        encoding="utf-8",
    )
    inbox = str(folder / "inbox.db")
    forwarder = Forwarder(folder, inbox, file)
    try:
        with closing(open_inbox(inbox)) as opened:
            wait_until(lambda: "sink" in progress.standings(opened))
        forwarder.freeze()
        yield forwarder
    finally:
        forwarder.kill()


@contextmanager
def _postgres() -> Iterator[PostgresServer]:
    binaries = installed()
    with tempfile.TemporaryDirectory(prefix="prazo-bench-postgres-") as folder:
        postgres = PostgresServer(binaries, Path(folder))
        postgres.start()
        try:
            yield postgres
        finally:
            postgres.stop()
