"""Makes clients that take nothing from the environment, such as a proxy, and keep nothing of an
answer: no cookie, and no redirect is followed. Loads the certificate that they show."""

import ssl
from collections.abc import Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path

import httpx

SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray]


def client(
    context: ssl.SSLContext,
    limits: httpx.Limits,
    socket_options: Iterable[SocketOption] | None = None,
) -> httpx.AsyncClient:
    """A client without a time limit: whoever uses it limits each exchange as a whole."""
    return httpx.AsyncClient(
        transport=httpx.AsyncHTTPTransport(
            verify=context, trust_env=False, limits=limits, socket_options=socket_options
        ),
        trust_env=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
        timeout=None,
    )


def load_pair(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Has connections show a certificate. Raises `OSError` or `ValueError` where its file and that
    of the key cannot be used together."""
    context.load_cert_chain(certificate, key, password=_no_password)


def _no_password() -> str:
    """An encrypted key would make OpenSSL ask at the terminal, where nobody sits."""
    raise ValueError("the key is encrypted; decrypt it into a file that its owner alone can read")
