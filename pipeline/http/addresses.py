"""Takes URLs apart, so that what is secret in one is sent where it belongs and never shown."""

from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from pipeline.hosts import in_url


class Address(NamedTuple):
    """A URL without the credentials in it, and these."""

    url: str
    user: str | None
    password: str | None


def parted(url: str) -> Address:
    """The URL to ask, and the credentials that stood in it. ValueError for what is not a URL of
    HTTP; its words repeat nothing of the URL."""
    parts = _parts(url)
    user, password = (it if it is None else unquote(it) for it in (parts.username, parts.password))
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")
    return Address(urlunsplit(bare), user, password)


def local(host: str, port: int) -> str:
    """The URL by which this machine reaches a server of its own that listens at host and port."""
    reached = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
    return at(reached, port)


def at(host: str, port: int) -> str:
    """The URL of a server of ours that listens at host and port, as people are shown it."""
    return f"http://{in_url(host)}:{port}"


def shown(url: str | None) -> str | None:
    """The URL as logs, packages and people may see it: no credentials, no query, which may hold a
    key. None for none."""
    if url is None:
        return None
    try:
        parts = _parts(url)
    except ValueError:
        return "(not a URL)"
    bare = SplitResult(parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")
    return urlunsplit(bare)


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError("it is not a URL") from None  # the words of others repeat parts of it
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("it is not an http:// or https:// URL")
    return parts
