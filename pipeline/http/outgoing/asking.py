"""Asks a service outside, such as a timestamp authority or a witness, and waits only so long."""

import asyncio
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

import httpx

from pipeline.aside import Aside
from pipeline.errors import Quoted
from pipeline.http import addresses
from pipeline.http.outgoing import clients, contexts

ANSWER_SECONDS: Final = 20.0
"""From the call to the last byte of the answer, however the other side spreads them."""
ASIDE_SECONDS: Final = 1.0
"""Beyond that, for what no time limit interrupts: the look-up of a name."""


class Unanswered(ValueError):
    """The other side had the request, and nobody knows what became of it."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes


def post(
    url: str,
    content: bytes,
    media_type: str,
    headers: Mapping[str, str] = MappingProxyType({}),
    *,
    is_body_needed: bool = True,
) -> Answer:
    """The answer to a POST; ValueError, with the reason, where none came whole and in time;
    `Unanswered` where the request may have arrived.
    `is_body_needed`: false where the status alone says what became of it.

    On a thread of its own: the caller may have an event loop, and waits no longer than it may.
    """
    sent = {
        "Content-Type": media_type,
        "Accept-Encoding": "identity",  # what is packed small may be large
        **headers,
    }
    exchange = partial(_exchange, url, content, sent, is_body_needed=is_body_needed)
    asked = Aside(lambda: asyncio.run(exchange()), name="asking")
    try:
        return asked.outcome(ANSWER_SECONDS + ASIDE_SECONDS)
    except TimeoutError:
        raise Unanswered(f"it had not answered after {ANSWER_SECONDS:g} s") from None
    except (httpx.ReadError, httpx.ReadTimeout, httpx.RemoteProtocolError) as error:
        raise Unanswered(_quoted(error)) from None
    except (OSError, httpx.HTTPError) as error:
        raise ValueError(_quoted(error)) from None


def _quoted(error: Exception) -> Quoted:
    kind = type(error).__name__
    return Quoted(str(error) or kind, kind)


async def _exchange(
    url: str, content: bytes, headers: Mapping[str, str], *, is_body_needed: bool
) -> Answer:
    address = addresses.parted(url)
    is_tls = address.url.startswith("https:")
    trust = await asyncio.to_thread(contexts.trusting, None) if is_tls else contexts.bare()
    login = None if address.user is None else (address.user, address.password or "")
    async with (
        asyncio.timeout(ANSWER_SECONDS),
        # Nothing of the environment: a proxy would read what is sent, and a login that `.netrc` has
        # for the host would go along (docs/alerts.md#webhooks).
        httpx.AsyncClient(
            timeout=ANSWER_SECONDS,
            follow_redirects=False,
            trust_env=False,
            verify=trust,
        ) as client,
        client.stream("POST", address.url, content=content, headers=headers, auth=login) as answer,
    ):
        if not is_body_needed:
            return Answer(answer.status_code, b"")
        body = await clients.body_of(answer)
        if body is None:
            raise ValueError(f"its answer is over {clients.MAX_ANSWER_BYTES} bytes")
        return Answer(answer.status_code, body)
