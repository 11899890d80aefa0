"""The forward proxy by which the platform is reached, where a setting names one: a tunnel (CONNECT)
in which TLS is between us and the platform. Nothing that it says of a proxy holds its password."""

import base64
import socket
from http.client import HTTPConnection, HTTPException
from typing import Final, NamedTuple

import httpx

from pipeline.errors import SettingsError
from pipeline.hosts import ForwardProxy
from pipeline.http.outgoing.failures import causes
from pipeline.written import lines_in

SETTING: Final = "PRAZO_PLATFORM_PROXY"
CREDENTIALS_SETTING: Final = "PRAZO_PLATFORM_PROXY_CREDENTIALS_FILE"
_NOT_OURS: Final = "does not accept our user and password"
_UNAUTHORIZED: Final = 407


def for_httpx(proxy: ForwardProxy) -> httpx.Proxy:
    """The proxy as the library wants it."""
    login = None if proxy.user is None else (proxy.user, proxy.password)
    return httpx.Proxy(f"http://{proxy.shown}", auth=login)


def tunnel(proxy: ForwardProxy, host: str, port: int, seconds: float) -> socket.socket:
    """A connection to a host and port through the proxy. Raises `OSError`, also where the proxy
    makes none."""
    connection = HTTPConnection(proxy.host, proxy.port, timeout=seconds)
    headers = {}
    if proxy.user is not None:
        login = base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()
        headers["Proxy-Authorization"] = f"Basic {login}"
    connection.set_tunnel(host, port, headers)
    try:
        connection.connect()
    except HTTPException as error:
        connection.close()
        raise OSError(f"the forward proxy {proxy.shown} does not answer by HTTP") from error
    return connection.sock


def login_in(text: str, path: object) -> tuple[str, str]:
    """The user and password of a file's one line. Raises `SettingsError`, which shows neither."""
    lines = [line for _, line in lines_in(text)]
    if len(lines) != 1 or ":" not in lines[0]:
        raise SettingsError(
            f"The credentials of the forward proxy in {path} cannot be used",
            "one line is expected, with a colon",
            "write user:password",
        )
    user, _, password = lines[0].partition(":")
    return user, password


class Failure(NamedTuple):
    """Why there was no tunnel, and what to do."""

    why: str
    remedy: str


def failure(proxy: ForwardProxy, error: BaseException, target: str) -> Failure:
    """Of a request that came no farther than the proxy. `target`: the platform's host."""
    named = f"the forward proxy {proxy.shown}"
    theirs = f"ask who runs the proxy to let CONNECT to {target} through"
    if isinstance(error, httpx.ProxyError):
        status = str(error)[:3]
        if status == str(_UNAUTHORIZED):
            wanted = "wants a user and a password" if proxy.user is None else _NOT_OURS
            return Failure(
                f"{named} {wanted} (407)",
                f"correct them in {SETTING} or {CREDENTIALS_SETTING}",
            )
        return Failure(f"{named} does not connect us to {target}: it answers {status}", theirs)
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return Failure(f"{named} did not connect us to {target} in time", theirs)
    for cause in causes(error):
        if isinstance(cause, socket.gaierror):
            return Failure(
                f"the name of {named} is not known: {cause.strerror}",
                f"correct {SETTING}, or this machine's DNS",
            )
        if isinstance(cause, ConnectionRefusedError):
            return Failure(f"nobody listens at {named}", f"correct {SETTING}, or start the proxy")
    if isinstance(error, httpx.ConnectError):
        return Failure(f"{named} cannot be reached: {error}", f"correct {SETTING}")
    return Failure(f"{named} ended the connection before there was a tunnel", theirs)
