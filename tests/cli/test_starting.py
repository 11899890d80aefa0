"""A command loads what it uses (docs/decisions/programs.md), and says why it does not start."""

import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.errors import PortTaken
from pipeline.inbox import open_inbox
from pipeline.receive import receiver
from pipeline.serve import api
from tests import depth
from tests.inbox.drafts import note
from tests.support.machine import free_port
from tests.support.stores import environment_in, settings_in

ASIDE = (
    *("jinja2", "streamlit", "pandas", "numpy", "pyarrow", "pydantic_settings", "dotenv"),
    *("pipeline.verify", "pipeline.alert_rules", "pipeline.log.ndjson"),
)
"""Each takes a command some hundredths of a second, and a few rows need none of them."""

PROGRAM = f"""
import contextlib, sys
from pipeline.cli import main
from pipeline.errors import PortTaken
with contextlib.suppress(SystemExit):
    main(sys.argv[1:], standalone_mode=False)
asked = "httpx" in sys.modules
aside = {ASIDE} + (("duckdb",) if asked else ("asyncio", "rich.progress"))
print("asked" if asked else "opened", [it for it in aside if it in sys.modules])
"""


@pytest.mark.parametrize("command", depth.few(["show watchlist", "show"], 2))
def test_rows_are_shown_without_what_only_audits_ask_others_or_draw(
    command: str, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    open_inbox(tmp_path / "data" / "inbox.db").close()
    assert _loaded_by(command, tmp_path) == "opened []"


def test_rows_that_another_process_has_are_shown_without_a_database(
    follower: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """So it is while the dashboard runs: commands loaded DuckDB, Arrow and pandas, a second of CPU,
    to print three rows that somebody else had found."""
    for form in ("table", "json", "csv"):
        command = f"show ledger_health --format {form}"
        assert _loaded_by(command, tmp_path, **environment) == "asked []"


def test_a_receiver_says_which_setting_is_misspelt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """`prazo doctor` said so, and nobody runs it at each start: deliveries were authenticated by
    nothing, and acknowledged into another inbox."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRAZO_WEBHOOK_AUHT", "hmac")
    monkeypatch.setattr(receiver, "serve", lambda _: None)
    assert CliRunner().invoke(main, ["receive"]).exit_code == 0
    said = "no setting PRAZO_WEBHOOK_AUHT, so it has no effect: is it PRAZO_WEBHOOK_AUTH?"
    assert said in caplog.text


def _loaded_by(command: str, folder: Path, **environment: str) -> str:
    """Whether it asked another process or opened the ledger, and what it loaded in vain."""
    shown = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command.split()],
        cwd=folder,
        env=environment or None,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert len(shown.stdout.splitlines()) > 1
    return shown.stdout.splitlines()[-1]


def test_a_dashboard_that_cannot_start_says_why_and_ends(tmp_path: Path) -> None:
    """For two of these reasons, and in a long run for all five.

    It printed a traceback and ended with 3, so that `prazo serve` started it on and on. Without
    its proxy's secrets it even ran: it held no ledger, answered 500 to everybody, and `prazo
    doctor` called the login well; without its provider nobody could log in."""
    (tmp_path / "roles").write_text("officer:groups:compliance\n")
    (tmp_path / "tokens").touch()
    lacking = {
        "PRAZO_LOGIN": "proxy",
        "PRAZO_ROLES_FILE": "roles",
        "PRAZO_API_TOKENS_FILE": "tokens",
        "PRAZO_PROXY_SECRET_FILE": "lacking",
    }
    without_provider = {**lacking, "PRAZO_LOGIN": "oidc", "PRAZO_OIDC_FILE": "roles"}
    unreached = {"PRAZO_INBOX": f"postgresql://ana@127.0.0.1:{free_port()}/prazo"}
    without_folder = {"PRAZO_LEDGER": "roles/ledger.duckdb"}
    listener = socket.create_server(("127.0.0.1", 0))
    taken = {"PRAZO_DASHBOARD_PORT": str(listener.getsockname()[1])}
    tried = depth.few(
        (
            (without_provider, 2, "The file roles cannot be used for a login"),
            (lacking, 2, "The file lacking"),
            (unreached, 1, "The inbox postgresql"),
            (without_folder, 1, "roles"),
            (taken, 1, "It cannot start here: port"),
        ),
        4,
    )
    starts = [
        subprocess.Popen(
            [sys.executable, "-m", "pipeline.cli", "dashboard"],
            cwd=tmp_path,
            env=os.environ
            | environment_in(tmp_path)
            | {"PRAZO_DASHBOARD_PORT": str(free_port())}
            | settings,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for settings, _, _ in tried
    ]
    try:
        ends = [(*start.communicate(timeout=150), start.returncode) for start in starts]
    finally:
        listener.close()
        for start in starts:
            start.kill()
    for (_, said, code), (_, expected, what) in zip(ends, tried, strict=True):
        assert code == expected
        assert said.startswith(f"Error: {what}")
        assert "\n  To fix it: " in said
        assert "Traceback" not in said
    assert "choose another with PRAZO_DASHBOARD_PORT" in ends[-1][1]


WITH_PATIENCE = """
from pipeline.http import holder
holder.IN_USE_SECONDS = 100.0
from pipeline.cli import run
run()
"""
"""The command, which waits longer than usual: on busy cores each of three takes seconds."""


@pytest.mark.long
def test_commands_that_read_at_once_wait_for_each_other(tmp_path: Path) -> None:
    """One of two ended with 1 and named a holder that had announced no address: the other."""
    environment = os.environ | environment_in(tmp_path)
    with closing(open_inbox(environment["PRAZO_INBOX"])) as inbox:
        inbox.append([note()])  # of a log without an entry `verify` cannot decide
    reading = [
        subprocess.Popen(
            [sys.executable, "-c", WITH_PATIENCE, *command.split()],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in ("show process_state --format csv", "show watchlist --format csv", "verify")
    ]
    ends = [(*it.communicate(timeout=120), it.returncode) for it in reading]
    assert [code for *_, code in ends] == [0, 0, 0], ends
    assert [said.split(",")[0] for said, *_ in ends[:2]] == ["process_id", "process_id"]


def test_one_port_is_not_meant_for_two() -> None:
    """The receiver had it, and the dashboard was started again and again for ever."""
    ended = CliRunner().invoke(main, ["serve", "--port", "8466", "--dashboard-port", "8466"])
    assert ended.exit_code == 2
    assert "port 8466, for the dashboard, is already meant for the receiver" in ended.output


def test_a_taken_port_ends_whatever_should_listen_there_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dashboard ended with 1, a receiver and a follower with 2, as if their settings were wrong:
    the port may be free in a moment."""
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        served = CliRunner().invoke(main, ["serve", "--port", str(port)])
        with pytest.raises(PortTaken) as refused:
            api.serve(
                settings_in(tmp_path, dashboard_port=port), is_keeper=True, without_bodies=False
            )
    assert (served.exit_code, refused.value.exit_code) == (1, 1)
    assert f"port {port}, for the receiver, is taken by" in served.output
