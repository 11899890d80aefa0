"""Reads URLs, addresses and networks as settings write them, and lists with commas; says why
nothing can listen on an address. Pure."""

import errno
import ipaddress
import re
import socket
from typing import Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

_LABEL: Final = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_NUMBER: Final = re.compile(r"(?:.*\.)?[0-9]+\.?")
"""No name of a host ends in digits alone: it would be an address (RFC 3696, section 2)."""
_PROXY_PORT: Final = 3128
"""Where none is named: what most forward proxies listen on."""
ELSEWHERE: Final = "listen on an address that this machine has, such as 127.0.0.1"
"""What to do where nothing can listen on one."""


def bare(host: str) -> str:
    """An IPv6 address without the brackets that URLs put around it; any other text as it is."""
    inner = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    return inner if ":" in inner else host


def in_url(host: str) -> str:
    """A host as URLs name it: an IPv6 address in brackets, its zone behind %25 (RFC 6874)."""
    address = bare(host)
    return f"[{address.replace('%', '%25')}]" if ":" in address else host


def words(text: str) -> list[str]:
    """The parts of a text between its commas, stripped; empty ones are left out."""
    return [it.strip() for it in text.split(",") if it.strip()]


def networks(text: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """The networks in a text with commas between them; a single address is a network too.

    Raises ValueError if a part of the text is neither.
    """
    return [ipaddress.ip_network(bare(it)) for it in words(text)]


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


def in_ascii(host: str) -> str:
    """A host as the name service knows it, its letters outside ASCII by IDNA (RFC 5891). ValueError
    where no host can have that name."""
    if host.isascii():
        return host
    import idna  # takes a moment, and few names need it

    try:
        return idna.encode(host, uts46=True).decode()
    except UnicodeError:
        raise ValueError(
            f"names a host {host!r}, which no name service knows: write its form in ASCII (xn--...)"
        ) from None


def url_in_ascii(url: str) -> str:
    """A whole http(s) URL as it is sent, its host's letters outside ASCII by IDNA. ValueError for
    any other text, and for a URL with such letters elsewhere; its words repeat no more than the
    host."""
    parts = parts_of_url(url)
    host = parts.hostname or ""
    if not host.isascii():
        before, mark, _after = parts.netloc.rpartition("@")
        port = "" if parts.port is None else f":{parts.port}"
        parts = parts._replace(netloc=f"{before}{mark}{in_ascii(host)}{port}")
        url = urlunsplit(parts)
    if not url.isascii():
        raise ValueError("holds letters outside ASCII behind its host: write them as %C3%A9 for é")
    return url


class ForwardProxy(NamedTuple):
    """Where a forward proxy listens, and who we are there."""

    host: str
    port: int
    user: str | None = None
    password: str = ""

    @property
    def shown(self) -> str:
        """Its host and port, without the credentials."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def forward_proxy(url: str) -> ForwardProxy:
    """The proxy of a URL. ValueError for what is none; its words repeat nothing of the URL."""
    try:
        parts = parts_of_url(url)
        host = in_ascii(parts.hostname or "")
        is_whole = is_host(host) and url.isprintable() and " " not in url
        has_more = bool(parts.path.strip("/") or parts.query or parts.fragment)
        is_whole = is_whole and not has_more and parts.netloc.count("@") < 2
    except ValueError:
        is_whole = False
    if not is_whole:
        raise ValueError(
            "is not like http://proxy.example:3128 or http://user:password@proxy.example:3128 (the"
            " value is not repeated here, since it may hold a password): in a password, write %40"
            " for @, %2F for /, %3F for ?, %23 for #"
        )
    if parts.scheme != "http":
        raise ValueError(
            "must start with http://: the proxy is spoken to in the clear, and within its tunnel"
            " TLS is between us and the platform"
        )
    user = None if parts.username is None else unquote(parts.username)
    port = _PROXY_PORT if parts.port is None else parts.port
    return ForwardProxy(host, port, user, unquote(parts.password or ""))


def is_host(text: str) -> bool:
    """Whether a text is an IP address or a name of some host."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return len(text) < 254 and bool(_NAME.fullmatch(text)) and not _NUMBER.fullmatch(text)
    return True


def not_here(host: str, error: OSError) -> str | None:
    """Why no port of a host can be listened on, by the `error` of an attempt; None where it says
    nothing of that."""
    if isinstance(error, socket.gaierror):
        return f"no address is known for the name {host} ({error.strerror})"
    if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
        return f"this machine does not have the address {host}"
    return None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host name or address (without a port)."""
    name = bare(host).lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
