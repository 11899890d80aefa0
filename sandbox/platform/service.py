"""Runs the simulated platform in one event loop: its state, clock, faults and webhooks.

Everything that happens to the platform goes through here, whether it came by its API, by the
control endpoint or from a test. After each call, what the platform said is posted.
"""

import asyncio
import secrets
import traceback
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import fields
from typing import Any

from sandbox.clock import DAY, SECOND, Clock
from sandbox.platform import onboarding
from sandbox.platform.credentials import Credentials
from sandbox.platform.faults import Fault, Faults
from sandbox.platform.state_machine import Answer, Platform
from sandbox.platform.webhooks import Courier, Message
from sandbox.resources import Event, Json, Process, ReviewType, Seller, Verdict

_LONGEST_NAP_SECONDS = 0.5  # however far away the next event is: the clock may be moved


class Service:
    """The running platform. Not thread-safe: call it only in its event loop."""

    def __init__(
        self,
        platform: Platform,
        *,
        clock: Clock | None = None,
        courier: Courier | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        self.platform = platform
        self.clock = clock or Clock()
        self.courier = courier or Courier()
        self.credentials = credentials or Credentials(
            "praca", secrets.token_urlsafe(18), secrets.token_urlsafe(24)
        )
        self.faults = Faults()
        self.events: deque[Event] = deque(maxlen=10_000)
        self.said = 0  # events since the service began
        self._moved = asyncio.Event()
        self._alongside: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def keeping_time(self) -> AsyncIterator[None]:
        """Runs the platform's clock while the block runs."""
        keeper = asyncio.get_running_loop().create_task(self._keep_time())
        try:
            yield
        finally:
            tasks = [keeper, *self._alongside]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.courier.close()

    def run_along(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs `work` until the service ends; should it fail, that is said and the rest goes on."""

        async def watched() -> None:
            try:
                await work
            except Exception:
                traceback.print_exc()

        self._alongside.append(asyncio.get_running_loop().create_task(watched()))

    # What the platform is asked to do

    def submit(self, seller_id: str, body: bytes, idempotency_key: str | None) -> Answer:
        answer = self.platform.submit(seller_id, body, self.clock.now(), idempotency_key)
        self.post_events()
        return answer

    def create_individual(self, body: bytes) -> Answer:
        answer = onboarding.create_individual(self.platform, body, self.clock.now())
        self.post_events()
        return answer

    def take_documents(self, seller_id: str, body: bytes) -> Answer:
        answer = onboarding.take_documents(self.platform, seller_id, body, self.clock.now())
        self.catch_up()
        return answer

    def create_seller(self, *, is_business: bool = False, verdict: Verdict | None = None) -> Seller:
        """Adds a new seller: created now, decided within minutes of platform time."""
        seller = self.platform.create_seller(
            self.platform.draw_profile(is_business), self.clock.now(), verdict
        )
        self.post_events()
        return seller

    def adopt_seller(self, *, is_business: bool = False) -> Seller:
        """Adds a seller who was enabled long ago and for whom no event was sent."""
        return self.platform.adopt_seller(
            self.platform.draw_profile(is_business), self.clock.now() - 400 * DAY
        )

    def require_review(
        self,
        seller_id: str,
        review_type: ReviewType,
        *,
        requested_fields: tuple[str, ...] | None = None,
        days_ago: float = 0.0,
    ) -> Process:
        """Opens a review now, or some days ago; then its state is that of its clock today."""
        now = self.clock.now()
        process = self.platform.require_review(
            seller_id, review_type, now - int(days_ago * DAY), requested_fields
        )
        self.platform.advance(now)
        self.post_events()
        return process

    def advance(self, seconds: float) -> None:
        self.clock.advance(int(seconds * SECOND))
        self.catch_up()

    def set_scale(self, scale: float) -> None:
        self.clock.set_scale(scale)
        self.catch_up()

    def deliver_raw(self, body: bytes, message_id: str | None = None) -> None:
        """Posts these very bytes as a webhook, whatever they are."""
        self.courier.post(Message(message_id or f"msg_{secrets.token_hex(8)}", body))

    async def flood(self, deliveries: int) -> None:
        """A burst of `seller.updated`, all at once and each with an id of its own."""
        now = self.clock.now()
        seller = next(iter(self.platform.sellers.values()), None) or self.adopt_seller()
        for _ in range(deliveries):
            self.platform.update_seller(seller.seller_id, seller.profile, now)
        events = self._take_events()
        await self.courier.flood([Message(event.event_id, event.body) for event in events])

    def catch_up(self) -> None:
        """Does everything that is due by now, and posts its events."""
        self.platform.advance(self.clock.now())
        self.post_events()
        self._moved.set()

    def post_events(self) -> None:
        for event in self._take_events():
            self.courier.post(Message(event.event_id, event.body))

    def _take_events(self) -> list[Event]:
        events = self.platform.take_events()
        self.events.extend(events)
        self.said += len(events)
        return events

    # What it believes

    def processes(self) -> list[Json]:
        self.catch_up()
        return [process_view(process) for process in self.platform.processes.values()]

    def sellers(self) -> list[Json]:
        self.catch_up()
        return [seller_view(seller) for seller in self.platform.sellers.values()]

    def add_fault(self, **terms: Any) -> Fault:
        known = [it.name for it in fields(Fault)]
        if "kind" not in terms or not terms.keys() <= set(known):
            raise ValueError(f"a fault has a kind, and nothing but {', '.join(known)}")
        fault = Fault(**terms)
        self.faults.add(fault)
        return fault

    async def _keep_time(self) -> None:
        while True:
            self._moved.clear()
            self.platform.advance(self.clock.now())
            self.post_events()
            next_at = self.platform.next_at()
            nap = _LONGEST_NAP_SECONDS
            if next_at is not None:
                nap = min(nap, self.clock.seconds_until(next_at))
            try:
                async with asyncio.timeout(nap):
                    await self._moved.wait()
            except TimeoutError:
                pass


def process_view(process: Process) -> Json:
    """What the platform believes of a process; instants in microseconds since the epoch."""
    return {
        "process_id": process.process_id,
        "seller_id": process.seller_id,
        "review_type": process.review_type,
        "status": process.status,
        "opened_at": process.opened_at,
        "overdue_at": process.overdue_at,
        "deadline_at": process.deadline_at,
        "finished_at": process.finished_at,
        "requested_fields": list(process.requested_fields),
    }


def seller_view(seller: Seller) -> Json:
    return {
        "seller_id": seller.seller_id,
        "type": seller.profile.type,
        "status": seller.status,
        "taxpayer_id": seller.profile.taxpayer_id,
        "bank_accounts": list(seller.bank_accounts),
    }
