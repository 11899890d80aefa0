"""Drives a server over many kept-alive connections, one request at a time on each.

A process of its own on uvloop, without an HTTP library, so that it is not what is measured:

    python -m tests.benchmarks.load PORT CONNECTIONS SECONDS FIRST_NUMBER

Prints one JSON line: requests per second, latencies in milliseconds, and answers that were not 200.
"""

import asyncio
import json
import re
import subprocess
import sys
import time
from typing import NamedTuple, Self

import uvloop

WARM_UP_SECONDS = 0.5
BODY_BYTES = 1024
_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


class Load(NamedTuple):
    """What one round measured."""

    requests_per_second: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    failures: int

    @classmethod
    def on(cls, port: int, *, connections: int, seconds: float, first_number: int) -> Self:
        """Runs one round in a process of its own."""
        arguments = map(str, (port, connections, seconds, first_number))
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.load", *arguments],
            stdout=subprocess.PIPE,
            check=True,
            timeout=seconds + 60,
        )
        return cls(**json.loads(done.stdout))


def review(number: int) -> bytes:
    """A review event of exactly 1 KiB; each number is another event and process."""
    head = (
        b'{"id":"evt_%012d","type":"regulatory.registration.review.required",'
        b'"created_at":"2026-03-01T12:00:00Z","payload":{"object":{'
        b'"type":"REGISTRATION_REVIEW_REQUIRED","process_id":"prc_%012d",'
        b'"customer_id":"sel_%06d","status":"PENDING","deadline_at":"2026-04-30T12:00:00Z",'
        b'"requested_fields":["revenue","address.line1","address.line2","address.line3",'
        b'"address.city","address.state","address.postal_code","address.country_code"],'
        b'"note":"' % (number, number, number % 200_000)
    )
    return head.ljust(BODY_BYTES - 4, b".") + b'"}}}'


class _Connection(asyncio.Protocol):
    """Sends a request as soon as the one before is answered."""

    def __init__(self, round_: "_Round") -> None:
        self._round = round_
        self._answer = b""
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        body = self._round.next_body()
        self._sent_at = time.perf_counter()
        self._transport.write(self._round.head + body)

    def data_received(self, data: bytes) -> None:
        self._answer += data
        end = self._answer.find(b"\r\n\r\n")
        length = _CONTENT_LENGTH.search(self._answer)
        if end < 0 or length is None or len(self._answer) < end + 4 + int(length[1]):
            return
        self._round.answered(self._answer[9:12], time.perf_counter() - self._sent_at)
        self._answer = b""
        if self._round.is_on:
            self._ask()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._round.is_on:
            self._round.failures += 1


class _Round:
    def __init__(self, port: int, first_number: int) -> None:
        self.head = (
            b"POST /webhooks HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % (port, BODY_BYTES)
        )
        self.is_on = True
        self.is_counted = False
        self.failures = 0
        self.latencies: list[float] = []
        self._number = first_number

    def next_body(self) -> bytes:
        self._number += 1
        return review(self._number)

    def answered(self, status: bytes, seconds: float) -> None:
        if status != b"200":
            self.failures += 1
        if self.is_counted:
            self.latencies.append(seconds)


async def drive(port: int, connections: int, seconds: float, first_number: int) -> Load:
    """One round against a server on this machine."""
    loop = asyncio.get_running_loop()
    this = _Round(port, first_number)
    for _ in range(connections):
        await loop.create_connection(lambda: _Connection(this), "127.0.0.1", port)
    await asyncio.sleep(WARM_UP_SECONDS)
    this.is_counted, started = True, time.perf_counter()
    await asyncio.sleep(seconds)
    this.is_counted, took = False, time.perf_counter() - started
    this.is_on = False
    await asyncio.sleep(0.3)
    latencies = sorted(this.latencies)
    if not latencies:
        raise SystemExit("nothing was answered")
    return Load(
        requests_per_second=len(latencies) / took,
        p50_ms=latencies[len(latencies) // 2] * 1000,
        p99_ms=latencies[len(latencies) * 99 // 100] * 1000,
        max_ms=latencies[-1] * 1000,
        failures=this.failures,
    )


if __name__ == "__main__":
    port, connections, first_number = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[4])
    load = uvloop.run(drive(port, connections, float(sys.argv[3]), first_number))
    print(json.dumps(load._asdict()))
