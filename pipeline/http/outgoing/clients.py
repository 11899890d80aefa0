"""Makes clients that take nothing from the environment, such as a proxy, and keep nothing of an
answer: no cookie, and no redirect is followed. Reads no more of an answer than fits."""

import ssl
from collections.abc import Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import httpx

MAX_ANSWER_BYTES: Final = 65_536
SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray]


def client(
    context: ssl.SSLContext,
    limits: httpx.Limits,
    socket_options: Iterable[SocketOption] | None = None,
    proxy: httpx.Proxy | None = None,
) -> httpx.AsyncClient:
    """A client without a time limit: its user limits each exchange as a whole."""
    return httpx.AsyncClient(
        transport=httpx.AsyncHTTPTransport(
            verify=context,
            trust_env=False,
            limits=limits,
            proxy=proxy,
            socket_options=socket_options,
        ),
        trust_env=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
        timeout=None,
    )


async def body_of(answer: httpx.Response) -> bytes | None:
    """The body of an answer as it came, packed or not; None where it is over `MAX_ANSWER_BYTES`,
    and then the rest is left unread. Raises what `httpx` does."""
    body = bytearray()
    async for chunk in answer.aiter_raw():
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            return None
    return bytes(body)
