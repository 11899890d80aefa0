"""Lists what the dashboard serves: which paths, by which methods, to whom. All else is not there.

Streamlit answers any path with its page and 200, which a probe takes for an answer; and it serves
components and figures of its own, which no page of ours uses, to whoever asks. It takes files from
anybody, too: `uploads` says whose, and when.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from starlette.routing import BaseRoute, Match

from app_pages.door import handed, paths, uploads
from app_pages.door.callers import Callers
from app_pages.door.security import INDEX
from pipeline.http.answers import Json
from pipeline.http.asgi import App, Receive, Scope, Send
from pipeline.settings import Settings

HEALTH: Final = "/_stcore/health"
"""Says only that the server lives."""
SOCKET: Final = "/_stcore/stream"
MEDIA: Final = "/media/"
_READ: Final = ("GET", "HEAD")
_BEFORE_A_PAGE: Final = (HEALTH, "/_stcore/host-config")
"""What a browser asks before it opens its web socket; the same for everybody."""
_OF_A_LOGIN: Final = ("/auth/login", "/auth/logout", "/oauth2callback")
_ELSEWHERE: Final = (
    "the pages begin at /, the API at /api/, and it says at /api/ready if all is well"
)


class Served:
    """Stands behind `Door`, and hands on what is on the list."""

    def __init__(
        self,
        app: App,
        pages: Iterable[str],
        own: Iterable[BaseRoute],
        load: Callable[[], Settings] = Settings.load,
    ) -> None:
        """`pages`: their names in addresses. `own`: routes of ours, which answer for themselves.
        Raises `SettingsError` where the roles cannot be read."""
        settings = load()
        self._app, self._own = app, list(own)
        self._callers = Callers(settings)
        self._listed = _listed(pages, has_login=settings.login == "oidc")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = paths.within(scope["path"]) if scope["type"] in ("http", "websocket") else ""
        match scope["type"]:
            case "http":
                await self._answer(path, scope, receive, send)
            case "websocket" if path != SOCKET:
                await _no_web_socket(scope, receive, send)
            case _:
                await self._app(scope, receive, send)

    async def _answer(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        methods = self._listed.get(path)
        if methods is not None and method in methods:
            await self._app(scope, receive, send)
        elif methods is not None:
            allowed = (b"allow", ", ".join(methods).encode())
            refused = Json(405, {"error": f"only {', '.join(methods)} is taken"}, allowed)
            await refused(scope, receive, send)
        elif self._is_own({**scope, "path": path}):
            await self._app({**scope, "path": path}, receive, send)
        elif path.startswith(MEDIA) and method in _READ:
            name = path.removeprefix(MEDIA)
            file = handed.taken(name, self._callers.person(scope))
            await (file or _nothing_here())(scope, receive, send)
        elif path.startswith(uploads.PLACE) and method in uploads.METHODS:
            await self._take_in(path, scope, receive, send)
        else:
            await _nothing_here()(scope, receive, send)

    async def _take_in(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """A file that somebody drops on a page, or takes away again."""
        if not uploads.is_taken(path, self._callers.person(scope)):
            await _nothing_here()(scope, receive, send)
        elif scope["method"] == "DELETE":
            await self._app(scope, receive, send)
        elif uploads.come(path):
            try:
                await self._app(scope, receive, send)
            finally:
                uploads.came(path)
        else:
            await Json(429, {"error": "files are on their way already"})(scope, receive, send)

    def _is_own(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] is not Match.NONE for route in self._own)


def _listed(pages: Iterable[str], *, has_login: bool) -> Mapping[str, tuple[str, ...]]:
    """By the path below the dashboard's address: the methods that are taken."""
    folder = INDEX.parent
    files = [f"/{it.relative_to(folder).as_posix()}" for it in (folder / "static").rglob("*.*")]
    named = [it for page in pages for it in (f"/{page}", f"/{page}/")]
    read = ["/", "/favicon.png", *files, *named, *_BEFORE_A_PAGE]
    listed: dict[str, tuple[str, ...]] = dict.fromkeys(read, _READ)
    if has_login:
        listed |= dict.fromkeys(_OF_A_LOGIN, ("GET",))
    if address := paths.base():
        listed[address] = _READ
    return listed


def _nothing_here() -> App:
    return Json(404, {"error": f"there is nothing here: {_ELSEWHERE}"})


async def _no_web_socket(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    await send({"type": "websocket.http.response.start", "status": 404, "headers": []})
    await send({"type": "websocket.http.response.body", "body": b""})
