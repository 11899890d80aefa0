"""`prazo export`, `verify` and `checkpoint` as a person runs them."""

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import from_json, to_json
from pipeline.cli import main
from pipeline.errors import WrongUsage
from pipeline.files.locks import locked
from pipeline.http.holder import find
from pipeline.log.checkpoints import Cosigner
from pipeline.memory import KEEPS_FREED, TUNABLES
from pipeline.settings import Settings
from tests.audit import forgery
from tests.audit.conftest import (
    EVERYTHING,
    command,
    entries_alone,
    environment,
    no_rows,
    request,
)
from tests.support.machine import free_port, wait_until
from tests.support.stores import settings_in


@entries_alone
@no_rows
def test_the_commands_export_and_verify(settings: Settings, tmp_path: Path) -> None:
    asked = ("export", "--process", "p1", "--out", "p1.zip", "--reason", "audit")
    assert command(settings, *asked).returncode == 2, "an actor is needed"
    unscoped = command(settings, "export", *asked[3:], "--actor", "Ana")
    assert unscoped.stderr.endswith("--process ID, --seller ID, or --from T with --to T\n")
    exported = command(settings, *asked, "--actor", "Ana")
    assert (exported.returncode, exported.stdout.splitlines()[0]) == (
        0,
        "p1.zip: 9 entries, 0 bodies withheld; the export is entry 17",
    )
    made = (tmp_path / "p1.zip").read_bytes()
    again = command(settings, *asked, "--actor", "Ana")  # which took the former one's place
    assert (again.returncode, "p1.zip is there already" in again.stderr) == (2, True)
    assert (tmp_path / "p1.zip").read_bytes() == made
    # As by another that makes it at this moment.
    with locked(tmp_path / ".p2.zip.lock", WrongUsage("It is locked already")):
        beside = command(settings, *asked, "--actor", "Ana", "--out", "p2.zip")
    assert (beside.returncode, "another `prazo export` is about to write" in beside.stderr) == (
        2,
        True,
    )
    key = command(settings, "checkpoint", "--key").stdout.strip()
    assert f"--key {shlex.quote(key)}" in exported.stdout
    (tmp_path / "now.note").write_text(command(settings, "checkpoint").stdout, encoding="utf-8")
    verified = command(settings, "verify", "p1.zip", "--key", key, "--against", "now.note")
    assert verified.returncode == 0
    assert verified.stdout.endswith("\nVERIFIED, but for what is not checked: 2 lines above\n")
    assert "the reports say what the tables say, in each language" in verified.stdout
    stores = command(settings, "verify", "--against", "now.note")
    assert (stores.returncode, stores.stdout.splitlines()[-1]) == (0, "VERIFIED")
    assert "  checked  17 entries stand in inbox and ledger" in stores.stdout
    named = ("--out", "p2.zip", "--actor", "Ana", "--against", "other.note")
    for given in (
        b"\xff not a note, which was a traceback",
        b"not a note, which ended with 1",
        b"",
    ):
        (tmp_path / "other.note").write_bytes(given)
        other = command(settings, *asked, *named)
        assert (other.returncode, "Error: --against" in other.stderr) == (2, True)
    files = forgery.read(tmp_path / "p1.zip")
    forgery.write(tmp_path / "p1.zip", {**files, "data/query.sql": b"select 1;"})
    refused = command(settings, "verify", "p1.zip", "--key", key)
    assert (refused.returncode, refused.stdout.splitlines()[-1][:13]) == (1, "NOT VERIFIED:")
    assert command(settings, "verify", "p1.zip", "--key", "none").returncode == 2
    for given in (("verify",), ("verify", "p1.zip")):
        wrong = command(settings, *given, "--against", "p1.zip")
        assert (wrong.returncode, wrong.stdout) == (2, ""), "a fault of the log, it once said"
        assert "--against is not a checkpoint" in wrong.stderr


@pytest.mark.parametrize("asked", [("verify",), ("checkpoint",)])
def test_a_wrong_path_is_not_an_empty_log(tmp_path: Path, asked: tuple[str, ...]) -> None:
    """What only reads never starts a log: VERIFIED over nothing would be worse than an error."""
    (tmp_path / "wrong").mkdir()
    done = command(settings_in(tmp_path / "wrong"), *asked)
    assert (done.returncode, done.stdout) == (1, "")
    assert "inbox.db" in done.stderr
    assert list((tmp_path / "wrong").iterdir()) == []


@pytest.fixture
def holder(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the ledger and answers over its API."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", "follow", "--port", str(port)],
        # With what it would begin again for, and import everything twice.
        env=environment(settings) | {TUNABLES: KEEPS_FREED},
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: find(settings.ledger) is not None or process.poll() is not None)
    yield process
    process.terminate()
    process.wait(30)


def test_the_commands_ask_whoever_holds_the_ledger(
    settings: Settings,
    tmp_path: Path,
    holder: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = ("export", "--seller", "s1", "--out", "s1.zip", "--reason", "audit", "--actor", "Ana")
    # The holder makes the package by its own settings: what ours ask for besides is named.
    witness = Cosigner("audit.example/w1", tmp_path / "witness.key").key
    (tmp_path / "policy").write_text(f"witness w1 {witness}\nquorum w1\n", encoding="utf-8")
    until = time.monotonic() + 60
    with monkeypatch.context() as ours:
        ours.setenv("PRAZO_WITNESSES_FILE", str(tmp_path / "policy"))
        while (done := command(settings, *asked)).returncode and time.monotonic() < until:
            time.sleep(0.5)
    assert done.returncode == 0, done.stderr
    assert "NOT COSIGNED as" in done.stderr
    assert holder.poll() is None
    proved = command(settings, "receipt", "5", "--out", "receipts")
    assert "stop `prazo serve`, `prazo dashboard` or `prazo follow`" in proved.stderr
    # Where its file cannot be written, nothing is recorded: it would say that a package was made,
    # and use up a second person's word.
    wrong = command(settings, *asked[:4], "lacking/s1.zip", *asked[5:])
    assert wrong.returncode == 2
    assert "there is no folder lacking: make it first" in wrong.stderr
    exports = command(settings, "show", "log_entries", "--where", "kind=export", "--format", "csv")
    assert len(exports.stdout.splitlines()) == 2
    assert verify_package(tmp_path / "s1.zip").faults == []
    stores = command(settings, "verify")
    assert (stores.returncode, stores.stdout.splitlines()[-1]) == (0, "VERIFIED")
    assert command(settings, "checkpoint").stdout.startswith("prazo/")


def test_a_witness_of_no_log_is_wrong_usage(tmp_path: Path) -> None:
    """It ended with 1, as where an answer is no, and left a key behind."""
    asked = ["witness", "--name", "w", "--log", "none", "--folder", str(tmp_path / "witness")]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 2
    assert "--log: This is not a verification key" in done.stderr
    assert not (tmp_path / "witness").exists()


def test_a_period_from_1970_on_is_asked_for_as_any_other() -> None:
    """`--from 1970-01-01T00:00:00Z`, for all there is, was answered `from is not a text` by whoever
    holds the ledger."""
    wanted = request(EVERYTHING)
    assert from_json(to_json(wanted), actor=None, recorded_by=wanted.recorded_by) == wanted
