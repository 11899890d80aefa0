"""Continues where the history ends: new sellers, reviews and answers at a gentle, steady rate.

The platform acts until it has said as many events as the rate allows, whoever caused them. The
marketplace hears an event once the receiver has taken it, and what it then wants is carried out
over HTTP: collections to the receiver's `/v1/collections`, submissions through its gateway.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, Protocol
from urllib.parse import quote

import httpx

from sandbox import people
from sandbox.market.marketplace import BRISK, Collect, Habits, Marketplace, Onboard, Submit
from sandbox.platform.faults import Fault
from sandbox.platform.service import Service
from sandbox.platform.webhooks import Manner, Message
from sandbox.resources import Seller

# The demo's webhooks: some are delivered twice, some late.
LIFELIKE = Manner(duplicate_share=0.04, late_share=0.04)

_TICK_SECONDS = 0.25
_FAULTY_SHARE = 0.12  # of submissions, so that the demo shows retries
_ATTEMPTS_AT_A_COLLECTION = 5


class Edge(Protocol):
    """Carries out what the marketplace wants."""

    async def collect(self, action: Collect) -> None:
        """Records what a seller did; raises httpx.HTTPError if that fails."""

    async def submit(self, action: Submit) -> tuple[int | None, float]:
        """The status of the answer (None: there was none), and the seconds of `Retry-After`."""

    async def close(self) -> None: ...


class ReceiverEdge:
    """Over HTTP, by the product's receiver; the token is one of its API tokens."""

    def __init__(self, receiver_url: str, marketplace_id: str, token: str | None = None) -> None:
        self._url = receiver_url.rstrip("/")
        self._marketplace_id = quote(marketplace_id, safe="")
        self._client = httpx.AsyncClient(
            trust_env=False,
            timeout=90,
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )

    async def collect(self, action: Collect) -> None:
        line = action.occurrence()
        del line["kind"]  # the URL says it
        response = await self._client.post(f"{self._url}/v1/collections", json=line)
        response.raise_for_status()

    async def submit(self, action: Submit) -> tuple[int | None, float]:
        seller = quote(action.seller_id, safe="")
        try:
            response = await self._client.put(
                f"{self._url}/v1/marketplaces/{self._marketplace_id}/sellers/{seller}"
                "/registration/review",
                content=action.payload,
                headers={"Content-Type": "application/json", "Idempotency-Key": action.process_id},
            )
        except httpx.HTTPError:
            return None, 0.0
        retry_after = response.headers.get("Retry-After", "0")
        return response.status_code, float(retry_after) if retry_after.isdecimal() else 0.0

    async def close(self) -> None:
        await self._client.aclose()


class Live:
    """Runs in the service's event loop. Without an `edge` the marketplace stays silent."""

    def __init__(
        self,
        service: Service,
        marketplace: Marketplace,
        *,
        edge: Edge | None = None,
        events_per_minute: float = 30.0,
        habits: Habits = BRISK,
        seed: int = 0,
    ) -> None:
        if events_per_minute <= 0:
            raise ValueError("events_per_minute must be more than 0")
        self._service = service
        self._marketplace = marketplace
        self._edge = edge
        self._habits = habits
        self._pause_seconds = 60.0 / events_per_minute
        self._rng = random.Random(f"{seed}:live")
        self._tasks: set[asyncio.Task[None]] = set()
        self._acts: tuple[tuple[Callable[[], None], int], ...] = (
            (self._onboard_somebody, 26),
            (self._require_aci, 24),
            (self._require_acp, 18),
            (self._associate_bank_account, 12),
            (self._update_somebody, 9),
            (self._report_a_process, 6),
            (self._disable_somebody, 1),
        )

    async def run(self) -> None:
        """Runs until it is cancelled."""
        self._marketplace.habits = self._habits
        self._service.courier.delivered = self._hear
        loop = asyncio.get_running_loop()
        began_at, said_before = loop.time(), self._service.said
        try:
            while True:
                allowed = (loop.time() - began_at) / self._pause_seconds
                if self._service.said - said_before + 1 <= allowed:
                    self.act()
                await self._serve_marketplace()
                await asyncio.sleep(_TICK_SECONDS * self._rng.uniform(0.5, 1.5))
        finally:
            self._service.courier.delivered = None
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._edge is not None:
                await self._edge.close()

    def act(self) -> None:
        """Does one thing that a platform does, and posts what it said of it."""
        acts, weights = zip(*self._acts, strict=True)
        self._rng.choices(acts, weights)[0]()
        self._service.post_events()

    def _hear(self, message: Message) -> None:
        self._marketplace.hear(message.body, self._service.clock.now())

    # The marketplace's part

    async def _serve_marketplace(self) -> None:
        for action in self._marketplace.due(self._service.clock.now()):
            if isinstance(action, Onboard):
                self._onboard(action.profile)
            elif self._edge is None:
                continue
            elif isinstance(action, Collect):
                await self._collect(self._edge, action)
            elif isinstance(action, Submit):
                self._start(self._submit(self._edge, action))

    async def _collect(self, edge: Edge, action: Collect) -> None:
        """Records an action, again if it fails: lost evidence cannot be collected a second time."""
        for attempt in range(_ATTEMPTS_AT_A_COLLECTION):
            try:
                await edge.collect(action)
            except httpx.HTTPError as failure:
                if attempt == _ATTEMPTS_AT_A_COLLECTION - 1:
                    print(f"sandbox: a collection of {action.process_id} was lost: {failure}")
                await asyncio.sleep(0.2 * 2**attempt)
            else:
                return

    async def _submit(self, edge: Edge, action: Submit) -> None:
        if self._rng.random() < _FAULTY_SHARE:
            self._service.faults.add(self._draw_fault(action.process_id))
        status, retry_after = await edge.submit(action)
        self._marketplace.learn(action, status, self._service.clock.now(), retry_after)

    def _draw_fault(self, process_id: str) -> Fault:
        return self._rng.choice(
            (
                Fault("status", process_id=process_id, status=500),
                Fault("status", process_id=process_id, status=503, retry_after="3"),
                Fault("status", process_id=process_id, status=429, retry_after="2"),
                Fault("slow", process_id=process_id, seconds=4.0),
                Fault("drops_connection", process_id=process_id),
                Fault("drops_connection", process_id=process_id, processes=True),
            )
        )

    # The platform's part

    def _onboard_somebody(self) -> None:
        self._onboard(people.anybody(self._rng))

    def _onboard(self, profile: people.Profile) -> None:
        seller = self._service.platform.create_seller(profile, self._service.clock.now())
        self._marketplace.know(seller.seller_id, profile)

    def _require_aci(self) -> None:
        if seller := self._draw_seller():
            self._service.require_review(seller.seller_id, "ACI")

    def _require_acp(self) -> None:
        if seller := self._draw_seller():
            self._service.require_review(seller.seller_id, "ACP")

    def _associate_bank_account(self) -> None:
        if seller := self._draw_seller():
            self._service.platform.associate_bank_account(
                seller.seller_id, self._service.clock.now()
            )

    def _update_somebody(self) -> None:
        if seller := self._draw_seller():
            profile = people.corrected(self._rng, seller.profile)
            self._service.platform.update_seller(
                seller.seller_id, profile, self._service.clock.now()
            )

    def _report_a_process(self) -> None:
        """An open one; a finished process is reported when it finishes, or not at all."""
        open_ones = [
            p.process_id
            for p in self._service.platform.processes.values()
            if p.status != "FINISHED"
        ]
        if open_ones:
            self._service.platform.report(self._rng.choice(open_ones), self._service.clock.now())

    def _disable_somebody(self) -> None:
        if seller := self._draw_seller():
            self._service.platform.disable_seller(seller.seller_id, self._service.clock.now())

    def _draw_seller(self) -> Seller | None:
        """An enabled one."""
        enabled = [s for s in self._service.platform.sellers.values() if s.status == "enabled"]
        return self._rng.choice(enabled) if enabled else None

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
