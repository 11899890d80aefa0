"""Makes clients that take nothing from the environment, such as a proxy, and keep nothing of an
answer: no cookie, and no redirect is followed."""

import ssl
from collections.abc import Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

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
