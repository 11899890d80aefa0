"""Two neighbouring releases share one inbox while deliveries come in: each part is restarted by the
newer one in turn, and nothing that was acknowledged is lost; on one machine, and back again, and on
several before PostgreSQL, as docs/deployment.md has them, where each part is killed, too.

Nothing of before was released: the newer one is this tree with one more step of the inbox's tables.
"""

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.inbox import schema
from pipeline.release import release
from tests.fixtures import LATER
from tests.release.composed import Deployed
from tests.release.installed import ROOT, UV, Installed, end, install, status
from tests.support.machine import free_port, wait_until
from tests.support.postgres import PostgresServer
from tests.support.sqlite import opened

NEWER = "99.1.0"
ENOUGH = 100
"""Deliveries that each stage of the upgrade takes."""


@pytest.fixture(scope="module")
def newer_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree, out = tmp_path_factory.mktemp("newer") / "tree", tmp_path_factory.mktemp("newer_dist")
    for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    for engine in ("sqlite", "postgres"):
        step = f"{engine}_{LATER[0]}.sql"
        shutil.copy(ROOT / "tests/fixtures/later" / step, tree / "pipeline/inbox/schema" / step)
    _change(tree / "pyproject.toml", f'version = "{release()}"', f'version = "{NEWER}"')
    ours, theirs = (f"VERSION: Final = {it}\n" for it in (schema.VERSION, LATER[0]))
    _change(tree / "pipeline/inbox/schema/__init__.py", ours, theirs)
    build = ("build", "--quiet", "--wheel", "--offline", "--no-build-isolation")
    command = [UV, *build, "--python", ROOT / ".venv/bin/python", "--out-dir", out]
    subprocess.run(command, cwd=tree, check=True)
    return next(out.glob("*.whl"))


def _change(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1
    file.write_text(text.replace(before, after), encoding="utf-8")


@pytest.fixture(scope="module")
def releases(
    wheel: Path, newer_wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Installed, Installed]:
    """The older one and the newer one."""
    folder, this = tmp_path_factory.mktemp("installed"), Path(sys.executable)
    return install(wheel, this, folder / "older"), install(newer_wheel, this, folder / "newer")


class Load:
    """Deliveries without a pause, as the platform sends them: what is not answered 200 comes again,
    to any receiver."""

    def __init__(self, *ports: int) -> None:
        self.ports = list(ports)
        """Where receivers listen."""
        self.acknowledged: list[str] = []
        self.not_taken = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        number = 0
        while not self._over.is_set():
            name = f"evt_{len(self.acknowledged)}"
            number += 1
            seller = {"object": {"id": "sel_1"}}
            event = {"id": name, "type": "seller.updated", "payload": seller}
            if self.is_taken(json.dumps(event).encode(), number):
                self.acknowledged.append(name)
            else:
                self.not_taken += 1
                time.sleep(0.05)

    def is_taken(self, body: bytes, number: int) -> bool:
        """Whether a delivery is answered 200; `number`: how many were tried."""
        port = self.ports[number % len(self.ports)]
        request = urllib.request.Request(f"http://127.0.0.1:{port}/webhooks", body)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status == 200
        except (OSError, urllib.error.HTTPError):
            return False

    @contextmanager
    def going(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._thread.join()

    def goes_on(self) -> int:
        """Waits until enough more are acknowledged; how often one was not taken meanwhile."""
        seen, failed = len(self.acknowledged), self.not_taken
        wait_until(lambda: len(self.acknowledged) >= seen + ENOUGH, seconds=120, pause=0.1)
        return self.not_taken - failed


@pytest.mark.timeout(900)
def test_an_upgrade_part_by_part_loses_nothing_and_goes_back(
    releases: tuple[Installed, Installed], tmp_path: Path
) -> None:
    inbox = str(tmp_path / "inbox.db")
    first, second, ledger = free_port(), free_port(), free_port()
    place = {
        "PRAZO_HOME": str(tmp_path),
        "PRAZO_INBOX": inbox,
        "PRAZO_DASHBOARD_PORT": str(ledger),
        "PRAZO_RECEIVER_PORT": str(first),
    }
    older, newer = (replace(it, folder=tmp_path, environment=place) for it in releases)
    load = Load(first)

    def follows() -> bool:
        """Whether the ledger's holder is near the end of the inbox."""
        name = load.acknowledged[-1]
        return name in newer.run("show", "log_entries", "--where", f"event_id={name}").stdout

    with ExitStack() as running, load.going():
        old_ledger, old_receiver = ExitStack(), ExitStack()
        running.push(old_ledger)
        running.push(old_receiver)
        old_receiver.enter_context(older.running("receive", "--port", str(first)))
        load.goes_on()
        old_ledger.enter_context(older.running("follow"))

        refused = newer.run("show", "process_state")
        assert "`prazo migrate`" in refused.stderr
        rehearsed = newer.run("migrate", "--dry-run").stdout
        assert "Whatever runs may go on" in rehearsed
        assert re.search(rf"runs now: receiver of Prazo {re.escape(release())} ", rehearsed)
        migrated = newer.run("migrate")
        assert migrated.returncode == 0, migrated.stderr
        load.goes_on()
        wait_until(follows, seconds=60, pause=0.5)

        with newer.running("receive", "--port", str(second)):  # both releases record at once
            load.ports.append(second)
            load.goes_on()
            load.ports.remove(first)
            old_receiver.close()
            load.goes_on()
            said = newer.run("doctor").stdout
            assert f"ledger of Prazo {release()} (" in said
            old_ledger.close()
            with newer.running("follow"):
                wait_until(follows, seconds=120, pause=0.5)
                load.ports.append(first)
                with older.running("receive", "--port", str(first)):  # and back again
                    load.ports.remove(second)
                    load.goes_on()
                    load.ports[:] = [second]
                load.goes_on()
    with closing(opened(inbox)) as connection:
        asked = "select event_id from entries where kind = 'webhook'"
        recorded = {name for (name,) in connection.execute(asked)}
    assert set(load.acknowledged) <= recorded
    assert len(load.acknowledged) >= 6 * ENOUGH
    verified = newer.run("verify")
    assert verified.returncode == 0, verified.stdout
    by_older = older.run("verify")
    assert by_older.returncode == 3, by_older.stdout
    assert f"use Prazo {NEWER} or newer" in by_older.stdout


class LoadByProxy(Load):
    """Signed deliveries by way of nginx, which goes to the other receiver where one is away."""

    def __init__(self, shape: Deployed) -> None:
        super().__init__()
        self._shape = shape

    def is_taken(self, body: bytes, number: int) -> bool:
        return self._shape.deliver(body) == 200


class Part:
    """A part of a machine, which systemd would start again."""

    def __init__(self, command: str, port: int | None, place: Installed) -> None:
        self._command, self._port, self._home = command.split(), port, place
        self.begin()

    def begin(self, release: Installed | None = None) -> None:
        """Starts it, by another release from now on where one is given; returns once it answers."""
        if release is not None:
            self._home = replace(self._home, venv=release.venv)
        self._log = self._home.folder / f"{self._command[0]}.{time.monotonic_ns()}.log"
        self._process = self._home.start(self._log, *self._command)
        if self._port is not None:
            path = "/_stcore/health" if self._command == ["dashboard"] else "/readyz"
            address = f"http://127.0.0.1:{self._port}{path}"

            def answers() -> bool:
                assert self._process.poll() is None, self._log.read_text(encoding="utf-8")
                return status(address) == 200

            wait_until(answers, seconds=300, pause=0.2)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        of_streamlit = (0, -signal.SIGTERM, 143)
        end(self._process, self._log, of_streamlit if self._command == ["dashboard"] else (0,))

    def takes(self) -> bool:
        """Whether a receiver has recorded since it began: nginx leaves out for ten seconds one
        that did not answer."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics") as answer:
            return b'\nprazo_deliveries_total{recorded="new"} 0.0' not in answer.read()


def _events(inbox: str) -> set[str]:
    asked = "select event_id from prazo.entries where kind = 'webhook'"
    return {name for (name,) in PostgresServer.execute(inbox, asked)}


@pytest.mark.timeout(1800)
def test_several_machines_are_killed_upgraded_and_restored_elsewhere_under_load(
    releases: tuple[Installed, Installed], postgres: PostgresServer, tmp_path: Path
) -> None:
    """Machines are folders, and ports in place of addresses."""
    older, newer = releases
    shape = Deployed.make(tmp_path / "deploy")
    for name in ("inbox", "elsewhere"):
        postgres.execute(postgres.url(), f"create database {name} owner prazo")
    common = shape.settings() | shape.platform(str(shape.folder / "prazo"))
    common |= {
        "PRAZO_INBOX": postgres.url("inbox", user="prazo"),
        "PRAZO_ALLOW_REMOTE": "true",
        "PRAZO_DASHBOARD_PORT": str(shape.ports["dashboard"]),
    }

    def machine(number: int, **settings: str) -> Installed:
        folder = tmp_path / str(number)
        folder.mkdir()
        said = common | {"PRAZO_HOME": str(folder)} | settings
        return replace(older, folder=folder, environment=said)

    def receiver(number: int) -> Part:
        port = shape.ports[f"receiver-{number - 1}"]
        keeper = f"http://127.0.0.1:{shape.ports['dashboard']}"
        there = machine(number, PRAZO_KEEPER_URL=keeper, PRAZO_RECEIVER_PORT=str(port))
        return Part("receive", port, there)

    first = machine(1)
    parts = {"dashboard": Part("dashboard", shape.ports["dashboard"], first)}
    parts |= {"receiver 1": receiver(2), "receiver 2": receiver(3)}
    parts |= {"sender": Part("resume --follow", None, first)}
    first_by_newer = replace(first, venv=newer.venv)
    load = LoadByProxy(shape)

    def goes_on() -> None:
        load.goes_on()
        wait_until(lambda: parts["receiver 1"].takes() and parts["receiver 2"].takes())

    with ExitStack() as up:
        for part in parts.values():
            up.callback(part.kill)
        up.enter_context(shape.nginx())
        up.enter_context(load.going())
        for part in parts.values():
            goes_on()
            part.kill()
            load.goes_on()
            part.begin()
        goes_on()

        assert "Whatever runs may go on" in first_by_newer.run("migrate", "--dry-run").stdout
        assert (migrated := first_by_newer.run("migrate")).returncode == 0, migrated.stderr
        for name in ("receiver 1", "receiver 2", "sender", "dashboard"):
            goes_on()
            parts[name].end()
            load.goes_on()
            parts[name].begin(newer)
        goes_on()
        assert load.not_taken == 0, "one was away at a time"
        # Those that were killed are left out three minutes after they last said that they run.
        older_ones = f"of Prazo {release()} ("
        wait_until(
            lambda: older_ones not in first_by_newer.run("doctor").stdout, seconds=300, pause=5
        )

        postgres.stop(signal.SIGQUIT)
        wait_until(lambda: load.not_taken > 0)
        postgres.start()
        load.goes_on()

        kept, before = str(tmp_path / "backup"), list(load.acknowledged)
        backed_up = first_by_newer.run("backup", kept, "--with-keys")
        assert backed_up.returncode == 0, backed_up.stdout + backed_up.stderr
    assert set(load.acknowledged) <= _events(postgres.url("inbox"))
    elsewhere = replace(
        machine(4, PRAZO_INBOX=postgres.url("elsewhere", user="prazo")), venv=newer.venv
    )
    restored = elsewhere.run("restore", kept)
    assert restored.returncode == 0, restored.stdout + restored.stderr
    assert set(before) <= _events(postgres.url("elsewhere"))
