"""Says who sends a request or opened a web socket, by what came with it: the cookie of a login, or
what a proxy says. `access` asks the same of a page's run."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import _get_signed_cookie_with_chunks

from pipeline import instants
from pipeline.continuity import service
from pipeline.http.asgi import Scope
from pipeline.serve.roles import LOCAL, Person, RoleMap
from pipeline.settings import Settings


class Callers:
    """Tells those who have logged in, with a role, from strangers."""

    def __init__(self, settings: Settings) -> None:
        """Raises `SettingsError` where the roles cannot be read."""
        self._settings = settings
        if settings.login != "none":
            role_map(settings)

    def person(self, scope: Scope) -> Person | None:
        """Whoever sends a request; None where they have not logged in, their session is over, or no
        role fits. `Door` has checked what a proxy says, and where nobody logs in that it is
        somebody on this machine."""
        settings = self._settings
        if settings.login == "none":
            return LOCAL
        if settings.login == "proxy":
            return role_map(settings).person(proxy_claims(settings, _fields(scope).get))
        claims = login(scope)
        ends_at = token_ends_at(settings, claims)
        return role_map(settings).person(claims) if ends_at and now() < ends_at else None


def role_map(settings: Settings) -> RoleMap:
    """The roles of the settings' file, as it stands now."""
    assert settings.roles_file is not None  # the settings are refused without it
    return _map_at(settings.roles_file)


@lru_cache(maxsize=4)
def _map_at(path: Path) -> RoleMap:
    return RoleMap(path)


def now() -> float:
    """In seconds of the epoch: a clock that is set back makes no session longer."""
    instant: float = service.current().now() / instants.SECOND
    return instant


def token_ends_at(settings: Settings, claims: Mapping[Any, Any]) -> float:
    """When a login by OpenID Connect ends, in seconds of the epoch; 0 where there is none."""
    if not claims.get("is_logged_in"):
        return 0
    issued, ends = claims.get("iat"), claims.get("exp")
    if not isinstance(issued, int | float) or not isinstance(ends, int | float):
        return 0  # both are required of an ID token; without them nothing ever ends
    return min(ends, issued + settings.session_seconds)


def proxy_claims(settings: Settings, field: Callable[[str], str | None]) -> dict[str, object]:
    """What the proxy says about the person. `Door` has checked that it is the proxy who says so."""
    groups = field(settings.proxy_groups_header.lower()) or ""
    return {
        "sub": (field(settings.proxy_user_header.lower()) or "").strip(),
        "groups": [it.strip() for it in groups.split(",") if it.strip()],
    }


def login(scope: Scope) -> dict[str, Any]:
    """What the cookie of a login says, with our signature; nothing without one."""
    cookies: SimpleCookie = SimpleCookie()
    try:
        for name, value in scope["headers"]:
            if name == b"cookie":
                cookies.load(value.decode("latin-1"))
    except CookieError:
        return {}
    given = {name: it.value for name, it in cookies.items()}
    said = _get_signed_cookie_with_chunks(given, USER_COOKIE_NAME)
    claims = json.loads(said) if said else {}
    return claims if isinstance(claims, dict) else {}


def _fields(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): it.decode("latin-1") for name, it in scope["headers"]}
