"""The platform's front door: `PUT .../registration/review` as an ASGI app, faults included.

Mutual TLS is the server's matter: whoever gets here has shown a certificate. The door checks the
`Authorization` header, finds the seller in the path, lets the platform judge, and answers, or fails
to, as the pending faults say.
"""

import asyncio
import base64
import hmac
import json
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from sandbox.faults import Fault, Faults
from sandbox.platform import Answer
from sandbox.records import to_bytes

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_BODY_BYTES = 1024 * 1024
_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True)
class Credentials:
    """What the marketplace shows in `Authorization`: the pair as Basic, or the token as Bearer."""

    username: str
    password: str
    token: str

    def admit(self, authorization: str) -> bool:
        scheme, _, shown = authorization.partition(" ")
        match scheme.lower():
            case "basic":
                pair = base64.b64encode(f"{self.username}:{self.password}".encode())
                return hmac.compare_digest(shown.strip().encode(), pair)
            case "bearer":
                return hmac.compare_digest(shown.strip().encode(), self.token.encode())
            case _:
                return False


@dataclass(frozen=True)
class Request:
    """One request as it arrived; `status` is None where nothing was answered."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int | None


class Door:
    """ASGI app. `submit(seller_id, body, idempotency_key)` is the platform's judgement, and
    `drop(client, flush)` closes a client's connection under the app."""

    def __init__(
        self,
        marketplace_id: str,
        credentials: Credentials,
        faults: Faults,
        submit: Callable[[str, bytes, str | None], Answer],
        drop: Callable[[tuple[str, int], bool], None],
    ) -> None:
        self.credentials = credentials
        self.requests: deque[Request] = deque(maxlen=10_000)
        self._marketplace_id = marketplace_id
        self._faults = faults
        self._submit = submit
        self._drop = drop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"the door serves http, not {scope['type']}")
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        body = await _read(receive)
        status = await self._answer(scope, headers, body, receive, send)
        path = scope["raw_path"].decode("latin-1")
        self.requests.append(Request(scope["method"], path, headers, body or b"", status))

    async def _answer(
        self,
        scope: Scope,
        headers: dict[str, str],
        body: bytes | None,
        receive: Receive,
        send: Send,
    ) -> int | None:
        seller_id = self._seller_in(scope["raw_path"])
        refusal = (
            _error(401, "authentication failed")
            if not self.credentials.admit(headers.get("authorization", ""))
            else _error(404, "no such resource")
            if seller_id is None
            else _error(405, "only PUT is served here")
            if scope["method"] != "PUT"
            else _error(400, f"the body is larger than {MAX_BODY_BYTES} bytes")
            if body is None
            else _error(400, "Content-Type must be application/json")
            if not headers.get("content-type", "").lower().startswith("application/json")
            else None
        )
        if refusal is not None or seller_id is None or body is None:
            answer = refusal or _error(404, "no such resource")
            await _send(send, answer)
            return answer.status

        key = headers.get("idempotency-key")
        fault = self._faults.strike(_process_in(body) or key)
        if fault is not None and fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        answer = (
            self._submit(seller_id, body, key)
            if fault is None or fault.is_processed
            else _error(503, "not processed")
        )
        if fault is None or fault.kind == "slow":
            await _send(send, answer)
            return answer.status
        return await self._fail(fault, answer, scope, receive, send)

    async def _fail(
        self, fault: Fault, answer: Answer, scope: Scope, receive: Receive, send: Send
    ) -> int | None:
        match fault.kind:
            case "status":
                await _send(
                    send, _error(fault.status, "as the sandbox was told"), fault.retry_after
                )
                return fault.status
            case "oversized_answer":
                padding = b" " * (fault.size - len(answer.body))
                await _send(send, Answer(answer.status, answer.body + padding))
                return answer.status
            case "never_answers":
                await _until_hung_up(receive)
                return None
            case "drops_connection":
                self._drop(scope["client"], False)
                await _until_hung_up(receive)
                return None
            case "closes_half_way":
                half = answer.body[: len(answer.body) // 2]
                await _start(send, answer.status, len(answer.body), None)
                await send({"type": "http.response.body", "body": half, "more_body": True})
                self._drop(scope["client"], True)
                await _until_hung_up(receive)
                return answer.status
            case _:
                raise AssertionError(f"{fault.kind} is dealt with before")

    def _seller_in(self, raw_path: bytes) -> str | None:
        """The seller named in the path as sent: an encoded slash is part of an id, not a step."""
        steps = [unquote(step) for step in raw_path.decode("latin-1").split("/")]
        match steps:
            case ["", "v1", "marketplaces", marketplace, "sellers", seller, *rest] if (
                rest == ["registration", "review"] and marketplace == self._marketplace_id
            ):
                return seller
            case _:
                return None


async def _read(receive: Receive) -> bytes | None:
    """The whole body, or None where it is too large (the rest is read and dropped)."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return bytes(body)
        if len(body) <= MAX_BODY_BYTES:
            body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body) if len(body) <= MAX_BODY_BYTES else None


async def _until_hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, answer: Answer, retry_after: str | None = None) -> None:
    await _start(send, answer.status, len(answer.body), retry_after)
    for at in range(0, len(answer.body), _CHUNK_BYTES):
        chunk = answer.body[at : at + _CHUNK_BYTES]
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _start(send: Send, status: int, length: int, retry_after: str | None) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(length).encode()),
    ]
    if retry_after is not None:
        headers.append((b"retry-after", retry_after.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})


def _process_in(body: bytes) -> str | None:
    """Whom a fault may be meant for; a body that cannot be read names nobody."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    named = document.get("process_id") if isinstance(document, dict) else None
    return named if isinstance(named, str) else None


def _error(status: int, message: str) -> Answer:
    return Answer(status, to_bytes({"error": {"status": status, "message": message}}))
