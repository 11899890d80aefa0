"""Two neighbouring releases share one inbox while deliveries come in: each part is restarted by the
newer one in turn, and back again, and nothing that was acknowledged is lost.

Nothing of before was released: the newer one is this tree with one more step of the inbox's tables.
"""

import json
import re
import shutil
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
from tests.release.installed import ROOT, UV, Installed, install
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
        self.acknowledged: list[str] = []
        self.not_taken = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        number = 0
        while not self._over.is_set():
            name = f"evt_{len(self.acknowledged)}"
            number += 1
            if self._is_taken(name, self.ports[number % len(self.ports)]):
                self.acknowledged.append(name)
            else:
                self.not_taken += 1
                time.sleep(0.05)

    def _is_taken(self, name: str, port: int) -> bool:
        seller = {"object": {"id": "sel_1"}}
        body = json.dumps({"id": name, "type": "seller.updated", "payload": seller}).encode()
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


def _events(inbox: str) -> list[str]:
    asked = "select event_id from {} where kind = 'webhook' order by seq"
    if inbox.startswith("postgresql"):
        return [name for (name,) in PostgresServer.execute(inbox, asked.format("prazo.entries"))]
    with closing(opened(inbox)) as connection:
        return [name for (name,) in connection.execute(asked.format("entries"))]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_an_upgrade_part_by_part_loses_nothing_and_goes_back(
    engine: str,
    releases: tuple[Installed, Installed],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    inbox = str(tmp_path / "inbox.db")
    if engine == "postgres":
        inbox = request.getfixturevalue("database")
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
    recorded = _events(inbox)
    assert set(load.acknowledged) <= set(recorded)
    assert len(load.acknowledged) >= 6 * ENOUGH
    verified = newer.run("verify")
    assert verified.returncode == 0, verified.stdout
    by_older = older.run("verify")
    assert by_older.returncode == 3, by_older.stdout
    assert f"use Prazo {NEWER} or newer" in by_older.stdout
