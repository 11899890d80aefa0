"""A command that only reads waits 10 s for its ledger, whatever it finds, and then says how far
that is behind."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.continuity import appending
from pipeline.continuity.service import LedgerService
from pipeline.inbox import open_inbox
from pipeline.serve.ledger_access import Patience
from pipeline.settings import Settings
from tests import depth
from tests.support.commands import here
from tests.support.ledgers import draft
from tests.support.lines import seller
from tests.support.machine import free_port, wait_until
from tests.support.stores import environment_in, settings_in

ENTRIES = 60


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of an inbox whose keeper has left its head, and which has no ledger any more."""
    settings = settings_in(tmp_path)
    with closing(open_inbox(settings.inbox)) as inbox:
        drafts = [draft(seller("created", f"e{it}", seller_id=f"s{it}")) for it in range(ENTRIES)]
        inbox.append([it for it in drafts if it is not None])
    with closing(LedgerService(settings)) as service:
        service.catch_up()
    settings.ledger.unlink()
    return settings


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four entries take 0.3 s: with all of them it takes 4.5 s at least."""
    append = appending.Appending.append

    def slowly(self: appending.Appending, *args: object, **options: object) -> int:
        time.sleep(0.3)
        return append(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(appending, "MAX_ENTRIES_PER_BATCH", 4)
    monkeypatch.setattr(appending.Appending, "append", slowly)


@pytest.mark.long
@pytest.mark.parametrize("command", depth.few([("show", "seller_state"), ("checkpoint",)], 2))
def test_a_ledger_that_has_to_be_made_first_is_not_waited_for_to_its_end(
    command: tuple[str, ...],
    settings: Settings,
    slow: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`prazo show` waited 119 s where 10 are promised: the ledger was gone, and was made again to
    the head that its keeper had left before the first second was counted."""
    patience = Patience.__init__
    monkeypatch.setattr(Patience, "__init__", lambda self: patience(self, 1.0))
    done = here(*command, environment=environment_in(tmp_path), folder=tmp_path)
    assert done.returncode == 1
    found = re.search(r"Error: The ledger is still (\d+) entries behind the inbox", done.stderr)
    assert found is not None, done.stderr
    assert 0 < int(found[1]) < ENTRIES
    assert "let `prazo serve` or `prazo follow` make it" in done.stderr
    # What it took is not taken once more: so a few more commands come to the end, too.
    for _ in range(30):
        done = here(*command, environment=environment_in(tmp_path), folder=tmp_path)
        if done.returncode == 0:
            break
    assert done.returncode == 0


def test_what_needs_the_whole_log_waits_for_it(
    settings: Settings, slow: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience = Patience.__init__
    monkeypatch.setattr(Patience, "__init__", lambda self: patience(self, 0.5))
    package = ("export", "--seller", "s1", "--out", "p.zip", "--reason", "r", "--actor", "Ana")
    done = here(*package, environment=environment_in(tmp_path), folder=tmp_path)
    assert (done.returncode, (tmp_path / "p.zip").exists()) == (0, True)


@pytest.mark.long
def test_a_holder_that_is_paused_is_not_waited_for(settings: Settings, tmp_path: Path) -> None:
    """Neither for its address nor for the file that it goes on holding."""
    port = str(free_port())
    environment = os.environ | environment_in(tmp_path) | {"PRAZO_DASHBOARD_PORT": port}
    program = [sys.executable, "-m", "pipeline.cli"]
    holder = subprocess.Popen([*program, "follow"], env=environment, cwd=tmp_path)
    try:
        wait_until(lambda: Path(f"{settings.ledger}.holder").exists(), seconds=90)
        holder.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        shown = subprocess.run(
            [*program, "show", "seller_state"],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        waited = time.monotonic() - began
    finally:
        holder.send_signal(signal.SIGCONT)
        holder.terminate()
        holder.wait(60)
    assert shown.returncode == 1
    assert "another process goes on holding it" in shown.stderr
    assert waited < 30  # 10 s, two for its address, and what the start of a program takes here
