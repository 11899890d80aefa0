"""Says who asks something of the API, or how they are turned away."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pipeline.continuity.service import current
from pipeline.http import asgi
from pipeline.http.callers import TurnedAway, admit
from pipeline.http.tokens import Caller


def over_asgi(request: Request) -> asgi.Request:
    """A request as the receiver's checks take it."""
    return asgi.Request(request.scope, asgi.folded(request.headers.raw), request.receive)


def by(request: Request, scope: str) -> Caller | Response:
    """The caller, whose token has a scope; or the answer to one who may not ask this."""
    caller = admit(current().tokens, over_asgi(request), scope)
    return turned_away(caller) if isinstance(caller, TurnedAway) else caller


def turned_away(away: TurnedAway) -> Response:
    """The answer to a request that is refused before anything is done for it."""
    headers = {name.decode(): value.decode() for name, value in away.headers}
    return JSONResponse({"error": away.reason}, away.status, headers)
