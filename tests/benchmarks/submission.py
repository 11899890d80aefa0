"""Reviews through the gateway, against the same PUTs sent to the platform by bare httpx.

The platform is the sandbox behind mutual TLS, the gateway the receiver, each a process of its own;
every PUT is a review that was heard of by webhook and answered by its seller, so rules, evidence
and two durable entries are paid for. Both contestants are driven by one httpx client.
"""

import asyncio
import json
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from pipeline import instants
from pipeline.inbox import open_inbox
from pipeline.log.entries import Draft
from pipeline.log.ndjson import read_line
from tests.benchmarks.rows import Row
from tests.support.machine import free_port

ROUNDS = 3
ALONE = 40  # reviews a round, one after the other
AT_ONCE = 128  # reviews a round, 32 in flight
IN_FLIGHT = 32


class Review(NamedTuple):
    seller_id: str
    process_id: str


class Contestant(NamedTuple):
    client: httpx.AsyncClient
    marketplace_id: str

    async def put(self, review: Review) -> float:
        """Seconds until the answer, which must be a 200."""
        began = time.perf_counter()
        response = await self.client.put(
            f"/v1/marketplaces/{self.marketplace_id}/sellers/{review.seller_id}"
            "/registration/review",
            content=_payload(review),
            headers={
                "Content-Type": "application/json",
                "Idempotency-Key": review.process_id,
            },
        )
        if response.status_code != 200:
            raise SystemExit(f"{response.status_code}: {response.text[:300]}")
        return time.perf_counter() - began


def run() -> list[Row]:
    """Latency with one in flight, and submissions a second with 32."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prazo-bench-")))
        port = free_port()
        platform = _platform(stack, folder, port)
        _receiver(stack, folder, port, platform)
        needed = 2 * ROUNDS * (ALONE + AT_ONCE)
        reviews = _open_reviews(platform["control_url"], needed)
        _hear_and_answer(folder, reviews)
        return asyncio.run(_compare(platform, port, reviews))


async def _compare(platform: dict[str, Any], port: int, reviews: list[Review]) -> list[Row]:
    context = ssl.create_default_context(cafile=platform["authority"])
    context.load_cert_chain(platform["client_certificate"], platform["client_key"])
    name, _, password = Path(platform["basic_file"]).read_text().strip().partition(":")
    options: dict[str, Any] = {"trust_env": False, "timeout": 60}
    async with (
        httpx.AsyncClient(
            base_url=platform["url"], verify=context, auth=(name, password), **options
        ) as direct,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", **options) as through,
    ):
        bare = Contestant(direct, platform["marketplace_id"])
        gateway = Contestant(through, platform["marketplace_id"])
        latencies: dict[Contestant, list[float]] = {bare: [], gateway: []}
        rates: dict[Contestant, list[float]] = {bare: [], gateway: []}
        waiting = iter(reviews)
        for _ in range(ROUNDS):
            for contestant in (bare, gateway):
                latencies[contestant] += [await contestant.put(next(waiting)) for _ in range(ALONE)]
                batch = [next(waiting) for _ in range(AT_ONCE)]
                rates[contestant].append(await _rate(contestant, batch))
    rows = []
    for label, share in (("p50", 0.5), ("p99", 0.99)):
        ours, theirs = (_quantile(latencies[it], share) * 1000 for it in (gateway, bare))
        rows.append(
            Row(
                f"submission latency {label}, bare httpx / gateway",
                theirs / ours,
                f"{theirs:.1f} ms and {ours:.1f} ms: {ours - theirs:.1f} ms added",
            )
        )
    ours, theirs = (statistics.median(rates[it]) for it in (gateway, bare))
    rows.append(
        Row(
            f"submissions/s with {IN_FLIGHT} in flight, gateway / bare httpx",
            ours / theirs,
            f"{ours:.0f} and {theirs:.0f} a second",
        )
    )
    return rows


async def _rate(contestant: Contestant, batch: Sequence[Review]) -> float:
    waiting = iter(batch)

    async def drive() -> None:
        for review in waiting:
            await contestant.put(review)

    began = time.perf_counter()
    await asyncio.gather(*(drive() for _ in range(IN_FLIGHT)))
    return len(batch) / (time.perf_counter() - began)


def _quantile(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


def _payload(review: Review) -> bytes:
    body = {"process_id": review.process_id, "type": "individual", "revenue": "1000_to_5000"}
    return json.dumps(body).encode()


# --- the processes ---------------------------------------------------------------------------


def _platform(stack: ExitStack, folder: Path, port: int) -> dict[str, Any]:
    process = stack.enter_context(
        subprocess.Popen(
            [
                *(sys.executable, "-m", "sandbox", "--folder", str(folder / "platform")),
                *("--days", "105", "--sellers", "60"),
                *("--webhooks-to", f"http://127.0.0.1:{port}/webhooks"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
    )
    stack.callback(process.terminate)
    assert process.stdout is not None
    known: dict[str, Any] = json.loads(process.stdout.readline())
    return known


def _receiver(stack: ExitStack, folder: Path, port: int, platform: dict[str, Any]) -> None:
    settings = {
        "PRAZO_INBOX": str(folder / "inbox.db"),
        "PRAZO_ARTIFACTS": str(folder / "artifacts"),
        "PRAZO_PLATFORM_URL": platform["url"],
        "PRAZO_PLATFORM_CA_FILE": platform["authority"],
        "PRAZO_CLIENT_CERT_FILE": platform["client_certificate"],
        "PRAZO_CLIENT_KEY_FILE": platform["client_key"],
        "PRAZO_PLATFORM_CREDENTIALS_FILE": platform["basic_file"],
        "PRAZO_MARKETPLACE_ID": platform["marketplace_id"],
    }
    process = stack.enter_context(
        subprocess.Popen(
            [sys.executable, "-m", "pipeline.cli", "receive", "--port", str(port)],
            env={**os.environ, **settings},
            stderr=subprocess.DEVNULL,
        )
    )
    stack.callback(process.terminate)
    _wait_for(lambda: httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200)


def _open_reviews(control_url: str, count: int) -> list[Review]:
    reviews = []
    with httpx.Client(base_url=control_url, trust_env=False, timeout=60) as control:
        for _ in range(count):
            seller = control.post("/control/sellers", json={"adopted": True}).json()
            asked = {
                "seller_id": seller["seller_id"],
                "review_type": "ACI",
                "requested_fields": ["revenue"],
            }
            opened = control.post("/control/reviews", json=asked).json()
            reviews.append(Review(seller["seller_id"], opened["process_id"]))
    return reviews


def _hear_and_answer(folder: Path, reviews: Sequence[Review]) -> None:
    """Waits for every webhook, then lets every seller answer."""
    inbox = open_inbox(folder / "inbox.db")
    try:
        for review in reviews:
            _wait_for(lambda review=review: bool(inbox.find(process_id=review.process_id)))  # type: ignore[misc]
        for start in range(0, len(reviews), 500):
            inbox.append([_answer(it) for it in reviews[start : start + 500]])
    finally:
        inbox.close()


def _answer(review: Review) -> Draft:
    line = {
        "kind": "collection",
        "occurred_at": instants.canonical(instants.now()),
        "process_id": review.process_id,
        "seller_id": review.seller_id,
        "journey_id": f"journey of {review.process_id}",
        "step": "answered",
        "channel": "in_app",
        "source": "seller",
        "fields": {"revenue": "1000_to_5000"},
    }
    return read_line(json.dumps(line).encode(), recorded_by="benchmark")


def _wait_for(is_so: Any, seconds: float = 120) -> None:
    limit = time.monotonic() + seconds
    while True:
        try:
            if is_so():
                return
        except httpx.HTTPError:
            pass
        if time.monotonic() > limit:
            raise SystemExit("the benchmark's processes did not start")
        time.sleep(0.05)
