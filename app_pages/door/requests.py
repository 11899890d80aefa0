"""Turns requests away that must not reach the dashboard at all, before any page is drawn.

Without a login it serves this machine alone; behind a proxy, only what that proxy sends, proved by
its address and by a secret. Who a person is, and what they may do, is decided by `access`.
Pure ASGI, for requests and web sockets alike.
"""

import hmac
import ipaddress
import os
from collections.abc import Callable
from typing import Final

from app_pages.door import paths
from app_pages.door.served import HEALTH
from pipeline.alert.messages import links
from pipeline.errors import SettingsError
from pipeline.hosts import is_loopback, networks
from pipeline.http.answers import Json
from pipeline.http.asgi import App, Receive, Scope, Send, folded
from pipeline.http.loopback import outside_hint
from pipeline.http.origins import foreign_page
from pipeline.serve import calendar, seller_area
from pipeline.serve.roles import proxy_secrets
from pipeline.settings import Settings

SECRET_HEADER: Final = b"x-proxy-secret"
_OPEN: Final = (
    *("/api/", seller_area.PATH),  # ask for tokens of their own
    calendar.PATH,  # its addresses are secret
)


class Door:
    """Stands before every request to the dashboard."""

    def __init__(self, app: App, load: Callable[[], Settings] = Settings.load) -> None:
        """Raises `SettingsError` where the proxy's secrets cannot be read, or where uvicorn would
        name the address of a header as the caller's."""
        self._app = app
        self._settings = settings = load()
        if settings.login == "proxy" and os.environ.get("FORWARDED_ALLOW_IPS") != "":
            raise SettingsError(
                "The dashboard cannot tell its proxy from others",
                "the server would take the caller's address from X-Forwarded-For",
                "start it with `prazo dashboard`, or with FORWARDED_ALLOW_IPS set to nothing",
            )
        self._proxies = networks(settings.proxy_addresses)
        self._secrets = (
            proxy_secrets(settings.proxy_secret_file)
            if settings.login == "proxy" and settings.proxy_secret_file is not None
            else None
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            fault = self._fault(scope)
            if fault is not None:
                await _turn_away(scope, receive, send, fault)
                return
        await self._app(scope, receive, send)

    def _fault(self, scope: Scope) -> str | None:
        """Why the request is not let in; None where it is."""
        headers = folded(list(scope["headers"]))
        path = paths.within(scope["path"])
        # The link is the permission, and nothing that a browser attaches adds to it. Its page sends
        # `Origin: null`, since no address is to be passed on.
        if path.startswith(links.PATH):
            return None
        # Before anything else: Streamlit, which compares Origin too, asks an address outside for
        # this machine's own, and everybody waits for that.
        if hint := foreign_page(headers, scope.get("method", "GET")):
            return f"{hint}: open the dashboard itself"
        if path == HEALTH or path.startswith(_OPEN):
            return None
        match self._settings.login:
            case "none":
                # A browser on this machine sends Origin too; it was found to be our own.
                rest = {name: it for name, it in headers.items() if name != b"origin"}
                hint = outside_hint(rest, scope.get("http_version", "1.1"))
                if hint is None and not is_loopback(_caller(scope)):
                    hint = f"{_caller(scope)} is not this machine"
                return hint and f"nobody logs in here, and {hint}: set PRAZO_LOGIN"
            case "proxy":
                return self._proxy_fault(scope, headers)
        return None

    def _proxy_fault(self, scope: Scope, headers: dict[bytes, bytes]) -> str | None:
        caller = ipaddress.ip_address(_caller(scope))
        if not any(caller in network for network in self._proxies):
            return f"{caller} is not a proxy of PRAZO_PROXY_ADDRESSES"
        given, is_known = headers.get(SECRET_HEADER, b""), False
        for secret in self._secrets.get() if self._secrets else []:
            is_known |= hmac.compare_digest(given, secret)  # every one, for the same time each time
        if not is_known:
            return "the proxy's X-Proxy-Secret is missing or wrong"
        user = self._settings.proxy_user_header.lower().encode("latin-1")
        named = [value for name, value in scope["headers"] if name.lower() == user]
        if len(named) != 1 or not named[0].strip():
            return f"the proxy must name the person once, in {self._settings.proxy_user_header}"
        groups = self._settings.proxy_groups_header.lower().encode("latin-1")
        if sum(name.lower() == groups for name, _ in scope["headers"]) > 1:
            return f"the proxy must send {self._settings.proxy_groups_header} once"
        return None


def _caller(scope: Scope) -> str:
    """The address on the other side; one that no network holds where the server does not say."""
    client: tuple[str, int] = scope.get("client") or ("0.0.0.0", 0)
    return client[0]


async def _turn_away(scope: Scope, receive: Receive, send: Send, fault: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    await Json(403, {"error": fault})(scope, receive, send)
