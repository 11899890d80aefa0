"""Checks the credentials that the marketplace sends in addition to its certificate."""

import base64
import hmac
from dataclasses import dataclass


@dataclass(frozen=True)
class Credentials:
    """What the marketplace sends in `Authorization`: the pair as Basic, or the token as Bearer."""

    username: str
    password: str
    token: str

    def admit(self, authorization: str) -> bool:
        scheme, _, shown = authorization.partition(" ")
        match scheme.lower():
            case "basic":
                pair = base64.b64encode(f"{self.username}:{self.password}".encode())
                return hmac.compare_digest(shown.strip().encode(), pair)
            case "bearer":
                return hmac.compare_digest(shown.strip().encode(), self.token.encode())
            case _:
                return False
