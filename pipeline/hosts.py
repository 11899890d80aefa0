"""Reads URLs, addresses and networks as settings write them, and other lists with commas. Pure."""

import ipaddress
from urllib.parse import SplitResult, urlsplit


def words(text: str) -> list[str]:
    """What stands between the commas of a text."""
    return [it.strip() for it in text.split(",") if it.strip()]


def networks(text: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """The networks in a text with commas between them; a single address is a network too.

    Raises ValueError if a part of the text is neither.
    """
    return [ipaddress.ip_network(it) for it in words(text)]


def parts_of_url(url: str) -> SplitResult:
    """The parts of a whole http(s) URL; ValueError for any other text."""
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        is_whole = False
    if not is_whole:
        raise ValueError("is not an http:// or https:// URL")
    return parts


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host name or address (without a port)."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
