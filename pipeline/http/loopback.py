"""Detects requests from beyond this machine, for listeners without authentication.

Such listeners serve loopback only. A proxy in front, or a page in somebody's browser, could still
pass on requests from outside; most leave traces. One that leaves none is the reason why tokens are
required as soon as anybody from outside is expected (`Settings.expects_strangers`).
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from pipeline.hosts import is_loopback

OTHER_HOST: Final = "its Host is not loopback"
_HOST: Final = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::[0-9]{1,5})?")


_OF_PROXIES: Final = frozenset(
    {
        b"forwarded",
        b"via",
        b"client-ip",
        b"true-client-ip",
        b"x-real-ip",
        b"x-real-port",
        b"x-client-ip",
        b"x-cluster-client-ip",
        b"x-remote-ip",
        b"x-remote-addr",
        b"x-host",
        b"x-scheme",
        b"x-proxy-user-ip",
        b"x-arr-log-id",
        b"x-amz-cf-id",
        b"x-amzn-trace-id",
        b"cdn-loop",
        b"front-end-https",
        b"max-forwards",
        b"proxy-connection",
        b"wl-proxy-client-ip",
    }
)
_PREFIXES_OF_PROXIES: Final = (
    *(b"x-forwarded", b"x-original-", b"x-envoy-", b"x-azure-", b"x-appengine-", b"x-tailscale-"),
    *(b"cf-", b"fastly-", b"fly-", b"tailscale-", b"ngrok-", b"akamai-"),
)


def outside_hint(headers: Mapping[bytes, bytes], http_version: str = "1.1") -> str | None:
    """The trace that shows that a request may not be local, or None.

    `headers`: names in lower case. `http_version`: nginx speaks HTTP/1.0 to what it stands in
    front of, unless told otherwise, and then sends no other trace.
    """
    for name in headers:
        if name == b"origin":
            return "the request carries Origin"
        if name in _OF_PROXIES or name.startswith(_PREFIXES_OF_PROXIES):
            return "the request came through a proxy"
    if http_version == "1.0":
        return "the request speaks HTTP/1.0, as proxies do"
    if not _names_loopback(headers.get(b"host", b"")):
        return OTHER_HOST
    return None


@lru_cache(maxsize=64)
def _names_loopback(host: bytes) -> bool:
    """Whether a Host header names loopback. A name that only resembles it may belong to anybody
    (DNS rebinding)."""
    match = _HOST.fullmatch(host.strip())
    return match is not None and is_loopback(match[1].decode("latin-1").removesuffix("."))
