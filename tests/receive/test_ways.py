"""Whatever cannot be recorded is counted, and takes part in whether a receiver is ready."""

import json
import re
import shutil
import time
from pathlib import Path

from sandbox.server import Handle
from tests.faults.shim import FsyncShim
from tests.receive.conftest import Start
from tests.receive.test_collections import multipart
from tests.support.events import event
from tests.support.marketplace import way_to
from tests.support.receiver import Answer, RunningReceiver

COLLECTION = {
    "occurred_at": "2026-11-02T10:00:00.000Z",
    "process_id": "prc_1",
    "seller_id": "s_1",
    "journey_id": "j_1",
    "step": "answered",
    "channel": "web_form",
    "source": "seller",
    "fields": {"revenue": "5000_to_10000"},
}
LINK = {"process_id": "prc_1"}


def collect(running: RunningReceiver, screen: bytes, number: int = 0) -> Answer:
    """Posts a collection with one screen, another one for each number."""
    content = {**COLLECTION, "journey_id": f"j_{number}", "artifacts": [{"name": "a.png"}]}
    body, kind = multipart(
        [
            ("collection", None, "application/json", json.dumps(content).encode()),
            ("file", "a.png", "image/png", screen),
        ]
    )
    return running.ask("POST", "/v1/collections", body, {"Content-Type": kind})


def shown(running: RunningReceiver) -> dict[str, float]:
    """Series -> value, of what is not taken and of stores."""
    text = running.ask("GET", "/metrics").body.decode()
    found = re.findall(r"^(prazo_(?:inbox_unavail|refused|store)\S+) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found if not name.endswith("created")}


def unready(running: RunningReceiver, path: str = "/readyz") -> tuple[int, list[str], str]:
    """The status of an answer, the stores that are not ready, and why."""
    time.sleep(1.1)  # readiness is looked at once a second
    answer = running.ask("GET", path)
    said = json.loads(answer.body)
    return answer.status, said.get("stores", []), said.get("error", "")


def fill(disk: Path) -> Path:
    """Takes all that is free there."""
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(disk).free))
    return ballast


def test_a_full_disk_of_the_artifacts_is_counted_and_not_ready_while_deliveries_go_on(
    start: Start, small_disk: Path
):
    """112 of 112 collections were answered 503, the count stayed 0, and `/readyz` said 200."""
    running = start(ARTIFACTS=str(small_disk / "artifacts"))
    assert collect(running, b"one screen").status == 200
    assert shown(running)['prazo_store_ready{store="artifacts"}'] == 1
    ballast = fill(small_disk)
    assert [collect(running, b"x" * 9000, it).status for it in range(1, 4)] == [503] * 3
    found = shown(running)
    assert found["prazo_inbox_unavailable_total"] == 3
    assert found['prazo_refused_total{reason="store",way="collections"}'] == 3
    assert found['prazo_refused_total{reason="store",way="webhooks"}'] == 0
    status, stores, why = unready(running)
    assert (status, stores) == (503, ["artifacts"])
    assert f"there is no room left in {small_disk / 'artifacts'}" in why
    assert shown(running)['prazo_store_ready{store="artifacts"}'] == 0
    # A proxy that hands on deliveries alone must not stop for what they do not need.
    assert unready(running, "/readyz/webhooks") == (200, [], "")
    assert running.deliver(event()).status == 200

    ballast.unlink()
    assert collect(running, b"x" * 9000, 1).status == 200
    assert unready(running)[0] == 200
    assert list((small_disk / "artifacts").glob(".*")) == []


def test_a_full_disk_of_temporary_files_is_counted_and_not_ready(start: Start, small_disk: Path):
    running = start(environment={"TMPDIR": str(small_disk)})
    assert unready(running)[0] == 200
    ballast = fill(small_disk)
    assert collect(running, b"x" * 2 * 2**20).status == 503
    assert shown(running)["prazo_inbox_unavailable_total"] == 1
    status, stores, why = unready(running)
    assert (status, stores) == (503, ["temporary_files"])
    assert "let TMPDIR name another folder" in why
    ballast.unlink()
    assert collect(running, b"x" * 2 * 2**20).status == 200
    assert unready(running)[0] == 200


def test_every_way_in_counts_what_the_inbox_does_not_take(
    start: Start, fsync_shim: FsyncShim, platform: Handle, tmp_path: Path
):
    """Of collections, links and submissions nothing was counted."""
    way = way_to(platform, tmp_path)
    settings = {name.removeprefix("PRAZO_"): it for name, it in way.items()}
    running = start(environment=fsync_shim.env, JOURNEY_URL="http://127.0.0.1:8600", **settings)
    put = f"/v1/marketplaces/{settings['MARKETPLACE_ID']}/sellers/s_1/registration/review"
    json_body = {"Content-Type": "application/json"}
    review = event(
        type="regulatory.registration.review.required",
        payload={
            "object": {
                "type": "INCONSISTENT_DATA_UPDATE_REQUIRED",
                "process_id": "prc_1",
                "customer_id": "s_1",
                "status": "OVERDUE",
                "requested_fields": ["revenue"],
            }
        },
    )
    assert running.deliver(review).status == 200
    fsync_shim.fail()
    for way, answer in {
        "webhooks": running.deliver(event()),
        "collections": running.ask(
            "POST", "/v1/collections", json.dumps(COLLECTION).encode(), json_body
        ),
        "journeys": running.ask("POST", "/v1/journeys", json.dumps(LINK).encode(), json_body),
        "submissions": running.ask("PUT", put, b'{"process_id": "prc_1"}', json_body),
    }.items():
        assert answer.status == 503, (way, answer)
        assert shown(running)[f'prazo_refused_total{{reason="store",way="{way}"}}'] == 1, way
    assert shown(running)["prazo_inbox_unavailable_total"] == 4
    fsync_shim.heal()
