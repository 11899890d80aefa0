"""`prazo receive` as a process that a test starts, asks over real sockets, and ends as it likes."""

import http.client
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from pipeline.inbox import open_inbox
from pipeline.log.entries import Entry
from tests import fork_server
from tests.support.machine import free_port
from tests.support.soundness import all_entries, assert_sound

START_SECONDS = 60.0
STOP_SECONDS = 60.0
PATIENCE_SECONDS = 30.0
PRAZO_RECEIVE = ("-m", "pipeline.cli", "receive")


class Answer(NamedTuple):
    """One HTTP answer. Header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Wire:
    """One connection, on which a test writes what it wants."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self._incoming = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._incoming.close()
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def send_slowly(self, byte: bytes, seconds: float) -> None:
        """A byte each tenth of a second; OSError once the other side has closed."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.send(byte)
            time.sleep(0.1)

    def send_much(self, data: bytes, size: int) -> None:
        """The data over and over; OSError once the other side has closed."""
        for _ in range(size // len(data)):
            self.send(data)

    def stop_sending(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def next_line(self) -> bytes:
        return self._incoming.readline()

    def answer(self, method: str = "POST") -> Answer:
        """The next answer, which must be whole."""
        version, status, *_ = self.next_line().split(maxsplit=2)
        assert version == b"HTTP/1.1"
        fields = http.client.parse_headers(self._incoming)
        headers = {name.lower(): value for name, value in fields.items()}
        length = 0 if method == "HEAD" else int(headers["content-length"])
        body = self._incoming.read(length)
        assert len(body) == length
        return Answer(int(status), headers, body)

    def ends(self) -> bool:
        """Whether the other side closes, and says nothing more before."""
        try:
            return self._incoming.read(1) == b""
        except ConnectionResetError:
            return True

    def is_quiet_for(self, seconds: float) -> bool:
        """Whether the other side neither speaks nor closes."""
        readable, _, _ = select.select([self._socket], [], [], seconds)
        return not readable


class RunningReceiver:
    """One process. Several may share a folder, and so an inbox."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str],
        *,
        environment: Mapping[str, str] | None = None,
        program: Sequence[str] = PRAZO_RECEIVE,
    ) -> None:
        """`settings` are PRAZO_* variables without that prefix."""
        named = {
            "INBOX": str(folder / "inbox.db"),
            "RECEIVER_PORT": str(free_port()),
            **settings,
        }
        self.inbox = Path(named["INBOX"])
        self.port = int(named["RECEIVER_PORT"])
        self.log = folder / f"receiver-{self.port}.log"
        with self.log.open("wb") as log:
            self._process = fork_server.start(
                [sys.executable, *program],
                env={
                    **os.environ,
                    **(environment or {}),
                    **{f"PRAZO_{name}": it for name, it in named.items()},
                },
                cwd=folder,
                stderr=log,
            )

    def wait_until_up(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                with self.wire():
                    return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(self.log.read_text()) from None
                time.sleep(0.02)

    # --- asking ---

    def wire(self) -> Wire:
        return Wire(self.port)

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """One request on a connection of its own."""
        with self.wire() as wire:
            wire.send(
                request(method, path, body, {"Host": f"127.0.0.1:{self.port}", **(headers or {})})
            )
            return wire.answer(method)

    def deliver(self, body: bytes, headers: Mapping[str, str] | None = None) -> Answer:
        return self.ask("POST", "/webhooks", body, headers)

    # --- what is on disk ---

    def entries(self, **given: Any) -> list[Entry]:
        """The entries of its inbox that match; if nothing is given, all of a sound log."""
        with closing(open_inbox(self.inbox, create=False)) as inbox:
            if given:
                return inbox.find(**given)
            entries = all_entries(inbox)
            assert_sound(entries, inbox.log)
            return entries

    def entry(self, seq: int) -> Entry:
        with closing(open_inbox(self.inbox, create=False)) as inbox:
            [entry] = inbox.read(seq - 1, 1)
            return entry

    # --- its end ---

    def terminate(self) -> int:
        """SIGTERM; its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        return self._process.wait(timeout=STOP_SECONDS)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def receiver(
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] = PRAZO_RECEIVE,
    **settings: str,
) -> Iterator[RunningReceiver]:
    """A receiver that answers, killed at the end of the block if it still runs."""
    running = RunningReceiver(folder, settings, environment=environment, program=program)
    try:
        running.wait_until_up()
        yield running
    finally:
        running.kill()


def request(method: str, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    """The bytes of a request; with a Content-Length, unless the headers frame it otherwise."""
    framed = {name.lower() for name in headers} & {"content-length", "transfer-encoding"}
    fields = dict(headers) if framed else {**headers, "Content-Length": str(len(body))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {it}" for name, it in fields.items())]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body
