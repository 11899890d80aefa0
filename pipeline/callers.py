"""Decides whether a caller of our own HTTP calls may go on: its token, and its scopes."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.exposure import outside_hint
from pipeline.tokens import SCOPES, Caller, Tokens


@dataclass(frozen=True, slots=True)
class TurnedAway:
    status: int  # 401: who is it? 403: not they
    reason: str


def admit(tokens: Tokens, headers: Mapping[bytes, bytes], scope: str) -> Caller | TurnedAway:
    """The caller of a request, by a token as Bearer or as the password of Basic.

    Without tokens everybody on this machine may call, whatever they show as `Authorization`: it
    may be meant for the platform.
    """
    if not tokens.are_required:
        hint = outside_hint(headers)
        return TurnedAway(403, f"no tokens are set, and {hint}") if hint else _LOOPBACK
    token = _token(headers.get(b"authorization", b""))
    caller = tokens.by_token(token) if token else None
    if caller is None:
        return TurnedAway(401, "a token of ours is needed, as Bearer or as the password of Basic")
    if scope not in caller.scopes:
        return TurnedAway(403, f"this token lacks the scope {scope}")
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
