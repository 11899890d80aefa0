"""Live traffic goes on from a history, at the rate asked for, and the marketplace takes part."""

import asyncio
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx
import pytest

import sandbox
from sandbox.market.history import Past
from sandbox.market.live import Live, ReceiverEdge
from sandbox.market.marketplace import Collect, Habits, Marketplace, Plan, Submit
from sandbox.people import person
from sandbox.platform.service import Service
from sandbox.platform.state_machine import BELIEVABLE, Platform
from sandbox.platform.webhooks import Courier
from tests.sandbox.real_http import Receiver

MILLISECOND = 1_000
AT_ONCE = Habits(
    lambda rng: Plan(
        invite=10 * MILLISECOND,
        open=10 * MILLISECOND,
        answer=10 * MILLISECOND,
        confirm=10 * MILLISECOND,
        submit=10 * MILLISECOND,
    ),
    lambda rng: 10 * MILLISECOND,
)


def wall() -> int:
    return time.time_ns() // 1_000


def live_for(
    seconds: float,
    receiver: Receiver,
    prepare: Callable[[Service, Marketplace], None],
    is_enough: Callable[[], bool] = lambda: False,
    **terms: Any,
) -> Service:
    """Runs live traffic against the receiver, with the marketplace acting through it."""

    async def run() -> Service:
        courier = Courier(f"{receiver.url}/webhooks")
        service = Service(Platform(policy=BELIEVABLE), courier=courier)
        marketplace = Marketplace()
        prepare(service, marketplace)
        edge = ReceiverEdge(receiver.url, service.platform.marketplace_id, "t0ken")
        live = Live(service, marketplace, edge=edge, habits=AT_ONCE, **terms)
        async with service.keeping_time():
            service.run_along(live.run())
            limit = time.monotonic() + seconds
            while time.monotonic() < limit and not is_enough():
                await asyncio.sleep(0.02)
        return service

    return asyncio.run(run())


def one_customer(service: Service, marketplace: Marketplace) -> None:
    profile = person(random.Random(1))
    seller = service.platform.adopt_seller(profile, wall())
    marketplace.know(seller.seller_id, profile)
    service.require_review(seller.seller_id, "ACI", requested_fields=("revenue", "address.city"))


def test_a_review_is_collected_step_by_step_and_then_submitted(receiver: Receiver) -> None:
    live_for(
        10,
        receiver,
        one_customer,
        lambda: any(got.path.endswith("/review") for got in receiver.received),
        events_per_minute=0.01,
    )
    by_path = defaultdict(list)
    for got in receiver.received:
        by_path[got.path].append(got)
    (review,) = [json.loads(got.body) for got in by_path["/webhooks"]]
    subject = review["payload"]["object"]

    collections = [json.loads(got.body) for got in by_path["/v1/collections"]]
    assert [c["step"] for c in collections] == ["invited", "opened", "answered", "confirmed"]
    assert {c["process_id"] for c in collections} == {subject["process_id"]}
    assert len({c["journey_id"] for c in collections}) == 1
    answers = collections[2]["fields"]
    assert set(answers) == {"revenue", "address.city"}

    path = f"/v1/marketplaces/mkt_praca/sellers/{subject['customer_id']}/registration/review"
    (put,) = by_path[path]
    assert json.loads(put.body) == {
        "process_id": subject["process_id"],
        "type": "individual",
        "revenue": answers["revenue"],
        "address": {"city": answers["address.city"]},
    }
    assert put.headers["idempotency-key"] == subject["process_id"]
    assert put.headers["authorization"] == "Bearer t0ken"


def test_the_marketplace_hears_only_what_its_receiver_has_taken(receiver: Receiver) -> None:
    """A submission for a process that the receiver has not recorded would be refused."""
    receiver.answers = [500] * 100
    live_for(1.5, receiver, one_customer, events_per_minute=0.01)
    assert {got.path for got in receiver.received} == {"/webhooks"}


def test_events_keep_the_rate(receiver: Receiver) -> None:
    def many_customers(service: Service, marketplace: Marketplace) -> None:
        for _ in range(30):
            service.adopt_seller()

    service = live_for(2.5, receiver, many_customers, events_per_minute=240)
    # Ten in these seconds, fewer on a busy machine; a decision may fall due on top.
    assert 1 <= service.said <= 15
    assert len(Counter(event.event_type for event in service.events)) >= 2


def test_a_rate_of_nothing_is_refused() -> None:
    service = Service(Platform())
    with pytest.raises(ValueError, match="events_per_minute must be more than 0"):
        Live(service, Marketplace(), events_per_minute=0)


class StubbornEdge:
    """Fails a collection twice, then takes it; refuses submissions once."""

    def __init__(self) -> None:
        self.collected: list[str] = []
        self.sent: list[bytes] = []
        self.failures = 2

    async def collect(self, action: Collect) -> None:
        if self.failures:
            self.failures -= 1
            raise httpx.ConnectError("no")
        self.collected.append(action.step)

    async def submit(self, action: Submit) -> tuple[int | None, float]:
        self.sent.append(action.payload)
        return (503, 0.0) if len(self.sent) == 1 else (200, 0.0)

    async def close(self) -> None:
        pass


def test_collections_and_submissions_are_tried_again(receiver: Receiver) -> None:
    edge = StubbornEdge()

    async def run() -> None:
        service = Service(Platform(), courier=Courier(receiver.url))
        marketplace = Marketplace()
        one_customer(service, marketplace)
        live = Live(service, marketplace, edge=edge, habits=AT_ONCE, events_per_minute=0.01)
        async with service.keeping_time():
            service.run_along(live.run())
            for _ in range(100):
                await asyncio.sleep(0.1)
                if len(edge.sent) == 2:
                    return

    asyncio.run(run())
    assert edge.collected == ["invited", "opened", "answered", "confirmed"]
    assert len(edge.sent) == 2
    assert edge.sent[0] == edge.sent[1]


def test_what_fails_alongside_is_said_and_the_platform_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def fail() -> None:
        raise RuntimeError("the demo's own mistake")

    async def run(work: Coroutine[Any, Any, None]) -> None:
        service = Service(Platform())
        async with service.keeping_time():
            service.run_along(work)
            await asyncio.sleep(0.05)
            service.adopt_seller()

    asyncio.run(run(fail()))
    assert "the demo's own mistake" in capsys.readouterr().err


def test_a_history_goes_on_live(receiver: Receiver) -> None:
    past = Past(wall())
    for _ in past.occurrences():
        pass
    waiting = {event.event_id for event in past.undelivered()}
    known = set(past.platform.sellers)
    with sandbox.running(
        platform=past.platform, webhooks_to=f"{receiver.url}/webhooks"
    ) as platform:
        platform.go_live(past, events_per_minute=600)
        receiver.wait_for(len(waiting) + 10)
    events = [json.loads(got.body) for got in receiver.received]
    assert waiting <= {event["id"] for event in events}
    assert any(
        event["payload"]["object"].get("customer_id") in known
        or event["payload"]["object"]["id"] in known
        for event in events
    )


def test_going_on_from_another_platforms_history_is_refused() -> None:
    past = Past(wall())
    with (
        sandbox.running() as platform,
        pytest.raises(ValueError, match=r"platform=past\.platform"),
    ):
        platform.go_live(past)


def test_it_runs_alone(tmp_path: Path, receiver: Receiver) -> None:
    secret = tmp_path / "secret"
    secret.write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
    command = [
        sys.executable, "-m", "sandbox",
        "--folder", str(tmp_path / "sandbox"),
        "--history", str(tmp_path / "history.ndjson"),
        "--webhooks-to", f"{receiver.url}/webhooks",
        "--webhook-auth", "hmac", "--webhook-secret-file", str(secret),
        "--live", "300",
    ]  # fmt: skip
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root, text=True) as process:
        assert process.stdout is not None
        needed = json.loads(process.stdout.readline())
        receiver.wait_for(2, 20)
        control = needed["control_url"]
        assert len(httpx.get(f"{control}/control/sellers", trust_env=False).json()) > 100
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(20) == 0

    assert receiver.received[0].headers["webhook-signature"].startswith("v1,")
    lines = (tmp_path / "history.ndjson").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 1_000
    assert {json.loads(line)["kind"] for line in lines} == {
        "webhook", "collection", "submission_started", "submission_finished",
    }  # fmt: skip
    for name in ("basic_file", "bearer_file", "client_key"):
        assert stat.S_IMODE(Path(needed[name]).stat().st_mode) == 0o600
