"""Reads the answer of a service outside, and no more of it than fits."""

from typing import Final

import httpx

MAX_ANSWER_BYTES: Final = 65_536


async def body_of(answer: httpx.Response) -> bytes | None:
    """The body of an answer as it came, packed or not; None where it is over `MAX_ANSWER_BYTES`,
    and then the rest is left unread. Raises what `httpx` does."""
    body = bytearray()
    async for chunk in answer.aiter_raw():
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            return None
    return bytes(body)
