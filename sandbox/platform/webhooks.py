"""Delivers events to the marketplace's webhook endpoint over HTTP, as a platform would.

Each message goes out authenticated in one of four forms, and again with growing pauses until it is
answered `200` in time. On request some go out twice although all went well, and some late, after
what was said later. Durations here are real seconds, whatever the platform's clock does.
"""

import asyncio
import base64
import hashlib
import hmac
import random
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

ANSWER_LIMIT_SECONDS = 30.0  # the contract: `200 OK` within 30 seconds


class Authentication(Protocol):
    """How the endpoint can recognize that the platform sent a delivery."""

    def headers(self, message_id: str, body: bytes, at_seconds: int) -> dict[str, str]: ...


@dataclass(frozen=True)
class NoAuthentication:
    def headers(self, message_id: str, body: bytes, at_seconds: int) -> dict[str, str]:
        return {}


@dataclass(frozen=True)
class HeaderSecret:
    """A fixed secret in a header."""

    secret: str
    name: str = "X-Webhook-Secret"

    def headers(self, message_id: str, body: bytes, at_seconds: int) -> dict[str, str]:
        return {self.name: self.secret}


@dataclass(frozen=True)
class Basic:
    username: str
    password: str

    def headers(self, message_id: str, body: bytes, at_seconds: int) -> dict[str, str]:
        pair = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
        return {"Authorization": f"Basic {pair}"}


@dataclass(frozen=True)
class Signature:
    """HMAC-SHA256 over `id.timestamp.body`, in the form of Standard Webhooks.

    `secret` is `whsec_` and the base64 of the key.
    """

    secret: str

    def headers(self, message_id: str, body: bytes, at_seconds: int) -> dict[str, str]:
        key = base64.b64decode(self.secret.removeprefix("whsec_"), validate=True)
        signed = f"{message_id}.{at_seconds}.".encode() + body
        digest = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        return {
            "webhook-id": message_id,
            "webhook-timestamp": str(at_seconds),
            "webhook-signature": f"v1,{digest}",
        }


@dataclass(frozen=True)
class Manner:
    """How deliveries behave. By default each goes out once and in order, if it is answered."""

    answer_limit_seconds: float = ANSWER_LIMIT_SECONDS
    first_pause_seconds: float = 1.0  # doubled after each failure
    longest_pause_seconds: float = 300.0
    max_attempts: int = 12
    duplicate_share: float = 0.0  # delivered again although it was answered 200
    late_share: float = 0.0  # held back, so that later messages overtake it
    late_seconds: tuple[float, float] = (2.0, 10.0)


@dataclass(frozen=True)
class Message:
    """What is delivered: the exact bytes, under an id that every redelivery keeps."""

    message_id: str
    body: bytes


@dataclass(frozen=True)
class Attempt:
    """One delivery of a message; `status` is None if no answer came, and `error` says why."""

    message_id: str
    number: int
    at_seconds: int
    status: int | None
    error: str | None = None


class Courier:
    """Takes messages with `post` and delivers them in the background of the running event loop."""

    def __init__(
        self,
        url: str | None = None,
        authentication: Authentication | None = None,
        *,
        manner: Manner | None = None,
        seed: int = 0,
        wall_seconds: Callable[[], float] = time.time,
    ) -> None:
        self.url = url
        self.authentication = authentication or NoAuthentication()
        self.manner = manner or Manner()
        self.attempts: deque[Attempt] = deque(maxlen=10_000)
        self.delivered: Callable[[Message], None] | None = None  # called after each 200
        self._wall_seconds = wall_seconds
        self._rng = random.Random(f"{seed}:webhooks")
        self._queue: deque[tuple[Message, bool]] = deque()  # a message, and whether it is a repeat
        self._client: httpx.AsyncClient | None = None
        self._sender: asyncio.Task[None] | None = None
        self._others: set[asyncio.Task[None]] = set()

    def post(self, message: Message) -> None:
        """Queues a message. Without a `url` it waits until there is one."""
        if self._rng.random() < self.manner.late_share:
            pause = self._rng.uniform(*self.manner.late_seconds)
            self._later(self._post_late(message, pause, is_repeat=False))
        else:
            self._queue.append((message, False))
            self._send_queue()

    def point_at(self, url: str, authentication: Authentication | None = None) -> None:
        """Sends deliveries to this URL from now on, and also those that are waiting."""
        self.url = url
        self.authentication = authentication or self.authentication
        self._send_queue()

    async def flood(self, messages: list[Message], *, at_once: int = 64) -> None:
        """Delivers messages in a burst: all at the same time, each until it is answered."""
        gate = asyncio.Semaphore(at_once)

        async def one(message: Message) -> None:
            async with gate:
                await self._deliver(message, first=1)

        await asyncio.gather(*(one(message) for message in messages))

    async def settle(self) -> None:
        """Returns when everything that was posted is delivered or given up."""
        while tasks := [*self._others, *([self._sender] if self._sender else [])]:
            await asyncio.wait(tasks)
            await asyncio.sleep(0)  # the tasks take themselves off the list

    async def close(self) -> None:
        """Stops delivering; what is not delivered yet is dropped."""
        tasks = [*self._others, *([self._sender] if self._sender else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    def _send_queue(self) -> None:
        if self.url is not None and self._sender is None and self._queue:
            self._sender = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        """One message after the other, so that order holds; a failed one lets the next pass."""
        try:
            while self._queue:
                message, is_repeat = self._queue.popleft()
                if not await self._attempt(message, 1):
                    self._later(self._deliver(message, first=2))
                elif not is_repeat and self._rng.random() < self.manner.duplicate_share:
                    pause = self._rng.uniform(0.0, 2.0)
                    self._later(self._post_late(message, pause, is_repeat=True))
        finally:
            self._sender = None

    async def _post_late(self, message: Message, seconds: float, *, is_repeat: bool) -> None:
        await asyncio.sleep(seconds)
        self._queue.append((message, is_repeat))
        self._send_queue()

    async def _deliver(self, message: Message, first: int) -> None:
        for number in range(first, self.manner.max_attempts + 1):
            if number > 1:
                pause = self.manner.first_pause_seconds * 2 ** (number - 2)
                await asyncio.sleep(min(pause, self.manner.longest_pause_seconds))
            if await self._attempt(message, number):
                return

    async def _attempt(self, message: Message, number: int) -> bool:
        """One POST; true if it was answered 200 within the limit."""
        if self.url is None:
            raise RuntimeError("there is no webhook endpoint to deliver to: call point_at first")
        at_seconds = int(self._wall_seconds())
        headers = self.authentication.headers(message.message_id, message.body, at_seconds)
        status, error = None, None
        try:
            async with asyncio.timeout(self.manner.answer_limit_seconds):
                response = await self._http().post(
                    self.url,
                    content=message.body,
                    headers={"Content-Type": "application/json", **headers},
                )
            status = response.status_code
        except (httpx.HTTPError, TimeoutError) as failure:
            error = f"{type(failure).__name__}: {failure}".rstrip(": ")
        self.attempts.append(Attempt(message.message_id, number, at_seconds, status, error))
        if status == 200 and self.delivered is not None:
            self.delivered(message)
        return status == 200

    def _http(self) -> httpx.AsyncClient:
        if self._client is None:
            # No proxy from the environment: the endpoint is on this machine or named exactly.
            self._client = httpx.AsyncClient(
                timeout=None,
                trust_env=False,
                limits=httpx.Limits(max_connections=100),
                headers={"User-Agent": "prazo-sandbox"},
            )
        return self._client

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._others.add(task)
        task.add_done_callback(self._others.discard)
