"""Tells whether a page of another site caused a request, by headers that no page can change.

A browser attaches what it knows (a login's cookie, credentials of Basic, its place on this machine)
to requests that any page makes. So whatever changes something, costs work or opens a web socket is
refused where another site's page asks for it.
"""

from collections.abc import Mapping
from typing import Final

_ELSEWHERE: Final = (b"cross-site", b"same-site")
"""Values of `Sec-Fetch-Site` (W3C Fetch Metadata) for pages of another origin."""
_DEFAULT_PORTS: Final = {b"http": b":80", b"https": b":443"}


def foreign_page(headers: Mapping[bytes, bytes], method: str) -> str | None:
    """The sign that a page of another origin caused the request, or None.

    `headers`: names in lower case. `method`: `GET` for a web socket. A program that is no browser
    sends none of these headers. A link that a person follows from another site is no such request:
    it reads, and the other page does not get the answer.
    """
    origin = headers.get(b"origin")
    if origin is not None and not _is_own(origin, headers.get(b"host", b"")):
        return "its Origin is another site's"
    site = headers.get(b"sec-fetch-site", b"").strip().lower()
    if site in _ELSEWHERE and not _is_followed_link(headers, method):
        return "a page of another site caused it"
    return None


def _is_own(origin: bytes, host: bytes) -> bool:
    """Whether an Origin names the host that the request was sent to. TLS may end at a proxy, so the
    scheme may be either."""
    scheme, _, authority = origin.strip().lower().partition(b"://")
    port = _DEFAULT_PORTS.get(scheme)
    if not authority or port is None:
        return False  # "null" among others: a sandboxed frame, a file
    return authority.removesuffix(port) == host.strip().lower().removesuffix(port)


def _is_followed_link(headers: Mapping[bytes, bytes], method: str) -> bool:
    return (
        method in ("GET", "HEAD")
        and headers.get(b"sec-fetch-mode", b"").lower() == b"navigate"
        and headers.get(b"sec-fetch-dest", b"").lower() == b"document"
    )
