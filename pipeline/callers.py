"""Decides whether a caller of our own HTTP calls may go on: its token, and its scopes."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.errors import CallerError
from pipeline.exposure import outside_hint
from pipeline.tokens import SCOPES, Caller, Tokens


@dataclass(frozen=True, slots=True)
class TurnedAway:
    status: int  # 401: who is it? 403: not they
    reason: str


class MissingScope(CallerError):
    """A token's holder asks for more than the token is good for: answered 403."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"this token lacks the scope {scope}", remedy="use a token that has it")


def admit(tokens: Tokens, headers: Mapping[bytes, bytes], scope: str) -> Caller | TurnedAway:
    """The caller of a request, by a token as Bearer or as the password of Basic.

    Where none is required everybody on this machine may call, whatever they show: it may be meant
    for the platform. But where commands have one of their own, another shows that its holder
    means another process.
    """
    token = _token(headers.get(b"authorization", b""))
    caller = tokens.by_token(token) if token else None
    if caller is None and (tokens.are_required or (token and tokens.has_local)):
        return TurnedAway(401, "a token of ours is needed, as Bearer or as the password of Basic")
    if caller is None:
        hint = outside_hint(headers)
        return TurnedAway(403, f"no tokens are set, and {hint}") if hint else _LOOPBACK
    if scope not in caller.scopes:
        return TurnedAway(403, MissingScope(scope).what)
    return caller


_LOOPBACK = Caller("loopback", SCOPES)


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
