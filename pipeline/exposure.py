"""Tells when a request that nobody authenticates may come from beyond this machine.

Listeners without authentication serve loopback only. A proxy in front, or a page in somebody's
browser, would carry requests across that line; both leave traces in the headers.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from pipeline.settings import is_loopback

_HOST: Final = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::[0-9]{1,5})?")


def outside_hint(headers: Mapping[bytes, bytes]) -> str | None:
    """What shows that a request is not simply local, or None. Header names in lower case."""
    for name in headers:
        if name == b"origin":
            return "the request carries Origin"
        if name == b"forwarded" or name.startswith(b"x-forwarded-"):
            return "the request came through a proxy"
    if not _names_loopback(headers.get(b"host", b"")):
        return "its Host is not loopback"
    return None


@lru_cache(maxsize=64)
def _names_loopback(host: bytes) -> bool:
    """A name that only looks like loopback may be anybody's (DNS rebinding)."""
    match = _HOST.fullmatch(host.strip())
    return match is not None and is_loopback(match[1].decode("latin-1").removesuffix("."))
