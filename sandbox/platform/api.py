"""The platform's API as an ASGI app, faults included.

    PUT  /v1/marketplaces/{id}/sellers/{id}/registration/review
    POST /v1/marketplaces/{id}/sellers/individuals          and /sellers/individuals
    POST /v1/marketplaces/{id}/sellers/{id}/documents       and /sellers/{id}/documents

The contract writes the last two without their beginning, so both spellings are served. Whoever gets
here has completed a TLS handshake. The API checks the certificate shown in it and the
`Authorization` header, lets the platform judge, and answers, or, for a review, fails to as the
pending faults say.
"""

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol
from urllib.parse import unquote

from sandbox.platform.faults import Fault
from sandbox.platform.judge import Violation
from sandbox.platform.service import Service
from sandbox.platform.state_machine import Answer, refusal

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_BODY_BYTES = 1024 * 1024
_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True)
class Request:
    """One request that arrived; `status` is None if nothing was answered."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int | None
    arrived_at: int  # of its last byte; in microseconds since 1970, of this machine's clock
    ended_at: int  # once it was answered, or its client had hung up


class Call(NamedTuple):
    """A call of the API: what it asks for, with which method, and for which seller."""

    what: Literal["review", "individual", "documents"]
    method: str
    seller_id: str = ""


class Connections(Protocol):
    """What the app needs of its connections; a client is an address and a port."""

    def certificate(self, client: tuple[str, int]) -> bytes | None:
        """The certificate that the client showed, as DER."""

    def drop(self, client: tuple[str, int], *, flush: bool) -> None:
        """Closes a connection; with `flush`, only after everything written has been sent."""


class Api:
    """The ASGI app. Clients with other certificates than `known_certificates` (DER) get 401."""

    def __init__(
        self, service: Service, connections: Connections, known_certificates: frozenset[bytes]
    ) -> None:
        self.requests: deque[Request] = deque(maxlen=10_000)
        self._service = service
        self._connections = connections
        self._known_certificates = known_certificates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"the API serves http, not {scope['type']}")
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        refused = self._refuse_caller(
            scope["client"], headers
        )  # before reading, since the client may disconnect meanwhile
        body = await _read(receive)
        arrived_at = _now()
        status = await (
            _send(send, refused)
            if refused is not None
            else self._answer(scope, headers, body, receive, send)
        )
        path = scope["raw_path"].decode("latin-1")
        self.requests.append(
            Request(scope["method"], path, headers, body or b"", status, arrived_at, _now())
        )

    async def _answer(
        self,
        scope: Scope,
        headers: dict[str, str],
        body: bytes | None,
        receive: Receive,
        send: Send,
    ) -> int | None:
        call = self._call(scope["raw_path"])
        if call is None:
            answer = refusal(404, "no such resource")
        elif scope["method"] != call.method:
            answer = refusal(405, f"only {call.method} is served here")
        elif body is None:
            answer = refusal(400, f"the body is larger than {MAX_BODY_BYTES} bytes")
        elif not headers.get("content-type", "").lower().startswith("application/json"):
            answer = refusal(400, "Content-Type must be application/json")
        elif call.what == "review":
            return await self._review(call.seller_id, headers, body, scope, receive, send)
        elif call.what == "documents":
            answer = self._service.take_documents(call.seller_id, body)
        else:
            answer = self._service.create_individual(body)
        return await _send(send, answer)

    def _refuse_caller(self, client: tuple[str, int], headers: dict[str, str]) -> Answer | None:
        """A 401 for an unknown client, or None."""
        if self._connections.certificate(client) not in self._known_certificates:
            return refusal(401, "the client certificate is not one of this marketplace's")
        if not self._service.credentials.admit(headers.get("authorization", "")):
            return refusal(401, "authentication failed")
        return None

    async def _review(
        self,
        seller_id: str,
        headers: dict[str, str],
        body: bytes,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> int | None:
        key = headers.get("idempotency-key")
        fault = self._service.faults.strike(_process_in(body) or key)
        if fault is not None and fault.kind == "slow":
            await _wait(receive, fault.seconds)
        answer = (
            self._service.submit(seller_id, body, key)
            if fault is None or fault.is_processed
            else refusal(503, "not processed")
        )
        if fault is None or fault.kind == "slow":
            return await _send(send, answer)
        return await self._fail(fault, answer, scope, receive, send)

    async def _fail(
        self, fault: Fault, answer: Answer, scope: Scope, receive: Receive, send: Send
    ) -> int | None:
        match fault.kind:
            case "status":
                named = [Violation(it, "as the sandbox was asked") for it in fault.fields]
                answer = refusal(fault.status, "as the sandbox was asked", named)
                return await _send(send, answer, fault.retry_after)
            case "oversized_answer":
                padding = b" " * (fault.size - len(answer.body))
                return await _send(send, Answer(answer.status, answer.body + padding))
            case "never_answers":
                await _until_hung_up(receive)
                return None
            case "drops_connection":
                self._connections.drop(scope["client"], flush=False)
                await _until_hung_up(receive)
                return None
            case "closes_half_way":
                half = answer.body[: len(answer.body) // 2]
                await _start(send, answer.status, len(answer.body), None)
                await send({"type": "http.response.body", "body": half, "more_body": True})
                self._connections.drop(scope["client"], flush=True)
                await _until_hung_up(receive)
                return answer.status
            case _:
                raise AssertionError(f"{fault.kind} is dealt with before")

    def _call(self, raw_path: bytes) -> Call | None:
        """The call that a path names. The path is still encoded, so that an encoded slash is part
        of an id, not a step."""
        _, *steps = [unquote(step) for step in raw_path.decode("latin-1").split("/")]
        base = ["v1", "marketplaces", self._service.platform.marketplace_id]
        is_whole = steps[:3] == base
        match steps[3:] if is_whole else steps:
            case ["sellers", seller, "registration", "review"] if is_whole:
                return Call("review", "PUT", seller)
            case ["sellers", "individuals"]:
                return Call("individual", "POST")
            case ["sellers", seller, "documents"]:
                return Call("documents", "POST", seller)
            case _:
                return None


async def _read(receive: Receive) -> bytes | None:
    """The whole body, or None if it is too large (then the rest is read and dropped)."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return bytes(body)
        if len(body) <= MAX_BODY_BYTES:
            body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body) if len(body) <= MAX_BODY_BYTES else None


async def _wait(receive: Receive, seconds: float) -> None:
    """Waits so long, or until the client has hung up."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await _until_hung_up(receive)


async def _until_hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, answer: Answer, retry_after: str | None = None) -> int:
    await _start(send, answer.status, len(answer.body), retry_after)
    for at in range(0, len(answer.body), _CHUNK_BYTES):
        chunk = answer.body[at : at + _CHUNK_BYTES]
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    return answer.status


async def _start(send: Send, status: int, length: int, retry_after: str | None) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(length).encode()),
    ]
    if retry_after is not None:
        headers.append((b"retry-after", retry_after.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})


def _now() -> int:
    return time.time_ns() // 1000


def _process_in(body: bytes) -> str | None:
    """The process in a body, for which a fault may be meant; None if the body cannot be read."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    named = document.get("process_id") if isinstance(document, dict) else None
    return named if isinstance(named, str) else None
