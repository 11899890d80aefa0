"""The parts of a whole system: real processes, real stores, networks between them.

With SQLite all of it is one machine. With PostgreSQL there are two, each with its clock and its way
to the server: the ledger is on the first, the resumer on the second, a receiver on both.
"""

import contextlib
import http.client
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from pipeline import memory
from pipeline.inbox import Inbox, open_inbox
from sandbox.server import Handle
from tests.faults.network import Network, between
from tests.faults.shim import ClockShim, FsyncShim, disk, library
from tests.laboratory.journal import Broken
from tests.laboratory.stable import Stable
from tests.ledger.older import Past, PostgresPast, SqlitePast
from tests.support.machine import free_port
from tests.support.marketplace import way_to
from tests.support.postgres import PostgresServer
from tests.support.stores import environment_in

TIMEOUT_SECONDS = 4.0
"""Of a submission: what no answer comes to in this time is sent again."""
PATIENCE_SECONDS = 90.0
"""For the system to be well again, once nothing is broken any more."""
END_SECONDS = 30.0
"""From SIGTERM to the end of a part, whatever hangs."""
COMMAND_SECONDS = 120.0
DISK_BYTES = 48 * 2**20
DATABASE = "laboratory"


class Reply(NamedTuple):
    """What came of a request; `status` is None where no answer came, and `body` says why."""

    status: int | None
    body: bytes
    seconds: float

    @property
    def said(self) -> Any:
        return json.loads(self.body)


class Done(NamedTuple):
    """A command's end and all that it said."""

    code: int | None
    out: str


@dataclass
class Machine:
    """A clock, and a way to the stores."""

    name: str
    clock: ClockShim
    environment: dict[str, str]
    to_database: Network | None = None


@dataclass
class Part:
    """One process of the product."""

    name: str
    machine: Machine
    arguments: tuple[str, ...]
    port: int
    stable: Stable
    log: Path
    pid: int | None = None
    is_frozen: bool = False
    environment: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        assert self.pid is None
        environment = {**self.machine.environment, **self.environment}
        self.pid = self.stable.start(self.arguments, environment, self.log)

    def kill(self) -> None:
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):  # it ended by itself
                os.kill(self.pid, signal.SIGKILL)
            self.stable.wait(self.pid, END_SECONDS)
        self.pid, self.is_frozen = None, False

    def terminate(self) -> int | None:
        """SIGTERM; its exit code, or None where it has not ended in time."""
        assert self.pid is not None
        self.thaw()
        os.kill(self.pid, signal.SIGTERM)
        code = self.stable.wait(self.pid, END_SECONDS)
        if code is not None:
            self.pid = None
        return code

    def freeze(self) -> None:
        if self.pid is not None:
            os.kill(self.pid, signal.SIGSTOP)
            self.is_frozen = True

    def thaw(self) -> None:
        if self.pid is not None:
            os.kill(self.pid, signal.SIGCONT)
        self.is_frozen = False

    @property
    def answers(self) -> bool:
        """Whether it can be expected to."""
        return self.pid is not None and not self.is_frozen


class World:
    """Everything that a run is about. Faults and operations act on its parts."""

    def __init__(
        self,
        folder: Path,
        platform: Handle,
        to_platform: Network,
        machines: Sequence[Machine],
        past: Past,
        stable: Stable,
        syncs: FsyncShim,
        server: PostgresServer | None,
        disk: Path | None,
    ) -> None:
        self.folder, self.platform, self.to_platform = folder, platform, to_platform
        self.machines, self.past, self.server, self.syncs = machines, past, server, syncs
        self.disk = disk
        """The file system of the inbox, where it is one of its own."""
        self.stable = stable
        self._number = 0
        first, last = machines[0], machines[-1]
        receivers = [first, last] if len(machines) > 1 else [first, first]
        self.receivers = [
            self._part(f"receiver-{number}", machine, "receive", "RECEIVER")
            for number, machine in enumerate(receivers)
        ]
        self.holder = self._part("holder", first, "follow", "DASHBOARD")
        self.resumers = [self._part("resumer", last, "resume", None)]
        for part in (*self.receivers, *self.resumers):
            part.environment["PRAZO_KEEPER_URL"] = f"http://127.0.0.1:{self.holder.port}"

    def _part(self, name: str, machine: Machine, command: str, listens: str | None) -> Part:
        port = free_port()
        arguments = (command, "--follow") if command == "resume" else (command,)
        part = Part(name, machine, arguments, port, self.stable, self.folder / f"{name}.log")
        if listens is not None:
            part.environment[f"PRAZO_{listens}_PORT"] = str(port)
        return part

    @property
    def parts(self) -> list[Part]:
        return [self.holder, *self.receivers, *self.resumers]

    def start(self) -> None:
        """All of it; the holder first, so that the log has its key."""
        for part in self.parts:
            part.start()
        self.settle()

    # --- asking ---

    def ask(
        self,
        part: Part,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request on a connection of its own. Of a frozen part nobody waits for an answer."""
        seconds = 30.0 if part.answers else 0.5
        connection = http.client.HTTPConnection("127.0.0.1", part.port, timeout=seconds)
        began = time.monotonic()
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return Reply(answer.status, answer.read(), time.monotonic() - began)
        except (OSError, http.client.HTTPException) as error:
            return Reply(None, repr(error).encode(), time.monotonic() - began)
        finally:
            connection.close()

    def command(self, *arguments: str, **environment: str) -> Done:
        """`prazo ARGUMENTS` on the machine of the ledger."""
        self._number += 1
        log = self.folder / f"command-{self._number}.log"
        given = {**self.machines[0].environment, **environment}
        given["PRAZO_DASHBOARD_PORT"] = str(self.holder.port)
        pid = self.stable.start(arguments, given, log)
        code = self.stable.wait(pid, COMMAND_SECONDS)
        if code is None:
            os.kill(pid, signal.SIGKILL)
            self.stable.wait(pid, END_SECONDS)
        out = log.read_text(encoding="utf-8", errors="replace")
        log.unlink()
        return Done(code, out)

    def status(self) -> dict[str, Any] | None:
        """What the ledger's holder says of itself; None where it says nothing."""
        reply = self.ask(self.holder, "GET", "/api/status")
        return reply.said if reply.status == 200 else None

    @contextlib.contextmanager
    def inbox(self) -> Iterator[Inbox]:
        """The inbox as it is on disk, past every network and shim."""
        inbox = open_inbox(self.past.location, create=False)
        try:
            yield inbox
        finally:
            inbox.close()

    # --- being well ---

    def settle(self, but: Sequence[Part] = ()) -> None:
        """Waits until all of it is well; `Broken` where that takes too long. `but`: parts that need
        not run."""
        until = time.monotonic() + PATIENCE_SECONDS
        while (fault := self._fault(but)) is not None:
            if time.monotonic() > until:
                raise Broken(f"not well again {PATIENCE_SECONDS:g} s after the last fault: {fault}")
            time.sleep(0.1)

    def _fault(self, but: Sequence[Part]) -> str | None:
        for part in self.parts:
            if part in but:
                continue
            if part.pid is None:
                part.start()
                return f"{part.name} did not run"
            if (code := self.stable.wait(part.pid, 0)) is not None:
                part.pid = None
                last = part.log.read_text(errors="replace")[-1500:]
                if code != 1:  # an inbox that was not there at its start; a supervisor starts again
                    raise Broken(f"{part.name} ended by itself with {code}: {last}")
                return f"{part.name} ended with 1: {last}"
        for part in self.receivers:
            reply = self.ask(part, "GET", "/readyz")
            if reply.status != 200:
                return f"{part.name} is not ready: {reply.body.decode(errors='replace')}"
        status = self.status()
        if status is None:
            return "the ledger's holder does not answer"
        is_level = status["last_seq"] == status["inbox_seq"]
        is_verified = status["is_verified"] or status["inbox_seq"] == 0
        return None if is_level and is_verified and not status["problem"] else f"{status}"

    def end(self) -> None:
        """Nothing is broken: every part ends by itself, well and in time."""
        for part in reversed(self.parts):
            if (code := part.terminate()) != 0:
                raise Broken(f"{part.name} ended with {code} after SIGTERM")

    def close(self) -> None:
        for part in self.parts:
            part.kill()


@contextlib.contextmanager
def world(
    folder: Path, platform: Handle, server: PostgresServer | None, stack: contextlib.ExitStack
) -> Iterator[World]:
    """A world that nobody has started yet; with a server its inbox is on PostgreSQL."""
    libraries = [stack.enter_context(library(it)) for it in ("clock_shim", "fsync_shim")]
    orders = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prazo-shim-")))
    to_platform = stack.enter_context(between("127.0.0.1", urlsplit(platform.url).port or 0))
    syncs = FsyncShim(libraries[1], orders / "syncs")
    preloaded = {"LD_PRELOAD": " ".join(map(str, libraries))}
    stable = Stable({**preloaded, memory.TUNABLES: memory.KEEPS_FREED})
    stack.callback(stable.close)
    small: Path | None = None
    machines = []
    for name in ("a", "b") if server else ("a",):
        home = folder / name
        home.mkdir()
        clock = ClockShim(libraries[0], orders / f"clock-{name}")
        environment = {
            **environment_in(home),
            **way_to(platform, folder),
            "PRAZO_PLATFORM_URL": f"https://127.0.0.1:{to_platform.port}",
            "PRAZO_REQUEST_TIMEOUT_SECONDS": f"{TIMEOUT_SECONDS:g}",
            "PRAZO_LEDGER_MEMORY": "512MB",
            "PRAZO_LEDGER_THREADS": "1",
            "CLOCK_SHIM_CONTROL": clock.env["CLOCK_SHIM_CONTROL"],
            "FSYNC_SHIM_CONTROL": syncs.env["FSYNC_SHIM_CONTROL"],
        }
        machines.append(Machine(name, clock, environment))
    past: Past
    if server is None:
        try:
            small = stack.enter_context(disk(folder / "disk", DISK_BYTES))
        except pytest.skip.Exception:
            (folder / "disk").rmdir()
            (folder / "disk").mkdir()
        (folder / "copies").mkdir()
        past = SqlitePast(folder / "disk" / "inbox.db", folder / "copies")
        machines[0].environment["PRAZO_INBOX"] = past.location
    else:
        server.execute(server.url(), f"drop database if exists {DATABASE} with (force)")
        there = urlsplit(server.new_database(DATABASE))
        past = PostgresPast(server, DATABASE)
        for machine in machines:
            machine.to_database = stack.enter_context(between("127.0.0.1", there.port or 0))
            way = there._replace(netloc=f"postgres@127.0.0.1:{machine.to_database.port}")
            machine.environment["PRAZO_INBOX"] = way.geturl()
    made = World(folder, platform, to_platform, machines, past, stable, syncs, server, small)
    try:
        yield made
    finally:
        made.close()
