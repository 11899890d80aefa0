"""`make demo` comes up, shows every state at once, stays alive, and leaves nothing running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.acceptance.product import free_port, show, wait_for

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.timeout(400)
def test_the_demo_shows_every_state_and_goes_on_by_itself(tmp_path: Path):
    receiver_port, dashboard_port = free_port(), free_port()
    environment = {name: it for name, it in os.environ.items() if not name.startswith("PRAZO_")}
    folder = tmp_path / "demo"
    ports = ("--port", str(receiver_port), "--dashboard-port", str(dashboard_port))
    with (tmp_path / "log").open("wb") as log:
        demo = subprocess.Popen(
            [
                *(sys.executable, "-m", "pipeline.cli", "demo", "--folder", str(folder)),
                *(*ports, "--events-per-minute", "600"),
            ],
            env=environment,
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(receiver_port, "/readyz")
        wait_for(dashboard_port, "/_stcore/health")
        environment |= {
            "PRAZO_INBOX": str(folder / "inbox.db"),
            "PRAZO_LEDGER": str(folder / "ledger.duckdb"),
        }
        states = {row["state"] for row in show(environment, "process_state")}
        assert states == {"PENDING", "OVERDUE", "EXPIRED", "FINISHED"}
        statuses = {row["status"] for row in show(environment, "seller_state")}
        assert statuses >= {"enabled", "denied", "disabled", "deleted", "pending_analysis"}
        outcomes = {row["outcome"] for row in show(environment, "submission_attempts")}
        assert outcomes >= {"accepted", "platform_error", "invalid_payload", "timeout"}
        rules = {row["rule"] for row in show(environment, "findings")}
        assert "expired_unfinished" in rules
        assert "evidence_recorded_late" not in rules  # its past was recorded as it happened

        [before] = show(environment, "ledger_health")
        time.sleep(8)
        [after] = show(environment, "ledger_health")
        assert after["last_seq"] > before["last_seq"]
        assert after["missing"] == 0
    finally:
        demo.send_signal(signal.SIGTERM)
        code = demo.wait(90)
    assert code == 0
    left = subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, check=False)
    assert left.stdout == b""
