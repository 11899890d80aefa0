"""The main job: 10,000 plain HTTP deliveries show right in the log, the command and the page.

The expected figures are counted by hand from what is sent:

    2,000 ACI whose deadline has passed      EXPIRED
    3,000 ACP opened 40 days ago             OVERDUE
    3,500 ACP opened today                   PENDING
      500 ACP opened today, then reported    FINISHED   (500 deliveries more)
      500 of the PENDING delivered again                (500 deliveries more)
"""

import http.client
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.acceptance.product import show, wait_for
from tests.support.dashboard import chromium
from tests.support.machine import free_port
from tests.support.stores import environment_in

SENDERS = 8
NOW = datetime.now(UTC).replace(microsecond=0)


def review(number: int, kind: str, opened: datetime, days: int, status: str) -> bytes:
    return json.dumps(
        {
            "id": f"evt_{number}_{status}",
            "type": "regulatory.registration.review.required",
            "created_at": opened.isoformat(),
            "payload": {
                "object": {
                    "type": kind,
                    "process_id": f"prc_{number:05}",
                    "customer_id": f"sel_{number % 3000:05}",
                    "status": status,
                    "deadline_at": (opened + timedelta(days=days)).isoformat(),
                    "requested_fields": ["revenue"],
                }
            },
        }
    ).encode()


def deliveries() -> list[bytes]:
    aci, acp = "INCONSISTENT_DATA_UPDATE_REQUIRED", "REGISTRATION_REVIEW_REQUIRED"
    late, tolerated = NOW - timedelta(days=31), NOW - timedelta(days=40)
    bodies = [review(it, aci, late, 30, "OVERDUE") for it in range(2000)]
    bodies += [review(it, acp, tolerated, 60, "PENDING") for it in range(2000, 5000)]
    pending = [review(it, acp, NOW, 60, "PENDING") for it in range(5000, 9000)]
    finished = [review(it, acp, NOW, 60, "FINISHED") for it in range(8500, 9000)]
    return bodies + pending + finished + pending[:500]


@pytest.fixture
def served(tmp_path: Path):
    """`prazo serve` on free ports: the environment, the receiver's and the dashboard's port."""
    receiver_port, dashboard_port = free_port(), free_port()
    environment = {
        **os.environ,
        **environment_in(tmp_path),
        "PRAZO_RECEIVER_PORT": str(receiver_port),
        "PRAZO_DASHBOARD_PORT": str(dashboard_port),
    }
    root = Path(__file__).parent.parent.parent
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", "serve"],
        env=environment,
        cwd=root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(receiver_port, "/readyz")
        wait_for(dashboard_port, "/api/status")
        yield environment, receiver_port, dashboard_port
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def send(port: int, bodies: list[bytes]) -> list[str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    recorded = []
    for body in bodies:
        connection.request("POST", "/webhooks", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        recorded.append(json.loads(content)["recorded"])
    connection.close()
    return recorded


@pytest.mark.timeout(400)
def test_ten_thousand_deliveries_show_right_everywhere(served):
    environment, receiver_port, dashboard_port = served
    bodies = deliveries()
    assert len(bodies) == 10_000
    with ThreadPoolExecutor(SENDERS) as senders:
        parts = [bodies[:9500][it::SENDERS] for it in range(SENDERS)]
        answers = [
            answer
            for part in senders.map(lambda p: send(receiver_port, p), parts)
            for answer in part
        ]
    assert answers == ["new"] * 9500
    assert send(receiver_port, bodies[9500:]) == ["again"] * 500

    [health] = show(environment, "ledger_health")
    assert (health["last_seq"], health["missing"], health["tree_size"]) == (10_000, 0, 10_000)
    assert (health["deliveries"], health["redeliveries"]) == (10_000, 500)

    states = [row["state"] for row in show(environment, "process_state")]
    assert {state: states.count(state) for state in set(states)} == {
        "EXPIRED": 2000,
        "OVERDUE": 3000,
        "PENDING": 3500,
        "FINISHED": 500,
    }
    watchlist = show(environment, "watchlist")
    assert len(watchlist) == 5000
    assert [row["state"] for row in watchlist[:2000]] == ["EXPIRED"] * 2000
    assert len(show(environment, "expired_processes")) == 2000
    assert sum(row["due"] for row in show(environment, "deadline_calendar")) == 8500
    assert len(show(environment, "redeliveries")) == 500

    assert shown_on_the_overview(dashboard_port) >= {"2,000", "3,000"}


def shown_on_the_overview(port: int) -> set[str]:
    """The figures in the overview's metrics, as a browser shows them."""
    with chromium() as browser:
        page = browser.new_page(locale="en-US")
        page.goto(f"http://127.0.0.1:{port}/")
        page.locator('[data-testid="stMetricValue"]').first.wait_for(timeout=60_000)
        page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
        figures = page.locator('[data-testid="stMetricValue"]').all_inner_texts()
    return {figure.strip() for figure in figures}
