"""What a click costs: CPU of all Prazo processes, beside a bare page of Streamlit, as people click.

The processes are real: `prazo receive` and `prazo dashboard` over PRAZO_BENCH_CLICKS processes
(300,000 by default), while five deliveries a second come in. They run on one core; people and the
sender, this process, on the other. Thirty people, each with a session, click every five seconds,
for a while each kind of click, then by `MIX`. A click costs the CPU of that while, less what as
long a while takes without people, divided by the clicks, so that work which is done aside counts.
Last, nobody clicks, and five deliveries a minute come in.

The aims are those of the read side (docs/performance.md#what-a-click-costs). It takes fifteen
minutes.
"""

import http.client
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from pipeline import instants
from pipeline.inbox import open_inbox
from pipeline.log.deliveries import delivery
from pipeline.log.entries import INGESTED, Draft
from pipeline.log.ndjson import read_line
from tests.benchmarks.pages import BARE, Tab, _serving
from tests.benchmarks.rows import Row
from tests.benchmarks.soak import _prazo, settings_in
from tests.support.machine import free_port

PROCESSES: Final = int(os.environ.get("PRAZO_BENCH_CLICKS") or 300_000)
PROCESSES_OF_A_SELLER: Final = 3
ENTRIES_PER_COMMIT: Final = 5000
PEOPLE: Final = 30
BETWEEN_CLICKS: Final = 5.0
CROWD_SECONDS: Final = 30.0
QUIET_SECONDS: Final = 30.0
DELIVERIES_PER_SECOND: Final = 5.0
FOLLOWED_SECONDS: Final = 900
LATE_MS: Final = 1000
IDLE_SHARE: Final = 0.03

PAGES: Final = ("", "submissions", "denials", "findings", "ledger", "dictionary")
FIRST: Final = "the first after a start"
AGAIN: Final = "another instant, after its first visitor"
AIMS: Final = {
    FIRST: 150,
    "the same list": 8,
    "another process": 20,
    "another seller": 20,
    "another filter": 20,
    AGAIN: 60,
}
"""Bare pages that a click of a kind may cost."""
MIX: Final = {
    "the same list": 30,
    "another process": 25,
    "another filter": 15,
    "another seller": 10,
    "another instant": 10,
    "another page": 10,
}
"""Of a hundred clicks, how many are of which kind."""

STREET: Final = {"line1": "Rua das Flores, 12", "city": "Campinas"}
ADDRESS: Final = {
    **STREET,
    "line3": "Centro",
    "state": "SP",
    "postal_code": "13010000",
    "country_code": "BR",
}

STATES: Final = ("EXPIRED", "OVERDUE", "PENDING", "UNKNOWN", "FINISHED")
INSTANTS: Final = 6
"""People look back at the ends of so many days."""


def _process(number: int) -> str:
    return f"prc_{number:012d}"


def _seller(number: int) -> str:
    return f"sel_{number:012d}"


# --- what people look at -------------------------------------------------------------------------


def _event(
    number: int, process: int, opened_at: datetime, finished_at: datetime | None = None
) -> bytes:
    """What opens a process, or what finishes it; its deadline stays."""
    created_at, status = finished_at or opened_at, "PENDING" if process % 2 else "OVERDUE"
    if finished_at:
        status = "FINISHED"
    deadline = opened_at + timedelta(days=60 if process % 2 else 30)
    kind = "REGISTRATION_REVIEW" if process % 2 else "INCONSISTENT_DATA_UPDATE"
    return (
        f'{{"id":"evt_{number:012d}","type":"regulatory.registration.review.required",'
        f'"created_at":"{created_at:%Y-%m-%dT%H:%M:%SZ}","payload":{{"object":{{'
        f'"type":"{kind}_REQUIRED","process_id":"{_process(process)}",'
        f'"customer_id":"{_seller(process // PROCESSES_OF_A_SELLER)}","status":"{status}",'
        f'"deadline_at":"{deadline:%Y-%m-%dT%H:%M:%SZ}",'
        '"requested_fields":["revenue","address.line1","address.city"]}}}'
    ).encode()


def _past() -> Iterator[tuple[datetime, bytes, bool]]:
    """What happened in 90 days, when, and whether the platform has sent it, not we or the seller.
    Of three processes two are finished, by what the seller answered and we have sent."""
    now, numbers = datetime.now(UTC), itertools.count()
    for process in range(PROCESSES):
        opened = now - timedelta(days=90) * ((process * 7919 % PROCESSES) / PROCESSES)
        yield opened, _event(next(numbers), process, opened), True
        if process % 3:
            finished = min(now, opened + timedelta(days=20))
            yield finished, _event(next(numbers), process, opened, finished), True
            answered, ended = opened + (finished - opened) / 2, finished - timedelta(seconds=2)
            for instant, line in _submitted(process, answered, ended):
                yield instant, line, False


def _submitted(
    process: int, answered: datetime, ended: datetime
) -> Iterator[tuple[datetime, bytes]]:
    """The seller's answer, and the attempt that was accepted: lines of a file."""
    names = {
        "process_id": _process(process),
        "seller_id": _seller(process // PROCESSES_OF_A_SELLER),
    }
    attempt = {**names, "attempt_id": f"att_{process:012d}"}
    # An ACP needs all, an ACI takes what was requested alone.
    fields = {"revenue": "1000_to_5000", "address": ADDRESS if process % 2 else STREET}
    answer = {
        **{"kind": "collection", **names, "journey_id": f"jrn_{process:012d}"},
        **{"step": "answered", "channel": "web_form", "source": "seller"},
        **{"actor": "Seller", "fields": fields},
    }
    body = {"process_id": names["process_id"], "type": "individual", **fields}
    started = {"kind": "submission_started", **attempt, "body": body}
    finished = {"kind": "submission_finished", **attempt, "status": 200}
    began = ended - timedelta(seconds=1)
    for instant, line in ((answered, answer), (began, started), (ended, finished)):
        said = {**line, "occurred_at": instants.canonical(instants.from_datetime(instant))}
        yield instant, json.dumps(said).encode()


def _fill(inbox_path: str) -> None:
    """Takes in the past as a marketplace does that begins with Prazo: oldest first, from files."""
    past = iter(sorted(_past()))
    with closing(open_inbox(inbox_path)) as inbox:
        while some := [*itertools.islice(past, ENTRIES_PER_COMMIT)]:
            inbox.append([_draft(*it) for it in some])


def _draft(occurred_at: datetime, content: bytes, is_sent: bool) -> Draft:
    if not is_sent:
        return read_line(content, recorded_by="ingest")
    return delivery(
        content,
        occurred_at=instants.from_datetime(occurred_at),
        recorded_by="ingest",
        origin=INGESTED,
    )


class _Sender(threading.Thread):
    """Sends new reviews at a steady rate until it is stopped."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.rate = DELIVERIES_PER_SECOND
        self.is_over = threading.Event()
        self._port = port

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        for number in itertools.count(10 * PROCESSES):
            if self.is_over.wait(1 / self.rate):
                break
            body = _event(number, number, datetime.now(UTC))
            connection.request("POST", "/webhooks", body)
            if (answer := connection.getresponse()).status != 200:
                raise SystemExit(f"a delivery was answered {answer.status}")
            answer.read()
        connection.close()


# --- clicks --------------------------------------------------------------------------------------


class _Clicks:
    """Where each next click of a kind leads: a page and its query."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._numbers = itertools.count(seed * 1000)
        self._day = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)

    def of(self, kind: str) -> tuple[str, str]:
        """The next of a kind of `MIX`."""
        match kind:
            case "the same list":
                return "watchlist", ""
            case "another process":
                return "process", f"process={_process(self._any(PROCESSES))}"
            case "another seller":
                sellers = PROCESSES // PROCESSES_OF_A_SELLER
                return "seller", f"seller_id={_seller(self._any(sellers))}"
            case "another filter":
                few = self._random.sample(STATES, self._random.randint(1, 3))
                return (
                    "watchlist",
                    f"state={','.join(few)}&type={self._random.choice(['ACP', 'ACI'])}",
                )
            case "another instant":
                return "", f"as_of={self._instant(self._random.randint(1, INSTANTS))}"
            case _:
                return self._random.choice(PAGES), ""

    def instants(self) -> Iterator[tuple[str, str]]:
        """All to which clicks look back."""
        return (("", f"as_of={self._instant(it + 1)}") for it in range(INSTANTS))

    def _any(self, below: int) -> int:
        return next(self._numbers) * 7919 % below

    def _instant(self, days: int) -> str:
        return f"{self._day - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"

    def mixed(self) -> tuple[str, str]:
        """The next of any kind, by `MIX`."""
        [kind] = self._random.choices([*MIX], [*MIX.values()])
        return self.of(kind)


class _Person:
    """Somebody who clicks in one tab. One who has looked back looks at now again in a new one,
    since a session stays at its instant."""

    _looks_back = False

    def __init__(self, port: int, seed: int) -> None:
        self.clicks = _Clicks(seed)
        self._port = port
        self._tab = Tab(port)

    def click(self, page: str, query: str) -> float:
        """Milliseconds until the page has run."""
        looked_back, self._looks_back = self._looks_back, query.startswith("as_of=")
        if looked_back and not self._looks_back:
            self.close()
            self._tab = Tab(self._port)
        return self._tab.run(page, query)

    def close(self) -> None:
        self._tab.close()


class _Measured:
    """CPU seconds of processes, exact and with threads that have ended."""

    def __init__(self, *processes: int) -> None:
        self._clocks = [(~it << 3) | 2 for it in processes]  # as clock_getcpuclockid(3) makes them

    def seconds(self) -> float:
        """All that they have used since they began."""
        return sum(time.clock_gettime(it) for it in self._clocks)

    def of(self, seconds: float, what: Callable[[], object] = lambda: None) -> float:
        """CPU seconds from now on, for as long; `what`: called at once."""
        before, began = self.seconds(), time.monotonic()
        what()
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        return self.seconds() - before


# --- the run -------------------------------------------------------------------------------------


@contextmanager
def _on_core(core: int) -> Iterator[None]:
    """Processes that are started in the block run on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[core % len(before)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _bare_seconds(folder: Path) -> float:
    """What a click costs on a page that says one word, measured as the others are."""
    bare = folder / "bare.py"
    bare.write_text(BARE)
    with _on_core(0), _serving("-m", "streamlit", "run", str(bare)) as (port, server):
        cpu = _Measured(server)
        with _on_core(1):
            quiet = cpu.of(BETWEEN_CLICKS) / BETWEEN_CLICKS
            return _crowd(port, cpu, quiet, lambda _clicks: ("", "")).cost


def run() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="prazo-bench-") as name, ExitStack() as running:
        folder = Path(name)
        bare = _bare_seconds(folder)
        receiver_port, port = free_port(), free_port()
        environment = settings_in(folder, receiver_port, port)
        _fill(environment["PRAZO_INBOX"])
        with _on_core(0):
            receiver = running.enter_context(_prazo("receive", receiver_port, environment, folder))
            _followed(folder, environment)
            dashboard = running.enter_context(_prazo("dashboard", port, environment, folder))
        with _on_core(1):
            sender = _Sender(receiver_port)
            sender.start()
            running.callback(sender.is_over.set)
            cpu = _Measured(receiver, dashboard)
            return [*_people(port, cpu, bare), _idle(sender, cpu)]


def _followed(folder: Path, environment: dict[str, str]) -> None:
    """Has the ledger made, so that the dashboard starts over one that is up to date."""
    subprocess.run(
        [sys.executable, "-m", "pipeline.cli", "rebuild"],
        env={**os.environ, **environment},
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=FOLLOWED_SECONDS,
    )


def _people(port: int, cpu: _Measured, bare: float) -> Iterator[Row]:
    person = _Person(port, 1)
    costs = {FIRST: cpu.of(BETWEEN_CLICKS, partial(person.click, "", ""))}
    time.sleep(QUIET_SECONDS)  # what the first one began ends
    quiet = cpu.of(QUIET_SECONDS) / QUIET_SECONDS
    for kind in MIX:
        if kind == "another instant":
            there = [partial(person.click, *it) for it in person.clicks.instants()]
            costs[kind] = statistics.median(cpu.of(BETWEEN_CLICKS, it) for it in there)
            costs[kind] -= quiet * BETWEEN_CLICKS
        cost = _crowd(port, cpu, quiet, lambda clicks, kind=kind: clicks.of(kind)).cost
        costs[AGAIN if kind == "another instant" else kind] = cost
    person.close()
    for kind, cost in costs.items():
        aim = AIMS.get(kind)
        yield Row(
            f"clicks: {kind}, aim / bare pages" if aim else f"clicks: {kind}, 1 / bare pages",
            (aim or 1) / (cost / bare),
            f"{cost * 1000:.0f} ms of CPU, {cost / bare:.0f} bare pages of {bare * 1000:.1f} ms",
            1 if aim else None,
        )
    crowd = _crowd(port, cpu, quiet, _Clicks.mixed)
    p95 = sorted(crowd.took)[int(len(crowd.took) * 0.95)]
    yield Row(
        f"clicks: {PEOPLE} people, p95",
        LATE_MS / p95,
        f"p50 {statistics.median(crowd.took):.0f} ms, p95 {p95:.0f} ms, {len(crowd.took)} clicks,"
        f" {crowd.cost * 1000:.0f} ms of CPU each, {crowd.cost / bare:.0f} bare pages",
        1,
    )


class _Crowd(NamedTuple):
    """What `PEOPLE` clicked."""

    took: Sequence[float]  # milliseconds
    cost: float  # CPU seconds of a click


def _crowd(
    port: int, cpu: _Measured, quiet: float, where: Callable[[_Clicks], tuple[str, str]]
) -> _Crowd:
    """What clicks of `where` cost, without the first one of each session. `quiet`: seconds of CPU
    that a second takes without people."""
    took: list[float] = []
    is_over = threading.Event()

    def click(number: int) -> None:
        person = _Person(port, 100 + number)
        is_over.wait(number * BETWEEN_CLICKS / PEOPLE)
        while not is_over.is_set():
            began = time.monotonic()
            took.append(person.click(*where(person.clicks)))
            is_over.wait(max(0.0, began + BETWEEN_CLICKS - time.monotonic()))
        person.close()

    people = [threading.Thread(target=click, args=(it,)) for it in range(PEOPLE)]
    for person in people:
        person.start()
    time.sleep(2 * BETWEEN_CLICKS)
    took.clear()
    began = time.monotonic()
    used = cpu.of(CROWD_SECONDS) - quiet * (time.monotonic() - began)
    counted = [*took]
    is_over.set()
    for person in people:
        person.join()
    return _Crowd(counted, used / len(counted))


def _idle(sender: _Sender, cpu: _Measured) -> Row:
    sender.rate = 5 / 60
    time.sleep(QUIET_SECONDS)  # what is made while people look ends
    share = cpu.of(2 * QUIET_SECONDS) / (2 * QUIET_SECONDS)
    return Row(
        "clicks: nobody, five deliveries a minute, aim / share of a core",
        IDLE_SHARE / share,
        f"{share:.1%} of a core",
        1,
    )
