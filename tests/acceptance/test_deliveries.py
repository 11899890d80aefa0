"""The main job: plain HTTP deliveries show right in the log, the command and the page, 10,000 in a
long run and a twentieth of them in each.

The expected figures are counted by hand from what is sent, in units of 500 or 25:

    4 ACI whose deadline has passed      EXPIRED
    6 ACP opened 40 days ago             OVERDUE
    7 ACP opened today                   PENDING
    1 ACP opened today, then reported    FINISHED   (1 delivery more)
    1 of the PENDING delivered again                (1 delivery more)
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

from tests import depth
from tests.acceptance.product import show, wait_for
from tests.support.dashboard import chromium
from tests.support.machine import free_port
from tests.support.stores import environment_in

SENDERS = 8
UNIT = depth.rounds(25, 500)
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
                    "customer_id": f"sel_{number % (6 * UNIT):05}",
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

    def reviews(units: range, kind: str, opened: datetime, days: int, status: str) -> list[bytes]:
        numbers = range(units.start * UNIT, units.stop * UNIT)
        return [review(it, kind, opened, days, status) for it in numbers]

    pending = reviews(range(10, 18), acp, NOW, 60, "PENDING")
    return [
        *reviews(range(4), aci, late, 30, "OVERDUE"),
        *reviews(range(4, 10), acp, tolerated, 60, "PENDING"),
        *pending,
        *reviews(range(17, 18), acp, NOW, 60, "FINISHED"),
        *pending[:UNIT],
    ]


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
def test_deliveries_show_right_everywhere(served):
    environment, receiver_port, dashboard_port = served
    bodies = deliveries()
    assert len(bodies) == 20 * UNIT
    with ThreadPoolExecutor(SENDERS) as senders:
        parts = [bodies[:-UNIT][it::SENDERS] for it in range(SENDERS)]
        answers = [
            answer
            for part in senders.map(lambda p: send(receiver_port, p), parts)
            for answer in part
        ]
    assert answers == ["new"] * 19 * UNIT
    assert send(receiver_port, bodies[-UNIT:]) == ["again"] * UNIT

    [health] = show(environment, "ledger_health")
    assert (health["last_seq"], health["missing"], health["tree_size"]) == (20 * UNIT, 0, 20 * UNIT)
    assert (health["deliveries"], health["redeliveries"]) == (20 * UNIT, UNIT)

    states = [row["state"] for row in show(environment, "process_state")]
    assert {state: states.count(state) for state in set(states)} == {
        "EXPIRED": 4 * UNIT,
        "OVERDUE": 6 * UNIT,
        "PENDING": 7 * UNIT,
        "FINISHED": UNIT,
    }
    watchlist = show(environment, "watchlist")
    assert len(watchlist) == 10 * UNIT
    assert [row["state"] for row in watchlist[: 4 * UNIT]] == ["EXPIRED"] * 4 * UNIT
    assert len(show(environment, "expired_processes")) == 4 * UNIT
    assert sum(row["due"] for row in show(environment, "deadline_calendar")) == 17 * UNIT
    assert len(show(environment, "redeliveries")) == UNIT

    assert shown_on_the_overview(dashboard_port) >= {f"{4 * UNIT:,}", f"{6 * UNIT:,}"}


def shown_on_the_overview(port: int) -> set[str]:
    """The figures in the overview's metrics, as a browser shows them."""
    with chromium() as browser:
        page = browser.new_page(locale="en-US")
        page.goto(f"http://127.0.0.1:{port}/")
        page.locator('[data-testid="stMetricValue"]').first.wait_for(timeout=60_000)
        page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
        figures = page.locator('[data-testid="stMetricValue"]').all_inner_texts()
    return {figure.strip() for figure in figures}
