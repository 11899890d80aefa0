"""Checks a request before anything is done for it: its method, caller, encoding and size.

Each check returns a value, or a `TurnedAway` with the answer. The body is read last, after every
check that does not need it.
"""

from pipeline.http.asgi import Request, TooLarge, is_identity, read_body
from pipeline.http.callers import TurnedAway, admit
from pipeline.http.tokens import Caller, Tokens


def wrong_method(request: Request, method: str) -> TurnedAway | None:
    """405 for any method except the one that is taken; None for that one."""
    if request.method == method:
        return None
    return TurnedAway(405, f"only {method} is taken", ((b"allow", method.encode()),))


def wrong_encoding(request: Request) -> TurnedAway | None:
    """415 for a compressed body; None for any other."""
    if is_identity(request.headers):
        return None
    return TurnedAway(415, "only Content-Encoding identity is taken")


def admitted(request: Request, method: str, tokens: Tokens, scope: str) -> Caller | TurnedAway:
    """The caller of a request to our own API, once its method, token and encoding are right."""
    if away := wrong_method(request, method):
        return away
    caller = admit(tokens, request, scope)
    if isinstance(caller, TurnedAway):
        return caller
    return wrong_encoding(request) or caller


async def admitted_body(
    request: Request, tokens: Tokens, scope: str, limit: int
) -> tuple[Caller, bytes] | TurnedAway:
    """The caller of a POST to our own API and its body, once both are right. Raises `Gone` if the
    caller disconnected."""
    caller = admitted(request, "POST", tokens, scope)
    if isinstance(caller, TurnedAway):
        return caller
    body = await whole_body(request, limit)
    return body if isinstance(body, TurnedAway) else (caller, body)


async def whole_body(request: Request, limit: int) -> bytes | TurnedAway:
    """The body, or 413 if it is over `limit` bytes; raises `Gone` if the caller disconnected."""
    try:
        return await read_body(request, limit)
    except TooLarge:
        return TurnedAway(413, f"the body is over {limit} bytes")
