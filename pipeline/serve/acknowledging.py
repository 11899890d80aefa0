"""Serves the page behind the link of a message: one button, which acknowledges one alert.

Whoever has the link sees nothing of the alert. A program that follows links, as mail servers do,
acknowledges nothing: that takes a POST from the page.
"""

from typing import Final

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from pipeline import instants
from pipeline.alert.acting import acknowledge
from pipeline.alert.links import PATH, Links
from pipeline.errors import PrazoError
from pipeline.ledger.service import current

RECORDED_BY: Final = "alert link"
_PAGE: Final = """<!doctype html>
<html lang="pt-BR"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>Prazo</title>
<body><main><h1>Prazo</h1>
<p>{portuguese}</p>
<p lang="en">{english}</p>
{button}</main></body></html>
"""
_BUTTON: Final = '<form method="post"><button>Confirmar · Confirm</button></form>'
_ASKING: Final = (
    "Confirme que alguém cuida deste alerta. Depois disso, ninguém mais é avisado dele.",
    "Confirm that somebody sees to this alert. Nobody else is told of it after that.",
)
_DONE: Final = (
    "Registrado: alguém cuida deste alerta.",
    "Recorded: somebody sees to this alert.",
)
_REFUSED: Final = (
    "Este link não vale mais. Abra o Prazo para ver os alertas.",
    "This link is no longer valid. Open Prazo to see the alerts.",
)
_FAILED: Final = (
    "Não foi possível registrar agora. Tente de novo em um minuto.",
    "It could not be recorded now. Try again in a minute.",
)
_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


def routes() -> list[BaseRoute]:
    """The one route of these links. It asks for no login: the link is the permission."""
    return [Route(PATH + "{token}", _link, methods=["GET", "POST"])]


async def _link(request: Request) -> Response:
    service = current()
    links = Links(None, service.inbox.log_key)
    permission = links.read(request.path_params["token"], instants.now())
    if permission is None:
        return _answer(_REFUSED, 404)
    if request.method != "POST":
        return _answer(_ASKING, button=_BUTTON)

    def record() -> None:
        acknowledge(service.inbox, permission.alert, actor=permission.name, recorded_by=RECORDED_BY)

    try:
        await to_thread.run_sync(record)
    except PrazoError:
        return _answer(_FAILED, 503)
    return _answer(_DONE)


def _answer(said: tuple[str, str], status: int = 200, *, button: str = "") -> Response:
    portuguese, english = said
    page = _PAGE.format(portuguese=portuguese, english=english, button=button)
    return HTMLResponse(page, status, headers=_HEADERS)
