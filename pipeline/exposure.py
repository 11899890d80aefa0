"""Tells when a request that nobody authenticates may come from beyond this machine.

Listeners without authentication serve loopback only. A proxy in front, or a page in somebody's
browser, would carry requests across that line; both leave traces in the headers.
"""

from collections.abc import Mapping

from pipeline.settings import is_loopback


def outside_hint(headers: Mapping[bytes, bytes]) -> str | None:
    """What shows that a request is not simply local, or None. Header names in lower case."""
    for name in headers:
        if name == b"origin":
            return "the request carries Origin"
        if name == b"forwarded" or name.startswith(b"x-forwarded-"):
            return "the request came through a proxy"
    host = headers.get(b"host", b"").decode("latin-1")
    if not is_loopback(host.rpartition(":")[0] if _has_port(host) else host):
        return "its Host is not loopback"
    return None


def _has_port(host: str) -> bool:
    return ":" in host and not host.endswith("]") and (host.count(":") == 1 or "]:" in host)
