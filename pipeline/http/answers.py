"""Answers of Starlette's kind, which all listeners of ours give, but for `/webhooks` (`asgi`)."""

import json
from collections.abc import Mapping

from starlette.responses import JSONResponse, Response

from pipeline.http.callers import TurnedAway


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
