"""How long the server works on a page, beside a page that shows one word.

Pages run over a ledger of PRAZO_BENCH_PAGES_ENTRIES entries (five million by default, a million
processes), asked over Streamlit's own web socket, as a browser does: from the request to run a page
to the message that it has run. Warm: each page ran before. Then ten people click once a second,
each at moments of their own, and then all at the same moments. All the while the ledger says five
times a second that it has grown, so that no answer of before is the answer of now.

    python -m tests.benchmarks.pages PORT LEDGER     serves the dashboard over such a ledger
"""

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from pipeline import instants
from tests.benchmarks import queries
from tests.benchmarks.rows import Row
from tests.support.machine import free_port

ENTRIES: Final = int(os.environ.get("PRAZO_BENCH_PAGES_ENTRIES", "5000000"))
ROUNDS: Final = 7
PEOPLE: Final = 10
CLICKS_OF_EACH: Final = 20
START_SECONDS: Final = 120
WARM_MS: Final = 50
CLICK_MS: Final = {"at moments of their own": 400, "all at once": 650}
BATCH_SECONDS: Final = 0.2
PAGES: Final = {
    "overview": "",
    "watchlist": "",
    "findings": "",
    "process": f"process={queries.named('prc', 300)}",
    "seller": f"seller_id={queries.named('sel', 100)}",
    "submissions": "",
    "denials": "",
    "trends": "",
    "evidence": f"subject={queries.named('prc', 300)}",
    "ledger": "",
    "dictionary": "",
}
BARE: Final = "import streamlit as st\nst.write('Prazo')\n"


class Tab:
    """One session with the server, as a browser's tab has it."""

    def __init__(self, port: int) -> None:
        url = f"ws://127.0.0.1:{port}/_stcore/stream"
        self._socket: ClientConnection = connect(
            url, subprotocols=["streamlit"], max_size=None, proxy=None
        )

    def run(self, page: str = "", query: str = "") -> float:
        """Milliseconds until the page has run."""
        ask = BackMsg()
        ask.rerun_script.page_name = page
        ask.rerun_script.query_string = query
        ask.rerun_script.context_info.timezone = "America/Sao_Paulo"
        ask.rerun_script.context_info.locale = "en-GB"
        started = time.perf_counter()
        self._socket.send(ask.SerializeToString())
        while True:
            message = ForwardMsg()
            message.ParseFromString(self._socket.recv(timeout=120))
            if message.delta.new_element.WhichOneof("type") in ("exception", "alert"):
                self._note(page, message)
            if message.WhichOneof("type") == "script_finished":
                break
        return (time.perf_counter() - started) * 1000

    @staticmethod
    def _note(page: str, message: ForwardMsg) -> None:
        """A page that failed took no time worth printing."""
        element = message.delta.new_element
        if element.HasField("exception") or element.alert.format == Alert.ERROR:
            raise SystemExit(f"the page {page or 'overview'} failed: {element}")

    def close(self) -> None:
        self._socket.close()


def run() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="prazo-bench-") as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE)
        ledger = Path(folder) / "bench.duckdb"
        queries.make(ledger, ENTRIES).close()
        with (
            _serving("-m", "streamlit", "run", str(bare)) as (bare_port, _),
            _serving("-m", __name__, str(ledger)) as (port, server),
        ):
            ceiling = _warm(bare_port, "", "")
            rows = [
                Row(
                    f"pages: {page}, warm",
                    WARM_MS / took,
                    f"{took:.0f} ms, {took / ceiling:.1f} bare pages of {ceiling:.0f} ms,"
                    f" aim {WARM_MS} ms",
                    1,
                )
                for page, query in PAGES.items()
                for took in [_warm(port, "" if page == "overview" else page, query)]
            ]
            return [*rows, _all_beside_the_late(port), *_crowd(port, server, ceiling)]


def _all_beside_the_late(port: int) -> Row:
    """The list of every process of 90 days, finished ones too, beside the Watchlist."""
    late = _warm(port, "watchlist", "")
    every = _warm(port, "process", "opened=90")
    return Row(
        "pages: all processes of 90 days, beside the Watchlist",
        late / every,
        f"{every:.0f} ms, Watchlist {late:.0f} ms",
        1 / 1.5,
    )


def _warm(port: int, page: str, query: str) -> float:
    tab = Tab(port)
    try:
        tab.run(page, query)
        return statistics.median(tab.run(page, query) for _ in range(ROUNDS))
    finally:
        tab.close()


def _crowd(port: int, server: int, ceiling: float) -> Iterator[Row]:
    """Ten people, each with another page and a click a second; what a session keeps must not grow
    with its clicks."""
    before = _resident_mb(server)
    tabs = [Tab(port) for _ in range(PEOPLE)]

    def click(number: int, wait: float, took: list[float]) -> None:
        time.sleep(wait)
        pages = list(PAGES.items())
        for turn in range(CLICKS_OF_EACH):
            page, query = pages[(number + turn) % len(pages)]
            began = time.perf_counter()
            took.append(tabs[number].run("" if page == "overview" else page, query))
            time.sleep(max(0.0, began + 1 - time.perf_counter()))

    held = []
    for when, aim in CLICK_MS.items():
        apart = 0.0 if when == "all at once" else 1 / PEOPLE
        took: list[float] = []
        began, worked = time.monotonic(), _cpu_seconds(server)
        people = [
            threading.Thread(target=click, args=(number, number * apart, took))
            for number in range(PEOPLE)
        ]
        for person in people:
            person.start()
        for person in people:
            person.join()
        held.append((_resident_mb(server) - before) / PEOPLE)
        cores = (_cpu_seconds(server) - worked) / (time.monotonic() - began)
        p95 = sorted(took)[int(len(took) * 0.95)]
        yield Row(
            f"pages: ten people, a click a second, {when}, p95",
            aim / p95,
            f"p50 {statistics.median(took):.0f} ms, p95 {p95:.0f} ms,"
            f" {p95 / ceiling:.1f} bare pages, {cores:.1f} cores, aim {aim} ms",
            1,
        )
    yield Row(
        "pages: memory of a session, after once / twice the clicks",
        held[0] / held[1],
        f"{held[0]:.0f} MB, then {held[1]:.0f} MB; {before:.0f} MB before",
    )
    for tab in tabs:
        tab.close()


def _resident_mb(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _serving(*command: str) -> Iterator[tuple[int, int]]:
    """A server in a process of its own; its port and its process."""
    port = free_port()
    if "streamlit" in command:
        command = (*command, "--server.port", str(port))
    else:
        command = (*command[:2], str(port), *command[2:])
    server = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                Tab(port).close()
                break
            except OSError:
                if server.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"{command} did not start") from None
                time.sleep(0.2)
        yield port, server.pid
    finally:
        server.terminate()
        server.wait(30)


# --- the dashboard over a ledger that was made, and has no inbox ----------------------------------


@dataclass(eq=False)
class _Bench:
    """As much of `LedgerService` as pages ask for."""

    settings: Any
    ledger: Any
    reader: Any
    inbox: Any = field(
        default_factory=lambda: SimpleNamespace(
            log="bench",
            log_key=b"k" * 32,
            checkpoint=None,
            clock=instants.now,
            machine=SimpleNamespace(doubted=None),
        )
    )
    signer: Any = None
    tokens: Any = None
    alert_rules: Any = None

    def now(self) -> int:
        return instants.now()

    def status(self) -> Any:
        from pipeline.continuity.follower import Status

        return Status(self.ledger.size, self.ledger.size, 0, 0.0, True, None, None)

    def checkpoint(self) -> None:
        return None


def _grow(ledger: Any, is_over: threading.Event) -> None:
    while not is_over.wait(BATCH_SECONDS):
        ledger.frontier.extend([b"\0" * 32])


def _serve(port: int, path: Path) -> None:
    import uvicorn

    from pipeline.alert_rules import AlertsFile
    from pipeline.continuity import service
    from pipeline.http.tokens import Tokens
    from pipeline.ledger.facts import Keys
    from pipeline.ledger.file import close_once_read
    from pipeline.ledger.store import Ledger
    from pipeline.ledger.views.reader import Reader
    from pipeline.settings import Settings

    @contextmanager
    def over_this_ledger(settings: Settings) -> Iterator[_Bench]:
        keys = Keys(values=b"v" * 32, taxpayer=b"t" * 32)
        ledger = Ledger(path, log="bench", keys=keys, threads=2)
        held = _Bench(
            settings,
            ledger,
            Reader(ledger),
            tokens=Tokens(None),
            alert_rules=AlertsFile(settings.alerts_file),
        )
        service._anchor().service = held  # type: ignore[assignment]
        is_over = threading.Event()
        growing = threading.Thread(target=_grow, args=(ledger, is_over))
        growing.start()
        try:
            yield held
        finally:
            is_over.set()
            growing.join()
            close_once_read(ledger.path, ledger.close)

    service.ledger_service = over_this_ledger  # type: ignore[assignment]
    from app import app  # only now: it takes the ledger from what was put in place above

    uvicorn.run(app, host="127.0.0.1", port=port, log_config=None, access_log=False)


def main(arguments: Sequence[str]) -> None:
    _serve(int(arguments[0]), Path(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
