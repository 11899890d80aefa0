"""Decides whether a request to our own API may proceed, by its token and the token's scopes."""

import base64
import binascii
from dataclasses import dataclass

from pipeline.errors import CallerError
from pipeline.http.asgi import Request
from pipeline.http.loopback import outside_hint
from pipeline.http.origins import foreign_page
from pipeline.http.tokens import SCOPES, Caller, Tokens


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """The answer to a request that is refused before anything is done for it."""

    status: int
    reason: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


class MissingScope(CallerError):
    """The token does not have the scope that the request needs; answered 403."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"this token lacks the scope {scope}", remedy="use a token that has it")


def admit(tokens: Tokens, request: Request, scope: str) -> Caller | TurnedAway:
    """The caller of a request, by its token: as Bearer, or as the password of Basic.

    If no token is required, everybody on this machine may call, even with an unknown token, which
    may be meant for the platform. But if this process announced a token for commands, an unknown
    token shows that the caller means another process.

    A proxy may hide every trace of the callers behind it. So tokens are required as soon as the
    settings expect callers from outside (`Settings.expects_strangers`), whatever a request shows.
    """
    headers = request.headers
    if hint := foreign_page(headers, request.method):  # a browser may add credentials by itself
        return TurnedAway(403, f"{hint}, and only this server's own pages may call")
    token = _token(headers.get(b"authorization", b""))
    caller = tokens.by_token(token) if token else None
    if caller is None and (tokens.are_required or (token and tokens.has_local)):
        reason = "a token of ours is needed, as Bearer or as the password of Basic"
        if not tokens.has_file:
            reason += "; PRAZO_API_TOKENS_FILE gives none yet"
        return TurnedAway(401, reason, _CHALLENGE)
    if caller is None:
        hint = outside_hint(headers, request.http_version)
        return TurnedAway(403, f"no tokens are set, and {hint}") if hint else _LOOPBACK
    if scope not in caller.scopes:
        return TurnedAway(403, MissingScope(scope).what)
    return caller


_LOOPBACK = Caller("loopback", SCOPES)
_CHALLENGE = ((b"www-authenticate", b'Basic realm="prazo"'),)


def _token(authorization: bytes) -> bytes:
    scheme, _, given = authorization.partition(b" ")
    match scheme.lower():
        case b"bearer":
            return given.strip()
        case b"basic":
            try:
                return base64.b64decode(given.strip(), validate=True).partition(b":")[2]
            except binascii.Error:
                return b""
    return b""
