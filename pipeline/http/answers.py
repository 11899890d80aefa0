"""Answers of Starlette's kind, which all listeners of ours give, but for `/webhooks` (`asgi`).

Our own are marked where the platform's go back as well, so that none passes for one of these: by
the contract its 404 means that a process or seller is unknown.
"""

import json
from collections.abc import Mapping
from typing import Final

from starlette.responses import JSONResponse, Response

from pipeline.http.callers import TurnedAway

MARK: Final = (b"prazo-answer", b"gateway")


class Json(JSONResponse):
    """A JSON object."""

    def __init__(
        self, status: int, content: Mapping[str, object], *headers: tuple[bytes, bytes]
    ) -> None:
        super().__init__(content, status)
        self.raw_headers.extend(headers)

    def render(self, content: Mapping[str, object]) -> bytes:
        """The body, in ASCII and with blanks."""
        return json.dumps(content).encode()


def refusal(away: TurnedAway) -> Response:
    """The answer to a request that is refused."""
    return Json(away.status, {"error": away.reason}, *away.headers)


class Relayed(Response):
    """The platform's answer."""


def mark(answer: Response) -> None:
    """Marks an answer, unless it is the platform's."""
    if not isinstance(answer, Relayed):
        answer.raw_headers.append(MARK)
